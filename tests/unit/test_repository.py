"""What holds for the repository as a whole: who imports whom, and that no machine's paths are in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def tracked_files(repository: Path) -> list[Path]:
    if not (repository / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True
    )
    paths = [repository / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_imports_point_one_way(repository: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed (extra: dev)")
    done = subprocess.run([linter, "--no-cache"], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_house_keeps_its_rules(repository: Path) -> None:
    """No circle of imports, no include across rooms, a class for each name."""
    if not (repository / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    command = [sys.executable, str(repository / "scripts" / "house.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Written in pieces, so that this file does not contain what it looks for.
MACHINE_PATH = re.compile(
    r"(?<![\w.~-])(?:/" + r"work/|/" + r"farm/|/" + r"root/|/" + r"home/[a-z]\w*/|file:///" + r"opt)"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /" + "home/jane/x.py", True),
        ("'/" + "work/main'", True),
        ("/" + "root/.cache", True),
        ("docs/" + "work/plan, ~" + "/" + "work/x", False),
        ("https://example.org/homepage/", False),
    ],
)
def test_what_a_machine_path_is(text: str, found: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) is found


def test_no_machine_paths(repository: Path) -> None:
    found = []
    for path in tracked_files(repository):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(repository)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(lines, 1)
            if MACHINE_PATH.search(line)
        ]
    assert found == []
