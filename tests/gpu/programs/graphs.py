"""A captured CUDA graph, replayed."""

from __future__ import annotations

import argparse

from common import need_torch

parser = argparse.ArgumentParser()
parser.add_argument("--replays", type=int, default=20)
args = parser.parse_args()
torch = need_torch()
a = torch.ones(1 << 16, device="cuda")
b = torch.ones(1 << 16, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        b.add_(a)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
NODES = 10
with torch.cuda.graph(graph):
    for _ in range(NODES):
        b.add_(a)
for _ in range(args.replays):
    graph.replay()
torch.cuda.synchronize()
print(f"nodes={NODES}")
print(f"replays={args.replays}")
