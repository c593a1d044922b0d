"""The client needs httpx alone, and each adapter its own framework alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FRAMEWORKS = {"agents", "claude_agent_sdk", "google.adk", "inspect_ai", "langchain", "openhands", "pydantic_ai"}
SOURCE = Path(__file__).resolve().parent.parent / "src"


@pytest.mark.parametrize(
    ("module", "framework"),
    [
        ("contextd", None),
        ("contextd.claude_agent_sdk", "claude_agent_sdk"),
        ("contextd.google_adk", "google.adk"),
        ("contextd.inspect_ai", "inspect_ai"),
        ("contextd.openai_agents", "agents"),
        ("contextd.langchain", "langchain"),
        ("contextd.openhands", "openhands"),
        ("contextd.pydantic_ai", "pydantic_ai"),
    ],
)
def test_brings_no_other_framework(module: str, framework: str | None, tmp_path: Path) -> None:
    if framework is not None:
        pytest.importorskip(framework)
    others = sorted(FRAMEWORKS - {framework})
    code = f"import {module}, sys; print([its for its in {others} if its in sys.modules])"
    command = [sys.executable, "-c", code]
    # OpenHands writes files at home, greets, and fetches prices.
    env = {"PYTHONPATH": str(SOURCE), "HOME": str(tmp_path), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
