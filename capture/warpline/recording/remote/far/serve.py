"""Answers one request on the other machine: the far end of a connection."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import Any

from warpline.model.errors import WarplineError
from warpline.recording.remote.far.agent_check import check_agent
from warpline.recording.remote.far.keeper import Keeper
from warpline.recording.remote.far.machine_files import machine_files
from warpline.recording.remote.far.places import (
    INFO_FILE,
    clean,
    connect,
    known_runs,
    new_run,
    read_json,
    remove_old_versions,
    remove_run,
    runs_folder,
    write_json,
)
from warpline.recording.remote.far.streams import Streams
from warpline.recording.remote.far.watching import watch
from warpline.recording.remote.frames import FrameError, FrameReader, FrameType, packed_json, values_of
from warpline.recording.symbols import library


def serve(root: Path, held: int = -1) -> int:
    """Read the request from standard input and answer it. ``root`` is this version's folder, ``held`` holds it."""
    # Functions are named at the other end.
    library.require_elf_reader = lambda: None
    try:
        request = _read_request()
        action = request.get("action")
        if action in {"record", "attach", "doctor"}:
            check_agent(root)
        if action in {"record", "attach"}:
            return _start(root, request)
        if action == "resume":
            return _resume(root, request)
        if action == "file":
            return _send_file(request)
        if action == "watch":
            return watch(request)
        _say(FrameType.REPLY, _answer(root, request, held))
    except (WarplineError, FrameError, OSError) as error:
        _say(FrameType.FAILED, {"message": str(error)})
        return 1
    return 0


def _read_request() -> dict[str, Any]:
    reader = FrameReader()
    # Byte by byte where frames end: what follows belongs to the keeper.
    head = _exactly(5)
    reader.feed(head)
    ((kind, body),) = reader.feed(_exactly(int.from_bytes(head[1:], "little")))
    if kind is not FrameType.REQUEST:
        raise FrameError("the first frame is no request")
    return values_of(body)


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            raise FrameError("the connection was lost")
        data += part
    return data


def _send_file(request: dict[str, Any]) -> int:
    """Send a file, unless the other end already has it."""
    path = os.path.join(os.path.expanduser("~"), str(request["path"]))
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise FrameError(f"{path}: is not a regular file")
    values = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
    is_same = values == request.get("known")
    _say(FrameType.REPLY, {**values, "is_same": is_same})
    if not is_same:
        for frame in machine_files([path], status.st_size):
            _write(frame)
    return 0


def _say(kind: FrameType, values: dict[str, Any]) -> None:
    _write(packed_json(kind, values))


def _write(data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(1, data) :]


def _answer(root: Path, request: dict[str, Any], held: int) -> dict[str, Any]:
    """Answer a request that needs no further frames."""
    action = request.get("action")
    if action == "doctor":
        from dataclasses import asdict

        from warpline.recording.doctor import check_sources

        checks = check_sources(every_python=not request.get("quick"))
        uname = os.uname()
        return {
            "sources": [asdict(check) for check in checks],
            "host": uname.nodename,
            "system": f"{uname.sysname} {uname.release} {uname.machine}",
            "python": platform.python_version(),
        }
    if action == "runs":
        return {"runs": known_runs(root)}
    if action == "discard":
        run = _run_folder(root, request.get("run"))
        remove_run(run)
        return {}
    if action == "clean":
        return clean(root, held)
    if action == "control":
        from warpline.recording.control import find_recording, send_command

        fields = request.get("fields") or {}
        return send_command(find_recording(request.get("recording")), request["command"], **fields)
    if action == "control_all":
        from warpline.recording.control import send_to_all

        fields = request.get("fields") or {}
        return {"replies": send_to_all(request.get("recording"), request["command"], **fields)}
    raise FrameError(f"an unknown request: {action}")


def _run_folder(root: Path, name: Any) -> Path:
    run = runs_folder(root) / str(name)
    if os.sep in str(name) or not (run / INFO_FILE).is_file():
        raise FrameError(f"there is no run {name} here")
    return run


def _start(root: Path, request: dict[str, Any]) -> int:
    folder = os.path.expanduser(str(request.get("chdir") or "~"))
    os.chdir(folder)
    shown = {key: request.get(key) for key in ("action", "output", "pid", "with_me")}
    run = new_run(root, str(request["run"]), {**shown, "title": request.get("title", "")})
    # A folder of this run alone, since it is removed as a whole.
    named = request.get("spool")
    request["spool"] = str(Path(folder, named, f"warpline-{run.name}") if named else run / "spool")
    info = read_json(run / INFO_FILE)
    write_json(
        run / INFO_FILE, {**info, "spool": request["spool"], "ring_ns": request["options"].get("ring_ns")}
    )
    remove_old_versions(root)
    return _keep(run, request, is_new=True)


def _resume(root: Path, request: dict[str, Any]) -> int:
    run = _run_folder(root, request.get("run"))
    with contextlib.suppress(OSError):
        return _relay(connect(run), _near_end(request))
    info = read_json(run / INFO_FILE)
    # The keeper was killed or has waited long enough: another one serves what lies on the disk.
    kept = {"spool": info["spool"], "options": {"ring_ns": info.get("ring_ns")}}
    return _keep(run, {**kept, **_near_end(request)}, is_new=False)


def _near_end(request: dict[str, Any]) -> dict[str, Any]:
    """What the keeper should know of the other end."""
    return {name: request.get(name) for name in ("has_held", "zstandard")}


def _keep(run: Path, request: dict[str, Any], *, is_new: bool) -> int:
    """Start the keeper in a session of its own, and hand it the connection."""
    ready_read, ready_write = os.pipe()
    if os.fork() == 0:
        os.close(ready_read)
        os._exit(_be_keeper(run, request, ready_write, is_new=is_new))
    os.close(ready_write)
    os.read(ready_read, 1)
    os.close(ready_read)
    return _relay(connect(run), {"is_new": is_new, **_near_end(request)})


def _be_keeper(run: Path, request: dict[str, Any], ready: int, *, is_new: bool) -> int:
    os.setsid()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # A transport on this machine makes us ignore these signals; the program must not inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    log = os.open(run / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, descriptor in ((0, nothing), (1, nothing), (2, log)):
        os.dup2(descriptor, number)
    streams, recorder, status = None, 0, -1
    if is_new:
        terminal = request.get("terminal")
        streams = Streams(tuple(terminal) if terminal else None) if request["action"] == "record" else None
        recorder, status = _start_recorder(run, request, streams, ready)
        if streams is not None:
            streams.forget_program_ends()
    try:
        keeper = Keeper(run, request, streams, recorder=recorder, status=status)
        os.write(ready, b"1")
        os.close(ready)
        os.chdir("/")
        keeper.keep()
    except Exception:  # a forked process: an error must not run on into the caller's code
        import traceback

        traceback.print_exc()
        return 1
    return 0


def _start_recorder(
    run: Path, request: dict[str, Any], streams: Streams | None, ready: int
) -> tuple[int, int]:
    status_read, status_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready)
        os.close(status_read)
        os.setsid()
        if streams is not None:
            streams.become_standard()
        for name, value in (request.get("environment") or {}).items():
            os.environ[name] = value
        from warpline.recording.remote.far.recording_process import record_here

        try:
            record_here(run, request, status_write)
        finally:  # what is raised here (the disk is full) must not run on: standard output is the program's
            os._exit(0)
    os.close(status_write)
    os.set_blocking(status_read, False)
    return pid, status_read


def _relay(keeper: socket.socket, values: dict[str, Any]) -> int:
    """Hand our standard streams to the keeper and wait until it gives up the connection."""
    import json

    with keeper:
        socket.send_fds(keeper, [json.dumps(values).encode()], [0, 1])
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        with contextlib.suppress(OSError):
            keeper.recv(1)
    return 0


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1])))
