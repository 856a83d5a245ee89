"""Trials of the agent leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_TRIAL = """
import os, signal, sys
from pathlib import Path
from warpline.recording.agent.probing import recorded
with recorded("print(1)", Path("unused"), {}) as run:
    assert (run.status, run.output) == (0, "1\\n"), run
    if "die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_trial_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    def trial(*arguments: str) -> int:
        return subprocess.run(
            [sys.executable, "-c", _TRIAL, *arguments],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            check=False,
        ).returncode

    assert trial("die") == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    assert trial() == 0
    assert list(tmp_path.iterdir()) == []
