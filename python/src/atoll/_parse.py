"""Answers, parsed once at the border into the dataclasses of `answers`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import UnexpectedAnswerError

T = TypeVar("T")


def parse(shape: type[T], value: object) -> T:
    """Gives the value as what the shape says. Fields that the shape does not know are left out.

    Raises:
        UnexpectedAnswerError: the value is something else; the message names the field.
    """
    parsed: T = _parse(shape, value, shape.__name__)
    return parsed


def _parse(shape: Any, value: object, where: str) -> Any:
    origin = get_origin(shape)
    if origin in (Union, types.UnionType):
        return _parse_any_of(get_args(shape), value, where)
    if origin is Literal:
        # A newer daemon may know more of them.
        return _parse(type(get_args(shape)[0]), value, where)
    if origin is list and isinstance(value, list):
        (item,) = get_args(shape)
        return [_parse(item, each, f"{where}[{index}]") for index, each in enumerate(value)]
    if origin is dict and isinstance(value, Mapping):
        return {key: _parse(get_args(shape)[1], each, f"{where}.{key}") for key, each in value.items()}
    if is_dataclass(shape) and isinstance(value, Mapping):
        return _parse_object(shape, value, where)
    # Python 3.10 takes `list[str]` for a type; True is an int everywhere.
    is_plain = origin is None and isinstance(shape, type)
    if is_plain and isinstance(value, shape) and isinstance(value, bool) == (shape is bool):
        return value
    raise UnexpectedAnswerError(f"the daemon's answer has {type(value).__name__} in {where}: is it of another version?")


def _parse_any_of(shapes: tuple[Any, ...], value: object, where: str) -> Any:
    *others, last = shapes
    for shape in others:
        try:
            return _parse(shape, value, where)
        except UnexpectedAnswerError:
            continue
    return _parse(last, value, where)


def _parse_object(shape: Any, value: Mapping[str, object], where: str) -> Any:
    hints = _hints(shape)
    known = {field.name for field in fields(shape)}
    return shape(
        **{
            name: _parse(hints[name], value.get(name), f"{where}.{name}")
            for name in known
            if name in value or type(None) not in get_args(hints[name])
        }
    )


@cache
def _hints(shape: type) -> dict[str, Any]:
    return get_type_hints(shape)
