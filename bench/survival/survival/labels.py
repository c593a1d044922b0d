"""Rules and corrections of the user, marked by hand.

`labels.json` holds where they stand (the item of the recording, a range of characters in its text), a hash of the words and a
name of ours: no text of a recording. Words that do not have the hash are another recording's, and are not asked.
"""

import json
from pathlib import Path

from .questions import Question
from .text import content_words, digest

FILE = Path(__file__).resolve().parents[1] / "labels.json"


def read(path=FILE):
    return json.loads(Path(path).read_text())


def constraints(transcript, told, labels):
    """Questions about the labels of a transcript that stand in the messages told; and how many did not fit."""
    questions, unknown = [], 0
    users = {}
    for message in transcript.messages:
        if message.role == "user" and message.origin >= 0:
            users.setdefault(message.origin, message.chat["content"])
    fed = {message.origin for message in told if message.role == "user"}
    for label in labels.get(f"{transcript.source}/{transcript.name}", ()):
        text = users.get(label["message"], "")[label["start"] : label["start"] + label["length"]]
        if digest(text) != label["sha256"]:
            unknown += 1
        elif label["message"] in fed:
            cue = " ".join(sorted(content_words(text), key=len, reverse=True)[:3])
            questions.append(Question("constraint", text, cue, label["message"], (label["kind"], label["rule"])))
    return questions, unknown
