"""Transcripts of a folder: lines of the corpus, and files as agents write them, in any format that contextd imports.

What a file is, its items tell: nobody has to say it.
"""

import gzip
import json
from pathlib import Path

ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
# Fields under which one JSON object keeps a conversation.
HOLDERS = ("messages", "contents", "input", "items", "conversation", "history")
RESPONSES = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "message", "local_shell_call")


def sessions_in(folder):
    """Every session of a folder, unread; of the folders in it where it has no files of its own."""
    folder = Path(folder)
    paths = files_of(folder.glob("*")) or files_of(folder.rglob("*"))
    for path in paths:
        yield from sessions_of(path, folder)


def files_of(paths):
    return sorted(path for path in paths if path.is_file() and path.name.endswith(ENDINGS))


def sessions_of(path, folder):
    """Sessions of a file: those of the corpus' lines, or the one that the file is."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as lines:
        items = []
        for value in values_of(lines):
            if isinstance(value, dict) and "messages" in value and "format" in value and "session_id" in value:
                yield value
            else:
                items.append(value)
    if items and (session := session_of(items)):
        name = path.relative_to(folder).as_posix()
        for ending in sorted(ENDINGS, key=len, reverse=True):
            name = name.removesuffix(ending)
        yield {"source": folder.resolve().name, "session_id": name, **session}


def values_of(lines):
    """JSON values of a file: one a line, or one in all. A line that was cut off is passed over."""
    first = next(lines, "").removeprefix("\ufeff")
    try:
        yield json.loads(first)
    except ValueError:
        try:
            yield json.loads(first + lines.read())
        except ValueError:
            pass
        return
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def session_of(items):
    """Items as a session with the name of their format, or None where they are no conversation."""
    system = None
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]
    elif len(items) == 1 and isinstance(items[0], dict):
        whole = items[0]
        held = next((whole[name] for name in HOLDERS if isinstance(whole.get(name), list)), None)
        if held is not None:
            items, system = held, whole.get("system") or whole.get("instructions") or words_of(whole.get("system_instruction"))
    items = [item for item in items if isinstance(item, dict)]
    form = form_of(items)
    if form == "codex":
        items, form = [line["payload"] for line in items if line.get("type") == "response_item" and isinstance(line.get("payload"), dict)], "openai-responses"
    meta = []
    if form == "claude-code":
        meta = [line for line in items if line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict)]
        items, form = [line["message"] for line in meta], "anthropic-messages"
    return {"format": form, "system": system, "messages": items, "meta": meta} if form and items else None


def words_of(instruction):
    """Gemini's system instruction as text."""
    parts = instruction.get("parts") if isinstance(instruction, dict) else None
    return "\n".join(part.get("text", "") for part in parts or []) or None


def form_of(items):
    """The format of items, by the fields that only it has."""
    for item in items:
        kind = item.get("type")
        if kind == "response_item" and "payload" in item:
            return "codex"
        if kind in ("user", "assistant") and isinstance(item.get("message"), dict):
            return "claude-code"
        if kind == "message" and isinstance(item.get("message"), dict):
            return "pi-jsonl"
        if isinstance(item.get("parts"), list):
            return "gemini"
        if kind in RESPONSES:
            return "openai-responses"
    blocks = {b.get("type") for item in items for b in listed(item.get("content")) if isinstance(b, dict)}
    if blocks & {"tool_use", "thinking"} or (blocks & {"tool_result"} and not any(item.get("role") == "tool" for item in items)):
        return "native" if blocks & {"tool_call"} else "anthropic-messages"
    if blocks & {"tool_call", "tool_result"}:
        return "native"
    return "openai-chat" if any(item.get("role") in ("user", "assistant") for item in items) else None


def listed(content):
    return content if isinstance(content, list) else []
