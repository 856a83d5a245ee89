"""`QuerySession`: queries over captures in a process of their own, which is ended when it takes too long."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec

from warpline.extras import install_command
from warpline.i18n import language, tr
from warpline.model import Cancelled, NotRecordedError, UsageError, WarplineError
from warpline.own_python import own_python
from warpline.query.wire import Parameters, ResultColumn, read_message, write_message

MOST_CAPTURES = 256
"""Captures in one session."""
LEAST_MEMORY = 64 << 20
_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "USERPROFILE",
)
_START_S = 5.0
"""Longer than a process needs to start on a busy machine."""
_ABORTED = signal.SIGABRT
"""How it ends when DuckDB cannot get memory where it cannot say so."""
_BROKEN = (-signal.SIGSEGV, -getattr(signal, "SIGBUS", signal.SIGSEGV))
"""How the process ends when a query outgrows its stack."""
_PASSED_ON_BEGINNINGS = ("LC_", "XDG_", "WARPLINE_", "APPDATA", "LOCALAPPDATA")


class QueryError(UsageError):
    """A query that cannot be answered. ``line`` and ``column`` count from 1; None where the place is unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class QueryNotRecordedError(QueryError, NotRecordedError):
    """A query for something that was not recorded."""


class QueryLimitError(WarplineError):
    """A query that needed more time or memory than it may have."""


@dataclass(frozen=True)
class QueryLimits:
    """What a query may take: seconds, and bytes of memory above what the opened captures need."""

    seconds: float = 30.0
    memory_bytes: int = 1 << 30


@dataclass(frozen=True, eq=False)
class QueryResult:
    """Columns of equal length; ``has_more`` when rows were left out because of the limit that was asked for."""

    columns: tuple[ResultColumn, ...]
    has_more: bool
    seconds: float

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a table: its name, its type in SQL and what it holds."""

    name: str
    type: str
    about: str


@dataclass(frozen=True)
class TableInfo:
    """A table that a query can name. ``rows`` is their number, None where it is not known without counting."""

    name: str
    about: str
    rows: int | None
    columns: tuple[ColumnInfo, ...]


class QuerySession:
    """Queries over captures that are open in a process of their own. Leaving its ``with`` block ends the process.

    Of several captures the first is also called ``a``, the others ``b``, ``c`` … ``z``, ``c27`` …; as ranks of a job
    their tables are together in ``job``. The process needs 0.3 to 0.4 s to
    start: `start` does that early. Queries come from one thread at a time; `cancel` may come from any.
    """

    def __init__(self, paths: Sequence[Path], limits: QueryLimits | None = None) -> None:
        """Raises WarplineError when DuckDB is not installed, UsageError for too many captures or too little memory."""
        if importlib.util.find_spec("duckdb") is None:
            raise WarplineError(
                tr(
                    "SQL needs a package that is not installed; install it with: {command}",
                    command=install_command("sql"),
                )
            )
        if not 0 < len(paths) <= MOST_CAPTURES:
            raise UsageError(tr("1 to {most} captures can be queried together", most=MOST_CAPTURES))
        self._paths = [str(path.absolute()) for path in paths]
        self._limits = limits or QueryLimits()
        if self._limits.memory_bytes < LEAST_MEMORY:
            raise UsageError(tr("a query needs at least {mega} MB of memory", mega=LEAST_MEMORY >> 20))
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._is_cancelled = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process without waiting for it."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        process = subprocess.Popen(
            own_python("warpline.query.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
        self._process = process
        if process.stdin is None:
            return
        opening = {
            "paths": self._paths,
            "memory_bytes": self._limits.memory_bytes,
            "threads": max(1, min(8, os.cpu_count() or 1)),
            "language": language(),
        }
        with contextlib.suppress(OSError):  # it ended: the next answer says so
            write_message(process.stdin, opening)

    def run(
        self,
        sql: str,
        parameters: Parameters = None,
        *,
        limit: int | None = None,
        seconds: float | None = None,
    ) -> QueryResult:
        """The result of a query, or its first ``limit`` rows.

        ``parameters`` stand for ``?`` (a sequence) or ``$name`` (a mapping) in it. ``seconds`` is its time limit
        instead of the session's.

        Raises QueryError for what is wrong with the query, QueryNotRecordedError, QueryLimitError, Cancelled; other
        WarplineErrors when a capture cannot be opened.
        """
        with self._lock:
            most = self._limits.seconds if seconds is None else seconds
            request = {"sql": sql, "parameters": parameters, "limit": limit, "seconds": most}
            _check_texts(request)
            was_used = self._is_ready
            self._begin()
            stop = time.monotonic() + most
            answer = self._ask(request, most)
            if answer.get("kind") == "memory":
                # What earlier queries left in the process counts as well: the next one gets a new process, and so does
                # this one while there is time.
                self.close()
                if was_used and stop - time.monotonic() > _START_S and not self._is_cancelled:
                    self.start()
                    self._await_ready()
                    left = stop - time.monotonic()
                    answer = self._ask(request, left) if left > 0 else answer
        if "failed" in answer:
            raise _error_of(answer, self._limits)
        columns = tuple(ResultColumn.unpacked(column) for column in answer["columns"])
        return QueryResult(columns, bool(answer["has_more"]), float(answer["seconds"]))

    def schema(self) -> tuple[TableInfo, ...]:
        """The tables that a query can name, of the first capture.

        Raises WarplineError when a capture cannot be opened.
        """
        with self._lock:
            self._begin()
            answer = self._ask({"schema": True}, None)
        if "failed" in answer:
            raise _error_of(answer, self._limits)
        return tuple(
            TableInfo(
                name=table["name"],
                about=table["about"],
                rows=table["rows"],
                columns=tuple(ColumnInfo(*column) for column in table["columns"]),
            )
            for table in answer["tables"]
        )

    def cancel(self) -> None:
        """End the query that runs, from any thread; `run` raises Cancelled. The next query starts a new process."""
        self._is_cancelled = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process."""
        process, self._process, self._is_ready = self._process, None, False
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()

    def _begin(self) -> None:
        if self._is_cancelled:  # when no query ran: the process may be about to end
            self.close()
            self._is_cancelled = False
        self.start()
        self._await_ready()

    def _await_ready(self) -> None:
        if self._is_ready:
            return
        answer = self._ask(None, None)
        if "failed" in answer:
            self.close()
            raise _error_of(answer, self._limits)
        self._is_ready = True

    def _ask(self, request: dict[str, Any] | None, seconds: float | None) -> dict[str, Any]:
        """Send a request and wait for the answer; the process is ended when time is over."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise Cancelled(tr("cancelled"))
        timer = None if seconds is None else threading.Timer(seconds, process.kill)
        begun = time.monotonic()
        answer: Any = None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            with contextlib.suppress(OSError, ValueError):
                if request is not None:
                    write_message(process.stdin, request)
                answer = read_message(process.stdout)
        except BaseException:
            # Interrupted: the answer that still comes is not that of the next query.
            self.close()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if isinstance(answer, dict):
            return answer
        status = process.wait()
        self.close()
        if self._is_cancelled:
            raise Cancelled(tr("cancelled"))
        if seconds is not None and time.monotonic() - begun >= seconds:
            raise QueryLimitError(
                tr(
                    "the query took longer than {seconds:g} s; narrow it, for example to a time range, or allow more "
                    "time",
                    seconds=seconds,
                )
            )
        if status in _BROKEN:
            return {"failed": tr("the query is too large or nested too deeply"), "kind": "usage"}
        if status == -_ABORTED:
            return {"failed": "", "kind": "memory"}
        text = tr(
            "the process that runs queries was ended ({how}), perhaps because the computer ran out of memory; run the "
            "query again",
            how=_end_of(status),
        )
        return {"failed": text, "kind": "error"}


def _check_texts(request: dict[str, Any]) -> None:
    """Raises QueryError for what no message holds, such as half a surrogate pair: bytes that are not UTF-8."""
    try:
        msgspec.msgpack.encode(request)
    except UnicodeEncodeError as error:
        raise QueryError(tr("the query has characters that are not UTF-8")) from error


def _environment() -> dict[str, str]:
    """What the process gets of the environment: nothing that a query could tell others."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_BEGINNINGS)
    }
    # glibc reserves 64 MB of addresses for each thread otherwise, which count against the limit.
    return {**found, "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _end_of(status: int) -> str:
    """How a process ended, by its status."""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return tr("status {status}", status=status)


def _error_of(answer: dict[str, Any], limits: QueryLimits) -> WarplineError:
    text, kind = str(answer["failed"]), answer.get("kind")
    if kind == "memory":
        return QueryLimitError(
            tr(
                "the query needed more than {mega:,} MB of memory; select fewer columns or rows, or allow more, for "
                "example warpline query --memory 4G",
                mega=limits.memory_bytes >> 20,
            )
        )
    if kind in {"usage", "not recorded"}:
        error = QueryError if kind == "usage" else QueryNotRecordedError
        return error(text, answer.get("line"), answer.get("column"))
    return WarplineError(text)
