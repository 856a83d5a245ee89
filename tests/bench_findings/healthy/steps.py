"""Steps that load little and compute much."""

import warpline

for step in range(12):
    with warpline.annotate(f"ProfilerStep#{step}"):
        with warpline.annotate("dataloader"):
            batch = bytes(1000)
        sum(range(len(batch) * 2000))
