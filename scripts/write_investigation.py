"""Make the calls of docs/tutorials/assistant.md and write the server's answers below them.

    python scripts/write_investigation.py

Each ``json`` block is a call of a tool of ``warpline mcp``, the ``text`` block after it the answer. The protocol's own
client makes them in an empty folder with the tutorials' programs. `tests/tutorials/test_investigation.py` makes the
same calls.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

from write_tutorials import ROOT, TUTORIALS, prepare  # noqa: E402  # found through the path above

CURED = "after.h5"
"""Before the program is recorded into this capture, the line is changed as the page tells."""
PAGE = TUTORIALS / "assistant.md"
_LINES = r"(?:(?!```)[^\n]*\n)*"
_BLOCKS = re.compile(rf"^```json\n(?P<call>[^\n]*)\n```\n\n```text\n(?P<answer>{_LINES})```$", re.MULTILINE)


def calls(text: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The tool, the arguments and the answer of each call of the page."""
    for match in _BLOCKS.finditer(text):
        given = json.loads(match["call"])
        yield given.pop("tool"), given, match["answer"]


def fill(text: str, answers: list[str]) -> str:
    """The page with these answers, one for each call."""
    for match, answer in reversed(list(zip(_BLOCKS.finditer(text), answers, strict=True))):
        start, stop = match.span("answer")
        text = text[:start] + answer.rstrip() + "\n" + text[stop:]
    return text


async def ask(folder: Path, text: str) -> list[str]:
    """Start the server for a folder, make the calls of the page and return the answers. Raises AssertionError when a
    call fails.
    """
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    environment = prepare(folder, sys.executable)
    command = str(folder / ".tools" / "warpline")
    arguments = ["mcp", "--root", str(folder), "--allow-record"]
    server = StdioServerParameters(command=command, args=arguments, env=environment, cwd=str(folder))
    answers = []
    async with Client(stdio_client(server)) as client:
        for tool, given, _ in calls(text):
            if given.get("output") == CURED:
                shutil.copy(TUTORIALS / "orders_fixed.py", folder / "orders.py")
            result = await client.call_tool(tool, given)
            answer = "\n".join(getattr(part, "text", "") for part in result.content)
            assert not result.is_error, f"{tool}: {answer}"
            answers.append(answer.replace(f"{folder}/", ""))
    return answers


def main() -> None:
    text = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        answers = asyncio.run(ask(Path(folder), text))
    PAGE.write_text(fill(text, answers), "utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(answers)} calls")


if __name__ == "__main__":
    main()
