"""What a profiler tells of Paddle's layers, backward passes and optimizers, on stand-ins for its classes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from warpline import annotation
from warpline.profiling import paddle_phases


class Tensor:
    def backward(self, retain_graph: bool = False) -> bool:
        return retain_graph


class Layer:
    def __call__(self, value: int) -> int:
        return self.forward(value)

    def forward(self, value: int) -> int:
        return value


class Doubled(Layer):
    def __init__(self) -> None:
        self.inner = Layer()

    def forward(self, value: int) -> int:
        return 2 * self.inner(value)


class Optimizer:
    def step(self) -> None: ...


class Adam(Optimizer):
    def step(self) -> None:
        raise ZeroDivisionError


class RangesOfAgent:
    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.open: list[str] = []
        self.ranges: list[str] = []

    def warpline_name_category(self, category: int, name: bytes) -> None:
        self.names[category] = name.decode()

    def warpline_push_of(self, name: bytes, category: int) -> None:
        self.open.append(f"{name.decode()}: {self.names[category]}")

    def warpline_pop(self) -> None:
        self.ranges.append(" in ".join(reversed(self.open)))
        self.open.pop()


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[RangesOfAgent]:
    paddle, layers, optimizers = (ModuleType(name) for name in ("paddle", "layers", "optimizer"))
    paddle.Tensor = Tensor  # type: ignore[attr-defined]
    layers.Layer = Layer  # type: ignore[attr-defined]
    optimizers.Optimizer = Optimizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "paddle", paddle)
    monkeypatch.setitem(sys.modules, "paddle.nn.layer.layers", layers)
    monkeypatch.setitem(sys.modules, "paddle.optimizer.optimizer", optimizers)
    fake = RangesOfAgent()
    monkeypatch.setattr(annotation, "_agent", fake)
    yield fake
    paddle_phases.unhook()


def test_phases_are_ranges_of_paddles_types(agent: RangesOfAgent) -> None:
    paddle_phases.hook()
    paddle_phases.hook()
    assert Doubled()(4) == 8
    assert Tensor().backward(retain_graph=True) is True
    Optimizer().step()
    with pytest.raises(ZeroDivisionError):
        Adam().step()
    assert agent.ranges == [
        "Layer: Forward in Doubled: Forward",
        "Doubled: Forward",
        "Backward: Backward",
        "Optimization: Optimization",
        "Optimization: Optimization",
    ]
    assert agent.open == []


def test_no_ranges_are_written_outside_a_recording(agent: RangesOfAgent) -> None:
    paddle_phases.hook()
    annotation.connect(None)
    assert Doubled()(1) == 2
    assert agent.ranges == []


def test_methods_are_restored_afterwards(agent: RangesOfAgent) -> None:
    methods = [vars(Layer)["__call__"], vars(Tensor)["backward"], vars(Optimizer)["step"], vars(Adam)["step"]]
    paddle_phases.hook()
    later = vars(Adam)["step"]
    assert later is not methods[-1]
    paddle_phases.unhook()
    found = [vars(Layer)["__call__"], vars(Tensor)["backward"], vars(Optimizer)["step"], vars(Adam)["step"]]
    assert found == methods
    assert agent.ranges == []
