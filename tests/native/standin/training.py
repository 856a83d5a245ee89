"""Trains on the stand-in for PyTorch and prints, as JSON, what its own clock says.

training.py WORKERS MODE: MODE is plain, accumulate, two (optimisers), closure or manual (no loader).
"""

import json
import sys
import time

import torch
from torch.distributed.distributed_c10d import all_reduce
from torch.utils.data.dataloader import INSIDE

BATCHES, EPOCHS = 4, 2


class Images:
    def __getitem__(self, index):
        time.sleep(0.004)
        return index


class Layer(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.003)
        return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(first=Layer(), second=Layer())

    def forward(self, x):
        return self.children["second"](self.children["first"](x))


def train(workers, mode):
    model, optimizer, other = Net(), torch.optim.SGD(), torch.optim.SGD()
    spent = {"wait": 0.0, "steps": 0, "evaluations": 0}

    def batches(count=BATCHES):
        if mode == "manual":
            yield from range(count)
            return
        waiting = time.monotonic()
        for batch in torch.data.DataLoader(Images(), count, workers):
            spent["wait"] += time.monotonic() - waiting
            yield batch
            waiting = time.monotonic()

    def learn(batch):
        model(batch)
        torch.autograd.backward(0.004)

    for _ in range(EPOCHS):
        for number, batch in enumerate(batches()):
            if mode == "closure":
                optimizer.step(lambda batch=batch: learn(batch))
            else:
                learn(batch)
                if mode != "accumulate" or number % 2:
                    all_reduce(0.001)
                    optimizer.step()
                if mode == "two":
                    other.step()
            spent["steps"] += mode != "accumulate" or number % 2
        model.training = torch._C.GRAD[0] = False
        before = spent["wait"], INSIDE[0]
        for batch in batches(2):
            model(batch)
        spent["wait"], INSIDE[0] = before
        model.training = torch._C.GRAD[0] = True
        spent["evaluations"] += 1
        torch.save(0.001)
    return {**spent, "inside": INSIDE[0]}


print(json.dumps(train(int(sys.argv[1]), sys.argv[2])))
