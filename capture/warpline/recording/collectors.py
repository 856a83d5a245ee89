"""Runs the collectors of all sources of a recording; a failing source does not affect the others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.registry import recording_sources
from warpline.recording.sources.source import RecordingSource
from warpline.recording.unavailable import why_unavailable

_NOT_ASKED = english("not asked for (--trace)")
_LONGEST_PERIOD_NS = 100_000_000


class Collectors:
    """The collectors for ``trace``, in the order of their sources.

    ``said`` holds what sources inside the program have already reported about themselves.
    """

    def __init__(self, watched: Watched, trace: Sequence[str], said: Mapping[str, Source]) -> None:
        """Raises OSError when a spool file cannot be made."""
        self._sources = recording_sources()
        self._said = dict(said)
        self._collectors: dict[str, Collector] = {}
        for source in self._sources:
            if source.choice.name in trace:
                self._open(source, watched)
            elif source.choice.is_default:
                self._said[source.name] = Source(source.name, False, _NOT_ASKED)
        known = {source.choice.name for source in self._sources}
        for name in trace:
            if name not in known:
                self._said[name] = Source(
                    name, False, english("not available in this installation of Warpline")
                )

    def _open(self, source: RecordingSource, watched: Watched) -> None:
        try:
            collector = source.open(watched)
        except OSError:
            self.close()
            raise
        except Exception as error:  # plug-in code may raise anything; open the others
            unavailable = why_unavailable(error)
            self._said[source.name] = Source(source.name, False, unavailable.reason, 0, unavailable.remedy)
        else:
            if collector is not None:
                self._collectors[source.name] = collector
                watched.provided |= source.provides

    @property
    def descriptors(self) -> Iterator[int]:
        """Descriptors to poll (edge-triggered)."""
        for collector in self._collectors.values():
            yield from collector.descriptors

    @property
    def period_ns(self) -> int:
        """The period in which `tick` must be called."""
        periods = (collector.period_ns for collector in self._collectors.values())
        return min((period for period in periods if period is not None), default=_LONGEST_PERIOD_NS)

    @property
    def events(self) -> int:
        """Number of records collected so far."""
        return sum(collector.events for collector in self._collectors.values())

    def begin(self, *, paused: bool) -> None:
        """The program has just begun."""
        self._each(lambda collector: collector.begin(paused=paused))

    def tick(self) -> None:
        """Take all samples that are due."""
        self._each(lambda collector: collector.tick())

    def drain(self) -> None:
        """Collect all pending records."""
        self._each(lambda collector: collector.hold())
        self._each(lambda collector: collector.drain())

    def pause(self) -> None:
        """Record nothing until `resume`."""
        self._each(lambda collector: collector.pause())
        self.drain()

    def resume(self) -> None:
        """Record again."""
        self._each(lambda collector: collector.resume())

    def stop(self) -> None:
        """Stop recording while the program continues."""
        self._each(lambda collector: collector.stop())

    def close(self) -> None:
        """Close all collectors; their reports stay available."""
        self._each(lambda collector: collector.close())

    def reports(self) -> list[Source]:
        """The reports of all sources, in order; installed sources come first."""
        reports = dict(self._said)
        for name, collector in self._collectors.items():
            reports[name] = collector.report()
        names = [source.name for source in self._sources if source.name in reports]
        return [reports.pop(name) for name in names] + list(reports.values())

    def _each(self, act: Callable[[Collector], None]) -> None:
        for name, collector in list(self._collectors.items()):
            try:
                act(collector)
            except Exception as error:  # plug-in code may raise anything; the others continue
                self._said[name] = Source(name, False, why_unavailable(error).reason)
                del self._collectors[name]
                with contextlib.suppress(Exception):
                    collector.close()
