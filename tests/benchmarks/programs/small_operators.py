"""Trains a net of operators that take 1 to 2 us each: CPU ns of a step, after some to warm up.

Arguments: steps; a second one has torch.profiler follow them all.
"""

import sys
import time

import torch
from torch.nn import Linear, ReLU, Tanh

torch.set_num_threads(1)
net = torch.nn.Sequential(Linear(8, 16), ReLU(), Linear(16, 16), Tanh(), Linear(16, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
batch = torch.ones(4, 8)
steps = int(sys.argv[1])


def train(times: int) -> None:
    for _ in range(times):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()


train(200)
if len(sys.argv) > 2:
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    profiler.start()
began = time.process_time_ns()
train(steps)
spent = time.process_time_ns() - began
if len(sys.argv) > 2:
    profiler.stop()
print(f"step_ns={spent / steps}")
