"""The scoreboard's command: `bench/survival/run --help`."""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import board, files, known_work, labels, made_up, memory_sets, peers, questions, reading, report, transcripts, truth
from .grown import SOURCE
from .participants import Contextd, Everything, Nothing
from .played import MODEL, Played
from .server import ROOT, Server, find_binary

STRATEGIES = ("auto", "mask", "prune", "truncate", "sliding", "smart", "summarize")
# Long sessions with tools, of several harnesses, and two short ones of another trade.
CHOSEN = (
    "entireio-cli/1284c080-f9cd-45f8-9942-ff58f5c517e5",
    "pi-mono/large-session",
    "pi-mono/session",
    "entireio-cli/03a1382e-ecd5-42c4-b3d4-5c659e165904",
    "entireio-cli/45ba035c-93ee-46e8-b83c-9d8a3a1cb05b",
    "entireio-cli/2026-01-26-4fec7ea0-3335-43ec-a178-d4ab47d5aef3",
    "entireio-cli/2cfdacb8-9317-430f-8975-0709d2837d1c",
    "entireio-cli/127e9cd1-0deb-4a7c-ba1a-ba4ecd375b90",
    "entireio-cli/2026-01-20-86cc3044-7515-43f1-9c25-1444738c64c9",
    "entireio-cli/1c38adc0-5071-4382-9e53-de8c30e2265f",
    "entireio-cli/series-cc432c40-5of5",
    "agentcmd/claude-full-full-session-four",
    "swe-smith/pandas-dev__pandas.95280573.pr_53652",
    "tau-bench/airline-task3-trial0",
    "tau-bench/airline-task7-trial0",
)
QUICK = ("entireio-cli/1c38adc0-5071-4382-9e53-de8c30e2265f", "entireio-cli/2cfdacb8-9317-430f-8975-0709d2837d1c", "tau-bench/airline-task3-trial0")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/survival/run", description="What survives compaction: contextd beside its peers.")
    parser.add_argument("--quick", action="store_true", help="three transcripts, five rounds")
    parser.add_argument("--transcripts", help="a folder of sessions as those of the corpus (default: ../shared/corpus, else made-up ones)")
    parser.add_argument("--only", action="append", help="a transcript by its name or the beginning of it, with = before it by its whole name; may be repeated")
    parser.add_argument("--participants", help="names, with commas between them (default: all)")
    parser.add_argument("--rounds", default="5,10", help="numbers of compactions, with commas between them")
    parser.add_argument("--binary", help="contextd's executable (default: the newest under target/)")
    parser.add_argument("--model-url", help="an OpenAI-compatible server whose model writes the summaries and answers the questions")
    parser.add_argument("--model", default=MODEL, help="its model")
    parser.add_argument("--locomo", help="a folder with locomo10.json")
    parser.add_argument("--beam", help="a folder with BEAM's conversations (chat.json, probing_questions/probing_questions.json)")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), help="processes that share the transcripts")
    parser.add_argument("--json", help="where the result is written (default: survival.json in the folder of the environments)")
    parser.add_argument("--reading", help="a folder for contexts after a compaction past the middle and their transcripts, to be read; nothing is measured")
    parser.add_argument("--lost", help="a folder for a page on each session and participant: what was lost, and the contexts, to be read")
    parser.add_argument("--document", help="a document whose tables are to be written anew, as docs/SURVIVAL.md")
    return parser.parse_args()


def corpus_folder(given):
    shared = Path(os.environ.get("CONTEXTD_SHARED") or ROOT.parent / "shared") / "corpus"
    if given:
        return Path(given)
    return shared if shared.is_dir() else None


def chosen(options):
    """Transcripts of this run that are long enough to be measured, and the sets of memory questions."""
    extra = memory_sets.locomo(options.locomo) if options.locomo else []
    extra += memory_sets.beam(options.beam) if options.beam else []
    known = [t for t in truth.sessions() + known_work.sessions() if not options.only or any(matches_name(f"{t.source}/{t.name}", w) for w in options.only)]
    return [t for t in named(options) if len(t.messages) >= 12] + known + extra


def named(options):
    """Transcripts of this run, in the order in which they are named."""
    folder = corpus_folder(options.transcripts)
    if folder is None:
        found = [transcripts.read_session(session) for session in made_up.sessions()]
        wanted = options.only or [""]
    else:
        wanted = options.only or ([""] if options.transcripts or options.reading else list(QUICK if options.quick else CHOSEN))
        found = [t for s in files.sessions_in(folder) if any(matches(s, w) for w in wanted) and (t := transcripts.read_session(s))]
    rank = {name: place for place, name in enumerate(wanted)}
    found.sort(key=lambda t: min((rank[w] for w in wanted if matches_name(f"{t.source}/{t.name}", w)), default=99))
    return found


def matches(session, wanted):
    return matches_name(f"{session['source']}/{session['session_id']}", wanted)


def matches_name(name, wanted):
    if wanted.startswith("="):
        return name == wanted[1:]
    return name.startswith(wanted) or name.split("/", 1)[1].startswith(wanted)


def takers(options, played, server, tell):
    """Everybody who takes part, and why somebody does not."""
    wanted = options.participants.split(",") if options.participants else None

    def asked(name):
        return wanted is None or name in wanted

    def model_url(name):
        return options.model_url or played.url(slug(name))

    found, not_run = [], {}
    if server:
        for strategy in STRATEGIES:
            name = f"contextd {strategy}"
            found += [Contextd(name, server.base, strategy)] if asked(name) else []
        name = "contextd llm_summarize"
        found += [Contextd(name, server.base, "llm_summarize", "played")] if asked(name) else []
    else:
        not_run["contextd"] = "no executable: build it, or give --binary"
    for known in peers.KNOWN:
        if not asked(known.name):
            continue
        try:
            tell(f"preparing {known.name}")
            found.append(peers.start(known, model_url(known.name)))
        except peers.NotRun as why:
            not_run[known.name] = str(why)
            tell(f"not run: {known.name}: {why}")
    found += [taker for taker in (Everything(), Nothing()) if asked(taker.name)]
    return found, not_run


def slug(name):
    return "".join(character if character.isalnum() else "-" for character in name.lower())


def version_of():
    """The newest commit that changed the service."""
    done = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "src", "migrations"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def say(line):
    print(line, file=sys.stderr, flush=True)


def played_here(options):
    """The run in this process: its results, who did not take part, and what failed."""
    played = Played()
    binary = find_binary(options.binary)
    contextd_model = options.model_url or played.url("contextd-llm-summarize")
    server = Server(binary, contextd_model, options.model) if binary and binary.exists() else None
    found, not_run = [], {}
    try:
        found, not_run = takers(options, played, server, say)
        model = (options.model_url, options.model) if options.model_url else None
        marked = labels.read() | made_up.labels()
        versions = {taker.name: taker.version for taker in found if getattr(taker, "version", None)}

        def keep(results, failures):
            write(options, {"peers": versions, "results": results, "not_run": not_run, "failures": failures})

        bills = lambda name: played.bill(slug(name))  # noqa: E731
        results, failures = board.run(found, chosen(options), numbers(options), marked, bills, say, None, model, keep, Path(options.lost) if options.lost else None)
    finally:
        stop(found, server, played)
    return {"peers": versions, "results": results, "not_run": not_run, "failures": failures}


def to_be_read(options):
    """Writes contexts of one participant and their transcripts for readers."""
    options.participants = options.participants or "contextd auto"
    played = Played()
    binary = find_binary(options.binary)
    server = Server(binary, options.model_url or played.url("contextd-llm-summarize"), options.model) if binary and binary.exists() else None
    found = []
    try:
        found, not_run = takers(options, played, server, say)
        if len(found) != 1:
            raise SystemExit(f"--reading takes one participant, and {len(found)} are there: {not_run or options.participants}")
        reading.write_all(Path(options.reading), found[0], named(options), say)
    finally:
        stop(found, server, played)


def stop(found, server, played):
    for taker in found:
        if hasattr(taker, "stop"):
            taker.stop()
    if server:
        server.stop()
    played.stop()


def numbers(options):
    return [5] if options.quick else [int(number) for number in options.rounds.split(",")]


def shared_out(options):
    """The same by several processes, each with a service and peers of its own."""
    for known in peers.KNOWN:
        try:
            peers.installed(known)
        except peers.NotRun as why:
            say(f"not run: {known.name}: {why}")
    groups = dealt(chosen(options), options.workers)
    with tempfile.TemporaryDirectory() as folder:
        running = [(place, start_worker(options, names, Path(folder) / f"{place}.json", place)) for place, names in enumerate(groups)]
        try:
            codes = [process.wait() for _, process in running]
        finally:
            for _, process in running:
                process.terminate()
        if any(codes):
            raise SystemExit(f"a worker ended with {max(codes)}")
        parts = [json.loads((Path(folder) / f"{place}.json").read_text()) for place, _ in running]
    return merged(parts)


def dealt(told, workers):
    """Names of transcripts for each worker: the longest first, each to whom has least. Sets of memory questions are the first one's."""
    groups = [[0, []] for _ in range(max(1, min(workers, len(told))))]
    for transcript in sorted(told, key=lambda t: -sum(len(questions.text_of(m)) for m in t.messages)):
        if transcript.source not in ("locomo", "beam"):
            group = min(groups, key=lambda g: g[0])
            group[0] += sum(len(questions.text_of(m)) for m in transcript.messages)
            group[1].append(f"{transcript.source}/{transcript.name}")
    return [names for _, names in groups]


def start_worker(options, names, result, place):
    command = [sys.executable, "-m", "survival", "--workers", "1", "--json", str(result), "--rounds", ",".join(map(str, numbers(options)))]
    for name in ("transcripts", "participants", "binary", "model_url", "model", "lost"):
        if value := getattr(options, name):
            command += [f"--{name.replace('_', '-')}", value]
    for name in ("locomo", "beam") if place == 0 else ():
        if value := getattr(options, name):
            command += [f"--{name}", value]
    for name in names:
        command += ["--only", f"={name}"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def merged(parts):
    """Results of several processes as those of one: in the order of the rounds, and of the participants within a transcript."""
    results = [result for part in parts for result in part["results"]]
    return {
        "peers": {name: version for part in parts for name, version in part["about"]["peers"].items()},
        "results": results,
        "not_run": {name: why for part in parts for name, why in part["not_run"].items()},
        "failures": [failure for part in parts for failure in part["failures"]],
    }


def write(options, outcome):
    """Writes a result, or what there is of one, and gives it back."""
    value = {
        "about": {
            "date": datetime.date.today().isoformat(),
            "contextd": version_of(),
            "transcripts": len({r["transcript"] for r in outcome["results"] if not r["transcript"].startswith(f"{SOURCE}/")}),
            "peers": outcome["peers"],
            "model": options.model if options.model_url else "played",
            "prices_usd_per_mtok": board.PRICES,
        },
        **{name: outcome[name] for name in ("results", "not_run", "failures")},
    }
    target = Path(options.json) if options.json else peers.room() / "survival.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(value, indent=1))
    return value


def main():
    options = arguments()
    # Ended from outside, it stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.reading:
        return to_be_read(options)
    outcome = shared_out(options) if options.workers > 1 and len(chosen(options)) > 1 else played_here(options)
    tables = report.markdown(write(options, outcome))
    if options.document:
        document = Path(options.document)
        document.write_text(report.placed(document.read_text() if document.exists() else "# What survives compaction\n", tables))
    print(tables)


if __name__ == "__main__":
    main()
