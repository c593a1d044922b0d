"""What the providers' documents forbid in a request, written from those documents and not from contextd's own checks.

`refusals(route, body)` returns the reasons for which the real provider would answer 400, in words; none means that it would not.
"""
import json
import re

ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# OpenAI's Responses API tells what an item is by the first letters of its id.
RESPONSES_IDS = {"message": "msg", "function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc"}


def refusals(route, body):
    found = list(half_characters(body))
    found += {"messages": anthropic, "completions": chat, "responses": responses}[route](body)
    return found


def half_characters(value, path=""):
    """UTF-16 surrogates that stand alone: no provider takes a text that is not Unicode."""
    if isinstance(value, str):
        if any(0xD800 <= ord(letter) <= 0xDFFF for letter in value):
            yield f"{path}: half a character"
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from half_characters(one, f"{path}/{index}")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from half_characters(key, f"{path}/(key)")
            yield from half_characters(one, f"{path}/{key}")


def blank(text):
    return not isinstance(text, str) or not text.strip()


# Anthropic's Messages API.

def anthropic(body):
    found = []
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    if not isinstance(body.get("max_tokens"), int):
        found.append("max_tokens: required")
    found += anthropic_cache_marks(body)
    found += anthropic_roles(messages)
    seen, open_calls = set(), []
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        last = index == len(messages) - 1
        if not blocks and not (last and message["role"] == "assistant"):
            found.append(f"{where}: all messages must have non-empty content")
        for at, block in enumerate(blocks):
            found += anthropic_block(f"{where}.content.{at}", message["role"], block, seen)
        if message["role"] == "user":
            found += anthropic_results(where, blocks, open_calls)
            open_calls = []
        elif message["role"] == "assistant":
            if open_calls:
                found.append(f"{where}: tool_use ids without tool_result blocks: {open_calls}")
            open_calls = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
            texts = [block for block in blocks if block.get("type") == "text"]
            if last and texts and blocks[-1] is texts[-1] and texts[-1]["text"] != texts[-1]["text"].rstrip():
                found.append(f"{where}: final assistant content cannot end with trailing whitespace")
    if open_calls:
        found.append(f"tool_use ids without tool_result blocks: {open_calls}")
    return found


def anthropic_roles(messages):
    found = []
    if messages[0].get("role") != "user":
        found.append("messages.0: the first message must be the user's")
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in ("user", "assistant", "system"):
            found.append(f"messages.{index}: role {role!r}")
        before = messages[index - 1].get("role") if index else None
        if role == "system" and before != "user":
            found.append(f"messages.{index}: a system message stands right behind one of the user's")
    return found


def anthropic_cache_marks(body):
    marks, found = 0, []
    system = body.get("system") if isinstance(body.get("system"), list) else []
    places = list(body.get("tools") or []) + system
    for message in body["messages"]:
        for block in message.get("content") if isinstance(message.get("content"), list) else []:
            places.append(block)
            if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
                places += block["content"]
    for place in places:
        if isinstance(place, dict) and place.get("cache_control"):
            marks += 1
            if place.get("type") in ("thinking", "redacted_thinking"):
                found.append("cache_control cannot be set on thinking")
            if place.get("type") == "text" and blank(place.get("text")):
                found.append("cache_control cannot be set for empty text blocks")
    if marks > 4:
        found.append(f"a maximum of 4 blocks with cache_control may be provided; found {marks}")
    return found


def anthropic_block(where, role, block, seen):
    kind, found = block.get("type"), []
    if kind == "text" and blank(block.get("text")):
        found.append(f"{where}: text content blocks must contain non-whitespace text")
    elif kind == "thinking" and (role != "assistant" or not block.get("signature")):
        found.append(f"{where}: thinking needs its signature and stands in an answer")
    elif kind == "tool_use":
        if role != "assistant":
            found.append(f"{where}: tool_use in a message of role {role}")
        if not ANTHROPIC_ID.fullmatch(str(block.get("id"))) or not ANTHROPIC_NAME.fullmatch(str(block.get("name"))):
            found.append(f"{where}: id or name does not match its pattern")
        if not isinstance(block.get("input"), dict):
            found.append(f"{where}: input should be a valid dictionary")
        if block.get("id") in seen:
            found.append(f"{where}: tool_use ids must be unique")
        seen.add(block.get("id"))
    elif kind == "tool_result":
        content = block.get("content")
        if role != "user":
            found.append(f"{where}: tool_result in a message of role {role}")
        if block.get("is_error") and not content:
            found.append(f"{where}: content cannot be empty if is_error is true")
        for part in content if isinstance(content, list) else []:
            if part.get("type") == "text" and not part.get("text"):
                found.append(f"{where}: text content blocks must be non-empty")
    return found


def anthropic_results(where, blocks, open_calls):
    results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
    found = []
    if sorted(map(str, results)) != sorted(map(str, open_calls)):
        found.append(f"{where}: results {results} for calls {open_calls}")
    kinds = [block.get("type") == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        found.append(f"{where}: tool_result blocks must come first")
    return found


# OpenAI's Chat Completions API.

def chat(body):
    found, open_calls = [], []
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    for index, message in enumerate(messages):
        where, role, content = f"messages[{index}]", message.get("role"), message.get("content")
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                found.append(f"{where}: a tool message must answer a preceding message with tool_calls")
            else:
                open_calls.remove(message["tool_call_id"])
        elif open_calls:
            found.append(f"{where}: tool_call_ids without response messages: {open_calls}")
            open_calls = []
        if role not in ("system", "developer", "user", "assistant", "tool"):
            found.append(f"{where}: role {role!r}")
        calls = message.get("tool_calls")
        if calls is not None:
            found += chat_calls(where, calls)
            open_calls = [call.get("id") for call in calls]
        if content is None and not (role == "assistant" and (calls or message.get("refusal"))):
            found.append(f"{where}: content is required")
        found += chat_parts(where, role, content)
    if open_calls:
        found.append(f"tool_call_ids without response messages: {open_calls}")
    return found


def chat_calls(where, calls):
    if not calls:
        return [f"{where}: tool_calls is an empty array"]
    found = []
    if len({call.get("id") for call in calls}) != len(calls):
        found.append(f"{where}: a tool_call id twice")
    for call in calls:
        function = call.get("function") or {}
        if not call.get("id") or len(call["id"]) > 40:
            found.append(f"{where}: a tool_call id has 1 to 40 characters")
        if not OPENAI_NAME.fullmatch(str(function.get("name"))) or not isinstance(function.get("arguments"), str):
            found.append(f"{where}: function name or arguments")
    return found


def chat_parts(where, role, content):
    if not isinstance(content, list):
        return []
    if not content:
        return [f"{where}: content is an empty array"]
    allowed = {"user": {"text", "image_url", "input_audio", "file"}, "assistant": {"text", "refusal"}}.get(role, {"text"})
    found = [f"{where}: a part of type {part.get('type')!r} in role {role}" for part in content if part.get("type") not in allowed]
    for part in content:
        if part.get("type") == "image_url" and not isinstance(part.get("image_url"), dict):
            found.append(f"{where}: image_url is an object")
        if part.get("type") == "text" and not isinstance(part.get("text"), str):
            found.append(f"{where}: text is a string")
    return found


# OpenAI's Responses API.

def responses(body):
    items = body.get("input")
    if isinstance(items, str):
        return []
    if not isinstance(items, list) or not items:
        return ["input: at least one item is required"]
    found, calls, answered = [], {}, set()
    for index, item in enumerate(items):
        where, kind = f"input[{index}]", item.get("type", "message")
        found += responses_item(where, kind, item)
        if kind in ("function_call", "custom_tool_call"):
            if item.get("call_id") in calls:
                found.append(f"{where}: call_id {item.get('call_id')!r} twice")
            calls[item.get("call_id")] = where
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item.get("call_id") not in calls:
                found.append(f"{where}: no tool call found for call_id {item.get('call_id')!r}")
            if item.get("call_id") in answered:
                found.append(f"{where}: a second output for {item.get('call_id')!r}")
            answered.add(item.get("call_id"))
        elif kind == "reasoning":
            follower = items[index + 1].get("type", "message") if index + 1 < len(items) else None
            role = items[index + 1].get("role") if follower == "message" else "assistant"
            if follower is None or follower.endswith("_output") or role != "assistant":
                found.append(f"{where}: reasoning was provided without its required following item")
            if body.get("store") is False and not item.get("encrypted_content"):
                found.append(f"{where}: items are not persisted when `store` is set to false")
    for call, where in calls.items():
        if call not in answered:
            found.append(f"{where}: no tool output found for call {call!r}")
    return found


def responses_item(where, kind, item):
    found, item_id = [], item.get("id")
    if item_id is not None:
        prefix = RESPONSES_IDS.get(kind)
        if len(str(item_id)) > 64:
            found.append(f"{where}: an id has at most 64 characters")
        if prefix and not str(item_id).startswith(prefix):
            found.append(f"{where}: an id of {kind} that does not begin with {prefix!r}: {item_id!r}")
    if kind == "reasoning" and not isinstance(item.get("summary"), list):
        found.append(f"{where}: summary is required")
    if kind == "function_call":
        if not OPENAI_NAME.fullmatch(str(item.get("name"))) or not isinstance(item.get("arguments"), str):
            found.append(f"{where}: name or arguments")
    if kind in ("function_call", "function_call_output") and not 1 <= len(str(item.get("call_id") or "")) <= 64:
        found.append(f"{where}: call_id has 1 to 64 characters")
    if kind == "function_call_output" and not isinstance(item.get("output"), (str, list)):
        found.append(f"{where}: output is required")
    if kind == "message":
        role, content = item.get("role"), item.get("content")
        if role not in ("user", "assistant", "system", "developer"):
            found.append(f"{where}: role {role!r}")
        allowed = {"output_text", "refusal"} if role == "assistant" else {"input_text", "input_image", "input_file"}
        for part in content if isinstance(content, list) else []:
            if part.get("type") not in allowed:
                found.append(f"{where}: a part of type {part.get('type')!r} in role {role}")
        if not content:
            found.append(f"{where}: content is required")
    return found


def size(body):
    """Tokens by the rule of thumb of four characters a token; pictures and ciphers count as none."""
    def letters(value):
        if isinstance(value, str):
            return len(value) if len(value) < 200_000 else 0
        if isinstance(value, list):
            return sum(map(letters, value))
        if isinstance(value, dict):
            return sum(len(key) + letters(one) for key, one in value.items() if key not in ("encrypted_content", "signature"))
        return len(json.dumps(value))
    return letters({key: body[key] for key in ("system", "instructions", "tools", "messages", "input") if key in body}) // 4
