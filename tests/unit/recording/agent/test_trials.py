"""The Pythons of a machine, and what sources try in them for the doctor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from warpline.recording.agent import probing, trials
from warpline.recording.agent.trials import PythonTrial, Tried, trial_text
from warpline.recording.unavailable import Unavailable


def test_each_python_is_started_once_for_all_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(name: str, version: str) -> str:
        path = tmp_path / "versions" / name / "bin" / "python3"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(0o755)
        return str(path)

    old, new = make("3.9.18", "3.9.18"), make("3.12.1", "3.12.1")
    broken = make("3.13.0", "")
    Path(broken).chmod(0o644)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(new).parent))  # the same one again
    assert trials.interpreters() == [new, broken, old]
    started: list[tuple[str, dict[str, str]]] = []
    of_run: list[str] = []

    @contextmanager
    def recorded(
        program: str, argument: Path, variables: dict[str, str], interpreter: str = ""
    ) -> Iterator[probing.AgentRun]:
        started.append((interpreter, dict(variables)))
        of_run.append(interpreter)
        with probing.recorded(program, argument, {}, interpreter) as run:
            yield run

    monkeypatch.setattr(trials, "_SIDE_BY_SIDE", 1)
    monkeypatch.setattr(trials, "recorded", recorded)
    monkeypatch.setattr(trials, "require_agent", lambda: tmp_path)
    first = PythonTrial("a", lambda _spools: of_run[-1] == new, {"A": "1"})
    second = PythonTrial("b", lambda _spools: of_run[-1] == old, {"B": "2"}, text="all of it: {pythons}")
    pythons = trials.try_pythons([first, second, first], every_python=True)
    assert [path for path, _variables in started] == [sys.executable, new, broken, old]
    assert all({"A": "1", "B": "2"}.items() <= variables.items() for _path, variables in started)
    assert [python.version for python in pythons][1:] == ["3.12.1", "", "3.9.18"]
    assert trial_text(first, pythons[1:]) == "works with Python 3.12.1; not with Python 3.9.18"
    assert trial_text(second, pythons[1:]) == "all of it: works with Python 3.9.18; not with Python 3.12.1"
    started.clear()
    (this,) = trials.try_pythons([first], every_python=False)
    assert [path for path, _variables in started] == [sys.executable]
    assert this.version == sys.version.split()[0]


def test_a_source_is_refused_where_it_does_not_work_with_this_python() -> None:
    trial = PythonTrial("", lambda _spools: True, refused=Unavailable("not this one", "another"))
    with pytest.raises(Unavailable, match="not this one"):
        trial_text(trial, [Tried("3.11.7", frozenset()), Tried("3.12.1", frozenset({trial}))])


def test_a_failing_trial_does_not_affect_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(_spools: object) -> bool:
        raise KeyError("of somebody's source")

    monkeypatch.setattr(trials, "require_agent", lambda: tmp_path)
    fine, broken = PythonTrial("", lambda _spools: True), PythonTrial("", raises)
    wanted = PythonTrial("", raises, refused=Unavailable("not this one", "another"))
    pythons = trials.try_pythons([broken, fine, wanted], every_python=False)
    version = pythons[0].version
    assert trial_text(fine, pythons) == f"works with Python {version}"
    why = 'KeyError: "of somebody\'s source"'
    assert trial_text(broken, pythons) == f"not with Python {version}; {why}"
    with pytest.raises(Unavailable, match="of somebody's source"):
        trial_text(wanted, pythons)


def test_an_interpreter_that_cannot_run_has_no_version() -> None:
    assert trials.version_of("/nowhere/python3") == ""
    assert trials.version_of(sys.executable).startswith("3.")
