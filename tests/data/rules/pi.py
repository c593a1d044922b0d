"""The rules of pi 0.87.1 that its answers depend on: token estimates, the cut, preparation, context, branches."""

import datetime
import json
import math

IMAGE = 4800


def units(text):
    """UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def stringify(value):
    """As JavaScript writes JSON."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
        text = repr(value).replace("e-0", "e-").replace("e+0", "e+")
        return text.removesuffix(".0")
    if isinstance(value, list):
        return "[" + ",".join(map(stringify, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{stringify(key)}:{stringify(one)}" for key, one in value.items()) + "}"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return "".join(f"\\u{ord(one):04x}" if 0xD800 <= ord(one) <= 0xDFFF else one for one in text)
    return json.dumps(value)


def content_units(content):
    if isinstance(content, str):
        return units(content)
    texts = sum(units(block["text"]) for block in content if block["type"] == "text")
    return texts + sum(IMAGE for block in content if block["type"] == "image")


def message_of(entry):
    """Role, and the estimate in tokens; None where the entry is no message."""
    kind = entry["type"]
    if kind == "custom_message":
        return "custom", math.ceil(content_units(entry["content"]) / 4)
    if kind in ("branch_summary", "compaction"):
        role = {"branch_summary": "branchSummary", "compaction": "compactionSummary"}[kind]
        return role, math.ceil(units(entry["summary"]) / 4)
    if kind != "message":
        return None
    message = entry["message"]
    role = message["role"]
    if role == "assistant":
        size = 0
        for block in message["content"]:
            if block["type"] == "text":
                size += units(block["text"])
            elif block["type"] == "thinking":
                size += units(block["thinking"])
            elif block["type"] == "toolCall":
                size += units(block["name"]) + units(stringify(block["arguments"]))
    elif role == "bashExecution":
        size = units(message["command"]) + units(message["output"])
    else:
        size = content_units(message["content"])
    return role, math.ceil(size / 4)


def visible(entry):
    """Whether it is shown by itself: a compaction is not, nor a branch summary that says nothing."""
    said = entry["type"] != "branch_summary" or entry["summary"]
    return entry["type"] != "compaction" and said and message_of(entry) is not None


def tag(entry):
    at = entry["message"]["timestamp"] if entry["type"] == "message" else None
    if at is None:
        at = round(datetime.datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00")).timestamp() * 1000)
    return f"{message_of(entry)[0]}@{at}"


def usage_of(entry):
    message = entry.get("message", {})
    if message.get("role") != "assistant" or message.get("stopReason") in ("aborted", "error"):
        return 0
    usage = message.get("usage") or {}
    parts = ("input", "output", "cacheRead", "cacheWrite")
    return usage.get("totalTokens") or sum(usage.get(part) or 0 for part in parts)


def newest_compaction(path):
    """Its index, and the index of the first entry that it keeps (None: it keeps nothing)."""
    for index in range(len(path) - 1, -1, -1):
        if path[index]["type"] == "compaction":
            kept = path[index].get("firstKeptEntryId")
            found = [at for at in range(index) if path[at]["id"] == kept]
            return index, found[0] if found else None
    return None


def shown_from(path):
    """Indexes of what the last context still showed, without its summary."""
    newest = newest_compaction(path)
    if newest is None:
        return list(range(len(path)))
    index, kept = newest
    start = index + 1 if kept is None else kept
    return [at for at in range(start, len(path)) if path[at]["type"] != "compaction"]


def view(path):
    """Indexes of what the context is made of; a compaction stands for its summary."""
    newest = newest_compaction(path)
    entries = [at for at in shown_from(path) if visible(path[at])]
    return entries if newest is None else [newest[0], *entries]


def estimate(path, shown, trusted_from=0):
    sizes = [message_of(path[at])[1] for at in shown]
    for place in range(len(shown) - 1, -1, -1):
        usage = usage_of(path[shown[place]]) if shown[place] >= trusted_from else 0
        if usage:
            trailing = sum(sizes[place + 1 :])
            return {"tokens": usage + trailing, "usageTokens": usage, "trailingTokens": trailing, "lastUsageIndex": place}
    return {"tokens": sum(sizes), "usageTokens": 0, "trailingTokens": sum(sizes), "lastUsageIndex": None}


def starts_turn(entry):
    return visible(entry) and message_of(entry)[0] in ("user", "bashExecution", "custom", "branchSummary")


def find_cut(entries, keep):
    """First kept index, the index of its turn's start where it splits one (else -1)."""
    valid = [at for at, one in enumerate(entries) if starts_turn(one) or (visible(one) and message_of(one)[0] == "assistant")]
    if not valid:
        return 0, -1
    cut, gathered = valid[0], 0
    for at in range(len(entries) - 1, -1, -1):
        size = message_of(entries[at])[1] if message_of(entries[at]) else 0
        if size == 0:
            continue
        gathered += size
        if gathered >= keep:
            after = [place for place in valid if place >= at]
            cut = after[0] if after else valid[-1]
            break
    while cut > 0 and not visible(entries[cut - 1]) and entries[cut - 1]["type"] != "compaction":
        cut -= 1
    if starts_turn(entries[cut]):
        return cut, -1
    starts = [at for at in range(cut + 1) if starts_turn(entries[at])]
    return cut, starts[-1] if starts else -1


def cut_answer(path, keep):
    first, start = find_cut(path, keep)
    return {"firstKeptEntryIndex": first, "turnStartIndex": start, "isSplitTurn": start >= 0}


class Files:
    def __init__(self):
        self.read, self.modified = set(), set()

    def seed(self, details):
        for name, known in (("readFiles", self.read), ("modifiedFiles", self.modified)):
            if isinstance((details or {}).get(name), list):
                known.update(details[name])

    def collect(self, entry):
        message = entry.get("message", {})
        for block in message.get("content", []) if message.get("role") == "assistant" else []:
            if block["type"] != "toolCall" or not isinstance(block["arguments"], dict):
                continue
            path = block["arguments"].get("path")
            if isinstance(path, str) and path:
                if block["name"] == "read":
                    self.read.add(path)
                elif block["name"] in ("write", "edit"):
                    self.modified.add(path)

    def lists(self):
        def by_units(text):
            return text.encode("utf-16-be", "surrogatepass")

        read = sorted(self.read - self.modified, key=by_units)
        return {"readFiles": read, "modifiedFiles": sorted(self.modified, key=by_units)}


def prepare(path, keep):
    if not path or path[-1]["type"] == "compaction":
        return None
    newest = newest_compaction(path)
    places = shown_from(path)
    entries = [path[at] for at in places]
    if not entries:
        return None
    first, start = find_cut(entries, keep)
    end = start if start >= 0 else first
    history = [one for one in entries[:end] if visible(one)]
    prefix = [one for one in entries[end:first] if visible(one)]
    if not history and not prefix:
        return None
    files = Files()
    previous = path[newest[0]] if newest else None
    if previous and not previous.get("fromHook"):
        files.seed(previous.get("details"))
    for entry in history + prefix:
        files.collect(entry)
    return {
        "firstKeptEntryId": entries[first]["id"],
        "isSplitTurn": start >= 0,
        "tokensBefore": estimate(path, view(path), newest[0] + 1 if newest else 0)["tokens"],
        "previousSummary": previous["summary"] if previous else None,
        "summarize": [tag(one) for one in history],
        "prefix": [tag(one) for one in prefix],
        "files": files.lists(),
    }


def context(path):
    level, model = "off", None
    for entry in path:
        message = entry.get("message", {})
        if entry["type"] == "thinking_level_change":
            level = entry["thinkingLevel"]
        elif entry["type"] == "model_change":
            model = {"provider": entry["provider"], "modelId": entry["modelId"]}
        elif message.get("role") == "assistant":
            model = {"provider": message["provider"], "modelId": message["model"]}
    shown = view(path)
    return {
        "thinkingLevel": level,
        "model": model,
        "messages": [tag(path[at]) for at in shown],
        "est": estimate(path, shown),
        "perMessage": [message_of(path[at])[1] for at in shown],
    }


def branch(entries, target, budget):
    old, new = path_to(entries, entries[-1]["id"] if entries else None), path_to(entries, target)
    shared = 0
    while shared < min(len(old), len(new)) and old[shared]["id"] == new[shared]["id"]:
        shared += 1
    left = old[shared:]
    files, messages, tokens = Files(), [], 0
    for entry in left:
        if entry["type"] == "branch_summary" and not entry.get("fromHook"):
            files.seed(entry.get("details"))
    for entry in reversed(left):
        told = message_of(entry)
        if told is None or told[0] == "toolResult":
            continue
        files.collect(entry)
        fits = not budget or tokens + told[1] <= budget
        squeezed = not fits and entry["type"] in ("compaction", "branch_summary") and tokens < budget * 0.9
        if fits or squeezed:
            messages.insert(0, tag(entry))
            tokens += told[1]
        if not fits:
            break
    return {
        "target": target,
        "ancestor": old[shared - 1]["id"] if shared else None,
        "entries": len(left),
        "budget": budget,
        "messages": messages,
        "totalTokens": tokens,
        "files": files.lists(),
    }


def path_to(entries, target):
    by_id, path = {entry["id"]: entry for entry in entries}, []
    while target in by_id:
        path.insert(0, by_id[target])
        target = by_id[target]["parentId"]
    return path


def answers(entries, asked):
    """The answers to a line of `golden.ndjson`, which holds at least `session` and `keep`."""
    path = path_to(entries, entries[-1]["id"] if entries else None)
    keep = asked["keep"]
    answer = {"session": asked["session"], "keep": keep}
    answer |= {"prepare": prepare(path, keep), "cut": cut_answer(path, keep)}
    if "context" in asked:
        answer["context"] = context(path)
    if "branch" in asked:
        answer["branch"] = branch(entries, asked["branch"]["target"], asked["branch"]["budget"])
    return answer
