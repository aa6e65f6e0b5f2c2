"""What schemathesis is told that no document says: which things this daemon has, and what becomes of those that it makes.

ATOLL_FUZZ_KNOWN is JSON: `always` has an id for each kind of thing, by the first part of its path; `once` has the ids that an
operation may end, each for one call. How often each operation answered with which status is left in ATOLL_FUZZ_TALLY.
"""

import atexit
import json
import os
from collections import Counter

import requests
import schemathesis

KNOWN = json.loads(os.environ["ATOLL_FUZZ_KNOWN"])
CALLS: Counter[tuple[str, str]] = Counter()
ANSWERS: Counter[str] = Counter()

# Every so many calls of an operation stay as they were made up; the others go to what is there.
MADE_UP_EVERY = 4
# Every so many creates are ones that succeed: each takes a boot.
BOOT_EVERY = 12
SMALL = {"mem_size_mib": 128, "vcpu_count": 1}
# What is asked for when it is to succeed, where that takes more than a path.
BODIES = {
    ("POST", "/sandboxes"): SMALL,
    ("POST", "/sandboxes/get-or-create"): {**SMALL, "name": "fuzz-got"},
    ("POST", "/snapshots/{id}/clone"): {"count": 1},
    ("POST", "/pools"): {**SMALL, "id": "fuzz-made", "warm_count": 0},
    ("POST", "/images"): {"id": "fuzz-made", "path": KNOWN["image_path"]},
    ("POST", "/drives"): {"size_mib": 8},
}
# What a call asks for that is to succeed, now and then.
SENSIBLE = {
    ("POST", "/sandboxes/{id}/exec"): {"command": "true"},
    ("POST", "/sandboxes/{id}/exec-stream"): {"command": "true"},
    ("POST", "/sandboxes/{id}/write-file"): {"path": "/tmp/fuzz", "content_base64": "aGk="},
}


def known_id(method, path):
    """The id that stands first in such a path, if this operation may have one. One that ends things gets no other: schemathesis
    remembers ids that it was answered."""
    once = KNOWN["once"].get(f"{method} {path}")
    if once is not None:
        return once[0] if once else "no-such-id"
    for prefix, value in KNOWN["always"].items():
        if path.startswith(prefix):
            return value
    return None


@schemathesis.hook
def before_call(context, case, kwargs):
    key = case.method.upper(), case.path
    number = CALLS[key]
    CALLS[key] += 1
    if key in BODIES:
        if number % BOOT_EVERY != 0:
            return
        case.body = BODIES[key]
    if not case.path_parameters:
        return
    ends = f"{key[0]} {key[1]}" in KNOWN["once"]
    if number % MADE_UP_EVERY == MADE_UP_EVERY - 1 and not ends:
        return
    if "id" in case.path_parameters:
        found = known_id(*key)
        if found is not None:
            case.path_parameters["id"] = found
    for name in ("name", "session_id", "port", "*"):
        if name in case.path_parameters and name in KNOWN:
            case.path_parameters[name] = KNOWN[name]
    if number % MADE_UP_EVERY == 1 and key in SENSIBLE:
        case.body = SENSIBLE[key]
    if number % MADE_UP_EVERY == 1 and "path" in (case.query or {}):
        case.query["path"] = "/etc" if case.path.endswith("/archive") else "/etc/hostname"


@schemathesis.hook
def after_call(context, case, response):
    """Counts the answer, and ends what the call has made."""
    operation = f"{case.method.upper()} {case.path}"
    ANSWERS[f"{operation} {response.status_code}"] += 1
    if response.status_code in (200, 204) and KNOWN["once"].get(operation):
        KNOWN["once"][operation].pop(0)
    if case.method.upper() != "POST" or response.status_code != 200:
        return
    try:
        made = response.json()
    except ValueError:
        return
    if not isinstance(made, dict):
        return
    root = case.path.split("/")[1]
    paths = []
    if case.path in ("/sandboxes", "/sandboxes/get-or-create") or case.path.startswith("/snapshots/"):
        for item in made.get("sandboxes", [made]):
            if "id" in item:
                paths.append(f"/sandboxes/{item['id']}?keep=false")
    elif case.path in ("/pools", "/drives", "/images"):
        paths.append(f"/{root}/{made['id']}")
    for path in paths:
        requests.delete(KNOWN["url"] + path, headers=KNOWN["headers"], timeout=60)


@atexit.register
def leave_tally():
    with open(os.environ["ATOLL_FUZZ_TALLY"], "w", encoding="utf-8") as file:
        json.dump(ANSWERS, file)


@schemathesis.check
def documented_server_errors(ctx, response, case):
    """A failure of the daemon is one that the document names: 502, 503, 504, with a code."""
    if response.status_code < 500:
        return
    # What a server inside a sandbox answers is its own affair, and an answer to HEAD has no body.
    if "/preview/" in case.path and not response.headers.get("content-type", [""])[0].startswith("application/json"):
        return
    assert response.status_code in (502, 503, 504), f"{response.status_code}: {response.text}"
    if case.method.upper() != "HEAD":
        assert response.json()["code"], response.text


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Some patterns cannot be made values of: others stand for them, whose values match."""
    for found in patterns(raw_schema):
        found["pattern"] = found["pattern"].replace("\\0", "\\x00").replace("[^\\p{Cc}]", "[ -~]")


def patterns(node):
    """Everything in a document that has a pattern."""
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from patterns(child)
