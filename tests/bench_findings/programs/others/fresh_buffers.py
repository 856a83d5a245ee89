"""Fills a new buffer each time, whose memory the system has to hand out. Cured: the same buffer is filled again."""

import sys

SICK = sys.argv[1] == "sick"
source = bytes(16 << 20)
kept = bytearray(source)

for _ in range(80):
    if SICK:
        kept = bytearray(source)  # sick
    else:
        memoryview(kept)[:] = source
