"""Prints the report of Paddle's older profiler, in its layout (``profiler_helper.h`` of PaddlePaddle)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.profiling.results import ProfilerResult

if TYPE_CHECKING:
    from warpline.analysis.paddle.older.profile import EventLine, OlderProfile, TimedPlace, TracerOption

_SORTED_BY: dict[str, tuple[str, Callable[[EventLine], float]]] = {
    "calls": ("number of calls", lambda line: line.calls),
    "total": ("total time", lambda line: line.total),
    "max": ("maximum time", lambda line: line.most),
    "min": ("minimum time", lambda line: line.least),
    "ave": ("average time", lambda line: line.average),
}
_RULE = "-" * 25
_CELL = 12


def older_report(
    result: ProfilerResult, sorted_key: str | None = None, place: str = "All", detail: str = "Default"
) -> str:
    """The report of a recording: its head, copies, and events with times in ms.

    ``sorted_key`` is ``calls``, ``total``, ``max``, ``min`` or ``ave``; otherwise lines are in order of their first
    end. ``place`` is ``CPU``, ``CUDA`` or ``All``, ``detail`` a name of `TracerOption`. Several threads are shown
    merged, and then apart, the latest first. Raises WarplineError when the recording cannot be read.
    """
    from warpline.analysis.framework.selection import View
    from warpline.analysis.paddle.older.profile import TimedPlace, TracerOption, older_profile
    from warpline.library.selecting import select

    with result.open() as capture:
        span = result.span_ns(int(capture.metadata.get("start_monotonic_ns", 0)))
        view = View(capture.storage, select(capture.storage, capture.path, span))
        profile = older_profile(view, TimedPlace(place), TracerOption[detail])
    return report_text(profile, sorted_key, TimedPlace(place), TracerOption[detail])


def report_text(
    profile: OlderProfile, sorted_key: str | None, place: TimedPlace, detail: TracerOption
) -> str:
    """The report of lines that were computed for the same place."""
    if not profile.merged:
        return tr("No profiling report: no operator or range was recorded")
    order, key = _SORTED_BY.get(sorted_key or "", ("event first end time", None))
    printer = _Printer(place, detail, key)
    head = [
        f"Place: {place.value}",
        "Time unit: ms",
        f"Sorted by {order} in descending order in the same thread",
        "",
    ]
    title = ["", f"{_RULE}>     Profiling Report     <{_RULE}", ""]
    overhead = _overhead(profile)
    if len(profile.threads) < 2:
        return "\n".join([*title, *head, *overhead, *printer.table([("thread0::", profile.merged)])])
    threads = [(f"thread{number}::", lines) for number, lines in enumerate(profile.threads)]
    note = "Note! This Report merge all thread info into one."
    parts = [*title, note, *head, *overhead, *printer.table([("", profile.merged)])]
    return "\n".join([*parts, *title, *head, *printer.table(threads[::-1])])


def _overhead(profile: OlderProfile) -> list[str]:
    """Computation, framework overhead and copies."""
    total, computing = profile.total_ns, profile.computing_ns
    parts = [("  Computation time", computing)]
    parts.append(("  Framework overhead", None if computing is None else total - computing))
    copies = [(name, *profile.copies(name)) for name in ("GpuMemcpyAsync", "GpuMemcpySync")]
    both = ("GpuMemcpy", sum(calls for _, calls, _ in copies), sum(time for _, _, time in copies))
    shown = [both, *((f"  {name}", calls, time) for name, calls, time in copies if calls)]
    return [
        f"{_RULE}     Overhead Summary      {_RULE}",
        "",
        f"Total time: {_ms(total)}",
        *(f"{name:<25}{_total(time, total)}" for name, time in parts),
        "",
        f"{_RULE}     GpuMemCpy Summary     {_RULE}",
        "",
        *(f"{name:<25}Calls: {calls:<{_CELL}}{_total(time, total)}" for name, calls, time in shown),
        "",
    ]


def _total(time_ns: int | None, whole_ns: int) -> str:
    if time_ns is None:
        return tr("not recorded, because no part of an operator says that it computes")
    ratio = 100 * time_ns / whole_ns if whole_ns else 0.0
    return f"Total: {_ms(time_ns):<{_CELL}}Ratio: {_six(ratio)}%"


class _Printer:
    """Prints lines of the event summary."""

    def __init__(
        self, place: TimedPlace, detail: TracerOption, key: Callable[[EventLine], float] | None
    ) -> None:
        self._has_sides = place.value == "All"
        self._detail = detail
        self._key = key

    def table(self, sections: list[tuple[str, list[EventLine]]]) -> list[str]:
        """The event summary; names of the outermost lines begin with the first of each pair."""
        rows = [row for prefix, lines in sections for row in self._rows(lines, prefix, prefix, 0)]
        width = max(len(name.lstrip()) for name, _ in rows) + 8
        sides = "".join(f"{side} Time (Ratio)".ljust(2 * _CELL) for side in ("CPU", "GPU"))
        titles = (
            "Calls".ljust(_CELL)
            + "Total".ljust(_CELL)
            + (sides if self._has_sides else "")
            + "".join(title.ljust(_CELL) for title in ("Min.", "Max.", "Ave.", "Ratio."))
        )
        return [
            f"{_RULE}       Event Summary       {_RULE}",
            "",
            "Event".ljust(width) + titles,
            *(name.ljust(width) + self._cells(line) for name, line in rows),
            "",
        ]

    def _rows(
        self, lines: list[EventLine], prefix: str, thread: str, depth: int, above: str = ""
    ) -> Iterator[tuple[str, EventLine]]:
        from warpline.analysis.paddle.older.profile import shown

        if self._key is not None:
            key = self._key
            lines = sorted(lines, key=lambda line: -key(line))
        for line in lines:
            name = prefix + line.name
            if line.is_part and "/" not in name:
                # Paddle names a part with its operator, and that with its thread.
                name = f"{thread if depth == 1 else ''}{above}/{line.name}"
            yield "  " * depth + name, line
            yield from self._rows(shown(line, self._detail), "", thread, depth + 1, line.name)

    def _cells(self, line: EventLine) -> str:
        sides = ""
        if self._has_sides:
            whole = line.total or 1
            texts = (f"{time / 1e6:.6f} ({time / whole:.6f})" for time in (line.cpu, line.gpu))
            sides = "".join(text.ljust(2 * _CELL) for text in texts)
        times = (_ms(time) for time in (line.least, line.most, line.average))
        return (
            str(line.calls).ljust(_CELL)
            + _ms(line.total).ljust(_CELL)
            + sides
            + "".join(text.ljust(_CELL) for text in (*times, _six(line.ratio)))
        )


def _ms(time_ns: float) -> str:
    return _six(time_ns / 1e6)


def _six(value: float) -> str:
    """A number with six significant digits, as C++ streams print it."""
    return f"{value:.6g}"
