"""How rules are found: by the modules of the catalogue, and by entry points of what is installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.analysis.findings.test_engine import MS, threads_capture

from warpline import plugins
from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.rule import all_rules, builtin_rules
from warpline.analysis.framework.selection import View
from warpline.cli import main

THEIRS = """
from warpline.analysis.findings.draft import make_finding, pieces_of
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.rule import Rule


def find(case):
    pieces = pieces_of(case, "running")
    gain = case.gain_of_pieces(pieces)
    yield from make_finding(
        case, name="theirs", title="Theirs", text="It runs.", remedy="Stop it.", pieces=pieces, gain_ns=gain
    )


rule = Rule("theirs", "own", find)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution with a rule, one that is none, one that cannot be loaded, and one called like a built-in one."""
    folder = tmp_path / "somebody-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    points = "theirs = their_rules:rule\nbroken = json:dumps\ngone = no_such_module:rule\nlocks = their_rules:rule\n"
    (folder / "entry_points.txt").write_text(f"[warpline.findings]\n{points}")
    (tmp_path / "their_rules.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.forget()
    yield tmp_path
    plugins.forget()


def test_the_catalogue_has_each_name_once() -> None:
    names = [rule.name for rule in builtin_rules()]
    assert len(names) == len(set(names)) > 10
    assert {rule.group for rule in builtin_rules()} >= {
        "input",
        "host",
        "locks",
        "outside",
        "gpu",
        "ranks",
        "steps",
    }


def test_an_installed_rule_finds_what_it_looks_for(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, said = all_rules()
    assert [rule.name for rule in rules] == [*(rule.name for rule in builtin_rules()), "theirs"]
    assert any("it is not of type Rule" in sentence for sentence in said)
    assert any("No module named 'no_such_module'" in sentence for sentence in said)
    with threads_capture(installed / "run.h5", [[(100 * MS, 0, 0, 0)]]) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert found["theirs"].gain_ns == 100 * MS
    assert main(["check", "--json", str(installed / "run.h5")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [finding["id"] for finding in printed["findings"]] == ["theirs"]
    assert len(printed["said"]) == 2


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("raise ValueError('no idea')", "no idea"),
        ("yield None", "not a Finding"),
        ("return None", "not iterable"),
    ],
)
def test_an_installed_rule_that_fails_keeps_no_other_from_being_heard(
    installed: Path, does: str, reason: str
) -> None:
    text = THEIRS.partition("    pieces")[0] + f"    {does}\n\n\n" + 'rule = Rule("theirs", "own", find)\n'
    (installed / "their_rules.py").write_text(text)
    plugins.forget()
    sys.modules.pop("their_rules", None)
    with threads_capture(installed / "run.h5", [[(100 * MS, 0, 0, 0)]]) as capture:
        found = diagnose(View(capture))
    assert found.budget is not None
    assert any("rule theirs failed" in sentence and reason in sentence for sentence in found.notices)
