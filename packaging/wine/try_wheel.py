"""Tries the Windows wheel under Wine and compares what it does with this Linux (``make wine``).

``python packaging/wine/try_wheel.py [--wheel FILE] [--folder build/wine] [--no-tests]``. The first run downloads 140 MB
and unpacks 400 MB into the folder. The picture of the window stays there for somebody to look at.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from build_wheels import build_wheel  # noqa: E402  # lies in the folder above
from targets import TARGETS  # noqa: E402
from windows import Windows, WineError  # noqa: E402

_PROGRAM = """
import threading, time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(1000))
for step in range(5):
    other = threading.Thread(target=spin, args=(.03,))
    other.start(); spin(.02); other.join(); time.sleep(.02)
"""
_TEXTS = (
    "--version",
    "info recorded.h5",
    "info --json recorded.h5",
    "info --verify sample.h5",
    "check recorded.h5",
    "check --json recorded.h5",
    "check sample.h5",
    "stats recorded.h5",
    "stats sample.h5",
    "stats --format json sample.h5",
    "stats --list sample.h5",
    "compare recorded.h5 --vs again.h5",
    "compare --json recorded.h5 --vs again.h5",
    "stats sample.h5 --report nosuch",
    "query sample.h5 'SELECT kind, count(*) AS n, sum(dur) AS ns FROM events GROUP BY ALL ORDER BY ALL'",
    "query --format csv recorded.h5 'SELECT name, count(*) AS n FROM events GROUP BY ALL ORDER BY ALL'",
    "query --format json sample.h5 recorded.h5 'SELECT count(*) FROM a.events UNION ALL SELECT count(*) FROM b.events'",
    "query --schema sample.h5",
    "query sample.h5 'SELECT no FROM events'",
    "mcp --guide",
)
"""Commands whose output is compared, as in a shell."""
_ASSISTANT = """
import json, subprocess, sys
server = subprocess.Popen(
    [sys.executable, "-m", "warpline", "mcp", "recorded.h5", "again.h5"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
)
def send(method, **fields):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **fields}).encode() + b"\\n")
    server.stdin.flush()
def ask(number, method, **params):
    send(method, id=number, params=params)
    while (answer := json.loads(server.stdout.readline())).get("id") != number:
        pass
    return answer.get("result") or answer["error"]
client = {"name": "trial", "version": "1"}
ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
send("notifications/initialized")
print(*(tool["name"] for tool in ask(1, "tools/list")["tools"]))
a, b = "recorded.h5", "again.h5"
calls = [
    ("check", {"capture": a}),
    ("compare", {"a": a, "b": b}),
    ("query", {"capture": a, "sql": "SELECT count(*) AS n FROM events"}),
]
for number, (tool, given) in enumerate(calls, 2):
    answer = ask(number, "tools/call", name=tool, arguments=given)
    print(answer["content"][0]["text"])
server.stdin.close()
print(server.wait())
"""
"""Talks to `warpline mcp` as an assistant does."""
_FILES = ("json", "json.gz", "csv")
_TESTS = (
    "tests/unit/storage",
    "tests/unit/model",
    "tests/unit/analysis",
    "tests/unit/interchange/export",
    "tests/unit/interchange/trace_json/test_scanned_columns.py",
    "tests/unit/interchange/trace_json/test_scanner.py",
    "tests/unit/interchange/nsys/test_sqlite_rows.py",
    "tests/unit/timeline/test_timeline_lines.py",
    "tests/unit/platform",
    "tests/unit/test_compiled.py",
)
"""Among them are those that compare each compiled loop with its twin."""
_EXPLAINED = HERE / "explained.txt"


class Trial:
    """Runs commands on both systems in one folder."""

    def __init__(self, windows: Windows, folder: Path) -> None:
        self.windows = windows
        self.folder = folder

    def linux(self, *arguments: str) -> str:
        """What `warpline` prints here."""
        return self.linux_python("-m", "warpline", *arguments)

    def linux_python(self, *arguments: str) -> str:
        """What Python prints here."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", "QT_QPA_PLATFORM": "offscreen"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def wine(self, *arguments: str, check: bool = True) -> str:
        """What it prints on Windows."""
        return self.windows.python("-m", "warpline", *arguments, cwd=self.folder, check=check).stdout


def libraries_load(trial: Trial) -> str:
    """Every library loads and has its functions; whether they compute what their twins do, the unit tests say."""
    code = (
        "import importlib, sys\n"
        "from warpline.compiled import load\n"
        "names = sys.argv[1:]\n"
        "modules = [importlib.import_module(name) for name in names]\n"
        "failed = [m.__name__ for m in modules if load(m.LIBRARY, m.SIGNATURES) is None]\n"
        "print(len({m.LIBRARY for m in modules}), failed)\n"
    )
    modules = [
        ".".join(path.relative_to(ROOT / room).with_suffix("").parts)
        for room in ("capture", "app")
        for path in sorted((ROOT / room).glob("*/**/*.py"))
        if "\nSIGNATURES" in path.read_text("utf-8")
    ]
    output = trial.windows.python("-c", code, *modules, cwd=trial.folder).stdout.strip()
    count, _, failed = output.partition(" ")
    if failed != "[]" or int(count) < 8:
        raise WineError(output)
    return f"{count} libraries"


def texts_are_equal(trial: Trial) -> str:
    """Commands print the same text."""
    for line in _TEXTS:
        words = shlex.split(line)
        _compare_texts(f"warpline {line}", trial, trial.linux(*words), trial.wine(*words, check=False))
    return f"{len(_TEXTS)} commands"


def an_assistant_gets_equal_answers(trial: Trial) -> str:
    """`warpline mcp` offers the same tools and answers in the same words."""
    there = trial.windows.python("-c", _ASSISTANT, cwd=trial.folder).stdout
    _compare_texts("warpline mcp", trial, trial.linux_python("-c", _ASSISTANT), there)
    return f"{len(there.split(chr(10), 1)[0].split())} tools"


def exports_are_equal(trial: Trial) -> str:
    """Exported files have the same bytes; an exported capture and an archive hold the same events."""
    for suffix in _FILES:
        here, there = f"linux.{suffix}", f"windows.{suffix}"
        trial.linux("export", "sample.h5", here)
        trial.wine("export", "sample.h5", there)
        if not filecmp.cmp(trial.folder / here, trial.folder / there, shallow=False):
            raise WineError(f"{trial.folder}: {here} and {there} differ")
    for name, options in {"part": ["--range", "0:20us"], "archive": ["--compress"]}.items():
        trial.linux("export", "sample.h5", f"linux-{name}.h5", *options)
        trial.wine("export", "sample.h5", f"windows-{name}.h5", *options)
        for system in ("linux", "windows"):
            trial.linux("export", f"{system}-{name}.h5", f"{system}-{name}.json")
        _compare_json(trial.folder / f"linux-{name}.json", trial.folder / f"windows-{name}.json")
    trial.wine("export", "sample.h5", "windows.html")
    return f"{len(_FILES)} formats, a part, an archive, HTML"


def imports_are_equal(trial: Trial) -> str:
    """A trace becomes the same capture, and a path with spaces and other letters is written to."""
    name = "Spur 日本 µ"
    (trial.folder / name).mkdir(exist_ok=True)
    trial.linux("import", "trace.json.gz", "-o", "linux-import.h5")
    trial.wine("import", "trace.json.gz", "-o", f"{name}/windows import.h5")
    trial.linux("export", "linux-import.h5", "linux-import.json")
    trial.linux("export", f"{name}/windows import.h5", "windows-import.json")
    _compare_json(trial.folder / "linux-import.json", trial.folder / "windows-import.json")
    if left := sorted(path.name for path in trial.folder.rglob(".warpline-*")):
        raise WineError(f"left behind: {', '.join(left)}")
    return "one trace"


def pictures_are_drawn(trial: Trial) -> str:
    """`render` and the exporters draw PNG and SVG."""
    trial.wine("render", "recorded.h5", "-o", "windows.png")
    trial.wine("export", "recorded.h5", "windows.svg")
    sizes = [(trial.folder / f"windows.{suffix}").stat().st_size for suffix in ("png", "svg")]
    if min(sizes) < 10_000:
        raise WineError(f"pictures of {sizes} bytes are empty")
    return f"{sizes[0] >> 10} KiB PNG, {sizes[1] >> 10} KiB SVG"


def an_open_capture_is_kept(trial: Trial) -> str:
    """Exporting over a capture that is open elsewhere fails in words and keeps the file."""
    target = trial.folder / "open.h5"
    shutil.copy(trial.folder / "sample.h5", target)
    code = (
        "import subprocess, sys, warpline\n"
        "with warpline.open('open.h5'):\n"
        "    done = subprocess.run([sys.executable, '-m', 'warpline', 'export', 'recorded.h5', 'open.h5'],"
        " stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)\n"
        "print(done.returncode, done.stdout.decode())\n"
    )
    output = trial.windows.python("-c", code, cwd=trial.folder).stdout
    if "1 " not in output or "is open in Warpline" not in output:
        raise WineError(output)
    if not filecmp.cmp(target, trial.folder / "sample.h5", shallow=False):
        raise WineError("the open capture was changed")
    return output.split(": ", 2)[-1].strip()


def recording_is_refused(trial: Trial) -> str:
    """`record` says in one line what it needs."""
    output = trial.wine("record", "--", "python", check=False)
    if "recording needs Linux" not in output or output.count("\n") != 1:
        raise WineError(output)
    return output.strip().removeprefix("warpline: error: ")


def the_window_opens(trial: Trial) -> str:
    """The whole window shows a capture from Linux."""
    script = str(HERE / "window.py").replace("/", "\\")
    return (
        trial.windows.python(f"Z:{script}", "recorded.h5", "window.png", cwd=trial.folder).stdout.strip()
        + f"; look at {trial.folder / 'window.png'}"
    )


def unit_tests_pass(trial: Trial) -> str:
    """The unit tests of storage, model, analysis and export, and of the compiled loops' twins."""
    options = []
    for line in _EXPLAINED.read_text("utf-8").splitlines():
        test, _, reason = line.partition(" ")
        if test and reason and not test.startswith("#"):
            options += ["--deselect" if "::" in test else "--ignore", test]
    done = trial.windows.python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "0", "--tb", "short", *options, *_TESTS,
        cwd=ROOT, check=False, timeout_s=3000,
    )  # fmt: skip
    log = trial.folder / "tests.txt"
    log.write_text(done.stdout, "utf-8")
    return summary_of_tests(done.returncode, done.stdout, log)


def summary_of_tests(status: int, output: str, log: Path) -> str:
    """pytest's last line. Raises WineError when a test failed, and when there is no such line: Python crashed."""
    last = ["nothing was printed", *output.strip().splitlines()][-1].strip("= ")
    # Wine ends a crashed program with status 0.
    if status or not re.match(r"\d+ passed\b", last):
        raise WineError(f"{last}; see {log}")
    return last


CHECKS: tuple[Callable[[Trial], str], ...] = (
    libraries_load,
    texts_are_equal,
    an_assistant_gets_equal_answers,
    exports_are_equal,
    imports_are_equal,
    pictures_are_drawn,
    an_open_capture_is_kept,
    recording_is_refused,
    the_window_opens,
    unit_tests_pass,
)


def _compare_json(here: Path, there: Path) -> None:
    """Raises WineError when two exports differ beyond what names the file they come from."""
    events = [json.loads(path.read_bytes())["traceEvents"] for path in (here, there)]
    if events[0] != events[1]:
        raise WineError(f"{here.parent}: {here.name} and {there.name} have different events")


def _compare_texts(command: str, trial: Trial, here: str, there: str) -> None:
    """Raises WineError when two outputs differ, and keeps them."""
    if here != there:
        (trial.folder / "linux.txt").write_text(here, "utf-8")
        (trial.folder / "windows.txt").write_text(there, "utf-8")
        raise WineError(f"{command}: compare {trial.folder}/linux.txt with windows.txt")


def _captures(trial: Trial) -> Iterator[str]:
    """Makes the captures that the checks use: two recordings, a sample of every kind of event, a trace."""
    (trial.folder / "program.py").write_text(_PROGRAM)
    for name in ("recorded.h5", "again.h5"):
        trial.linux("record", "-q", "-o", name, "--", sys.executable, "program.py")
    shutil.copy(ROOT / "tests/data/format/version_1_1.h5", trial.folder / "sample.h5")
    trial.linux("export", "recorded.h5", "trace.json.gz")
    yield from ("recorded.h5", "again.h5", "sample.h5", "trace.json.gz")


def main() -> int:
    """Runs every check; the exit status is 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="by default it is built")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "wine")
    parser.add_argument("--check", action="append", choices=[check.__name__ for check in CHECKS])
    args = parser.parse_args()
    folder = args.folder.resolve()
    windows = Windows(folder)
    target = next(target for target in TARGETS if target.tag == "win_amd64")
    windows.prepare(args.wheel or build_wheel(target, folder))
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    trial = Trial(windows, work)
    for name in _captures(trial):
        if not (work / name).exists():
            raise WineError(f"{name}: could not be made")
    checks = [check for check in CHECKS if not args.check or check.__name__ in args.check]
    with windows.running():
        return run_checks(trial, checks)


def run_checks(trial: Trial, checks: Sequence[Callable[[Trial], str]]) -> int:
    """Prints what came of each check; 1 when one failed."""
    failed = 0
    for check in checks:
        started = time.monotonic()
        try:
            result = "ok      " + check(trial)
        except (WineError, OSError, ValueError) as error:
            failed += 1
            result = f"FAILED  {error}"
        print(f"{check.__name__:<24} {time.monotonic() - started:4.0f} s  {result}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (WineError, subprocess.CalledProcessError) as error:
        sys.exit(f"try_wheel: {error}")
