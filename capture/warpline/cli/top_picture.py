"""The lines that ``warpline top`` prints about a range of a capture."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.structure.hot_lines import running_lines
from warpline.i18n import tr, tr_n, translated
from warpline.i18n.width import fits, padded, text_width
from warpline.library.selecting import select
from warpline.model.errors import UsageError
from warpline.model.times import format_duration
from warpline.untrusted import listing, one_line

if TYPE_CHECKING:
    from warpline.storage import Capture

_MOST_THREADS = 40
_NAME_COLUMNS, _FEWEST_NAME_COLUMNS, _WIDE = 26, 8, 110
"""Columns for the name of a thread, half of it in a terminal that is not wide."""
_Row = dict[str, Any]


def picture(
    capture: Capture, name: str, start_ns: int, stop_ns: int, recorded_ns: int, width: int | None = None
) -> list[str]:
    """States of threads, what they wait for or run, the hottest line, GPUs and steps in [start, stop).

    ``recorded_ns`` is the length of the whole recording, of which the capture may be a part. In a terminal of ``width``
    columns, names are shortened rather than the files and lines behind them.
    """
    length = max(1, stop_ns - start_ns)
    events = tr_n("{count:,} event", "{count:,} events", len(capture.events))
    lines = [
        tr(
            "{name} · {end} recorded · the last {length} · {events}",
            name=one_line(name),
            end=format_duration(recorded_ns),
            length=format_duration(length),
            events=events,
        )
    ]
    try:
        select(capture, name, (start_ns - capture.span[0], stop_ns - capture.span[0]))
    except UsageError:
        return [*lines, tr("Nothing happened in this time, or nothing was recorded.")]
    hot = running_lines(capture, start_ns, stop_ns)
    lines += _gpus(capture, start_ns, stop_ns) + _steps(capture, start_ns, stop_ns) + _hottest(hot, width)
    return listing([*lines, "", *_threads(capture, start_ns, stop_ns, hot, width)]).split("\n")


def _rows(capture: Capture, report: str, start_ns: int, stop_ns: int) -> list[_Row] | str:
    """The rows of a report of a range; a sentence when there is none."""
    begin = capture.span[0]
    selection = select(capture, capture.path, (start_ns - begin, stop_ns - begin))
    computed = compute_report(capture, report, selection)
    table = computed.table
    if table is None:
        return translated(str(computed.result))
    names = [column.name for column in table.columns]
    columns = [[None if value is np.ma.masked else value for value in table.data[name]] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _gpus(capture: Capture, start_ns: int, stop_ns: int) -> list[str]:
    rows = _rows(capture, "overlap", start_ns, stop_ns) if capture.devices else ""
    if isinstance(rows, str):
        return [tr("GPU: not recorded")]
    lines, gpu = [], ""
    for row in rows:
        if row["activity"] is None:
            gpu = translated(str(row["name"]))
        elif row["activity"] == "busy":
            lines.append(tr("{gpu}: busy {share}", gpu=gpu, share=_percent(row["ratio"])))
    return lines


def _steps(capture: Capture, start_ns: int, stop_ns: int) -> list[str]:
    rows = _rows(capture, "steps", start_ns, stop_ns)
    if isinstance(rows, str) or not rows:
        return []
    rate = 1e9 * len(rows) / max(1, stop_ns - start_ns)
    return [tr("Steps: {rate:.1f} per second", rate=rate)]


def _hottest(hot: dict[int, Counter[str]], width: int | None) -> list[str]:
    everything: Counter[str] = sum(hot.values(), Counter())
    if not everything:
        return [tr("Hottest line: not recorded, or no thread ran Python or sampled native code")]
    line, count = everything.most_common(1)[0]
    share = _percent(count / everything.total())

    def sentence(line: str) -> str:
        return tr("Hottest line: {line}, {share} of the running samples", line=line, share=share)

    return [sentence(line if width is None else shortened(line, width - text_width(sentence(""))))]


def _threads(
    capture: Capture, start_ns: int, stop_ns: int, hot: dict[int, Counter[str]], width: int | None
) -> list[str]:
    states = _rows(capture, "thread_state", start_ns, stop_ns)
    if isinstance(states, str):
        return [tr("Threads: {reason}", reason=states)]
    reasons = _reasons(capture, start_ns, stop_ns)
    indexes = {thread.tid: number for number, thread in enumerate(capture.threads)}
    states.sort(key=lambda row: (-(row["running_ns"] or 0), row["tid"]))
    length = max(1, stop_ns - start_ns)
    titles = "".join(f"{text:>8}" for text in (tr("running"), tr("ready"), tr("waiting")))
    room = _NAME_COLUMNS
    if width is not None and width < _WIDE:
        longest = max((text_width(str(row["name"])) for row in states[:_MOST_THREADS]), default=0)
        room = max(_FEWEST_NAME_COLUMNS, min(room // 2, longest))
    head = [f"{titles}  {padded(tr('thread'), room)} {tr('waits most for')}"]
    for row in states[:_MOST_THREADS]:
        times = (row["running_ns"], row["runnable_ns"], row["blocked_ns"])
        shares = "".join(f"{_share(time_ns, length):>8}" for time_ns in times)
        reason = reasons.get(row["tid"], "")
        lines = hot.get(indexes.get(row["tid"], -1), Counter()).most_common(1)
        runs = tr("runs {line}", line=lines[0][0]) if lines else ""
        activity = runs if (row["running_ns"] or 0) > (row["blocked_ns"] or 0) and runs else reason
        before = f"{shares}  {padded(str(row['name'])[:room], room)} "
        if width is not None:
            activity = shortened(activity, width - text_width(before))
        head.append(f"{before}{activity}".rstrip())
    if len(states) > _MOST_THREADS:
        left = len(states) - _MOST_THREADS
        head.append(tr_n("{count:,} more thread", "{count:,} more threads", left))
    return head


def shortened(text: str, width: int) -> str:
    """The text in so many columns: what is left out comes before the file and line at its end."""
    if fits(text, width):
        return text
    end = text[text.rfind("(") :] if text.endswith(")") else ""
    room = width - text_width(end) - 1
    if room < 0:  # of a long file name, its end
        return f"…{end[-(width - 1) :]}" if width > 1 else ""
    begin = text[: len(text) - len(end)]
    while not fits(begin, room):
        begin = begin[:-1]
    return f"{begin.rstrip()}…{end}"


def _reasons(capture: Capture, start_ns: int, stop_ns: int) -> dict[int, str]:
    """By thread id, the wait that took most of its time, with its place."""
    rows = _rows(capture, "waits", start_ns, stop_ns)
    most: dict[int, tuple[int, str]] = {}
    for row in [] if isinstance(rows, str) else rows:
        place = f" · {row['place']}" if row["place"] else ""
        text = f"{translated(str(row['name']))}{place}"
        if row["tid"] not in most or row["total_ns"] > most[row["tid"]][0]:
            most[row["tid"]] = int(row["total_ns"]), text
    return {tid: text for tid, (_total, text) in most.items()}


def _share(time_ns: int | None, length_ns: int) -> str:
    return _percent(None if time_ns is None else time_ns / length_ns)


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None or math.isnan(ratio) else f"{100 * ratio:.1f} %"
