"""The operations of the API's description, and the client's methods beside them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

import generate

Document = dict[str, Any]

DOCUMENT: Document = json.loads(generate.DOCUMENT.read_text())
SCHEMAS: Document = DOCUMENT["components"]["schemas"]
# Made of other calls, or of the client alone.
OWN_METHODS = {"aclose", "close", "with_options", "wait", "get_or_create", "user_message"}


class Operation:
    """An operation of the description."""

    def __init__(self, method: str, template: str, description: Document) -> None:
        self.id: str = description["operationId"]
        self.method = method.upper()
        self.path_parameters = re.findall(r"\{(\w+)\}", template)
        self.pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)))
        self.description = description

    def matches(self, method: str, path: str) -> bool:
        return method == self.method and self.pattern.fullmatch(path) is not None

    def names(self) -> set[str]:
        """What a caller may say, besides the ids in the path."""
        query = {its["name"] for its in self.description.get("parameters", ()) if its["in"] == "query"}
        return query | set(self._body().get("properties", ()))

    def answer(self) -> str | None:
        """The name of the schema of the answer, or of its items; None where it is no JSON."""
        answers = (its for status, its in self.description["responses"].items() if status.startswith("2"))
        for answer in answers:
            schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
            for name in generate.references(schema):
                return generate.python_name(name)
        return None

    def _body(self) -> Document:
        body = self.description.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        names = generate.references(body)
        return SCHEMAS[names[0]] if names else {}


def operations() -> list[Operation]:
    return [
        Operation(method, path, its) for path, methods in DOCUMENT["paths"].items() for method, its in methods.items()
    ]


def methods(client: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods of a client and of its groups of calls."""
    groups = [("", client), *((f"{name}.", group) for name, group in vars(client).items() if not name.startswith("_"))]
    for prefix, group in groups:
        for name, method in inspect.getmembers(group, inspect.ismethod):
            if not name.startswith("_") and name not in OWN_METHODS:
                yield prefix + name, method


def positional(method: Callable[..., Any]) -> list[str]:
    return [its.name for its in inspect.signature(method).parameters.values() if its.kind is its.POSITIONAL_OR_KEYWORD]


def names(method: Callable[..., Any]) -> list[str]:
    """The names of a method's arguments, in order; those of a body one by one."""
    found: list[str] = []
    for its in inspect.signature(method).parameters.values():
        found += body_type(method).__annotations__ if its.kind is its.VAR_KEYWORD else [its.name]
    return found


def body_type(method: Callable[..., Any]) -> type:
    unpacked: type = get_args(get_type_hints(method)["body"])[0]
    return unpacked


def answer(method: Callable[..., Any]) -> str | None:
    """The name of the TypedDict that a method gives, a page for a list."""
    hint = get_type_hints(method)["return"]
    typed = [its for its in (hint, *get_args(hint)) if hasattr(its, "__total__")]
    return typed[-1].__name__ if typed else None
