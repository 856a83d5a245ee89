"""Puts hostile statements to a query session, and tells how long each took beyond its limit and what it took of memory.

    python -m tests.fuzz.hostile_sql FILE [--seconds 2] [--memory-mb 256] [--only TEXT]

Each statement ends within its limit and one second more, with at most its memory and 200 MB more, and the next query is
answered. Memory is what the process took at most (anonymous, looked at every 10 ms) beyond what it had before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measuring import table
from tests.unit.query.hostile_statements import GREEDY, REFUSED

from warpline.model.errors import WarplineError
from warpline.query.session import QueryLimits, QuerySession

SLACK_S, SLACK_MB = 1.0, 200
_LOOK_S = 0.01


@dataclass(frozen=True)
class Outcome:
    """What a statement led to: the message, seconds, megabytes, and whether the next query was answered."""

    message: str
    seconds: float
    megabytes: float
    is_next_answered: bool


class _Watch(threading.Thread):
    """The most anonymous memory of the session's process, of each that it starts."""

    def __init__(self, session: QuerySession) -> None:
        super().__init__(daemon=True)
        self.most, self._session, self._is_over = 0.0, session, threading.Event()

    def run(self) -> None:
        """Look until `stop`."""
        while not self._is_over.wait(_LOOK_S):
            self.most = max(self.most, megabytes_of(self._session))

    def stop(self) -> float:
        """Megabytes at most."""
        self._is_over.set()
        self.join()
        return self.most


def megabytes_of(session: QuerySession) -> float:
    """Anonymous memory of the session's process now; 0 where it has ended."""
    process = session._process
    try:
        text = Path(f"/proc/{process.pid}/status").read_text("ascii") if process is not None else ""
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if "RssAnon" in line), 0.0)


def put(session: QuerySession, sql: str, seconds: float) -> Outcome:
    """Put a statement to a session that is ready."""
    session.run("SELECT 1")
    before = megabytes_of(session)
    watch = _Watch(session)
    watch.start()
    begun = time.perf_counter()
    try:
        session.run(sql, limit=100, seconds=seconds)
        message = "rows"
    except WarplineError as error:
        message = " ".join(str(error).split())
    took, most = time.perf_counter() - begun, watch.stop()
    answered = session.run("SELECT count(*) > 0 FROM events").columns[0].python_values() == [True]
    return Outcome(message, took, max(0.0, most - before), answered)


def main() -> int:
    """Returns 1 when a statement read, wrote, loaded, or took more than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--memory-mb", type=int, default=256)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    bad, rows = 0, []
    with tempfile.TemporaryDirectory(prefix="warpline-hostile-") as name:
        folder = Path(name)
        secret = folder / "secret.csv"
        secret.write_text("a,b\n1,2\n", "utf-8")
        limits = QueryLimits(arguments.seconds, arguments.memory_mb << 20)
        with QuerySession([arguments.file], limits) as session:
            for sql in (*REFUSED, *GREEDY):
                if arguments.only not in sql:
                    continue
                outcome = put(
                    session,
                    sql.format(secret=secret, folder=folder) if sql in REFUSED else sql,
                    arguments.seconds,
                )
                is_bad = (
                    (sql in REFUSED and outcome.message == "rows")
                    or not outcome.is_next_answered
                    or outcome.seconds > arguments.seconds + SLACK_S
                    or outcome.megabytes > arguments.memory_mb + SLACK_MB
                    or [path.name for path in folder.iterdir()] != [secret.name]
                )
                bad += is_bad
                rows.append(
                    (
                        f"{outcome.seconds:.2f}",
                        f"{outcome.megabytes:.0f}",
                        "BAD" if is_bad else "",
                        sql[:60],
                        outcome.message[:60],
                    )
                )
    table(("seconds", "MB", "", "statement", "answer"), rows)
    print(f"{len(rows)} statements at {arguments.seconds:g} s and {arguments.memory_mb} MB, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
