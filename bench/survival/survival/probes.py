"""Hand-written probes: what an agent who takes a session over after the last compaction must be able to say to go on rightly.

`probes.json` holds questions in our words, and for each the answers that count: fragments that must stand close together. A
fragment is told by its place in the recording (the item, a range of characters in what it says, a hash of them), or, where it is
a common word or a number or in other words than the recording's, by the hash of its words and their number: no text of a
recording. The places of another recording hold something else; its probes are not asked.
"""

import functools
import json
from pathlib import Path

from .questions import Question, call_of, text_of, words_around
from .text import collapse, content_words, digest

FILE = Path(__file__).resolve().parents[1] / "probes.json"
AROUND, SEARCHED = 200, 6


@functools.cache
def read(path=FILE):
    return json.loads(Path(path).read_text())


def asked(transcript, written):
    """Questions of a transcript; and how many did not fit it."""
    told = {}
    for message in transcript.messages:
        told.setdefault(message.origin, []).append(message)
    probes = written.get(f"{transcript.source}/{transcript.name}", ())
    questions = [question(probe, told) for probe in probes]
    fitting = [found for found in questions if found]
    return fitting, len(questions) - len(fitting)


def question(probe, told):
    """A probe as a question, or None where a place holds something else."""
    answers = tuple(tuple(fragment(known, told) for known in answer) for answer in probe["answers"])
    if any(part is None for answer in answers for part in answer):
        return None
    place = next((known for answer in probe["answers"] for known in answer if "message" in known), None)
    message = told[place["message"]][0] if place else None
    cue = cue_of(around(place, told) if place else content_words(probe["question"]), answers)
    return Question("probe", probe["question"], cue, message.origin if place else 0, answers, call_of(message) if place else None)


def said(told, origin):
    return "\n".join(text_of(message) for message in told.get(origin, ()))


def fragment(known, told):
    """A fragment as its text, or as the number of its words with their hash; None where the place holds something else."""
    if "words" in known:
        return known["words"], known["sha256"]
    text = said(told, known["message"])[known["start"] :][: known["length"]]
    return text if digest(text) == known["sha256"] else None


def around(place, told):
    """Words that stood around a place, nearest first, twice as many as are searched for."""
    text, start, end = said(told, place["message"]), place["start"], place["start"] + place["length"]
    return words_around(collapse(text[max(0, start - AROUND) : end + AROUND]), collapse(text[start:end]), 2 * SEARCHED)


def cue_of(words, answers):
    """What an agent would search for: of these words those that are no part of an answer."""
    parts = [part for answer in answers for part in answer]
    own = {word for part in parts if isinstance(part, str) for word in content_words(part)}
    hashed = {part[1] for part in parts if not isinstance(part, str)}
    return " ".join([word for word in words if word not in own and digest(word) not in hashed][:SEARCHED])
