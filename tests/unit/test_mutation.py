"""The bugs of tests/mutation fit the code as it is, and what runs them tells what it found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.mutation.bugs import BUGS, Bug
from tests.mutation.run import main, misfit, try_bug


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_bug_fits_and_is_python(bug: Bug, repository: Path) -> None:
    assert misfit(bug, repository) is None
    changed = (repository / bug.file).read_text("utf-8").replace(bug.old, bug.new)
    compile(changed, bug.file, "exec")


def test_there_are_as_many_as_promised_and_no_two_alike() -> None:
    assert len(BUGS) == 24
    assert len({bug.name for bug in BUGS}) == len({(bug.file, bug.old) for bug in BUGS}) == 24


def test_a_bug_that_fits_no_more_is_named(repository: Path) -> None:
    bug = BUGS[0]
    assert "is not there" in str(misfit(replace(bug, file="capture/gone.py"), repository))
    assert "0 times" in str(misfit(replace(bug, old="nobody wrote this"), repository))
    assert "there are no tests tests/gone" in str(misfit(replace(bug, tests=("tests/gone",)), repository))
    assert main(["no bug is called this"]) == 2


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A program of one line, two tests of it, and nothing else."""
    for folder in ("capture", "app"):
        (tmp_path / folder).mkdir()
    (tmp_path / "capture" / "adding_up.py").write_text("def total(values):\n    return sum(values)\n")
    head = "from adding_up import total\n\n\n"
    (tmp_path / "test_notices.py").write_text(f"{head}def test_total():\n    assert total([1, 2]) == 3\n")
    (tmp_path / "test_sleeps.py").write_text(f"{head}def test_total():\n    assert total([]) == 0\n")
    return tmp_path


def test_a_bug_is_caught_or_survives_and_is_taken_out_again(tree: Path) -> None:
    bug = Bug("twice", "capture/adding_up.py", "sum(values)", "2 * sum(values)", ("test_notices.py",))
    caught = try_bug(tree, bug)
    assert caught.noticed_by == "test_notices.py::test_total"
    assert try_bug(tree, replace(bug, tests=("test_sleeps.py",))).noticed_by is None
    assert "2 *" not in (tree / bug.file).read_text()
