"""Paddle, dynamic graph.  paddle_train.py WORKERS"""

import sys
import time

import numpy as np
import paddle
from own_clock import Clock
from paddle import nn
from paddle.io import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.003)
        return np.ones(8, "float32") * index, np.int64(index % 2)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.body(x))


def main():
    clock = Clock()
    model, criterion = Net(), nn.CrossEntropyLoss()
    optimizer = paddle.optimizer.Adam(parameters=model.parameters())
    loader = DataLoader(Numbers(), batch_size=4, num_workers=int(sys.argv[1]))
    for _ in range(2):
        for x, y in clock.batches(loader):
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.clear_grad()
            clock.steps += 1
        model.eval()
        with paddle.no_grad():
            for x, _ in loader:
                model(x)
        model.train()
    clock.say(
        modules=[
            "model" + ("." + name if name else "") for name, _ in model.named_sublayers(include_self=True)
        ]
    )


if __name__ == "__main__":
    main()
