"""Fills a new buffer each time, whose memory the system has to hand out. Cured: the same buffer is filled again."""

import sys

SICK = sys.argv[1] == "sick"
# What is larger than 32 MiB no allocator keeps: glibc gives it back as soon as it is freed.
source = bytes(40 << 20)
kept = bytearray(source)

for _ in range(40):
    if SICK:
        kept = bytearray(source)  # sick
    else:
        memoryview(kept)[:] = source
