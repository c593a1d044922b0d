"""Messages in contextd's own format, which the adapters speak."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Native = dict[str, Any]


def apart(context: Sequence[Native]) -> list[Native]:
    """The items of a context, each result of a tool in an item of its own."""
    return [{**item, "content": content} for item in context for content in _contents(item)]


def unchanged(context: Sequence[Native], items: Sequence[Native]) -> list[int | None]:
    """For each item of a context, which of the items that were sent it is; None: it is none of them."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(canonical(item), []).append(place)
    # From the end: of equal items the newest are those that are left.
    found = [its.pop() if (its := places.get(canonical(item))) else None for item in reversed(context)]
    return found[::-1]


def canonical(item: Native) -> str:
    """The same text for equal items."""
    return json.dumps(item, sort_keys=True)


def text_of(content: str | Sequence[Native]) -> str:
    """The text of a message's content, or of a tool's result."""
    return content if isinstance(content, str) else "\n".join(its["text"] for its in content if its["type"] == "text")


def _contents(item: Native) -> list[Any]:
    return [[block] for block in item["content"]] if item["role"] == "tool" else [item["content"]]
