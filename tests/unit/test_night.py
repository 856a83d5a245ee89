"""`make night` runs one part after the other and writes a page of results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests import night


def test_a_part_that_ends_badly_keeps_none_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = {"first": "print('a table'); raise SystemExit(3)", "second": "print('all well')"}
    made = [night.Part(name, (sys.executable, "-c", command)) for name, command in commands.items()]
    monkeypatch.setattr(night, "parts", lambda _scale, _data: made)
    monkeypatch.setattr(sys, "argv", ["night", "--out", str(tmp_path / "out")])
    assert night.main() == 1
    page = (tmp_path / "out" / "results.md").read_text()
    assert "| first | **status 3** |" in page
    assert "| second | well |" in page
    assert "a table" in page
    assert (tmp_path / "out" / "second.txt").read_text() == "all well\n"
    assert page.strip() in capsys.readouterr().out


def test_a_small_night_has_every_part() -> None:
    assert [part.name for part in night.parts(0.01, None)] == [
        "kills",
        "fuzz",
        "fidelity",
        "doubling",
        "sanitizers",
        "soak",
    ]
