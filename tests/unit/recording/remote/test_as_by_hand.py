"""A program on another machine is as if it had been started there by hand."""

from __future__ import annotations

import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from tests.unit.recording.remote.conftest import Far, run


@pytest.mark.usefixtures("far_cache")
def test_a_program_has_the_environment_and_umask_of_a_login(ssh_config: Path, tmp_path: Path) -> None:
    words = ("sh", "-c", "umask; env | grep -v -e SSH_ -e ^_= | sort")
    ssh = ["ssh", "-T", "-F", str(ssh_config), "box", shlex.join(words)]
    by_hand = subprocess.run(ssh, capture_output=True, check=True, timeout=60)
    far = Far(("--via", f"ssh -T -F {ssh_config} box"), tmp_path)
    recorded = run(far, tmp_path / "run.h5", *words, trace="cpu")
    assert b"HOME=" in recorded.stdout
    # A shell may print something first, which is skipped when recording.
    assert by_hand.stdout.decode().endswith(recorded.stdout.decode())


def test_a_signal_that_ends_the_program_is_told_of(over_ssh: Far, tmp_path: Path) -> None:
    """ssh alone would say 255, as for a lost connection."""
    done = run(over_ssh, tmp_path / "run.h5", "sh", "-c", "kill -KILL $$")
    assert done.returncode == 128 + signal.SIGKILL, done.stderr


@pytest.mark.usefixtures("far_cache")
def test_an_unknown_host_key_is_refused_by_ssh(ssh_config: Path, tmp_path: Path) -> None:
    via = f"ssh -T -F {ssh_config} -o UserKnownHostsFile=/dev/null box"
    done = run(Far(("--via", via), tmp_path), tmp_path / "run.h5", "true")
    assert done.returncode == 125
    assert done.stderr.splitlines()[-2:] == [
        b"Host key verification failed.",
        f"warpline: error: {via}: could not connect".encode(),
    ]
    assert not list(tmp_path.iterdir())
