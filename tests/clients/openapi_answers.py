"""Sends every documented example to a running service (`--dev`) and checks each answer against its documented schema.

    contextd serve --dev --listen 127.0.0.1:8080 &
    /tmp/openapi/bin/python tests/clients/openapi_answers.py http://127.0.0.1:8080

Needs PyPI `jsonschema`. Operations without an example are called as they are; streams are left out. Ends with 0 and the
number of calls, or with every fault that was found.
"""

import json
import sys
import urllib.error
import urllib.request

from jsonschema import Draft202012Validator

BASE = sys.argv[1].rstrip("/")
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
QUERIES = {"context": "?format=openai_chat", "export": "?format=pi", "search": "?q=module"}
SETTINGS = {"enabled": False, "context_window": 40_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1_500}


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, HEADERS, method=method.upper())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def turn(n):
    function = {"name": "read", "arguments": json.dumps({"path": f"src/module_{n}.rs"})}
    return [
        {"role": "user", "content": f"Request {n}: rename src/module_{n}.rs"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{n}", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": f"call_{n}", "content": " ".join(f"line{n}_{word}" for word in range(120))},
        {"role": "assistant", "content": f"Renamed module {n}; 12 tests pass."},
    ]


def ids():
    """A session of twenty turns, an entry of it, a compaction, a hook."""
    sid = json.loads(call("post", "/v1/sessions", {"settings": SETTINGS})[1])["id"]
    items = [item for n in range(20) for item in turn(n)]
    eid = json.loads(call("post", f"/v1/sessions/{sid}/entries", {"format": "openai_chat", "items": items})[1])["entries"][0]["id"]
    cid = json.loads(call("post", f"/v1/sessions/{sid}/compact", {"strategy": "summarize", "wait": 60})[1])["id"]
    hook = {"url": "https://example.com/", "events": ["chapter_requested"], "enabled": False}
    hid = json.loads(call("post", "/v1/hooks", hook)[1])["id"]
    return {"sid": sid, "eid": eid, "cid": cid, "hid": hid, "tool_call_id": "call_1"}


document = json.loads(call("get", "/openapi.json")[1])
faults, calls = [], 0
for path, item in document["paths"].items():
    for method, operation in item.items():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if method == "delete" or path.endswith("/events") or "{did}" in path or "{path}" in path:
            continue
        for name, example in (body.get("examples") or {"-": {"value": None}}).items():
            known = ids()
            target = path.format(**known) + QUERIES.get(path.split("/")[-1], "")
            status, text = call(method, target, example["value"])
            calls += 1
            answer = operation["responses"].get(str(status), {})
            if status >= 300 or not answer:
                faults.append(f"{method} {path}, {name}: {status} {text:.200}")
                continue
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            if schema:
                validator = Draft202012Validator({**schema, "components": document["components"]})
                for error in validator.iter_errors(json.loads(text)):
                    faults.append(f"{method} {path}, {name}: {list(error.path)} {error.message:.200}")
            call("delete", f"/v1/hooks/{known['hid']}")
print("\n".join(faults))
if faults:
    sys.exit(f"{len(faults)} faults in {calls} calls")
print(f"{calls} calls, every answer as documented")
