"""Waits of a program without Python: where it waits, who holds what it waits for and where that was given back."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import warpline
from warpline.storage import open_capture
from warpline_app.panels.facts.wait_facts import wait_facts

SOURCE = Path(__file__).parents[1] / "programs" / "native_lock.c"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_wait_in_c_has_its_function_and_that_of_the_holder(tmp_path: Path) -> None:
    program, output = tmp_path / "native_lock", tmp_path / "run.h5"
    subprocess.run(["cc", "-O1", "-pthread", "-o", program, SOURCE], check=True)
    command = [sys.executable, "-m", "warpline", "record", "-q", "--no-check", "-o", str(output), "--"]
    done = subprocess.run([*command, program], capture_output=True, text=True, timeout=100, check=True)
    with warpline.open(output) as capture:
        calls = capture.events("osrt").to_pandas()
    wait = calls[calls.name == "pthread_mutex_lock"].iloc[0]
    assert wait.wait == "lock"
    assert (wait.caller, wait.place) == ("want_it [native_lock]", "want_it [native_lock]")
    assert (wait.holder, wait.ended_by) == (int(done.stdout), int(done.stdout))
    assert wait.holder_place == "let_go [native_lock]"
    with open_capture(output) as file:
        facts = [(fact.title, fact.value) for fact in wait_facts(file, int(wait.row))]
    at = [title for title, _value in facts].index("Ended by")
    assert facts[at - 1] == (
        "in function",
        "unknown: for native code, only the place of the release is recorded",
    )
    assert facts[at + 1] == ("in function", "let_go [native_lock]")
