"""The columns of truth: faithful tellers say nothing false, and builds that lie are caught."""

import re

import pytest

from survival import board, known_work, mutants, report, truth, truth_score
from survival.participants import Everything, Nothing, Participant
from survival.played import Bill
from survival.score import Page, holds
from survival.text import arguments_text

LANGUAGES = list(truth.languages())


class Quoting(Participant):
    """A record that quotes all words and the results of calls, in order, in one message."""

    name = "quoting"

    def compact(self):
        lines, results = [], {m["tool_call_id"]: m["content"] for m in self.messages if m["role"] == "tool"}
        for message in self.messages:
            if message["role"] == "user" and message["content"].startswith("RECORD"):
                lines.append(message["content"].removeprefix("RECORD\n"))
            elif message["role"] != "tool":
                who = message.get("name") or message["role"]
                lines += [f"{who}: {message['content']}"] if message["content"] else []
                for call in message.get("tool_calls") or []:
                    function = call["function"]
                    lines.append(f"- {function['name']}({arguments_text(function['arguments'])}) → {results[call['id']]}".replace("\n", " ")[:900])
        self.messages = [{"role": "user", "content": "RECORD\n" + "\n".join(lines)}]


def spoilt(change):
    """The same, but that a lie is put into its record."""

    class Spoilt(Quoting):
        def compact(self):
            super().compact()
            self.messages[0]["content"] = "RECORD\n" + "\n".join(change(self.messages[0]["content"].splitlines()[1:]))

    return Spoilt()


def marks(participant, sessions):
    counts = {}
    for session in sessions:
        case = board.Case(session, 5, {})
        for kind, columns in board.play(participant, case, Bill())["marks"].items():
            found = counts.setdefault(kind, [0, 0])
            found[0] += columns["verbatim"][0]
            found[1] += columns["verbatim"][1]
    return counts


@pytest.fixture(scope="module")
def languages():
    return truth.sessions()


def test_nine_languages_with_eight_cases_each(languages):
    assert len(languages) == 9
    for session in languages:
        assert len([q for q in session.questions if q.kind == "false"]) == 8


def test_no_session_says_itself_that_something_is_done(languages):
    for session in languages:
        for message in session.messages:
            text = (message.chat["content"] or "").lower()
            if text.count("\n") > 20:
                continue  # A page of made-up words, where no case is.
            assert not truth_score.TICKED.search(text) and not truth_score.SAID.search(text), text
            assert not any(truth_score.says(text, word) for word in truth.languages()[session.name]["done"]), text


@pytest.mark.parametrize("teller", [Everything, Quoting])
def test_who_keeps_or_quotes_all_says_nothing_false(teller, languages):
    counts = marks(teller(), languages)
    assert counts["false"] == [0, 72] and counts["claimed"] == [0, 72]
    assert counts["outcome"] == [72, 72] and counts["order"] == [27, 27]


def test_who_says_nothing_says_nothing_false_and_tells_nothing(languages):
    counts = marks(Nothing(), languages)
    assert counts.get("false", [0, 0]) == [0, 0] and counts["outcome"] == [0, 72] and counts["order"] == [0, 27]


def test_what_is_known_is_there_for_who_keeps_it_and_gone_for_who_does_not():
    asked = {"finding": 24, "table": 15, "speaker": 20}
    for teller in (Everything(), Quoting()):
        assert marks(teller, known_work.sessions()) == {kind: [number, number] for kind, number in asked.items()}
    assert marks(Nothing(), known_work.sessions()) == {kind: [0, number] for kind, number in asked.items()}


def test_who_drops_the_names_does_not_know_who_said_it():
    class Nameless(Quoting):
        def compact(self):
            super().compact()
            self.messages[0]["content"] = re.sub(r"^(?:\w+: )+", "user: ", self.messages[0]["content"], flags=re.M)

    assert marks(Nameless(), known_work.sessions())["speaker"][0] <= 2


def test_who_gives_words_to_another_does_not_know_who_said_it():
    class Mistaken(Quoting):
        def compact(self):
            super().compact()
            self.messages[0]["content"] = "\n".join(re.sub("|".join(known_work.PEOPLE), "Jonas", line) for line in self.messages[0]["content"].splitlines())

    assert marks(Mistaken(), known_work.sessions())["speaker"][0] <= 4


# Builds that lie: ticks, headings, the order, what failed shown as nothing, requests without how they ended, old words alone.
LIES = {
    "a tick at every call": (lambda lines: [f"✓ {line}" if line.startswith("- ") else line for line in lines], {"failed", "status", "refused"}),
    "ok at every call": (lambda lines: [f"{line} → ok" if line.startswith("- ") else line for line in lines], {"failed", "status", "refused"}),
    "everything under Done": (lambda lines: ["## Done", *lines], {"failed", "status", "refused", "planned"}),
    "the newest first": (lambda lines: lines[::-1], set(truth.OVERTAKEN)),
    "results as nothing": (lambda lines: [re.sub("→ .*", "→ no result", line) for line in lines], {"failed", "status", "refused", "worked"}),
    "results as nothing at all": (lambda lines: [re.sub("→ .*", "→", line) for line in lines], {"failed", "status", "refused", "worked"}),
    "requests without calls": (lambda lines: [line for line in lines if not line.startswith("- ")], {"failed", "status", "refused"}),
    "every call failed": (lambda lines: [line.replace("→", "→ failed:") for line in lines], {"worked"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_nine_of_ten_lies_are_caught_in_every_language(lie, languages):
    change, kinds = LIES[lie]
    caught = asked = 0
    for session in languages:
        case = board.Case(session, 1, {})
        teller = spoilt(change)
        teller.start(session, 8_000)
        teller.append([m.chat for m in case.messages])
        teller.compact()
        page = Page(board.rendered(teller.context()))
        found = [bool(holds(page, q)) for q in session.questions if q.kind == "false" and truth_score.case_of(q).kind in kinds]
        assert sum(found) >= 0.9 * len(found) or len(found) < 10 and sum(found) >= len(found) - 1, (session.name, lie)
        caught, asked = caught + sum(found), asked + len(found)
    assert caught >= 0.9 * asked and asked >= 9


def test_an_old_word_alone_and_a_claim_in_ones_own_words_are_false(languages):
    for session in languages:
        by_kind = {truth_score.case_of(q).kind: q for q in session.questions if q.kind == "false"}
        for kind in truth.OVERTAKEN:
            assert holds(Page(f"user: {truth_score.case_of(by_kind[kind]).first}"), by_kind[kind])
        for kind in ("failed", "planned", "withdrawn"):
            case = truth_score.case_of(by_kind[kind])
            assert holds(Page(f"- {case.subject}: {case.done[0]}"), by_kind[kind])
            assert holds(Page(f"- {case.subject} was successfully handled"), by_kind[kind])
            assert holds(Page(f"## Completed\n- {case.subject}"), by_kind[kind])
        assert holds(Page("Nothing of it."), by_kind["failed"]) is None


def test_the_lies_that_are_put_into_contexts_are_caught(languages):
    for teller in (Everything(), Quoting()):
        for session in languages:
            case = board.Case(session, 5, {})
            caught = board.play(teller, case, Bill())["caught"]
            assert {name: asked for name, (_, asked) in caught.items()} == {"ticks quoted failures": 3, "drops the order": 3, "shows a result as nothing": 4}
            assert all(found == asked for found, asked in caught.values()), (session.name, teller.name, caught)


def test_the_table_tells_numbers_and_leaves_the_bills_alone(languages):
    case = board.Case(languages[0], 5, {})
    results = [board.play(Everything(), case, Bill())]
    table = report.truth_table(results)
    assert "| everything | 0 of 8 | 0 of 8 | 8 of 8 | 3 of 3 | 0 of 0 | 0 of 0 | 0 of 0 |" in table and "10 of 10" in table
    assert "everything" not in report.bill_table(results)
    assert mutants.caught("", case.questions)["drops the order"] == [0, 0]
