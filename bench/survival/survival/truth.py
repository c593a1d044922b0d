"""Made-up sessions whose outcomes are known, in nine languages: what failed, was refused, was taken back, was only planned.

The sentences are in `truth.json`, by hand. No sentence of a session says that something is done, so whoever says it says it of
their own. What a session is about stands in its first half; the second is other work, so that it has to be compacted.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from .grown import Session
from .questions import Question
from .truth_score import OVERTAKEN

FILE = Path(__file__).resolve().parents[1] / "truth.json"
FILLER_TURNS = 34
# Tools of the cases that are a call, by kind.
TOOLS = {"failed": "order_part", "status": "charge_invoice", "refused": "delete_archive", "worked": "book_room"}


@dataclass(frozen=True)
class Known:
    """A case: what it is about (`subject`), what was asked or said first, and what tells how it ended."""

    kind: str
    subject: str
    first: str
    ended: str
    tool: str = ""
    done: tuple = ()


@functools.cache
def languages():
    return json.loads(FILE.read_text(encoding="utf-8"))


def told(language):
    """A session in one language, and the questions about it."""
    words, session = languages()[language], Session(language)
    known, later = [], []

    def filler():
        name = session.word()
        session.user(words["ask"].format(w=name))
        session.run("read_note", {"name": name}, session.page(session.draw.randrange(24, 48)))
        session.agent(words["say"].format(w=name))

    for kind in ("failed", "withdrawn", "status", "undone", "refused", "corrected", "worked", "planned"):
        known.append(put(session, words, kind, later))
        filler()
        if len(later) > 1:
            later.pop(0)()
    for last in later:
        last()
    for _ in range(FILLER_TURNS):
        filler()
    questions = []
    for case in known:
        questions.append(Question("false", f"{language} {case.kind}", "", -1, (case,)))
        questions.append(Question("claimed", f"{language} {case.kind}", "", -1, (case,)))
        questions.append(Question("outcome", f"{language} {case.kind}", "", -1, (case,)))
        if case.kind in OVERTAKEN:
            questions.append(Question("order", f"{language} {case.kind}", "", -1, (case,)))
    return session.transcript(questions)


def put(session, words, kind, later):
    """Puts a case into a session; what overtakes it comes later."""
    subject, done = session.code(), tuple(words["done"])
    if kind == "status":
        ask, ended = words[kind]
        outcome = json.dumps({"invoice": subject, "status": ended, "trace": session.word()})
    elif kind == "planned":
        text = words[kind].format(s=subject)
        session.user(words["ask"].format(w=session.word()))
        session.agent(text)
        return Known(kind, subject, text, text, done=done)
    elif kind == "corrected":
        old, new = session.word().capitalize(), session.word().capitalize()
        first, second = (text.format(a=old, b=new) for text in words[kind][:2])
        session.user(first)
        session.agent(words["go"])
        later.append(lambda: (session.user(second), session.agent(words["go"])))
        return Known(kind, old, first, second, done=done)
    else:
        ask, outcome, ended = words[kind]
        outcome = outcome.format(s=subject, n=session.draw.randrange(10_000, 99_999))
    first = ask.format(s=subject)
    if kind in TOOLS:
        session.user(first)
        session.run(TOOLS[kind], {"ref": subject, "by": session.word()}, outcome)
        session.agent(words["go"])
    elif kind == "withdrawn":
        session.user(first)
        session.agent(words["go"])
        later.append(lambda: (session.user(outcome), session.agent(words["go"])))
    else:
        session.user(words["ask"].format(w=session.word()))
        session.agent(first)
        later.append(lambda: (session.user(words["ask"].format(w=session.word())), session.agent(outcome)))
    return Known(kind, subject, first, ended, TOOLS.get(kind, ""), done)


def sessions():
    return [told(language) for language in languages()]
