"""Callbacks of Lightning and Hugging Face, driven by stand-ins in the order in which the real ones call them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import warpline
from warpline import annotation
from warpline.profiling import hooks


class FakeAgent:
    """Notes what is written."""

    def __init__(self) -> None:
        self.names: dict[int, bytes] = {}
        self.log: list[str] = []
        self.count = 0

    def warpline_name_category(self, category: int, name: bytes) -> None:
        self.names[category] = name

    def warpline_start_of(self, name: bytes, category: int) -> int:
        self.log.append(f"{name.decode()} ({self.names[category].decode()})")
        self.count += 1
        return self.count

    def warpline_end(self, number: int) -> None:
        self.log.append(f"end {number}")


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> FakeAgent:
    fake = FakeAgent()
    monkeypatch.setattr(annotation, "_agent", fake)
    # A profiler that recorded in this process leaves its hooks, which then tell the phases.
    monkeypatch.setattr(hooks, "_are_installed", False)
    monkeypatch.delenv("WARPLINE_HOOKED", raising=False)
    return fake


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], Any]:
    """An integration, with a stand-in for its framework."""

    def load(integration: str, framework: str, name: str) -> Any:
        class Callback:
            def __init__(self) -> None:
                self.is_set_up = True

        module = ModuleType(framework)
        setattr(module, name, Callback)
        for part in range(1, framework.count(".") + 1):
            monkeypatch.setitem(sys.modules, framework.rsplit(".", part)[0], ModuleType("package"))
        monkeypatch.setitem(sys.modules, framework, module)
        monkeypatch.delitem(sys.modules, f"warpline.integrations.{integration}", raising=False)
        return importlib.import_module(f"warpline.integrations.{integration}")

    return load


def test_lightning(imported: Callable[[str, str, str], Any], agent: FakeAgent, capsys: Any) -> None:
    callback = imported("lightning", "lightning.pytorch", "Callback").LightningProfiler(timer_only=True)
    assert callback.is_set_up
    callback.on_train_start("trainer", "module")
    for batch in range(12):
        callback.on_train_batch_start("trainer", "module", "batch", batch)
        callback.on_before_backward("trainer", "module", "loss")
        callback.on_after_backward("trainer", "module")
        callback.on_before_optimizer_step("trainer", "module", "optimizer")
        callback.on_train_batch_end("trainer", "module", "outputs", "batch", batch)
    assert callback.profiler.step_num == 12
    callback.on_train_end("trainer", "module")
    assert agent.log[:6] == [
        "Forward (Forward)",
        "end 1",
        "Backward (Backward)",
        "end 2",
        "Optimization (Optimization)",
        "end 3",
    ]
    assert len(agent.log) == 12 * 6
    assert "batch_cost" in capsys.readouterr().out


def test_a_training_of_lightning_that_fails_stops_it(
    imported: Callable[[str, str, str], Any], agent: FakeAgent, capsys: Any
) -> None:
    callback = imported("lightning", "lightning.pytorch", "Callback").LightningProfiler(timer_only=True)
    callback.on_train_start("trainer", "module")
    callback.on_train_batch_start("trainer", "module", "batch", 0)
    callback.on_exception("trainer", "module", KeyboardInterrupt())
    assert agent.log == ["Forward (Forward)", "end 1"]
    assert "No benchmark" in capsys.readouterr().out


def test_hugging_face(imported: Callable[[str, str, str], Any], agent: FakeAgent, capsys: Any) -> None:
    callback = imported("huggingface", "transformers", "TrainerCallback").TrainerProfiler(timer_only=True)
    args = SimpleNamespace(train_batch_size=4, gradient_accumulation_steps=2)
    callback.on_train_begin(args, "state", "control", model="model")
    for _step in range(11):
        callback.on_pre_optimizer_step(args, "state", "control", model="model")
        callback.on_optimizer_step(args, "state", "control", model="model")
        callback.on_step_end(args, "state", "control", model="model")
    assert callback.profiler.step_num == 11
    assert callback.profiler.step_info("sentences").endswith(" sentences/s")
    callback.on_train_end(args, "state", "control", model="model")
    assert agent.log[:2] == ["Optimization (Optimization)", "end 1"]
    assert "IPS Unit: sentences/s" in capsys.readouterr().out


def test_a_framework_that_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "warpline.integrations.huggingface", raising=False)
    with pytest.raises(warpline.UsageError, match="transformers is not installed: pip install transformers"):
        importlib.import_module("warpline.integrations.huggingface")


def test_phases_recorded_by_hooks_are_not_recorded_twice(
    imported: Callable[[str, str, str], Any], agent: FakeAgent, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("WARPLINE_HOOKED", "steps")
    callback = imported("lightning", "lightning.pytorch", "Callback").LightningProfiler(timer_only=True)
    callback.on_train_start("trainer", "module")
    callback.on_train_batch_start("trainer", "module", "batch", 0)
    callback.on_train_batch_end("trainer", "module", "outputs", "batch", 0)
    callback.on_train_end("trainer", "module")
    assert agent.log == []
    assert callback.profiler.step_num == 1
    assert "No benchmark" in capsys.readouterr().out
