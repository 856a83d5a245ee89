"""A finding explains itself: its numbers, chain, evidence, and what would refute it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.analysis.findings.test_engine import MS, threads_capture

from warpline.analysis.findings import catalogue
from warpline.analysis.findings.refutations import REFUTATIONS
from warpline.cli import main
from warpline.model.waits import WaitKind

DOCS = Path(__file__).resolve().parents[4] / "docs" / "findings.md"
NO_PROBLEMS = ("capture_", "full_queue", "hot_spot")
"""Statements about the capture, and kinds of work, which refute themselves one by one."""


def test_every_documented_finding_says_what_refutes_it() -> None:
    table = DOCS.read_text().partition("## Causes of findings")[2].partition("Another distribution")[0]
    names = {name for name in re.findall(r"`([a-z_]+)`", table) if not name.startswith(NO_PROBLEMS)}
    assert len(names) > 40
    assert names - set(REFUTATIONS) == set()
    assert all(text.startswith("Refuted if ") for text in REFUTATIONS.values())


def test_every_rule_of_the_catalogue_says_what_refutes_its_findings() -> None:
    sources = (module.read_text() for module in Path(catalogue.__file__).parent.glob("*.py"))
    names = {name for text in sources for name in re.findall(r'\b(?:name|id)="([a-z_]+)"', text)}
    assert len(names) > 20
    assert {name for name in names if not name.startswith(NO_PROBLEMS)} - set(REFUTATIONS) == set()


def test_why_prints_numbers_chain_and_refutation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.h5"
    states = [(40 * MS, 0, 0, 0), (60 * MS, 2, int(WaitKind.SLEEP), 0)]
    with threads_capture(path, [states]):
        pass
    assert main(["check", str(path), "--why", "waits_for_sleep"]) == 0
    printed = capsys.readouterr().out
    assert "The range lasts 100.0 ms, from 0 ns to 100.0 ms." in printed
    assert "The finding takes 60.00 ms of it (60.0 %)." in printed
    assert "the range lasts 40.00 ms: 60.00 ms less" in printed
    assert "1. sleeps" in printed
    assert REFUTATIONS["waits_for_sleep"] in printed


def test_why_names_the_findings_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.h5"
    with threads_capture(path, [[(100 * MS, 2, int(WaitKind.SLEEP), 0)]]):
        pass
    assert main(["check", str(path), "--why", "nothing"]) == 2
    assert "waits_for_sleep" in capsys.readouterr().err
