"""Secrets among arguments reach the program, and no file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import record

from warpline.recording.spool.secrets import MASK, masked
from warpline.storage import open_capture


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("login|--password|x|--user|me", f"login|--password|{MASK}|--user|me"),
        ("login|--db-password=a b", f"login|--db-password={MASK}"),
        ("login|--dbpassword=x", f"login|--dbpassword={MASK}"),
        ("env|PGPASSWORD=x|psql", f"env|PGPASSWORD={MASK}|psql"),
        ("env|WANDB_API_KEY=x|SEED=1|train", f"env|WANDB_API_KEY={MASK}|SEED=1|train"),
        ("push|--token|x", f"push|--token|{MASK}"),
        ("push|--hf_token=x|--wandb_key|y", f"push|--hf_token={MASK}|--wandb_key|{MASK}"),
        ("seal|--encryption-key|x", f"seal|--encryption-key|{MASK}"),
        ("bash|-c|curl --token x -s; ls", f"bash|-c|curl --token {MASK} -s; ls"),
        ("bash|-c|export API_TOKEN=x; echo hi", f"bash|-c|export API_TOKEN={MASK}; echo hi"),
        ("bash|-c|API_TOKEN='x y' train", f"bash|-c|API_TOKEN={MASK} train"),
        ("curl|-H|Authorization: Bearer x", f"curl|-H|Authorization: Bearer {MASK}"),
        ("curl|-H|X-Api-Key: x|-u|me:x", f"curl|-H|X-Api-Key: {MASK}|-u|me:{MASK}"),
        ("post|{'user': 'me', 'password': 'x'}", f"post|{{'user': 'me', 'password': '{MASK}'}}"),
        ("get|https://me:x@host/a?size=1", f"get|https://me:{MASK}@host/a?size=1"),
        (f"get|https://{'t' * 20}@host/a", f"get|https://{MASK}@host/a"),
        ("get|s3://bucket/a?token=x&part=2", f"get|s3://bucket/a?token={MASK}&part=2"),
        (f"use|ghp_{'a' * 36}", f"use|{MASK}"),
        # A flag takes no value, and what only sounds like a secret is none.
        ("ask|--password|--verbose", None),
        ("run|--no-password|lock.py|--use-auth-token|train.py", None),
        ("train|--pad-token|0|--max-tokens|512|--tokenizer|gpt2|--pass|2|--target_token|<s>", None),
        ("train|--key=value|--author=me|--secretary|x|--stop_token=1|--auth_token=true", None),
        ("docker|run|-u|1000:1000|ssh://git@host/a|-p|80:80", None),
        ("python|-c|print('a = b'); key = value", None),
    ],
)
def test_arguments_that_look_like_secrets_are_masked(words: str, kept: str | None) -> None:
    assert "|".join(masked(words.split("|"))) == (words if kept is None else kept)


@pytest.mark.parametrize("piece", ["a-", "a=", "-a", "eyJ-", "x://", "token ", "'a':", "--a ", "a.b"])
def test_long_arguments_are_masked_in_linear_time(piece: str) -> None:
    text = piece * (120_000 // len(piece))
    assert masked(["run", "-c", text]) == ("run", "-c", text)


def test_the_program_gets_its_secrets_and_the_capture_does_not(tmp_path: Path) -> None:
    tell = "import sys, subprocess; subprocess.run([sys.executable, '-c', '', *sys.argv[1:]]); print(sys.argv[1:])"
    command = [sys.executable, "-c", tell, "--password", "hunter2", "https://me:hunter3@host/"]
    done = record(tmp_path, *command, options=["--trace", "cpu"])
    assert done.stdout.decode().strip() == "['--password', 'hunter2', 'https://me:hunter3@host/']"
    path = tmp_path / "run.h5"
    with open_capture(path) as capture:
        told = capture.meta["command_line"]
        told += [process.command for process in capture.processes]
    assert "hunter" not in " ".join(map(str, told))
    assert b"hunter" not in path.read_bytes()
    words = [sys.executable, "-m", "warpline"]
    told = subprocess.run([*words, "info", str(path)], capture_output=True, text=True, check=True).stdout
    assert "--keep-arguments" in told
    again = subprocess.run(
        [*words, "record", "--again", str(path)], capture_output=True, text=True, check=False
    )
    assert again.returncode == 125
    assert f"--password '{MASK}'" in again.stderr
    assert "run-2.h5" in again.stderr
    assert not (tmp_path / "run-2.h5").exists()


def test_arguments_can_be_kept(tmp_path: Path) -> None:
    record(tmp_path, "true", "--password=hunter2", options=["--trace", "cpu", "--keep-arguments"])
    with open_capture(tmp_path / "run.h5") as capture:
        assert capture.meta["command_line"] == ["true", "--password=hunter2"]
