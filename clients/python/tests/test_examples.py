"""The examples run as they stand, one agent a framework."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks import FRAMEWORKS

CLIENT = Path(__file__).resolve().parent.parent
EXAMPLES = CLIENT.parent.parent / "examples" / "python"


def test_there_is_one_for_each_adapter() -> None:
    adapters = {its.stem for its in (CLIENT / "src" / "contextd").glob("[!_]*.py")} - {"types"}
    assert {its.stem.removeprefix("with_") for its in EXAMPLES.glob("*.py")} == adapters == set(FRAMEWORKS)


@pytest.mark.parametrize("name", sorted(FRAMEWORKS))
def test_is_short(name: str) -> None:
    assert len((EXAMPLES / f"with_{name}.py").read_text().splitlines()) < 60


@pytest.mark.parametrize("name", sorted(FRAMEWORKS))
def test_runs(name: str, service_url: str, tmp_path: Path) -> None:
    pytest.importorskip(FRAMEWORKS[name])
    # Some frameworks keep files at home, and OpenHands fetches prices.
    homes = dict.fromkeys(("OH_PERSISTENCE_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(tmp_path))
    quiet = {**homes, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    env = {**os.environ, **quiet, "CONTEXTD_URL": service_url, "PYTHONPATH": str(CLIENT / "src")}
    command = [sys.executable, str(EXAMPLES / f"with_{name}.py")]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"shows {7919 * 19} kWh." in done.stdout
    *_, last = done.stdout.splitlines()
    found = re.match(r"After (\d+) compactions contextd still has ", last)
    assert found and int(found[1]) >= 1, last
    assert last.endswith("all entries.") or "room-0 shows 0 kWh" in last
