"""The server for assistants: start, definitions, and the way to the sick line of the bench of findings.

    python tests/benchmarks/bench_agents.py [NAME…]    # programs of tests/bench_findings; all without a name

Bars: ready within 1.5 s; wherever ``check --json`` names the sick line first, a client of the protocol reads it in at
most 3 calls (open_capture, check, why) and 2,000 tokens. Tokens are estimated, 3.3 characters each. ``ready`` is
processor time of the started program: the wall tells of a busy machine, too.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.bench_findings.measuring import check, record  # noqa: E402  # found through the path above
from tests.bench_findings.pairs import PROGRAM_PAIRS, Pair, program_of, sick_lines  # noqa: E402  # the same
from tests.bench_findings.worlds import WORLD_PAIRS  # noqa: E402  # the same
from tests.benchmarks.measuring import table  # noqa: E402  # the same

from warpline.agents.privacy import Privacy  # noqa: E402  # the same
from warpline.agents.roots import Roots  # noqa: E402  # the same
from warpline.agents.session import AgentSession  # noqa: E402  # the same
from warpline.model.errors import WarplineError  # noqa: E402  # the same
from warpline.own_python import own_python  # noqa: E402  # the same

CHARACTERS_OF_A_TOKEN = 3.3
MOST_CALLS, MOST_TOKENS, READY_S = 3, 2_000, 1.5


def places_of(pair: Pair, capture: Path) -> list[str]:
    """Record or make the sick one; the places that are its disease, as ``FILE:LINE``."""
    if pair.make is not None:
        pair.make(capture, True)
        return [pair.place]
    program = program_of(pair.name)
    record(program, "sick", capture, pair.on_gpu)
    return [f"{program.name}:{line}" for line in sorted(sick_lines(program))]


def names(text: str, places: Sequence[str]) -> bool:
    """Whether a text names one of the places, after any folder."""
    return any(re.search(rf"{re.escape(place)}(?!\d)", text) for place in places if place)


async def way_to(capture: Path, places: Sequence[str]) -> tuple[int, int]:
    """Calls and tokens until an answer names a place; 0 calls where none does."""
    from mcp import Client

    from warpline.agents.server import make_server

    roots = Roots([capture.parent])
    session = AgentSession((), roots=roots, privacy=Privacy(roots.folders))
    tokens, identifier = 0.0, ""
    steps: tuple[tuple[str, dict[str, Any]], ...] = (
        ("open_capture", {"path": str(capture)}),
        ("check", {}),
        ("why", {}),
    )
    try:
        async with Client(make_server(session)) as client:
            for count, (tool, given) in enumerate(steps, 1):
                result = await client.call_tool(tool, {**given, "id": identifier} if tool == "why" else given)
                text = "".join(getattr(part, "text", "") for part in result.content)
                tokens += len(text) / CHARACTERS_OF_A_TOKEN
                found = re.search(r"^1\. \w+ id=(\w+):", text, re.MULTILINE)
                identifier = found[1] if found else identifier
                if tool != "open_capture" and names(text, places):
                    return count, round(tokens)
    finally:
        session.close()
    return 0, round(tokens)


def try_pairs(pairs: Sequence[Pair], folder: Path) -> None:
    """Prints a line for each pair; raises AssertionError where a bar fails."""
    rows, failed = [], []
    for pair in pairs:
        if not pair.has_line:
            continue
        capture = folder / f"{pair.name}.h5"
        try:
            places = places_of(pair, capture)
        except (subprocess.SubprocessError, WarplineError, OSError) as error:
            print(f"{pair.name}: not tried: {' '.join(str(error).split())[:100]}")
            continue
        findings = check(capture)["findings"]
        where = findings[0]["where"] if findings else {}
        is_named = names(f"{where.get('file')}:{where.get('line')}", places)
        calls, tokens = asyncio.run(way_to(capture, places))
        rows.append((pair.name, "yes" if is_named else "no", str(calls or "-"), str(tokens)))
        if is_named and not (0 < calls <= MOST_CALLS and tokens <= MOST_TOKENS):
            failed.append(pair.name)
        capture.unlink()
    table(("program", "line named first", "calls", "tokens"), rows)
    named = [row for row in rows if row[1] == "yes"]
    print(
        f"check names the line first in {len(named)} of {len(rows)}; the client fails in: {', '.join(failed) or 'none'}"
    )
    assert not failed, failed


async def start(capture: Path) -> str:
    """Start the program, wait until it is ready, and end it."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command, *arguments = own_python("warpline")
    server = StdioServerParameters(
        command=command, args=[*arguments, "mcp", str(capture)], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        return str(await client.list_tools())


def ready(capture: Path) -> None:
    """Prints how long the program needs until it has told its tools; raises AssertionError beyond the bar."""
    times = []
    for _ in range(3):
        used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        asyncio.run(start(capture))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        times.append((spent, time.perf_counter() - began))
    print("ready and ended: {:.2f} s of the processor, {:.2f} s of the wall".format(*min(times)))
    assert min(times)[0] <= READY_S


def test_agents(tmp_path: Path) -> None:
    """On the captures that are made, not recorded."""
    try_pairs(WORLD_PAIRS, tmp_path)


def main(chosen: list[str]) -> None:
    """Everything, or the programs of these names."""
    pairs = [pair for pair in (*WORLD_PAIRS, *PROGRAM_PAIRS) if not chosen or pair.name in chosen]
    with tempfile.TemporaryDirectory(prefix="warpline-bench-") as name:
        capture = Path(name) / "start.h5"
        make = WORLD_PAIRS[0].make
        assert make is not None
        make(capture, True)
        ready(capture)
        try_pairs(pairs, Path(name))


if __name__ == "__main__":
    main(sys.argv[1:])
