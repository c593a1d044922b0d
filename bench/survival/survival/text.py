"""A context as text: what a matcher looks in, and what a token counter counts."""

import functools
import hashlib
import json
import re
import unicodedata

SPACES = re.compile(r"\s+")
MARKS = re.compile(r"[*`_]{1,3}(?=\S)|(?<=\S)[*`_]{1,3}|^\s*(?:[-*+>]|#{1,6}|\d+[.)])\s+", re.MULTILINE)
WORDS = re.compile(r"[^\W_]{2,}", re.UNICODE)
STOP = frozenset(
    "the and for that this with you your are was were not but have has had can could should would will shall may might must "
    "from into onto over under then than there here what which who whom when where why how all any some each every both few "
    "more most other such only own same too very just also now new one two use used using its his her their our out off about "
    "please let make sure need want like get got did does done been being them they she him it is as at be by do if in me my no "
    "of on or so to up us we he an am".split()
)


def collapse(text):
    """White space as single blanks; for what must be found exactly."""
    return SPACES.sub(" ", text).strip()


def plain(text):
    """Lower case, without marks of Markdown and with single blanks; for sentences that may be set otherwise."""
    return collapse(MARKS.sub("", unicodedata.normalize("NFKC", text))).lower()


def digest(text):
    """Short hash of a text, by which it is known where it must not stand itself."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def content_words(text):
    return [word.lower() for word in WORDS.findall(text) if word.lower() not in STOP and not word.isdigit()]


def leaves(value):
    """Strings and numbers of a JSON value, names of fields with them."""
    if isinstance(value, dict):
        return "\n".join(f"{name}: {leaves(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "\n".join(leaves(inner) for inner in value)
    return value if isinstance(value, str) else json.dumps(value)


def arguments_text(arguments):
    """Arguments of a call as the model means them: strings without JSON's escapes."""
    try:
        return leaves(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def content_text(content):
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.get("text") or "" if isinstance(part, dict) else str(part) for part in content)


def rendered(messages):
    """A context as text, each call followed by its result."""
    results = {m.get("tool_call_id"): content_text(m.get("content")) for m in messages if m.get("role") == "tool"}
    shown, lines = set(), []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in shown:
                lines.append(f"[tool] {content_text(message.get('content'))}")
            continue
        who = " ".join(part for part in (message.get("role"), message.get("name")) if part)
        lines.append(f"[{who}] {content_text(message.get('content'))}")
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            lines.append(f"[call {call.get('id')}] {function.get('name')} {arguments_text(function.get('arguments') or '')}")
            if call.get("id") in results:
                shown.add(call["id"])
                lines.append(f"[result] {results[call['id']]}")
    return "\n".join(lines)


@functools.cache
def encoding():
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


@functools.lru_cache(maxsize=200_000)
def count(text):
    """Tokens of a text by o200k."""
    return len(encoding().encode(text))


def message_tokens(message):
    """Tokens of a message: its texts and what the format adds (four, and six for a call)."""
    calls = message.get("tool_calls") or []
    size = 4 + count(content_text(message.get("content")))
    return size + sum(6 + count(c["function"]["name"] or "") + count(c["function"]["arguments"] or "") for c in calls)


def context_tokens(messages):
    return sum(message_tokens(message) for message in messages)
