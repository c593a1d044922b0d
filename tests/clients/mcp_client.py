"""Drives the MCP server with the published Python client (PyPI `mcp`, 2.x), with a greeting and without.

    python3 -m venv /tmp/mcp && /tmp/mcp/bin/pip install mcp
    contextd serve --dev --listen 127.0.0.1:8080 &
    /tmp/mcp/bin/python tests/clients/mcp_client.py http://127.0.0.1:8080 [KEY]

Where CONTEXTD_BINARY names contextd's program, over standard input and output of its `contextd mcp`. Makes a session with
two finished tasks, then lists, writes, reads and searches by MCP alone. Ends with 0 and lines of figures, or with the
first thing that is not as it should be.
"""

import asyncio
import contextlib
import json
import os
import sys
import urllib.request

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

BASE = sys.argv[1].rstrip("/")
KEY = sys.argv[2] if len(sys.argv) > 2 else ""
HEADERS = {"authorization": f"Bearer {KEY}"} if KEY else {}
BINARY = os.environ.get("CONTEXTD_BINARY")
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


@contextlib.asynccontextmanager
async def transport():
    if BINARY:
        env = {"CONTEXTD_URL": BASE, "CONTEXTD_API_KEY": KEY}
        yield stdio_client(StdioServerParameters(command=BINARY, args=["mcp"], env=env))
        return
    async with create_mcp_http_client(headers=HEADERS) as http:
        yield streamable_http_client(BASE + "/mcp", http_client=http)


async def main():
    for mode in ("legacy", "auto"):
        async with transport() as streams, Client(streams, mode=mode) as client:
            await drive(client, new_session())


async def drive(client, session_id):
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
    print(f"ok: {client.protocol_version}, {len(tools)} tools, {before} -> {after} tokens, resource {own[0]}, "
          f"templates {len(getattr(templates, 'resource_templates', None) or templates.resourceTemplates)}, "
          f"refusal {refused.content[0].text!r}")


asyncio.run(main())
