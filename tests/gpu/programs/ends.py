"""Launches kernels, then ends in one of several ways."""

from __future__ import annotations

import os
import signal
import sys
import time

from common import need_torch

torch = need_torch()
LAUNCHES = 5000
value = torch.zeros(32).to("cuda")
torch.cuda.synchronize()
for _ in range(LAUNCHES - 1):
    value.add_(1)
torch.cuda.synchronize()
value.add_(1)
torch.cuda.synchronize()
print(f"launched={LAUNCHES}", flush=True)
how = sys.argv[1]
if how == "exception":
    raise RuntimeError("as asked")
if how == "sigterm":
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
if how == "sigkill":
    time.sleep(0.6)
    os.kill(os.getpid(), signal.SIGKILL)
