"""Unwinds and names the call chains of samples; each distinct address is looked up once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpline.recording.sources.native_stacks import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.symbols.address_spaces import AddressSpace, AddressSpaces, Mapping
from warpline.recording.symbols.frame_rules import FrameRule
from warpline.recording.symbols.kernel import FIRST_ADDRESS, kernel_function
from warpline.recording.symbols.modules import Modules
from warpline.recording.symbols.own_programs import is_interpreter
from warpline.recording.symbols.run_time_map import RunTimeMap
from warpline.recording.symbols.unwinding import trusted_part, unwind

_EVALUATION = "_PyEval_EvalFrame"
_MADE_AT_RUN_TIME = "[code made at run time]"
_AGENT = " [libwarpline_agent.so]"


@dataclass(frozen=True)
class NativeFrame:
    """One frame. ``is_evaluation``: it evaluates Python code; ``is_interpreter``: it belongs to the interpreter."""

    text: str
    is_evaluation: bool = False
    is_interpreter: bool = False


@dataclass(frozen=True, kw_only=True)
class NativeSample:
    """A sample: its frames, innermost first, and whether they reach the first function of the thread."""

    time_ns: int
    pid: int
    tid: int
    cpu: int
    frames: tuple[NativeFrame, ...]
    is_whole: bool


class _Place:
    """Caches frames and rules of one address space."""

    def __init__(self, space: AddressSpace | None, modules: Modules, generated: RunTimeMap) -> None:
        self._space, self._modules, self._generated = space, modules, generated
        self._frames: dict[int, NativeFrame] = {}
        self._rules: dict[int, FrameRule | None] = {}

    def frame(self, address: int) -> NativeFrame:
        """The frame at an address."""
        frame = self._frames.get(address)
        if frame is None:
            frame = self._frames[address] = self._look_up(address)
        return frame

    def rule(self, address: int) -> FrameRule | None:
        """The frame rule at an address; None if unknown."""
        if address not in self._rules:
            mapping = None if self._space is None else self._space.find(address)
            rule = None
            if mapping is not None and _is_file(mapping.path):
                module = self._modules.get(mapping.path)
                if module.rules is not None:
                    rule = module.rules.find(module.address_of(_offset(mapping, address)))
            self._rules[address] = rule
        return self._rules[address]

    def _look_up(self, address: int) -> NativeFrame:
        if address >= FIRST_ADDRESS:
            return NativeFrame(kernel_function(address))
        mapping = None if self._space is None else self._space.find(address)
        if mapping is None:
            return NativeFrame("[unknown]")
        if mapping.path.startswith("[") and mapping.path != "[anon]":
            return NativeFrame(mapping.path)
        if not _is_file(mapping.path):
            name = self._generated.name(address)
            return NativeFrame(f"{name} {_MADE_AT_RUN_TIME}" if name else _MADE_AT_RUN_TIME)
        module = self._modules.get(mapping.path)
        function = module.function(module.address_of(_offset(mapping, address)))
        is_python = is_interpreter(function.module)
        return NativeFrame(function.text, is_python and function.name.startswith(_EVALUATION), is_python)


def _is_file(path: str) -> bool:
    return path.startswith("/") and not path.startswith(("//anon", "/memfd:", "/dev/"))


def _offset(mapping: Mapping, address: int) -> int:
    return address - mapping.start + mapping.offset


class Chains:
    """The samples of a recording that began at ``since_ns`` (CLOCK_REALTIME)."""

    def __init__(self, spools: Sequence[SpoolFile], since_ns: int) -> None:
        self._since_ns = since_ns
        self._spools = [spool for spool in spools if spool.header.producer == "native"]
        self._modules = Modules()
        self._spaces = AddressSpaces()
        self._places: dict[int, _Place] = {}
        for spool in self._spools:
            self._read_spaces(spool)

    def _read_spaces(self, spool: SpoolFile) -> None:
        images = spool.records(records.NATIVE_IMAGE, records.native_image).values
        modules = spool.records(records.NATIVE_MODULE, records.native_module).values
        events: list[tuple[int, int, tuple[int, ...]]] = []
        for time_ns, pid, parent in images.tolist():
            events.append((time_ns, 0, (pid, parent)))
        for time_ns, start, size, offset, pid, path in modules.tolist():
            events.append((time_ns, 1, (pid, start, size, offset, path)))
        for time_ns, is_module, values in sorted(events):
            if is_module:
                pid, start, size, offset, path = values
                self._spaces.add(time_ns, pid, Mapping(start, size, offset, spool.text(path)))
            else:
                self._spaces.begin(time_ns, *values)

    def _place(self, pid: int, time_ns: int) -> _Place:
        space = self._spaces.at(pid, time_ns)
        place = self._places.get(id(space))
        if place is None:
            place = self._places[id(space)] = _Place(space, self._modules, RunTimeMap(pid, self._since_ns))
        return place

    def samples(self) -> Iterator[NativeSample]:
        """All samples, file by file."""
        for spool in self._spools:
            stacks = _Addresses(spool)
            yield from self._by_frame_pointers(spool, stacks)
            yield from self._by_rules(spool, stacks)

    def _by_frame_pointers(self, spool: SpoolFile, stacks: _Addresses) -> Iterator[NativeSample]:
        for time_ns, pid, tid, stack, cpu in spool.records(
            records.NATIVE_SAMPLE, records.native_sample
        ).values.tolist():
            place = self._place(pid, time_ns)
            addresses = stacks.chain(stack)
            border = sum(address >= FIRST_ADDRESS for address in addresses)
            chain = trusted_part(addresses[border:], place.rule)
            frames = _frames(place, addresses[:border], chain.addresses)
            yield NativeSample(
                time_ns=time_ns, pid=pid, tid=tid, cpu=cpu, frames=frames, is_whole=chain.is_whole
            )

    def _by_rules(self, spool: SpoolFile, stacks: _Addresses) -> Iterator[NativeSample]:
        for values, memory in _memories(spool):
            time_ns, pid, tid, stack, cpu, *registers, _size = values
            place = self._place(pid, time_ns)
            frame_pointer, stack_pointer, address = registers
            chain = unwind(
                (frame_pointer, stack_pointer, address), memory, place.rule, lambda _address: False
            )
            frames = _frames(place, stacks.chain(stack), chain.addresses)
            yield NativeSample(
                time_ns=time_ns, pid=pid, tid=tid, cpu=cpu, frames=frames, is_whole=chain.is_whole
            )


def _frames(place: _Place, kernel: tuple[int, ...], user: tuple[int, ...]) -> tuple[NativeFrame, ...]:
    calls = [place.frame(address if number == 0 else address - 1) for number, address in enumerate(user)]
    # Leave out the agent's wrappers, unless the agent itself is running.
    shown = [frame for number, frame in enumerate(calls) if number == 0 or not frame.text.endswith(_AGENT)]
    return (*(place.frame(address) for address in kernel), *shown)


def _memories(spool: SpoolFile) -> Iterator[tuple[tuple[int, ...], bytes]]:
    head = records.native_memory
    for chunk in spool.of_type(records.NATIVE_MEMORY):
        payload, position = chunk.payload, 0
        while position + head.itemsize <= len(payload):
            values = payload[position : position + head.itemsize].view(head)[0].item()
            position += head.itemsize
            size = values[-1]
            if position + size > len(payload):
                break
            yield values, payload[position : position + size].tobytes()
            position += size + -size % 8


class _Addresses:
    """The chains of one spool file by id."""

    def __init__(self, spool: SpoolFile) -> None:
        nodes = spool.records(records.NATIVE_STACK, records.native_stack).values
        ends = zip(nodes["parent"].tolist(), nodes["address"].tolist(), strict=True)
        self._nodes: dict[int, tuple[int, int]] = dict(zip(nodes["stack"].tolist(), ends, strict=True))

    def chain(self, stack: int) -> tuple[int, ...]:
        """Addresses, innermost first."""
        addresses: list[int] = []
        while stack in self._nodes:
            above, address = self._nodes[stack]
            addresses.append(address)
            if above >= stack:
                break
            stack = above
        return tuple(addresses)
