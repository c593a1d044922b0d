"""Asks a played provider through the proxy with the published SDKs.

    python3 -m venv /tmp/clients && /tmp/clients/bin/pip install openai anthropic
    CONTEXTD_CLIENTS_PYTHON=/tmp/clients/bin/python cargo test --test it proxy::sdks -- --ignored --nocapture

Arguments: the provider's root, the service's, and what to do. `compare` asks the same questions directly and through the
proxy, and ends with 1 where an SDK reads another answer; `converse` has a long conversation by each API.
"""

import sys

import anthropic
import openai

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}
TURNS = 24


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
    answer = chat.chat.completions.create(model="gpt-5", messages=messages, stream=stream)
    if stream:
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    return answer.choices[0].message.content


def by_responses(chat, _, messages, stream):
    answer = chat.responses.create(model="gpt-5", input=messages, store=False, stream=stream)
    if stream:
        return "".join(event.delta for event in answer if event.type == "response.output_text.delta")
    return answer.output_text


def by_messages(_, claude, messages, stream):
    answer = claude.messages.create(model="claude-sonnet-4-5", max_tokens=99, messages=messages, stream=stream)
    if stream:
        return "".join(event.delta.text for event in answer if event.type == "content_block_delta")
    return answer.content[0].text


def converse(_, service):
    for ask in (by_chat, by_responses, by_messages):
        both = clients(f"{service}/openai/v1", f"{service}/anthropic", ask.__name__)
        messages = []
        for turn in range(TURNS):
            fact = " The release is called KESTREL-7 and must ship before 2031-04-05." if turn == 1 else ""
            text = f"Question {turn}: what does src/module{turn}.ts export?{fact}" + " It was long ago." * 60
            messages.append({"role": "user", "content": text})
            answer = ask(*both, messages, stream=turn % 2 == 1)
            assert answer, (ask.__name__, turn)
            messages.append({"role": "assistant", "content": answer})
        print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {TURNS} turns {ask.__name__}")


{"compare": compare, "converse": converse}[sys.argv[3]](*sys.argv[1:3])
