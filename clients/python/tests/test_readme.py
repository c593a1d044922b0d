"""The quick start runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def quick_start() -> str:
    block, *_ = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return str(block)


def test_is_short() -> None:
    assert len(quick_start().splitlines()) < 20


def test_runs(service_url: str) -> None:
    env = {**os.environ, "CONTEXTD_URL": service_url, "PYTHONPATH": str(README.parent / "src")}
    done = subprocess.run([sys.executable, "-c", quick_start()], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    messages, state, compaction = done.stdout.splitlines()
    assert "Why does the parser fail" in messages
    assert state == "green"
    assert compaction == "skipped nothing_to_compact"
