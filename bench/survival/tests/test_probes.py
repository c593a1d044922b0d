"""The hand-written probes: what the file holds, when an answer counts, and who has all of them and none."""

import re

import pytest

from survival import board, files, made_up, probes, transcripts
from survival.__main__ import CHOSEN, corpus_folder
from survival.participants import Everything, Nothing
from survival.played import Bill
from survival.questions import Question
from survival.score import Page, holds
from survival.text import digest

WRITTEN = [(name, probe) for name, group in probes.read().items() for probe in group]
PLACE, WORDS = {"message", "start", "length", "sha256"}, {"words", "sha256"}
SAID = "We keep the cache in **var/zinc.db**,\nbecause the home folder is small: at most 300 of them."


def test_the_file_holds_questions_and_places_but_no_text():
    assert len(WRITTEN) == 30 and set(probes.read()) <= set(CHOSEN)
    assert all(2 <= len(group) <= 4 for group in probes.read().values()) and len(probes.read()) >= 10
    for _, probe in WRITTEN:
        assert set(probe) == {"name", "question", "answers"} and 1 <= len(probe["answers"]) <= 3
        assert probe["question"].endswith("?") and re.fullmatch(r"[a-z-]{5,40}", probe["name"])
        for known in (known for answer in probe["answers"] for known in answer):
            assert set(known) in (PLACE, WORDS) and re.fullmatch("[0-9a-f]{12}", known["sha256"])
            assert known.get("words", 1) <= 3 and known.get("length", 1) <= 40


def place(text):
    return {"message": 0, "start": SAID.index(text), "length": len(text), "sha256": digest(text)}


def hashed(words):
    return {"words": len(words.split()), "sha256": digest(words)}


def asked(*answers):
    told = transcripts.Transcript("s", "n", "", [transcripts.user(SAID, 0)])
    written = {"s/n": [{"name": "cache", "question": "Where does it lie, and why there?", "answers": list(answers)}]}
    return probes.asked(told, written)


def test_a_probe_is_asked_where_its_places_hold_what_they_held():
    (question,), unknown = asked([place("var/zinc.db"), hashed("small")])
    assert (question.kind, question.about, unknown) == ("probe", (("var/zinc.db", (1, digest("small"))),), 0)
    assert question.cue == "cache because keep home folder"
    assert asked([place("var/zinc.db") | {"start": 3}]) == ([], 1)


def test_marks_and_case_do_not_count_but_words_do():
    (question,), _ = asked([place("**var/zinc.db**"), hashed("home folder"), hashed("300")])
    assert holds(Page(SAID), question)
    assert holds(Page("- the Home\n  `folder` takes 300, so VAR/ZINC.DB"), question)
    for other in ("var/zinc.dbx, home folder, 300", "var/zinc.db, homefolder, 300", "var/zinc.db, home folder, 3000", "var/zinc.db and 300"):
        assert not holds(Page(other), question)


def test_any_answer_will_do():
    (question,), _ = asked([place("var/zinc.db"), hashed("tiny")], [place("cache"), hashed("small")])
    assert holds(Page("the cache, for it is small"), question)
    assert not holds(Page("small"), question) and not holds(Page("var/zinc.db, the cache"), question)


def test_fragments_far_apart_are_no_answer():
    probe = Question("probe", "Which?", "", 0, (("alpha.rs", "beta"),))
    near, far = " filler" * 30, " filler" * 60
    assert holds(Page(f"alpha.rs{near} beta"), probe)
    assert not holds(Page(f"alpha.rs{far} beta"), probe)
    assert holds(Page(f"alpha.rs{far} beta{near} alpha.rs"), probe)


def kept(participant, case):
    """How many of a case's probes a participant has, and of how many."""
    case.questions = [question for question in case.questions if question.kind == "probe"]
    return board.play(participant, case, Bill())["marks"]["probe"]["verbatim"]


def probe_of(transcript):
    """A probe about the commit of a session's first turn."""
    said = next((m for m in transcript.messages if m.role == "assistant" and "I decided for" in (m.chat["content"] or "")))
    commit = re.search(r"the commit is (\w+)", said.chat["content"])
    known = {"message": said.origin, "start": commit.start(1), "length": len(commit[1]), "sha256": digest(commit[1])}
    return {"name": "first-commit", "question": "Which commit was the first?", "answers": [[known, hashed("commit")]]}


def test_a_session_without_recordings_can_be_probed_too():
    transcript = transcripts.read_session(made_up.sessions()[0])
    written = {f"{transcript.source}/{transcript.name}": [probe_of(transcript)]}
    assert kept(Everything(), board.Case(transcript, 5, {}, written=written)) == [1, 1]
    assert kept(Nothing(), board.Case(transcript, 5, {}, written=written)) == [0, 1]


@pytest.mark.skipif(corpus_folder(None) is None, reason="there are no recordings")
@pytest.mark.parametrize("number", [5, 10])
def test_who_keeps_all_has_all_and_who_drops_all_has_none(number):
    sessions = (s for s in files.sessions_in(corpus_folder(None)) if f"{s['source']}/{s['session_id']}" in probes.read())
    cases = [board.Case(transcripts.read_session(session), number, {}) for session in sessions]
    assert [sum(counts) for counts in zip(*(kept(Everything(), case) for case in cases))] == [30, 30]
    assert [sum(counts) for counts in zip(*(kept(Nothing(), case) for case in cases))] == [0, 30]
