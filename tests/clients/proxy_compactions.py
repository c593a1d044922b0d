"""Asks for the providers' own compactions through the proxy, with the published SDKs and their types.

    CONTEXTD_CLIENTS_PYTHON=/tmp/clients/bin/python cargo test --test it proxy::sdks -- --ignored --nocapture

Argument: the service's root. Ends with 1 where an SDK does not understand an answer.
"""

import sys

import anthropic
import openai
from anthropic.types.beta import BetaMessage
from openai.types.responses import Response

BETAS = ["compact-2026-01-12", "context-management-2025-06-27"]
LONG = "The parser keeps its tables in src/tables.rs, and ticket ABC-7 asks for them to be smaller. " * 40


def strictly(model, answer):
    """The answer, once its type has taken it without leave."""
    return model.model_validate(answer.to_dict(), strict=False)


def triggered(client, stream):
    items = [{"role": "user", "content": "Keep ABC-7 in mind."}, {"role": "assistant", "content": LONG},
             {"type": "compaction_trigger"}]
    asked = {"model": "gpt-5", "input": items, "store": False}
    if not stream:
        response = client.responses.create(**asked)
    else:
        events = list(client.responses.create(**asked, stream=True))
        done = [event for event in events if event.type == "response.output_item.done"]
        assert len(done) == 1 and done[0].item.type == "compaction", events
        response = events[-1].response
    [item] = strictly(Response, response).output
    assert item.type == "compaction" and response.usage.total_tokens > 0, response
    client.responses.create(model="gpt-5", input=[item.to_dict(), {"role": "user", "content": "go on"}], store=False)


def summed_up(client, stream, **asked):
    messages = [{"role": "user", "content": "Keep ABC-7 in mind."}, {"role": "assistant", "content": LONG},
                {"role": "user", "content": "What next?"}]
    asked = {"model": "claude-opus-4-6", "max_tokens": 99, "messages": messages, "betas": BETAS, **asked}
    if stream:
        with client.beta.messages.stream(**asked) as events:
            message = events.get_final_message()
    else:
        message = client.beta.messages.create(**asked)
    message = strictly(BetaMessage, message)
    assert message.content[0].type == "compaction" and "ABC-7" in message.content[0].content, message
    assert message.usage.iterations[0].type == "compaction", message
    return message


def main(service):
    headers = {"contextd-session": "compactions"}
    gpt = openai.OpenAI(base_url=f"{service}/openai/v1", api_key="sk", max_retries=0, default_headers=headers)
    claude = anthropic.Anthropic(base_url=f"{service}/anthropic", api_key="sk", max_retries=0, default_headers=headers)
    compact = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50}}
    for stream in (False, True):
        triggered(gpt, stream)
        alone = summed_up(claude, stream, compaction={"type": "summarize"}) if not stream else None
        assert alone is None or alone.stop_reason == "compaction"
        paused = {"edits": [{**compact, "pause_after_compaction": True}]}
        assert summed_up(claude, stream, context_management=paused).stop_reason == "compaction"
        message = summed_up(claude, stream, context_management={"edits": [compact]})
        assert [block.type for block in message.content] == ["compaction", "text"], message
        assert [one.type for one in message.usage.iterations] == ["compaction", "message"], message
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: compactions understood")


main(*sys.argv[1:])
