"""Rows of the timeline that the user derived from a capture with a query."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(frozen=True, kw_only=True)
class DerivedRow:
    """A title and the query whose result the row shows: never the result itself.

    ``color`` is a colour family (``kernel``, ``range`` …), empty to colour events by name. ``changed_ns`` is the UTC
    time of the last change.
    """

    id: str = field(default_factory=lambda: uuid4().hex[:12])
    title: str = ""
    sql: str = ""
    color: str = ""
    changed_ns: int = field(default_factory=time.time_ns)
