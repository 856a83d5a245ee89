"""Run the commands of docs/tutorials and write what they print below them.

    python scripts/write_tutorials.py [--torch PYTHON] [--ssh-config FILE] [NAME.md …]

A tutorial is Markdown. Each ``sh`` block holds commands; the ``text`` block after it holds what they print, both
streams together. ``text first=12`` keeps the first 12 lines. Commands run in an empty folder with the tutorials'
programs; ``python`` is this interpreter, or PYTHON in tutorials that need PyTorch. ``ssh`` reaches the host ``box`` of
FILE, where a folder of its own is the home. A translation
(`NAME.zh-CN.md`) has the same commands and gets the same output. A test,
`tests/tutorials/test_tutorials.py`, runs the same commands and compares the words.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
_LINES = r"(?:(?!```)[^\n]*\n)*"
_BLOCKS = re.compile(
    rf"^```sh\n(?P<commands>{_LINES})```\n\n```text(?P<options>[^\n]*)\n(?P<output>{_LINES})```$",
    re.MULTILINE,
)
NEEDS_TORCH = {"slow-training.md"}
NEEDS_SSH = {"box.md"}
_SSH = """#!{python}
import os, sys
*options, line = sys.argv[1:]
line = "HOME={home}; PATH={tools}:$PATH; export HOME PATH; unset XDG_CACHE_HOME; cd; " + line
os.execv("{ssh}", ["ssh", "-F", "{config}", *options, line])
"""


@dataclass(frozen=True)
class Step:
    """Commands of a tutorial, and the lines that it shows as their output."""

    commands: str
    first: int | None
    output: list[str]
    span: tuple[int, int]
    """Where the output stands in the text of the tutorial."""


def steps(text: str) -> Iterator[Step]:
    for match in _BLOCKS.finditer(text):
        first = re.search(r"first=(\d+)", match["options"])
        yield Step(
            match["commands"],
            int(first[1]) if first else None,
            match["output"].splitlines(),
            match.span("output"),
        )


def translations(tutorial: Path) -> list[Path]:
    """The translations of a tutorial: `NAME.LANGUAGE.md` beside `NAME.md`."""
    return sorted(tutorial.parent.glob(f"{tutorial.stem}.*.md"))


def fill(text: str, outputs: list[list[str]]) -> str:
    """A tutorial's text with these outputs, one for each step."""
    for step, lines in reversed(list(zip(steps(text), outputs, strict=True))):
        start, stop = step.span
        text = text[:start] + "".join(f"{line}\n" for line in lines) + text[stop:]
    return text


def prepare(folder: Path, python: str) -> dict[str, str]:
    """Copy the tutorials' programs into `folder`; return the environment in which commands run there."""
    for path in TUTORIALS.iterdir():
        if path.suffix != ".md" and path.is_file():
            shutil.copy(path, folder)
    tools = folder / ".tools"
    tools.mkdir()
    (tools / "python").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    (tools / "warpline").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m warpline "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "QT_QPA_PLATFORM": "offscreen",
        "LANG": "C.UTF-8",
    }


def reach_box(folder: Path, config: Path) -> None:
    """Let ``ssh`` in a folder of `prepare` reach a machine with a home of its own."""
    home, tools = folder / "home", folder / ".tools"
    home.mkdir()
    words = {
        "python": sys.executable,
        "home": home,
        "tools": tools,
        "config": config,
        "ssh": shutil.which("ssh"),
    }
    (tools / "ssh").write_text(_SSH.format(**words))
    (tools / "ssh").chmod(0o755)


def run(step: Step, folder: Path, environment: dict[str, str]) -> list[str]:
    """Run the commands of a step; return the lines they print. Raises CalledProcessError when one fails."""
    done = subprocess.run(
        ["sh", "-e", "-c", step.commands],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=240,
    )
    # Where the folder lies is no reader's business.
    text = done.stdout.replace(f"{folder}/home/", "~/").replace(f"{folder}/", "")
    lines = text.rstrip().splitlines()
    return [line.rstrip() for line in lines[: step.first]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--torch", default=sys.executable, metavar="PYTHON", help="the Python that has PyTorch"
    )
    parser.add_argument(
        "--ssh-config", type=Path, metavar="FILE", help="a configuration of ssh with a host named box"
    )
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    for path in sorted(TUTORIALS.glob("*.md")):
        if "." in path.stem or (arguments.names and path.name not in arguments.names):
            continue
        if path.name in NEEDS_SSH and arguments.ssh_config is None:
            print(f"{path.relative_to(ROOT)}: left as it is, without --ssh-config")
            continue
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            environment = prepare(home, arguments.torch if path.name in NEEDS_TORCH else sys.executable)
            if path.name in NEEDS_SSH:
                reach_box(home, arguments.ssh_config.absolute())
            outputs = [run(step, home, environment) for step in steps(text)]
        for page in (path, *translations(path)):
            page.write_text(fill(page.read_text(encoding="utf-8"), outputs), encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: {len(outputs)} steps")


if __name__ == "__main__":
    main()
