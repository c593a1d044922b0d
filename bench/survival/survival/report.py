"""The tables of `docs/SURVIVAL.md`, from a result."""

from collections import defaultdict

from .grown import SOURCE

KINDS = {
    "reuse": "future reuse",
    "constraint": "rules and corrections",
    "command": "commands with outcome",
    "number": "numbers",
    "task": "open tasks",
    "request": "last requests",
    "probe": "hand-written probes",
    "planted": "planted",
    "planted_kit": "planted (kit)",
    "evidence": "LoCoMo evidence",
    "fact": "BEAM",
}
TRUTHS = {
    "false": "false, of what is told",
    "claimed": "claimed, not quoted",
    "outcome": "outcomes told",
    "order": "order",
    "finding": "findings",
    "table": "rows of tables",
    "speaker": "who said it",
}
BEGIN, END = "<!-- survival:begin -->", "<!-- survival:end -->"


def summed(results):
    """Counts of all transcripts by participant, kind and column: every question counts once."""
    sums = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: [0, 0])))
    for result in results:
        for kind, columns in result["marks"].items():
            for column, (found, asked) in columns.items():
                sum_ = sums[result["participant"]][kind][column]
                sum_[0] += found
                sum_[1] += asked
    return sums


def share(count):
    return f"{100 * count[0] / count[1]:.0f}" if count[1] else "–"


def order(results):
    seen = []
    for result in results:
        if result["participant"] not in seen:
            seen.append(result["participant"])
    return seen


def table(results, column):
    """Percent of the questions of each kind, in one column of the three."""
    sums, names = summed(results), order(results)
    kinds = [kind for kind in KINDS if any(sums[name][kind][column][1] for name in names)]
    if not kinds:
        return None
    asked = {kind: max(sums[name][kind][column][1] for name in names) for kind in kinds}
    lines = ["| participant | " + " | ".join(f"{KINDS[kind]} ({asked[kind]})" for kind in kinds) + " |", "| --- |" + " ---: |" * len(kinds)]
    for name in names:
        if any(sums[name][kind][column][1] for kind in kinds):
            lines.append(f"| {name} | " + " | ".join(share(sums[name][kind][column]) for kind in kinds) + " |")
    return "\n".join(lines)


def truth_table(results):
    """What is told of sessions whose outcomes are known, in numbers, and how many lies of a worse build would be seen."""
    known = [result for result in results if result["transcript"].startswith(f"{SOURCE}/")]
    if not known:
        return None
    sums = summed(known)
    lines = ["| participant | " + " | ".join(TRUTHS.values()) + " | context, of the window | lies caught |", "| --- |" + " ---: |" * (len(TRUTHS) + 2)]
    for name in order(known):
        told = [sums[name][kind]["verbatim"] for kind in TRUTHS]
        own = [result for result in known if result["participant"] == name]
        filled = [100 * tokens / result["window"] for result in own for tokens in result["context_tokens"]]
        counts = [count for result in own for count in result["caught"].values()]
        lies = [sum(found for found, _ in counts), sum(asked for _, asked in counts)]
        cells = [f"{found} of {asked}" for found, asked in [*told]] + [f"{sum(filled) / len(filled):.0f} %", f"{lies[0]} of {lies[1]}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def lies_table(results):
    """The same lies one by one, of all participants together."""
    counts = defaultdict(lambda: [0, 0])
    for result in results:
        for name, (found, asked) in (result.get("caught") or {}).items():
            counts[name][0] += found
            counts[name][1] += asked
    return "; ".join(f"a build that {name}: {found} of {asked}" for name, (found, asked) in counts.items() if asked)


def bill_table(results):
    rows = defaultdict(list)
    for result in (result for result in results if not result["transcript"].startswith(f"{SOURCE}/")):
        rows[result["participant"]].append(result)
    lines = [
        "| participant | context after a compaction, of the window | largest | over the window | compactions | model calls | input | output | US$ |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, played in rows.items():
        filled = [100 * tokens / r["window"] for r in played for tokens in r["context_tokens"]]
        bills = [r["bill"] for r in played]
        total = {key: sum(bill[key] for bill in bills) for key in ("calls", "input_tokens", "output_tokens")}
        lines.append(
            f"| {name} | {sum(filled) / len(filled):.0f} % | {max(filled):.0f} % | {sum(r['overfull'] for r in played)} of {len(filled)} | "
            f"{sum(r['compactions'] for r in played)} | {total['calls']} | {total['input_tokens']:,} | {total['output_tokens']:,} | "
            f"{sum(r['cost_usd'] for r in played):.2f} |"
        )
    return "\n".join(lines)


def by_rounds(results):
    found = defaultdict(list)
    for result in results:
        found[result["rounds"]].append(result)
    return sorted(found.items())


def markdown(value):
    """All tables of a result, between their markers."""
    about = value["about"]
    parts = [
        BEGIN,
        f"Measured {about['date']} on contextd {about['contextd']}, {about['transcripts']} transcripts, "
        f"{'; '.join(f'{name} {version}' for name, version in about['peers'].items()) or 'no peers'}.",
    ]
    for number, results in by_rounds(value["results"]):
        if verbatim := table(results, "verbatim"):
            parts.append(f"### {number} rounds: verbatim in the context, %\n\n{verbatim}")
        if known := truth_table(results):
            parts.append(f"### {number} rounds: truth, of made-up sessions whose outcomes are known\n\n{known}\n\nCaught of the lies put into these contexts: {lies_table(results)}.")
        recoverable = table(results, "recoverable")
        parts.append(f"### {number} rounds: recoverable by one call, %\n\n{recoverable or 'Nobody offers a call.'}")
        answered = table(results, "answered")
        parts.append(f"### {number} rounds: answered by a small model, %\n\n{answered or 'Not run: no `--model-url` was given.'}")
        parts.append(f"### {number} rounds: tokens and money\n\n{bill_table(results)}")
    if value["not_run"]:
        parts.append("### Not run\n\n" + "\n".join(f"- {name}: {why}" for name, why in value["not_run"].items()))
    if value["failures"]:
        lines = [f"- {f['participant']} over {f['transcript']}, {f['rounds']} rounds: {f['why'].splitlines()[0][:160]}" for f in value["failures"]]
        parts.append("### Failed\n\n" + "\n".join(lines))
    return "\n\n".join([*parts, END])


def placed(document, tables):
    """A document with its tables between the markers in place of the former ones; at its end where it has none."""
    if BEGIN in document and END in document:
        before, rest = document.split(BEGIN, 1)
        return before + tables + rest.split(END, 1)[1]
    return document.rstrip() + "\n\n" + tables + "\n"
