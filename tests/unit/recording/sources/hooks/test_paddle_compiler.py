"""Calls of layers are recorded in C until Paddle compiles a function. On what hooks find where boot.py would put it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from warpline.recording.hooks.inside import common_hooks, paddle_hooks


def quick(*_parts: object) -> str:
    return "recorded in C"


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A class whose calls are hooked."""
    for name, stand_in in {"quick_call": quick, "text": len, "leave_to_dynamo": lambda *_: None}.items():
        monkeypatch.setattr(common_hooks, name, stand_in, raising=False)
    for name in ("let_compile", "watch_compiler"):
        monkeypatch.setattr(paddle_hooks, name, getattr(common_hooks, name), raising=False)
    monkeypatch.setattr(common_hooks, "compilers", [False])
    monkeypatch.setattr(common_hooks, "quick_calls", [])
    kind: Any = type("Layer", (), {"__call__": lambda _self: None})
    common_hooks.hook_calls(kind, lambda: True)
    assert vars(kind)["__call__"] == "recorded in C"
    return kind


def test_until_a_static_function_is_made(layer: Any) -> None:
    static: Any = type("StaticFunction", (), {"__init__": lambda _self, _function: None})
    translator = SimpleNamespace(StaticFunction=static)
    paddle_hooks.hook_compiler(
        SimpleNamespace(jit=SimpleNamespace(dy2static=SimpleNamespace(program_translator=translator)))
    )
    assert vars(layer)["__call__"] == "recorded in C"
    static(print)
    assert callable(vars(layer)["__call__"])


def test_calls_are_recorded_in_python_if_paddles_compiler_is_unknown(layer: Any) -> None:
    paddle_hooks.hook_compiler(SimpleNamespace(jit=None))
    assert callable(vars(layer)["__call__"])
