"""The timeline in a browser: processor time of a picture and of an answer, and memory, by the number of events.

    python tests/benchmarks/bench_serve.py [--events N…] [--folder DIR]

Pictures are 1600 × 900 at one and at two pixels a point, of views between the whole capture and a millionth of it, at
places all over it. *exact* is what follows when the view rests, with figures and every label. Bars: a picture while the
view moves takes at most 50 ms at one pixel a point and does not depend on the events; memory at most 250 MB.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import arguments, capture_of, table  # noqa: E402  # found through the path above

from warpline_app.serving.drawing_process import DrawingProcess  # noqa: E402  # the same
from warpline_app.serving.view_request import ViewRequest  # noqa: E402  # the same

PICTURE_MS, MEMORY_MB = 50.0, 250.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_VIEWS = 40


def cpu_s(pid: int) -> float:
    """Processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def memory_mb(pid: int) -> tuple[float, float]:
    """Anonymous and all resident memory of a process (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    return tuple(int(values[name].split()[0]) / 1024 for name in ("RssAnon", "VmRSS"))  # type: ignore[return-value]


def views(span_ns: int) -> list[tuple[int, int]]:
    """Ranges of all lengths, all over the capture."""
    random = np.random.default_rng(1)
    made = []
    for index in range(_VIEWS):
        length = max(1_000, int(span_ns * 10 ** (-6 * index / _VIEWS)))
        start = int(random.integers(0, max(1, span_ns - length)))
        made.append((start, start + length))
    return made


def measure(path: Path) -> list[object]:
    """A row of the table."""
    process = DrawingProcess([str(path)])
    process.begin()
    try:
        started_s = cpu_s(process.pid)

        def frame(*, ratio: float = 1.0, is_exact: bool = False, **values: Any) -> tuple[dict[str, Any], int]:
            view = ViewRequest(width_px=1600, height_px=900, ratio=ratio, **values)
            answer = process.ask("frame", view=view.as_values(), is_exact=is_exact)
            return answer.values["frame"], len(answer.body)

        measures, _size = frame(is_exact=True)
        first_s = cpu_s(process.pid) - started_s
        places = views(measures["span_ns"])

        def each(work: Callable[[int, int], int]) -> tuple[float, float]:
            before = cpu_s(process.pid)
            sizes = [work(start, stop) for start, stop in places]
            return 1_000 * (cpu_s(process.pid) - before) / len(places), float(np.mean(sizes)) / 1_000

        quick, quick_kb = each(lambda start, stop: frame(start_ns=start, stop_ns=stop)[1])
        sharp, sharp_kb = each(lambda start, stop: frame(start_ns=start, stop_ns=stop, ratio=2.0)[1])
        exact, _size_kb = each(lambda start, stop: frame(start_ns=start, stop_ns=stop, is_exact=True)[1])
        last = ViewRequest(
            width_px=1600, height_px=900, start_ns=places[-1][0], stop_ns=places[-1][1]
        ).as_values()
        event, _size_kb = each(
            lambda start, stop: len(
                str(process.ask("event", view=last, x=start % 1_000, y=stop % 700).values)
            )
        )
        before = cpu_s(process.pid)
        anonymous, resident = memory_mb(process.pid)
        process.ask("findings")
        findings_s = cpu_s(process.pid) - before
        assert quick <= PICTURE_MS, (path, quick)
        assert anonymous <= MEMORY_MB, (path, anonymous)
        return [
            path.stem,
            f"{started_s:.2f}",
            f"{first_s:.2f}",
            f"{quick:.1f}",
            f"{quick_kb:.0f}",
            f"{sharp:.1f}",
            f"{sharp_kb:.0f}",
            f"{exact:.1f}",
            f"{event:.2f}",
            f"{anonymous:.0f}",
            f"{resident:.0f}",
            f"{findings_s:.2f}",
        ]
    finally:
        process.end()


HEAD = (
    "events",
    "start s",
    "first s",
    "ms",
    "kB",
    "ms at 2x",
    "kB at 2x",
    "exact ms",
    "event ms",
    "anon MB",
    "RSS MB",
    "findings s",
)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_serve(tmp_path: Path, bench_smoke: bool) -> None:
    """Small and larger, with the bars."""
    sizes = (20_000,) if bench_smoke else (100_000, 1_000_000, 10_000_000)
    table(HEAD, [measure(capture_of(tmp_path, size)) for size in sizes])


if __name__ == "__main__":
    chosen, folder = arguments(__doc__ or "", (100_000, 1_000_000, 10_000_000))
    table(HEAD, [measure(capture_of(folder, size)) for size in chosen])
