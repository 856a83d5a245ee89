"""The documents of speedscope (https://www.speedscope.app/file-format-schema.json)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import Int64Array
from warpline.interchange.framework.json_parts import DECODING_ERRORS, JsonParts, decode_elements
from warpline.interchange.framework.unpacking import Readable
from warpline.interchange.framework.value_times import times_of

_T = TypeVar("_T")
StacksOf = Callable[[Int64Array, Int64Array], tuple[Int64Array, npt.NDArray[np.uint32]]]
"""Stacks and innermost frames of samples; gets the frames of all (numbers in the file), and how many each has."""

Number = int | float


class FunctionFrame(msgspec.Struct, gc=False):
    """A function."""

    name: str = ""
    file: str | None = None
    line: Number | None = None

    @property
    def text(self) -> str:
        """``main (a.py:3)``, as far as it is known."""
        if not self.file:
            return self.name
        return f"{self.name} ({self.file}:{int(self.line)})" if self.line else f"{self.name} ({self.file})"


class FunctionBorder(msgspec.Struct, gc=False):
    """A function begins (``O``) or ends (``C``)."""

    type: str = ""
    frame: Annotated[int, msgspec.Meta(ge=-1, le=1 << 40)] = -1
    at: Number = 0


class Profile(msgspec.Struct):
    """What a profile says of itself; `ProfileContents` has its events and samples."""

    type: str = ""
    name: str = ""
    unit: str = "none"
    start_value: Number = 0
    end_value: Number = 0


class SpeedscopeHead(msgspec.Struct):
    """A file without the events and samples of its profiles."""

    name: str = ""
    frames: list[str] = []  # msgspec copies it
    profiles: dict[int, Profile] = {}
    problem: str = ""


def read_head(source: Readable) -> SpeedscopeHead:
    """The head of a file; its parts may come in any order."""
    head = SpeedscopeHead()
    parts = JsonParts(
        source,
        arrays=[("shared", "frames")],
        values=[("name",), *(("profiles", "*", key) for key in _FIELDS)],
    )
    decoder = msgspec.json.Decoder(list[FunctionFrame])
    for part in parts:
        if part.document:
            break
        if part.path[0] == "shared":
            head.frames += [frame.text for frame in decode_elements(part.text, decoder)[0]]
        elif part.path[0] == "name":
            head.name = _decoded(part.text, str, "")
        else:
            profile = head.profiles.setdefault(int(part.path[1]), Profile())
            field, form = _FIELDS[str(part.path[2])]
            setattr(profile, field, _decoded(part.text, form, getattr(profile, field)))
    head.problem = parts.problem
    return head


class ProfileContents:
    """The events and samples of a profile, 17 bytes an event, 20 a sample beside its stack."""

    def __init__(self, profile: Profile, stacks_of: StacksOf) -> None:
        self.profile = profile
        self._stacks_of = stacks_of
        self._frames = array("q")
        self._times = array("q")
        self._begins = array("b")
        self._weights = array("d")
        self._stacks = array("q")
        self._names = array("I")
        self.damaged = 0

    def add(self, key: str, text: bytes) -> None:
        """Adds some elements of an array of the profile."""
        if key == "events":
            events = self._elements(text, _EVENTS)
            self._frames.extend(event.frame for event in events)
            self._times.extend(times_of(event.at, self.profile.unit) for event in events)
            self._begins.extend(event.type == "O" for event in events)
        elif key == "weights":
            self._weights.extend(self._elements(text, _WEIGHTS))
        else:
            samples = self._elements(text, _SAMPLES)
            sizes = np.fromiter(map(len, samples), np.int64, len(samples))
            frames = np.fromiter(chain.from_iterable(samples), np.int64, int(sizes.sum()))
            stacks, names = self._stacks_of(frames, sizes)
            self._stacks.frombytes(stacks.tobytes())
            self._names.frombytes(names.tobytes())

    def _elements(self, text: bytes, decoder: msgspec.json.Decoder[list[_T]]) -> list[_T]:
        elements, damaged = decode_elements(text, decoder)
        self.damaged += damaged
        return elements

    @property
    def events(self) -> tuple[Int64Array, Int64Array, npt.NDArray[np.bool_]]:
        """Frame and time (ns) of each event, and whether it begins."""
        return np.array(self._frames), np.array(self._times), np.array(self._begins, bool)

    @property
    def samples(self) -> tuple[Int64Array, npt.NDArray[np.uint32]]:
        """Stack and innermost frame of each sample."""
        return np.array(self._stacks, np.int64), np.array(self._names, np.uint32)

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weights of samples; empty if the file has none."""
        return np.array(self._weights)


def read_contents(
    source: Readable, profiles: dict[int, Profile], stacks_of: StacksOf
) -> Iterator[tuple[int, ProfileContents | None]]:
    """Yields each profile with its contents once complete; until then None for each part of the file."""
    arrays = [("profiles", "*", key) for key in ("events", "samples", "weights")]
    place, contents = -1, None
    for part in JsonParts(source, arrays=arrays):
        if part.document:
            break
        if part.path[1] != place:
            if contents is not None:
                yield place, contents
            place = int(part.path[1])
            contents = ProfileContents(profiles.get(place, Profile()), stacks_of)
        if contents is not None:
            contents.add(str(part.path[2]), part.text)
        yield place, None
    if contents is not None:
        yield place, contents


_FIELDS: dict[str, tuple[str, Any]] = {
    "type": ("type", str),
    "name": ("name", str),
    "unit": ("unit", str),
    "startValue": ("start_value", Number),
    "endValue": ("end_value", Number),
}
_Frame = Annotated[int, msgspec.Meta(ge=-(1 << 40), le=1 << 40)]
_EVENTS = msgspec.json.Decoder(list[FunctionBorder])
_SAMPLES = msgspec.json.Decoder(list[list[_Frame]])
_WEIGHTS = msgspec.json.Decoder(list[float])


def _decoded(text: bytes, form: type[_T], default: _T) -> _T:
    try:
        return msgspec.json.decode(text, type=form)
    except DECODING_ERRORS:
        return default
