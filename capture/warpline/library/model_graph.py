"""`warpline.model_graph`: the layers of a network as a capture, without a run on data."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from warpline.i18n import english, tr
from warpline.model import Flag, RecordingError, UsageError
from warpline.storage import CaptureBuilder

_TICK_NS = 1000
"""Between two begins or ends of calls: their order is known, times are not."""


@dataclass
class _Call:
    """One call of a layer; ``start`` and ``stop`` count begins and ends."""

    name: str
    kind: str
    parameters: int
    inputs: str
    start: int
    stop: int = 0
    outputs: str = ""


@dataclass
class _Log:
    """The calls of layers in order, as hooks of the network report them."""

    calls: list[_Call] = field(default_factory=list)
    _open: list[_Call] = field(default_factory=list)
    _now: int = 0

    def enter(self, name: str, layer: Any, values: Any) -> None:
        """A layer is called with ``values``."""
        parameters = sum(int(np.prod(tuple(one.shape), dtype=np.int64)) for one in layer.parameters())
        call = _Call(name, type(layer).__name__, parameters, _shapes(values), self._now)
        self._now += 1
        self.calls.append(call)
        self._open.append(call)

    def leave(self, result: Any) -> None:
        """The layer called last returns."""
        call = self._open.pop()
        self._now += 1
        call.stop, call.outputs = self._now, _shapes(result)


def model_graph(net: Any, input_spec: Any, file: Path | str = "model.h5") -> Path:
    """Write a capture of the layers of a PyTorch or Paddle network, and return its path.

    ``input_spec`` describes each argument of its ``forward``: a tensor, a shape (float32), or what has ``shape`` and
    ``dtype``, such as a NumPy array or `paddle.static.InputSpec`; None in a shape is 1. One of them may stand alone, a
    shape as a tuple: a list has one for each argument. PyTorch computes
    shapes only (device *meta*), Paddle once, on zeros. The panel *Model* shows the layers in call order with parameters
    and shapes; times are not recorded.

    Raises UsageError for other networks and specifications, RecordingError when ``forward`` fails, StorageError.
    """
    framework = _FRAMEWORKS.get(_framework(net))
    if framework is None:
        raise UsageError(
            tr("{type} is no network: neither torch.nn.Module nor paddle.nn.Layer", type=type(net).__name__)
        )
    tensor, call = framework
    log, inputs = _Log(), _inputs(input_spec, tensor)
    try:
        call(net, inputs, log)
    except Exception as error:  # forward is the user's code
        raise RecordingError(
            tr(
                "forward of {type} fails without data: {error}",
                type=type(net).__name__,
                error=f"{type(error).__name__}: {error}".partition("\n")[0],
            )
        ) from error
    if not log.calls:
        raise RecordingError(tr("forward of {type} called no layer", type=type(net).__name__))
    return _write(log.calls, type(net).__name__, Path(file))


def _framework(net: Any) -> str:
    for base in type(net).__mro__:
        if (base.__module__.partition(".")[0], base.__name__) in {("torch", "Module"), ("paddle", "Layer")}:
            return base.__module__.partition(".")[0]
    return ""


def _inputs(spec: Any, tensor: Callable[[Sequence[int], Any], Any]) -> list[Any]:
    """A tensor for each argument, of a shape and a type, which is that of the framework, NumPy's or a name."""
    is_shape = isinstance(spec, tuple) and all(size is None or isinstance(size, int) for size in spec)
    try:
        specs = [spec] if is_shape or hasattr(spec, "shape") else spec
        return [tensor(_shape(one), getattr(one, "dtype", "float32")) for one in specs]
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            tr(
                "not a specification of inputs: {spec!r}; write a shape such as (1, 6), or a list with one for each",
                spec=spec,
            )
        ) from error


def _shape(spec: Any) -> list[int]:
    sizes = getattr(spec, "shape", spec)
    return [1 if size is None or operator.index(size) < 0 else operator.index(size) for size in sizes]


def _tensor_of_torch(shape: Sequence[int], dtype: Any) -> Any:
    torch: Any = sys.modules["torch"]
    name = getattr(dtype, "name", dtype)
    return torch.empty(shape, dtype=getattr(torch, name) if isinstance(name, str) else name, device="meta")


def _of_torch(net: Any, inputs: Sequence[Any], log: _Log) -> None:
    torch: Any = sys.modules["torch"]
    named: Mapping[str, Any] = {**dict(net.named_parameters()), **dict(net.named_buffers())}
    weights = {name: value.detach().to("meta") for name, value in named.items()}
    with _watched(net, net.named_modules(), "register_forward_hook", log), torch.no_grad():
        torch.func.functional_call(net, weights, tuple(inputs))


def _tensor_of_paddle(shape: Sequence[int], dtype: Any) -> Any:
    return sys.modules["paddle"].zeros(shape, dtype=dtype)


def _of_paddle(net: Any, inputs: Sequence[Any], log: _Log) -> None:
    paddle: Any = sys.modules["paddle"]
    layers = net.named_sublayers(include_self=True)
    with _watched(net, layers, "register_forward_post_hook", log), paddle.no_grad():
        net(*inputs)


_FRAMEWORKS: Mapping[
    str, tuple[Callable[[Sequence[int], Any], Any], Callable[[Any, Sequence[Any], _Log], None]]
] = {
    "torch": (_tensor_of_torch, _of_torch),
    "paddle": (_tensor_of_paddle, _of_paddle),
}
"""How an input is made, and how the network is called with all of them."""


@contextlib.contextmanager
def _watched(net: Any, layers: Any, after: str, log: _Log) -> Iterator[None]:
    """Hooks on all layers, which compute as in evaluation; afterwards the network is as before."""
    hooks, modes = [], []
    try:
        for name, layer in layers:
            path = name or type(net).__name__
            modes.append((layer, layer.training))
            hooks.append(
                layer.register_forward_pre_hook(lambda one, values, path=path: log.enter(path, one, values))
            )
            hooks.append(getattr(layer, after)(lambda _one, _values, result: log.leave(result)))
        net.eval()
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for layer, mode in modes:
            layer.training = mode


def _shapes(values: Any) -> str:
    """``[4, 3, 32, 32], [16]``: the shapes of all tensors in values."""
    if hasattr(values, "shape"):
        return str([int(size) for size in values.shape])
    if isinstance(values, Mapping):
        values = list(values.values())
    return ", ".join(filter(None, map(_shapes, values))) if isinstance(values, list | tuple) else ""


def _write(calls: Sequence[_Call], title: str, file: Path) -> Path:
    with CaptureBuilder(file) as builder:
        builder.meta["tool"] = "warpline.model_graph"
        track = builder.track(
            "process/0/thread/0/modules", title=english("Layers of {net}, in call order", net=title)
        )
        start = np.array([call.start for call in calls], np.int64) * _TICK_NS

        def strings(texts: Sequence[str]) -> Any:
            return np.ma.MaskedArray(builder.strings(texts), [not text for text in texts])

        builder.add_events(
            track,
            "module",
            start,
            np.array([call.stop for call in calls], np.int64) * _TICK_NS - start,
            builder.strings([call.name for call in calls]),
            flags=int(Flag.ESTIMATED),
            attributes={
                "class_name": builder.strings([call.kind for call in calls]),
                "parameters": np.array([call.parameters for call in calls], np.int64),
                "input_shapes": strings([call.inputs for call in calls]),
                "output_shapes": strings([call.outputs for call in calls]),
            },
        )
        return builder.finish()
