"""Many tiny kernels, one after the other."""

from __future__ import annotations

import argparse
import time

from common import need_torch

parser = argparse.ArgumentParser()
parser.add_argument("--launches", type=int, default=100_000)
args = parser.parse_args()
torch = need_torch()
value = torch.zeros(32).to("cuda")
torch.cuda.synchronize()
began = time.perf_counter()
for _ in range(args.launches):
    value.add_(1)
torch.cuda.synchronize()
print(f"launch_us={(time.perf_counter() - began) / args.launches * 1e6:.4f}")
print(f"launches={args.launches}")
