"""A played model: a small server that answers chat completions by extracting sentences from the prompt.

It stands in for a summarising model where none can be had: the same words for the same prompt, no network, no key. It does what
a plain model does with a summary prompt, and nothing more: it tells the material from the instructions, takes the headings that
it is asked for, and fills them with what stands in the material, shortened. Every participant that asks a model asks this one,
and its counts of tokens are the bill of all of them.
"""

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .identifiers import identifiers_in
from .text import content_text, content_words, count

LONGEST = 1_200
SENTENCE = 240
MODEL = "played"
TAGGED = re.compile(
    r"<(conversation|messages|history|transcript|event|events|chat_history|previous-summary|previous_summary|previous-session|summary|context-summary)\b[^>]*>(.*?)</\1>",
    re.I | re.S,
)
PRINTED = re.compile(r"\{['\"]role['\"]: ['\"](\w+)['\"], ['\"]content['\"]: ['\"]?")
HEADING = re.compile(r"^\s*(#{1,4} .+|\*\*[^*\n]{3,60}\*\*:?|[A-Z][A-Z_ ]{4,40}:)", re.M)
SPEAKER = re.compile(
    r"^\s*(?:\[|<|\*\*)?(user|human|assistant tool calls?|assistant|ai|tool results?|tool|system|result|observation|action|message)(?:event)?\b(?:\s*\([^)]*\)|\s+(?:prompt|message|return|call)[^:\]>\n]{0,40})?(?:\]:?|:|>)\s*", re.I
)
RULE = re.compile(r"\b(must|never|always|don't|do not|only|please|should|prefer|instead|not|important|budget|deadline|rule)\b", re.I)
STATE = re.compile(r"\b(fixed|added|created|updated|done|passed|failed|error|decided|because|changed|implemented|committed|next|todo|remaining)\b", re.I)
NEXT = re.compile(r"\b(next|todo|remaining|going to|still (?:need|have) to)\b", re.I)
# What a harness says of itself: a mark in brackets or tags that stands alone on a line.
OWN_WORDS = re.compile(r"^\s*(?:\[[^\]]*\]|</?[\w-]+>|\(none\))\s*$")
BULLET = re.compile(r"^\s*(?:(?:[-*+]|\d+[.)])\s+)*(?:\[[ xX]\]\s+)?")
# Which headings take what, the likelier ones first.
SECTIONS = {
    "goal": ("goal|request|intent", "task|user|topic"),
    "rules": ("constraint|preference|requirement|rule", "user|intent|goal"),
    "next": ("next|remaining|pending|todo|action item",),
    "done": ("done|complete", "progress|decision|state|result|summary"),
    "other": ("critical|context|state", "artifact|file|progress"),
}


def split_prompt(messages):
    """What is to be summarised, and what says how."""
    texts = [content_text(m.get("content")) for m in messages]
    material, instructions = [], []
    for message, text in zip(messages, texts):
        found = [match.group(2) for match in TAGGED.finditer(text)]
        if found and sum(map(len, found)) > 0.2 * len(text):
            material += found
            instructions.append(TAGGED.sub("", text))
        elif message.get("role") in ("system", "developer") or (len(messages) > 2 and message is messages[-1]):
            instructions.append(text)
        else:
            material.append(text)
    return readable("\n".join(material)), "\n".join(instructions)


def readable(text):
    """A text as a model reads it: where it is a program's print of messages, with its lines and speakers."""
    if text.count("\\n") > 4 * text.count("\n"):
        text = PRINTED.sub(r"\n\1: ", text).replace("\\n", "\n")
    return text


def headings_of(instructions):
    found = []
    for match in HEADING.finditer(instructions):
        heading = match.group(1).strip()
        if heading not in found and len(heading) < 80:
            found.append(heading)
    return found[:16]


def sentences(material):
    """Sentences of the material, each once, with who said them and, where they are an earlier summary's, under which heading."""
    speaker, heading, seen = "", None, set()
    for line in material.splitlines():
        if HEADING.match(line) and len(line) < 80:
            speaker, heading = "summary", line.strip()
            continue
        if OWN_WORDS.match(line):
            continue
        if named := SPEAKER.match(line):
            speaker, heading = named.group(1).lower(), None
            line = line[named.end() :]
        line = BULLET.sub("", line)
        for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`'\"])", line):
            text = part.strip()[:SENTENCE]
            key = text.lower()
            if len(text) >= 12 and key not in seen and len(content_words(text)) >= 2:
                seen.add(key)
                yield speaker, heading, text


def weight(speaker, text, place):
    """How likely it is that a model takes a sentence up."""
    score = 1.0 + place
    score += {"user": 2.5, "human": 2.5, "summary": 2.0}.get(speaker, 0.0)
    score += 1.0 if RULE.search(text) else 0.0
    score += 0.7 if STATE.search(text) else 0.0
    score += min(1.5, 0.5 * len(identifiers_in(text)))
    return score - (2.0 if speaker.startswith(("tool", "result", "observation")) else 0.0)


def section_of(speaker, text):
    if speaker in ("user", "human"):
        return "rules" if RULE.search(text) else "goal"
    if NEXT.search(text):
        return "next"
    return "done" if STATE.search(text) else "other"


def extract(messages, room):
    """An answer of at most so many tokens. The same prompt has the same answer."""
    material, instructions = split_prompt(messages)
    told = list(sentences(material))
    ranked = sorted(range(len(told)), key=lambda i: (-weight(told[i][0], told[i][2], i / max(1, len(told))), i))
    headings = headings_of(instructions)
    left = min(room, LONGEST) - sum(count(heading) + 6 for heading in headings) - 8
    taken = []
    for index in ranked:
        size = count(told[index][2]) + 3
        if size <= left:
            taken.append(index)
            left -= size
        if left < 12:
            break
    return laid_out(headings, [told[index] for index in sorted(taken)])


def laid_out(headings, taken):
    if not headings:
        return "\n".join(f"- {text}" for _, _, text in taken) or "Nothing was said."
    parts = {heading: [] for heading in headings}
    for speaker, heading, text in taken:
        parts[heading if heading in parts else heading_for(headings, section_of(speaker, text))].append(text)
    return "\n\n".join(f"{heading}\n" + ("\n".join(f"- {text}" for text in texts) or "(none)") for heading, texts in parts.items())


def heading_for(headings, section):
    """The first heading that fits a section; what fits none goes under the last."""
    fitting = (heading for words in SECTIONS[section] for heading in headings if re.search(words, heading, re.I))
    return next(fitting, headings[-1])


class Bill:
    """Tokens of all calls since it was last taken."""

    def __init__(self):
        self.lock = threading.Lock()
        self.calls = self.input = self.output = 0

    def add(self, used):
        with self.lock:
            self.calls += 1
            self.input += used[0]
            self.output += used[1]

    def take(self):
        with self.lock:
            taken = {"calls": self.calls, "input_tokens": self.input, "output_tokens": self.output}
            self.calls = self.input = self.output = 0
            return taken


class Played:
    """The server. Several bills: a caller's is told by the first part of its path, `/{who}/v1/chat/completions`."""

    def __init__(self):
        self.bills = {}
        played = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
                if not self.path.endswith("/chat/completions"):
                    return self.send({"error": {"message": "only chat completions are played"}}, 404)
                answer, used = played.answer(request)
                played.bill(self.path.split("/")[1]).add(used)
                self.stream(answer, used) if request.get("stream") else self.send(completion(answer, used))

            def send(self, body, status=200):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def stream(self, answer, used):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for chunk in chunks(answer, used):
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, who):
        return f"http://127.0.0.1:{self.server.server_port}/{who}/v1"

    def bill(self, who):
        return self.bills.setdefault(who, Bill())

    @staticmethod
    def answer(request):
        messages = request.get("messages") or []
        room = request.get("max_completion_tokens") or request.get("max_tokens") or LONGEST
        answer = extract(messages, room)
        asked = sum(4 + count(content_text(m.get("content"))) for m in messages)
        return answer, (asked, count(answer))

    def stop(self):
        self.server.shutdown()


def identity(answer):
    return "chatcmpl-" + hashlib.sha256(answer.encode()).hexdigest()[:12]


def usage(used):
    return {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)}


def completion(answer, used):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
    return {"id": identity(answer), "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice], "usage": usage(used)}


def chunks(answer, used):
    head = {"id": identity(answer), "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    yield head | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": answer}, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield head | {"choices": [], "usage": usage(used)}
