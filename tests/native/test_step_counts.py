"""The agent counts steps as the capture does, however often each optimiser steps. On a stand-in for PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.unit.recording.recording_tools import UNTIL_HOOKED, WARPLINE
from tests.waiting import wait_until

import warpline
from warpline.recording.control import send_command
from warpline.recording.sources.steps.records import FRAMEWORK_RANGE, RangeKind, framework_range
from warpline.recording.spool.reader import read_spools

STANDIN = Path(__file__).parent / "standin"
LOOPS = {
    # b takes a batch, D and G are optimisers; the digits are the numbers of their steps.
    "one optimiser": ("bDbDbDb", "012"),
    "no loader": ("DDD", "012"),
    "gradient accumulation": ("bbDbbDbb", "01"),
    "two optimisers": ("bDGbDGbDGb", "001122"),
    "one of them steps rarely": ("bDbDbDGbDbDbDGbDb", "012234556"),
    "one of them steps rarely, no loader": ("DDDGDDDGD", "012234556"),
    "the rare one first": ("bGDbDbDbGDbDb", "0012334"),
    "each has its batches": ("bDbGbDbGb", "0123"),
    # Lightning takes a batch in advance; Accelerate too, and steps where gradients are synchronised.
    "a batch in advance": ("bbDbDbDD", "0123"),
    "a batch in advance, accumulated": ("bbbDbbDb", "01"),
}
# One thread for each loop, because steps are counted by thread.
PROGRAM = f"""{UNTIL_HOOKED}
import os, sys, threading, time
import torch
class Numbers:
    def __getitem__(self, index): return index
def train(loop):
    optimizers = {{name: torch.optim.SGD() for name in "DG"}}
    batches = iter(torch.data.DataLoader(Numbers(), 99, 0)) if "b" in loop else None
    for what in loop:
        if what == "b":
            next(batches)
        else:
            torch.autograd.backward(0)
            optimizers[what].step()
for loop in sys.argv[1:]:
    thread = threading.Thread(target=train, args=(loop,))
    thread.start()
    thread.join()
open("done", "w").close()
while not os.path.exists("end"): time.sleep(0.01)
"""


def test_the_agent_counts_steps_as_the_capture_does(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(PROGRAM)
    words = [*WARPLINE, "record", "-q", "--trace", "steps", "--no-check", "-o", "x.h5", "--", sys.executable]
    words += ["loops.py", *(loop for loop, _steps in LOOPS.values())]
    environment = {**os.environ, "PYTHONPATH": str(STANDIN)}
    recording = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_until((tmp_path / "done").exists, "the loops do not end", 60)
        spools, _problems = read_spools(tmp_path / "x.h5.spool")
        told = send_command(tmp_path / "x.h5.spool", "status", timeout_s=60)["steps"]
    finally:
        (tmp_path / "end").touch()
        errors = recording.communicate(timeout=60)[1]
    assert recording.returncode == 0, errors
    (table,) = (
        found for spool in spools if len((found := spool.records(FRAMEWORK_RANGE, framework_range)).values)
    )
    is_step = table.values["kind"] == RangeKind.OPTIMIZER
    values, threads = table.values[is_step], table.tid[is_step]
    order = np.argsort(values["start_ns"])
    numbers = values["step"][order].tolist()
    _threads, places = np.unique(threads[order], return_index=True)
    counted = ["".join(map(str, part)) for part in np.split(numbers, np.sort(places)[1:])]
    assert dict(zip(LOOPS, counted, strict=True)) == {name: steps for name, (_loop, steps) in LOOPS.items()}
    assert told == 7
    with warpline.open(tmp_path / "x.h5") as capture:
        steps = capture.report("steps").to_pandas()
    assert len(steps) == sum(len(set(steps)) for _loop, steps in LOOPS.values())
