"""Addresses of servers inside sandboxes."""

from __future__ import annotations

from urllib.parse import urlencode

from ._request import path_of
from ._settings import Settings


def preview_target(sandbox: str, port: int, path: str) -> str:
    """Gives the path of a preview. `path` is passed on as it is, with its query."""
    bare = path_of("sandboxes", sandbox, "preview", port)
    return bare + path if path == "" or path[0] in "/?#" else f"{bare}/{path}"


def preview_url(where: Settings, target: str, *, with_token: bool) -> str:
    """Gives the whole address of a preview, with the token in it where that is asked for."""
    if not with_token or where.token is None:
        return where.url + target
    rest, mark, fragment = target.partition("#")
    separator = "&" if "?" in rest else "?"
    return f"{where.url}{rest}{separator}{urlencode({'token': where.token})}{mark}{fragment}"
