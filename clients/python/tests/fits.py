"""Compares values with types at run time."""

from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict


def faults(value: object, kind: Any, place: str = "value") -> list[str]:
    """Where a value differs from a type of `sluice_client.wire`."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return []
    if origin is NotRequired:
        return faults(value, args[0], place)
    if origin in (Union, UnionType):
        return min((faults(value, one, place) for one in args), key=len)
    if is_typeddict(kind):
        return _faults_of_object(value, kind, place)
    if origin is list and isinstance(value, list):
        return [fault for at, one in enumerate(value) for fault in faults(one, args[0], f"{place}[{at}]")]
    if origin is dict and isinstance(value, dict):
        return [fault for name, one in value.items() for fault in faults(one, args[1], f"{place}.{name}")]
    if origin is Literal and value in args:
        return []
    simple: Any = {str: str, bool: bool, int: int, float: (int, float), NoneType: NoneType}.get(kind)
    if simple is not None and isinstance(value, simple) and (kind is bool or not isinstance(value, bool)):
        return []
    return [f"{place} is {value!r}, not {kind}"]


def _faults_of_object(value: object, kind: Any, place: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{place} is {value!r}, not {kind.__name__}"]
    fields = get_type_hints(kind, include_extras=True)
    missing = [f"{place}.{name} is missing" for name in kind.__required_keys__ if name not in value]
    unknown = [f"{place}.{name} is not in {kind.__name__}" for name in value if name not in fields]
    wrong = [fault for name, one in value.items() if name in fields for fault in faults(one, fields[name], f"{place}.{name}")]
    return [*missing, *unknown, *wrong]
