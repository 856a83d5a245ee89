"""``%%warpline``: a cell is recorded, then its findings and its timeline are shown."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.library.library_tools import write_run

import warpline
from warpline.integrations import notebook
from warpline.model import UsageError
from warpline.profiling import recordings

pytest.importorskip("IPython")
Record = Callable[[str, str], list[Any]]


class _Recording:
    """Stands for a recorder: hands out a capture that was written before."""

    def __init__(self, capture: Path) -> None:
        self.capture, self.calls = capture, list[Any]()

    def resume(self) -> None:
        self.calls.append("resume")

    def finish(self) -> Any:
        self.calls.append("finish")
        return SimpleNamespace(keep=self.capture.rename)


class _Shell:
    """What of IPython's shell a magic uses."""

    def __init__(self) -> None:
        from IPython.core.compilerop import CachingCompiler

        self.user_ns: dict[str, Any] = {"n": 3}
        self.execution_count = 7
        self.compile = CachingCompiler()
        self.magics: dict[str, Any] = {}

    def transform_cell(self, cell: str) -> str:
        return cell

    def transform_ast(self, tree: Any) -> Any:
        return tree

    def register_magic_function(self, function: Any, *, magic_kind: str, magic_name: str) -> None:
        self.magics[f"{magic_kind} {magic_name}"] = function


@pytest.fixture
def shell() -> _Shell:
    return _Shell()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What is displayed; recordings are of `write_run`, pages without pictures."""
    shown: list[Any] = []
    recording = _Recording(write_run(tmp_path / "recorded.h5"))

    def recording_for(_targets: object, _folder: object, _name: str, sources: tuple[str, ...]) -> _Recording:
        shown.append(sources)
        return recording

    monkeypatch.setattr(recordings, "recording_for", recording_for)
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr(warpline.CaptureReader, "_picture", lambda *_: None)
    return shown


def test_a_cell_is_recorded_and_shown(shell: _Shell, shown: list[Any], tmp_path: Path) -> None:
    out = tmp_path / "cell.h5"
    notebook.record_cell(
        shell, f"--trace cpu,python -o {out} --as capture --height 300", "n = n + 1\nm = n;\nm;"
    )
    assert shown[0] == ("cpu", "python")
    assert (shell.user_ns["n"], shell.user_ns["m"]) == (4, 4)
    cell, page = shown[1:]
    assert "71 events in 2.000 s, kept in" in repr(cell)
    assert "went to:" in cell._repr_html_()
    assert page.height == 300
    with shell.user_ns["capture"] as capture:
        assert capture.path == out


def test_the_last_value_is_shown_as_a_cell_shows_it(
    shell: _Shell, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values: list[Any] = []
    monkeypatch.setattr("sys.displayhook", values.append)
    notebook.record_cell(shell, "--trace cpu", "n\nn + 1")
    assert values == [4]


def test_a_cell_that_fails_is_shown_and_fails(shell: _Shell, shown: list[Any]) -> None:
    with pytest.raises(ZeroDivisionError):
        notebook.record_cell(shell, "", "n / 0")
    assert len(shown) == 3


def test_names_of_cells_are_told_as_lines(
    shell: _Shell, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = notebook._compiled(shell, "n")[1]
    monkeypatch.setattr(
        "warpline.analysis.findings.wording.headline", lambda _diagnosis: f"at f ({name}:12)."
    )
    notebook.record_cell(shell, "", "n")
    assert shown[1].lines[0] == "at f (line 12 of the cell)."


@pytest.mark.parametrize(
    "line", ["--trace disk", "--as 1x", "-o run.txt", "--height x", "--nothing", "--trace '", "word"]
)
def test_wrong_options_are_one_line(shell: _Shell, shown: list[Any], line: str) -> None:
    from IPython.core.error import UsageError as ShellUsageError

    with pytest.raises(UsageError):
        notebook.record_cell(shell, line, "n = 0")
    assert shell.user_ns["n"] == 3
    assert importlib.import_module("warpline").load_ipython_extension(shell) is None
    with pytest.raises(ShellUsageError) as caught:
        shell.magics["cell warpline"](line, "n = 0")
    assert "\n" not in str(caught.value)
