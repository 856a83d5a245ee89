"""Sleeps after each item, needlessly. Cured: it does not."""

import sys
import time

SICK = sys.argv[1] == "sick"
for _ in range(20):
    sum(range(300_000))
    if SICK:
        time.sleep(0.03)  # sick
