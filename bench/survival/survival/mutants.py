"""Builds that tell falsely, as changes of a context: what the scorer of truth must catch, or its zero says nothing.

Each takes a context as text and the cases that it is about, and gives back what a worse build would have told, with the cases
that it made false.
"""

import re

from . import truth_score
from .score import Page
from .text import plain
from .truth_score import OVERTAKEN

OUTCOME = re.compile(r"^(?P<before>.*?(?:→|->|=>|\[result\])\s*)(?P<told>.*)$")


def ticked(text, cases):
    """Every quoted failure and refusal gets a tick."""
    spoilt, lines = [], text.splitlines()
    for case in cases:
        if case.kind not in ("failed", "status", "refused"):
            continue
        for place, line in enumerate(lines):
            if case.subject in line and plain(case.ended) in plain(line):
                lines[place] = f"✓ {line}"
                spoilt.append(case)
                break
    return "\n".join(lines), spoilt


def unordered(text, cases):
    """The newest comes first."""
    page = Page(text)
    spoilt = [case for case in cases if case.kind in OVERTAKEN and plain(case.first) in page.plain and plain(case.ended) in page.plain]
    return "\n".join(reversed(text.splitlines())), spoilt


def emptied(text, cases):
    """Every result is shown as nothing."""
    spoilt, lines = [], text.splitlines()
    for case in cases:
        if case.kind not in truth_score.CALLS or not truth_score.ended(Page(text), case):
            continue
        touched = False
        for place, line in enumerate(lines):
            if plain(case.ended) in plain(line) and case.subject in line:
                found = OUTCOME.match(line)
                lines[place] = f"{found['before']}no result" if found else ""
                touched = True
        left = Page("\n".join(lines))
        shown = any(case.tool in line for _, line in truth_score.near(left, case.subject))
        if touched and (shown if case.kind == "worked" else truth_score.asked(left, case)):
            spoilt.append(case)
    return "\n".join(lines), spoilt


ALL = {"ticks quoted failures": ticked, "drops the order": unordered, "shows a result as nothing": emptied}


def caught(text, questions):
    """For each of these builds, how many of the cases that it made false are found false, of how many."""
    asked = [question for question in questions if question.kind == "false"]
    cases = [truth_score.case_of(question) for question in asked]
    counts = {}
    for name, mutant in ALL.items():
        changed, spoilt = mutant(text, cases)
        page = Page(changed)
        found = [bool(truth_score.false(page, question)) for question in asked if truth_score.case_of(question) in spoilt]
        counts[name] = [sum(found), len(found)]
    return counts
