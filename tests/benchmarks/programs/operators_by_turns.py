"""Small operators of PyTorch, with parts of the recording around them on and off by turns: CPU ns of a call, as JSON.

Arguments: the load, rounds, the spool directory of the recording. Each round does the same piece of work once in each
of `SETTINGS`, in random order.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import Linear, ReLU, Tanh

from warpline.recording.control import send_command

LOAD, ROUNDS, SPOOL = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
PIECE_S = 0.02
SETTINGS = ("bare", "default", "operators", "both", "torch.profiler")
LEARN, TELL, END = 1, 3, 6  # recording/sources/torch/native/autograd.h

torch.set_num_threads(1)
net = torch.nn.Sequential(Linear(8, 16), ReLU(), Linear(16, 16), Tanh(), Linear(16, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
batch, numbers = torch.ones(4, 8), torch.zeros(64)
finders: list[Any] = [finder for finder in sys.meta_path if type(finder).__name__ == "Watcher"]
autograd = finders[0].api["autograd"]


def add() -> None:
    torch.add(numbers, numbers)


def forward() -> None:
    net(batch)


def step() -> None:
    optimizer.zero_grad()
    net(batch).square().mean().backward()
    optimizer.step()


LOADS: dict[str, Callable[[], None]] = {"add": add, "forward": forward, "step": step}


class Hooks:
    """Those of the source ``steps``, which can be taken out and put back."""

    def __init__(self) -> None:
        owners = (
            (torch.nn.Module, "__call__"),
            (torch.autograd, "_engine_run_backward"),
            (torch.optim.SGD, "step"),
        )
        self.places: list[tuple[Any, str, Any]] = [
            (owner, name, getattr(owner, name)) for owner, name in owners
        ]

    def put(self, are_in: bool) -> None:
        for owner, name, hooked in self.places:
            setattr(owner, name, hooked if are_in else hooked.__wrapped__)


def tell_operators() -> None:
    """As torch_operators.py begins it."""
    value = torch.ones(1, requires_grad=True)
    autograd(LEARN)
    for _ in range(4):
        value = value * value
    assert autograd(TELL)


def cost_ns(work: Callable[[], None], times: int) -> float:
    work()
    began = time.process_time_ns()
    for _ in range(times):
        work()
    return (time.process_time_ns() - began) / times


def piece(setting: str, hooks: Hooks, work: Callable[[], None], times: int) -> float:
    """What one call costs in this setting; afterwards nothing is recorded."""
    hooks.put(setting in ("default", "both"))
    if setting in ("operators", "both"):
        tell_operators()
    if setting in ("default", "operators", "both"):
        send_command(SPOOL, "resume", timeout_s=60)
    if setting == "torch.profiler":
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            return cost_ns(work, times)
    cost = cost_ns(work, times)
    autograd(END)
    send_command(SPOOL, "pause", timeout_s=60)
    return cost


def main() -> None:
    hooks, work = Hooks(), LOADS[LOAD]
    autograd(END)
    send_command(SPOOL, "pause", timeout_s=60)
    for _ in range(50):
        work()
    times = max(1, int(PIECE_S * 1e9 / cost_ns(work, 50)))
    costs: dict[str, list[float]] = {setting: [] for setting in SETTINGS}
    for _ in range(ROUNDS):
        for setting in random.sample(SETTINGS, len(SETTINGS)):
            costs[setting].append(piece(setting, hooks, work, times))
    print(json.dumps(costs))


if __name__ == "__main__":
    main()
