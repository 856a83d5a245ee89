"""Python stacks of the agent's spool files as stacks of a capture."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.model.frames import parse_frame
from warpline.recording.agent import records
from warpline.recording.spool.reader import SpoolFile
from warpline.storage import NO_STACK, CaptureBuilder
from warpline.untrusted import places_of

_OWN_FILE = re.compile(r"warpline[/\\]recording[/\\](sources[/\\]\w+|hooks)[/\\]inside[/\\]\w+\.py$")
"""Matches the files of Warpline's own hooks inside the program."""
NO_PLACE = 0
"""String id of the empty text: the place where there is no stack."""


class PythonStacks:
    """Stacks of one process: maps the agent's stack ids to stacks and innermost frames of the capture."""

    def __init__(self, spool: SpoolFile, builder: CaptureBuilder) -> None:
        codes = spool.records(records.PYTHON_CODE, records.python_code).values
        nodes = spool.records(records.PYTHON_STACK, records.python_stack).values
        names = {
            code: (spool.text(name), spool.text(file), first)
            for code, name, file, first in codes[["code", "name", "file", "first_line"]].tolist()
        }
        nodes = np.sort(nodes, order="stack")
        self._ids = np.unique(nodes["stack"])
        # One more at the end for unknown ids, whose index is −1.
        self._stack = np.full(len(self._ids) + 1, NO_STACK, np.int64)
        self._place = np.full(len(self._ids) + 1, NO_PLACE, np.uint32)
        self._own_place = self._place.copy()
        relevance = [0] * len(self._stack)
        stacks, parents = (places_of(self._ids, nodes[end]).tolist() for end in ("stack", "parent"))
        # In order of ids: a parent is defined before its children.
        for (code, line), stack, parent in zip(
            nodes[["code", "line"]].tolist(), stacks, parents, strict=True
        ):
            if parent < stack and _OWN_FILE.search(names.get(code, ("", "", 0))[1]):
                # Leave out the frames of our own hooks.
                for column in (self._stack, self._place, self._own_place):
                    column[stack] = column[parent]
                relevance[stack] = relevance[parent]
                continue
            text = frame_text(*names.get(code, ("?", "", 0)), line)
            frame = builder.string(text)
            above = int(self._stack[parent]) if parent < stack else NO_STACK
            self._stack[stack] = builder.stack(frame, above) if above != NO_STACK else builder.stack(frame)
            self._place[stack] = frame
            own = parse_frame(text).telling
            is_best = parent >= stack or own >= relevance[parent]
            self._own_place[stack] = frame if is_best else self._own_place[parent]
            relevance[stack] = own if is_best else relevance[parent]

    def stacks(self, ids: npt.NDArray[np.uint32]) -> np.ma.MaskedArray[tuple[int], np.dtype[np.uint32]]:
        """Stack ids of the capture [n], masked where there is none."""
        stacks = self._stack[places_of(self._ids, ids)]
        return np.ma.MaskedArray(stacks.astype(np.uint32), stacks == NO_STACK)

    def places(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """String ids of the innermost frames [n]; `NO_PLACE` where there is no stack."""
        return self._place[places_of(self._ids, ids)]

    def own_places(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """String ids of the most relevant frames [n] (`StackFrame.telling`), usually the program's own."""
        return self._own_place[places_of(self._ids, ids)]


def frame_text(name: str, file: str, first_line: int, line: int) -> str:
    """``load (dataset.py:41)``: the function, and the line that was being executed."""
    where = line if line > 0 else first_line
    return f"{name} ({file}:{where})" if file else name
