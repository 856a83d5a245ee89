"""Calls the tools of the server with what no client should send.

    python -m tests.fuzz.fuzz_mcp CAPTURE [--calls 10000] [--seed 0]

Each call gets an answer or one line about what is wrong: nothing is written, no variable of the environment is told,
and nothing takes longer than the server allows.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from warpline.agents.catalogue import answer, tools_of
from warpline.agents.privacy import Privacy
from warpline.agents.roots import Roots
from warpline.agents.session import AgentSession, ToolCall
from warpline.agents.texts import MOST_CHARACTERS
from warpline.agents.tool import Tool, ToolPicture
from warpline.model.errors import UsageError

SECRET = "WARPLINE_FUZZ_SECRET"
"""A variable of the environment that no answer may hold."""
SLOWEST_S = 60.0
_TEXTS = (
    "", " ", "*", "gpu/*", "%s", "{}", "$WARPLINE_FUZZ_SECRET", "~", "/etc/passwd", "../../etc/shadow",
    "/proc/self/environ", "a\0b", "x" * 9_999, "x" * 20_000, "\ud800", "\u202e", "1s:2s", "2s:1s", "-1s",
    "1e999s", ":", "99999999999999999999s", "kernel", "range", "name", "-total_ns", "waits_for_lock",
    "cuda_gpu_kern_sum", "time_budget", "waits", "nvtx_sum", "SELECT 1", "SELECT * FROM events",
    "SELECT getenv('WARPLINE_FUZZ_SECRET')", "COPY events TO 'x.csv'", "ATTACH 'x.db'",
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT repeat('x', 100000)", "INSTALL httpfs", "SET threads=1",
    "run.h5", "SELECT * FROM glob('*')", "PRAGMA database_list", "a" * 300, "(" * 500, "[a-", "auto", "start",
    "light",
)  # fmt: skip
_OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    5,
    -1,
    2**31,
    2**63,
    2**80,
    1.5,
    float("nan"),
    [],
    ["name"],
    [1],
    {},
    {"a": 1},
)


def some_arguments(tool: Tool, random_: random.Random) -> dict[str, Any]:
    """Arguments, most of them of the right type."""
    given: dict[str, Any] = {}
    for name, argument in tool.arguments.items():
        if name not in tool.required and random_.random() < 0.6:
            continue
        if random_.random() < 0.15:
            given[name] = random_.choice((*_TEXTS, *_OTHERS))
        elif argument.choices:
            given[name] = random_.choice(argument.choices)
        elif argument.type == "string":
            given[name] = "run.h5" if name in ("capture", "a", "b") else random_.choice(_TEXTS)
        elif argument.type == "integer":
            given[name] = random_.choice((0, 1, 3, 20, 200, 10**6))
        else:
            given[name] = [random_.choice(_TEXTS)]
    if random_.random() < 0.05:
        given[random_.choice(("", "rang", "__class__", "capture "))] = random_.choice(_OTHERS)
    return given


def files_of(folder: Path) -> dict[str, int]:
    """All files below a folder with the time they were written."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def fuzz(
    capture: Path, calls: int, seed: int, *, without: frozenset[str] = frozenset()
) -> tuple[Counter[str], float]:
    """Make calls about a capture; returns how often each tool answered or refused, and the seconds of the slowest call.
    Raises AssertionError for defects.

    ``without`` are tools that are left out, because each call of them starts a process.
    """
    random_ = random.Random(seed)
    os.environ[SECRET] = secret = f"secret-{random_.getrandbits(64):x}"
    before = files_of(capture.parent)
    roots = Roots([capture.parent])
    session = AgentSession((capture,), roots=roots, privacy=Privacy(roots.folders))
    tools = [tool for name, tool in tools_of(session).items() if name not in without]
    outcomes: Counter[str] = Counter()
    slowest_s = 0.0
    try:
        for _ in range(calls):
            tool = random_.choice(tools)
            given = some_arguments(tool, random_)
            begun = time.monotonic()
            try:
                result = answer(tool, ToolCall(session), given)
                outcomes[f"{tool.name} answered"] += 1
            except UsageError as error:
                result = str(error)
                outcomes[f"{tool.name} refused"] += 1
                if " failed on this capture" in result:
                    raise AssertionError(tool.name, repr(given)[:500]) from error
            slowest_s = max(slowest_s, time.monotonic() - begun)
            if not isinstance(result, ToolPicture):
                assert len(result) <= MOST_CHARACTERS, (tool.name, given)
                assert secret not in result, (tool.name, given)
                assert "root:x:0" not in result, (tool.name, given)
    finally:
        session.close()
        del os.environ[SECRET]
    assert files_of(capture.parent) == before
    return outcomes, slowest_s


def main() -> int:
    """Fuzz for a number of calls, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    outcomes, slowest_s = fuzz(args.capture, args.calls, args.seed)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:6} {outcome}")
    print(f"slowest call: {slowest_s:.1f} s")
    return int(slowest_s > SLOWEST_S)


if __name__ == "__main__":
    sys.exit(main())
