"""That the command which watches over the house finds what it looks for."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def house(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", repository / "scripts" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def parsed(house: ModuleType, sources: dict[str, str]) -> dict[str, set[str]]:
    known = dict.fromkeys(sources, Path("x.py"))
    return dict(house.graph_of({name: ast.parse(text) for name, text in sources.items()}, known))


TYPES_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from {} import {}\n"


@pytest.mark.parametrize(
    "back",
    [
        "import warpline.a",
        "from warpline import a",
        "from warpline.a import A",
        "def late():\n    from warpline.a import A\n",
        TYPES_ONLY.format("warpline.a", "A"),
    ],
)
def test_a_circle_is_found_however_it_is_closed(house: ModuleType, back: str) -> None:
    graph = parsed(
        house,
        {
            "warpline": "",
            "warpline.a": "from warpline.b import B",
            "warpline.b": "from warpline.c import C",
            "warpline.c": back,
            "warpline.d": "from warpline.a import A",
        },
    )
    assert house.circles(graph) == [["warpline.a", "warpline.b", "warpline.c"]]
    assert "warpline.a -> warpline.b -> warpline.c -> warpline.a" in house.shown(
        house.circles(graph)[0], graph
    )


def test_imports_that_point_one_way_are_no_circle(house: ModuleType) -> None:
    graph = parsed(
        house,
        {
            "warpline.a": "import numpy",
            "warpline.b": "from warpline.a import A",
            "warpline.c": "from warpline.a import A\nfrom warpline.b import B",
        },
    )
    assert graph["warpline.c"] == {"warpline.a", "warpline.b"}
    assert house.circles(graph) == []


def test_a_folder_counts_its_modules_and_not_what_makes_it_a_package(house: ModuleType) -> None:
    paths = [Path("app/room") / name for name in ("__init__.py", "a.py", "b.py", "b.c", "c.c")]
    assert house.crowded(paths, most=2) == []
    assert house.crowded([*paths, Path("app/room/c.py")], most=2) == ["app/room: 3 modules"]


def test_a_module_of_the_greatest_length_may_stay(house: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 4)
    (tmp_path / "b.c").write_text("int x;\n" * 5)
    assert house.too_long([Path("a.py"), Path("b.c")], tmp_path, most=4) == ["b.c: 5 lines"]


def test_a_name_with_two_owners(house: ModuleType) -> None:
    trees = {
        "warpline.a": ast.parse("class View: ...\nclass _Own: ..."),
        "warpline.b": ast.parse("class Frame:\n    class View: ...\nclass _Own: ..."),
        "warpline_app.c": ast.parse("class View: ..."),
    }
    assert house.twice_named(trees) == ["View: warpline.a, warpline_app.c"]


AGENT = "capture/warpline/recording/agent/native"
SOURCES = "capture/warpline/recording/sources"
IMPORTERS = "capture/warpline/interchange"
HEADERS = (
    f"{AGENT}/spool.h",
    f"{AGENT}/python/layout.h",
    f"{SOURCES}/osrt/native/osrt.h",
    f"{SOURCES}/python/native/stacks.h",
    f"{IMPORTERS}/framework/native/intern.h",
    f"{IMPORTERS}/nsys/native/rows.h",
)


@pytest.mark.parametrize(
    ("path", "name", "is_allowed"),
    [
        (f"{AGENT}/spool.c", "spool.h", True),
        (f"{AGENT}/spool.c", "layout.h", True),
        (f"{AGENT}/python/layout.c", "spool.h", True),
        (f"{AGENT}/spool.c", "stacks.h", False),
        (f"{AGENT}/python/layout.c", "../../../sources/python/native/stacks.h", False),
        (f"{SOURCES}/osrt/native/osrt.c", "osrt.h", True),
        (f"{SOURCES}/osrt/native/osrt.c", "layout.h", True),
        (f"{SOURCES}/osrt/native/osrt.c", "stacks.h", False),
        (f"{SOURCES}/osrt/native/osrt.c", "intern.h", False),
        (f"{IMPORTERS}/trace_json/native/scan.c", "intern.h", True),
        (f"{IMPORTERS}/trace_json/native/scan.c", "rows.h", False),
        (f"{IMPORTERS}/trace_json/native/scan.c", "spool.h", False),
        ("capture/warpline/storage/index/native/strip.c", "intern.h", False),
        (f"{AGENT}/spool.c", "missing.h", False),
    ],
)
def test_c_includes_only_headers_of_its_room(
    house: ModuleType, path: str, name: str, is_allowed: bool
) -> None:
    includes: dict[Path, list[str]] = {Path(header): [] for header in HEADERS}
    includes[Path(path)] = [name]
    wrong = house.wrong_includes(includes)
    assert (wrong == []) is is_allowed
    assert is_allowed or wrong[0].startswith(f"{path} includes ")


def test_a_header_name_belongs_to_one_header(house: ModuleType) -> None:
    paths = [Path(f"{SOURCES}/{name}/native/records.h") for name in ("osrt", "torch")]
    assert house.wrong_includes({path: [] for path in paths}) == [f"records.h: {paths[0]}, {paths[1]}"]


def test_includes_of_ours_are_found(house: ModuleType) -> None:
    text = b'#include <stdio.h>\n#include "a.h"\n# include "b.h"\n/* #include */ int x;\n'
    assert house.included(text) == ["a.h", "b.h"]


def test_a_crowded_folder_and_a_long_module_are_notes(
    house: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # One room: `test_the_house_keeps_its_rules` looks at them all.
    room = [path for path in house.tracked() if path.parts[:3] == ("capture", "warpline", "model")]
    assert len(room) > 5
    monkeypatch.setattr(house, "tracked", lambda: room)
    monkeypatch.setattr(house, "crowded", lambda _paths: ["room: 21 modules"])
    monkeypatch.setattr(house, "too_long", lambda _paths: ["a.py: 401 lines"])
    assert house.main() == 0
    printed = capsys.readouterr().out
    assert "note: folders of more than 20 modules: 1\n  room: 21 modules\n" in printed
    assert "note: modules of more than 400 lines: 1\n  a.py: 401 lines\n" in printed
    monkeypatch.setattr(house, "wrong_includes", lambda _includes: ["a.c includes b.h"])
    assert house.main() == 1
