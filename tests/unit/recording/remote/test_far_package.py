"""What is sent to the other machine."""

from __future__ import annotations

import argparse

import pytest

from warpline.cli.remote_options import add_place_options, add_run_options, chosen_place
from warpline.model.errors import UsageError
from warpline.recording.remote.near.package import far_package


def test_what_runs_inside_the_program_is_sent() -> None:
    files = far_package().files
    for name in ("hooks/inside/boot.py", "record.py", "attach.py", "remote/far/serve.py"):
        assert f"warpline/recording/{name}" in files
    for name in ("remote/boot.py", "finalise.py", "remote/near/mirror.py"):
        assert f"warpline/recording/{name}" not in files


@pytest.mark.parametrize(
    "options", [["--chdir", "/usr"], ["--env", "HOME"], ["--far-spool", "x"], ["--with-me"]]
)
def test_options_of_another_machine_are_refused_without_one(options: list[str]) -> None:
    parser = argparse.ArgumentParser()
    add_place_options(parser)
    add_run_options(parser)
    with pytest.raises(UsageError, match=f"{options[0]} needs --on or --via"):
        chosen_place(parser.parse_args(options))
