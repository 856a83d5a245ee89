"""Trains a little, three times; PyTorch's own profiler counts the operators of the second time."""

import json
from collections import Counter

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(net.parameters())


def train():
    for _ in range(5):
        loss = net(torch.randn(4, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


train()
with torch.autograd.profiler.record_function("counted"):
    train()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    train()
with torch.autograd.profiler.record_function("again"):
    train()
found = Counter(event.name() for event in profiler.profiler.kineto_results.events())
known = {name: count for name, count in found.items() if not name.startswith(("Optimizer.", "Profiler"))}
forward, derivatives = {}, Counter()
for event in sorted(profiler.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
    number = event.sequence_nr()
    if number >= 0 and event.fwd_thread_id() == 0:
        forward[event.start_thread_id(), number] = event.name()
    elif number >= 0 and not event.name().startswith("autograd::engine::"):
        derivatives[f"{forward[event.fwd_thread_id(), number]} {event.name()}"] += 1
print(json.dumps({"operators": known, "derivatives": derivatives}))
