"""What a script's own clock says: time waited for batches, counts."""

import json
import time


class Clock:
    """Times the iteration over a loader from outside, as a person would."""

    def __init__(self):
        self.wait_s = 0.0
        self.steps = 0

    def batches(self, loader):
        start = time.perf_counter()
        for batch in loader:
            self.wait_s += time.perf_counter() - start
            yield batch
            start = time.perf_counter()

    def say(self, **more):
        print(json.dumps({"wait_s": self.wait_s, "steps": self.steps, **more}))
