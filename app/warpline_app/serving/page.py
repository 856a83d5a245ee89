"""The page that browsers show: its file, texts in the user's language, colours of the themes."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from warpline.i18n import language, tr
from warpline.resources import path as resource


@dataclass(frozen=True)
class Static:
    """A file of the page that is the same for everybody."""

    media_type: str
    content: Callable[[], bytes]


@cache
def _file(name: str) -> bytes:
    return resource(name).read_bytes()


def colors_css() -> bytes:
    """The themes of the window as custom properties; the system's choice until the page makes one."""
    themes = json.loads(_file("page/colors.json"))

    def variables(name: str) -> str:
        plain = {key: value for key, value in themes[name].items() if isinstance(value, str)}
        return "".join(f"--{key.replace('_', '-')}:{value};" for key, value in plain.items())

    return (
        f":root{{color-scheme:light;{variables('light')}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{variables('dark')}}}"
    ).encode()


_SCRIPT = "text/javascript; charset=utf-8"
STATIC = {
    **{
        f"/{name}.js": Static(_SCRIPT, partial(_file, f"serve/{name}.js"))
        for name in ("serve", "picture", "input", "side", "texts")
    },
    "/serve.css": Static("text/css; charset=utf-8", lambda: _file("serve/serve.css")),
    "/colors.css": Static("text/css; charset=utf-8", colors_css),
    "/icon.svg": Static("image/svg+xml", lambda: _file("icons/warpline.svg")),
}


def _texts() -> dict[str, str]:
    """What the page's script says, by name; ``{name}`` is replaced there."""
    return {
        "failed": tr("The picture could not be drawn: {reason}"),
        "gone": tr(
            "The server does not answer: it has ended, or the ssh connection is lost. "
            "The page continues once it answers."
        ),
        "ended": tr(
            "The server has ended. Start it again with `warpline serve`, and open the address it prints."
        ),
        "no_findings": tr("No problem found."),
        "not_recorded": tr("Not recorded, because {reason}"),
        "searching": tr("Looking for findings…"),
        "so_far": tr("So far: {text}"),
        "follow": tr("Follow"),
        "following": tr("Following"),
        "range": tr("{length} selected"),
        "view": tr("{start} – {stop} · {length} in view"),
        "instance": tr("{number} of {count}"),
        "previous": tr("Previous instance"),
        "next": tr("Next instance"),
        "close": tr("Close"),
    }


def page_html(title: str) -> str:
    """The page for a capture of that title."""
    texts = json.dumps(_texts(), ensure_ascii=True).replace("<", "\\u003c")
    labels = {
        "title": title,
        "language": language().replace("_", "-"),
        "filter": tr("Filter events"),
        "filter_hint": tr("Keep the colour of events with this text in their name ( / )"),
        "fit": tr("Fit"),
        "fit_hint": tr("Show everything (Home)"),
        "zoom_in": tr("Zoom in (W)"),
        "zoom_out": tr("Zoom out (S)"),
        "findings": tr("Findings"),
        "event": tr("Selected event"),
        "theme": tr("Light or dark"),
        "help": tr("Keys"),
        "timeline": tr("Timeline of {title}", title=title),
        "rows": tr("Rows"),
        "follow_hint": tr("Keep the end of the recording in view (E)"),
        "read_only": tr("Read only"),
        "no_script": tr("This page needs JavaScript."),
    }
    parts = {name: html.escape(text) for name, text in labels.items()}
    parts["keys"] = "".join(
        f"<dt>{html.escape(key)}</dt><dd>{html.escape(text)}</dd>" for key, text in _keys()
    )
    parts["texts"] = texts
    # In one pass: a title may look like a place, too.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _file("serve/serve.html").decode())


def _keys() -> tuple[tuple[str, str], ...]:
    return (
        ("W  S", tr("Zoom in and out at the pointer")),
        ("A  D", tr("Pan left and right")),
        (tr("Ctrl+wheel"), tr("Zoom at the pointer")),
        (tr("Wheel"), tr("Scroll the rows; with Shift, pan")),
        (tr("Drag"), tr("Select a range; with Shift, pan")),
        (tr("Double click"), tr("Zoom to an event")),
        ("F", tr("Zoom to the selection; again, to everything")),
        ("Z", tr("Zoom to the selected range")),
        (tr("Backspace"), tr("Previous view")),
        (".  ,", tr("Next and previous event in the lane")),
        ("/", tr("Filter events")),
        ("E", tr("Follow a running recording")),
        ("Esc", tr("Clear the selection")),
        ("?", tr("Show the keys")),
    )
