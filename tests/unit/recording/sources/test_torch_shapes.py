"""The first steps with shapes, where PyTorch's own profiler does not begin as it should. On a stand-in for it."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from warpline.recording.hooks.inside import common_hooks, torch_operators, torch_shapes


class Native:
    """What PyTorch has in C. A profiler that is on when its thread ends takes the process with it."""

    def __init__(self, failing: str) -> None:
        self.failing, self.is_on = failing, False

    def call(self, name: str, is_on: bool) -> None:
        self.is_on = is_on
        if name == self.failing:
            raise RuntimeError("of another version")

    def _prepare_profiler(self, *_: Any) -> None:
        self.call("prepare", False)

    def _enable_profiler(self, *_: Any) -> None:
        self.call("enable", True)

    def _disable_profiler(self) -> None:
        self.call("disable", False)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the hooks say; they find what they need where boot.py would put it."""
    reasons: list[str] = []
    optimizer = type("Optimizer", (), {"profile_hook_step": staticmethod(lambda step: step)})
    state = SimpleNamespace(KINETO="KINETO")
    profiler = SimpleNamespace(_ExperimentalConfig=list, ProfilerState=state, ProfilerConfig=lambda *_: None)
    monkeypatch.setitem(sys.modules, "torch.autograd.profiler", profiler)
    monkeypatch.setitem(sys.modules, "torch.optim.optimizer", SimpleNamespace(Optimizer=optimizer))
    for module in (common_hooks, torch_shapes, torch_operators):
        for name in ("quietly", "hook_calls"):
            monkeypatch.setattr(module, name, getattr(common_hooks, name), raising=False)
        monkeypatch.setattr(module, "now", lambda: 1, raising=False)
        monkeypatch.setattr(module, "leave_to_dynamo", lambda *_: None, raising=False)
        monkeypatch.setattr(module, "quick_call", lambda *_: None, raising=False)
        monkeypatch.setattr(module, "after_calls", [], raising=False)
        monkeypatch.setattr(module, "after_operators", lambda *_: None, raising=False)
        monkeypatch.setattr(module, "say", lambda *words: reasons.append(words[2]), raising=False)
    return reasons


def torch_with(native: Native) -> Any:
    kind = type("Module", (), {"__call__": lambda _self: None})
    activities = SimpleNamespace(ProfilerActivity=SimpleNamespace(CPU=0))
    return SimpleNamespace(
        _C=SimpleNamespace(_autograd=native, _profiler=activities),
        nn=SimpleNamespace(Module=kind),
        is_grad_enabled=lambda: True,
    )


@pytest.mark.parametrize("failing", ["prepare", "enable"])
def test_a_profiler_that_fails_to_start_is_switched_off(failing: str, said: list[str]) -> None:
    native = Native(failing)
    shapes = torch_shapes.Shapes(torch_with(native), 2, lambda: None)
    assert torch_operators.try_begin(shapes) is None
    assert not native.is_on
    assert not shapes.is_on
    assert said == ["shapes are not recorded: RuntimeError: of another version"]


def test_a_started_profiler_stays_on(said: list[str]) -> None:
    native = Native("")
    shapes = torch_shapes.Shapes(torch_with(native), 2, lambda: None)
    assert torch_operators.try_begin(shapes) is shapes
    assert native.is_on
    assert said == []


def test_no_profiler_starts_outside_the_main_thread(said: list[str]) -> None:
    native = Native("")
    shapes = torch_shapes.Shapes(torch_with(native), 2, lambda: None)
    begun: list[Any] = []
    thread = threading.Thread(target=lambda: begun.append(torch_operators.try_begin(shapes)))
    thread.start()
    thread.join()
    assert begun == [None]
    assert not native.is_on
    assert said == ["shapes are not recorded: PyTorch was imported in a thread that is not the main one"]
