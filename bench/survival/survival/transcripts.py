"""Recorded sessions, read from the formats of the corpus into plain chat messages.

Everybody is fed the same messages: roles `system`, `user`, `assistant` and `tool`, every call with its result right
behind it. Thinking, media and what other agents said on the side are left out: not every participant can take them.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

# A longer message is cut in its middle, for everybody alike: no harness hands a model half a megabyte at once.
LONGEST = 40_000


@dataclass
class Message:
    """A chat message and the place of the recorded item that it came from (-1: planted)."""

    chat: dict
    origin: int = -1

    @property
    def role(self):
        return self.chat["role"]


@dataclass
class Transcript:
    source: str
    name: str
    system: str
    messages: list
    # Questions that come with it; such a transcript is fed whole, as it is.
    questions: list = field(default_factory=list)


def shorten(text, longest=LONGEST):
    # What was cut already, and says so, is cut no second time.
    if len(text) <= longest + 60:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def blocks_text(content):
    """Text of a string or of a list of blocks; anything that is no text is named in brackets."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif block.get("type") in ("image", "input_image", "image_url", "document"):
            parts.append(f"[{block['type']}]")
    return "\n".join(parts)


def user(text, origin):
    return Message({"role": "user", "content": shorten(text)}, origin)


def assistant(text, calls, origin):
    chat = {"role": "assistant", "content": shorten(text) if text else None}
    if calls:
        chat["tool_calls"] = calls
    return Message(chat, origin)


def call(identifier, name, arguments):
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    if len(arguments) > LONGEST:
        arguments = json.dumps({"text": shorten(arguments)}, ensure_ascii=False)
    return {"id": identifier, "type": "function", "function": {"name": name or "tool", "arguments": arguments}}


def result(identifier, text, origin):
    return Message({"role": "tool", "tool_call_id": identifier, "content": shorten(text) or "(no output)"}, origin)


def from_openai_chat(items, meta):
    unnamed = None
    for index, item in enumerate(items):
        role = item.get("role")
        text = blocks_text(item.get("content"))
        if role == "user" or (role in ("system", "developer") and index > 0):
            if text.strip():
                said = user(text, index)
                if role == "user" and isinstance(item.get("name"), str):
                    said.chat["name"] = item["name"]
                yield said
        elif role == "assistant":
            calls = [
                call(c.get("id") or f"call_{index}_{n}", c.get("function", {}).get("name"), c.get("function", {}).get("arguments") or "{}")
                for n, c in enumerate(item.get("tool_calls") or [])
            ]
            # A call of old has no id; the next function message is its result.
            if old := item.get("function_call"):
                unnamed = f"call_{index}"
                calls.append(call(unnamed, old.get("name"), old.get("arguments") or "{}"))
            if text.strip() or calls:
                yield assistant(text, calls, index)
        elif role in ("tool", "function"):
            identifier = item.get("tool_call_id") or (unnamed if role == "function" else None)
            if isinstance(identifier, list):
                identifier = identifier[0] if identifier else None
            if not identifier and item.get("tool_call_ids"):
                identifier = item["tool_call_ids"][0]
            yield result(identifier, text, index)


def from_anthropic(items, meta):
    for index, item in enumerate(items):
        about = meta[index] if index < len(meta) and isinstance(meta[index], dict) else {}
        if about.get("isSidechain") or about.get("isCompactSummary"):
            continue
        content = item.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else (content or [])
        blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        words = [b for b in blocks if b.get("type") == "text"]
        if item.get("role") == "assistant":
            calls = [call(b.get("id"), b.get("name"), b.get("input") or {}) for b in blocks if b.get("type") == "tool_use"]
            text = blocks_text(words)
            if text.strip() or calls:
                yield assistant(text, calls, index)
            continue
        for block in blocks:
            if block.get("type") == "tool_result":
                yield result(block.get("tool_use_id"), blocks_text(block.get("content")), index)
        text = blocks_text([b for b in blocks if b.get("type") in ("text", "image", "document")])
        if text.strip():
            yield user(text, index)


def from_pi(items, meta):
    for index, entry in enumerate(items):
        if entry.get("type") != "message":
            continue
        item = entry.get("message") or {}
        role, content = item.get("role"), item.get("content")
        if role == "user":
            yield user(blocks_text(content), index)
        elif role == "assistant":
            blocks = [] if isinstance(content, str) else (content or [])
            calls = [call(b.get("id"), b.get("name"), b.get("arguments") or {}) for b in blocks if b.get("type") == "toolCall"]
            text = content if isinstance(content, str) else blocks_text([b for b in blocks if b.get("type") == "text"])
            if text.strip() or calls:
                yield assistant(text, calls, index)
        elif role == "toolResult":
            yield result(item.get("toolCallId"), blocks_text(content), index)
        elif role == "bashExecution":
            yield user(f"Ran `{item.get('command')}`\n{item.get('output') or ''}", index)


def from_openai_responses(items, meta):
    for index, item in enumerate(items):
        kind = item.get("type") or "message"
        if kind == "message" and item.get("role") in ("user", "assistant"):
            text = blocks_text(item.get("content"))
            if text.strip():
                yield user(text, index) if item["role"] == "user" else assistant(text, [], index)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments") or {"input": item.get("input") or ""}
            yield assistant("", [call(item.get("call_id"), item.get("name"), arguments)], index)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield result(item.get("call_id"), blocks_text(item.get("output")), index)


def from_native(items, meta):
    """contextd's own messages. A tool's message may hold several results."""
    for index, item in enumerate(items):
        content = item.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else (content or [])
        for block in blocks:
            if block.get("type") == "tool_result":
                yield result(block.get("tool_call_id"), blocks_text(block.get("content")), index)
        text = blocks_text([b for b in blocks if b.get("type") in ("text", "image", "document")])
        if item.get("role") == "assistant":
            calls = [call(b.get("id"), b.get("name"), b.get("arguments") or {}) for b in blocks if b.get("type") == "tool_call"]
            if text.strip() or calls:
                yield assistant(text, calls, index)
        elif item.get("role") == "user" and text.strip():
            yield user(text, index)


def from_gemini(items, meta):
    """Gemini's contents: calls have names, and ids only sometimes; without one, a result is that of the oldest open call of its name."""
    open_calls = []
    for index, item in enumerate(items):
        parts = [part for part in item.get("parts") or [] if isinstance(part, dict)]
        text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))
        calls = []
        for number, part in enumerate(parts):
            if found := part.get("functionCall") or part.get("function_call"):
                identifier = found.get("id") or f"call_{index}_{number}"
                open_calls.append((found.get("name"), identifier))
                calls.append(call(identifier, found.get("name"), found.get("args") or {}))
            if found := part.get("functionResponse") or part.get("function_response"):
                of_name = next((one for one in open_calls if found.get("id") in (None, one[1]) and one[0] == found.get("name")), None)
                if of_name:
                    open_calls.remove(of_name)
                    yield result(of_name[1], response_text(found.get("response")), index)
        if item.get("role") == "model":
            if text.strip() or calls:
                yield assistant(text, calls, index)
        elif text.strip():
            yield user(text, index)


def response_text(response):
    """What a function answered: the text where that is all there is."""
    if isinstance(response, dict) and len(response) == 1 and isinstance(value := next(iter(response.values())), str):
        return value
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


READERS = {
    "native": from_native,
    "gemini": from_gemini,
    "openai-chat": from_openai_chat,
    "anthropic-messages": from_anthropic,
    "pi-jsonl": from_pi,
    "openai-responses": from_openai_responses,
}


def joined(messages):
    """Assistant messages in a row become one, as a provider's answer that a log spreads over several lines."""
    out = []
    for message in messages:
        last = out[-1] if out else None
        if last and last.role == message.role == "assistant":
            text = "\n".join(part for part in (last.chat["content"], message.chat["content"]) if part)
            calls = (last.chat.get("tool_calls") or []) + (message.chat.get("tool_calls") or [])
            out[-1] = assistant(text, calls, last.origin)
        else:
            out.append(message)
    return out


# How a text begins that is the result of a call in harnesses whose tools answer in the user's role.
TEXT_RESULT = re.compile(r"^\[([\w.-]+)(?: [^\n]*)?\] Result:", re.MULTILINE)


def with_text_results(messages):
    """Results that a harness gives as text in the message behind the calls, as results of those calls."""
    out, waiting = [], []
    for message in messages:
        if message.role == "assistant":
            waiting = list(message.chat.get("tool_calls") or [])
        elif message.role == "tool":
            waiting = [c for c in waiting if c["id"] != message.chat.get("tool_call_id")]
        elif message.role == "user" and waiting and isinstance(message.chat["content"], str):
            text = message.chat["content"]
            heads = [m for m in TEXT_RESULT.finditer(text) if any(c["function"]["name"] == m[1] for c in waiting)]
            end = text.find("<environment_details>")
            end = len(text) if end < 0 else end
            rest = text[: heads[0].start()] if heads else text
            for n, head in enumerate(heads):
                found = next((c for c in waiting if c["function"]["name"] == head[1]), None)
                stop = heads[n + 1].start() if n + 1 < len(heads) else max(end, head.end())
                told = text[head.end() : stop].strip()
                said = re.search(r"^<(feedback|answer|user_message)>\n?(.*?)</\1>", told, re.MULTILINE | re.DOTALL)
                if found is None:
                    rest += text[head.start() : stop]
                    continue
                waiting.remove(found)
                out.append(result(found["id"], told.replace(said[0], "") if said else told, message.origin))
                rest += said[0] if said else ""
            if heads:
                rest += text[end:]
                message = user(rest.strip(), message.origin) if rest.strip() else None
        if message:
            out.append(message)
    return out


def paired(messages):
    """Every call with its result right behind it; a result without its call is left out."""
    messages = with_text_results(messages)
    results = {}
    for message in messages:
        if message.role == "tool" and message.chat.get("tool_call_id"):
            results.setdefault(message.chat["tool_call_id"], []).append(message)
    out, seen = [], set()
    for message in messages:
        if message.role == "tool":
            continue
        calls = []
        for c in message.chat.get("tool_calls") or []:
            if c["id"] and c["id"] not in seen:
                seen.add(c["id"])
                calls.append(c)
        if message.role == "assistant":
            message = assistant(message.chat["content"], calls, message.origin)
            if not calls and not message.chat["content"]:
                continue
        out.append(message)
        for c in calls:
            found = results.get(c["id"])
            out.append(found[0] if found else result(c["id"], "(no result was recorded)", message.origin))
    return out


def read_session(session):
    """A session of the corpus as a transcript, or None where its format is not known."""
    reader = READERS.get(session.get("format"))
    if reader is None:
        return None
    items = session.get("messages") or []
    system = blocks_text(session.get("system"))
    if not system and items and items[0].get("role") in ("system", "developer") and session["format"] == "openai-chat":
        system = blocks_text(items[0].get("content"))
    messages = paired(joined(reader(items, session.get("meta") or [])))
    return Transcript(session["source"], session["session_id"], shorten(system), messages)


def pi_file(path):
    """A session file of pi as a transcript."""
    with open(path, encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines if line.strip()]
    return Transcript("pi", Path(path).stem, "", paired(joined(from_pi(items, []))))
