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
