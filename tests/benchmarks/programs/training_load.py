"""A training of PyTorch on the processor with two loader workers: as many steps as are asked for.

A second argument is a file for the trace of torch.profiler, which then watches all steps.
"""

import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

warnings.filterwarnings("ignore")


class Pictures:
    """Noise of the size of small pictures, made where it is asked for."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        made = torch.Generator().manual_seed(index)
        return torch.rand(3, 32, 32, generator=made), index % 10


def main() -> None:
    steps, trace = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(10),
    )
    loader = DataLoader(Pictures(steps * 16), batch_size=16, num_workers=2)
    model(torch.zeros(1, 3, 32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    watched: AbstractContextManager[Any] = nullcontext()
    if trace:
        watched = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    with watched as profiler:
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    if profiler is not None:
        profiler.export_chrome_trace(trace)


if __name__ == "__main__":
    main()
