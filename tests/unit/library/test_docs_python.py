"""Every example of docs/python.md gives what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from tests.unit.library.library_tools import write_run, write_trace

EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_are_true(
    repository: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pandas", "pyarrow", "polars", "PySide6"):
        pytest.importorskip(module)
    write_run(tmp_path / "run.h5")
    write_trace(tmp_path / "trace.json")
    write_trace(tmp_path / "trace2.json")
    monkeypatch.chdir(tmp_path)
    text = (repository / "docs" / "python.md").read_text("utf-8")
    blocks = [(match.start(1), match.group(1)) for match in EXAMPLE.finditer(text)]
    assert len(blocks) > 10
    assert text.count("```python") == len(blocks)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names: dict[str, object] = {}
    failures: list[str] = []
    for place, block in blocks:
        line = text.count("\n", 0, place)
        example = parser.get_doctest(block, names, f"line {line + 1}", "docs/python.md", line)
        assert example.examples, block
        runner.run(example, out=failures.append, clear_globs=False)
        names = example.globs
    assert failures == []
