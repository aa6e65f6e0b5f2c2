"""Writes the types of the contract, src/atoll/{requests,answers,codes}.py, from the OpenAPI document.

What requests carry becomes TypedDicts, which a caller writes as plain dicts; what answers carry becomes frozen
dataclasses.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

HEADER = '''"""{summary} Made from spec/openapi.json by scripts/generate.sh; not edited by hand."""

from __future__ import annotations

{imports}
'''
REQUESTS = HEADER.format(
    summary="What requests carry.",
    imports="from typing import Literal, TypedDict\n\nfrom typing_extensions import Required",
)
ANSWERS = HEADER.format(
    summary="What answers carry.",
    imports="from dataclasses import dataclass\nfrom typing import Literal\n\nfrom .codes import ErrorCode",
)
CODES = HEADER.format(
    summary="The kinds of failure.", imports="from collections.abc import Mapping\nfrom typing import Literal"
)

# The nouns that the package has classes of its own for.
NOUNS = {"Sandbox", "Snapshot", "Checkpoint", "Drive", "Image", "Pool", "Mount", "Tunnel", "Error"}
REF = "#/components/schemas/"
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Generator:
    """Turns schemas into Python source, each once, what a type is made of before the type."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.schemas = schemas
        self.requests: dict[str, str] = {}
        self.answers: dict[str, str] = {}
        self.codes: dict[str, str] = {}

    def request(self, ref: str) -> str:
        """Makes a TypedDict of what requests carry and gives its name, or the type of what is no object."""
        if "properties" not in self.schemas[ref.removeprefix(REF)]:
            return self.type("", self.schemas[ref.removeprefix(REF)], is_request=True)
        name = ref.removeprefix(REF).removesuffix("Input")
        if name not in self.requests:
            self.object(name, self.schemas[ref.removeprefix(REF)], is_request=True)
        return name

    def answer(self, ref: str) -> str:
        """Makes a dataclass of what answers carry and gives its name."""
        schema_name = ref.removeprefix(REF)
        name = f"{schema_name}Info" if schema_name in NOUNS else schema_name
        if name not in self.answers:
            self.object(name, self.schemas[schema_name], is_request=False)
        return name

    def object(self, name: str, schema: Schema, *, is_request: bool) -> None:
        if any(map(keyword.iskeyword, schema["properties"])):
            self.requests[name] = self.keyed(name, schema)
            return
        lines = [f"class {name}(TypedDict, total=False):" if is_request else f"class {name}:"]
        lines.append(f'    """{"Carried by requests" if is_request else "Carried by answers"}: `{name}`."""')
        required = schema.get("required", [])
        for field, value in schema["properties"].items():
            kind = self.type(f"{name}{camel(field)}", value, is_request=is_request)
            if is_request:
                lines.append(f"    {field}: {f'Required[{kind}]' if field in required else kind}")
            else:
                lines.append(f"    {field}: {kind if field in required else f'{kind} | None = None'}")
            if "description" in value:
                lines.append(f"    {docstring(value['description'])}")
        decorator = "" if is_request else "@dataclass(frozen=True, kw_only=True)\n"
        (self.requests if is_request else self.answers)[name] = decorator + "\n".join(lines)

    def keyed(self, name: str, schema: Schema) -> str:
        """A TypedDict with a field that no class body can have, such as `from`."""
        if set(schema["required"]) != set(schema["properties"]):
            raise ValueError(f"{name}: takes required fields only")
        fields = {field: self.type(name, value, is_request=True) for field, value in schema["properties"].items()}
        return f"{name} = TypedDict({name!r}, {{{', '.join(f'{k!r}: {v}' for k, v in fields.items())}}})"

    def type(self, name: str, schema: Schema, *, is_request: bool) -> str:
        if "$ref" in schema:
            return (self.request if is_request else self.answer)(schema["$ref"])
        if "anyOf" in schema:
            return " | ".join(self.type(name, each, is_request=is_request) for each in schema["anyOf"])
        if "enum" in schema:
            return self.literal(name, schema["enum"], self.requests if is_request else self.answers)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        kind = schema["type"]
        if isinstance(kind, list):
            return " | ".join(SCALARS[each] for each in kind)
        if kind == "array":
            item = self.type(name, schema["items"], is_request=is_request)
            return f"list[{item}]"
        if kind == "object" and "properties" in schema:
            self.object(name, schema, is_request=is_request)
            return name
        if kind == "object":
            return f"dict[str, {self.type(name, schema['additionalProperties'], is_request=is_request)}]"
        return SCALARS[kind]

    def literal(self, name: str, values: list[str], module: dict[str, str]) -> str:
        alias, place = ("ErrorCode", self.codes) if name == "ErrorInfoCode" else (name, module)
        place[alias] = f"{alias} = Literal[{', '.join(map(repr, values))}]"
        return alias


def camel(field: str) -> str:
    return "".join(part.capitalize() for part in field.split("_"))


def docstring(text: str) -> str:
    escaped = re.sub(r'(["\\])', r"\\\1", text)
    return f'"""{escaped}"""'


def json_refs(content: Schema) -> list[str]:
    refs = (media.get("schema", {}).get("$ref") for media in content.values())
    return [ref for ref in refs if ref is not None]


def collect(document: Schema) -> Generator:
    """Makes the types of all that the document's routes carry."""
    generator = Generator(document["components"]["schemas"])
    for operations in document["paths"].values():
        for operation in operations.values():
            for ref in json_refs(operation.get("requestBody", {}).get("content", {})):
                generator.request(ref)
            for response in operation["responses"].values():
                for ref in json_refs(response.get("content", {})):
                    generator.answer(ref)
    code = document["components"]["schemas"]["Error"]["properties"]["code"]
    retryable = ", ".join(map(repr, code["x-retryable"]))
    generator.codes["RETRYABLE_CODES"] = (
        f"RETRYABLE_CODES: frozenset[ErrorCode] = frozenset([{retryable}])\n"
        '"""The failures after which the same call may succeed later."""'
    )
    generator.codes["STATUS_OF"] = (
        f"STATUS_OF: Mapping[ErrorCode, int] = {code['x-status']!r}\n"
        '"""The HTTP status of each failure; those of a guest\'s files, which are not here, have 400."""'
    )
    return generator


if __name__ == "__main__":
    _, source, target = sys.argv
    made = collect(json.loads(Path(source).read_text()))
    modules = {
        "requests": (REQUESTS, made.requests),
        "answers": (ANSWERS, made.answers),
        "codes": (CODES, made.codes),
    }
    for module, (header, blocks) in modules.items():
        Path(target, f"{module}.py").write_text("\n\n".join([header, *blocks.values()]) + "\n")
