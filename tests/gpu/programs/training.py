"""A small convolutional network: training, or inference on several streams."""

from __future__ import annotations

import argparse
import contextlib
import time

from common import need_torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--streams", type=int, default=1)
parser.add_argument("--inference", action="store_true")
parser.add_argument("--emit-nvtx", action="store_true")
parser.add_argument("--count-kernels", action="store_true")
args = parser.parse_args()

torch = need_torch()
torch.manual_seed(1)
torch.use_deterministic_algorithms(False)
device = torch.device("cuda")
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(),
    torch.nn.Linear(512, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
streams = [torch.cuda.Stream() for _ in range(args.streams)]
batches = [torch.randn(32, 3, 64, 64).pin_memory() for _ in range(4)]
# Made on the host: kernels that make data would be missing from the profiler's count.
labels = torch.randint(0, 10, (32,)).to(device)
loss = torch.zeros(())


def step(number: int) -> None:
    """One step of what was asked for."""
    global loss
    with torch.cuda.stream(streams[number % len(streams)]):
        batch = batches[number % len(batches)].to(device, non_blocking=True)
        if args.inference:
            with torch.no_grad():
                loss = model(batch).mean()
            return
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()


profiler = contextlib.nullcontext()
if args.count_kernels:
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
emit = torch.autograd.profiler.emit_nvtx() if args.emit_nvtx else contextlib.nullcontext()
with profiler, emit:
    step(0)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for number in range(1, args.steps):
        step(number)
    torch.cuda.synchronize()
    print(f"step_ms={(time.perf_counter() - began) / max(args.steps - 1, 1) * 1e3:.4f}")
print(f"loss={loss.item():.4f}")
with open("/proc/self/status") as status:
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
free, total = torch.cuda.mem_get_info()
print(f"host_mib={int(peak) / 1024:.1f}\ngpu_used_mib={(total - free) / (1 << 20):.1f}")
if args.count_kernels:
    kernels = [
        event
        for event in profiler.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
        and not event.name.startswith(("Memcpy", "Memset"))
    ]
    print(f"kernels={len(kernels)}")
