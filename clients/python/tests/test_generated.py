"""Generated files are what generate.py writes today."""

from __future__ import annotations

from pathlib import Path

import pytest

import generate


@pytest.mark.parametrize(("path", "text"), [pytest.param(*file, id=file[0].name) for file in generate.files()])
def test_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text() == text, "run: python generate.py"


def test_nothing_else_is_there() -> None:
    known = {path for path, _ in generate.files()}
    assert set((generate.PACKAGE / "_sync").glob("*.py")) <= known
