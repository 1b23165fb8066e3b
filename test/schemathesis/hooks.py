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
OF_THE_CHAIN = {"INVALID_MINT", "INSUFFICIENT_BALANCE", "SLIPPAGE_EXCEEDED", "TRANSACTION_EXPIRED", "SIMULATION_FAILED", "IDEMPOTENCY_MISMATCH"}
# The amount and its bounds depend on each other and on the coin; only a signed transaction has the form of one.
FIELDS_OF_THE_CHAIN = {"amount", "maxIn", "minOut", "transaction"}


def base58(data: bytes) -> str:
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def byte_length(text: str) -> int:
    number = 0
    for digit in text:
        number = number * 58 + ALPHABET.find(digit)
    return len(text) - len(text.lstrip("1")) + (number.bit_length() + 7) // 8


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
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code not in (400, 422):
        return True
    error = json.loads(response.content)["error"]
    if error["code"] in OF_THE_CHAIN:
        return False
    fields = error["details"].get("fields", {})
    return not fields or not all(depends_on_chain(path, what, case) for path, what in fields.items())


def depends_on_chain(path, what, case):
    *_, name = path.split(".")
    if name in FIELDS_OF_THE_CHAIN or "decimals" in what:
        return True
    # The parser refuses integers that it would round, in any field; a schema cannot say this of unknown fields.
    if path.startswith("tokenMetadata.") and "send it as a string" in what:
        return True
    value = value_at(case.body, path.split(".")) or case.path_parameters.get(name)
    return what == "is not an address" and isinstance(value, str) and byte_length(value) != 32


def value_at(value, path):
    for name in path:
        if isinstance(value, list) and name.isdigit():
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value
