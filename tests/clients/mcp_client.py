"""Drives the MCP server with the published Python client (PyPI `mcp`, 2.x).

    python3 -m venv /tmp/mcp && /tmp/mcp/bin/pip install mcp
    contextd serve --dev --listen 127.0.0.1:8080 &
    /tmp/mcp/bin/python tests/clients/mcp_client.py http://127.0.0.1:8080 [KEY]

Makes a session with two finished tasks, then lists, writes, reads and searches through /mcp alone. Ends with 0 and a
line of figures, or with the first thing that is not as it should be.
"""

import asyncio
import json
import sys
import urllib.request

from mcp import ClientSession
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

BASE = sys.argv[1].rstrip("/")
HEADERS = {"authorization": f"Bearer {sys.argv[2]}"} if len(sys.argv) > 2 else {}
LONG = "A sentence that takes some room in the context. " * 40


def post(path, body):
    headers = {"content-type": "application/json", **HEADERS}
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))


def new_session():
    session = post("/v1/sessions", {})["id"]
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"src/parser.rs"}'}}
    items = [
        {"role": "user", "content": "Build the parser"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "needle in the file. " + LONG},
        {"role": "assistant", "content": "The parser is built. " + LONG},
        {"role": "user", "content": "Now the printer"},
        {"role": "assistant", "content": "Printed. " + LONG},
        {"role": "user", "content": "And what now?"},
    ]
    post(f"/v1/sessions/{session}/entries", {"format": "openai_chat", "items": items})
    return session


async def main():
    session_id = new_session()
    async with create_mcp_http_client(headers=HEADERS) as http:
        async with streamable_http_client(BASE + "/mcp", http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as client:
                await drive(client, session_id)


async def drive(client, session_id):
    hello = await client.initialize()
    tools = (await client.list_tools()).tools

    async def call(name, **arguments):
        result = await client.call_tool(name, {"session_id": session_id, **arguments})
        error = getattr(result, "is_error", None) or getattr(result, "isError", None)
        assert not error, (name, result)
        return result.content[0].text

    tasks = json.loads(await call("list_tasks"))["tasks"]
    assert [task["n"] for task in tasks] == [1, 2, 3], tasks
    before = json.loads(await call("get_snapshot"))["tokens"]
    chapter = {"start": 1, "end": 2, "name": "Parser and printer", "message": "Both are built."}
    written = json.loads(await call("write_chapters", chapters=[chapter]))
    after = json.loads(await call("get_snapshot"))["tokens"]
    assert after < before, (before, after)
    path = written["chapters"][0]["path"]
    files = json.loads(await call("list_chapter_files", path=path))["entries"]
    assert [file["name"] for file in files] == ["summary.md", "events"], files
    summary = await call("read_chapter_file", path=path.rstrip("/") + "/summary.md")
    assert "Both are built." in summary, summary
    found = json.loads(await call("search", query="needle"))["items"]
    assert "<mark>needle</mark>" in found[0]["snippet"], found
    assert "needle in the file" in await call("read_entry", entry_id=found[0]["entry_id"])
    assert (await call("read_tool_result", tool_call_id="call_1")).startswith("needle in the file")
    listed = [str(one.uri) for one in (await client.list_resources()).resources]
    own = [uri for uri in listed if session_id in uri]
    assert own, listed
    read = await client.read_resource(own[0])
    assert read.contents[0].text == summary
    templates = await client.list_resource_templates()
    refused = await client.call_tool("search", {"session_id": session_id, "query": ""})
    print(f"ok: {len(tools)} tools, {before} -> {after} tokens, resource {own[0]}, "
          f"templates {len(getattr(templates, 'resource_templates', None) or templates.resourceTemplates)}, "
          f"refusal {refused.content[0].text!r}, hello {hello}")


asyncio.run(main())
