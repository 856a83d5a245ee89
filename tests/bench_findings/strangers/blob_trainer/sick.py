"""Train a small classifier on vectors that live in a remote object store."""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class BlobStore:
    """Stands for the bucket: a few milliseconds for every object."""

    def get(self, key):
        time.sleep(0.007)
        generator = torch.Generator().manual_seed(key)
        return torch.randn(64, generator=generator)


class Vectors(Dataset):
    def __init__(self, count):
        self.store = BlobStore()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        x = self.store.get(index)
        return x, (x.sum() > 0).long()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Vectors(640), batch_size=32, num_workers=0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"{total:.4f}")


if __name__ == "__main__":
    main()
