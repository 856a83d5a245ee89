"""What the agent costs the program it is in, and how soon it obeys; `bench_finalise.py` turns its records into events.

    python -m tests.benchmarks.bench_agent [--events N] [--spool DIR] [--smoke]

Costs are CPU time of the thread, the best of several rounds, so that other programs on the machine do not count. The
spool is written to a disk, never to memory: the kind of file system is printed. Bars: 60 ns per NVTX record (a range
has two) and per CUPTI record; ``warpline.annotate`` at most twice ``nvtx`` when nothing is recorded; pause, resume and
stop within 50 ms.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.unit.recording.recording_tools import wait_for_samples
from tests.waiting import wait_until

from warpline.recording.agent.library import native_folders

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NATIVE = native_folders(ROOT / "capture" / "warpline" / "recording")
DRIVER = ROOT / "tests" / "native" / "simulated_driver"
BAR_NS = 60.0

PYTHON_RANGES = """
import sys, time
which, n, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if which == "nvtx":
    import nvtx as module
else:
    import warpline as module
annotate = module.annotate
prepared = annotate("a range of usual length")
def each(n):
    for _ in range(n):
        with annotate("a range of usual length"):
            pass
def reused(n):
    for _ in range(n):
        with prepared:
            pass
@annotate("a range of usual length")
def decorated():
    pass
def called(n):
    for _ in range(n):
        decorated()
for function in (each, reused, called):
    best = 1e18
    for _ in range(rounds):
        began = time.thread_time_ns()
        function(n)
        best = min(best, (time.thread_time_ns() - began) / n)
    print(best)
"""


BUSY = """
import ctypes, select, sys, time
import warpline
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
while not select.select([sys.stdin], [], [], 0)[0]:
    with warpline.annotate("turn"):
        cuda.simulatedLaunch(ctypes.c_char_p(b"kernel"), 7, ctypes.c_uint64(1000))
    time.sleep(0.0005)
"""


@dataclass
class Bench:
    """Sizes and places."""

    folder: Path
    events: int
    smoke: bool
    sessions: int = field(default=0)

    def session(self) -> dict[str, str]:
        """The environment of a program that is recorded, in a new spool directory."""
        self.sessions += 1
        spool = self.folder / f"{self.sessions}.spool"
        spool.mkdir()
        page = struct.pack("<8sIIQIIQ", b"WLCTRL01", 1, 0, time.monotonic_ns(), 127, 0, 0)
        (spool / "control").write_bytes(page.ljust(4096, b"\0"))
        agent = str(self.folder / "libwarpline_agent.so")
        return {
            **os.environ,
            "WARPLINE_SPOOL": str(spool),
            "WARPLINE_AGENT": agent,
            "NVTX_INJECTION64_PATH": agent,
            "CUDA_INJECTION64_PATH": agent,
            "PYTHONPATH": str(ROOT / "capture"),
        }

    def compile(self, name: str, sources: list[Path], *options: str) -> Path:
        output = self.folder / name
        command = [
            "cc",
            "-std=gnu11",
            "-O2",
            "-pthread",
            *options,
            "-o",
            str(output),
            *map(str, sources),
            "-ldl",
        ]
        subprocess.run(command, check=True)
        return output


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument(
        "--spool", type=Path, help="a folder on the disk to measure (default: the checkout's build/)"
    )
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    place = args.spool or ROOT / "build"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-agent-", dir=place) as folder:
        bench = Bench(Path(folder), 20_000 if args.smoke else args.events, args.smoke)
        print(f"spool on {file_system(bench.folder)}, {bench.events:,} records a round")
        build(bench)
        native_costs(bench)
        python_costs(bench)
        startup(bench)
        control(bench)


def file_system(path: Path) -> str:
    """The kind of file system a path is on."""
    best = ("", "?")
    for line in Path("/proc/mounts").read_text().splitlines():
        _device, mount, kind = line.split()[:3]
        if str(path).startswith(mount.rstrip("/") + "/") and len(mount) >= len(best[0]):
            best = (mount, kind)
    return f"{best[1]} ({best[0]})"


def build(bench: Bench) -> None:
    """The agent, the program that measures it, the simulated GPU."""
    sources = [path for folder in NATIVE for path in sorted(folder.glob("*.c"))]
    headers = [f"-I{folder}" for folder in NATIVE]
    shared = ("-shared", "-fPIC", "-fvisibility=hidden")
    bench.compile("libwarpline_agent.so", sources, *shared, *headers, "-Wl,-z,nodelete")
    bench.compile("agent_costs", [HERE / "programs" / "agent_costs.c", *sources], *headers)
    cupti = ("cupti.c", "cupti_v2.c", "buffers.c", "work.c")
    for name, files in (("libcuda.so.1", ("cuda.c", "driver_api.c")), ("libcupti.so.12", cupti)):
        bench.compile(name, [DRIVER / file for file in files], *shared, f"-Wl,-soname,{name}")


def row(what: str, value: float, unit: str, note: str = "") -> None:
    """One line of a table."""
    print(f"  {what:<44}{value:>10.1f} {unit:<4}{note}")


def native_costs(bench: Bench) -> None:
    """ns per record, from C."""
    print("\nper record, CPU time")

    def measure(*words: str) -> float:
        command = [str(bench.folder / "agent_costs"), *words, str(bench.events)]
        done = subprocess.run(command, env=bench.session(), capture_output=True, text=True, check=True)
        return float(done.stdout)

    clock = measure("clock")
    nvtx = measure("nvtx")
    cupti = measure("cupti")
    row("one clock_gettime (yardstick)", clock, "ns")
    row("NVTX record (a range has two)", nvtx, "ns", f"  bar {BAR_NS:.0f}   {nvtx / clock:.1f} clocks")
    row("NVTX record, 4 threads at once, the slowest", measure("threads", "4"), "ns", f"  bar {BAR_NS:.0f}")
    row("CUPTI record, half of them kernels", cupti, "ns", f"  bar {BAR_NS:.0f}   {cupti / clock:.1f} clocks")
    data = np.arange(bench.events * 104 // 8)
    began = time.thread_time_ns()
    data.copy()
    row("numpy copying as many bytes as kernels", (time.thread_time_ns() - began) / bench.events, "ns")


def python_costs(bench: Bench) -> None:
    """ns per range, from Python."""
    n, rounds = (200, 3) if bench.smoke else (2000, 60)
    print("\nper range from Python, CPU time       new object    prepared   decorated")

    def measure(module: str, environment: dict[str, str]) -> list[float]:
        command = [sys.executable, "-c", PYTHON_RANGES, module, str(n), str(rounds)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return [float(line) for line in done.stdout.split()]

    plain = {**os.environ, "PYTHONPATH": str(ROOT / "capture")}
    found: dict[str, list[float]] = {}
    for label, module, environment in (
        ("nvtx, not recording", "nvtx", plain),
        ("warpline.annotate, not recording", "warpline", plain),
        ("nvtx, recording", "nvtx", bench.session()),
        ("warpline.annotate, recording", "warpline", bench.session()),
    ):
        try:
            values = found[label] = measure(module, environment)
        except subprocess.CalledProcessError:
            print(f"  {label:<36}not installed")
            continue
        print(f"  {label:<36}" + "".join(f"{value:>9.0f} ns" for value in values))
    if "nvtx, not recording" in found:
        ratios = np.array(found["warpline.annotate, not recording"]) / found["nvtx, not recording"]
        print(f"  {'ratio, not recording (bar 2)':<36}" + "".join(f"{ratio:>12.2f}" for ratio in ratios))


def startup(bench: Bench) -> None:
    """Wall time of a program that does nothing, with and without the agent: interleaved, the median of each."""
    rounds = 2 if bench.smoke else 15
    print("\nstart to end of a program             without       with      more")
    gpu = {"LD_LIBRARY_PATH": str(bench.folder), "WARPLINE_LIBCUPTI": str(bench.folder / "libcupti.so.12")}
    programs = {
        "python, neither NVTX nor CUDA": "pass",
        "python, one NVTX range": "import nvtx; nvtx.push_range('x'); nvtx.pop_range()",
        "python, cuInit of the simulated driver": "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)",
    }
    for label, program in programs.items():
        times: dict[str, list[float]] = {"without": [], "with": []}
        for _ in range(rounds):
            for kind, taken in times.items():
                environment = {**(bench.session() if kind == "with" else os.environ), **gpu}
                began = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", program], env=environment, check=False, capture_output=True
                )
                taken.append((time.perf_counter() - began) * 1e3)
        without, with_agent = (float(np.median(times[kind])) for kind in ("without", "with"))
        print(f"  {label:<34}{without:>8.1f} ms{with_agent:>8.1f} ms{with_agent - without:>8.2f} ms")


def control(bench: Bench) -> None:
    """How soon pause, resume and stop act: from the request to the last event before, and the first after, it."""
    sys.path.insert(0, str(ROOT / "capture"))
    from warpline.recording.control import send_command
    from warpline.storage import open_capture

    output, spool = bench.folder / "control.h5", bench.folder / "control.h5.spool"
    here = {**os.environ, "PYTHONPATH": str(ROOT / "capture"), "LD_LIBRARY_PATH": str(bench.folder)}
    here["WARPLINE_LIBCUPTI"] = str(bench.folder / "libcupti.so.12")
    command = [
        sys.executable,
        "-m",
        "warpline",
        "record",
        "--quiet",
        "-o",
        str(output),
        "--trace",
        "cpu,nvtx,cuda",
    ]
    recorder = subprocess.Popen([*command, "--", sys.executable, "-c", BUSY], stdin=subprocess.PIPE, env=here)
    wait_until((spool / "control.sock").exists, "the recording did not start")
    wait_for_samples(spool, 1000)
    asked: list[tuple[str, int]] = []
    for word in (*("pause", "resume") * (2 if bench.smoke else 10), "stop"):
        asked.append((word, time.monotonic_ns()))
        send_command(spool, word)
        time.sleep(0.15)  # what happens in this time shows whether the command worked
    recorder.communicate()
    took: dict[tuple[str, str], list[float]] = {}
    with open_capture(output) as capture:
        for kind in ("thread_state", "range", "cuda_api", "kernel"):
            start, stop = capture.event_times(capture.kinds[kind].rows)
            # What a state was when the recording paused is known to the end; ranges and calls count where they begin.
            times = np.sort(stop if kind == "thread_state" else start) + int(
                capture.meta["start_monotonic_ns"]
            )
            for number, (word, time_ns) in enumerate(asked):
                following = asked[number + 1][1] if number + 1 < len(asked) else time_ns + 10**10
                inside = times[(times > time_ns) & (times < following)]
                late = (inside[0] if word == "resume" else inside[-1]) - time_ns if len(inside) else 0
                took.setdefault((kind, word), []).append(late / 1e6)
    print("\nfrom a request to its effect (bar 50 ms)    median     worst")
    for (kind, word), values in took.items():
        print(f"  {kind + ', ' + word:<38}{np.median(values):>8.1f} ms{max(values):>8.1f} ms")


def test_smoke(monkeypatch: object) -> None:
    """`make bench` runs this."""
    sys.argv = ["bench_agent.py", "--smoke"]
    main()


if __name__ == "__main__":
    main()
