"""LoCoMo and BEAM, from folders that whoever runs this has fetched: neither is kept here.

LoCoMo asks for utterances (the evidence that it names for each answer), BEAM for the facts that its questions of the extract,
update and temporal kinds name as their answer.
"""

import json
import re
from pathlib import Path

from .questions import Question
from .text import content_words
from .transcripts import Transcript, assistant, user

BEAM_KINDS = ("information_extraction", "knowledge_update", "temporal_reasoning")
ANSWERS = ("ideal_answer", "ideal_response", "answer")


def cue(text):
    return " ".join(content_words(text)[:6])


def telling(answer):
    """What of an answer cannot be guessed: its numbers and names; where it has none, its words."""
    strings = re.findall(r"\w*\d[\w.,:/-]*\w|\d|(?<=[\w,] )[A-Z]\w+", answer)
    return tuple(dict.fromkeys(strings or content_words(answer)))


def locomo(folder):
    """Conversations of `locomo10.json`: who speaks first is the user."""
    entries = json.loads((Path(folder) / "locomo10.json").read_text(encoding="utf-8"))
    return [locomo_conversation(number, entry) for number, entry in enumerate(entries)]


def locomo_conversation(number, entry):
    conversation = entry["conversation"]
    sessions = sorted((key for key in conversation if key.startswith("session_") and key[8:].isdigit()), key=lambda key: int(key[8:]))
    messages, said = [], {}
    for key in sessions:
        for turn in conversation[key]:
            text = f"{turn['speaker']}: {turn['text']}"
            said[turn["dia_id"]] = turn["text"]
            origin = len(messages)
            messages.append(user(text, origin) if turn["speaker"] == conversation["speaker_a"] else assistant(text, [], origin))
    questions = []
    for asked in entry.get("qa") or []:
        for identifier in asked.get("evidence") or []:
            if identifier in said:
                questions.append(Question("evidence", said[identifier], cue(asked["question"]), -1, (identifier,)))
    return Transcript("locomo", str(entry.get("sample_id") or number), "", messages, questions)


def beam(folder):
    """Every conversation of a folder: `chat.json` beside `probing_questions/probing_questions.json`."""
    found = []
    for path in sorted(Path(folder).rglob("chat.json")):
        probing = path.parent / "probing_questions" / "probing_questions.json"
        if probing.exists():
            found.append(beam_conversation(path, json.loads(probing.read_text(encoding="utf-8"))))
    return found


def beam_conversation(path, probing):
    messages = []
    for batch in json.loads(path.read_text(encoding="utf-8")):
        for turn in batch.get("turns") or []:
            for message in turn:
                origin, text = len(messages), message.get("content") or ""
                if text.strip():
                    messages.append(user(text, origin) if message["role"] == "user" else assistant(text, [], origin))
    questions = []
    for kind in BEAM_KINDS:
        for asked in probing.get(kind) or []:
            answer = next((str(asked[name]) for name in ANSWERS if asked.get(name)), "")
            if answer:
                questions.append(Question("fact", answer, cue(asked["question"]), -1, telling(answer)))
    return Transcript("beam", f"{path.parent.parent.name}-{path.parent.name}", "", messages, questions)


