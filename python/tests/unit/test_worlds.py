"""The two worlds offer the same: what is made by hand in both, and what a program imports."""

from __future__ import annotations

import inspect
from types import ModuleType

import atoll
from atoll._aio import runtime as aio_runtime
from atoll._sync import runtime as sync_runtime


def names(module: ModuleType) -> set[str]:
    return {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}


def test_what_is_written_twice_has_the_same_names() -> None:
    assert names(aio_runtime) - {"_blocking"} == names(sync_runtime)


def test_every_class_is_there_for_both() -> None:
    mirrored = {name.removeprefix("Async") for name in atoll.__all__ if name.startswith("Async")}
    assert mirrored <= set(atoll.__all__)
    for name in mirrored:
        plain, other = getattr(atoll, name), getattr(atoll, f"Async{name}")
        assert public(plain) == public(other)


def public(shape: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(shape) if not name.startswith("_")}


def test_every_public_function_says_what_it_does() -> None:
    silent = [
        f"{shape.__name__}.{name}"
        for shape in (getattr(atoll, name) for name in atoll.__all__)
        if inspect.isclass(shape)
        for name, member in inspect.getmembers(shape, inspect.isfunction)
        if not name.startswith("_") and not member.__doc__
    ]
    assert silent == []
