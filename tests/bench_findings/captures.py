"""What `warpline check` says of captures that others recorded, beside how a person judged it."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from warpline.cli import main

JUDGED = Path(__file__).parent / "real_captures.md"
_ROW = re.compile(
    r"^\| `(?P<path>[^`]+)` \| (?P<sentence>.*?) \| (?P<finding>.*?) ?\| (?P<word>right|weak|wrong) \| "
)
_FINDING = re.compile(r"^\[(?P<severity>critical|warning|note)\] (?P<text>.*)$", re.MULTILINE)
_LONGEST = 240
_ALL_BUT_NUMBERS = re.compile(r"[^\w%]+")


def list_captures(data: Path) -> str:
    """The table of `real_captures.md`, checked again; a row whose sentence or finding is new says ``to judge``."""
    lines = []
    for line in JUDGED.read_text("utf-8").splitlines():
        row = _ROW.match(line)
        lines.append(line if row is None else _checked_again(line, row, data))
    return "\n".join(lines)


def _checked_again(line: str, row: re.Match[str], data: Path) -> str:
    with redirect_stdout(io.StringIO()) as output:
        main(["check", str(data / row["path"])])
    sentence, finding = first_of(output.getvalue())
    if _is_same(sentence, row["sentence"]) and _is_same(finding, row["finding"]):
        return line
    was = f"was {row['word']}: {row['sentence']} {row['finding']}"
    return f"| `{row['path']}` | {_cell(sentence)} | {_cell(finding)} | to judge | {was} |"


def first_of(text: str) -> tuple[str, str]:
    """The first sentence and the first finding of what `warpline check` prints."""
    first = _FINDING.search(text)
    return text.partition("\n")[0].strip(), f"{first['severity']}: {first['text']}" if first else ""


def _is_same(new: str, old: str) -> bool:
    """Whether the beginning of a text is that of a cell, which is escaped and cut."""
    new, old = (
        _ALL_BUT_NUMBERS.sub("", text) for text in (_cell(new), old.rstrip("…").rpartition(" ")[0] or old)
    )
    return new.startswith(old) if old else not new


def _cell(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(' ')[0]}…"
    return re.sub(r"([_|*])", r"\\\1", short.replace("<", "&lt;"))
