"""What calls on descriptors say that these lead to, found out without asking where the program has said it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.native.conftest import HERE, compile_c

import warpline

PROGRAM = """
import ctypes, os, select, socket, subprocess, sys, threading
import _posixshmem
libc = ctypes.CDLL(None)
libc.fdopen.restype, libc.fclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
folder, told = sys.argv[1], os.dup(1)
os.chdir(folder)

def talk(server, client, address):
    server.listen()
    accepted = []
    thread = threading.Thread(target=lambda: accepted.append(server.accept()[0]))
    thread.start()
    client.connect(address)
    thread.join()
    for end in (client, client.dup(), accepted[0], accepted[0].dup()):
        end.send(b"x")
    for end in (client, accepted[0]):
        end.recv(2)

server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
server.bind(f"{folder}/listening")
talk(server, client, f"{folder}/listening")
server, client = socket.create_server(("127.0.0.1", 0)), socket.socket()
talk(server, client, server.getsockname())
print(server.getsockname()[1], client.getsockname()[1])
refused = socket.socket()
refused.bind(("127.0.0.1", 0))
print(refused.getsockname()[1], flush=True)
socket.socket().connect_ex(refused.getsockname())
for path in (f"{folder}/whole", "relative"):
    written = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(written, b"text", 0)
    os.close(written)
read, write = os.pipe()  # the number that the file had
pipe = os.fstat(read).st_ino
os.write(write, b"x")
os.read(read, 1)
os.dup2(os.open(f"{folder}/whole", os.O_RDONLY), read)
os.pread(read, 4, 0)
name = f"warpline-{os.getpid()}"
shared = _posixshmem.shm_open(f"/{name}", os.O_RDWR | os.O_CREAT, 0o600)
_posixshmem.shm_unlink(f"/{name}")
os.pwrite(shared, b"text", 0)
log = os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT)
reads, writes = os.pipe()
os.dup2(writes, 1)
os.writev(1, [b"x"])
subprocess.run(["/bin/true"], stdout=log)  # its child of vfork has all our memory
os.writev(1, [b"x"])
gone = os.open(f"{folder}/gone", os.O_RDONLY | os.O_CREAT)
libc.fclose(libc.fdopen(gone, b"r"))  # a call that nobody tells of
waits, ends = os.pipe()
assert waits == gone
for _ in range(2):
    alone = select.poll()
    alone.register(waits, select.POLLIN)
    alone.poll(10)
said = name, f"pipe:[{pipe}]", f"pipe:[{os.fstat(reads).st_ino}]", f"pipe:[{os.fstat(waits).st_ino}]"
os.write(told, " ".join(said).encode())
"""


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, list[str], warpline.CaptureReader]]:
    folder = tmp_path_factory.mktemp("texts")
    said = _record(folder / "run.h5", sys.executable, "-c", PROGRAM, str(folder))
    with warpline.open(folder / "run.h5") as capture:
        yield folder, said, capture


def _record(output: Path, *program: str) -> list[str]:
    """The words that the program prints."""
    command = [sys.executable, "-m", "warpline", "record", "-q", "--no-check", "--osrt-threshold", "0"]
    done = subprocess.run(
        [*command, "-o", str(output), "--", *program],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return done.stdout.split()


def _texts(capture: warpline.CaptureReader, *names: str) -> list[str]:
    calls = capture.events("osrt").to_pandas().sort_values("start_ns")
    return [text for text in calls[calls.name.isin(names)]["object"] if isinstance(text, str)]


def test_ends_of_a_unix_socket_say_its_path_and_not_which_one_it_was(
    recorded: tuple[Path, list[str], warpline.CaptureReader],
) -> None:
    folder, _said, capture = recorded
    client, server = f"socket: {folder}/listening", f"socket: from {folder}/listening"
    sent = [text for text in _texts(capture, "send") if "listening" in text]
    assert sent == [client, client, server, server]
    assert [text for text in _texts(capture, "recv") if "listening" in text] == [client, server]
    assert _texts(capture, "connect")[0] == client
    assert _texts(capture, "accept")[0] == server


def test_ends_of_a_connection_say_both_addresses_whoever_copied_them(
    recorded: tuple[Path, list[str], warpline.CaptureReader],
) -> None:
    _folder, said, capture = recorded
    server, client = (f"127.0.0.1:{port}" for port in said[:2])
    sent = [text for text in _texts(capture, "send") if "127.0.0.1" in text]
    ends = [f"{server} from {client}"] * 2 + [f"{client} from {server}"] * 2
    assert [text.partition(" ")[2] for text in sent] == ends
    assert sent[0] == sent[1]
    assert sent[2] == sent[3]
    assert _texts(capture, "connect")[1] == sent[0]


def test_a_connection_that_is_refused_says_whom_it_asked(
    recorded: tuple[Path, list[str], warpline.CaptureReader],
) -> None:
    _folder, said, capture = recorded
    assert _texts(capture, "connect")[-1] == f"socket: 127.0.0.1:{said[2]}"


def test_files_say_their_path_and_numbers_that_are_given_anew_what_they_lead_to_now(
    recorded: tuple[Path, list[str], warpline.CaptureReader],
) -> None:
    folder, said, capture = recorded
    written = [str(folder / "whole"), str(folder / "relative"), f"/dev/shm/{said[3]}"]
    assert _texts(capture, "pwrite") == written
    assert _texts(capture, "pread")[-1] == str(folder / "whole")
    assert _texts(capture, "write").count(said[4]) == _texts(capture, "read").count(said[4]) == 1
    assert f"/dev/shm/{said[3]}" in _texts(capture, "open")


def test_what_a_child_of_vfork_does_to_its_numbers_says_nothing_of_ours(
    recorded: tuple[Path, list[str], warpline.CaptureReader],
) -> None:
    _folder, said, capture = recorded
    assert _texts(capture, "writev") == [said[5]] * 2


def test_a_file_that_was_closed_unseen_is_not_what_a_long_call_names(
    recorded: tuple[Path, list[str], warpline.CaptureReader],
) -> None:
    folder, said, capture = recorded
    assert str(folder / "gone") in _texts(capture, "open")
    assert _texts(capture, "poll")[-2:] == [said[6]] * 2


def test_numbers_that_were_closed_by_the_range_or_given_by_dup_keep_no_name(tmp_path: Path) -> None:
    program = compile_c(tmp_path / "numbers", [HERE / "programs" / "numbers.c"])
    said = _record(tmp_path / "run.h5", str(program), str(tmp_path / "file"))
    with warpline.open(tmp_path / "run.h5") as capture:
        assert _texts(capture, "pwrite") == [str(tmp_path / "file")] * 3
        assert _texts(capture, "readv") == [pipe for pipe in said for _ in range(2)]
        (sent,) = _texts(capture, "send")
        (received,) = _texts(capture, "recv")
    assert sent.partition(" paired with ")[::2] == received.partition(" paired with ")[::-2]
