"""`warpline.model_graph`, on a stand-in for Paddle; tests/frameworks has the frameworks themselves."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpline
from warpline.analysis.framework.registry import compute_report
from warpline.library.model_graph import _inputs, _tensor_of_torch
from warpline.storage import open_capture


class Hook:
    def __init__(self, hooks: list[Any], function: Callable[..., Any]) -> None:
        self.hooks, self.function = hooks, function
        hooks.append(self)

    def remove(self) -> None:
        self.hooks.remove(self)


class Layer:
    """What `model_graph` uses of `paddle.nn.Layer`."""

    def __init__(self, weights: tuple[int, ...] = (), **children: Layer) -> None:
        self.weights, self.children = weights, children
        self.before: list[Hook] = []
        self.after: list[Hook] = []
        self.training = True

    def __call__(self, *values: Any) -> Any:
        for hook in list(self.before):
            hook.function(self, values)
        result = self.forward(*values)
        for hook in list(self.after):
            hook.function(self, values, result)
        return result

    def forward(self, value: Any) -> Any:
        for child in self.children.values():
            value = child(value)
        return value

    def parameters(self) -> list[Any]:
        own = [np.zeros(self.weights)] if self.weights else []
        return own + [one for child in self.children.values() for one in child.parameters()]

    def named_sublayers(self, *, include_self: bool, prefix: str = "") -> Iterator[tuple[str, Layer]]:
        if include_self:
            yield prefix, self
        for name, child in self.children.items():
            yield from child.named_sublayers(include_self=True, prefix=f"{prefix}.{name}" if prefix else name)

    def register_forward_pre_hook(self, function: Callable[..., Any]) -> Hook:
        return Hook(self.before, function)

    def register_forward_post_hook(self, function: Callable[..., Any]) -> Hook:
        return Hook(self.after, function)

    def eval(self) -> None:
        for _name, layer in self.named_sublayers(include_self=True):
            layer.training = False


Layer.__module__ = "paddle.nn.layer.layers"


class Linear(Layer):
    def forward(self, value: Any) -> Any:
        assert not self.training
        return value @ np.zeros(self.weights)


class Net(Layer):
    pass


@pytest.fixture(autouse=True)
def paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("paddle")
    vars(module).update(
        zeros=np.zeros,
        no_grad=contextlib.nullcontext,
    )
    monkeypatch.setitem(sys.modules, "paddle", module)


def network() -> Net:
    return Net(body=Layer(first=Linear((6, 5)), second=Linear((5, 4))), head=Linear((4, 2)))


def test_layers_stand_in_call_order_with_parameters_and_shapes_and_without_times(tmp_path: Path) -> None:
    net = network()
    path = warpline.model_graph(net, (None, 6), tmp_path / "net.h5")
    with open_capture(path) as capture:
        table = compute_report(capture, "modules").table
        assert table is not None
        assert list(table.data["name"]) == ["Net", "body", "body.first", "body.second", "head"]
        assert table.depth is not None
        assert table.depth.tolist() == [0, 1, 2, 2, 1]
        assert np.asarray(table.data["parameters"]).tolist() == [58, 50, 30, 20, 8]
        assert np.asarray(table.data["self_parameters"]).tolist() == [0, 0, 30, 20, 8]
        assert list(table.data["output_shapes"]) == ["[1, 2]", "[1, 4]", "[1, 5]", "[1, 4]", "[1, 2]"]
        assert "total_ns" not in table.data
        assert "times are not recorded" in table.notes[0]
    layers = [layer for _name, layer in net.named_sublayers(include_self=True)]
    assert all(layer.training and not layer.before and not layer.after for layer in layers)


@pytest.mark.parametrize("spec", [[(1, 6)], np.zeros((1, 6)), [np.zeros((1, 6), np.float32)]])
def test_specifications_are_shapes_tensors_or_lists_of_them(tmp_path: Path, spec: Any) -> None:
    assert warpline.model_graph(network(), spec, tmp_path / "net.h5").exists()


def test_what_cannot_be_shown_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "net.h5"
    with pytest.raises(warpline.UsageError, match="object is no network"):
        warpline.model_graph(object(), (1, 6), path)
    with pytest.raises(warpline.UsageError, match="not a specification of inputs: 6"):
        warpline.model_graph(network(), 6, path)
    with pytest.raises(
        warpline.UsageError, match=r"not a specification of inputs: \[1, 6\]; write a shape such"
    ):
        warpline.model_graph(network(), [1, 6], path)
    with pytest.raises(warpline.RecordingError, match="forward of Net fails without data: ValueError"):
        warpline.model_graph(network(), (1, 7), path)
    assert not path.exists()


def test_an_exception_while_hooks_are_registered_leaves_none(tmp_path: Path) -> None:
    class Odd(Net):
        def eval(self) -> None:
            super().eval()
            raise ValueError

    net = Odd(body=Linear((6, 5)))
    with pytest.raises(warpline.RecordingError, match="ValueError"):
        warpline.model_graph(net, (1, 6), tmp_path / "net.h5")
    for layer in (net, net.children["body"]):
        assert (layer.before, layer.after, layer.training) == ([], [], True)


def test_types_of_numpy_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = types.ModuleType("torch")
    vars(torch).update(empty=lambda *made, **options: (*made, options), float32=object(), int64=object())
    monkeypatch.setitem(sys.modules, "torch", torch)
    tokens = types.SimpleNamespace(shape=(2,), dtype=torch.int64)
    made = _inputs([np.zeros((1, 6), np.int64), (None, 6), tokens], _tensor_of_torch)
    assert made == [
        ([1, 6], {"dtype": torch.int64, "device": "meta"}),
        ([1, 6], {"dtype": torch.float32, "device": "meta"}),
        ([2], {"dtype": torch.int64, "device": "meta"}),
    ]
    with pytest.raises(warpline.UsageError):
        _inputs(np.zeros(1, "S8"), _tensor_of_torch)
