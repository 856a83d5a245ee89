"""A capture tells how to record it anew: the command, the folder, the settings, and nothing of the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import WARPLINE, python, record

from warpline.model import RecordingError
from warpline.recording.again import next_output, read_recipe, recipe_of, series_files, series_id
from warpline.recording.session import RecordingOptions
from warpline.storage import CaptureBuilder, open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")


def again(file: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [*WARPLINE, "record", "--again", str(file), *options]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def test_recording_again_uses_the_same_settings(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    program = "import os, pathlib; n = len(list(pathlib.Path().glob('ran-*'))); open(f'ran-{n}', 'w').close()"
    secret = {**os.environ, "SECRET_OF_THE_TEST": "hunter2"}
    options = ("--trace", "cpu,python", "--python-hz", "37", "--quiet")
    assert record(home, *python(program), options=options, env=secret).returncode == 0
    done = again(home / "run.h5", elsewhere)
    assert done.returncode == 0, done.stderr
    assert (home / "ran-1").exists()
    assert not list(elsewhere.iterdir())
    assert f"warpline compare {home / 'run.h5'} {home / 'run-2.h5'}" in done.stderr
    # The third time from the second capture: the series goes on where it is.
    assert again(home / "run-2.h5", elsewhere, "--quiet").returncode == 0
    assert series_files(home / "run-2.h5") == [home / "run.h5", home / "run-2.h5", home / "run-3.h5"]
    with open_capture(home / "run.h5") as first, open_capture(home / "run-3.h5") as last:
        assert recipe_of(last).command == recipe_of(first).command
        assert recipe_of(last).options == recipe_of(first).options
        assert recipe_of(last).options.python_hz == 37
        assert recipe_of(last).options.trace == ("cpu", "python")
        assert recipe_of(last).working_directory == str(home)
        assert series_id(last) == series_id(first) == first.uuid
    assert b"hunter2" not in (home / "run.h5").read_bytes()
    assert read_recipe(home / "run-3.h5").options.series == series_id_of(home / "run.h5")


def series_id_of(path: Path) -> str:
    with open_capture(path) as capture:
        return capture.uuid


def test_a_program_that_fails_is_recorded_again_with_its_status(tmp_path: Path) -> None:
    assert record(tmp_path, *python("raise SystemExit(3)"), options=("--quiet",)).returncode == 3
    done = again(tmp_path / "run.h5", tmp_path, "-o", str(tmp_path / "other.h5"), "--no-check")
    assert done.returncode == 3
    # The time of a program that failed says nothing of a change.
    assert "what changed" not in done.stderr
    assert "the program ended with status 3" in done.stderr
    assert "warpline info other.h5" in done.stderr
    with open_capture(tmp_path / "other.h5") as capture:
        assert capture.meta["exit_status"] == 3


def test_captures_that_cannot_be_recorded_again_say_why(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "imported.h5") as builder:
        builder.set_span(0, 1)
        builder.finish()
    done = again(tmp_path / "imported.h5", tmp_path)
    assert done.returncode == 125
    assert "has no recorded command" in done.stderr
    trace = tmp_path / "trace.json"
    trace.write_text("[]")
    with pytest.raises(RecordingError, match=r"trace\.json: not recorded by Warpline"):
        read_recipe(trace)
    done = again(tmp_path / "imported.h5", tmp_path, "--", "true")
    assert done.returncode == 125
    assert "leave out true" in done.stderr
    with pytest.raises(RecordingError, match=r"nothing\.h5"):
        read_recipe(tmp_path / "nothing.h5")


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert record(home, "true", options=("--quiet",)).returncode == 0
    (home / "run.h5").rename(tmp_path / "run.h5")
    home.rmdir()
    done = again(tmp_path / "run.h5", tmp_path)
    assert done.returncode == 125
    assert str(home) in done.stderr


def test_outputs_are_numbered_beside_the_first(tmp_path: Path) -> None:
    first = tmp_path / "resnet-50.h5"
    assert next_output(first) == tmp_path / "resnet-50-2.h5"
    for name in ("resnet-50.h5", "resnet-50-2.h5", "resnet-50-3.h5", "resnet-50-x.h5", "resnet-50-3.json"):
        (tmp_path / name).touch()
    assert next_output(first) == tmp_path / "resnet-50-4.h5"
    assert next_output(tmp_path / "resnet-50-2.h5") == tmp_path / "resnet-50-4.h5"
    names = ["resnet-50.h5", "resnet-50-2.h5", "resnet-50-3.h5"]
    assert [path.name for path in series_files(tmp_path / "resnet-50-3.h5")] == names


def test_settings_of_another_version_have_their_defaults(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "old.h5") as builder:
        builder.meta.update(
            command_line=["true"], working_directory="/", tool="warpline 0.1", trace=["cpu"],
            recording={"python_hz": "many", "newer": 1},
        )  # fmt: skip
        builder.set_span(0, 1)
        builder.finish()
    with open_capture(tmp_path / "old.h5") as capture:
        options = recipe_of(capture).options
        assert options == RecordingOptions(trace=("cpu",), series=capture.uuid)
