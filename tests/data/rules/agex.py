"""The rules of agex 0.12.4's chapters: the index of tasks, closing ranges, folders, slugs."""

import re

CLASSES = {
    "task": "TaskStartEvent",
    "action": "ActionEvent",
    "output": "OutputEvent",
    "success": "SuccessEvent",
    "fail": "FailEvent",
    "clarify": "ClarifyEvent",
    "cancelled": "CancelledEvent",
    "chapter": "ChapterEvent",
}
ENDS = ("success", "fail", "clarify", "cancelled")


def clipped(text, limit):
    text = str(text).replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def slug(name):
    kept = re.sub(r"[^\w\s-]", "", name.lower().strip())
    return re.sub(r"[\s_]+", "-", kept).strip("-") or "unnamed"


def slugs(names):
    """Of one folder's chapters, in order; the first has the bare one."""
    taken, given = set(), []
    for name in names:
        bare, number = slug(name), 1
        one = bare
        while one in taken:
            number += 1
            one = f"{bare}-{number}"
        taken.add(one)
        given.append(one)
    return given


def boundaries(log):
    """Where a task or a chapter begins; the work of making chapters belongs to what is before it."""
    found, inside = [], False
    for at, event in enumerate(log):
        if event["t"] == "chapter":
            found.append(at)
        elif event["t"] == "task":
            inside = event["name"] == "__chapter__"
            if not inside:
                found.append(at)
    return found


def ranges(log):
    starts = boundaries(log)
    return [[start, end] for start, end in zip(starts, starts[1:] + [len(log)])]


def line(number, events):
    first = events[0]
    if first["t"] == "chapter":
        return f'[{number}] chapter "{clipped(first["name"], 60)}" — {clipped(first["message"], 80)}'
    own = events[1:]
    own = own[: next((at for at, event in enumerate(own) if event["t"] == "task"), len(own))]
    end = next((event for event in own if event["t"] in ENDS), None)
    said = f'[{number}] task "{clipped(first["name"], 50)}": {clipped(first["message"], 80)}'
    if end is None:
        return f"{said} (in progress)"
    outcome = {
        "success": lambda: f"success: {clipped(end['result'], 80)}",
        "fail": lambda: f'fail "{clipped(end["message"], 60)}"',
        "clarify": lambda: f'clarify "{clipped(end["message"], 60)}"',
        "cancelled": lambda: "cancelled",
    }
    return f"{said} → {outcome[end['t']]()}"


def is_complete(events):
    return events[0]["t"] == "chapter" or any(event["t"] in ENDS for event in events)


def one_round(log, asked):
    """What the round shows and does, and the log after it."""
    spans = ranges(log)
    good = [one for one in asked if 1 <= one["start"] <= one["end"] <= len(spans)]
    places = sorted(((spans[one["start"] - 1][0], spans[one["end"] - 1][1], one) for one in good), key=lambda p: p[0])
    error = None
    for (_, end, _), (start, _, _) in zip(places, places[1:]):
        if start < end:
            error = f"Overlapping ranges: previous ends at {end}, current starts at {start}"
            places = []
            break
    told = {
        "index": "\n".join(line(number, log[start:end]) for number, (start, end) in enumerate(spans, 1)),
        "ranges": spans,
        "completable": any(is_complete(log[start:end]) for start, end in spans),
        "skipped": [one for one in asked if one not in good],
        "error": error,
    }
    for start, end, one in reversed(places):
        chapter = {"t": "chapter", "name": one["name"], "message": one["message"], "refs": log[start:end]}
        log = log[:start] + [chapter] + log[end:]
    return told | {"log": [listed(event) for event in log]}, log


def listed(event):
    one = {"type": CLASSES[event["t"]]}
    if event["t"] == "chapter":
        return one | {"name": event["name"], "message": event["message"], "refs": len(event["refs"])}
    return one | ({"task": event["name"]} if event["t"] == "task" else {})


def folders(log, parent=""):
    """Files by path: a summary's text, nothing of an event."""
    files = {}
    chapters = [event for event in log if event["t"] == "chapter"]
    for chapter, own in zip(chapters, slugs(one["name"] for one in chapters)):
        folder = f"{parent}{own}/"
        files[f"{folder}summary.md"] = f"# {chapter['name']}\n\n{chapter['message']}\n"
        for number, event in enumerate(chapter["refs"], 1):
            if event["t"] != "chapter":
                name = CLASSES[event["t"]].removesuffix("Event").lower()
                files[f"{folder}events/{number:03}-{name}.md"] = None
        files |= folders(chapter["refs"], f"{folder}chapters/")
    return files


def answers(case):
    if case["op"] == "slug":
        return {name: slug(name) for name in case["names"]}
    log, told = case["events"], []
    for asked in case["rounds"]:
        one, log = one_round(log, asked)
        told.append(one)
    return {"rounds": told, "vfs": folders(log)}
