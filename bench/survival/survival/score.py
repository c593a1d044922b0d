"""Whether a text holds an answer. One rule for each kind of question, the same for a context and for a call's answer."""

import bisect
import re
from collections import defaultdict

from . import truth_score
from .identifiers import contains, places
from .questions import SAYS_DONE, SAYS_FAILED
from .text import collapse, digest, plain

NEAR = 120
AFTER_RESULT = 240
CLOSE = 300
# Where a message, a call or a result begins in a rendered context.
MARK = re.compile(r"^\[(call|result|tool|user|assistant|system)\b", re.M)
WORD = re.compile(r"\w+")


class Page:
    """A text and what matchers make of it, once."""

    def __init__(self, text):
        self.text = text
        self.collapsed = collapse(text)
        self.marks = [(mark.end(), mark.group(1)) for mark in MARK.finditer(text)]
        self._plain = None
        self._runs = {}

    @property
    def plain(self):
        if self._plain is None:
            self._plain = plain(self.text)
        return self._plain

    def places(self, fragment):
        """Where a fragment stands whole: a string, or a number of words and the hash of them."""
        if isinstance(fragment, str):
            return list(places(self.plain, plain(fragment)))
        count, hashed = fragment
        if count not in self._runs:
            self._runs[count] = runs(self.plain, count)
        return self._runs[count].get(hashed, [])


def runs(text, count):
    """Places of every run of so many words, by its hash."""
    words, found = list(WORD.finditer(text)), defaultdict(list)
    for first, last in zip(range(len(words)), range(count, len(words) + 1)):
        run = words[first:last]
        found[digest(" ".join(word.group() for word in run))].append((run[0].start(), run[-1].end()))
    return found


def holds(page, question):
    return RULES[question.kind](page, question)


def exact(page, question):
    return contains(page.text, question.answer)


def sentence(page, question):
    return plain(question.answer) in page.plain


def word_for_word(page, question):
    return collapse(question.answer) in page.collapsed


def every_token(page, question):
    """All of the strings that make the planted message what it is, case aside."""
    lower = page.collapsed.lower()
    return all(token.lower() in lower for token in question.about)


def number(page, question):
    """The number, and near it half of the words that it stood with."""
    needed = max(1, len(question.about) // 2)
    start = 0
    while (at := page.collapsed.find(question.answer, start)) >= 0:
        around = page.collapsed[max(0, at - NEAR) : at + len(question.answer) + NEAR]
        if contains(around, question.answer) and sum(word in around.lower() for word in question.about) >= needed:
            return True
        start = at + 1
    return False


def close_together(page, question):
    """All fragments of one of the answers, close to one another, marks and case aside."""
    return any(within([page.places(fragment) for fragment in answer], CLOSE) for answer in question.about)


def within(groups, most):
    """Whether a stretch of so many characters holds a place of each group."""
    newest = {}
    for start, end, group in sorted((start, end, group) for group, found in enumerate(groups) for start, end in found):
        newest[group] = start
        if len(newest) == len(groups) and end - min(newest.values()) <= most:
            return True
    return False


def outcome(page, question):
    """The command, and behind it how it ended: the first words of its result, or a word that says so."""
    ended, first = question.about
    says = SAYS_FAILED if ended == "failed" else SAYS_DONE
    start = 0
    while (at := page.text.find(question.answer, start)) >= 0:
        behind = told_after(page, at, at + len(question.answer))
        if says.search(behind) or (first and first in collapse(behind)):
            return True
        start = at + 1
    return False


def told_after(page, start, end):
    """What is told about a command: the beginning of its result where it stands as a call with one, else the rest of its
    line and the next one."""
    part = bisect.bisect_right(page.marks, (start, "")) - 1
    if part >= 0 and page.marks[part][1] == "call":
        following = page.marks[part + 1] if part + 1 < len(page.marks) else (0, "")
        return page.text[following[0] :][:AFTER_RESULT] if following[1] == "result" else ""
    return "\n".join(page.text[end : end + 600].split("\n", 2)[:2])


RULES = {
    "reuse": exact,
    "constraint": sentence,
    "command": outcome,
    "number": number,
    "task": sentence,
    "request": word_for_word,
    "probe": close_together,
    "planted": every_token,
    "planted_kit": every_token,
    "evidence": sentence,
    "fact": every_token,
    **truth_score.RULES,
}
