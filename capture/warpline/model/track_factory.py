"""Defines every kind of track: URI, title, role and place, for recorder and importers alike."""

from __future__ import annotations

from dataclasses import dataclass

from warpline import i18n
from warpline.model import track_titles as titles
from warpline.model.track_style import RECORDED, UNNUMBERED, TrackStyle
from warpline.model.tracks import Packing

_FAR = 1 << 20
"""Numbers beyond this are not used for ordering, since sort keys must fit 64 bits."""


@dataclass(frozen=True, kw_only=True)
class TrackSpec:
    """A track's name, title, role and place, without its parent and owner."""

    uri: str
    title: str
    role: str
    sort_key: int = 0
    device: int | None = None
    context: int | None = None
    stream: int | None = None
    packing: Packing = Packing.NEST


def joined(*parts: str) -> str:
    """A title of several parts; empty ones are left out."""
    return i18n.joined(titles.JOINT, filter(None, parts))


def process_title(name: str, pid: int | None) -> str:
    """``python [71]``; ``pid`` is None when the process has no number."""
    if pid is None:
        return name or titles.PROCESS_WITHOUT_NUMBER
    return f"{name} [{pid}]" if name else titles.PROCESS.format(number=pid)


def thread_title(name: str, tid: int | None, *, is_own: bool = False) -> str:
    """``MainThread  71``; ``tid`` is None when the thread has no number, ``is_own`` tells Warpline's own."""
    if tid is None:
        title = name or titles.THREAD_WITHOUT_NUMBER
    elif name.endswith(str(tid)) and not name[-len(str(tid)) - 1 : -len(str(tid))].isdigit():
        title = name  # some profilers end names with the number: "Thread 71", "WorkerPool/71"
    else:
        title = f"{name}  {tid}" if name else titles.THREAD.format(number=tid)
    return joined(title, titles.WARPLINES_OWN if is_own else "")


def gpu_title(number: int, *names: str) -> str:
    """``GPU 0 · NVIDIA H100``."""
    return joined(titles.GPU.format(number=number), *names)


def rank_prefix(rank: int) -> str:
    """What the URIs of a rank's tracks begin with."""
    return f"rank/{rank}/"


def rank_track(rank: int) -> TrackSpec:
    """The group of all tracks of a rank."""
    return TrackSpec(
        uri=rank_prefix(rank)[:-1], title=titles.RANK.format(number=rank), role="rank", sort_key=rank
    )


class TrackFactory:
    """Names the tracks of one origin. ``prefix`` goes before every URI: empty, or that of a rank.

    Methods that take the URI of a process, a thread or a context want it whole, prefix included.
    """

    def __init__(self, style: TrackStyle = RECORDED, prefix: str = "") -> None:
        self.style = style
        self.prefix = prefix

    # The machine

    def cores(self) -> TrackSpec:
        """All cores."""
        return TrackSpec(
            uri=f"{self.prefix}cpu", title=titles.CORES, role="cores", sort_key=self.style.place("cores")
        )

    def core(self, number: int) -> TrackSpec:
        """One core, below `cores`."""
        return TrackSpec(
            uri=f"{self.prefix}cpu/{number}",
            title=titles.CORE.format(number=number),
            role="core",
            sort_key=number if abs(number) < _FAR else 0,
        )

    def gpu(self, number: int, *names: str) -> TrackSpec:
        """A GPU; names are its own and what the program calls it."""
        return TrackSpec(
            uri=f"{self.prefix}gpu/{number}",
            title=gpu_title(number, *names),
            role="gpu",
            sort_key=self.style.place("gpu") + (number if 0 <= number < _FAR else 0),
            device=number,
        )

    def gpu_counter(self, gpu: int, key: str, title: str, place: int = 0) -> TrackSpec:
        """Values of a GPU over time, below it."""
        return TrackSpec(
            uri=f"{self.prefix}gpu/{gpu}/counters/{key}",
            title=title,
            role="counter",
            sort_key=self.style.place("gpu/counters") + place,
            device=gpu,
        )

    def gpu_slices(self, gpu: int) -> TrackSpec:
        """Which context a GPU served, below it."""
        return TrackSpec(
            uri=f"{self.prefix}gpu/{gpu}/slices",
            title=titles.GPU_SLICES,
            role="other",
            device=gpu,
            packing=Packing.PACK,
        )

    def group(self, sort: str, name: str, title: str) -> TrackSpec:
        """Another part of the machine that has counters: its sort (``network``), its name among these, its title."""
        return TrackSpec(
            uri=f"{self.prefix}{sort}/{self.style.segment(name)}",
            title=title,
            role="group",
            sort_key=self.style.place(sort, "group"),
        )

    def group_counter(self, group: TrackSpec, name: str, place: int) -> TrackSpec:
        """Values of a `group` over time, below it."""
        return TrackSpec(
            uri=f"{group.uri}/counters/{self.style.segment(name)}",
            title=name,
            role="counter",
            sort_key=max(place, 0),
        )

    # What belongs to the whole recording

    def instants(self) -> TrackSpec:
        """Instants that belong to no process."""
        return TrackSpec(
            uri=f"{self.prefix}instants",
            title=titles.INSTANTS,
            role="ranges",
            sort_key=self.style.place("instants"),
        )

    def overhead(self) -> TrackSpec:
        """The profiler's overhead, of no thread in particular."""
        role, title = titles.BELOW_THREAD["overhead"]
        return TrackSpec(
            uri=f"{self.prefix}overhead", title=title, role=role, sort_key=self.style.place("overhead")
        )

    def profiler(self) -> TrackSpec:
        """What the profiler did."""
        return TrackSpec(
            uri=f"{self.prefix}profiler",
            title=titles.PROFILER,
            role="other",
            sort_key=self.style.place("profiler"),
        )

    def messages(self) -> TrackSpec:
        """What the profiler said."""
        return TrackSpec(
            uri=f"{self.prefix}messages",
            title=titles.MESSAGES,
            role="other",
            sort_key=self.style.place("messages"),
        )

    # Processes and threads

    def process(self, key: int | str, title: str, *, generation: int = 1, place: int = 0) -> TrackSpec:
        """A process; ``key`` is its recorded id, ``generation`` counts the uses of a number."""
        return TrackSpec(
            uri=f"{self.prefix}process/{self.style.segment(str(key))}.{generation}",
            title=title,
            role="process",
            sort_key=self.style.place("process") + place,
        )

    def process_counter(self, process: str, key: str, title: str, place: int = 0) -> TrackSpec:
        """Values of a process over time, below it."""
        return TrackSpec(
            uri=f"{process}/counters/{self.style.segment(key)}",
            title=title,
            role="counter",
            sort_key=self.style.place("process/counters") + place,
        )

    def process_instants(self, process: str) -> TrackSpec:
        """Instants of a process that belong to none of its threads."""
        return TrackSpec(
            uri=f"{process}/instants",
            title=titles.INSTANTS,
            role="ranges",
            sort_key=self.style.place("process/instants"),
        )

    def process_steps(self, process: str) -> TrackSpec:
        """The steps of a training, and what comes between them."""
        return TrackSpec(
            uri=f"{process}/steps",
            title=titles.STEPS,
            role="phases",
            sort_key=self.style.place("process/steps"),
            packing=Packing.PACK,
        )

    def process_async(self, process: str, category: str) -> TrackSpec:
        """Asynchronous ranges of a process."""
        title = (
            titles.ASYNC.format(category=category)
            if category
            else str(titles.ASYNC.format(category="")).rstrip()
        )
        return TrackSpec(
            uri=f"{process}/async/{category or 'events'}",
            title=title,
            role="ranges",
            sort_key=self.style.place("process/async"),
        )

    def process_ranges(self, process: str, domain: str) -> TrackSpec:
        """NVTX ranges of a process that belong to none of its threads."""
        return TrackSpec(
            uri=f"{process}/nvtx/{self._domain(domain)}",
            title=self.style.domain_title.format(domain=domain)
            if domain
            else titles.STARTED.format(ranges=titles.RANGES),
            role="ranges",
            sort_key=self.style.place("process/nvtx"),
            packing=Packing.PACK,
        )

    def process_page_faults(self, process: str) -> TrackSpec:
        """Page faults of a process's code."""
        return TrackSpec(
            uri=f"{process}/page-faults", title=titles.CPU_PAGE_FAULTS, role="memory", packing=Packing.PACK
        )

    def thread(
        self,
        process: str,
        key: int | str,
        title: str,
        *,
        generation: int = 1,
        is_first: bool = False,
        is_own: bool = False,
        place: int = 0,
    ) -> TrackSpec:
        """A thread below its process: the first one comes first, Warpline's own last."""
        own = self.style.place("thread/own")
        return TrackSpec(
            uri=f"{process}/thread/{self.style.segment(str(key))}.{generation}",
            title=title,
            role="thread",
            sort_key=own if is_own else 0 if is_first else self.style.place("thread") + place,
        )

    def below_thread(
        self,
        thread: str,
        path: str,
        *,
        role: str = "",
        title: str = "",
        packing: Packing = Packing.NEST,
    ) -> TrackSpec:
        """A track below a thread; common ones get their role and title from `track_titles.BELOW_THREAD`."""
        usual_role, usual_title = titles.BELOW_THREAD.get(path, ("other", path))
        role = role or usual_role
        place = self.style.place(f"thread/{path}", f"thread/{role}", otherwise=self.style.rest)
        return TrackSpec(
            uri=f"{thread}/{path}", title=title or usual_title, role=role, sort_key=place, packing=packing
        )

    def thread_ranges(self, thread: str, domain: str, *, number: int = 0, started: bool = False) -> TrackSpec:
        """NVTX ranges of a thread, a track for each domain; ``started`` are those that need not nest."""
        title = self.style.domain_title.format(domain=domain) if domain else titles.RANGES
        return TrackSpec(
            uri=f"{thread}/nvtx/{self._domain(domain)}{'/started' if started else ''}",
            title=titles.STARTED.format(ranges=title) if started else title,
            role="ranges",
            sort_key=self.style.place("thread/nvtx", "thread/ranges") + number,
            packing=Packing.PACK if started else Packing.NEST,
        )

    def _domain(self, domain: str) -> str:
        return self.style.segment(domain).strip() or "default"

    # Work of a GPU

    def gpu_page_faults(self, gpu: int, process: str, process_title: str) -> TrackSpec:
        """Page faults of a process's work on a GPU, below the GPU."""
        return TrackSpec(
            uri=f"{self._on_gpu(gpu, process)}/page-faults",
            title=joined(process_title, titles.GPU_PAGE_FAULTS),
            role="memory",
            device=gpu,
            packing=Packing.PACK,
        )

    def context(
        self, gpu: int, process: str, number: int | None, *, process_title: str = "", name: str = ""
    ) -> TrackSpec:
        """A context of a process, below its GPU; ``name`` is what the program calls it.

        Without a number it is no track, only a place for streams whose context is unknown.
        """
        uri = self._on_gpu(gpu, process)
        if number is None:
            return TrackSpec(uri=uri, title=process_title, role="context", device=gpu)
        title = titles.CONTEXT_OF_PROCESS if process_title else titles.CONTEXT
        return TrackSpec(
            uri=f"{uri}/context/{number}",
            title=joined(name, process_title, title.format(number=number)),
            role="context",
            sort_key=self.style.context_step * (number if abs(number) < 1 << 30 else 0),
            device=gpu,
            context=number,
        )

    def stream(
        self, context: TrackSpec, number: int | None, *, is_default: bool = False, name: str = ""
    ) -> TrackSpec:
        """A stream below its context, packed: its work may overlap."""
        place = number if number is not None and 0 <= number < _FAR else UNNUMBERED
        title = titles.STREAM.format(number="?" if number is None else number)
        return self._below_context(
            context,
            f"stream/{'none' if number is None else number}",
            joined(name, title, titles.DEFAULT_STREAM if is_default else ""),
            "stream",
            self.style.stream_step * place,
            stream=number,
            packing=Packing.PACK,
        )

    def stream_annotations(self, context: TrackSpec, number: int, *, name: str = "") -> TrackSpec:
        """The host's ranges projected onto a stream, right behind the stream."""
        return self._below_context(
            context,
            f"stream/{number}/annotations",
            joined(name, titles.STREAM.format(number=number), titles.RANGES),
            "ranges",
            self.style.stream_step * number + 1,
            stream=number,
        )

    def collectives(self, context: TrackSpec, key: str, title: str) -> TrackSpec:
        """Collectives of a group of ranks, or their parts, which a trace keeps apart from streams."""
        place = self.style.place("context/annotations")
        return self._below_context(
            context, f"collectives/{key}", title, "stream", place, packing=Packing.PACK
        )

    def annotations(self, context: TrackSpec) -> TrackSpec:
        """The host's ranges projected onto a context."""
        place = self.style.place("context/annotations")
        return self._below_context(context, "annotations", titles.ANNOTATIONS, "ranges", place)

    def sync(self, context: TrackSpec, packing: Packing = Packing.NEST) -> TrackSpec:
        """Synchronisations of a context."""
        place = self.style.place("context/sync")
        return self._below_context(context, "sync", titles.SYNC, "sync", place, packing=packing)

    def context_memory(self, context: TrackSpec, packing: Packing = Packing.NEST) -> TrackSpec:
        """Allocations and releases in a context."""
        place = self.style.place("context/memory")
        return self._below_context(context, "memory", titles.CONTEXT_MEMORY, "memory", place, packing=packing)

    def _on_gpu(self, gpu: int, process: str) -> str:
        """The beginning of the URIs of what a process did on a GPU."""
        return f"{self.prefix}gpu/{gpu}/{process.removeprefix(self.prefix)}"

    def _below_context(
        self,
        context: TrackSpec,
        path: str,
        title: str,
        role: str,
        place: int,
        *,
        stream: int | None = None,
        packing: Packing = Packing.NEST,
    ) -> TrackSpec:
        uri = f"{context.uri}/{path}"
        return TrackSpec(
            uri=uri,
            title=title,
            role=role,
            sort_key=place,
            device=context.device,
            context=context.context,
            stream=stream,
            packing=packing,
        )
