"""Syncs after each line. Cured: once, at the end."""

import os
import sys
import tempfile

SICK = sys.argv[1] == "sick"
with tempfile.NamedTemporaryFile("w", dir=os.getcwd()) as file:
    for number in range(300):
        file.write(f"{number} " + "x" * 4000 + "\n")
        file.flush()
        if SICK or number == 299:
            os.fsync(file.fileno())  # sick
sum(range(5_000_000))
