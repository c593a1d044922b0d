"""Made-up sessions of other knowledge that must outlive a compaction: findings, tables, and who said what."""

import json

from .grown import Session
from .questions import Question

FOUND = (
    ("The {service} service drops its connection after {value} requests.", "number"),
    ("{service} writes to {value} before it has read its lock.", "path"),
    ("In {service} the second attempt waits {value} ms, longer than its caller has patience.", "number"),
    ("Nobody calls {value} of {service} any more.", "word"),
    ("{service} takes its rates from {value}, not from the table.", "host"),
    ("The clock of {service} runs {value} s behind the others.", "number"),
    ("A full queue stops {service} at {value} entries.", "number"),
    ("{service} still speaks to {value}, which was switched off in spring.", "host"),
)
FINDINGS, NOISE = 24, 20
PEOPLE = ("Jonas", "Amara", "Yuki", "Priya", "Tomás")
OPINIONS = (
    "I would keep the shop in {value}, the others are too far away.",
    "My limit for the whole thing is {value} euros.",
    "Our neighbour {value} has to be told before we open.",
    "The key to the cellar is with {value}, ask there first.",
)


def value_of(session, form):
    if form == "number":
        return str(session.draw.randrange(1_100, 9_900))
    word = session.word(4)
    return {"path": f"/var/{word}/state.db", "host": f"{word}.example.net", "word": f"take_{word}"}[form]


def findings():
    """An agent that works alone and says between its calls what it found; later calls use it."""
    session, questions, values = Session("findings"), [], []
    session.user("Go through the services and find out why orders come late. Work alone, I am back tomorrow.")
    words = None
    for number in range(FINDINGS):
        service = session.word().capitalize()
        session.run("read_log", {"service": service, "lines": 200}, session.page(session.draw.randrange(20, 40)), words)
        if number % 3 == 2:
            session.run("probe", {"target": values[-2], "times": 3}, session.page(6))
        text, form = FOUND[number % len(FOUND)]
        values.append(value_of(session, form))
        words = text.format(service=service, value=values[-1])
        questions.append(Question("finding", words, "", -1, ((service, values[-1]),)))
    for _ in range(NOISE):
        session.run("read_log", {"service": session.word().capitalize(), "lines": 200}, session.page(30), words)
        words = None
    return session.transcript(questions)


def tables():
    """Three tables of five rows: the user's, a tool's as JSON, the agent's."""
    session, questions = Session("tables"), []
    head = ("region", "orders", "returns", "stock")

    def rows():
        made = [(session.word().capitalize(), *(str(session.draw.randrange(1_100, 9_900)) for _ in range(3))) for _ in range(5)]
        questions.extend(Question("table", " ".join(row), "", -1, (row,)) for row in made)
        return made

    def markdown(made):
        return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * 4, *made))

    session.user(f"These are our regions of last year, keep them at hand.\n\n{markdown(rows())}")
    session.agent("I have them.")
    filler(session, 3)
    session.user("And how is this year so far?")
    session.run("figures", {"year": "this"}, json.dumps([dict(zip(head, row)) for row in rows()]))
    session.agent("Those are the figures of this year.")
    filler(session, 3)
    session.user("What do you expect for the next one?")
    session.agent(f"I expect this:\n\n{markdown(rows())}")
    filler(session, 34)
    return session.transcript(questions)


def filler(session, turns):
    for _ in range(turns):
        name = session.word()
        session.user(f"Look into the file {name}.")
        session.run("read_file", {"name": f"{name}.txt"}, session.page(session.draw.randrange(24, 48)))
        session.agent(f"The file {name} is about the old building.")


def group(named):
    """Five people in one chat: by the field `name`, or by names before their words."""
    session, questions = Session("group-by-field" if named else "group-by-words", "You help a group of friends who plan a shop."), []

    def says(who, text):
        session.user(text, who) if named else session.user(f"{who}: {text}")

    for turn in range(4):
        for place, who in enumerate(PEOPLE):
            text, value = OPINIONS[(turn + place) % len(OPINIONS)], session.word(4).capitalize()
            if "euros" in text:
                value = str(session.draw.randrange(1_100, 9_900))
            words = text.format(value=value)
            if turn < 2:
                questions.append(Question("speaker", words, "", -1, (who, value, PEOPLE)))
            says(who, words)
            session.agent("Noted.")
    for turn in range(44):
        name = session.word()
        says(PEOPLE[turn % len(PEOPLE)], f"Can you look up what {name} costs?")
        session.run("look_up", {"what": name}, session.page(session.draw.randrange(24, 48)))
        session.agent(f"There are several offers for {name}.")
    return session.transcript(questions)


def sessions():
    return [findings(), tables(), group(True), group(False)]
