"""The run: every participant over every transcript, in five and in ten rounds; what was found, as one JSON value."""

import json
import time
import traceback
import urllib.request
from collections import defaultdict

from . import labels, mutants, planted, probes, questions, rounds, truth_score
from .score import Page, holds
from .text import context_tokens, message_tokens, rendered

# US dollars for a million tokens of the summaries' input and output, as of a mid-sized model.
PRICES = (3.0, 15.0)
COLUMNS = ("verbatim", "recoverable", "answered")
MOST_ANSWERED = 30


class Case:
    """A transcript ready to be fed: planted, cut, and with its questions."""

    def __init__(self, transcript, number, marked, most=None, written=None):
        self.transcript, self.rounds, self.unknown_labels, self.recalled = transcript, number, 0, {}
        self.tokens = sum(message_tokens(m.chat) for m in transcript.messages)
        self.window = rounds.window_for(self.tokens)
        if transcript.questions:
            self.messages, self.questions = transcript.messages, list(transcript.questions)
            self.ends = [*rounds.cuts(self.messages, number - 1), len(self.messages)]
        else:
            self.messages, planted_ones = planted.plant(transcript.messages, f"{transcript.source}/{transcript.name}")
            self.ends = rounds.cuts(self.messages, number)
            fixed, self.unknown_labels = labels.constraints(transcript, self.messages[: self.ends[-1]], marked)
            written_ones, _ = probes.asked(transcript, probes.read() if written is None else written)
            made = questions.by_rule(self.messages, self.ends, transcript.system)
            self.questions = self.answerable(made + fixed + planted_ones + written_ones)
        if most:
            self.questions = questions.chosen(self.questions, most, lambda q: q.id)

    def answerable(self, asked):
        """Questions that the whole session, told up to where they are asked, answers: who keeps all must have all."""
        pages = {end: Page(rendered([m.chat for m in self.messages[:end]])) for end in self.ends}
        return [question for question in asked if holds(pages[question.at or self.ends[-1]], question)]


def tally():
    return {column: [0, 0] for column in COLUMNS}


def ask_model(model_url, model, context, question):
    """Whether a model answers from the context alone: the answer's own words, found by the question's own rule."""
    asked = question.answer if question.kind == "probe" else f"What does it say about: {question.cue or question.kind}?"
    prompt = f"{rendered(context)}\n\n---\nAnswer from the conversation above alone, in its exact words, in one line. {asked}"
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 200, "temperature": 0}
    request = urllib.request.Request(f"{model_url.rstrip('/')}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"] or ""
    return holds(Page(said), question)


def marks(participant, case, fed, pages, model=None):
    """Counts of what was asked and found, by kind of question and column."""
    counts = defaultdict(tally)
    contexts = dict(zip(case.ends, fed.contexts))
    for number, question in enumerate(case.questions):
        end = question.at or case.ends[-1]
        count = counts[question.kind]
        found = holds(pages[end], question)
        if found is not None:
            add(count["verbatim"], found)
        if participant.offers_recall and question.kind not in truth_score.RULES:
            add(count["recoverable"], participant.recover(question, pages[end]))
        if model and question.kind not in truth_score.RULES and number % max(1, len(case.questions) // MOST_ANSWERED) == 0:
            add(count["answered"], ask_model(*model, contexts[end], question))
    return counts


def write_lost(folder, participant, case, pages):
    """A page to be read: what does not stand in the context any more, then the contexts themselves."""
    lost = [q for q in case.questions if is_lost(holds(pages[q.at or case.ends[-1]], q), q)]
    lines = [f"{len(lost)} of {len(case.questions)} lost"]
    lines += [f"- {q.kind}, before message {q.at or case.ends[-1]}: {q.answer!r} {q.about or ''}" for q in lost]
    for end, page in pages.items():
        lines += ["", "=" * 100, f"Context after message {end} of {len(case.messages)}", "=" * 100, page.text]
    name = "-".join((case.transcript.name, str(case.rounds), participant.name)).replace(" ", "-").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text("\n".join(lines))


def is_lost(found, question):
    """Of what is asked for, what is not there; of what is false, what is."""
    return found if question.kind in ("false", "claimed") else not found


def add(count, found):
    count[0] += bool(found)
    count[1] += 1


def play(participant, case, bill, model=None, lost=None):
    """One participant over one case."""
    started = time.monotonic()
    bill.take()
    participant.start(case.transcript, case.window, case.recalled)
    try:
        fed = rounds.feed(participant, case.messages, case.ends, case.window, context_tokens)
        paid = bill.take()
        pages = {end: Page(rendered(context)) for end, context in zip(case.ends, fed.contexts)}
        counts = marks(participant, case, fed, pages, model)
        caught = mutants.caught(pages[case.ends[-1]].text, case.questions)
        if lost:
            write_lost(lost, participant, case, pages)
    finally:
        participant.end()
    return {
        "participant": participant.name,
        "transcript": f"{case.transcript.source}/{case.transcript.name}",
        "rounds": case.rounds,
        "window": case.window,
        "tokens_told": sum(message_tokens(m.chat) for m in case.messages[: case.ends[-1]]),
        "compactions": fed.compactions,
        "context_tokens": fed.tokens,
        "overfull": fed.overfull,
        "bill": paid,
        "cost_usd": cost(paid),
        "statuses": getattr(participant, "statuses", None),
        "caught": caught,
        "marks": {kind: count for kind, count in sorted(counts.items())},
        "seconds": round(time.monotonic() - started, 1),
    }


def cost(bill):
    return (bill["input_tokens"] * PRICES[0] + bill["output_tokens"] * PRICES[1]) / 1e6


def run(participants, transcripts, numbers, marked, bills, say, most=None, model=None, keep=lambda results, failures: None, lost=None):
    """All of them; `keep` is given what there is after each case, `lost` is a folder for pages of what was lost. A participant that fails over a transcript is told of as
    failed there, and goes on with the next."""
    results, failures = [], []
    for number in numbers:
        for transcript in transcripts:
            case = Case(transcript, number, marked, most)
            say(f"{transcript.source}/{transcript.name}: {case.tokens} tokens, window {case.window}, {number} rounds, {len(case.questions)} questions")
            for participant in participants:
                try:
                    result = play(participant, case, bills(participant.name), model, lost)
                    results.append(result)
                    say(f"  {participant.name}: {result['context_tokens'][-1]} tokens, {result['seconds']} s")
                except Exception as error:  # noqa: BLE001 whatever a participant raises is its own failure
                    failures.append({"participant": participant.name, "transcript": transcript.name, "rounds": number, "why": str(error)[:500]})
                    say(f"  {participant.name}: FAILED {error}")
                    if not isinstance(error, RuntimeError):
                        say(traceback.format_exc())
            keep(results, failures)
    return results, failures
