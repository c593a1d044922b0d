"""Writes what is not written by hand: `types.py` from the API's description, `_sync` from `_async`.

python generate.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "contextd"
DOCUMENT = HERE.parent.parent / "openapi" / "openapi.json"

# Written and read in the words of a provider: its own types fit here, and so does a plain dict.
PROVIDERS_OWN = ("Item", "ToolDefinition")
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')

TYPES_HEAD = '''\
"""What the API takes and gives: dicts, as they travel. Written by generate.py from openapi/openapi.json."""

from typing import Any, Literal, TypeAlias

from ._compat import NotRequired, TypedDict
'''

SYNC_HEAD = "# Written by generate.py from _async/{name}.\n"
SYNC_WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bfrom asyncio import sleep\b", "from time import sleep"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncGenerator\[(.*), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync([A-Z]\w+)", r"\1"),
    (r"\b__a(iter|enter|exit)__", r"__\1__"),
    (r"\ba(read|close|iter_bytes)\b", r"\1"),
    (r"\bhttpx\.AsyncClient\b", "httpx.Client"),
    (r"\bAn asynchronous client\b", "A client"),
)


def types() -> str:
    """The module `types`."""
    document = json.loads(DOCUMENT.read_text())
    return Types(document["components"]["schemas"], roots(document)).text()


def sync(name: str) -> str:
    """The module of `_sync` for a module of `_async`."""
    text = (PACKAGE / "_async" / name).read_text()
    for pattern, replacement in SYNC_WORDS:
        text = re.sub(pattern, replacement, text)
    return SYNC_HEAD.format(name=name) + text if text else text


def files() -> Iterator[tuple[Path, str]]:
    """Every generated file and what it must hold."""
    yield PACKAGE / "types.py", types()
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        yield PACKAGE / "_sync" / source.name, sync(source.name)


def roots(document: Schema) -> list[str]:
    """Schemas that operations name, and those that nothing names: events and the messages of hooks."""
    schemas = document["components"]["schemas"]
    named = {name for schema in schemas.values() for name in references(schema)}
    return sorted({*references(document["paths"]), *(schemas.keys() - named)})


def references(schema: Any) -> list[str]:
    return REFERENCE.findall(json.dumps(schema))


def python_name(name: str) -> str:
    """`Page_Session` is a `SessionPage`."""
    return name.removeprefix("Page_") + "Page" if name.startswith("Page_") else name


class Types:
    """The text of the types, each behind those that it uses."""

    def __init__(self, schemas: dict[str, Schema], roots: list[str]) -> None:
        self.schemas = schemas
        self.begun: set[str] = set()
        self.parts: dict[str, str] = {}
        for name in roots:
            self.write(name)

    def text(self) -> str:
        return "\n\n".join([TYPES_HEAD, *self.parts.values()])

    def write(self, name: str) -> None:
        if name in self.begun:
            return
        self.begun.add(name)
        self.parts[name] = self.definition(python_name(name), self.schemas[name], name)

    def definition(self, name: str, schema: Schema, key: str) -> str:
        if key in PROVIDERS_OWN:
            return f"{name}: TypeAlias = Any\n{docstring(schema, '')}"
        base, schema = self.base(schema)
        fields = self.fields(key, schema)
        if any(iskeyword(field) for field in fields):
            return self.functional(name, fields)
        if "properties" in schema or base:
            return f"class {name}({base or 'TypedDict'}):\n{self.body(schema, fields)}"
        return f"{name}: TypeAlias = {self.annotation(schema)}\n{docstring(schema, '')}"

    def base(self, schema: Schema) -> tuple[str | None, Schema]:
        """What a type extends, and what it adds."""
        if len(schema.get("allOf", ())) != 2:
            return None, schema
        base, own = schema["allOf"]
        return self.annotation(base), {**own, "description": schema.get("description")}

    def fields(self, key: str, schema: Schema) -> dict[str, str]:
        required = schema.get("required", ())
        fields = {name: self.annotation(its) for name, its in schema.get("properties", {}).items()}
        if key.startswith("Page_"):
            fields["items"] = self.item_of_page(key)
        return {name: its if name in required else f"NotRequired[{its}]" for name, its in fields.items()}

    def functional(self, name: str, fields: dict[str, str]) -> str:
        """A type with a field whose name no attribute may have."""
        pairs = ", ".join(f'"{field}": {its}' for field, its in fields.items())
        return f'{name} = TypedDict("{name}", {{{pairs}}})\n'

    def body(self, schema: Schema, fields: dict[str, str]) -> str:
        lines = [docstring(schema, "    ")]
        lines += [f"    {name}: {its}\n{docstring(schema['properties'][name], '    ')}" for name, its in fields.items()]
        return "".join(lines) or "    pass\n"

    def item_of_page(self, key: str) -> str:
        """The description repeats the schema of a page's items in place."""
        return f"list[{self.reference(key.removeprefix('Page_'))}]"

    def annotation(self, schema: Any) -> str:
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self.reference(schema["$ref"].rpartition("/")[2])
        if "enum" in schema:
            return self.literal(schema["enum"])
        for union in ("oneOf", "anyOf", "allOf"):
            if union in schema:
                return " | ".join(dict.fromkeys(self.annotation(part) for part in schema[union]))
        kinds = schema.get("type", [])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return " | ".join(self.of_kind(kind, schema) for kind in kinds) or "Any"

    def of_kind(self, kind: str, schema: Schema) -> str:
        if kind == "array":
            return f"list[{self.annotation(schema.get('items'))}]"
        if kind == "object":
            return f"dict[str, {self.annotation(schema.get('additionalProperties'))}]"
        return SCALARS[kind]

    def literal(self, words: list[str | None]) -> str:
        return "Literal[" + ", ".join("None" if word is None else f'"{word}"' for word in words) + "]"

    def reference(self, name: str) -> str:
        self.write(name)
        return python_name(name) if name in self.parts else f'"{python_name(name)}"'


def docstring(schema: Any, indent: str) -> str:
    """The description as a string below what it describes, where there is one."""
    text = schema.get("description") if isinstance(schema, dict) else None
    if not text:
        return ""
    text = text.replace("\\", "\\\\").replace('"""', "'''").replace("\n", f"\n{indent}")
    text = f"{text}\n{indent}" if text.endswith('"') else text
    return f'{indent}"""{text}"""\n'.replace(f"\n{indent}\n", "\n\n")


def main() -> None:
    for path, text in files():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
