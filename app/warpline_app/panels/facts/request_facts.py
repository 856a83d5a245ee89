"""Facts about requests to a model server: the engine steps of a request, the requests of an engine step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.analysis.serving.batches import requests_of_step, steps_of_request
from warpline.i18n import tr_n
from warpline.model.times import format_duration
from warpline_app.panels.facts.fact import Fact

if TYPE_CHECKING:
    from warpline.storage import Capture

_SHOWN = 50


def request_facts(capture: Capture, kind: str, row: int) -> tuple[str, tuple[Fact, ...]]:
    """Title and facts of what a request and the steps of an engine share; none for other events."""
    if kind in ("request", "request_phase"):
        steps = steps_of_request(capture, row)
        rows = [] if steps is None else steps.tolist()
        title = tr_n("Ran in {count:,} engine step", "Ran in {count:,} engine steps", len(rows))
    else:
        rows = requests_of_step(capture, row).tolist()
        title = tr_n("{count:,} request in this step", "{count:,} requests in this step", len(rows))
    facts = [
        Fact(
            "",
            f"{capture.strings[int(capture.events.name[other])]}   "
            f"{format_duration(int(capture.events.duration[other]))}",
            row=other,
        )
        for other in rows[:_SHOWN]
    ]
    if len(rows) > _SHOWN:
        facts.append(Fact("", tr_n("and {count:,} more", "and {count:,} more", len(rows) - _SHOWN)))
    return title, tuple(facts)
