"""Keys that act while held: W A S D by position on the keyboard, and the arrows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent

from warpline.platform.systems import SYSTEM
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.model.time_model import HeldMotion

Verb = Literal["in", "out", "left", "right"]
FRAME_MS = 16
PAN_PER_S = 0.9
"""Widths of the view per second, before acceleration."""
ZOOM_PER_S = 1.8
"""e-folds per second, before acceleration."""
FIRST_STEP_S = 0.11
"""A tap moves as far as holding a key for this long."""

# Positions of W A S D: evdev codes + 8 on X11 and Wayland, set-1 scan codes on Windows, virtual keys on macOS.
_PLACES: dict[str, dict[int, Verb]] = {
    "linux": {25: "in", 38: "left", 39: "out", 40: "right"},
    "win32": {17: "in", 30: "left", 31: "out", 32: "right"},
    "darwin": {13: "in", 0: "left", 1: "out", 2: "right"},
}
_KEYS: dict[Qt.Key, Verb] = {
    Qt.Key.Key_W: "in",
    Qt.Key.Key_A: "left",
    Qt.Key.Key_S: "out",
    Qt.Key.Key_D: "right",
}
_ARROWS: dict[Qt.Key, Verb] = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "in",
    Qt.Key.Key_Down: "out",
}


def verb_of(event: QKeyEvent) -> Verb | None:
    """The motion of a key: ``in``, ``out``, ``left``, ``right``, or None.

    The key's position decides where the platform reports it, so the four keys stay together on any layout.
    """
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier & ~Qt.KeyboardModifier.ShiftModifier
    if modifiers != Qt.KeyboardModifier.NoModifier:
        return None
    try:
        key = Qt.Key(event.key())
    except ValueError:
        return None
    if key in _ARROWS:
        return _ARROWS[key]
    places = _PLACES.get(SYSTEM if SYSTEM in _PLACES else "linux", {})
    place = event.nativeVirtualKey() if SYSTEM == "darwin" else event.nativeScanCode()
    known = place != 0 or (SYSTEM == "darwin" and bool(event.text()))
    return places.get(place) if known else _KEYS.get(key)


def is_arrow(event: QKeyEvent) -> bool:
    """Whether lists and tables need the key, too."""
    return event.key() in _ARROWS


class HeldKeys(QObject):
    """Moves the view while keys are held: a step at once, then with growing speed."""

    def __init__(
        self, scene: Scene, anchor: Callable[[], float | None], ratio: Callable[[], float], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._scene = scene
        self._anchor = anchor
        self._ratio = ratio
        self._down: dict[str, HeldMotion] = {}
        self._rest = 0.0
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    @property
    def is_moving(self) -> bool:
        """Whether a key is held."""
        return bool(self._down)

    def begin(self, verb: str) -> None:
        """Start a motion: move a step, and continue until the key is released."""
        if verb not in self._down:
            self._down[verb] = HeldMotion()
            self._move(verb, FIRST_STEP_S)
            self._last = time.perf_counter()
            self._timer.start()

    def release(self, event: QKeyEvent) -> bool:
        """Handle a key release; True if it was a motion key."""
        verb = verb_of(event)
        if verb is None:
            return False
        if not event.isAutoRepeat():
            self._down.pop(verb, None)
            if not self._down:
                self.stop()
        return True

    def stop(self) -> None:
        """Stop all motions, for example when the focus moves elsewhere."""
        self._down.clear()
        self._timer.stop()
        self._rest = 0.0
        self._scene.state.end_gesture()

    def _tick(self) -> None:
        now = time.perf_counter()
        elapsed, self._last = now - self._last, now
        for verb, motion in self._down.items():
            self._move(verb, motion.advance(elapsed))

    def _move(self, verb: str, way: float) -> None:
        if verb in {"in", "out"}:
            factor = math.exp(way * ZOOM_PER_S * (-1 if verb == "in" else 1))
            self._scene.zoom(factor, self._anchor(), "keys")
            return
        ratio = self._ratio()
        pixels = way * PAN_PER_S * self._scene.width_px * ratio * (-1 if verb == "left" else 1) + self._rest
        whole = int(pixels)
        self._rest = pixels - whole
        if whole:
            moved = self._scene.device_scale(ratio).moved(whole)
            self._scene.state.set_view(moved.start_ns, moved.stop_ns, gesture="keys")
