"""Each operation of the API's description has one method, with its parameters and its answer; in both clients."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from contextd import AsyncContextd, Contextd, ContextdError
from tests import operations
from tests.operations import Operation

# A message of MCP goes as it is.
OPAQUE = {"mcp"}
# What a number names is a call or a message: each has a method of its own, with its own answer.
ONE_ANSWER = {"get_tool_call": "ToolCallDetail"}


class Recorder:
    """A transport that keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append((request.method, request.url.path))
        media_type = request.headers["accept"].partition(",")[0]
        return httpx.Response(200, content=b'{"items": []}', headers={"content-type": media_type})


def arguments(method: Callable[..., Any]) -> tuple[list[Any], dict[str, str]]:
    """An argument for all that must be given."""
    parameters = inspect.signature(method).parameters.values()
    required = [its for its in parameters if its.default is its.empty and its.kind is not its.VAR_KEYWORD]
    words = [{} if its.name == "request" else its.name for its in required if its.kind is not its.KEYWORD_ONLY]
    return words, {its.name: its.name for its in required if its.kind is its.KEYWORD_ONLY}


async def finished(answer: Any) -> None:
    """Does what a method has begun, whatever it is."""
    try:
        if inspect.isawaitable(answer):
            await answer
        elif hasattr(answer, "__aiter__"):
            [item async for item in answer]
        elif hasattr(answer, "__iter__") and not isinstance(answer, (dict, str)):
            list(answer)
    except ContextdError as error:
        assert "the stream has ended" in str(error)


@pytest.fixture(params=["sync", "async"])
async def called(request: pytest.FixtureRequest) -> dict[str, Callable[..., Any]]:
    """Every method by the id of the operation that it called."""
    recorder = Recorder()
    transport = httpx.MockTransport(recorder)
    client: Contextd | AsyncContextd
    if request.param == "sync":
        client = Contextd("http://service", max_retries=0, http_client=httpx.Client(transport=transport))
    else:
        client = AsyncContextd("http://service", max_retries=0, http_client=httpx.AsyncClient(transport=transport))
    found: dict[str, Callable[..., Any]] = {}
    for name, method in operations.methods(client):
        recorder.sent.clear()
        given, named = arguments(method)
        await finished(method(*given, **named))
        [operation] = [its.id for its in operations.operations() if its.matches(*recorder.sent[0])]
        assert operation not in found, f"{name} calls {operation}, as another method does"
        found[operation] = method
    return found


pytestmark = pytest.mark.anyio


async def test_every_operation_has_a_method(called: dict[str, Callable[..., Any]]) -> None:
    assert called.keys() == {its.id for its in operations.operations()}


async def test_arguments_are_those_of_the_operation(called: dict[str, Callable[..., Any]]) -> None:
    def said(operation: Operation) -> tuple[str, set[str]]:
        ids = len(operation.path_parameters)
        return operation.id, set(operations.names(called[operation.id])[ids:])

    known = [its for its in operations.operations() if its.id not in OPAQUE]
    assert dict(map(said, known)) == {its.id: its.names() for its in known}


async def test_answers_are_those_of_the_operation(called: dict[str, Callable[..., Any]]) -> None:
    expected = {its.id: its.answer() for its in operations.operations()} | ONE_ANSWER
    assert {name: operations.answer(method) for name, method in called.items()} == expected
