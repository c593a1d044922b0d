"""What a session costs: every call of the model, billed as its provider bills it. `bench/survival/run money --help`.

A session of 200 calls is played turn by turn to contextd over HTTP. Each call is sent the context that the append before it
has returned. What of it the call before has sent too, message by message from the front, is read from the prompt cache; the
rest is taken in. The answers are the same for everybody. Summaries that a model writes are billed as calls of their own.
"""

import argparse
import hashlib
import json
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from . import __main__ as board_command
from . import files, transcripts
from .http import Client
from .played import Played
from .server import Server, find_binary
from .text import count, message_tokens
from .transcripts import Message, Transcript, assistant, call, result, user

WAIT = 120
CALLS = 200
WINDOW, RECORDED_WINDOW = 200_000, 64_000
SLIDING = 40_000
BEGIN, END = "<!-- money:begin -->", "<!-- money:end -->"
RECORDED = ("entireio-cli/1284c080-f9cd-45f8-9942-ff58f5c517e5", "pi-mono/large-session")


@dataclass(frozen=True)
class Provider:
    """Published prices, US dollars a million tokens; reading and writing the cache as shares of the price of input."""

    name: str
    model: str
    input: float
    output: float
    read: float
    write: float
    # Hits count in steps of so many tokens, from so many on.
    step: int = 1
    least: int = 1024


PROVIDERS = (
    Provider("Anthropic", "claude-sonnet-4-5", 3.0, 15.0, 0.1, 1.25),
    Provider("OpenAI", "gpt-5", 1.25, 10.0, 0.1, 1.0, step=128),
)


@dataclass(frozen=True)
class Policy:
    """A way of keeping a context: settings, and what is asked of contextd after every turn."""

    name: str
    settings: dict
    every_turn: str | None = None
    # Above this size alone.
    above: int = 0


BY_HAND = {"red_at": 1.0, "ahead_at": None, "max_consecutive_low_savings": 0}
MODEL = {"upstream": "played"}
POLICIES = (
    Policy("contextd auto", {}),
    Policy("contextd auto, `pays_at` 0.5", {"pays_at": 0.5}),
    Policy("contextd auto, `pays_at` 0.3", {"pays_at": 0.3}),
    Policy("contextd summarize", {"strategy": "summarize"}),
    Policy("contextd llm_summarize", {"strategy": "llm_summarize", **MODEL}),
    Policy("contextd llm_summarize, `pays_at` 0.3", {"strategy": "llm_summarize", "pays_at": 0.3, **MODEL}),
    Policy("contextd sliding", {"strategy": "sliding"}),
    Policy("masking every turn", {"strategy": "mask", **BY_HAND}, every_turn="mask"),
    Policy("sliding every turn", {"strategy": "sliding", "target_tokens": SLIDING, **BY_HAND}, every_turn="sliding", above=SLIDING),
    Policy("the whole history", {"enabled": False}),
)


@dataclass
class Bill:
    """Tokens of a session's calls by what is paid for them."""

    provider: Provider
    read: int = 0
    taken_in: int = 0
    answered: int = 0
    summaries: tuple = (0, 0)
    sizes: list = field(default_factory=list)
    before: list = field(default_factory=list)

    def call(self, context, answer):
        """A call: `context` is pairs of a message's key and its size."""
        size = sum(tokens for _, tokens in context)
        read = self.hit(shared(self.before, context))
        self.read += read
        self.taken_in += size - read
        self.answered += answer
        self.sizes.append(size)
        self.before = context

    def hit(self, tokens):
        return tokens - tokens % self.provider.step if tokens >= self.provider.least else 0

    def summary(self, read, written):
        self.summaries = (self.summaries[0] + read, self.summaries[1] + written)

    def cost(self):
        """US dollars by part."""
        price = self.provider
        parts = {
            "read": self.read * price.input * price.read,
            "taken in": self.taken_in * price.input * price.write,
            "answers": self.answered * price.output,
            "summaries": self.summaries[0] * price.input + self.summaries[1] * price.output,
        }
        return {name: part / 1e6 for name, part in parts.items()}


def shared(before, after):
    """Tokens that two contexts begin with alike."""
    tokens = 0
    for one, other in zip(before, after):
        if one != other:
            break
        tokens += other[1]
    return tokens


def keyed(message):
    text = json.dumps(message, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16], size_of(text, message)


SIZES = {}


def size_of(text, message):
    if text not in SIZES:
        SIZES[text] = message_tokens(message)
    return SIZES[text]


class Writer:
    """Words that no dictionary has, in lines as tools print them."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def word(self):
        return "".join(self.draw.choice("bdfgklmnprst") + self.draw.choice("aeiou") for _ in range(self.draw.randrange(2, 4)))

    def line(self):
        draw = self.draw
        return draw.choice(
            (
                f"src/{self.word()}/{self.word()}.py:{draw.randrange(1, 900)}: {self.word()} = {self.word()}({self.word()}, {draw.randrange(99)})",
                f"test {self.word()}::{self.word()} ... ok ({draw.randrange(1, 900)} ms)",
                f"    {self.word()} {self.word()} the {self.word()} of {self.word()}, where {self.word()} is {self.word()}",
            )
        )

    def text(self, tokens):
        """About so many tokens."""
        lines, size = [], 0
        while size < tokens:
            lines.append(self.line())
            size += count(lines[-1]) + 1
        return "\n".join(lines)

    def session(self, calls):
        """An agent at work: sizes of results are spread as they are in recordings, most of them small and some very large."""
        draw, messages = self.draw, []
        for number in range(calls):
            if number % 25 == 0:
                messages.append(user(f"Now see to {self.word()} in src/{self.word()}/{self.word()}.py. {self.text(120)}", -1))
            path, identifier = f"src/{self.word()}/{self.word()}.py", f"call_{number:05}"
            arguments = {"path": path, "about": self.text(draw.randrange(60, 360))}
            messages.append(assistant(f"I look at {path} for {self.word()}.", [call(identifier, "read", arguments)], -1))
            messages.append(result(identifier, self.text(min(20_000, draw.lognormvariate(6.9, 1.1))), -1))
        return messages


def made_up(seed, calls):
    writer = Writer(f"money {seed}")
    system = "You are an agent who works on a large code base.\n" + writer.text(8_000)
    return Transcript("made-up", str(seed), system, writer.session(calls))


def turns(messages, calls):
    """What is new before each call of the model, the answer of the one before included, and its answer; at most so many."""
    pending = []
    for message in messages:
        if message.role == "assistant" and calls > 0:
            yield [m.chat for m in pending], message.chat
            pending, calls = [], calls - 1
        pending.append(message)


class Taker:
    """A session of contextd, kept by a policy."""

    def __init__(self, base, policy, provider, transcript, window):
        self.client, self.policy = Client(base), policy
        settings = {"context_window": window, **policy.settings}
        session = {"model": provider.model, "system": transcript.system, "settings": settings}
        self.path = f"/v1/sessions/{self.client.post('/v1/sessions', session)['id']}"
        self.compactions, self.summaries = 0, (0, 0)

    def append(self, messages):
        """The context that the next call is sent: as it stands at once, for nobody waits."""
        body = {"format": "openai_chat", "items": messages, "return_context": "openai_chat"}
        answer = self.client.post(f"{self.path}/entries", body)
        if self.policy.every_turn and answer["snapshot"]["tokens"] > self.policy.above:
            asked = {"strategy": self.policy.every_turn, "force": True, "wait": WAIT}
            self.note(self.client.post(f"{self.path}/compact", asked))
            return self.client.post(f"{self.path}/rebuild", {"format": "openai_chat"})
        return answer["context"]

    def settle(self):
        """What was begun is ready by the time the model has answered."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            newest = self.client.get(f"{self.path}/compactions?limit=1")["items"]
            if not newest or newest[0]["status"] not in ("queued", "running") or newest[0].get("prepared"):
                return
            time.sleep(0.05)
        raise RuntimeError("a compaction does not end")

    def note(self, done):
        if done["status"] in ("queued", "running"):
            raise RuntimeError("a compaction does not end")

    def end(self):
        """Counts what was done, and erases the session."""
        cursor = ""
        while cursor is not None:
            page = self.client.get(f"{self.path}/compactions?limit=200{cursor}")
            for done in page["items"]:
                self.tally(done)
            cursor = f"&after={page['next_cursor']}" if page.get("next_cursor") else None
        self.client.call("DELETE", self.path)

    def tally(self, done):
        found = done.get("result") or {}
        self.compactions += done["status"] == "succeeded"
        upstream = found.get("upstream") or {}
        self.summaries = tuple(a + b for a, b in zip(self.summaries, (upstream.get("input_tokens", 0), upstream.get("output_tokens", 0))))


def played(base, policy, provider, transcript, window, calls):
    """The bill of one session under one policy, as plain figures."""
    taker, bill = Taker(base, policy, provider, transcript, window), Bill(provider)
    for new, answer in turns(transcript.messages, calls):
        context = taker.append(new)
        system = [{"role": "system", "content": context["system"]}] if context.get("system") else []
        bill.call([keyed(message) for message in system + context["messages"]], message_tokens(answer))
        taker.settle()
    taker.end()
    bill.summary(*taker.summaries)
    return {
        "participant": policy.name,
        "provider": provider.name,
        "session": f"{transcript.source}/{transcript.name}",
        "window": window,
        "calls": len(bill.sizes),
        "cost": bill.cost(),
        "mean": sum(bill.sizes) / len(bill.sizes),
        "largest": max(bill.sizes),
        "over": sum(size > window for size in bill.sizes),
        "compactions": taker.compactions,
    }


def sessions(options):
    """Transcripts with their windows."""
    found = [(made_up(seed, options.calls), WINDOW) for seed in range(options.seeds)]
    folder = board_command.corpus_folder(options.transcripts)
    if folder:
        recorded = (s for s in files.sessions_in(folder) if any(board_command.matches(s, name) for name in RECORDED))
        found += [(transcripts.read_session(session), RECORDED_WINDOW) for session in recorded]
    return found


def of_provider(options, provider):
    """All sessions under all policies, at one provider's prices, by a service of their own."""
    model = Played()
    server = Server(find_binary(options.binary), model.url("money"), provider.model, (provider.input, provider.output))
    try:
        results = []
        for transcript, window in sessions(options):
            for policy in chosen(options):
                began = time.monotonic()
                results.append(played(server.base, policy, provider, transcript, window, options.calls))
                took = time.monotonic() - began
                told = f"{sum(results[-1]['cost'].values()):.2f} US$, {took:.0f} s"
                print(f"{provider.name}, {results[-1]['session']}, {policy.name}: {told}", file=sys.stderr, flush=True)
        return results
    finally:
        server.stop()
        model.stop()


def chosen(options):
    wanted = options.participants.split(";") if options.participants else None
    return [policy for policy in POLICIES if wanted is None or policy.name in wanted]


def tables(results):
    """One table for each provider and kind of session: the cheapest first."""
    parts = []
    for provider in PROVIDERS:
        for kind in ("made-up", "recorded"):
            rows = [r for r in results if r["provider"] == provider.name and (r["session"].startswith("made-up/") == (kind == "made-up"))]
            if rows:
                parts.append(table(provider, kind, rows))
    return "\n\n".join([BEGIN, *parts, END])


def table(provider, kind, rows):
    names = list(dict.fromkeys(row["participant"] for row in rows))
    sums = sorted((summed([row for row in rows if row["participant"] == name]) for name in names), key=lambda one: one["total"])
    number, window = len({row["session"] for row in rows}), rows[0]["window"]
    title = f"### {provider.name}, {number} {kind} session{'s' if number > 1 else ''}, window of {window:,}"
    about = (
        f"`{provider.model}`: {provider.input:g} US$ a million tokens of input, {provider.input * provider.read:g} read from the cache, "
        f"{provider.input * provider.write:g} taken in, {provider.output:g} of output. US$ of a session."
    )
    head = "| participant | US$ | read | taken in | answers | summaries | mean context | largest | calls over the window | compactions |"
    lines = [title, "", about, "", head, "| --- |" + " ---: |" * 9]
    for one in sums:
        cost = one["cost"]
        parts = " | ".join(f"{cost[name]:.2f}" for name in ("read", "taken in", "answers", "summaries"))
        lines.append(
            f"| {one['name']} | {one['total']:.2f} | {parts} | {one['mean']:,.0f} | {one['largest']:,} | "
            f"{one['over']} of {one['calls']} | {one['compactions']:.1f} |"
        )
    return "\n".join(lines)


def summed(rows):
    """Means of a participant's sessions; calls over the window and calls are counted."""
    number = len(rows)
    cost = {name: sum(row["cost"][name] for row in rows) / number for name in rows[0]["cost"]}
    return {
        "name": rows[0]["participant"],
        "cost": cost,
        "total": sum(cost.values()),
        "mean": sum(row["mean"] for row in rows) / number,
        "largest": max(row["largest"] for row in rows),
        "over": sum(row["over"] for row in rows),
        "calls": sum(row["calls"] for row in rows),
        "compactions": sum(row["compactions"] for row in rows) / number,
    }


def placed(document, written):
    """A document with its tables between the markers in place of the former ones; at its end where it has none."""
    if BEGIN in document and END in document:
        before, rest = document.split(BEGIN, 1)
        return before + written + rest.split(END, 1)[1]
    return document.rstrip() + "\n\n" + written + "\n"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/survival/run money", description="What a session of 200 calls costs at two providers' prices.")
    parser.add_argument("--binary", help="contextd's executable (default: the newest under target/)")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of the model in a session, at most")
    parser.add_argument("--seeds", type=int, default=3, help="made-up sessions")
    parser.add_argument("--transcripts", help="a folder with the two recorded sessions (default: ../shared/corpus)")
    parser.add_argument("--participants", help="names, with semicolons between them (default: all)")
    parser.add_argument("--providers", help="names, with commas between them (default: all)")
    parser.add_argument("--json", help="where the figures are written")
    parser.add_argument("--document", help="a document whose tables are to be written anew, as docs/SURVIVAL.md")
    return parser.parse_args()


def main():
    options = arguments()
    wanted = options.providers.split(",") if options.providers else [provider.name for provider in PROVIDERS]
    asked = [provider for provider in PROVIDERS if provider.name in wanted]
    with ProcessPoolExecutor(len(asked)) as pool:
        results = [one for found in pool.map(of_provider, [options] * len(asked), asked) for one in found]
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    written = tables(results)
    if options.document:
        document = Path(options.document)
        document.write_text(placed(document.read_text(), written))
    print(written)


if __name__ == "__main__":
    main()
