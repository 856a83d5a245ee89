"""What the hooks in a framework cost it, by call: a module's, an optimiser's, a batch's, an operator's.

    python tests/benchmarks/hooks/bench_hooks.py

CPU time of the thread for one call with ``warpline record --trace steps`` less that of the same call without, each the
best of several rounds, on the stand-in for PyTorch that tests use; the yardstick is a call of a Python function.
``WARPLINE_FRAMEWORKS_PYTHON`` (``make frameworks``) has operators measured on the real PyTorch and Paddle, told and not
told by turns in one process. Bars: 3 us a call, 0.9 us an operator.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
STANDIN = ROOT / "tests" / "native" / "standin"
BAR_NS, OPERATOR_BAR_NS = 3_000.0, 900.0
OPERATOR, PADDLE_OPERATOR = "operator of PyTorch", "operator of Paddle, of two events"
PROGRAM = """
import json, sys, time
import torch
count = int(sys.argv[1])
class Leaf(torch.nn.Module):
    def forward(self): pass
class Many(torch.nn.Module):
    def forward(self):
        inner = self.children["leaf"]
        for _ in range(count): inner()
class Quick(torch.optim.Optimizer):
    def step(self): pass
class Batches:
    def __getitem__(self, index): return index
def plain(): pass
many, leaf, optimizer = Many(leaf=Leaf()), Leaf(), Quick()
def best(work):
    found = 1e18
    for _ in range(5):
        began = time.thread_time_ns()
        work()
        found = min(found, (time.thread_time_ns() - began) / count)
    return found
def each(function):
    def work():
        for _ in range(count): function()
    return work
def load():
    for _ in torch.data.DataLoader(Batches(), count): pass
print(json.dumps({"yardstick": best(each(plain)), "module inside another": best(many),
                  "outermost module": best(each(leaf)), "Optimizer.step": best(each(optimizer.step)),
                  "DataLoader.__next__, with fetch and collate": best(load)}))
"""
TURNS = """
import json, statistics, sys, time
def by_turns(work, begin, end):
    count = int(sys.argv[1])
    def once():
        began = time.thread_time_ns()
        for _ in range(count): work()
        return (time.thread_time_ns() - began) / count
    once()
    without, recorded = [], []
    for _ in range(15):
        recorded.append(once())
        end()
        without.append(once())
        begin()
    added = statistics.median(one - other for one, other in zip(recorded, without))
    print(json.dumps([statistics.median(without), statistics.median(without) + added]))
(builtins,) = [finder.api for finder in sys.meta_path if type(finder).__name__ == "Watcher"]
"""
OPERATORS = (
    TURNS
    + """
import torch
torch.set_num_threads(1)
ask, numbers = builtins["autograd"], torch.zeros(64)
learn, tell, end = 1, 3, 6  # recording/sources/torch/native/autograd.h
def begin():
    value = torch.ones(1, requires_grad=True)
    ask(learn)
    for _ in range(4): value = value * value
    assert ask(tell)
by_turns(lambda: torch.add(numbers, numbers), begin, lambda: ask(end))
"""
)
PADDLE_OPERATORS = (
    TURNS
    + """
import paddle
tell, end, numbers = 3, 4, paddle.zeros([64])  # recording/hooks/inside/paddle_operators.py
ask = builtins["paddle"]
by_turns(lambda: paddle.add(numbers, numbers), lambda: ask(tell), lambda: ask(end))
"""
)


def measured(python: str, program: str, calls: int, trace: str) -> dict[str, float]:
    """CPU ns of one call of each kind; recorded where ``trace`` is given."""
    command = [python, "-c", program, str(calls)]
    environment = dict(os.environ)
    if program is PROGRAM:
        environment["PYTHONPATH"] = str(STANDIN)
    with tempfile.TemporaryDirectory() as folder:
        if trace:
            words = ["record", "-q", "--trace", trace, "-o", f"{folder}/x.h5", "--"]
            command = [sys.executable, "-m", "warpline", *words, *command]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(calls: int) -> dict[str, float]:
    """Prints a table; returns what is added to each kind of call, in ns."""
    real = os.environ.get("WARPLINE_FRAMEWORKS_PYTHON", "")
    without, recorded = (measured(sys.executable, PROGRAM, calls, how) for how in ("", "steps"))
    for name, program, package in (
        (OPERATOR, OPERATORS, "torch"),
        (PADDLE_OPERATOR, PADDLE_OPERATORS, "paddle"),
    ):
        # On and off by turns in one recorded process: two processes differ by more than an operator costs.
        if (
            real
            and subprocess.run([real, "-c", f"import {package}"], capture_output=True, check=False).returncode
            == 0
        ):
            pair: Any = measured(real, program, calls, package)
            without[name], recorded[name] = pair
    added: dict[str, float] = {}
    for name, value in without.items():
        added[name] = recorded[name] - value
        print(f"{name:45} {value:8.0f} ns  {recorded[name]:8.0f} ns recorded  {added[name]:+8.0f} ns")
    return added


def test_hooks_cost_little(bench_smoke: bool) -> None:
    added = run(200 if bench_smoke else 50_000)
    assert len(added) >= 5
    if not bench_smoke:
        assert max(value for name, value in added.items() if not name.startswith("operator")) <= BAR_NS
        assert max(added.get(name, 0.0) for name in (OPERATOR, PADDLE_OPERATOR)) <= OPERATOR_BAR_NS


if __name__ == "__main__":
    run(50_000)
