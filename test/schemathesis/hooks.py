"""What the documents cannot say: which values exist on the simulated chain, and which refusals depend on it."""

import json
import os
import re

import schemathesis
from hypothesis import strategies as st

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ADDRESS = "^[1-9A-HJ-NP-Za-km-z]{32,44}$"
MINTS = os.environ["MINTS"].split(",")
WALLET = os.environ["WALLET"]
# The form of a request is right, but the chain or the wallet forbids it.
OF_THE_CHAIN = {"INVALID_MINT", "INSUFFICIENT_BALANCE", "SLIPPAGE_EXCEEDED", "SIMULATION_FAILED"}
# The decimals and the supply of a coin bound an amount; only a signed transaction has the form of one.
FIELDS_OF_THE_CHAIN = {"amount", "transaction"}


def base58(data: bytes) -> str:
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


# The pattern of an address also matches texts of 31 or 33 bytes, which are no addresses.
addresses = st.binary(min_size=32, max_size=32).map(base58)
schemathesis.openapi.format("address", addresses)
schemathesis.openapi.format("mint", st.sampled_from(MINTS) | addresses)
schemathesis.openapi.format("wallet", st.just(WALLET) | addresses)


def add_formats(node, name=""):
    if isinstance(node, list):
        for part in node:
            add_formats(part, name)
    elif isinstance(node, dict):
        if node.get("pattern") == ADDRESS:
            node["format"] = {"mint": "mint", "publicKey": "wallet"}.get(name, "address")
        if isinstance(node.get("schema"), dict) and node.get("in") in ("path", "query"):
            name = node["name"]
        for key, part in node.items():
            if key not in ("example", "examples"):
                add_formats(part, name if key in ("schema", "anyOf", "items") else key)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            add_formats(operation.get("parameters", []))
            add_formats(operation.get("requestBody", {}))
    for name, component in raw_schema["components"]["schemas"].items():
        if name.startswith("pumpPortal"):
            add_formats(component)


@schemathesis.hook
def before_add_examples(context, examples):
    """The examples name a mint and a wallet of the real chain."""
    for case in examples:
        body = case.body if isinstance(case.body, dict) else {}
        for place in (case.path_parameters, body):
            if "mint" in place:
                place["mint"] = MINTS[0]
            if "publicKey" in place:
                place["publicKey"] = WALLET


@schemathesis.hook
def filter_headers(context, headers):
    """uWebSockets.js cuts connections at some rare characters in names of headers (test/conformance/header-names.test.ts)."""
    return all(re.fullmatch("[A-Za-z0-9-]+", name) for name in headers or {})


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 400:
        return True
    error = json.loads(response.content)["error"]
    fields = set(error["details"].get("fields", {}))
    return not (error["code"] in OF_THE_CHAIN or (fields and fields <= FIELDS_OF_THE_CHAIN))
