"""Programs that end in every way, idle and with a busy GPU."""

from __future__ import annotations

from tests.gpu.checking import Bench, counts, lost, printed

from warpline.storage import open_capture

ENDS = (("exit", 0), ("exception", 1), ("sigterm", 143), ("sigkill", 137))
BUSY_ENDS = (("sigkill", 137), ("_exit", 0), ("segfault", 139), ("sigterm", 143), ("exit", 0))
SHORT, LONG = 2000, 400


def check_busy_ends(bench: Bench) -> None:
    """Ends while long kernels are queued behind short ones that have ended; and children by fork."""
    for how, status in BUSY_ENDS:
        command = bench.program("driver.py", "--launches", str(SHORT), "--busy", str(LONG), "--end", how)
        path, done = bench.record(command)
        bench.expect(f"{how}: exit status", status, done.status)
        with open_capture(path) as capture:
            seen, missing = counts(capture).get("kernel", 0), lost(capture)
            text = f"{seen} kernels of {SHORT + LONG}, {missing} counted as lost"
            if how in ("sigkill", "segfault"):
                # CUPTI returns no buffer that holds an unfinished record; the agent has no chance to ask again.
                bench.expect(f"{how}: kernels that were kept", "some", text, seen > 0)
            else:
                bench.expect(f"{how}: finished kernels", f"≥ {SHORT}", text, seen >= SHORT)
                bench.expect(f"{how}: kept or lost", SHORT + LONG, text, seen + missing >= SHORT + LONG)
    path, done = bench.record(bench.program("forked.py"))
    bench.expect("fork: exit status", 0, done.status)
    with open_capture(path) as capture:
        bench.expect(
            "fork: kernels of the children", printed(done, "kernels"), str(counts(capture).get("kernel", 0))
        )


def check_driver_ends(bench: Bench) -> None:
    """Ends after all work of the driver has ended."""
    for how, status in ENDS:
        path, done = bench.record(bench.program("driver.py", "--launches", "3000", "--end", how))
        bench.expect(f"{how}: exit status", status, done.status)
        with open_capture(path) as capture:
            # Before kill -9 the program waits 0.6 s, longer than the agent leaves records in CUPTI.
            bench.expect(
                f"{how}: kernels kept", printed(done, "kernels"), str(counts(capture).get("kernel", 0))
            )


def check_ends(bench: Bench) -> None:
    """Ends of PyTorch programs."""
    for how, status in ENDS:
        path, done = bench.record(bench.program("ends.py", how))
        bench.expect(f"{how}: exit status", status, done.status)
        with open_capture(path) as capture:
            launched, seen = int(printed(done, "launched")), counts(capture).get("kernel", 0)
            bench.expect(f"{how}: kernels kept", f"≥ {launched}", seen, seen >= launched)
