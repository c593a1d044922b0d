"""A played provider: refuses what the real one's documents forbid (`rules`), else answers with one more command to run.

It speaks Anthropic's Messages, OpenAI's Chat Completions and Responses, streamed or whole.
"""
import http.server
import json
import threading

import rules

# Every how many calls an agent's question is answered in words, which ends its turn.
CALLS_A_TURN = 6


class Provider:
    def __init__(self, window):
        self.window, self.lock = window, threading.Lock()
        self.log, self.main, self.since_words = [], 0, 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, route, body, headers):
        """Either ("refused", reasons), ("long", tokens) or ("good", parts of the answer, tokens)."""
        tokens, reasons = rules.size(body), rules.refusals(route, body)
        tool, text = shell(body.get("tools") or []), json.dumps(body)
        with self.lock:
            entry = {"route": route, "tokens": tokens, "reasons": reasons, "tools": bool(body.get("tools")), "long": False,
                     "compacted": any(mark in text for mark in ("context-summary", "[tool_result ", "[argument truncated")), "body": body,
                     "headers": dict(headers)}
            self.log.append(entry)
            if reasons:
                return "refused", reasons
            if tokens > self.window:
                entry["long"] = True
                return "long", tokens
            if not body.get("tools"):
                # A title, a digest: no turn of the conversation. An agent without tools (aider) has nothing but these.
                self.main += 1
                return "good", [("text", f"Answer {self.main}: " + prose(self.main, 60))], tokens
            self.main += 1
            self.since_words += 1
            if self.since_words >= CALLS_A_TURN or tool is None:
                self.since_words = 0
                return "good", [("text", f"Turn closed after call {self.main}. " + prose(self.main, 40))], tokens
            calls = [("call", f"call_{self.main}_{n}", tool, command(tool, self.main, n)) for n in range(1 + (self.main % 4 == 3))]
            return "good", [("text", f"Now step {self.main}.")] * (self.main % 2) + calls, tokens


def prose(seed, words):
    return " ".join(f"{('module', 'test', 'result', 'file')[(seed + n) % 4]}{seed * 31 + n}" for n in range(words)) + "."


def shell(tools):
    """The tool that runs a command, told by its schema: {name, field, kind, required}."""
    for tool in tools:
        function = tool.get("function") or tool
        schema = function.get("parameters") or function.get("input_schema") or {}
        for field in ("command", "cmd"):
            kind = (schema.get("properties") or {}).get(field, {}).get("type")
            if kind in ("string", "array"):
                return {"name": function["name"], "field": field, "kind": kind, "schema": schema}
    return None


def command(tool, step, n):
    line = f"echo step {step}.{n}; seq {step}000 {step}{9 if n == 0 else 2}00"
    arguments = {}
    for name in tool["schema"].get("required") or []:
        kind = tool["schema"]["properties"].get(name, {}).get("type")
        arguments[name] = {"string": "a step", "boolean": False, "number": 1000, "integer": 1000}.get(kind, "a step")
    arguments[tool["field"]] = line if tool["kind"] == "string" else ["bash", "-lc", line]
    return arguments


def handler(provider):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.whole(200, {"object": "list", "data": [{"id": "gpt-5", "object": "model"}], "models": []})

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            route = self.path.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
            body = json.loads(raw or b"{}")
            if route == "count_tokens":
                return self.whole(200, {"input_tokens": rules.size(body)})
            if route not in ("messages", "completions", "responses"):
                return self.whole(404, {"error": {"message": f"no route {self.path}", "type": "not_found_error"}})
            outcome = provider.answer(route, body, self.headers)
            if outcome[0] == "refused":
                return self.fault(route, "; ".join(outcome[1]))
            if outcome[0] == "long":
                return self.fault(route, too_long(route, outcome[1], provider.window), "context_length_exceeded")
            answer = {"messages": anthropic, "completions": chat, "responses": responses}[route]
            whole, events = answer(body, outcome[1], outcome[2])
            if body.get("stream"):
                text = "".join(events)
                return self.send(200, "text/event-stream", text.encode())
            return self.whole(200, whole)

        def fault(self, route, message, code="invalid_request"):
            error = {"type": "invalid_request_error", "message": message}
            self.whole(400, {"type": "error", "error": error} if route == "messages" else {"error": {**error, "code": code, "param": None}})

        def whole(self, status, body):
            self.send(status, "application/json", json.dumps(body).encode())

        def send(self, status, kind, data):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def too_long(route, tokens, window):
    if route == "messages":
        return f"prompt is too long: {tokens} tokens > {window} maximum"
    return (f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
            "Please reduce the length of the messages.")


def event(kind, data):
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


def anthropic(body, parts, tokens):
    blocks, number = [], sum(ord(letter) for letter in json.dumps(parts, default=str)[:40])
    for part in parts:
        if part[0] == "text":
            blocks.append({"type": "text", "text": part[1]})
        else:
            blocks.append({"type": "tool_use", "id": f"toolu_{part[1]}", "name": part[2]["name"], "input": part[3]})
    stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": tokens, "output_tokens": 60, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks,
               "stop_reason": stop, "stop_sequence": None, "usage": usage}
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events = [event("message_start", {"type": "message_start", "message": start})]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append(event("content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}))
        events.append(event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}))
        events.append(event("content_block_stop", {"type": "content_block_stop", "index": index}))
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append(event("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 60}}))
    events.append(event("message_stop", {"type": "message_stop"}))
    return message, events


def chat(body, parts, tokens):
    text = "".join(part[1] for part in parts if part[0] == "text")
    calls = [{"index": n, "id": part[1], "type": "function", "function": {"name": part[2]["name"], "arguments": json.dumps(part[3])}}
             for n, part in enumerate(part for part in parts if part[0] == "call")]
    usage = {"prompt_tokens": tokens, "completion_tokens": 60, "total_tokens": tokens + 60,
             "prompt_tokens_details": {"cached_tokens": 0}}
    reason = "tool_calls" if calls else "stop"
    head = {"id": "chatcmpl-1", "created": 1, "model": body.get("model")}
    message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    whole = {**head, "object": "chat.completion", "usage": usage,
             "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas = [({"role": "assistant", "content": text}, None)] + ([({"tool_calls": calls}, None)] if calls else []) + [({}, reason)]
    events = [f"data: {json.dumps({**chunk, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': end}]})}\n\n" for delta, end in deltas]
    events.append(f"data: {json.dumps({**chunk, 'choices': [], 'usage': usage})}\n\n")
    return whole, events + ["data: [DONE]\n\n"]


def responses(body, parts, tokens):
    number = parts[-1][1] if parts[-1][0] == "call" else str(tokens)
    items = [{"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "c2VjcmV0" * 20}]
    for n, part in enumerate(parts):
        if part[0] == "text":
            content = [{"type": "output_text", "text": part[1], "annotations": []}]
            items.append({"type": "message", "id": f"msg_{number}_{n}", "role": "assistant", "status": "completed", "content": content})
        else:
            items.append({"type": "function_call", "id": f"fc_{part[1]}", "call_id": part[1], "name": part[2]["name"],
                          "arguments": json.dumps(part[3]), "status": "completed"})
    usage = {"input_tokens": tokens, "output_tokens": 60, "total_tokens": tokens + 60,
             "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "model": body.get("model"),
                "output": items, "usage": usage, "error": None, "incomplete_details": None}
    sequence, events = 0, []

    def tell(kind, **data):
        nonlocal sequence
        events.append(event(kind, {"type": kind, "sequence_number": sequence, **data}))
        sequence += 1

    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    tell("response.created", response=begun)
    for index, item in enumerate(items):
        tell("response.output_item.added", output_index=index, item={**item, "status": "in_progress"} if item["type"] != "reasoning" else item)
        if item["type"] == "message":
            part = item["content"][0]
            tell("response.content_part.added", item_id=item["id"], output_index=index, content_index=0, part={**part, "text": ""})
            tell("response.output_text.delta", item_id=item["id"], output_index=index, content_index=0, delta=part["text"])
            tell("response.output_text.done", item_id=item["id"], output_index=index, content_index=0, text=part["text"])
            tell("response.content_part.done", item_id=item["id"], output_index=index, content_index=0, part=part)
        elif item["type"] == "function_call":
            tell("response.function_call_arguments.delta", item_id=item["id"], output_index=index, delta=item["arguments"])
            tell("response.function_call_arguments.done", item_id=item["id"], output_index=index, arguments=item["arguments"])
        tell("response.output_item.done", output_index=index, item=item)
    tell("response.completed", response=response)
    return response, events
