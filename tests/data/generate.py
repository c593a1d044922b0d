#!/usr/bin/env python3
"""Writes the oracle cases in `oracle/`: the questions are ours, the answers follow from the rules in `rules/`.

`generate.py` writes them anew; `generate.py --check FOLDER` compares the rules with the answers of the original
programs in that folder (`../shared/oracle`). Only Python's standard library is needed.
"""

import collections
import datetime
import gzip
import json
import pathlib
import sys
import tarfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "rules"))

import agex  # noqa: E402
import pi  # noqa: E402
import praison  # noqa: E402

WORDS = "a kettle sings over the harbour while nine grey herons count the boats and nobody minds the rain ".split()
FIRST = 1_780_000_000_000


def text(tokens, start=0):
    """Four characters a token."""
    words = " ".join(WORDS[(start + at) % len(WORDS)] for at in range(tokens * 4))
    return words[: tokens * 4 - 1] + "."


def stamp(millis):
    return datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Session:
    """A session file of pi; each entry hangs under the one before it unless it says otherwise."""

    def __init__(self, name, version=3):
        header = {"type": "session", "version": version, "id": f"own-{name}", "timestamp": stamp(FIRST), "cwd": "/mill"}
        if version == 1:
            del header["version"]
        self.name, self.version, self.lines, self.leaf, self.calls = name, version, [header], None, []

    def put(self, entry, **place):
        number = len(self.lines)
        at, own = FIRST + 1000 * number, f"{number:08x}"
        if "message" in entry:
            entry["message"]["timestamp"] = at
        if self.version > 1:
            entry |= {"id": own, "parentId": place.get("parent", self.leaf)}
        self.lines.append(entry | {"timestamp": stamp(at)})
        self.leaf = own
        return own

    def filled(self, content):
        return text(content, len(self.lines)) if isinstance(content, int) else content

    def user(self, content, **place):
        return self.put({"type": "message", "message": {"role": "user", "content": self.filled(content)}}, **place)

    def answer(self, said=None, calls=(), thinks=None, usage=(0, 0, 0, 0, 0), stop=None):
        content = [{"type": "thinking", "thinking": thinks}] if thinks else []
        content += [{"type": "text", "text": self.filled(said)}] if said else []
        ids = (f"call_{len(self.lines)}_{at}" for at in range(len(calls)))
        self.calls = [{"type": "toolCall", "id": id, "name": n, "arguments": a} for id, (n, a) in zip(ids, calls)]
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
        usage = dict(zip(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), usage)) | {"cost": cost}
        message = {"role": "assistant", "content": content + self.calls, "api": "played", "provider": "mill"}
        message |= {"model": "miller-1", "usage": usage, "stopReason": stop or ("toolUse" if calls else "stop")}
        return self.put({"type": "message", "message": message})

    def result(self, call, content, error=False, image=False):
        call = self.calls[call]
        content = [{"type": "text", "text": self.filled(content)}]
        content += [{"type": "image", "data": "aGVyb24=", "mimeType": "image/png"}] if image else []
        message = {"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"], "content": content}
        return self.put({"type": "message", "message": message | {"isError": error}})

    def bash(self, command, output, **more):
        message = {"role": "bashExecution", "command": command, "output": self.filled(output), "exitCode": 0}
        message |= {"cancelled": False, "truncated": False}
        return self.put({"type": "message", "message": message | more})

    def notice(self, content):
        return self.put({"type": "custom_message", "customType": "notice", "content": self.filled(content), "display": True})

    def compaction(self, kept, summary, before, read=(), modified=(), hook=False):
        place = "firstKeptEntryIndex" if self.version == 1 else "firstKeptEntryId"
        entry = {"type": "compaction", "summary": summary, place: kept, "tokensBefore": before}
        return self.put(entry | details(read, modified, hook))

    def branch_summary(self, left, summary, read=(), modified=(), hook=False):
        entry = {"type": "branch_summary", "fromId": left, "summary": self.filled(summary)}
        return self.put(entry | details(read, modified, hook))


def details(read, modified, hook):
    lists = {"readFiles": list(read), "modifiedFiles": list(modified)}
    return {"details": lists} | ({"fromHook": True} if hook else {})


def pi_cases():
    """Sessions, each with the values of `keep` and the (target, budget) pairs that are asked for."""
    s = Session("talk")
    for _ in range(3):
        s.user(100)
        s.answer(50)
    yield s, [0, 150, 151, 20000], []

    s = Session("tool-loop")
    s.user(40)
    edit = ("edit", {"path": "src/wick.rs", "old": "dim", "new": "bright"})
    s.answer("First I look.", [("read", {"path": "src/lamp.rs"}), edit], thinks=text(20))
    s.result(0, 200)
    s.result(1, 100, error=True)
    write = ("write", {"path": "src/lamp.rs", "content": text(30)})
    s.answer(None, [write, ("read", {"path": ""}), ("bash", {"command": "ls"}), ("read", {"path": 7})])
    for at, tokens in enumerate((300, 10, 10, 10)):
        s.result(at, tokens)
    s.answer(30)
    s.user(20)
    s.answer(None, [("read", {"path": path}) for path in ("src/a.rs", "src/Z.rs", "src/ö.rs", "src/\U0001f9ed.rs")])
    for at in range(4):
        s.result(at, 5)
    s.answer(60)
    yield s, [0, 70, 100, 600, 20000], []

    s = Session("result-over-budget")
    s.user(40)
    s.answer(10)
    s.user(40)
    s.answer("I read it.", [("read", {"path": "log/long.txt"})])
    s.result(0, 900)
    yield s, [100, 0, 950, 2000], []

    s = Session("media")
    picture = {"type": "image", "data": "Ym9hdA==", "mimeType": "image/jpeg"}
    s.user([{"type": "text", "text": "What is in the picture?"}, picture])
    s.answer("Ein Boot, 小さな船です。", thinks="🛶 or 🚣? " * 9)
    s.user("二つ目の写真も見てください。" * 6)
    odd = {"at": '海 "quoted" \\ back\nslash\t\x01', "deep": {"n": [1, 2.5, 1e-7, 1e21, None, True], "none": {}}}
    s.answer(None, [("look", odd)])
    s.result(0, "🦆🦆🦆", image=True)
    s.answer("Drei Enten: 🦆.")
    yield s, [0, 30, 1210, 1300], []

    s = Session("settings-between")
    s.user(100)
    s.answer(100)
    first = s.put({"type": "model_change", "provider": "mill", "modelId": "miller-2"})
    s.put({"type": "thinking_level_change", "thinkingLevel": "high"})
    s.put({"type": "label", "targetId": first, "label": "here"})
    s.put({"type": "custom", "customType": "memo", "data": {"n": 1}})
    s.user(100)
    s.answer(100)
    s.put({"type": "session_info", "name": "the mill"})
    yield s, [200, 0, 300, 20000], []

    for name, kept, hook in (("compacted", "00000005", False), ("by-hook", "00000005", True), ("kept-gone", "f", False)):
        s = Session(name)
        s.user(100)
        s.answer(80, [("read", {"path": "a.md"})])
        s.result(0, 50)
        s.answer(40, usage=(260, 40, 0, 0, 300))
        s.user(100)
        s.answer(60, [("edit", {"path": "old/both.md"})], usage=(900, 100, 20, 3, 0))
        s.result(0, 30)
        s.compaction(kept, "The mill was oiled.", 1023, ["old/read.md", "old/both.md"], ["old/changed.md"], hook)
        s.user(90)
        s.answer(50, [("write", {"path": "b.md"})])
        s.result(0, 40)
        s.answer(20)
        yield s, [0, 70, 250, 20000], []

    s = Session("nothing-kept")
    s.user(100)
    s.answer(80)
    s.compaction("00000003", "All of it.", 180)
    s.user(30)
    s.answer(30, usage=(50, 10, 0, 0, 60))
    s.user(10)
    yield s, [0, 35, 20000], []

    s = Session("just-compacted")
    s.user(100)
    kept = s.answer(100)
    s.compaction(kept, "Nothing since.", 200)
    yield s, [0, 20000], []

    s = Session("nothing-said")
    s.put({"type": "session_info", "name": "quiet"})
    s.put({"type": "model_change", "provider": "mill", "modelId": "miller-1"})
    yield s, [0, 20000], []

    s = Session("compacted-twice")
    s.user(50)
    s.answer(50)
    kept = s.user(50)
    s.answer(50)
    s.compaction(kept, "First.", 200, ["r.md"])
    s.user(50)
    s.answer(50, [("read", {"path": "n.md"})])
    s.result(0, 5)
    kept = s.answer(50)
    s.compaction(kept, "Second, which holds the first.", 300, ["r.md", "n.md"], ["m.md"])
    for _ in range(2):
        s.user(50)
        s.answer(50)
    yield s, [0, 100, 220, 20000], []

    s = Session("usage")
    s.user(10)
    s.answer(10, usage=(1000, 200, 300, 4, 0))
    s.user(10)
    s.answer(10, usage=(5000, 100, 0, 0, 5100), stop="aborted")
    s.user(10)
    s.answer(10, usage=(7000, 100, 0, 0, 7100), stop="error")
    s.user(25)
    s.answer(35)
    yield s, [0, 60, 80, 20000], []

    s = Session("usage-total")
    s.user(10)
    s.answer(10, usage=(10, 10, 10, 10, 2222))
    s.user(33)
    yield s, [0, 33, 43], []

    s = Session("other-turn-starts")
    s.user(50)
    s.answer(50)
    s.bash("wc -l mill.txt", 20)
    s.answer(50)
    s.notice(30)
    s.answer(50)
    s.bash("secret", 10, excludeFromContext=True)
    s.answer(20)
    yield s, [0, 31, 70, 101, 150, 20000], []

    s = Session("tree")
    s.user(60)
    fork = s.answer(40)
    s.user(50)
    s.answer(30, [("read", {"path": "left/one.md"})])
    s.result(0, 300)
    s.answer(30, [("edit", {"path": "left/two.md"})])
    s.result(0, 20)
    left = s.answer(45)
    s.user(20, parent=fork)
    s.answer(25)
    back = s.branch_summary(left, "Two files were touched on the left.", ["left/one.md"], ["left/two.md"])
    s.user(70)
    s.answer(30, [("write", {"path": "right/three.md"})])
    s.result(0, 15)
    right = s.answer(55)
    s.branch_summary(right, "By a hook.", ["hook/read.md"], hook=True)
    s.user(80)
    s.answer(35)
    s.branch_summary(left, "")
    branches = [(fork, 0), (fork, 100), (fork, 200), (back, 0), (left, 150), (left, 250), ("00000001", 0)]
    yield s, [0, 36, 100, 200, 20000], branches

    s = Session("tree-with-summaries")
    fork = s.user(40)
    s.answer(20)
    s.user(30)
    kept = s.answer(20, [("read", {"path": "x.md"})])
    s.result(0, 10)
    s.compaction(kept, text(90), 120, ["never/from/compactions.md"])
    s.user(30)
    s.answer(20)
    s.branch_summary(kept, 60, [], ["y.md"])
    s.answer(25)
    s.put({"type": "label", "targetId": fork, "label": "left"})
    yield s, [0, 30, 20000], [(fork, budget) for budget in (0, 20, 27, 28, 84, 130, 149, 151, 500)]

    s = Session("two-roots")
    s.user(40)
    s.answer(20)
    s.user(30, parent=None)
    s.answer(10)
    yield s, [0, 20000], [("00000002", 0), ("00000004", 0)]


def version_1():
    """Without ids; the compaction names its first kept entry by the line."""
    s = Session("version-1", 1)
    s.user(50)
    s.answer(40, [("read", {"path": "one.md"})])
    s.result(0, 30)
    s.user(60)
    s.answer(40)
    s.compaction(4, "It was read.", 220)
    s.user(30)
    s.answer(20, [("write", {"path": "two.md"})])
    s.put({"type": "thinking_level_change", "thinkingLevel": "low"})
    s.user(10)
    return s


def said(role, content, **more):
    """Each starts with another word, so that no two are equal."""
    said.count += 1
    return {"role": role, "content": text(content, said.count) if isinstance(content, int) else content, **more}


said.count = 0


def called(*ids, tokens=0):
    function = {"name": "look", "arguments": '{"at": "the quay"}'}
    calls = [{"id": id, "type": "function", "function": function} for id in ids]
    return said("assistant", tokens if tokens else "", tool_calls=calls)


def answered(id, tokens):
    return said("tool", tokens, tool_call_id=id)


def praison_transcripts():
    # No two answers are neighbours: the service keeps them together.
    talk = [said("system", 10)]
    for _ in range(4):
        talk += [said("user", 30), said("assistant", 20)]
    tools = [said("system", 10), said("user", 30), called("a"), answered("a", 60), said("assistant", 20), said("user", 10)]
    tools += [called("b", "c", tokens=5), answered("b", 40), answered("c", 140), said("system", 6), called("d"), answered("d", 20)]
    open_end = talk[:4] + [called("e", "f"), answered("e", 60), answered("f", 50)]
    scripts = [said("user", "港に船が九隻います。" * 5), said("assistant", "Neun Schiffe, größer als früher."), *talk[1:6]]
    results = [said("user", 5)]
    for at, length in enumerate((124, 125, 126, 300, 126, 40)):
        results += [called(f"r{at}"), answered(f"r{at}", length)]
    results += [said("assistant", 10), said("user", 5)]
    return {"talk": talk, "tools": tools, "open-end": open_end, "scripts": scripts, "results": results}


def praison_cases():
    """Strategy, config and transcript."""
    asked = {"talk": [(3, 110), (0, 60), (20, 5)], "tools": [(2, 100), (4, 250)], "open-end": [(1, 100)]}
    asked |= {"scripts": [(2, 60)], "results": [(2, 300), (5, 150)]}
    transcripts = praison_transcripts()
    for strategy in ("truncate", "sliding", "smart", "prune", "summarize", "llm_summarize"):
        for name, configs in asked.items():
            is_twin = strategy in ("smart", "llm_summarize") and name not in ("talk", "tools")
            if (strategy == "prune") == (name == "results") and not is_twin:
                for recent, target in configs:
                    config = {"max_tokens": 20, "target_tokens": target, "preserve_recent": recent}
                    yield strategy, config | {"preserve_system": True}, transcripts[name]


TRACES = [
    # Least savings in percent, cap of low ones, sizes before and after.
    (10, 2, [(1000, 500), (900, 400)]),
    (10, 2, [(1000, 950), (1000, 500), (1000, 950), (1000, 960)]),
    (10, 2, [(1000, 950), (1111, 1100), (1388, 1), (1389, 1380), (1389, 1380), (1736, 1), (1737, 100)]),
    (10, 2, [(1000, 900), (1000, 901), (1000, 899)]),
    (0.1, 3, [(1000, 900), (1000, 901), (1000, 910), (1000, 920), (1249, 1), (1250, 1240)]),
    (0, 1, [(1000, 1000), (1000, 1001), (1249, 1), (1250, 1250)]),
    (1.0, 1, [(1000, 990), (1000, 991), (1000, 1)]),
    (0.999, 1, [(1000, 2), (1000, 1)]),
    (100, 1, [(1000, 0), (1000, 1), (5000, 0)]),
    (10, 2, [(1000, 990), (100, 100), (1000, 1000), (100, 1), (1000, 1), (2000, 1)]),
    (10, 5, [(200, 199)] * 8 + [(249, 1), (250, 1)]),
    (10, 2, [(1000, 1200), (1200, 1300), (1499, 1), (1500, 1600), (1600, 1700), (1999, 1), (2000, 20)]),
]


def task(name, message, outcome="success", said="done", work=1):
    told = {"success": {"result": said}, "cancelled": {}}.get(outcome, {"message": said})
    events = [{"t": "task", "name": name, "message": message}]
    events += [{"t": "action", "input_tokens": 10}, {"t": "output"}] * work + [{"t": "action", "input_tokens": 10}]
    return events + ([{"t": outcome, **told}] if outcome else [])


def close(start, end, name, message="Closed."):
    return {"start": start, "end": end, "name": name, "message": message}


def agex_cases():
    three = task("moor", "Tie the boats up") + task("count", "Count\nthem", "fail", "too dark") + task("sleep", "Rest")
    chaptering = task("__chapter__", "what can be closed?", said=[], work=0)
    going_on = task("row", "Row out", None)
    yield three + chaptering + going_on, [[close(1, 2, "Evening"), close(3, 3, "Evening")], [close(1, 2, "The whole day")]]
    # No volume is named as one of its chapters: the service stores the first one's slug, which is then taken.
    yield three, [[close(2, 2, "Middle"), close(1, 1, "First"), close(3, 3, "First")], [close(1, 3, "All three", "of all")]]
    yield three, [[close(1, 2, "One"), close(2, 3, "Two")], [close(1, 1, "One")]]
    yield three, [[close(0, 1, "a"), close(3, 2, "b"), close(1, 4, "c"), close(-1, -1, "d"), close(2, 2, "Right")]]
    long = "The long way round the island, past the light, " * 5
    yield task(long, long, "success", long) + task("ask", long, "clarify", long) + task("stop", "Stop", "cancelled"), [
        [],
        [close(2, 3, long[:75], "Asked\nand stopped")],
        [],
    ]
    nested = [[close(1, 1, "A")], [close(1, 2, "B")], [close(1, 2, "C")]]
    yield task("one", "1", work=0) + task("two", "2", work=2) + task("three", "3"), nested


NAMES = ["Low Tide", "Größe & Maß", "潮 の 満ち引き", "a_b  c", "x - y", "1.2.3", "Dir/File.ext", "--", "", "\t", "🛶", "../up"]


def written():
    """Path and text of every file."""
    golden = []
    for session, keeps, branches in pi_cases():
        yield f"pi/sessions/{session.name}.jsonl", lines(session.lines)
        asked = [{"session": f"{session.name}.jsonl", "keep": keep} for keep in keeps]
        asked[0]["context"] = None
        asked += [asked[0] | {"branch": {"target": target, "budget": budget}} for target, budget in branches]
        for one in asked[len(keeps) :]:
            del one["context"]
        golden += [pi.answers(session.lines[1:], one) for one in asked]
    yield "pi/golden.ndjson", lines(golden)
    yield "pi/version-1.jsonl", lines(version_1().lines)
    strategies = []
    for strategy, config, messages in praison_cases():
        out = {"needs": True, "messages": praison.compacted(messages, config, strategy)}
        out["result"] = {"original_tokens": praison.total(messages), "was_skipped_due_to_low_savings": False}
        case = {"strategy": strategy, "config": config, "passes": [messages]}
        strategies.append({"case": case, "out": [out]})
    yield "praison/strategies.ndjson", lines(strategies)
    traces = []
    for least, cap, sizes in TRACES:
        config = {"max_tokens": 150, "min_savings_pct": least, "max_consecutive_low_savings": cap}
        traces.append({"config": config, "passes": praison.traced(config, sizes)})
    yield "praison/anti-thrash.ndjson", lines(traces)
    cases = [{"op": "splice", "events": events, "rounds": rounds} for events, rounds in agex_cases()]
    cases.append({"op": "slug", "names": NAMES})
    yield "agex/chapters.ndjson", lines({"case": case, "out": agex.answers(case)} for case in cases)


def lines(values):
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def compared(folder):
    """Part and verdict of every answer of the originals."""
    archive, sessions = tarfile.open(folder / "pi/sessions.tar.gz"), {}
    for member in filter(tarfile.TarInfo.isfile, archive.getmembers()):
        entries = archive.extractfile(member).read().decode().splitlines()[1:]
        sessions[pathlib.Path(member.name).name] = list(map(json.loads, entries))
    for golden in rows(folder / "pi/golden-0.87.1.ndjson.gz"):
        ours = pi.answers(sessions[golden["session"]], golden)
        if golden["prepare"]:
            golden["prepare"] = {key: value for key, value in golden["prepare"].items() if not key.startswith("ser")}
        for part in {"prepare", "cut", "context", "branch"} & golden.keys():
            yield f"pi {part}", ours[part] == golden[part]
    for row in rows(folder / "praison/strategies.ndjson.gz"):
        case = row["case"]
        for messages, out in zip(case["passes"], row["out"]):
            yield "praison tokens", praison.total(messages) == out["result"]["original_tokens"]
            if out["needs"] and not out["result"]["was_skipped_due_to_low_savings"]:
                ours = praison.compacted(messages, case["config"], case["strategy"])
                yield f"praison {case['strategy']}", told(ours, messages) == told(out["messages"], messages)
    for row in rows(folder / "praison/anti-thrash.ndjson.gz"):
        sizes = [(one["original_tokens"], one["compacted_tokens"]) for one in row["passes"]]
        ours = praison.traced(row["config"], sizes)
        yield "praison guard", all(one.items() <= theirs.items() for one, theirs in zip(ours, row["passes"]))
    for row in rows(folder / "agex/chapters.ndjson"):
        vfs = row["out"].get("vfs", {})
        vfs.update({path: None for path, value in vfs.items() if not isinstance(value, str)})
        yield "agex", agex.answers(row["case"]) == row["out"]


def rows(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        yield from map(json.loads, file)


def told(after, before):
    """The messages without the words of summaries and of what was shortened."""
    if len(after) == len(before):
        return [one if one == old else None for one, old in zip(after, before)]
    return [one for one in after if one["role"] != "system" or one in before]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        verdicts = collections.Counter(compared(pathlib.Path(sys.argv[2])))
        for (part, holds), count in sorted(verdicts.items()):
            print(f"{part}: {count} {'equal' if holds else 'DIFFERENT'}")
        sys.exit(any(not holds for _, holds in verdicts))
    for path, content in written():
        file = HERE / "oracle" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
