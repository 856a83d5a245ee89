"""The investigation of docs/tutorials/assistant.md: its calls, its answers, and once for real."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("mcp")
HELD = "write (orders.py:2"
"""The lines under the lock."""


@pytest.fixture
def investigation(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repository / "scripts"))
    return importlib.import_module("write_investigation")


def test_calls_are_ones_that_the_server_takes(investigation: ModuleType) -> None:
    from warpline.agents import catalogue

    tools = {tool.name: tool for module in catalogue.ALL for tool in module.TOOLS}
    calls = list(investigation.calls(investigation.PAGE.read_text("utf-8")))
    assert [tool for tool, _, _ in calls] == ["record", "check", "why", "query", "record", "compare", "check"]
    for tool, given, answer in calls:
        assert tools[tool].checked(given)
        assert answer
    answers = [answer for _, _, answer in calls]
    assert HELD in answers[1]
    assert "predicted gain up to" in answers[5]
    assert "waits_for_lock" not in answers[6]


def test_filling_the_page_keeps_its_words(investigation: ModuleType) -> None:
    text = investigation.PAGE.read_text("utf-8")
    answers = [answer for _, _, answer in investigation.calls(text)]
    assert investigation.fill(text, answers) == text


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="recording works on Linux only")
def test_the_calls_find_the_lock(investigation: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    text = investigation.PAGE.read_text("utf-8")
    answers = asyncio.run(asyncio.wait_for(investigation.ask(tmp_path, text), 240))
    assert HELD in answers[1]
    assert "exit status of the program: 0" in answers[4]
    assert answers[5].count("\n") > 3
