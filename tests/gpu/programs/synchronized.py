"""One kernel after the other, each waited for; an idle moment between them.  synchronized.py SECONDS"""

from __future__ import annotations

import sys
import time

from driver import Gpu

gpu = Gpu(1)
stream = gpu.streams[0]
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    gpu.launch(stream, 1 + gpu.numbers["kernels"] % 200)
    gpu.call("cuStreamSynchronize", stream)
    time.sleep(0.005)
print(f"kernels={gpu.numbers['kernels']}")
