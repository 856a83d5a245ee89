"""Train a multilayer perceptron in large batches that lie in memory."""
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    x = torch.randn(4096, 512)
    y = (x[:, :8].sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                          nn.Linear(512, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    loss = None
    for _ in range(3):
        for start in range(0, len(x), 512):
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x[start:start + 512]), y[start:start + 512])
            loss.backward()
            optimizer.step()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
