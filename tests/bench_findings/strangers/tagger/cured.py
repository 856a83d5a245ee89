"""Train a bag-of-words tagger with a large hashed vocabulary."""
import torch
from torch import nn

torch.set_num_threads(1)

BUCKETS = 600_000


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(BUCKETS, 32, mode="mean", sparse=True)
        self.out = nn.Linear(32, 5)

    def forward(self, tokens):
        return self.out(self.words(tokens))


def batches(count):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        tokens = torch.randint(BUCKETS, (64, 20), generator=generator)
        yield tokens, tokens[:, 0] % 5


def main():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for tokens, tags in batches(60):
        optimizer.zero_grad()
        loss = criterion(model(tokens), tags)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"{total:.3f}")


if __name__ == "__main__":
    main()
