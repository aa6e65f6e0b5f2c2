"""Writes the plain code, src/atoll/_sync and tests/test_*.py, from the code for asyncio."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenize_rt import Token, src_to_tokens, tokens_to_src

# Names that differ between the two worlds in what the code stands on.
LIBRARIES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "AsyncExitStack": "ExitStack",
    "AsyncHTTPTransport": "HTTPTransport",
    "_aio": "_sync",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "anext": "next",
    "aread": "read",
    "async_abort": "abort",
    "async_until": "until",
    "enter_async_context": "enter_context",
    "asynccontextmanager": "contextmanager",
}

# What is written by hand in both worlds.
BY_HAND = {"runtime.py", "__init__.py"}


def own_names(package: Path) -> dict[str, str]:
    """The classes of the package, `AsyncX`, and what they are called without asyncio."""
    sources = "\n".join(path.read_text() for path in package.glob("*.py"))
    return {name: name.removeprefix("Async") for name in re.findall(r"^class (Async\w+)", sources, re.MULTILINE)}


def without_asyncio(tokens: list[Token], names: dict[str, str]) -> Iterator[Token]:
    """Leaves `async` and `await` out, with the space after them, and renames what has another name then."""
    following = iter(tokens)
    for token in following:
        if token.src in ("async", "await"):
            next(following)
        elif token.name == "NAME":
            yield token._replace(src=names.get(token.src, token.src))
        elif token.name == "STRING" and token.src[1:-1] in names:
            yield token._replace(src=f'"{names[token.src[1:-1]]}"')
        else:
            yield token


def generate(source: Path, target: Path, pattern: str, names: dict[str, str]) -> None:
    """Writes every such module of a folder without asyncio, and leaves no other that came so before."""
    for path in target.glob(pattern):
        if path.name not in BY_HAND:
            path.unlink()
    for path in source.glob(pattern):
        if path.name not in BY_HAND:
            tokens = src_to_tokens(path.read_text())
            (target / path.name).write_text(tokens_to_src(without_asyncio(tokens, names)))


if __name__ == "__main__":
    root = Path(sys.argv[1]).resolve()
    replacements = {**LIBRARIES, **own_names(root / "src/atoll/_aio")}
    generate(root / "src/atoll/_aio", root / "src/atoll/_sync", "*.py", replacements)
    generate(root / "tests/aio", root / "tests", "test_*.py", replacements)
