"""Stacks of Python as the agent wrote them, and as a person reads them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from warpline.recording.agent import records
from warpline.recording.agent.python_stacks import PythonStacks
from warpline.storage import CaptureBuilder

HOOKS = "/usr/lib/python3/site-packages/warpline/recording/hooks/inside/torch_hooks.py"


class WrittenStacks:
    """A spool file of an agent that saw ``main`` call a hook of ours that calls ``forward``."""

    texts = ("", "main", "train.py", "call", HOOKS, "forward", "model.py")

    def records(self, number: int, _type: Any) -> SimpleNamespace:
        if number == records.PYTHON_CODE:
            values = np.zeros(3, records.python_code)
            for row, (code, name, file) in enumerate([(1, 1, 2), (2, 3, 4), (3, 5, 6)]):
                values[row]["code"], values[row]["name"], values[row]["file"] = code, name, file
                values[row]["first_line"] = 1
        else:
            values = np.zeros(4, records.python_stack)
            for row, entry in enumerate([(1, 0, 1, 10), (2, 1, 2, 20), (3, 2, 3, 30), (4, 1, 2, 21)]):
                for field, value in zip(("stack", "parent", "code", "line"), entry, strict=True):
                    values[row][field] = value
        return SimpleNamespace(values=values)

    def text(self, number: int) -> str:
        return self.texts[number]


def test_frames_of_our_own_hooks_are_left_out(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        stacks = PythonStacks(WrittenStacks(), builder)  # type: ignore[arg-type]
        ids = np.array([1, 2, 3, 4], np.uint32)
        found = [builder.text(place) for place in stacks.places(ids).tolist()]
        assert found == [
            "main (train.py:10)",
            "main (train.py:10)",
            "forward (model.py:30)",
            "main (train.py:10)",
        ]
        numbers = stacks.stacks(ids).tolist()
        assert numbers[0] == numbers[1] == numbers[3] != numbers[2]
        builder.add_events(builder_track(builder), "range", [1], [1], builder.string("x"))
        builder.finish()


def builder_track(builder: CaptureBuilder) -> int:
    from warpline.model.track_factory import TrackFactory
    from warpline.model.track_style import TRACE

    return builder.add_track(TrackFactory(TRACE, "").instants())
