"""Questions about a session, made from its messages alone and before anything is compacted.

Each is made by a rule that is stated here, apart from the user's rules and corrections, which were read and marked by hand
(`labels.py`), and the probes, which were written by hand (`probes.py`). None of the rules knows how a participant writes.
"""

import bisect
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from .identifiers import UNIT, contains, identifiers_in
from .text import arguments_text, collapse, content_words

MOST = {"reuse": 24, "command": 40, "number": 30, "task": 12}
LONGEST_REQUEST = 1_500


@dataclass
class Question:
    """What is asked: `answer` must be there, in the way that `kind` says; `cue` is what an agent would search for."""

    kind: str
    answer: str
    cue: str
    origin: int
    about: tuple = ()
    call_id: str | None = None
    at: int = 0
    id: str = field(default="", init=False)

    def __post_init__(self):
        key = f"{self.kind}\0{self.answer}\0{self.origin}\0{self.at}"
        self.id = hashlib.sha256(key.encode()).hexdigest()[:12]


def text_of(message):
    """Everything that a message says, arguments of its calls included."""
    chat = message.chat
    calls = chat.get("tool_calls") or []
    said = [chat.get("content") or ""]
    return "\n".join(said + [f"{c['function']['name']} {arguments_text(c['function']['arguments'])}" for c in calls])


def spread(items, most):
    """At most so many of a list, evenly spread over it."""
    if len(items) <= most:
        return items
    return [items[index * len(items) // most] for index in range(most)]


def chosen(items, most, key):
    """At most so many of a list, chosen by the hash of a key: the same ones in every run, and no favourites."""
    ranked = sorted(items, key=lambda item: hashlib.sha256(key(item).encode()).hexdigest())
    return ranked[:most]


def words_around(text, value, most=6):
    """Words of the line that a value stands in, nearest first, without the value's own."""
    at = text.find(value)
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at + len(value))
    line = text[start : end if end >= 0 else len(text)]
    column = at - start
    before, after = line[max(0, column - 160) : column], line[column + len(value) : column + len(value) + 160]
    if not content_words(before + after):
        before, after = text[max(0, at - 160) : at], text[at + len(value) : at + len(value) + 160]
    own = set(content_words(value))
    near = [w for pair in zip_longest(reversed(content_words(before)), content_words(after)) for w in pair if w]
    kept = []
    for word in near:
        if word not in own and word not in kept and len(word) < 30:
            kept.append(word)
    return kept[:most]


class Occurrences:
    """Where in a session a string stands, message by message."""

    def __init__(self, messages):
        self.texts = [text_of(message) for message in messages]
        self.whole = "\0".join(self.texts)
        self.starts, at = [], 0
        for text in self.texts:
            self.starts.append(at)
            at += len(text) + 1

    def of(self, value):
        """Indices of the messages that hold a value whole, in order."""
        found, at = [], self.whole.find(value)
        while at >= 0:
            index = bisect.bisect_right(self.starts, at) - 1
            if (not found or found[-1] != index) and contains(self.texts[index], value):
                found.append(index)
            # On to the next message, whether this one holds it whole or not.
            at = self.whole.find(value, self.starts[index] + len(self.texts[index]))
        return found


def reuse(messages, cuts, system=""):
    """Future reuse: identifiers from before a cut that the real agent used after it, by nobody told again in between.

    The honest label: nobody has to guess what will be needed, the recording says it. What the system prompt says is always
    there and is not asked.
    """
    if not cuts:
        return []
    places = Occurrences(messages)
    used = {}
    for message, text in zip(messages[cuts[0] :], places.texts[cuts[0] :]):
        if message.role == "assistant":
            used.update(identifiers_in(text))
    questions = []
    where = {value: places.of(value) for value in used if value not in system}
    for cut in cuts:
        here = []
        for value, indices in where.items():
            before = [index for index in indices if index < cut]
            after = [index for index in indices if index >= cut]
            if not before or not after or messages[after[0]].role != "assistant":
                continue
            source = before[-1]
            cue = words_around(places.texts[source], value)
            here.append(Question("reuse", value, " ".join(cue), messages[source].origin, (used[value],), call_of(messages[source]), cut))
        questions += chosen(here, MOST["reuse"], lambda question: question.answer)
    return questions


def call_of(message):
    return message.chat.get("tool_call_id")


SHELL = re.compile(r"bash|shell|exec|terminal|command|run", re.I)
READS = re.compile(r"read|grep|glob|search|list|view|open|find|cat|get|fetch|think|todo|task|plan|skill|calc|ls$", re.I)
# Commands that only look: what they showed matters, not that they were run.
LOOKS = re.compile(
    r"(?:cd \S+ *(?:&&|;) *)?(?:sudo |\w+=\S+ )*(?:(?:ls|cat|head|tail|grep|rg|find|fd|sed -n|wc|pwd|echo|which|tree|stat|file|code|xxd|"
    r"du|df|ps|env|date|uname|open|sleep|gh (?:pr|issue|run) (?:view|list|diff|checks)|launchctl list)\b|\S+ --version|"
    r"git (?:-C \S+ |--no-pager )*(?:log|show|diff|status|cat-file|ls-files|ls-tree|rev-parse|reflog show|branch -[avr]|branch --show|"
    r"branch --list|remote -v|worktree list|blame|config --(?:get|list|global --list)|merge-base)\b)"
)
FAILED = re.compile(
    r"exit(?:ed with)?(?: code| status)?:? ?[1-9]|^\s*(?:<[^>]*>)?\s*error\b|traceback \(most recent|^fatal:|"
    r"command not found|no such file or directory|permission denied|\bpanic:|^FAIL\b|doesn't want to proceed",
    re.I | re.M,
)
SAYS_FAILED = re.compile(r"fail|error|exit(?:ed)?(?: with)?(?: code| status)? ?[1-9]|✗|❌|traceback|fatal|not found|no such|denied|panic|refused|did not allow|rejected", re.I)
SAYS_DONE = re.compile(
    r"\bok\b|\bpass|succe|\bdone\b|✓|✅|complete|exit(?: code| status)? 0|\bworks?\b|\bcreated?\b|\bupdated?\b|"
    r"\b(?:edited|written|wrote|modified|changed|added|replaced|removed|deleted|fixed|installed|committed|pushed|merged)\b",
    re.I,
)
# How a command was run, not what: where from, and what becomes of its output. A here-document is what it is given.
FROM = re.compile(r"cd [^;&|]+ && (?=\S)")
OUTPUT = re.compile(r"\s+(?:2>&1|[12]?>\s*/dev/null|\|\s*(?:tail|head|cat)\b)|\s*\"?(?:\$\(cat )?<<")


def command_of(name, arguments):
    """First line of what a call does: a shell's command, or the longest argument of a call that changes something."""
    values = parsed(arguments)
    for field_name in ("command", "cmd", "script"):
        if isinstance(values.get(field_name), str) and SHELL.search(name or "bash"):
            lines = [line.strip() for line in values[field_name].splitlines() if line.strip() and not line.lstrip().startswith("#")]
            return core(lines[0])[:60] if lines else None
    if READS.search(name or "") or values.get("command") == "view":
        return None
    for field_name in ("file_path", "path", "filePath", "filename"):
        if isinstance(values.get(field_name), str):
            return values[field_name]
    strings = [v for v in values.values() if isinstance(v, str) and 3 < len(v.strip()) <= 80 and "\n" not in v]
    return max(strings, key=len).strip() if strings else None


def core(command):
    """A command without what says only how it was run: no summary repeats that."""
    while came := FROM.match(command):
        command = command[came.end() :]
    return OUTPUT.split(command, maxsplit=1)[0].strip() or command


def head(output):
    """First line of an output that says something, shortened."""
    lines = (collapse(line) for line in output.splitlines())
    return next((line[:24] for line in lines if len(line) >= 6), "")


def telling_heads(outputs):
    """How each output begins, by its id; beginnings that several share (a harness's own words) tell nothing."""
    heads = {identifier: head(output) for identifier, output in outputs.items()}
    common = {text for text, times in Counter(heads.values()).items() if times > 2}
    return {identifier: "" if text in common else text for identifier, text in heads.items()}


def commands(messages):
    """Commands with their outcome: what was run, and how it ended (failed, by an exit code or an error's first words, or not)."""
    results = {m.chat["tool_call_id"]: m.chat["content"] for m in messages if m.role == "tool"}
    heads = telling_heads(results)
    found = {}
    for message in messages:
        for call in (message.chat.get("tool_calls") or []) if message.origin >= 0 else []:
            command = command_of(call["function"]["name"], call["function"]["arguments"])
            if not command or len(command) < 6 or LOOKS.match(command) or call["id"] not in results:
                continue
            output = results[call["id"]]
            failed = bool(FAILED.search(output[:400]) or FAILED.search(output[-200:]))
            cue = " ".join(content_words(command)[:5])
            found[command] = Question("command", command, cue, message.origin, ("failed" if failed else "done", heads[call["id"]]), call["id"])
    return spread(list(found.values()), MOST["command"])


MEASURED = re.compile(rf"(?<![\w.$#/:-])(?:\d+(?:,\d{{3}})+|\d+\.\d+|\d{{2,}})\s?{UNIT}(?![\w/])|(?<![\w.])\$(?:\d{{1,3}}(?:,\d{{3}})+|\d{{2,}})(?:\.\d+)?(?![\w])", re.I)


SUMS_UP = re.compile(r"\b(pass|fail|total|took|time|coverage|mean|median|average|p9\d|issues?|size|changed|found|elapsed|finished|in \d)", re.I)


def numbers(messages):
    """Measured numbers with what they measure: a number with a unit and the words that it stood with. Asked of what the user or
    the agent spoke of, and of the lines in which a command that does something sums up; where it was run again, of its last run,
    as with commands: how long an attempt took that failed before is no fact any more."""
    last = {
        command: c["id"]
        for m in messages
        for c in m.chat.get("tool_calls") or []
        if (command := command_of(c["function"]["name"], c["function"]["arguments"])) and not LOOKS.match(command)
    }
    doing = set(last.values())
    found = {}
    for message in messages:
        if message.origin < 0 or (message.role == "tool" and message.chat["tool_call_id"] not in doing):
            continue
        for value, about in measured(message.chat.get("content") or "", 2 if message.role == "tool" else 4, message.role == "tool"):
            if value not in found:
                found[value] = Question("number", value, " ".join(about), message.origin, tuple(about), call_of(message))
    return spread(list(found.values()), MOST["number"])


def measured(text, most, sums_up):
    """Numbers with units of a text and the words around each; at most so many, the last ones."""
    found = []
    for line in text.splitlines():
        if sums_up and not SUMS_UP.search(line):
            continue
        for match in MEASURED.finditer(line[:600]):
            about = [word for word in words_around(line, match.group()) if word.isalpha()][:4]
            if len(about) >= 2 and not match.group().startswith("0.0"):
                found.append((collapse(match.group()), about))
    return found[-most:]


BOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*\[( |x|X|~|-)\]\s+(.{4,200})$", re.M)


def tasks(messages):
    """Open tasks: what the newest list of tasks (a tool's, or boxes in an answer) says is not done yet."""
    if kept := kept_tasks(messages):
        return kept[: MOST["task"]]
    for message in reversed(messages):
        for call in reversed(message.chat.get("tool_calls") or []):
            listed = listed_tasks(call["function"]["arguments"])
            if listed is not None:
                return [task(text, message.origin) for text in listed][: MOST["task"]]
        if message.role == "assistant":
            boxes = BOX.findall(message.chat.get("content") or "")
            if boxes:
                return [task(text.strip(), message.origin) for mark, text in boxes if mark not in "xX"][: MOST["task"]]
    return []


def kept_tasks(messages):
    """Open tasks of a tool that keeps them one by one: created with a subject, later given another status."""
    results = {m.chat["tool_call_id"]: m.chat["content"] for m in messages if m.role == "tool"}
    found = {}
    for message in messages:
        for call in message.chat.get("tool_calls") or []:
            name = call["function"]["name"].lower()
            values = parsed(call["function"]["arguments"]) if "task" in name else {}
            number = re.search(r"#(\d+)", results.get(call["id"], ""))
            if "create" in name and values.get("subject") and number:
                found[number.group(1)] = task(values["subject"], message.origin)
            elif values.get("status") in ("completed", "deleted", "cancelled"):
                found.pop(str(values.get("taskId")), None)
    return list(found.values())


def parsed(arguments):
    try:
        values = json.loads(arguments)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def task(text, origin):
    return Question("task", text, " ".join(content_words(text)[:4]), origin)


def listed_tasks(arguments):
    values = parsed(arguments)
    for entries in (values.get(name) for name in ("todos", "plan", "tasks")):
        if isinstance(entries, list) and entries and all(isinstance(e, dict) and e.get("status") for e in entries):
            open_ones = [e for e in entries if e["status"] not in ("completed", "done", "cancelled")]
            return [e.get("content") or e.get("step") or e.get("title") or "" for e in open_ones]
    return None


HARNESS = re.compile(
    r"<(system-reminder|command-name|command-message|command-args|local-command-[a-z]+|environment_context|user-memory-input|"
    r"bash-[a-z]+|ide_[a-z_]+)>.*?</\1>|\[Request interrupted by user[^\]]*\]|^Caveat: The messages below were generated.*$",
    re.S | re.M,
)


def said_by_user(message):
    """What the user wrote of a message in a user's role: without a harness's blocks; empty where nothing is left."""
    text = HARNESS.sub("", message.chat.get("content") or "")
    return text.strip() if content_words(text) else ""


def requests(messages):
    """The last three requests, word for word (of very long ones the first 1,500 characters)."""
    found = []
    for message in reversed(messages):
        if message.role == "user" and message.origin >= 0 and (text := said_by_user(message)):
            words = text[:LONGEST_REQUEST]
            found.append(Question("request", words, " ".join(content_words(words)[:6]), message.origin))
            if len(found) == 3:
                break
    return found


def by_rule(messages, cuts, system=""):
    """All questions of a session that a rule makes: reuse and open tasks at every cut, the others at the last one."""
    told = messages[: cuts[-1]]
    open_ones = [replace(question, at=cut) for cut in cuts for question in tasks(messages[:cut])]
    return reuse(messages, cuts, system) + commands(told) + numbers(told) + open_ones + requests(told)

