"""Two ranks as a launcher starts them, each with the GPU for itself: processes with RANK, WORLD_SIZE and LOCAL_RANK."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RANKS, LAUNCHES = 2, 500
program = Path(__file__).with_name("driver.py")
ranks = [
    subprocess.Popen(
        [sys.executable, str(program), "--launches", str(LAUNCHES)],
        env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS)},
    )
    for rank in range(RANKS)
]
status = max(rank.wait() for rank in ranks)
print(f"ranks={RANKS}\nall_kernels={RANKS * LAUNCHES}")
raise SystemExit(status)
