"""The same command on several machines at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import States
from tests.unit.recording.remote.conftest import warpline

from warpline.cli.several_hosts import hosts_of, output_of
from warpline.model.errors import UsageError


def test_hosts_are_listed_with_commas() -> None:
    assert hosts_of(None) == []
    assert hosts_of("box") == ["box"]
    assert hosts_of("a, me@b,c") == ["a", "me@b", "c"]
    for text in ("a,", ",a", "a,,b", "a,a"):
        with pytest.raises(UsageError, match="every host once"):
            hosts_of(text)


def test_every_host_has_a_capture_whose_name_tells_its_rank() -> None:
    assert output_of(Path("x/run.h5"), 1, "me@b/../c") == Path("x/run-rank1-me_b_.._c.h5")


@pytest.fixture
def two_hosts(ssh_config: Path, far_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``box`` and ``other`` are hosts of the user's ssh."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "config").write_text(ssh_config.read_text().replace("Host box", "Host box other"))
    (folder / "ssh").write_text(f'#!/bin/sh\nPATH=${{PATH#*:}} exec ssh -F {folder}/config "$@"\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.usefixtures("two_hosts")
def test_two_hosts_record_at_once(tmp_path: Path) -> None:
    script = "echo rank $WARPLINE_RANK of $WARPLINE_RANKS; cat; exit $WARPLINE_RANK"
    options = ("--on", "box,other", "--no-check", "--trace", "cpu", "-o", str(tmp_path / "run.h5"))
    words = warpline("record", *options, "--", "sh", "-c", script)
    done = subprocess.run(words, input=b"for none", capture_output=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    assert sorted(done.stdout.decode().splitlines()) == ["[box] rank 0 of 2", "[other] rank 1 of 2"]
    names = [tmp_path / f"run-rank{rank}-{host}.h5" for rank, host in enumerate(("box", "other"))]
    assert [States(name).meta["exit_status"] for name in names] == [0, 1]
    assert States(names[1]).meta["host"]["reached_as"] == "other"
    assert f"warpline job {names[0]} {names[1]}" in done.stderr.decode()


@pytest.mark.usefixtures("two_hosts")
def test_a_host_that_cannot_be_reached_is_named_and_the_others_record(tmp_path: Path) -> None:
    options = ("--on", "box,-bad", "--no-check", "--trace", "cpu", "-o", str(tmp_path / "run.h5"))
    done = subprocess.run(
        warpline("record", *options, "--", "true"), capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 125
    assert "[-bad] warpline: error: not a host" in done.stderr.decode()
    assert [path.name for path in tmp_path.glob("*.h5")] == ["run-rank0-box.h5"]


def test_options_of_one_machine_do_not_go_with_several(tmp_path: Path) -> None:
    words = warpline("record", "--on", "a,b", "--spool", str(tmp_path / "s"), "--", "true")
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert done.returncode != 0
    assert b"--spool does not go with several hosts" in done.stderr
