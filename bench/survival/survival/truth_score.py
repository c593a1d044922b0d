"""Whether a context tells what is known of a made-up session, and whether it tells it falsely.

A quotation is no claim, and what is overtaken may stand if what overtook it stands behind it. A claim is a mark or a word that
says that something is done, where it stands with a case that is not; a heading that says it over such a case; a request or a
call that stands without how it ended; an old word behind the new one, or without it; a result shown as nothing. The words that
say so are the ones that notes are written with, and those of `truth.json`, which no session itself contains.
"""

import itertools
import re

from .identifiers import contains
from .text import content_words, plain

TICKED = re.compile(r"[✓✔✅☑🗸]|\[[xX]\]|(?:→|->|=>|:)\s*(?:ok|success|succeeded|done|completed?)\b", re.I)
SAID = re.compile(r"\b(?:done|completed|succeeded|successful|successfully|finished|accomplished)\b", re.I)
HEADING = re.compile(r"^\s*(?:#{1,6}\s+\S.*|\*\*[^*]{3,60}\*\*:?|<[a-z_-]{3,40}>|[A-Z][\w ,&'-]{2,50}:)\s*$")
DONE_HEADING = re.compile(r"^(?!.*\b(?:not|to be|remaining)\b).*\b(?:done|completed|accomplish\w*|finished|achieved|achievements|resolved)\b", re.I)
MESSAGE = re.compile(r"^\[(?:user|assistant|system|tool|call|result)\b")
# Where the next thing begins; a result belongs to the call before it.
BEGINS = re.compile(r"^(?:\[(?:user|assistant|system|tool|call)\b|\s*[-*•] |#)")
CROSSED = re.compile(r"[✗✘❌]|(?:→|->|=>|:)\s*(?:failed|error|refused|rejected)\b", re.I)
NOTHING = re.compile(r"(?:→|->|=>|\[result\])\s*(?:\(?(?:no (?:output|result)|nothing|none|empty)\b|$)", re.I | re.M)
OVERTAKEN = ("withdrawn", "undone", "corrected")
NEVER_DONE = ("failed", "status", "refused", "withdrawn", "planned")
CALLS = ("failed", "status", "refused", "worked")
AROUND, BEFORE = 200, 400


def case_of(question):
    return question.about[0]


def lines_with(page, words):
    """Lines that hold some words, each with the heading that it stands under."""
    wanted, heading, found = plain(words), "", []
    for line in page.text.splitlines():
        if MESSAGE.match(line):
            heading = ""
        elif HEADING.match(line):
            heading = line
        if wanted in plain(line):
            found.append((line, heading))
    return found


def asked(page, case):
    """Whether the request stands, in its words or in half of them, or the call."""
    if plain(case.first) in page.plain:
        return True
    words = set(content_words(case.first))
    for line, _ in lines_with(page, case.subject):
        if case.tool and case.tool in line:
            return True
        if 2 * len(words & set(content_words(line))) > len(words) and plain(case.ended) not in plain(line):
            return True
    return False


def tells(page, question):
    """Whether the context tells how a case ended."""
    case = case_of(question)
    return ended(page, case) if case.kind != "planned" else bool(lines_with(page, case.subject))


def ended(page, case):
    """Whether how it ended stands anywhere; where the words are common ones, with what it is about."""
    if case.kind == "status":
        return any(case.ended in line for line, _ in near(page, case.subject))
    return plain(case.ended) in page.plain


def near(page, subject):
    """Lines that hold a word, each as the part of the text that it begins: a call's result may stand a few lines behind it."""
    lines = page.text.splitlines()
    for place, line in enumerate(lines):
        if subject in line:
            behind = itertools.takewhile(lambda later: not BEGINS.match(later), lines[place + 1 : place + 4])
            yield "\n".join([line, *behind]), line


def in_order(page, question):
    """Whether the newer of two words stands, and the older one not behind it."""
    case = case_of(question)
    newer = page.plain.rfind(plain(case.ended))
    return newer >= 0 and page.plain.rfind(plain(case.first)) < newer


def false(page, question):
    """Whether something false is told of a case; None where it is not spoken of."""
    case = case_of(question)
    if not lines_with(page, case.subject) and plain(case.ended) not in page.plain:
        return None
    return judged(page, question) or out_of_context(page, question)


def judged(page, question):
    """Whether it is claimed, in words or marks that no message has, that a case ended as it did not; None where it is not spoken of."""
    case = case_of(question)
    if not lines_with(page, case.subject):
        return None
    return (case.kind in NEVER_DONE and claimed(page, case)) or (case.kind == "worked" and denied(page, case))


def out_of_context(page, question):
    """Whether a quotation stands without what ended or overtook it."""
    case = case_of(question)
    if case.kind in OVERTAKEN:
        return plain(case.first) in page.plain and not in_order(page, question)
    return case.kind in ("failed", "status", "refused") and asked(page, case) and not ended(page, case)


def claimed(page, case):
    """Whether a line about a case, or the heading over it, says that it is done."""
    for line, heading in lines_with(page, case.subject):
        quoted = plain(case.ended) in plain(line)
        overtaken = case.kind == "withdrawn" and quoted
        if TICKED.search(line) or (DONE_HEADING.search(heading) and not overtaken):
            return True
        lower = line.lower()
        if not quoted and (SAID.search(line) or any(says(lower, word) for word in case.done)):
            return True
    return False


def says(line, word):
    """Whether a line has a word whole; where words are written without gaps, whether it has it at all."""
    return contains(line, word) if word[0] < "\u2e80" else word in line


def denied(page, case):
    """Whether a call that worked is shown as failed, or as nothing."""
    for both, line in near(page, case.subject):
        if case.tool not in line:
            continue
        if plain(case.ended) in plain(both):
            if CROSSED.search(line):
                return True
        elif CROSSED.search(both) or NOTHING.search(both):
            return True
    return False


def together(page, question):
    """All fragments of a finding or of a row, close to one another."""
    from .score import within

    return all(within([page.places(fragment) for fragment in answer], AROUND) for answer in question.about)


def said_by(page, question):
    """What was said, with the one who said it: the nearest name of the group before it, or the only one of its line."""
    who, value, people = question.about
    start = 0
    while (at := page.text.find(value, start)) >= 0:
        before = page.text[max(0, at - BEFORE) : at]
        nearest = max(people, key=before.rfind)
        if before.rfind(nearest) >= 0 and nearest == who and "\n\n" not in before[before.rfind(nearest) :]:
            return True
        begin, end = page.text.rfind("\n", 0, at) + 1, page.text.find("\n", at)
        line = page.text[begin : end if end >= 0 else len(page.text)]
        if [name for name in people if name in line] == [who]:
            return True
        start = at + 1
    return False


RULES = {"false": false, "claimed": judged, "outcome": tells, "order": in_order, "finding": together, "table": together, "speaker": said_by}
