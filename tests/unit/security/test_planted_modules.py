"""Nothing is imported from the folder in which a trace lies, by no Python that a command starts."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.security.planted import plant

from warpline.own_python import ROOT, forget_current_folder, outside_current_folder, own_python

TRACE = {"traceEvents": [{"ph": "X", "name": "a", "ts": n, "dur": 1, "pid": 1, "tid": 1} for n in range(9)]}
# As the console script does, with an empty part of PYTHONPATH on top, which is the current folder.
PROGRAM = """
import json, os, sys
from warpline.own_python import forget_current_folder
sys.path.insert(0, os.getcwd())
forget_current_folder()
from warpline.cli import main
print(json.dumps([main(words) for words in json.loads(sys.argv[1])]))
from warpline.recording.again import read_recipe
from pathlib import Path
assert read_recipe(Path("run.h5")).command == ("true",)
"""
COMMANDS = [
    ["record", "--quiet", "--no-check", "--trace", "cpu", "-o", "run.h5", "--", "true"],
    ["import", "trace.json", "-o", "trace.h5"],
    ["info", "run.h5"],
    ["check", "run.h5"],
    ["export", "trace.h5", "out.html"],
    ["compare", "trace.h5", "trace.h5"],
    ["stats", "trace.json"],
    ["job", "--workers", "1", "trace.json", "trace.h5"],
    ["doctor", "--json"],
    ["control", "status", "nothing.spool"],
    ["recover", "nothing.spool"],
]


def run_commands(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(COMMANDS)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("planted") / "folder of a trace"
    folder.mkdir()
    (folder / "trace.json").write_text(json.dumps(TRACE))
    return folder, plant(folder)


def test_no_command_imports_from_the_folder_of_a_trace(planted: tuple[Path, Path], tmp_path: Path) -> None:
    folder, told = planted
    # The doctor tries every Python it finds, and would take long.
    few = {"PATH": "/usr/bin:/bin", "PYENV_ROOT": str(tmp_path)}
    environment = {**os.environ, **few, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = run_commands(folder, environment)
    assert not told.exists(), told.read_text()
    assert done.returncode == 0, done.stderr
    statuses = json.loads(done.stdout.splitlines()[-1])
    assert statuses == [0] * (len(COMMANDS) - 2) + [1, 1], done.stderr


def test_what_is_planted_would_be_imported(planted: tuple[Path, Path]) -> None:
    folder, told = planted
    careless = subprocess.run(
        [sys.executable, "-c", "import struct"], cwd=folder, capture_output=True, check=False
    )
    assert careless.returncode == 1
    assert told.read_text().split() == ["struct"]
    told.unlink()


def test_a_python_of_ours_ignores_the_users_variables_and_hands_them_on(
    planted: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, told = planted
    (tmp_path / "seen.py").write_text(
        "import os, struct, sys\nprint(os.environ['PYTHONPATH'], struct.__file__, *sys.argv[1:], sep='\\n')\n"
    )
    command = own_python("seen")
    command[-1] = command[-1].replace(repr(ROOT), repr(str(tmp_path)))
    done = subprocess.run(
        [*command, "word"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONSTARTUP": str(folder / "os.py")},
        capture_output=True,
        text=True,
        check=True,
    )
    path, struct, word = done.stdout.splitlines()
    assert (path, word) == (str(folder), "word")
    assert not Path(struct).is_relative_to(folder)
    assert not told.exists()


def test_the_current_folder_is_forgotten_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    others = ["/usr/lib/python3", str(tmp_path.parent), ROOT]
    places = ["", ".", str(tmp_path), *others, str(tmp_path / "link")]
    assert outside_current_folder(places) == others
    monkeypatch.setattr(sys, "path", places)
    forget_current_folder()
    assert sys.path == others
    monkeypatch.chdir(ROOT)
    assert outside_current_folder([ROOT, ""]) == [ROOT]


def test_every_python_that_is_started_is_isolated(repository: Path) -> None:
    """A list that begins with this Python goes on with -I or -P, or with a program of somebody's."""
    careless = []
    for room in ("capture/warpline", "app/warpline_app"):
        for path in (repository / room).rglob("*.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "executable" in text or "interpreter" in text else ():
                words = [ast.unparse(word) for word in node.elts] if isinstance(node, ast.List) else []
                if words[:1] in (["sys.executable"], ["interpreter"]) and len(words) > 1:
                    careless += [words[1]] if words[1] not in {"'-I'", "'-P'", "'-V'", "*others"} else []
    assert careless == []
