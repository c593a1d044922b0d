"""Who takes part: one interface, and the participants that test the instrument itself."""

import json
import os
import queue
import subprocess
import threading
import time
from urllib.parse import quote

from .http import Client, Refused
from .score import Page, holds
from .text import context_tokens

WAIT = 120
# Some libraries take long to import, on a busy machine very long.
IMPORTING = 300


class Participant:
    """Keeps a session's context. `recover` answers what one call brings back, as text, or None where nothing is offered."""

    name = "everything"
    offers_recall = False

    def start(self, transcript, window, recalled=None):
        self.system = [{"role": "system", "content": transcript.system}] if transcript.system else []
        self.messages = []

    def append(self, messages):
        self.messages += messages

    def compact(self):
        pass

    def context(self):
        return self.system + self.messages

    def tokens(self):
        return context_tokens(self.context())

    def recover(self, question, page):
        return False

    def end(self):
        pass


class Everything(Participant):
    """Keeps all: what no participant can be better than."""


class Nothing(Participant):
    """Drops all at every compaction: what every participant should be better than."""

    name = "nothing"

    def compact(self):
        self.messages = []


class Contextd(Participant):
    """contextd over HTTP with one of its strategies."""

    offers_recall = True

    def __init__(self, name, base, strategy, upstream=None):
        self.name, self.strategy, self.upstream = name, strategy, upstream
        self.client = Client(base)
        self.errors = []

    def start(self, transcript, window, recalled=None):
        # Answers to reads, shared by the strategies of a case.
        self.recalled = {} if recalled is None else recalled
        # By itself only where the window is full: when it is time is the bench's to say, the same for everybody.
        settings = {"context_window": window, "strategy": self.strategy, "red_at": 1.0, "ahead_at": None}
        if self.upstream:
            settings["upstream"] = self.upstream
        body = {"title": transcript.name[:200], "settings": settings}
        if transcript.system:
            body["system"] = transcript.system
        self.sid = self.client.post("/v1/sessions", body)["id"]
        self.statuses = {}
        self.kept = None

    def path(self, rest):
        return f"/v1/sessions/{self.sid}/{rest}"

    def append(self, messages):
        for at in range(0, len(messages), 500):
            self.client.post(self.path("entries"), {"format": "openai_chat", "items": messages[at : at + 500]})
        self.kept = None

    def compact(self):
        body = {"strategy": self.strategy, "force": True, "wait": WAIT}
        done = self.client.post(self.path("compact"), body)
        deadline = time.monotonic() + WAIT
        while done["status"] in ("queued", "running") and time.monotonic() < deadline:
            time.sleep(0.2)
            done = self.client.get(f"/v1/compactions/{done['id']}")
        key = told_status(done)
        self.statuses[key] = self.statuses.get(key, 0) + 1
        self.kept = None

    def context(self):
        if self.kept is None:
            answer = self.client.post(self.path("rebuild"), {"format": "openai_chat"})
            messages = answer["messages"]
            if answer.get("system") and (not messages or messages[0].get("role") not in ("system", "developer")):
                messages = [{"role": "system", "content": answer["system"]}] + messages
            self.kept = messages
        return self.kept

    def recover(self, question, page):
        """Whether one call would do: the result of a call that the context names, the ledger, or a search for the cue."""
        if question.call_id and question.call_id in page.text:
            answer = self.get(f"tool-calls/{quote(question.call_id, safe='')}")
            if holds(Page(as_told(answer)), question):
                return True
        if question.kind == "command" and self.in_ledger(question):
            return True
        return bool(question.cue.strip()) and holds(Page(self.searched(question.cue)), question)

    def get(self, path):
        """An answer of this session, asked for once: what is stored is the same whatever the strategy."""
        if path not in self.recalled:
            try:
                self.recalled[path] = self.client.get(self.path(path))
            except Refused as refused:
                self.errors.append(str(refused))
                self.recalled[path] = {}
        return self.recalled[path]

    def in_ledger(self, question):
        """Whether the first page of the ledger has the call, with the right status."""
        rows = self.get("tool-calls?limit=200").get("items") or []
        status = next((row["status"] for row in rows if row["tool_call_id"] == question.call_id), None)
        return status is not None and (status == "returned") == (question.about[0] == "done")

    def searched(self, cue):
        """Snippets of the messages among the first ten hits; summaries are no originals."""
        items = self.get(f"search?limit=10&q={quote(cue[:200])}").get("items") or []
        return "\n".join(item["snippet"].replace("<mark>", "").replace("</mark>", "") for item in items if item["type"] == "message")

    def end(self):
        self.client.call("DELETE", f"/v1/sessions/{self.sid}")


def told_status(done):
    """How a compaction ended, in a few words: why it was skipped or failed, or that another summary stood in."""
    result = done.get("result") or {}
    fallback = (result.get("fallback") or {}).get("reason")
    reason = result.get("skip_reason") or (fallback and f"fallback: {fallback}") or (done.get("error") or {}).get("code")
    return f"{done['status']} {reason or ''}".strip()


def as_told(answer):
    return "\n".join(strings(answer))


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


class Peer(Participant):
    """A peer as published, in a process and an environment of its own: a request a line, an answer a line."""

    def __init__(self, name, command, model_url, options=None, recall=False):
        self.name, self.options, self.offers_recall = name, options or {}, recall
        self.log = []
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines.put), daemon=True).start()
        threading.Thread(target=self.read, args=(self.process.stderr, self.log.append), daemon=True).start()
        self.model_url = model_url
        try:
            self.version = self.ask("hello", IMPORTING, model_url=model_url, **self.options).get("version")
        except RuntimeError:
            self.process.kill()
            raise

    @staticmethod
    def read(stream, keep):
        for line in stream:
            keep(line)
        keep("")

    def ask(self, operation, patience=WAIT, **values):
        self.process.stdin.write(json.dumps({"do": operation, **values}) + "\n")
        self.process.stdin.flush()
        try:
            line = self.lines.get(timeout=patience)
        except queue.Empty:
            raise RuntimeError(f"{self.name}: no answer to {operation}") from None
        if not line:
            raise RuntimeError(f"{self.name}: ended: {''.join(self.log[-20:])}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {operation}: {answer['error']}")
        return answer

    def start(self, transcript, window, recalled=None):
        super().start(transcript, window)
        self.ask("start", system=transcript.system, window=window)
        self.fresh = []

    def append(self, messages):
        super().append(messages)
        self.fresh += messages

    def compact(self):
        answer = self.ask("compact", messages=self.fresh)
        self.fresh = []
        self.messages = answer["messages"]

    def recover(self, question, page):
        if not self.offers_recall or not question.cue:
            return False
        text = self.ask("recover", cue=question.cue, context=page.text)["text"]
        return bool(text) and holds(Page(text), question)

    def end(self):
        self.ask("end")

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

