"""Asks a played provider through the proxy with the published SDKs.

    python3 -m venv /tmp/clients && /tmp/clients/bin/pip install openai anthropic
    CONTEXTD_CLIENTS_PYTHON=/tmp/clients/bin/python cargo test --test it proxy::sdks -- --ignored --nocapture

Arguments: the provider's root, the service's, and what to do. `compare` asks the same questions directly and through the
proxy, and ends with 1 where an SDK reads another answer; `converse` has a conversation by each API, of the turns in the
file that is named behind it: what the user says, what the tool gives if the model calls it, and whether it is streamed.
"""

import json
import sys
from pathlib import Path

import anthropic
import openai

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}


def clients(openai_url, anthropic_url, session):
    options = {"api_key": "sk-client", "max_retries": 0, "default_headers": {"contextd-session": session}}
    return openai.OpenAI(base_url=openai_url, **options), anthropic.Anthropic(base_url=anthropic_url, **options)


def said(openai_url, anthropic_url):
    """What each SDK makes of the answers, streamed and whole."""
    chat, claude = clients(openai_url, anthropic_url, "sdk")
    messages = [{"role": "user", "content": "héllo"}]
    tool = {"type": "function", "function": {"name": "read", "parameters": TOOL}}
    asked = {"model": "gpt-5", "messages": messages, "tools": [tool]}
    yield chat.chat.completions.create(**asked).to_dict()
    yield [chunk.to_dict() for chunk in chat.chat.completions.create(**asked, stream=True)]
    asked = {"model": "gpt-5", "input": "héllo", "instructions": "Be brief.", "store": False}
    yield chat.responses.create(**asked).to_dict()
    yield [event.to_dict() for event in chat.responses.create(**asked, stream=True)]
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages, "system": "Be brief."}
    yield claude.messages.create(**asked).to_dict()
    yield [event.to_dict() for event in claude.messages.create(**asked, stream=True)]
    yield claude.messages.count_tokens(model="claude-sonnet-4-5", messages=messages).to_dict()
    yield [model.id for model in chat.models.list()]


def compare(provider, service):
    direct = list(said(f"{provider}/v1", provider))
    through = list(said(f"{service}/openai/v1", f"{service}/anthropic"))
    for number, (one, other) in enumerate(zip(direct, through, strict=True)):
        if one != other:
            sys.exit(f"question {number}: {one} is not {other}")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {len(direct)} questions, all answers equal")


def by_chat(chat, _, messages, stream):
    asked = {"model": "gpt-5", "messages": messages}
    if stream:
        with chat.chat.completions.stream(**asked, stream_options={"include_usage": True}) as answer:
            said = answer.get_final_completion().choices[0].message
    else:
        said = chat.chat.completions.create(**asked).choices[0].message
    item = {"role": "assistant", "content": said.content}
    if not said.tool_calls:
        return [item], None
    [call] = said.tool_calls
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return [{**item, "tool_calls": [{"id": call.id, "type": "function", "function": function}]}], call.id


def by_responses(chat, _, items, stream):
    asked = {"model": "gpt-5", "input": items, "store": False}
    if stream:
        with chat.responses.stream(**asked) as answer:
            [said] = answer.get_final_response().output
    else:
        [said] = chat.responses.create(**asked).output
    item = said.model_dump(exclude_none=True, exclude={"parsed_arguments": True, "content": {"__all__": {"parsed"}}})
    return [item], getattr(said, "call_id", None)


def by_messages(_, claude, messages, stream):
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages}
    if stream:
        with claude.messages.stream(**asked) as answer:
            [said] = answer.get_final_message().content
    else:
        [said] = claude.messages.create(**asked).content
    block = (
        {"type": "text", "text": said.text}
        if said.type == "text"
        else said.model_dump(include={"type", "id", "name", "input"})
    )
    return [{"role": "assistant", "content": [block]}], said.id if said.type == "tool_use" else None


def chat_result(call, text):
    return {"role": "tool", "tool_call_id": call, "content": text}


def responses_result(call, text):
    return {"type": "function_call_output", "call_id": call, "output": text}


def messages_result(call, text):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}


APIS = {
    "chat": (by_chat, chat_result),
    "responses": (by_responses, responses_result),
    "messages": (by_messages, messages_result),
}


def converse(_, service, plan):
    for name, (ask, result) in APIS.items():
        both = clients(f"{service}/openai/v1", f"{service}/anthropic", name)
        items = []
        for turn in json.loads(Path(plan).read_text()):
            items.append({"role": "user", "content": turn["text"]})
            answer, call = ask(*both, items, turn["stream"])
            items += answer
            assert (call is None) == (turn["result"] is None), (name, turn, answer)
            if call is not None:
                items.append(result(call, turn["result"]))
                answer, call = ask(*both, items, turn["stream"])
                assert call is None, answer
                items += answer
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: conversations by {', '.join(APIS)}")


provider, service, task, *more = sys.argv[1:]
{"compare": compare, "converse": converse}[task](provider, service, *more)
