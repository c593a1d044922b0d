"""Files of a folder, as agents write them, and contexts for readers."""

import gzip
import json
from dataclasses import replace

import pytest

from survival import files, made_up, reading, transcripts
from survival.participants import Everything, Nothing
from survival.transcripts import Message, Transcript

from test_parts import CALL, SESSIONS

ARGUMENTS = json.loads(CALL["function"]["arguments"])
WRITTEN = {
    "claude-code": [
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "list it"}},
        {"type": "assistant", "uuid": "2", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": ARGUMENTS}]}},
        {"type": "assistant", "uuid": "s", "isSidechain": True, "message": {"role": "assistant", "content": "aside"}},
        {"type": "user", "uuid": "3", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a b"}]}},
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "x"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "list it"}},
        *({"type": "response_item", "payload": item} for item in SESSIONS["openai-responses"]),
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "list it"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "bash", "args": ARGUMENTS}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a b"}}}]},
    ],
    "native": [
        {"role": "user", "content": [{"type": "text", "text": "list it"}]},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "bash", "arguments": ARGUMENTS}]},
        {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "a b"}]},
    ],
    **SESSIONS,
}
SAID = [
    {"role": "user", "content": "list it"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a b"},
]


def read(folder):
    return [transcripts.read_session(session) for session in files.sessions_in(folder)]


@pytest.mark.parametrize("form", WRITTEN)
def test_a_file_of_every_format_is_known_by_its_items(form, tmp_path):
    lines = "\n".join(map(json.dumps, WRITTEN[form]))
    (tmp_path / "lines.jsonl").write_text(lines + '\n{"cut o')
    (tmp_path / "whole.json").write_text(json.dumps(WRITTEN[form], indent=1))
    with gzip.open(tmp_path / "packed.jsonl.gz", "wt") as packed:
        packed.write(lines)
    found = read(tmp_path)
    assert [t.name for t in found] == ["lines", "packed", "whole"]
    assert [[m.chat for m in t.messages] for t in found] == [SAID] * 3


def test_a_request_and_lines_of_the_corpus_are_sessions_too(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"model": "m", "system": "be kind", "messages": WRITTEN["anthropic-messages"]}, indent=2))
    (tmp_path / "b.jsonl").write_text(json.dumps({"source": "s", "session_id": "n", "format": "openai-chat", "system": None, "messages": SESSIONS["openai-chat"]}))
    (tmp_path / "c.json").write_text('{"nothing": "of a conversation"}')
    found = read(tmp_path)
    assert [(t.source, t.name, t.system) for t in found] == [(tmp_path.name, "a", "be kind"), ("s", "n", "be kind")]
    assert all([m.chat for m in t.messages] == SAID for t in found)


def test_a_folder_without_files_is_searched_to_its_bottom(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "one.jsonl").write_text("\n".join(map(json.dumps, WRITTEN["claude-code"])))
    assert [t.name for t in read(tmp_path)] == ["project/one"]


def test_calls_without_ids_and_names_of_who_speaks_are_kept():
    items = [
        {"role": "user", "name": "Jonas", "content": "look"},
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
    ]
    told = transcripts.read_session({"source": "s", "session_id": "n", "format": "openai-chat", "messages": items}).messages
    assert told[0].chat["name"] == "Jonas"
    assert told[2].chat == {"role": "tool", "tool_call_id": "call_1", "content": "seen"} and told[1].chat["tool_calls"][0]["id"] == "call_1"


def long_one():
    return transcripts.read_session(made_up.sessions()[0])


def test_a_reading_is_taken_behind_the_middle_and_the_cut_is_marked(tmp_path):
    whole = long_one()
    taken = reading.read(Nothing(), whole)
    sizes = reading.size(whole.messages[: taken.cut]) / reading.size(whole.messages)
    assert reading.MIDDLE <= sizes <= 0.95 and taken.window >= reading.LEAST
    about = reading.write(tmp_path, 1, taken)
    marked = (tmp_path / "01-made-up" / "transcript.txt").read_text()
    before, after = marked.split("THE CUT")
    assert f"--- {taken.cut - 1} " in before and f"--- {taken.cut} " in after
    assert after.count("\n--- ") == min(reading.FUTURE, len(whole.messages) - taken.cut) and about["cut"] == taken.cut


def test_a_context_is_written_as_it_is_and_says_nothing_of_the_session(tmp_path):
    taken = reading.read(Everything(), long_one())
    reading.write(tmp_path, 1, taken)
    context = (tmp_path / "01-made-up" / "context.txt").read_text()
    assert "THE CUT" not in context and taken.transcript.name not in context.splitlines()[0]
    assert all(m.chat["content"] in context for m in taken.transcript.messages[: taken.cut] if m.chat["content"])
    assert all(m.chat["tool_calls"][0]["function"]["arguments"] in context for m in taken.transcript.messages[: taken.cut] if m.chat.get("tool_calls"))


def test_short_sessions_of_one_source_are_strung_together():
    whole = long_one()
    pieces = [Transcript("desk", f"p{n}", "", whole.messages[:12]) for n in range(40)]
    alone = replace(whole, source="alone")
    ready = reading.strung([alone, *pieces])
    assert ready[0] is alone and len(ready) > 1 and all(reading.size(t.messages) >= reading.ALONE for t in ready)
    ids = [m.chat["tool_call_id"] for m in ready[1].messages if m.role == "tool"]
    assert len(set(ids)) == len(ids)
    assert [m.origin for m in ready[1].messages] == list(range(len(ready[1].messages)))
    assert reading.strung([Transcript("few", "p", "", [Message({"role": "user", "content": "hello"})])]) == []
