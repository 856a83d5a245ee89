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
"""Python that a recording puts into the program."""
NO_PLACE = 0
"""String id of the empty text: the place of what has no stack."""


class PythonStacks:
    """The stacks of one process: from the agent's ids to the capture's, and the innermost frame of each as text."""

    def __init__(self, spool: SpoolFile, builder: CaptureBuilder) -> None:
        codes = spool.records(records.PYTHON_CODE, records.python_code).values
        nodes = spool.records(records.PYTHON_STACK, records.python_stack).values
        names = {
            code: (spool.text(name), spool.text(file), first)
            for code, name, file, first in codes[["code", "name", "file", "first_line"]].tolist()
        }
        nodes = np.sort(nodes, order="stack")
        self._ids = np.unique(nodes["stack"])
        # The last is of those that are not there, whose place is −1.
        self._stack = np.full(len(self._ids) + 1, NO_STACK, np.int64)
        self._place = np.full(len(self._ids) + 1, NO_PLACE, np.uint32)
        self._telling_place = self._place.copy()
        telling = [0] * len(self._stack)
        stacks, parents = (places_of(self._ids, nodes[end]).tolist() for end in ("stack", "parent"))
        # By id: a stack is defined after the one it stands on. As many as there are places in the program.
        for (code, line), stack, parent in zip(
            nodes[["code", "line"]].tolist(), stacks, parents, strict=True
        ):
            if parent < stack and _OWN_FILE.search(names.get(code, ("", "", 0))[1]):
                # What our hooks wrap is called by them, and stands where it would without them.
                for column in (self._stack, self._place, self._telling_place):
                    column[stack] = column[parent]
                telling[stack] = telling[parent]
                continue
            text = frame_text(*names.get(code, ("?", "", 0)), line)
            frame = builder.string(text)
            above = int(self._stack[parent]) if parent < stack else NO_STACK
            self._stack[stack] = builder.stack(frame, above) if above != NO_STACK else builder.stack(frame)
            self._place[stack] = frame
            told = parse_frame(text).telling
            is_telling = parent >= stack or told >= telling[parent]
            self._telling_place[stack] = frame if is_telling else self._telling_place[parent]
            telling[stack] = told if is_telling else telling[parent]

    def stacks(self, ids: npt.NDArray[np.uint32]) -> np.ma.MaskedArray[tuple[int], np.dtype[np.uint32]]:
        """Stack ids of the capture [n], masked where there is none."""
        found = self._stack[places_of(self._ids, ids)]
        return np.ma.MaskedArray(found.astype(np.uint32), found == NO_STACK)

    def places(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """String ids of the innermost frames [n]; `NO_PLACE` where there is no stack."""
        return self._place[places_of(self._ids, ids)]

    def telling_places(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The same of the innermost of the frames that tell most (`StackFrame.telling`): the program's own mostly."""
        return self._telling_place[places_of(self._ids, ids)]


def frame_text(name: str, file: str, first_line: int, line: int) -> str:
    """``load (dataset.py:41)``: the function, and the line that was being executed."""
    where = line if line > 0 else first_line
    return f"{name} ({file}:{where})" if file else name
