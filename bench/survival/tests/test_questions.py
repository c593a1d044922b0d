"""What is asked, and when an answer counts."""

import json

from survival import planted, rounds
from survival.identifiers import contains, identifiers_in
from survival.questions import Question, commands, core, numbers, requests, reuse, tasks
from survival.score import Page, holds
from survival.text import rendered
from survival.transcripts import Message, assistant, call, result


def says(role, text):
    return Message({"role": role, "content": text}, 0)


def ran(identifier, command, output, name="bash"):
    return [assistant(None, [call(identifier, name, {"command": command})], 0), result(identifier, output, 0)]


def page(messages):
    return Page(rendered([message.chat for message in messages]))


def test_identifiers_of_every_kind():
    found = identifiers_in(
        "see https://example.org/a/b and src/lib/core.rs, commit 3fa9c1d0, ticket ABC-123, TypeError after 12.5 ms, "
        "user 8f14e45f-ceea-467f-ab5c-0123456789ab, read/write and 1/2"
    )
    assert {kind for kind in found.values()} == {"url", "path", "hash", "id", "error", "number", "uuid"}
    assert "read/write" not in found and "1/2" not in found


def test_an_identifier_counts_only_whole():
    assert contains("in src/a.rs, line 3", "src/a.rs")
    assert not contains("in src/a.rst", "src/a.rs")
    assert not contains("took 112 ms", "12 ms")


def test_reuse_is_what_the_agent_used_and_nobody_told_again():
    before = [says("user", "look at src/one/alpha.rs, src/one/beta.rs and src/one/gamma.rs"), says("assistant", "yes")]
    after = [
        says("assistant", "first src/one/alpha.rs"),
        says("user", "and do not forget src/one/beta.rs"),
        says("assistant", "then src/one/beta.rs and src/one/delta.rs"),
    ]
    asked = reuse(before + after, [2])
    assert [question.answer for question in asked] == ["src/one/alpha.rs"]
    assert reuse(before + after, [2], system="the file src/one/alpha.rs") == []


def test_a_tools_result_tells_again_too():
    before = [says("user", "look at src/one/alpha.rs")]
    after = [*ran("c1", "ls", "src/one/alpha.rs"), says("assistant", "so src/one/alpha.rs it is")]
    assert reuse(before + after, [1]) == []


def test_a_command_needs_its_outcome():
    messages = [says("user", "go"), *ran("c1", "make release --fast", "Exit code 2\nlinker not found"), *ran("c2", "make check --all", "42 checks, fine")]
    failed, done = commands(messages)
    assert (failed.about[0], done.about[0]) == ("failed", "done")
    assert holds(page(messages), failed) and holds(page(messages), done)
    assert holds(Page("- make release --fast → Exit code 2"), failed)
    assert not holds(Page("- make release --fast"), failed)
    assert not holds(Page("- make release --fast → ok"), failed)
    assert holds(Page("ran make check --all: ok"), done)
    assert not holds(Page("ran make check --all"), done)


def test_how_a_command_was_run_is_not_asked():
    messages = [*ran("c1", "cd /srv/app && make check --all 2>&1 | tail -5", "42 checks, fine")]
    asked = commands(messages)[0]
    assert asked.answer == "make check --all"
    assert holds(page(messages), asked) and holds(Page("- make check --all → ok"), asked)
    assert core("gh pr comment 7 --body \"$(cat <<'EOF'") == "gh pr comment 7 --body"
    assert core("grep -c x a.log | sort 2>/dev/null") == "grep -c x a.log | sort"


def test_a_masked_result_is_no_outcome():
    messages = [*ran("c1", "make release --fast", "Exit code 2")]
    asked = commands(messages)[0]
    messages[1].chat["content"] = "[elided]"
    assert not holds(page(messages), asked)


def test_looking_is_no_command():
    assert commands([*ran("c1", "cd /srv && grep -n word file.py", "3: word"), *ran("c2", "/srv/a.py", "x", name="read_file")]) == []


def test_a_number_needs_what_it_measures():
    asked = numbers([says("assistant", "The parser benchmark took 48.2 ms on the laptop.")])
    assert [question.answer for question in asked] == ["48.2 ms"]
    assert holds(Page("parser benchmark: 48.2 ms"), asked[0])
    assert not holds(Page("Numbers: 48.2 ms, 17 s"), asked[0])
    assert numbers([result("c1", "other benchmark took 99.1 ms here", 0)]) == []


def test_of_a_command_that_was_run_again_the_last_run_counts():
    before = ran("c1", "make bench | tail -3", "parser benchmark took 48.2 ms")
    after = ran("c2", "make bench", "parser benchmark took 31.5 ms")
    assert [question.answer for question in numbers([*before, *after])] == ["31.5 ms"]


def test_open_tasks_are_those_of_the_newest_list():
    todos = {"todos": [{"content": "write the parser", "status": "completed"}, {"content": "test the printer", "status": "pending"}]}
    messages = [says("assistant", "- [ ] an older list"), assistant(None, [call("c1", "TodoWrite", todos)], 0)]
    assert [question.answer for question in tasks(messages)] == ["test the printer"]
    assert [question.answer for question in tasks([says("assistant", "- [x] done\n- [ ] still open")])] == ["still open"]


def test_requests_are_the_users_own_words():
    messages = [says("user", f"request number {n}") for n in range(5)]
    messages.insert(5, says("user", "<system-reminder>do not tell</system-reminder>"))
    assert [question.answer for question in requests(messages)] == ["request number 4", "request number 3", "request number 2"]


def test_a_rule_may_be_set_otherwise():
    asked = Question("constraint", "Use `tabs`, not spaces", "tabs", 0)
    assert holds(Page("- use **tabs**,\n  not spaces!"), asked)
    assert not holds(Page("tabs rather than spaces"), asked)


def test_cuts_never_part_a_call_from_its_result():
    messages = [says("user", "go")]
    for number in range(40):
        messages += ran(f"c{number}", "make it", "done " * 50)
    ends = rounds.cuts(messages, 10)
    assert len(ends) == 10 == len(set(ends)) and ends == sorted(ends)
    assert all(messages[end].role != "tool" for end in ends) and ends[-1] < len(messages)


def test_planted_messages_are_in_the_first_half_and_pair_up():
    messages = [m for n in range(30) for m in (says("user", f"question {n}"), says("assistant", f"answer {n}"))]
    out, asked = planted.plant(messages, "x/y")
    assert out == planted.plant(messages, "x/y")[0] and [m for m in out if m.origin >= 0] == messages
    places = [index for index, message in enumerate(out) if message.origin < 0]
    assert max(places) < 0.75 * len(out)
    assert sum(q.kind == "planted" for q in asked) == 6 and all(holds(page(out), q) for q in asked)
    assert not any(holds(page(messages), q) for q in asked)
    calls = [c["id"] for m in out for c in m.chat.get("tool_calls") or []]
    assert calls == [m.chat["tool_call_id"] for m in out if m.role == "tool"]


def test_nothing_is_planted_between_a_question_and_its_answer():
    asking = says("assistant", "It is done. Shall I set it now?")
    messages = [m for n in range(30) for m in (says("user", f"question {n}"), asking if n % 2 else says("assistant", f"answer {n}"))]
    out, _ = planted.plant(messages, "x/y")
    assert not any(now.origin < 0 and before is asking for before, now in zip(out, out[1:]))


def test_questions_are_plain_data():
    json.dumps(Question("reuse", "a/b/c.rs", "the file", 1, ("path",)).__dict__)
