"""The client needs httpx alone, and each adapter its own framework alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks import FRAMEWORKS

SOURCE = Path(__file__).resolve().parent.parent / "src"


@pytest.mark.parametrize("adapter", [None, *FRAMEWORKS])
def test_brings_no_other_framework(adapter: str | None, tmp_path: Path) -> None:
    module = "contextd" if adapter is None else f"contextd.{adapter}"
    if adapter is not None:
        pytest.importorskip(FRAMEWORKS[adapter])
    others = [framework for other, framework in FRAMEWORKS.items() if other != adapter]
    code = f"import {module}, sys; print([its for its in {others} if its in sys.modules])"
    command = [sys.executable, "-c", code]
    # OpenHands writes files at home, greets, and fetches prices.
    env = {"PYTHONPATH": str(SOURCE), "HOME": str(tmp_path), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
