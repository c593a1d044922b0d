"""What every driver of a peer in Python shares: a request a line on standard input, an answer a line on standard output.

A driver gives `serve` a class: `Session(model_url, **options)` with `version`, `start(system, window)`, `compact(messages)` (the
new messages; gives the context, without the system prompt, as chat messages) and, where the peer offers one,
`recover(cue, context)`. Only the standard library is used here.
"""

import json
import os
import sys
import traceback


def serve(session_class):
    # Whatever a library prints must not get between the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = None
    for line in sys.stdin:
        request = json.loads(line)
        operation = request.pop("do")
        try:
            if operation == "hello":
                session = session_class(**request)
                answer = {"version": session.version}
            elif operation == "start":
                session.start(request["system"], request["window"])
                answer = {}
            elif operation == "compact":
                answer = {"messages": session.compact(request["messages"])}
            elif operation == "recover":
                answer = {"text": session.recover(request["cue"], request["context"])}
            else:
                answer = {}
        except Exception as error:  # noqa: BLE001 told to the caller, who writes it down
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
        out.write(json.dumps(answer) + "\n")
        out.flush()


def text_of(content):
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def arguments_of(call):
    try:
        value = json.loads(call["function"]["arguments"] or "{}")
    except ValueError:
        return {"text": call["function"]["arguments"]}
    return value if isinstance(value, dict) else {"value": value}


def chat_call(identifier, name, arguments):
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}
