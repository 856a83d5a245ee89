"""Hooks that come while a program imports what they wait for. On a framework that is only told of."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import warpline.recording.hooks.inside

BOOT = Path(warpline.recording.hooks.inside.__file__).with_name("boot.py")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is said of sources; imports find the folder of the test, and are forgotten after it."""
    (tmp_path / "tensorflow.py").write_text("import sys\nsys.modules['begins'].now()\n")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # so that what the test imports goes with it
    del sys.modules["tensorflow"]
    return []


def boot(said: list[str]) -> None:
    """As the agent does it, between any two lines of the program."""
    code = compile(BOOT.read_text(), str(BOOT), "exec")
    names: dict[str, Any] = {"__file__": str(BOOT), "__name__": "_warpline_boot", "sources": "steps"}
    builtins = (
        "now",
        "enter",
        "leave",
        "record",
        "text",
        "autograd",
        "after_operators",
        "paddle",
        "operator",
    )
    names.update(dict.fromkeys((*builtins, "heap", "quick_call", "drop"), print))
    exec(code, {**names, "say": lambda *words: said.append(words[2])})


class Begins:
    """A finder that finds nothing, and a module; one of the two has the hooks come."""

    def __init__(self, when: str, said: list[str]) -> None:
        self.when, self.said = when, said

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "tensorflow" and self.when == "found":
            self.when = "done"
            boot(self.said)

    def now(self) -> None:
        if self.when == "executed":
            boot(self.said)


@pytest.mark.parametrize("when", ["before", "found", "executed", "after"])
def test_a_framework_is_hooked_at_any_time_of_its_import(
    when: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begins: Any = Begins(when, said)
    monkeypatch.setitem(sys.modules, "begins", begins)
    sys.meta_path.insert(0, begins)
    if when == "before":
        boot(said)
    importlib.import_module("tensorflow")
    if when == "after":
        boot(said)
    assert [text.partition(":")[0] for text in said] == ["TensorFlow is not hooked"]


def test_hooks_can_be_imported_under_their_names(
    said: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The compiler of torch 2.13 imports the module of each function that it inlines."""
    (tmp_path / "paddle.py").write_text("")
    for name in ("paddle", "_warpline_common_hooks", "_warpline_paddle_hooks"):
        monkeypatch.setitem(sys.modules, name, None)  # goes when the test is over
        del sys.modules[name]
    boot(said)
    importlib.import_module("paddle")
    common = importlib.import_module("_warpline_common_hooks")
    assert common.is_compiling.__globals__ is vars(common)
    hooks = importlib.import_module("_warpline_paddle_hooks")
    assert hooks.hook_compiler.__globals__ is vars(hooks)
