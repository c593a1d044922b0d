"""Bodies that are legal and cost much: n calls, results, parts or items, in each format."""
import json

FORMATS = ("openai_chat", "openai_responses", "anthropic", "gemini", "native", "pi")


def user(form, text="go"):
    if form == "openai_responses":
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    if form == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    if form == "pi":
        return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 1}}
    return {"role": "user", "content": text}


def call(form, name, value="{}"):
    if form == "openai_chat":
        return {"id": name, "type": "function", "function": {"name": "f", "arguments": value}}
    if form == "openai_responses":
        return {"type": "function_call", "call_id": name, "name": "f", "arguments": value}
    if form == "anthropic":
        return {"type": "tool_use", "id": name, "name": "f", "input": {}}
    if form == "gemini":
        return {"functionCall": {"name": "f", "args": {}}}
    if form == "pi":
        return {"type": "toolCall", "id": name, "name": "f", "arguments": {}}
    return {"type": "tool_call", "id": name, "name": "f", "arguments": {}}


def message(form, parts):
    """One answer of the agent's; in Responses each part is an item of its own."""
    if form == "openai_responses":
        return parts
    if form == "openai_chat":
        return [{"role": "assistant", "content": None, "tool_calls": parts}]
    if form == "gemini":
        return [{"role": "model", "parts": parts}]
    if form == "pi":
        inner = {"role": "assistant", "content": parts, "provider": "x", "model": "m", "api": "x", "timestamp": 1,
                 "stopReason": "toolUse", "usage": {}}
        return [{"type": "message", "message": inner}]
    return [{"role": "assistant", "content": parts}]


def results(form, names):
    if form == "openai_chat":
        return [{"role": "tool", "tool_call_id": name, "content": "1"} for name in names]
    if form == "openai_responses":
        return [{"type": "function_call_output", "call_id": name, "output": "1"} for name in names]
    if form == "anthropic":
        return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "1"}
                                             for name in names]}]
    if form == "gemini":
        return [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}} for _ in names]}]
    if form == "pi":
        return [{"type": "message", "message": {"role": "toolResult", "toolCallId": name, "toolName": "f",
                                                "content": [{"type": "text", "text": "1"}], "isError": False,
                                                "timestamp": 1}} for name in names]
    return [{"role": "tool", "content": [{"type": "tool_result", "tool_call_id": name, "content": "1"}
                                         for name in names]}]


def names(n):
    return [f"c{index}" for index in range(n)]


def text_part(form, text):
    if form == "openai_responses":
        return {"type": "input_text", "text": text}
    return {"text": text} if form == "gemini" else {"type": "text", "text": text}


def said(form, parts, role="user"):
    if form == "openai_responses":
        return {"type": "message", "role": role, "content": parts}
    if form == "gemini":
        return {"role": "user" if role == "user" else "model", "parts": parts}
    if form == "pi":
        return {"type": "message", "message": {"role": role, "content": parts, "timestamp": 1}}
    return {"role": role, "content": parts}


def calls(form, n):
    return [user(form), *message(form, [call(form, name) for name in names(n)])]


def answered(form, n):
    return calls(form, n) + results(form, names(n))


def answered_backwards(form, n):
    return calls(form, n) + results(form, names(n)[::-1])


def one_id(form, n):
    return [user(form), *message(form, [call(form, "c") for _ in range(n)]), *results(form, ["c"] * n)]


def orphans(form, n):
    return [user(form), *results(form, names(n))]


def turns(form, n):
    items = []
    for index in range(n):
        items += [user(form, f"go {index}"), *message(form, [call(form, f"c{index}")]), *results(form, [f"c{index}"])]
    return items


def turns_one_id(form, n):
    items = []
    for index in range(n):
        items += [user(form, f"go {index}"), *message(form, [call(form, "c")]), *results(form, ["c"])]
    return items


def never_answered(form, n):
    items = []
    for index in range(n):
        items += [*message(form, [call(form, f"c{index}")]), user(form, f"go {index}")]
    return items


def results_far_off(form, n):
    return never_answered(form, n) + results(form, names(n))


def answers_in_a_row(form, n):
    items = [user(form)]
    for index in range(n):
        items += message(form, [call(form, f"c{index}")])
    return items + results(form, names(n))


def texts(form, n):
    return [said(form, [text_part(form, f"word {index}") for index in range(n)])]


def blank_texts(form, n):
    return [said(form, [text_part(form, "") for _ in range(n)]), user(form)]


def unknown_parts(form, n):
    return [said(form, [{"type": "mystery", "n": index} for index in range(n)]), user(form)]


def broken_parts(form, n):
    return [said(form, [index for index in range(n)]), user(form)]


def broken_calls(form, n):
    bad = [call(form, f"c{index}") | {"function": 1, "name": 7, "functionCall": 3} for index in range(n)]
    return [user(form), *message(form, bad)]


def one_user(form, n):
    return [user(form, "same") for _ in range(n)]


def blank_users(form, n):
    return [user(form, "") for _ in range(n)]


def strange_roles(form, n):
    item = said(form, [text_part(form, "x")], role="nobody")
    return [item for _ in range(n)] if form != "gemini" else [item | {"role": "nobody"} for _ in range(n)]


def no_items(form, n):
    return [{"role": 3, "n": index} for index in range(n)]


def fields(form, n):
    item = user(form)
    item.update({f"field{index}": index for index in range(n)})
    return [item]


def fields_and_parts(form, n):
    item = said(form, [index for index in range(n)])
    item.update({f"field{index}": index for index in range(n)})
    return [item]


def thinking(form, n):
    parts = {"anthropic": {"type": "thinking", "thinking": "x", "signature": "s"},
             "gemini": {"text": "x", "thought": True},
             "pi": {"type": "thinking", "thinking": "x", "thinkingSignature": "s"},
             "native": {"type": "thinking", "text": "x"},
             "openai_chat": {"type": "text", "text": "<think>x</think>"}}
    if form == "openai_responses":
        return [user(form)] + [{"type": "reasoning", "id": f"rs_{index}", "summary": []} for index in range(n)]
    return [user(form), said(form, [parts[form]] * n, role="assistant"), user(form)]


def server_tools(form, n):
    if form != "anthropic":
        return []
    parts = []
    for index in range(n):
        parts += [{"type": "server_tool_use", "id": f"srvtoolu_{index}", "name": "web_search", "input": {}},
                  {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{index}", "content": []}]
    return [user(form), said(form, parts, role="assistant"), user(form)]


def lone_server_tools(form, n):
    if form != "anthropic":
        return []
    parts = [{"type": "server_tool_use", "id": f"srvtoolu_{index}", "name": "web_search", "input": {}}
             for index in range(n)]
    return [user(form), said(form, parts, role="assistant"), user(form)]


def item_ids(form, n):
    if form != "openai_responses":
        return []
    return [user(form) | {"id": "msg_1"} for _ in range(n)]


def tags(form, n):
    return [user(form, "<system-reminder>" * n)]


def a_tree(form, n):
    if form != "pi":
        return []
    items = [{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}]
    for index in range(n):
        parent = None if index == 0 else f"e{index - 1 if index % 2 else max(0, index - 2)}"
        items.append(user(form, f"go {index}") | {"id": f"e{index}", "parentId": parent,
                                                  "timestamp": "2026-01-01T00:00:00Z"})
    return items


def bad_tool_names(form, n):
    parts = []
    for index in range(n):
        part = json.loads(json.dumps(call(form, f"c{index}")).replace('"f"', f'"no name {index}!"'))
        parts.append(part)
    return [user(form), *message(form, parts)]


def bad_ids(form, n):
    return [user(form), *message(form, [call(form, f"c {index} !") for index in range(n)]),
            *results(form, [f"c {index} !" for index in range(n)])]


def mixed_results(form, n):
    items = calls(form, n)
    if form == "anthropic":
        for name in names(n):
            items.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "1"},
                                                      {"type": "text", "text": "and"}]})
    elif form == "native":
        for name in names(n):
            items.append({"role": "user", "content": [{"type": "tool_result", "tool_call_id": name, "content": "1"},
                                                      {"type": "text", "text": "and"}]})
    else:
        for name in names(n):
            items += [*results(form, [name]), user(form, "and")]
    return items


SHAPES = [calls, answered, answered_backwards, one_id, orphans, turns, turns_one_id, never_answered, results_far_off,
          answers_in_a_row, texts, blank_texts, unknown_parts, broken_parts, broken_calls, one_user, blank_users,
          strange_roles, no_items, fields, fields_and_parts, thinking, server_tools, lone_server_tools, item_ids, tags,
          a_tree, bad_tool_names, bad_ids, mixed_results]
