"""The process that runs queries: one capture or several, one query after the other, within limits.

The system limits its memory (``RLIMIT_AS``); the process that started it kills it when the time is over. It reads
messages (`warpline.query.wire`) from its standard input and ends with it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import IO, Any

from warpline.i18n import install
from warpline.lone_numpy import load_numpy
from warpline.model.errors import NotRecordedError, UsageError, WarplineError
from warpline.platform.limits import end_after, limit_memory
from warpline.query.wire import read_message, write_message

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LATER_S = 0.5


def schemas(count: int) -> list[str]:
    """What the captures of a session are called: ``a``, ``b`` … ``z``, ``c27``, ``c28`` …"""
    return [_LETTERS[place] if place < len(_LETTERS) else f"c{place + 1}" for place in range(count)]


def main() -> int:
    """Serve until the standard input ends; returns the exit status."""
    requests, answers = _own_streams()
    opening = read_message(requests)
    if opening is None:
        return 0
    install(opening["language"])
    load_numpy()
    try:
        service = _Service(opening)
    except (WarplineError, MemoryError, OSError) as error:
        write_message(answers, {"failed": str(error) or type(error).__name__, "kind": _kind_of(error)})
        return 1
    write_message(answers, {"ready": True})
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        while (request := read_message(requests)) is not None:
            write_message(answers, service.answer(request))
    return 0


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for messages alone: what a library prints goes to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


class _Service:
    """Captures, their catalogs and the database."""

    def __init__(self, opening: dict[str, Any]) -> None:
        from warpline.query.binding import Binder
        from warpline.query.catalog import Catalog
        from warpline.query.guard import connect
        from warpline.query.raw_tables import Keys
        from warpline.storage import open_capture

        paths = [Path(path) for path in opening["paths"]]
        captures = [open_capture(path) for path in paths]
        memory = int(opening["memory_bytes"])
        self._connection = connect(memory, int(opening["threads"]))
        # Its threads exist before memory is limited: each reserves addresses.
        self._connection.execute("SELECT sum(i) FROM range(300000) t(i)").fetchall()
        keys = Keys()
        names = ["main"] if len(captures) == 1 else schemas(len(captures))
        catalogs = [Catalog(capture, name, keys) for capture, name in zip(captures, names, strict=True)]
        if len(captures) > 1:
            catalogs.insert(0, Catalog(captures[0], "main", keys))
        self._binder = Binder(self._connection, catalogs)
        limit_memory(memory)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a query: its columns, or what is wrong."""
        import duckdb

        from warpline.query.errors import explained

        sql = str(request.get("sql", ""))
        begun = time.perf_counter()
        _end_after(float(request.get("seconds") or 0))
        try:
            if request.get("schema"):
                return {"tables": self._binder.tables()}
            columns, has_more = self._binder.run(sql, request.get("parameters"), request.get("limit"))
            packed = [column.packed() for column in columns]
        except duckdb.Error as error:
            return explained(error, self._binder.asked, self._binder.offset, self._binder.catalogs)
        except MemoryError:
            return {"failed": "", "kind": "memory"}
        except (WarplineError, RecursionError) as error:
            return {"failed": str(error), "kind": _kind_of(error)}
        except Exception as error:
            if "bad_alloc" in str(error):
                return {"failed": "", "kind": "memory"}
            # A defect is told as one, and the next query is answered.
            return {"failed": f"{type(error).__name__}: {error}", "kind": "error"}
        finally:
            _end_after(0)
        seconds = time.perf_counter() - begun
        return {"columns": packed, "has_more": has_more, "seconds": seconds}


def _end_after(seconds: float) -> None:
    """End this process a little after its time is over; 0 cancels that. The process that asked, if it is still there,
    kills it before.
    """
    end_after(seconds + _LATER_S if seconds else 0)


def _kind_of(error: BaseException) -> str:
    if isinstance(error, NotRecordedError):
        return "not recorded"
    return (
        "usage" if isinstance(error, UsageError) else "memory" if isinstance(error, MemoryError) else "error"
    )


if __name__ == "__main__":
    sys.exit(main())
