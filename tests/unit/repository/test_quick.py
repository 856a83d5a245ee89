"""`make quick` finds the tests of what changed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def quick(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("quick", repository / "scripts" / "quick.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_module_names_come_from_both_source_roots(quick: ModuleType) -> None:
    assert quick.module_name(Path("capture/warpline/model/times.py")) == "warpline.model.times"
    assert quick.module_name(Path("app/warpline_app/look/__init__.py")) == "warpline_app.look"
    assert quick.module_name(Path("scripts/house.py")) is None
    assert quick.module_name(Path("capture/warpline/x.c")) is None


def test_a_test_belongs_to_the_modules_it_imports(quick: ModuleType, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_full.py").write_text("from warpline.model.times import parse_time\n")
    (tests / "test_name.py").write_text("from warpline.model import kinds, times\n")
    (tests / "test_longer.py").write_text("from warpline.model.times_of_day import clock\n")
    (tests / "test_other.py").write_text("from warpline.model import kinds\n")
    (tests / "test_changed.py").write_text("")
    chosen = quick.matching_tests(["warpline.model.times"], [Path("tests/test_changed.py")], tmp_path)
    assert chosen == [Path("tests/test_changed.py"), Path("tests/test_full.py"), Path("tests/test_name.py")]
