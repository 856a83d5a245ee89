"""What other users of the machine can do to a recording: nothing. Needs root, which can be anybody."""

from __future__ import annotations

import json
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recording.recording_tools import shared_folder

from warpline.cli import main
from warpline.interchange.export.output_files import writing
from warpline.model.errors import RecordingError
from warpline.platform.held_folders import PREFIX, hold
from warpline.recording.control import SOCKET_FILE, ControlServer, _is_allowed, send_command
from warpline.recording.recover import recover
from warpline.recording.session import SESSION_FILE, load_session
from warpline.recording.spool.directory import new_spool
from warpline.storage import CaptureBuilder

SOMEBODY = 65534
as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can be another user"
)


def in_fork(action: Callable[[], str], user: int, meanwhile: Callable[[], object] = lambda: None) -> str:
    """What an action says as a user, or how it fails; ``meanwhile`` is done here over and over until then."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if user:
                os.setgid(user)
                os.setuid(user)
            said = action()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        while not select.select([pipe], [], [], 0.005)[0]:
            meanwhile()
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in which everybody may write, like /tmp."""
    yield from shared_folder()


@as_root
def test_the_socket_of_a_recording_answers_its_own_user(shared: Path) -> None:
    asked: list[object] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request["command"])
        return {"ok": True}

    with closing(ControlServer(shared, answer)) as server:
        os.chmod(shared / SOCKET_FILE, 0o777)  # as if the folder alone did not keep others out
        theirs = in_fork(lambda: str(send_command(shared, "stop")), SOMEBODY, server.serve)
        mine = in_fork(lambda: str(send_command(shared, "status")), 0, server.serve)
    assert "the recording belongs to another user" in theirs
    assert mine == "{'ok': True}"
    assert asked == ["status"]


@as_root
def test_numbers_of_users_have_no_sign() -> None:
    """Those of containers begin beyond 2^31."""
    said = in_fork(lambda: str(_is_allowed(socket.socketpair()[0])), 4_000_000_000)
    if "Error" in said:
        pytest.skip("this container has no such user")
    assert said == "True"


def test_a_reply_without_an_end_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / SOCKET_FILE))
        listening.listen(1)

        def flood() -> None:
            client, _ = listening.accept()
            with client:
                try:
                    while True:
                        client.sendall(b"x" * 65536)
                except OSError:
                    return

        flooding = threading.Thread(target=flood)
        flooding.start()
        with pytest.raises(RecordingError, match="went away"):
            send_command(tmp_path, "status")
        flooding.join()


@as_root
def test_no_spool_is_put_into_a_folder_of_somebody_else(shared: Path) -> None:
    spool = shared / "run.h5.spool"

    def make() -> str:
        spool.mkdir()
        return ""

    in_fork(make, SOMEBODY)
    assert spool.stat().st_uid == SOMEBODY
    with pytest.raises(RecordingError, match="does not belong to this user"), new_spool(spool):
        pass


def test_a_spool_is_for_its_user_alone(tmp_path: Path) -> None:
    for spool in (tmp_path / "new.spool", tmp_path / "open.spool"):
        if spool.name == "open.spool":
            spool.mkdir()
            spool.chmod(0o777)
        with new_spool(spool):
            assert stat.S_IMODE(spool.stat().st_mode) == 0o700
    (tmp_path / "link.spool").symlink_to(tmp_path / "open.spool")
    with (
        pytest.raises(RecordingError, match="does not belong to this user"),
        new_spool(tmp_path / "link.spool"),
    ):
        pass


@as_root
def test_a_spool_of_somebody_else_decides_nothing(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not where root writes, not what root removes; and root is told whose it is."""
    spool = shared / "run.h5.spool"
    target = shared / "of root.h5"
    with new_spool(spool):
        pass
    (spool / SESSION_FILE).write_text(json.dumps({"version": 1, "output": str(target)}))
    kept = shared / f"{PREFIX}of root"
    kept.mkdir()
    of_somebody = shared / f"{PREFIX}of somebody"
    of_somebody.mkdir()
    os.chown(of_somebody, SOMEBODY, SOMEBODY)
    held = hold(kept)
    for path in (spool, *spool.iterdir()):
        os.chown(path, SOMEBODY, SOMEBODY)
    with pytest.raises(RecordingError, match=r"belongs to \w+; name the file to write"):
        recover(spool)
    assert main(["recover", str(spool), "-o", str(shared / "mine.h5")]) == 0
    assert "it is read but not removed" in capsys.readouterr().err
    assert not target.exists()
    assert kept.exists()
    assert of_somebody.exists()
    assert held is not None
    os.close(held)
    assert (spool / SESSION_FILE).exists()


def test_a_pipe_in_place_of_a_session_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / SESSION_FILE)
    with pytest.raises(RecordingError, match="is not a file"):
        load_session(tmp_path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_pipe_in_place_of_a_spool_file_is_neither_waited_for_nor_a_surprise(
    make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = tmp_path / "run.h5.spool"
    with new_spool(spool):
        pass
    (spool / SESSION_FILE).write_text(json.dumps({"version": 1, "output": str(tmp_path / "run.h5")}))
    make(spool / "agent.1.2.spool")
    status = main(["recover", str(spool), "-o", str(tmp_path / "run.h5")])
    said = capsys.readouterr().err
    assert "internal error" not in said
    assert status == 0 or len(said.splitlines()) == 1


def test_what_a_killed_writer_left_goes_when_the_next_is_written(tmp_path: Path) -> None:
    """Its name is not known beforehand, and nobody else may look into it."""

    def killed() -> str:
        builder = CaptureBuilder(tmp_path / "run.h5")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "replace", lambda _part, _path: os._exit(0))
            builder.finish()
        return "not killed"

    assert in_fork(killed, 0) == ""
    left = list(tmp_path.iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in left} == {0o700}
    assert [path for path in left if (path / "run.h5").is_file()]
    with CaptureBuilder(tmp_path / "other.h5") as builder:
        builder.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["other.h5"]


def test_nothing_is_written_through_links_that_lie_in_wait(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "run.h5.part").symlink_to(precious)
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.finish()
    (tmp_path / "run.csv.part").symlink_to(precious)
    (tmp_path / "run.csv").symlink_to(precious)
    with writing(tmp_path / "run.csv") as file:
        file.write(b"new")
    assert precious.read_text() == "kept"
    assert (tmp_path / "run.csv").read_bytes() == b"new"
    assert not (tmp_path / "run.csv").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "precious",
        "run.csv",
        "run.csv.part",
        "run.h5",
        "run.h5.part",
    ]
