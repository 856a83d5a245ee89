"""What a kind of work is, and the kinds that more than one line or stack shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.work.source_lines import SourceLine
from warpline.i18n import english


@dataclass(frozen=True, kw_only=True)
class WorkKind:
    """A kind of work.

    ``frames`` matches a library frame (``file:function``) called by the line, ``line`` tells by the source. When both
    are given, either is enough. ``doing`` completes "Most time goes to …". ``refutation`` says what would show that the
    kind is not the problem. Without ``has_gain`` the wall time need not fall: a busy loop waits for something else.
    ``is_native`` work calls no function of a library, so time in one is something else. ``stays`` is the share (0–1)
    of the time that the remedy leaves; ``origin`` says what the line is that causes the
    cost, where that is another one. ``when_spread`` is the remedy where every core does the work already: nothing is
    gained then by more threads.
    """

    key: str
    doing: str
    remedy: str
    refutation: str
    frames: re.Pattern[str] | None = None
    line: Callable[[SourceLine], bool] | None = None
    worst: Severity = Severity.CRITICAL
    has_gain: bool = True
    is_native: bool = False
    stays: float = 0.0
    origin: str = ""
    when_spread: str = ""


EXCEPTIONS = WorkKind(
    key="exceptions",
    doing=english("raising and catching exceptions in a loop"),
    remedy=english(
        "Test the value first (str.isdigit, in, dict.get), so that the usual case raises nothing."
    ),
    refutation=english("Refuted if the except clauses run rarely."),
)
FILE_AGAIN = WorkKind(
    key="file_read_again",
    doing=english("opening and reading the same file again"),
    remedy=english(
        "Read the file once and keep its contents, map it (mmap), or check its modification time first."
    ),
    refutation=english("Refuted if the file changes between reads."),
)
SMALL_CALLS = WorkKind(
    key="small_calls",
    doing=english("many system calls with few bytes each"),
    remedy=english("Use a buffer: read or write in pieces of 64 KB or more, and flush rarely."),
    refutation=english("Refuted if the program is as slow with the same bytes in fewer calls."),
)
LOG_ARGUMENTS = WorkKind(
    key="log_arguments",
    doing=english("log calls whose message is not written: computing arguments, testing the level"),
    remedy=english(
        "Ask logger.isEnabledFor(level) once before the loop, or hand over the value itself and let logging format it "
        "(%s): arguments are computed before the level is tested."
    ),
    refutation=english("Refuted if the message is written."),
)
COMPILED_ONCE = WorkKind(
    key="regex_compiled_once",
    doing=english("compiling regular expressions in one stretch"),
    remedy=english("Nothing, if every pattern is used; otherwise compile a pattern when it is first needed."),
    refutation=english("Refuted if a pattern is compiled more than once."),
    worst=Severity.NOTE,
    has_gain=False,
)
DROPPED_RESULTS = WorkKind(
    key="dropped_results",
    doing=english("computing results again that a size-limited cache dropped"),
    origin=english("The cache is limited at {place}; it keeps missing until the end of the range."),
    remedy=english(
        "If the same keys come again (cache_info() counts hits and misses), give the cache room for all of them, or "
        "process the items key by key."
    ),
    refutation=english("Refuted if the cache has few misses, or if no key comes again."),
    worst=Severity.WARNING,
)
MAYBE_DROPPED = replace(DROPPED_RESULTS, worst=Severity.NOTE)
"""Where nothing shows that a key comes again."""
OBJECT_ARRAYS = WorkKind(
    key="object_arrays",
    doing=english(
        "computing with arrays of Python objects (dtype object), element by element in the interpreter"
    ),
    origin=english("Such an array is made at {place}."),
    remedy=english(
        "Give the array a number type when it is made: np.array(values, dtype=np.float64), with nan for missing values."
    ),
    refutation=english("Refuted if the dtype of the array is not object."),
    stays=0.1,
)
COLUMNS = WorkKind(
    key="columns",
    doing=english(
        "reading single columns of a row-major array: each value costs a whole cache line (stride)"
    ),
    origin=english("The array is made at {place}."),
    remedy=english(
        "Store the array by columns (order='F', np.asfortranarray), transpose a contiguous copy once, or work on all "
        "columns at once."
    ),
    refutation=english("Refuted if the array is stored by columns, has few columns, or fits in the cache."),
    stays=0.125,
)
"""A cache line of 64 bytes holds eight 8-byte numbers, of which a column uses one."""
