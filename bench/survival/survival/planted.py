"""Planted messages: facts that nobody can guess, at known places, in plain words.

Ours are put as people put them. Those of `compaction-conformance-kit` (PyPI), where it is installed, are its own: one of each
of its five types, asked by its own probe.
"""

import hashlib
import random

from .questions import Question, text_of
from .transcripts import Message, assistant, call, result

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def randomness(name):
    return random.Random(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16))


def made_word(draw):
    return "".join(draw.choice(CONSONANTS) + draw.choice(VOWELS) for _ in range(3))


def said(text, answer="Understood."):
    return [Message({"role": "user", "content": text}), assistant(answer, [], -1)]


def ours(name):
    """Six planted exchanges, each with the strings that must be there afterwards."""
    draw = randomness(name)
    word = [made_word(draw) for _ in range(8)]
    number = [draw.randrange(1_000, 9_999) for _ in range(5)]
    digest = "".join(draw.choice("0123456789abcdef") for _ in range(8))
    identifier = f"planted_{digest}"
    return [
        ("rule", said(f"Use tabs, not spaces, in {word[0]}.conf."), ("tabs", f"{word[0]}.conf")),
        ("limit", said(f"We may spend {number[0]} dollars on this at most, and it has to be ready by {word[1]} week."), (f"{number[0]}", word[1])),
        ("correction", said(f"Name the release branch rel-{word[2]}.") + said(f"No, call the release branch rel-{word[3]} instead."), (f"rel-{word[3]}",)),
        ("preference", said(f"I prefer short names for the flags, as in --{word[4]}, never more than {number[1] % 20 + 5} letters."), (f"--{word[4]}",)),
        (
            "measured",
            [
                Message({"role": "user", "content": f"Run the {word[5]} benchmark once."}),
                assistant(None, [call(identifier, "bash", {"command": f"./bench-{word[5]} --once"})], -1),
                result(identifier, f"warming up\n{word[5]} benchmark: {number[2]} requests in 60 s, p99 {number[3]} µs\nbuild {digest}", -1),
                assistant("It ran through.", [], -1),
            ],
            (f"{number[3]}", word[5]),
        ),
        ("decision", said("Where will you keep the cache?", f"I will keep the cache in /var/{word[6]}/{word[7]}.db, because the home folder is small."), (f"/var/{word[6]}/{word[7]}.db",)),
    ]


def of_the_kit(name):
    """One canary of each type of the kit's random sessions, or none where the kit is not installed."""
    try:
        from compaction_kit.corpus import build_random_session
    except ImportError:
        return []
    _, canaries = build_random_session(int(hashlib.sha256(name.encode()).hexdigest()[:6], 16))
    kinds = {}
    for canary in canaries:
        if canary.required_tokens:
            kinds.setdefault(canary.type.value, []).append(canary)
    draw = randomness(name + "kit")
    picked = [(kind, draw.choice(group)) for kind, group in sorted(kinds.items())]
    return [(kind, said(canary.content), tuple(canary.required_tokens)) for kind, canary in picked]


def asks(message):
    """A message that ends with a question, or with one and what is said behind it."""
    return message.role == "assistant" and "?" in text_of(message)[-200:]


def joints(messages, until):
    """Places where something may be put in: before a user's message that answers no question, or before an answer to a result."""
    before_user = [i for i in range(1, until) if messages[i].role == "user" and messages[i - 1].role != "user"]
    found = [i for i in before_user if not asks(messages[i - 1])]
    if len(found) < 4:
        found += [i for i in range(1, until) if messages[i].role == "assistant" and messages[i - 1].role == "tool"]
    return sorted(set(found)) or [min(1, until)]


def plant(messages, name, share=0.5):
    """Messages with all planted ones in their first half, and the questions about them."""
    exchanges = [("planted", *e) for e in ours(name)] + [("planted_kit", *e) for e in of_the_kit(name)]
    places = joints(messages, max(1, int(len(messages) * share)))
    randomness(name + "places").shuffle(exchanges)
    at = {}
    for index, exchange in enumerate(exchanges):
        at.setdefault(places[index * len(places) // len(exchanges)], []).append(exchange)
    out, questions = [], []
    for index, message in enumerate(messages):
        for kind, label, added, tokens in at.get(index, ()):
            out += added
            words = added[-2].chat["content"] if label != "measured" else added[0].chat["content"]
            questions.append(Question(kind, label, cue_of(words, tokens), -1, tokens))
        out.append(message)
    return out, questions


def cue_of(text, tokens):
    """Words of what was planted, without what is to be found."""
    from .text import content_words

    hidden = " ".join(tokens).lower()
    return " ".join(word for word in content_words(text) if word not in hidden)[:80]
