"""One turn with a Python client that was generated from the OpenAPI document. See `generated_python.sh`.

    PYTHONPATH=<where the client was generated> python tests/clients/python_client.py http://127.0.0.1:8080 [KEY]
"""

import sys
import time

from contextd_client import AuthenticatedClient, Client
from contextd_client.api.compactions import compact_session
from contextd_client.api.context import rebuild_context
from contextd_client.api.entries import append_entries, list_entries
from contextd_client.api.sessions import create_session, get_snapshot, update_session
from contextd_client.models import (
    AppendEntries,
    CompactSession,
    CreateSession,
    Format,
    Problem,
    RebuildContext,
    SettingsPatch,
    Strategy,
    UpdateSession,
)

base = sys.argv[1].rstrip("/")
client = AuthenticatedClient(base_url=base, token=sys.argv[2]) if len(sys.argv) > 2 else Client(base_url=base)
started = time.monotonic()


def need(answer, what):
    assert answer is not None and not isinstance(answer, Problem), f"{what}: {answer}"
    return answer


settings = SettingsPatch(context_window=32_000, reserve_tokens=4_000, keep_recent_tokens=200, keep_recent_results=0)
session = need(create_session.sync(client=client, body=CreateSession(title="A generated client", settings=settings)), "create")
sid = session.id
assert session.settings.context_window == 32_000

items = [
    {"role": "user", "content": "List the files in src."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "main.rs\nparser.rs\n" + "a line of output\n" * 500},
    {"role": "assistant", "content": "There are main.rs and parser.rs."},
]
body = AppendEntries.from_dict({"format": "openai_chat", "items": items, "return_context": "openai_chat"})
assert body.to_dict()["items"] == items, "items go out as they were given"
appended = need(append_entries.sync(sid, client=client, body=body), "append")
assert len(appended.entries) == 4
assert [message.to_dict() for message in appended.context.messages] == items, "the context comes back as it was"

done = need(compact_session.sync(sid, client=client, body=CompactSession(strategy=Strategy.MASK, wait=30.0)), "compact")
assert done.status.value == "succeeded", done
context = need(rebuild_context.sync(sid, client=client, body=RebuildContext(format_=Format.ANTHROPIC)), "rebuild")
assert context.messages and context.tokens > 0
page = need(list_entries.sync(sid, client=client, limit=2), "entries")
assert len(page.items) == 2 and page.next_cursor
snapshot = need(get_snapshot.sync(sid, client=client), "snapshot")
assert snapshot.window == 32_000

refused = update_session.sync(sid, client=client, body=UpdateSession.from_dict({"settings": {"upstream": "nobody"}}))
assert isinstance(refused, Problem) and refused.code == "validation_failed", refused
assert refused.errors[0].pointer == "/settings/upstream"
print(f"python: a turn, a compaction ({done.status.value}) and a refusal in {time.monotonic() - started:.2f} s")
