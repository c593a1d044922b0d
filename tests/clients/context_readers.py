"""Gives rebuilt contexts to the published readers of every format: do they take them, and find every call in them?

    python3 -m venv /tmp/clients && /tmp/clients/bin/pip install openai anthropic openai-agents langchain-core \
        langchain-openai langchain-anthropic litellm 'pydantic-ai-slim[openai,anthropic]'
    CONTEXTD_CLIENTS_PYTHON=/tmp/clients/bin/python cargo test --test it client_readers -- --ignored --nocapture

Reads JSON lines `{"name", "format", "own", "messages"}` from standard input; `own`: the transcript came in this format,
so it may hold what only its provider knows. Prints a table of readers and what they refused, and ends with 1 where a
converted context was refused, with 3 where a package is missing.
"""

import json
import os
import sys
from collections import Counter, defaultdict

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENAI_API_KEY", "none")
os.environ.setdefault("ANTHROPIC_API_KEY", "none")

try:
    import anthropic.types
    import anthropic.types.beta
    import langchain_anthropic.chat_models as lc_anthropic
    import langchain_openai.chat_models.base as lc_openai
    import openai.types.chat
    import openai.types.responses
    from agents.models.chatcmpl_converter import Converter
    from langchain_core.messages import convert_to_messages
    from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt
    from litellm.llms.anthropic.experimental_pass_through.adapters.transformation import (
        LiteLLMAnthropicMessagesAdapter,
    )
    from litellm.responses.litellm_completion_transformation.transformation import (
        LiteLLMCompletionResponsesConfig,
    )
    from pydantic import TypeAdapter
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(3)


def walk(value):
    """Validation of an `Iterable` is put off until somebody iterates."""
    if isinstance(value, dict):
        for inner in value.values():
            walk(inner)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for inner in value:
            walk(inner)


def typed(item_type):
    adapter = TypeAdapter(item_type)

    def read(messages):
        for message in messages:
            walk(adapter.validate_python(message))

    return read


def calls_of(value):
    """The ids of the calls in an answer of a reader, whatever it is made of."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    found = []
    if isinstance(value, dict):
        # litellm takes a call for a server's by the beginning of its id.
        if value.get("type") in ("tool_use", "server_tool_use"):
            return [value["id"]]
        for call in value.get("tool_calls") or []:
            found.append(call["id"])
        if isinstance(value.get("content"), list):
            found += calls_of(value["content"])
    elif isinstance(value, (list, tuple)):
        for inner in value:
            found += calls_of(inner)
    return found


def given_calls(fmt, messages):
    if fmt == "openai_responses":
        return [item["call_id"] for item in messages if item.get("type") == "function_call"]
    return calls_of(messages)


# What a reader says it can't do, whoever made the context.
LIMITS = (
    "Only file_data or file_id is supported for input_file",  # openai-agents, towards Chat Completions
    "Anthropic requires at least one non-system message",  # litellm, of a context that is empty but for the system's
)


def converting(fmt, convert, renames=False):
    """A reader that gives messages back: every call has to be among them, under its id unless the reader renames."""

    def read(messages):
        found, given = calls_of(convert(messages)), given_calls(fmt, messages)
        lost = len(given) - len(found) if renames else set(given) - set(found)
        assert not lost, f"lost the calls {lost}"

    return read


def langchain_anthropic(messages):
    return lc_anthropic._format_messages(convert_to_messages(messages), model="claude-sonnet-4-5")[1]


def langchain_responses(messages):
    chat = Converter.items_to_messages(messages)
    return [lc_openai._convert_dict_to_message(message).model_dump() for message in chat]


def pydantic_chat(messages):
    model = OpenAIChatModel("gpt-4o", provider="openai")
    for message in messages:
        if message["role"] != "assistant":
            continue
        if isinstance(message.get("content"), list):  # requests may have parts where answers have a string
            message = {**message, "content": "\n".join(part.get("text", "") for part in message["content"])}
        answer = openai.types.chat.ChatCompletion.model_validate(
            {"id": "x", "object": "chat.completion", "created": 0, "model": "gpt-4o", "choices": [
                {"index": 0, "finish_reason": "stop", "message": message}]})
        read = model._process_response(answer)
        told = {part.tool_call_id for part in read.parts if part.part_kind == "tool-call"}
        lost = set(calls_of(message)) - told
        assert not lost, f"lost the calls {sorted(lost)[:3]}"


def pydantic_anthropic(messages):
    model = AnthropicModel("claude-sonnet-4-5", provider="anthropic")
    for message in messages:
        if message["role"] != "assistant":
            continue
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        answer = anthropic.types.beta.BetaMessage.model_validate(
            {"id": "x", "type": "message", "role": "assistant", "model": "x", "content": content,
             "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}})
        read = model._process_response(answer, ModelRequestParameters(), {})
        told = {part.tool_call_id for part in read.parts if part.part_kind == "tool-call"}
        lost = set(calls_of(message)) - told
        assert not lost, f"lost the calls {sorted(lost)[:3]}"


def pydantic_responses(messages):
    model = OpenAIResponsesModel("gpt-4o", provider="openai")
    output = [item for item in messages if item.get("type") in ("function_call", "custom_tool_call", "reasoning")]
    answer = openai.types.responses.Response.model_construct(
        id="x", created_at=0, model="gpt-4o", object="response", status="completed", usage=None, error=None,
        incomplete_details=None, conversation=None, previous_response_id=None, moderation=None, reasoning=None,
        output=[TypeAdapter(openai.types.responses.ResponseOutputItem).validate_python({"id": "x", **item})
                for item in output])
    read = model._process_response(answer, {}, ModelRequestParameters())
    told = {part.tool_call_id.split("|")[0] for part in read.parts if part.part_kind == "tool-call"}
    lost = set(given_calls("openai_responses", messages)) - told
    assert not lost, f"lost the calls {sorted(lost)[:3]}"


READERS = {
    "openai_chat": {
        "openai types": typed(openai.types.chat.ChatCompletionMessageParam),
        "langchain-core": converting("openai_chat", lambda m: [
            {"tool_calls": getattr(one, "tool_calls", []) + getattr(one, "invalid_tool_calls", [])}
            for one in convert_to_messages(m)]),
        "langchain-openai": converting("openai_chat", lambda m: [
            lc_openai._convert_message_to_dict(lc_openai._convert_dict_to_message(one)) for one in m]),
        "litellm to anthropic": converting("openai_chat", lambda m: anthropic_messages_pt(
            [dict(one) for one in m if one["role"] not in ("system", "developer")], "claude-sonnet-4-5", "anthropic"),
            renames=True),
        "pydantic-ai": pydantic_chat,
    },
    "anthropic": {
        "anthropic types": typed(anthropic.types.MessageParam),
        "anthropic beta types": typed(anthropic.types.beta.BetaMessageParam),
        "langchain-anthropic": converting("anthropic", langchain_anthropic),
        "litellm to chat": converting("anthropic", lambda m: (
            LiteLLMAnthropicMessagesAdapter().translate_anthropic_messages_to_openai(json.loads(json.dumps(m))))),
        "pydantic-ai": pydantic_anthropic,
    },
    "openai_responses": {
        "openai types": typed(openai.types.responses.ResponseInputItemParam),
        "openai-agents": converting("openai_responses", Converter.items_to_messages),
        "langchain-openai": converting("openai_responses", langchain_responses),
        "litellm to chat": converting("openai_responses", lambda m: (
            LiteLLMCompletionResponsesConfig.transform_responses_api_input_to_messages(json.loads(json.dumps(m)), {}))),
        "pydantic-ai": pydantic_responses,
    },
}


def main():
    taken, limited, refused, examples = Counter(), Counter(), Counter(), defaultdict(list)
    for line in sys.stdin:
        context = json.loads(line)
        for name, read in READERS.get(context["format"], {}).items():
            key = (context["format"], name, "own" if context["own"] else "converted")
            try:
                read(context["messages"])
                taken[key] += 1
            except Exception as error:  # a reader may fail in any way: that is what is counted
                if any(limit in str(error) for limit in LIMITS):
                    limited[key] += 1
                    continue
                refused[key] += 1
                examples[key].append(f"{context['name']}: {type(error).__name__}: {str(error)[:300]}")
    for key in sorted({*taken, *limited, *refused}):
        counts = f"{taken[key]:5} taken {limited[key]:5} beyond the reader {refused[key]:5} refused"
        print(f"{key[0]:17} {key[1]:22} {key[2]:10} {counts}")
        for example in examples[key][: int(os.environ.get("EXAMPLES", "2"))]:
            print(f"    {example}")
    sys.exit(1 if any(key[2] == "converted" for key in refused) else 0)


main()
