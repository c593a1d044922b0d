"""A service for the tests that need one: the binary that `CONTEXTD_BINARY` names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contextd import Contextd

NO_BINARY = "needs the service: set CONTEXTD_BINARY to its binary (cargo build makes target/debug/contextd)"


def binary() -> str:
    """The service's binary; without one, the test is skipped."""
    path = os.environ.get("CONTEXTD_BINARY")
    if not path:
        pytest.skip(NO_BINARY)
    return path


@contextmanager
def serving(data_dir: Path, *flags: str, listen: str = "127.0.0.1:0") -> Iterator[str]:
    """The URL of a service that runs as long as the block."""
    command = [binary(), "serve", *flags, "--listen", listen, "--data-dir", str(data_dir)]
    with (data_dir / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), (data_dir / "log").read_text()
        yield line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="session")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("service"), "--dev") as url:
        yield url


@pytest.fixture
def client(service_url: str) -> Iterator[Contextd]:
    with Contextd(service_url) as client:
        yield client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
