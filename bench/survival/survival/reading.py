"""Contexts for readers: what a model would get after a compaction past the middle, as text, and beside it the transcript.

Whoever judges a context reads it alone, and opens the transcript afterwards. So the context says nothing of where it comes from,
and the transcript shows where the context was taken and what came next.
"""

import itertools
import json
import re
from dataclasses import dataclass, replace

from . import rounds
from .text import content_text, context_tokens, message_tokens
from .transcripts import Message, Transcript, shorten

# A window that somebody would use; a session fills a third of it three times.
LEAST, SHARE = 8_000, 3
# A shorter session is told with others of its kind, one after the other, until they fill three windows.
ALONE = 9_000
FUTURE = 40
# Where nothing was compacted between the middle and here, it is compacted here.
MIDDLE, LATEST = 0.5, 0.85
LONG = {"user": 6_000, "assistant": 3_000, "tool": 1_500, "call": 1_500}
RULE = "=" * 110


@dataclass
class Reading:
    """A context, and where in its transcript it was taken: before the message of this number."""

    transcript: Transcript
    window: int
    cut: int
    context: list
    compactions: int


def size(messages):
    return sum(message_tokens(message.chat) for message in messages)


def strung(transcripts):
    """Sessions that are long enough, as they are, and shorter ones of the same source strung together."""
    ready, waiting = [], {}
    for transcript in transcripts:
        if size(transcript.messages) >= ALONE:
            ready.append(transcript)
            continue
        group = waiting.setdefault(transcript.source, [])
        group.append(transcript)
        if sum(size(one.messages) for one in group) >= SHARE * LEAST:
            ready.append(one_after_the_other(waiting.pop(transcript.source)))
    left = [one_after_the_other(group) for group in waiting.values() if sum(size(one.messages) for one in group) >= ALONE]
    return ready + left


def one_after_the_other(sessions):
    """Several sessions as one: ids of calls are made different, places are those of the whole."""
    messages = []
    for number, session in enumerate(sessions):
        messages += [Message(renamed(message.chat, number), len(messages) + at) for at, message in enumerate(session.messages)]
    name = "+".join(session.name for session in sessions) if len(sessions) > 1 else sessions[0].name
    return replace(sessions[0], name=name, messages=messages)


def renamed(chat, number):
    """A message whose calls have ids that no other session has."""
    chat = dict(chat)
    if "tool_call_id" in chat:
        chat["tool_call_id"] = f"{chat['tool_call_id']}_{number}"
    if chat.get("tool_calls"):
        chat["tool_calls"] = [{**one, "id": f"{one['id']}_{number}"} for one in chat["tool_calls"]]
    return chat


def read(participant, transcript):
    """Feeds a session until a compaction past its middle, and takes the context then."""
    messages = transcript.messages
    told = list(itertools.accumulate((message_tokens(message.chat) for message in messages), initial=0))
    total = told[-1]
    window = max(LEAST, total // SHARE)
    latest = next((at for at in rounds.steps(messages) if told[at] >= LATEST * total), len(messages))
    participant.start(transcript, window)
    fed = compactions = 0
    try:
        for batch, full in rounds.batches(participant, messages, 0, latest, window):
            participant.append([message.chat for message in batch])
            fed += len(batch)
            if full or fed >= latest:
                participant.compact()
                compactions += 1
            if full and told[fed] >= MIDDLE * total:
                break
        return Reading(transcript, window, fed, list(participant.context()), compactions)
    finally:
        participant.end()


def as_text(messages):
    """A context as a model gets it: every message with its role, its words, its calls and its result, in order."""
    lines = []
    for message in messages:
        lines += [f"{RULE}\n[{heading(message)}]", content_text(message.get("content"))]
        lines += [f"[call {c['id']}] {c['function']['name']} {c['function']['arguments']}" for c in message.get("tool_calls") or []]
    return "\n".join(line for line in lines if line) + "\n"


def heading(message):
    words = [message.get("role"), message.get("name"), message.get("tool_call_id")]
    return " ".join(word for word in words if word)


def as_marked(reading):
    """The transcript up to forty messages behind the cut, its long items shortened, with the cut marked."""
    messages = reading.transcript.messages
    lines = [f"[system]\n{shorten(reading.transcript.system, LONG['user'])}"] if reading.transcript.system else []
    for number, message in enumerate(messages[: reading.cut + FUTURE]):
        if number == reading.cut:
            lines.append(f"{RULE}\n{RULE}\nTHE CUT: the context was taken here. What follows had not happened yet.\n{RULE}\n{RULE}")
        lines.append(shown(number, message))
    rest = len(messages) - reading.cut - FUTURE
    lines.append(f"[… {rest} messages follow]" if rest > 0 else "[the end]")
    return "\n".join(lines) + "\n"


def shown(number, message):
    chat, role = message.chat, message.role
    text = shorten(content_text(chat.get("content")), LONG.get(role, 1_500))
    calls = [f"[call {c['id']}] {c['function']['name']} {shorten(c['function']['arguments'], LONG['call'])}" for c in chat.get("tool_calls") or []]
    return "\n".join(part for part in [f"--- {number} {heading(chat)}", text, *calls] if part)


def write(folder, number, reading):
    """Writes one of them; the folder's name tells the kind, a file beside it the rest."""
    kind = re.sub(r"\W+", "-", reading.transcript.source).strip("-")
    place = folder / f"{number:02}-{kind}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "context.txt").write_text(as_text(reading.context), encoding="utf-8")
    (place / "transcript.txt").write_text(as_marked(reading), encoding="utf-8")
    tokens = context_tokens(reading.context)
    about = {
        "session": f"{reading.transcript.source}/{reading.transcript.name}",
        "tokens": size(reading.transcript.messages),
        "window": reading.window,
        "cut": reading.cut,
        "messages": len(reading.transcript.messages),
        "compactions": reading.compactions,
        "context_tokens": tokens,
        "share_of_window": round(tokens / reading.window, 2),
    }
    (place / "about.json").write_text(json.dumps(about, indent=1, ensure_ascii=False))
    return about


def write_all(folder, participant, transcripts, say):
    """Writes them all; gives back what was written."""
    written = []
    for transcript in strung(transcripts):
        written.append(write(folder, len(written) + 1, read(participant, transcript)))
        say(json.dumps(written[-1], ensure_ascii=False))
    return written
