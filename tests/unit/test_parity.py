"""docs/parity.md: current, and honest in what it names."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def script(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_parity", repository / "scripts" / "write_parity.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(script: ModuleType) -> list[list[str]]:
    return [row for section in script.sections() for row in section["rows"]]


def test_the_page_is_current(script: ModuleType) -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python scripts/write_parity.py"


def test_every_proof_is_a_test(script: ModuleType, repository: Path) -> None:
    for row in rows_of(script):
        for proof in script.proofs(row):
            path, name = proof.split("::")
            text = (repository / path).read_text(encoding="utf-8")
            assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"{row[0]}: {proof}"


def test_rows_say_what_proves_them_and_what_is_missing(script: ModuleType) -> None:
    features = [row[0] for row in rows_of(script)]
    assert len(features) == len(set(features))
    for row in rows_of(script):
        assert row[2] in script.STATES, row
        assert bool(script.proofs(row)) == (row[2] != "absent"), row
        assert bool(script.missing(row)) == (row[2] != "works"), row


def test_reports_that_rows_name_exist(script: ModuleType) -> None:
    from warpline.analysis.framework.registry import reports

    known = {spec.name for spec in reports()}
    for row in rows_of(script):
        for name in re.findall(r"report `(\w+)`", row[1]):
            assert name in known, row
