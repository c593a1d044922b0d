"""The instrument against participants whose score is known: who keeps all, who keeps nothing, who says it in other words."""

import pytest

from survival import board, labels, made_up, transcripts
from survival.participants import Everything, Nothing, Participant
from survival.played import Bill
from survival.questions import Question


class Reworded(Participant):
    """Keeps every message, in lower case and without its numbers: the gist, not the words."""

    name = "reworded"

    def compact(self):
        for message in self.messages:
            if message["content"]:
                message["content"] = "".join("#" if c.isdigit() else c.lower() for c in message["content"])

    def append(self, messages):
        super().append([dict(message) for message in messages])


class Half(Participant):
    """Keeps the newer half."""

    name = "half"

    def compact(self):
        self.messages = self.messages[len(self.messages) // 2 :]


@pytest.fixture(scope="module")
def case():
    return board.Case(transcripts.read_session(made_up.sessions()[0]), 5, made_up.labels())


def scores(participant, case, column="verbatim"):
    marks = board.play(participant, case, Bill())["marks"]
    return {kind: columns[column][0] / columns[column][1] for kind, columns in marks.items()}


def test_every_kind_is_asked(case):
    kinds = {question.kind for question in case.questions}
    assert {"reuse", "constraint", "command", "number", "request", "planted"} <= kinds
    assert len({question.id for question in case.questions}) == len(case.questions)


def test_who_keeps_everything_has_everything(case):
    assert set(scores(Everything(), case).values()) == {1.0}


def test_what_the_whole_session_does_not_answer_is_not_asked(case):
    lost = Question("reuse", "src/nowhere/to_be_found.rs", "nowhere", 0)
    assert case.answerable([*case.questions, lost]) == case.questions


def test_who_keeps_nothing_has_nothing(case):
    assert set(scores(Nothing(), case).values()) == {0.0}


def test_other_words_score_less(case):
    found = scores(Reworded(), case)
    assert 0 < sum(found.values()) / len(found) < 0.9
    assert found["number"] == 0 and found["request"] < 1


def test_half_is_between(case):
    found = scores(Half(), case)
    assert found["request"] == 1.0
    assert 0 < found["reuse"] < 1 and found["constraint"] < 1


def test_columns_are_never_mixed(case):
    marks = board.play(Everything(), case, Bill())["marks"]
    assert all(columns["verbatim"][1] > 0 and columns["recoverable"][1] == 0 and columns["answered"][1] == 0 for columns in marks.values())


def test_recall_is_counted_apart(case):
    class Recalling(Nothing):
        offers_recall = True

        def recover(self, question, page):
            return question.kind == "number"

    found = scores(Recalling(), case, "recoverable")
    assert found["number"] == 1.0 and found["reuse"] == 0.0
    assert scores(Recalling(), case)["number"] == 0.0


def test_a_run_is_the_same_twice(case):
    again = board.Case(transcripts.read_session(made_up.sessions()[0]), 5, made_up.labels())
    assert [q.id for q in case.questions] == [q.id for q in again.questions]
    assert case.ends == again.ends


def test_a_participant_that_fails_is_told_of_and_the_others_go_on():
    class Broken(Participant):
        name = "broken"

        def compact(self):
            raise RuntimeError("out of order")

    told = [transcripts.read_session(made_up.sessions()[1])]
    results, failures = board.run([Broken(), Everything()], told, [5], labels.read(), lambda name: Bill(), lambda line: None)
    assert [r["participant"] for r in results] == ["everything"]
    assert failures[0]["participant"] == "broken" and "out of order" in failures[0]["why"]
