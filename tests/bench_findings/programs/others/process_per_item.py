"""Starts a process for each item. Cured: one process does them all."""

import subprocess
import sys

SICK = sys.argv[1] == "sick"
for _ in range(15 if SICK else 1):
    subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(0.04)"], check=True)  # sick
sum(range(12_000_000))
