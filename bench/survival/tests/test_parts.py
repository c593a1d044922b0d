"""Readers, labels, the played model, the protocol of peers, tables."""

import hashlib
import json
import sys
import urllib.request

import pytest

from survival import labels, memory_sets, report, transcripts
from survival.participants import Peer
from survival.played import Played, extract
from survival.text import count

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
SESSIONS = {
    "openai-chat": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "list it"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a b"},
        {"role": "tool", "tool_call_id": "gone", "content": "nobody asked"},
    ],
    "anthropic-messages": [
        {"role": "user", "content": "list it"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a b"}]}]},
    ],
    "pi-jsonl": [
        {"type": "session", "id": "s"},
        {"type": "message", "message": {"role": "user", "content": "list it"}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}]}},
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "a b"}]}},
    ],
    "openai-responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list it"}]},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a b"},
    ],
}


@pytest.mark.parametrize("form", SESSIONS)
def test_every_format_says_the_same(form):
    read = transcripts.read_session({"source": "s", "session_id": "n", "format": form, "messages": SESSIONS[form], "system": None})
    assert [m.chat for m in read.messages] == [
        {"role": "user", "content": "list it"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a b"},
    ]


def test_a_call_without_a_result_gets_one():
    read = transcripts.paired([transcripts.assistant(None, [CALL], 0)])
    assert [m.role for m in read] == ["assistant", "tool"]


def test_labels_hold_no_text_and_fit_their_words():
    words = "never push on a friday"
    transcript = transcripts.Transcript("s", "n", "", [transcripts.user(f"Well, {words}!", 0)])
    label = {"message": 0, "start": 6, "length": len(words), "sha256": hashlib.sha256(words.encode()).hexdigest()[:12], "kind": "constraint", "rule": "r"}
    asked, unknown = labels.constraints(transcript, transcript.messages, {"s/n": [label]})
    assert ([q.answer for q in asked], unknown) == ([words], 0)
    assert labels.constraints(transcript, [], {"s/n": [label]}) == ([], 0)
    assert labels.constraints(transcript, transcript.messages, {"s/n": [label | {"start": 5}]}) == ([], 1)
    for marked in labels.read().values():
        for known in marked:
            assert set(known) == {"message", "start", "length", "sha256", "kind", "rule"}
            assert known["kind"] in ("constraint", "correction") and len(known["rule"]) < 30 and " " not in known["rule"]


PROMPT = [
    {"role": "system", "content": "You summarise conversations. Keep every secret word."},
    {
        "role": "user",
        "content": "<conversation>\n[User]: Never touch the folder vault/zinc.\n[Assistant]: I fixed src/core/main.rs because it failed.\n"
        + "[Tool result]: a line of little worth to anybody\n" * 40
        + "</conversation>\n\nWrite it down.\n\n## Goal\n[the goal]\n\n## Constraints & Preferences\n- [rules]\n\n## Next Steps\n",
    },
]


def test_the_played_model_extracts_and_does_not_obey():
    said = extract(PROMPT, 400)
    assert said == extract(PROMPT, 400)
    assert said.index("## Goal") < said.index("## Constraints & Preferences") < said.index("vault/zinc") < said.index("## Next Steps")
    assert "secret word" not in said and "Write it down" not in said
    assert count(extract(PROMPT, 60)) <= 60


def test_the_played_model_reads_printed_messages_too():
    printed = str([{"role": "tool", "content": "nothing of worth here\n" * 9}, {"role": "user", "content": "Keep the cache in /var/zinc.\nThanks"}])
    said = extract([{"role": "user", "content": f"Summarise it. {printed}"}], 80)
    assert "- Keep the cache in /var/zinc." in said.splitlines()


@pytest.mark.parametrize("stream", [False, True])
def test_the_played_model_is_served_and_bills(stream):
    played = Played()
    try:
        body = json.dumps({"model": "played", "messages": PROMPT, "max_tokens": 200, "stream": stream}).encode()
        request = urllib.request.Request(f"{played.url('me')}/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            text = answer.read().decode()
        assert "vault/zinc" in text and ("data: [DONE]" in text) == stream
        bill = played.bill("me").take()
        assert bill["calls"] == 1 and bill["input_tokens"] > 300 and 20 < bill["output_tokens"] <= 200
        assert played.bill("me").take()["calls"] == 0
    finally:
        played.stop()


DRIVER = """
import sys
sys.path.insert(0, {peers!r})
from line import serve
class Session:
    version = "1"
    def __init__(self, model_url): print("noise")
    def start(self, system, window): self.kept = []
    def compact(self, messages):
        if messages and messages[0]["content"] == "break": raise ValueError("broken")
        self.kept = (self.kept + messages)[-1:]
        return self.kept
serve(Session)
"""


def test_a_peer_is_driven_line_by_line(tmp_path):
    from survival.peers import HERE

    (tmp_path / "driver.py").write_text(DRIVER.format(peers=str(HERE / "peers")))
    peer = Peer("last", [sys.executable, str(tmp_path / "driver.py")], "http://127.0.0.1:9/v1")
    peer.start(transcripts.Transcript("s", "n", "be kind", []), 4_000)
    peer.append([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])
    peer.compact()
    assert peer.context() == [{"role": "system", "content": "be kind"}, {"role": "user", "content": "two"}]
    peer.append([{"role": "user", "content": "break"}])
    with pytest.raises(RuntimeError, match="broken"):
        peer.compact()
    peer.stop()


def test_locomo_asks_for_its_evidence(tmp_path):
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I moved to Lisbon in May."}, {"speaker": "Bo", "dia_id": "D1:2", "text": "How nice!"}]
    conversation = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1": turns, "session_1_date_time": "1 June"}
    qa = [{"question": "Where did Ann move?", "answer": "Lisbon", "evidence": ["D1:1", "D9:9"], "category": 1}]
    (tmp_path / "locomo10.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": qa}]))
    (read,) = memory_sets.locomo(tmp_path)
    assert [m.role for m in read.messages] == ["user", "assistant"]
    assert [(q.kind, q.answer, q.about) for q in read.questions] == [("evidence", "I moved to Lisbon in May.", ("D1:1",))]


def test_beam_asks_three_kinds(tmp_path):
    folder = tmp_path / "100K" / "7"
    (folder / "probing_questions").mkdir(parents=True)
    (folder / "chat.json").write_text(json.dumps([{"turns": [[{"id": 1, "role": "user", "content": "The rent is 950 euros."}, {"id": 2, "role": "assistant", "content": "Noted."}]]}]))
    probing = {"information_extraction": [{"question": "What is the rent?", "ideal_answer": "The rent is 950 euros"}], "summarization": [{"question": "Sum up", "ideal_summary": "rent"}]}
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(probing))
    (read,) = memory_sets.beam(tmp_path)
    assert (read.name, len(read.messages)) == ("100K-7", 2)
    assert [(q.kind, q.about) for q in read.questions] == [("fact", ("950",))]


def result(name, found):
    marks = {"reuse": {"verbatim": [found, 4], "recoverable": [0, 0], "answered": [0, 0]}}
    bill = {"calls": 1, "input_tokens": 1000, "output_tokens": 10}
    return {"participant": name, "transcript": "s/n", "rounds": 5, "window": 1000, "compactions": 5, "context_tokens": [500, 1200], "overfull": 1, "bill": bill, "cost_usd": 0.5, "marks": marks}


def test_tables_sum_over_questions_and_keep_their_place():
    about = {"date": "today", "contextd": "abc", "transcripts": 2, "peers": {}}
    tables = report.markdown({"about": about, "results": [result("one", 4), result("one", 2)], "not_run": {"two": "too new"}, "failures": []})
    assert "| one | 75 |" in tables and "two: too new" in tables and "1.00 |" in tables
    document = report.placed("# Title\n\nwords\n", tables)
    assert report.placed(document, tables) == document
    assert report.placed(document + "\n## More\n", tables.replace("75", "76")).endswith("\n## More\n")
