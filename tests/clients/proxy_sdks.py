"""Asks a played provider the same questions directly and through the proxy, with the published SDKs.

    python3 -m venv /tmp/clients && /tmp/clients/bin/pip install openai anthropic
    CONTEXTD_CLIENTS_PYTHON=/tmp/clients/bin/python cargo test --test it proxy::sdks -- --ignored --nocapture

Arguments: the provider's root, then the service's. Ends with 1 where an SDK reads another answer through the proxy.
"""

import sys

import anthropic
import openai

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}


def said(openai_url, anthropic_url):
    """What each SDK makes of the answers, streamed and whole."""
    headers = {"contextd-session": "sdk"}
    chat = openai.OpenAI(base_url=openai_url, api_key="sk-client", max_retries=0, default_headers=headers)
    claude = anthropic.Anthropic(base_url=anthropic_url, api_key="sk-client", max_retries=0, default_headers=headers)
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


def main(provider, service):
    direct = list(said(f"{provider}/v1", provider))
    through = list(said(f"{service}/openai/v1", f"{service}/anthropic"))
    for number, (one, other) in enumerate(zip(direct, through, strict=True)):
        if one != other:
            sys.exit(f"question {number}: {one} is not {other}")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {len(direct)} questions, all answers equal")


main(*sys.argv[1:])
