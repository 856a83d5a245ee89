"""A process that makes snapshots of a running recording for its parent process.

It reads one JSON object a line from its standard input, makes a snapshot (``since_ns``, ``output``) or a tick
(``tick``, ``anew``) for each, and answers with one line: its fields, or ``failed`` with the reason. It ends with its
standard input, also while it works, and removes its snapshots.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.lone_numpy import load_numpy
from warpline.model.errors import Cancelled, WarplineError
from warpline.own_python import own_python
from warpline.platform.held_folders import TemporaryFolder

if TYPE_CHECKING:
    from warpline.recording.live.snapshots import SnapshotMaker
    from warpline.recording.live.ticks import Ticker

NICE = 5
"""Niceness of the process: about a quarter of a core where the recorded program uses all of them."""


def snapshot_command(directory: Path) -> list[str]:
    """The command that starts this process for a spool directory."""
    return [*own_python("warpline.recording.live.process"), str(directory), str(NICE)]


def main(directory: Path, nice: int = NICE) -> int:
    """Serve until the standard input ends; returns the exit status."""
    _step_back(nice)
    load_numpy()
    from warpline.recording.live.snapshots import SnapshotMaker
    from warpline.recording.live.ticks import Ticker

    folder = _folder_for(directory)
    maker, ticker = SnapshotMaker(directory, folder.path), Ticker(directory, folder.path)
    try:
        while line := sys.stdin.buffer.readline():
            answer = _answer(line, maker, ticker)
            if answer is None:
                break
            print(json.dumps(answer), flush=True)
    except (BrokenPipeError, KeyboardInterrupt):
        return 1
    finally:
        maker.close()
        ticker.close()
        folder.close()
    return 0


def _folder_for(directory: Path) -> TemporaryFolder:
    """A folder beside the spool, on the disk that must hold the capture anyway; $TMPDIR often has less space."""
    try:
        return TemporaryFolder(directory.absolute().parent)
    except OSError:
        return TemporaryFolder(Path(tempfile.gettempdir()))


def _answer(line: bytes, maker: SnapshotMaker, ticker: Ticker) -> dict[str, Any] | None:
    """The answer to a request; None when nobody waits for it any more."""
    try:
        request = json.loads(line)
        if request.get("tick"):
            return dict(ticker.tick(anew=bool(request["anew"]), cancelled=_is_deserted).as_values())
        output = Path(request["output"]) if request.get("output") else None
        return dict(maker.make(int(request["since_ns"]), output, _is_deserted).as_values())
    except Cancelled:
        return None
    except (WarplineError, MemoryError, ValueError, KeyError, TypeError) as error:
        return {"failed": str(error) or type(error).__name__}
    except OSError as error:
        return {"failed": f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")}


def _is_deserted() -> bool:
    poller = select.poll()
    poller.register(sys.stdin.fileno(), 0)
    return any(events & select.POLLHUP for _descriptor, events in poller.poll(0))


def _step_back(nice: int) -> None:
    """Lower our priority, to leave the cores to the recorded program."""
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        os.nice(nice)
    # Where sessions are scheduled as groups, niceness counts only within one; the group has its own.
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
