"""Optimisers."""

import time

from torch.optim.optimizer import Optimizer


class SGD(Optimizer):
    def step(self, closure=None):
        if closure is not None:
            closure()
        time.sleep(0.002)
