"""Train a small classifier on images that are stored compressed. `--workers N` loads them in N processes."""

import argparse
import io

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """Images as compressed bytes, as they would lie on a disk."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(0)
        self.files = []
        for _ in range(8):
            file = io.BytesIO()
            np.savez_compressed(file, pixels=rng.integers(0, 50, (3, 160, 160), dtype=np.uint8))
            self.files.append(file.getvalue())
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels = np.load(io.BytesIO(self.files[index % len(self.files)]))["pixels"]
        image = torch.from_numpy(pixels.astype(np.float32) / 255.0)
        return torch.nn.functional.avg_pool2d(image, 5), index % 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    workers = parser.parse_args().workers
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(Images(640), batch_size=16, num_workers=workers)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)
    )
    net(torch.zeros(1, 3, 32, 32))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = torch.zeros(())
    for images, labels in loader:
        loss = nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
