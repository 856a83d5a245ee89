"""All sources of one recording at work in the recorder; one that fails costs only itself."""

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
    """The collectors of what ``trace`` asks for, in the order of their sources.

    ``said`` is what is known of sources from before: those inside the program have spoken for themselves.
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
                    name, False, english("this installation of Warpline does not have it")
                )

    def _open(self, source: RecordingSource, watched: Watched) -> None:
        try:
            collector = source.open(watched)
        except OSError:
            self.close()
            raise
        except Exception as error:  # a source may be anybody's; the others are opened
            unavailable = why_unavailable(error)
            self._said[source.name] = Source(source.name, False, unavailable.reason, 0, unavailable.remedy)
        else:
            if collector is not None:
                self._collectors[source.name] = collector
                watched.provided |= source.provides

    @property
    def descriptors(self) -> Iterator[int]:
        """What to poll for (edge-triggered)."""
        for collector in self._collectors.values():
            yield from collector.descriptors

    @property
    def period_ns(self) -> int:
        """How often `tick` has to be called."""
        periods = (collector.period_ns for collector in self._collectors.values())
        return min((period for period in periods if period is not None), default=_LONGEST_PERIOD_NS)

    @property
    def events(self) -> int:
        """Records taken so far."""
        return sum(collector.events for collector in self._collectors.values())

    def begin(self, *, paused: bool) -> None:
        """The program has just begun."""
        self._each(lambda collector: collector.begin(paused=paused))

    def tick(self) -> None:
        """Take the samples that are due."""
        self._each(lambda collector: collector.tick())

    def drain(self) -> None:
        """Take everything that has come."""
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
        """The recording is over, the program is not."""
        self._each(lambda collector: collector.stop())

    def close(self) -> None:
        """Let go of everything; what each source has to say stays."""
        self._each(lambda collector: collector.close())

    def reports(self) -> list[Source]:
        """Every source that has something to say, in order; first those this installation knows."""
        found = dict(self._said)
        for name, collector in self._collectors.items():
            found[name] = collector.report()
        names = [source.name for source in self._sources if source.name in found]
        return [found.pop(name) for name in names] + list(found.values())

    def _each(self, act: Callable[[Collector], None]) -> None:
        for name, collector in list(self._collectors.items()):
            try:
                act(collector)
            except Exception as error:  # a source may be anybody's; the others go on
                self._said[name] = Source(name, False, why_unavailable(error).reason)
                del self._collectors[name]
                with contextlib.suppress(Exception):
                    collector.close()
