"""Saved layouts of captures, by UUID, and named views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpline_app.remembered.settings import Settings
from warpline_app.state.timeline_state import TimelineState

_LAYOUT = "layouts"
_VIEWS = "views"
MAX_KEYS = 20_000


def layout_of(state: TimelineState) -> dict[str, Any]:
    """Pins, order, hidden and expanded rows, heights, view and origin as JSON values."""
    return {
        "version": 1,
        "view": list(state.view),
        "pins": list(state.pins),
        "order": {parent: list(keys) for parent, keys in state.order.items()},
        "hidden": sorted(state.hidden),
        "expanded": dict(state.expanded),
        "heights": dict(state.heights),
        "origin": state.origin_ns,
        "arrows": state.arrows,
    }


def apply_layout(state: TimelineState, value: Mapping[str, Any]) -> None:
    """Apply the result of `layout_of`. Users may edit the file: values that do not fit are ignored."""
    state.set_pins(_texts(value.get("pins")))
    order = value.get("order")
    if isinstance(order, dict):
        state.set_orders({str(parent): _texts(keys) for parent, keys in order.items()})
    state.set_hidden(_texts(value.get("hidden")))
    expanded = value.get("expanded")
    if isinstance(expanded, dict):
        state.set_all_expanded({str(key): bool(is_open) for key, is_open in expanded.items()})
    heights = value.get("heights")
    if isinstance(heights, dict):
        state.set_heights({str(key): px for key, px in heights.items() if isinstance(px, int) and px > 0})
    origin = value.get("origin")
    if isinstance(origin, int):
        state.set_origin(origin)
    if value.get("arrows") in ("selection", "all", "off"):
        state.set_arrows(str(value["arrows"]))
    view = value.get("view")
    if isinstance(view, list) and len(view) == 2 and all(isinstance(edge, int) for edge in view):
        state.set_view(view[0], view[1])


def _texts(value: Any) -> list[str]:
    return [item for item in value[:MAX_KEYS] if isinstance(item, str)] if isinstance(value, list) else []


class LayoutStore:
    """Layouts and named views in the user's settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def load(self, uuid: str, state: TimelineState) -> bool:
        """Apply the saved layout of a capture; False when there is none."""
        value = self._settings.record_of(f"{_LAYOUT}/{uuid}")
        if value:
            with state.unrecorded():
                apply_layout(state, value)
        return bool(value)

    def save(self, uuid: str, state: TimelineState) -> None:
        """Save the layout of a capture."""
        self._settings.set_record(f"{_LAYOUT}/{uuid}", layout_of(state))

    def views(self, uuid: str) -> dict[str, dict[str, Any]]:
        """Named views of a capture."""
        saved = self._settings.record_of(f"{_VIEWS}/{uuid}")
        return {name: value for name, value in saved.items() if isinstance(value, dict)}

    def save_view(self, uuid: str, name: str, state: TimelineState) -> None:
        """Save the current layout under a name."""
        self._settings.set_record(f"{_VIEWS}/{uuid}", {**self.views(uuid), name: layout_of(state)})

    def rename_view(self, uuid: str, name: str, new: str) -> None:
        """Rename a view; replaces any view of the new name."""
        value = self.views(uuid)[name]
        self.remove_view(uuid, name)
        self._settings.set_record(f"{_VIEWS}/{uuid}", {**self.views(uuid), new: value})

    def remove_view(self, uuid: str, name: str) -> None:
        """Delete a named view."""
        rest = {key: value for key, value in self.views(uuid).items() if key != name}
        self._settings.set_record(f"{_VIEWS}/{uuid}", rest)
