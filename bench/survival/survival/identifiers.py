"""Exact strings that an agent cannot guess: paths, URLs, hashes, ids, errors, numbers with units."""

import re

UNIT = (
    r"(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?|mins?|hours?|days?|weeks?|[KMGT]i?B|kb|mb|gb|bytes?|%|percent|px|rem|em|"
    r"tokens?|lines?|files?|tests?|passed|failed|failures?|errors?|warnings?|commits?|calls?|messages?|entries|rows?|items?|"
    r"requests?|users?|sessions?|x|fps|rps|MHz|GHz|USD|dollars?|EUR|€|km|kg)"
)
KINDS = {
    "url": re.compile(r"https?://[^\s\"'<>`)\]}|\\]+[^\s\"'<>`)\]}|\\.,;:!?*]"),
    "path": re.compile(
        r"(?<![\w/.~@-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*[\w@+-]|(?<![\w/.~@-])[\w-]+(?:\.[\w-]+)*\."
        r"(?:rs|py|go|ts|tsx|js|jsx|mjs|json|jsonl|toml|yaml|yml|md|mdx|txt|sh|sql|css|scss|html|java|kt|rb|php|c|h|cpp|hpp|lock|"
        r"cfg|ini|env|log|csv|xml|svg|png|proto|mod|sum|ipynb)(?![\w.]*\w/)\b"
    ),
    "uuid": re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I),
    "hash": re.compile(r"(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![\w-])"),
    "id": re.compile(r"(?<![\w/.-])(?:#\d{2,7}|[A-Z]{2,10}-\d{1,6}|(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,12}|[a-z]+(?:_[a-z]+)*_\d{3,})(?![\w/-])"),
    "error": re.compile(r"\b(?:[A-Z][A-Za-z]+(?:Error|Exception|Failure|Warning)|E(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|ADDRINUSE|CONNREFUSED|CONNRESET|PIPE|MFILE|INVAL|TIMEDOUT|RESOLVE)|E\d{4}|TS\d{4}|[A-Z]{2,4}\d{3,4})\b"),
    "number": re.compile(rf"(?<![\w.$#/-])\$?\d{{1,3}}(?:,\d{{3}})*(?:\.\d+)?\d*\s?{UNIT}(?![\w/])|(?<![\w.])\$\d+(?:\.\d+)?(?![\w.])", re.I),
}
# Too common to be told from a guess.
COMMON = frozenset("/tmp ./ ../ /dev/null /bin/bash and/or package.json README.md main.go main.rs index.ts go.mod src/ n/a".split())
SHORTEST = {"path": 6, "number": 2, "url": 12}


def identifiers_in(text):
    """Identifiers of a text with their kinds, each once, the first kind that claims it."""
    found, taken = {}, []
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            value, span = match.group(), match.span()
            if len(value) > 200 or value in COMMON or len(value) < SHORTEST.get(kind, 4):
                continue
            if any(span[0] < end and start < span[1] for start, end in taken):
                continue
            if kind == "path" and not is_path(value):
                continue
            taken.append(span)
            found.setdefault(value, kind)
    return found


def is_path(value):
    """Whether something with slashes or an extension is a path rather than prose ("read/write", "1/2", "e.g")."""
    if "/" not in value:
        return True
    parts = [part for part in value.split("/") if part not in ("", ".", "..", "~")]
    if all(part.isdigit() for part in parts):
        return False
    return value[0] in "/.~" and len(parts) > 1 or len(parts) > 2 or (len(parts) > 1 and "." in parts[-1])


def contains(haystack, value):
    """Whether a text holds an identifier whole: not as the middle of a longer word or number."""
    return next(places(haystack, value), None) is not None


def places(haystack, value):
    """Where a text holds a string whole: start and end of each."""
    start = 0
    while (at := haystack.find(value, start)) >= 0:
        end = at + len(value)
        before, after = haystack[at - 1 : at], haystack[end : end + 1]
        if not (word(before) and word(value[0])) and not (word(after) and word(value[-1])):
            yield at, end
        start = at + 1


def word(character):
    return character.isalnum() or character == "_"
