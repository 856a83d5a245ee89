"""Writes docs/parity.md from docs/parity.toml: ``python scripts/write_parity.py``."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA, PAGE = DOCS / "parity.toml", DOCS / "parity.md"
STATES = ("works", "partly", "absent")
HEAD = """\
# Paddle's profilers, feature by feature

What the profilers of PaddlePaddle, the performance views of VisualDL and the guides give their users, and where it is
here. Each row names the tests that prove it (`pytest tests/…`); *partly* and *absent* say what is missing.
VisualDL's scalars, samples, embeddings and hyperparameters lie outside of a profiler.

Written from [parity.toml](parity.toml) by `scripts/write_parity.py`.
"""


def sections() -> list[dict[str, Any]]:
    """The sections of the data file."""
    return tomllib.loads(DATA.read_text(encoding="utf-8"))["section"]  # type: ignore[no-any-return]


def proofs(row: list[str]) -> list[str]:
    """The tests that a row names."""
    return [text for text in row[3:] if text.startswith("tests/")]


def missing(row: list[str]) -> list[str]:
    """The sentences of a row that say what is missing."""
    return [text for text in row[3:] if not text.startswith("tests/")]


def page() -> str:
    """The page as Markdown."""
    rows = [row for section in sections() for row in section["rows"]]
    counts = Counter(row[2] for row in rows)
    parts = [
        HEAD,
        f"Of {len(rows)} rows, " + ", ".join(f"{counts[state]} {_is(state)}" for state in STATES) + ".\n",
    ]
    for section in sections():
        lines = [f"## {section['title']}\n", f"Described in {section['source']}.\n"]
        lines += ["| feature | here | state | proof |", "|---|---|---|---|"]
        lines += [_line(row) for row in section["rows"]]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _is(state: str) -> str:
    return {"works": "work", "partly": "are partly there", "absent": "are absent"}[state]


def _line(row: list[str]) -> str:
    tests = [f"`{proof.removeprefix('tests/')}`" for proof in proofs(row)]
    return f"| {row[0]} | {row[1] or '–'} | {row[2]} | {' '.join([*missing(row), *tests])} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
