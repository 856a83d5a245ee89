"""Changes on which core it may run, again and again. Cured: the kernel's scheduler chooses."""

import os
import sys

SICK = sys.argv[1] == "sick"
CORES = sorted(os.sched_getaffinity(0))

for number in range(3000):
    if SICK:
        os.sched_setaffinity(0, {CORES[number % len(CORES)]})  # sick
    sum(range(8_000))
