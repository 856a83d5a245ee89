"""The Pythons of a machine, as the doctor tries them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from warpline.recording.agent import interpreters


def test_each_python_is_tried_once_and_told_by_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(name: str, version: str) -> str:
        path = tmp_path / "versions" / name / "bin" / "python3"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho Python {version}\n")
        path.chmod(0o755)
        return str(path)

    old, new = make("3.9.18", "3.9.18"), make("3.12.1", "3.12.1")
    broken = make("3.13.0", "")
    Path(broken).chmod(0o644)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(new).parent))  # the same one again
    assert interpreters.interpreters() == [new, broken, old]
    fine, others = interpreters.tried(lambda path: path == new)
    assert (fine, others) == (["3.12.1"], ["3.9.18"])


def test_what_cannot_be_run_has_no_version() -> None:
    assert interpreters.version_of("/nowhere/python3") == ""
    assert interpreters.version_of(sys.executable).startswith("3.")
