"""The bill: what is read from the cache, what is taken in, what a session looks like, how the tables are made."""

import pytest

from survival import money
from survival.money import PROVIDERS, Bill, Provider
from survival.text import message_tokens

PLAIN = Provider("plain", "m", 2.0, 10.0, 0.1, 1.5, least=0)


def context(*sizes):
    return [(f"m{place}", size) for place, size in enumerate(sizes)]


def test_what_two_calls_share_is_read_and_the_rest_taken_in():
    bill = Bill(PLAIN)
    bill.call(context(1000, 500), 100)
    bill.call(context(1000, 500, 300), 50)
    assert (bill.read, bill.taken_in, bill.answered) == (1500, 1500 + 300, 150)
    cost = bill.cost()
    assert cost == pytest.approx({"read": 1500 * 0.2 / 1e6, "taken in": 1800 * 3 / 1e6, "answers": 150 * 10 / 1e6, "summaries": 0})


def test_behind_a_changed_message_nothing_is_read():
    bill = Bill(PLAIN)
    bill.call(context(1000, 500, 300), 0)
    changed = context(1000, 500, 300, 20)
    changed[1] = ("masked", 30)
    bill.call(changed, 0)
    assert (bill.read, bill.taken_in) == (1000, 1800 + 30 + 300 + 20)


def test_a_shorter_context_reads_no_more_than_it_has():
    bill = Bill(PLAIN)
    bill.call(context(1000, 500, 300), 0)
    bill.call(context(1000), 0)
    assert bill.read == 1000


@pytest.mark.parametrize("step, least, shared, read", [(1, 1024, 1023, 0), (1, 1024, 1024, 1024), (128, 1024, 1300, 1280), (128, 1024, 1020, 0)])
def test_hits_count_in_the_providers_steps(step, least, shared, read):
    assert Bill(Provider("p", "m", 1, 1, 0.1, 1, step, least)).hit(shared) == read


def test_summaries_are_calls_of_their_own():
    bill = Bill(PLAIN)
    bill.summary(4000, 500)
    bill.summary(1000, 100)
    assert bill.cost()["summaries"] == pytest.approx((5000 * 2 + 600 * 10) / 1e6)


def test_a_made_up_session_is_the_same_each_time_and_of_the_size_it_says():
    one, other = money.made_up(0, 60), money.made_up(0, 60)
    assert [m.chat for m in one.messages] == [m.chat for m in other.messages]
    assert money.made_up(1, 60).messages[0].chat != one.messages[0].chat
    results = [message_tokens(m.chat) for m in one.messages if m.role == "tool"]
    assert len(results) == 60 and 800 < sum(results) / 60 < 3_500 and max(results) > 4 * sorted(results)[30]


def test_every_call_is_preceded_by_what_came_since_the_last():
    messages = money.made_up(0, 30).messages
    told = list(money.turns(messages, 27))
    assert len(told) == 27 and all(answer["role"] == "assistant" for _, answer in told)
    roles = [[m["role"] for m in new] for new, _ in told]
    assert roles[0] == ["user"] and roles[1] == ["assistant", "tool"] and roles[25] == ["assistant", "tool", "user"]


def row(participant, dollars, provider="OpenAI", session="made-up/0"):
    return {
        "participant": participant, "provider": provider, "session": session, "window": 1000, "calls": 10, "mean": 100.0,
        "cost": {"read": dollars, "taken in": 0.0, "answers": 1.0, "summaries": 0.0}, "largest": 900, "over": 1, "compactions": 2,
    }


def test_the_table_has_means_of_sessions_the_cheapest_first():
    rows = [row("dear", 5.0), row("cheap", 1.0), row("cheap", 2.0, session="made-up/1"), row("dear", 5.0, session="made-up/1")]
    written = money.tables([*rows, row("cheap", 9.0, session="pi/x")])
    told = [line for line in written.splitlines() if line.startswith(("| cheap", "| dear"))]
    assert told[0].startswith("| cheap | 2.50 | 1.50 | 0.00 | 1.00 |") and told[0].endswith("| 2 of 20 | 2.0 |")
    assert told[1].startswith("| dear | 6.00 |") and told[2].startswith("| cheap | 10.00 |")
    assert "2 made-up sessions" in written and "1 recorded session," in written and "Anthropic" not in written


def test_the_tables_go_where_the_former_ones_were():
    first = money.placed("# Page\n\ntext\n", f"{money.BEGIN}\na\n{money.END}")
    assert money.placed(first, f"{money.BEGIN}\nb\n{money.END}") == first.replace("\na\n", "\nb\n")


def test_prices_are_those_of_the_service():
    rates = {provider.model: (provider.read, provider.write) for provider in PROVIDERS}
    assert rates == {"claude-sonnet-4-5": (0.1, 1.25), "gpt-5": (0.1, 1.0)}
