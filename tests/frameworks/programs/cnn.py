"""A convolutional net and a slow dataset.  cnn.py WORKERS"""

import sys
import time

import torch
from own_clock import Clock
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.003)
        return torch.randn(3, 16, 16), index % 10


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU())
        self.head = nn.Linear(16 * 12 * 12, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def main():
    torch.set_num_threads(1)
    clock = Clock()
    model, criterion = Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(Pictures(), batch_size=4, num_workers=int(sys.argv[1]))
    for _ in range(2):
        for x, y in clock.batches(loader):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            clock.steps += 1
        model.eval()
        with torch.no_grad():
            for x, _ in loader:
                model(x)
        model.train()
    clock.say(modules=["model" + ("." + name if name else "") for name, _ in model.named_modules()])


if __name__ == "__main__":
    main()
