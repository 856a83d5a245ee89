"""How captures of different origins differ: the order of sibling tracks, and the spelling of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

_LAST = 1 << 40
UNNUMBERED = (1 << 20) - 1
"""The number that stands for a stream without one: it comes after all others."""


@dataclass(frozen=True, kw_only=True)
class TrackStyle:
    """The order and spelling of one origin.

    ``places`` are sort keys: of a sort of track (``gpu``), or of one below another (``thread/api``, by the end of its
    URI or by its role); what is not listed has 0, or ``rest`` below a thread. ``segment`` makes a name a part of a URI;
    ``domain_title`` is the title of NVTX ranges of a domain. Contexts and streams stand in the order of their numbers
    times a step, or, with a step of 0, in that of their titles.
    """

    places: Mapping[str, int]
    segment: Callable[[str], str]
    domain_title: str = "NVTX {domain}"
    context_step: int = 0
    stream_step: int = 0
    rest: int = 0

    def place(self, *names: str, otherwise: int = 0) -> int:
        """The sort key of the first of these that is listed."""
        return next((self.places[name] for name in names if name in self.places), otherwise)


def without_slash(text: str) -> str:
    """A name as part of a URI: unchanged, except for ``/``."""
    return text.replace("/", "∕")


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _shortened(text: str) -> str:
    return quote(text, safe="()+-_ #:")[:200] or "none"


RECORDED = TrackStyle(
    places=MappingProxyType(
        {
            "gpu": -100,
            "cores": 0,
            "process": 100,
            "process/steps": -20,
            "process/counters": -10,
            "thread": 1,
            "thread/own": _LAST,
            "thread/state": 0,
            "thread/cpu": 1,
            "thread/phases": 2,
            "thread/modules": 3,
            "thread/operators": 4,
            "thread/counters/running": 10,
            "thread/counters/runnable": 11,
            "thread/counters/blocked": 12,
            "thread/osrt": 100,
            "thread/samples": 110,
            "thread/cpu-samples": 111,
            "thread/api": 200,
            "thread/nvtx": 300,
            "thread/overhead": 900,
            "gpu/counters": 1000,
            "context/sync": _LAST,
            "context/memory": _LAST + 1,
        }
    ),
    segment=_quoted,
    stream_step=2,
)
"""The style of Warpline's own recordings."""

TRACE = TrackStyle(
    places=MappingProxyType(
        {
            "instants": -1,
            "cores": 0,
            "gpu": 1000,
            "overhead": 2000,
            "profiler": 2000,
            "process/instants": 1,
            "process/async": 3,
            "process/counters": 5,
            "thread": 10,
            "thread/state": 0,
            "thread/cpu": 1,
            "thread/phases": 0,
            "thread/ranges": 10,
            "thread/operators": 20,
            "thread/api": 40,
            "thread/python": 50,
            "thread/osrt": 60,
            "thread/memory": 70,
            "thread/async": 80,
            "thread/samples": 90,
            "context/annotations": -1,
            "context/sync": 1 << 20,
        }
    ),
    segment=_shortened,
    context_step=1,
    stream_step=1,
)
"""The style of traces in the Chrome JSON family."""

NSIGHT = TrackStyle(
    places=MappingProxyType(
        {
            "cores": 0,
            "process": 1000,
            "gpu": 2000,
            "gpu-metrics": 2500,
            "group": 2600,
            "messages": 9000,
            "process/nvtx": -10,
            "thread": 10,
            **{
                f"thread/{role}": place
                for place, role in enumerate(
                    (
                        "state",
                        "thread_cpu",
                        "phases",
                        "ranges",
                        "operators",
                        "api",
                        "osrt",
                        "python",
                        "samples",
                        "memory",
                        "overhead",
                    )
                )
            },
            "gpu/counters": 100,
            "context/sync": 10,
            "context/memory": 10,
        }
    ),
    segment=without_slash,
    domain_title="NVTX · {domain}",
    rest=11,
)
"""The style of exports of Nsight Systems."""
