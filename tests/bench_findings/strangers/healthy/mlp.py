"""Train a small perceptron with mini-batches; all the work is matrix products."""
import numpy as np


def make_data(rows, width, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, width), dtype=np.float32)
    true = rng.standard_normal((width, 10), dtype=np.float32)
    y = np.argmax(x @ true, axis=1)
    return x, y


class Net:
    def __init__(self, width, hidden, classes, seed=0):
        rng = np.random.default_rng(seed)
        self.w1 = rng.standard_normal((width, hidden), dtype=np.float32) * np.float32(width ** -0.5)
        self.w2 = rng.standard_normal((hidden, classes), dtype=np.float32) * np.float32(hidden ** -0.5)
        self.b1 = np.zeros(hidden, dtype=np.float32)
        self.b2 = np.zeros(classes, dtype=np.float32)

    def forward(self, x):
        h = x @ self.w1
        h += self.b1
        np.maximum(h, 0, out=h)
        return h, h @ self.w2 + self.b2

    def step(self, x, y, rate):
        h, logits = self.forward(x)
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits, out=logits)
        p /= p.sum(axis=1, keepdims=True)
        picked = p[np.arange(len(y)), y]
        loss = float(-np.log(picked + 1e-9).mean())
        p[np.arange(len(y)), y] -= 1
        p *= np.float32(rate / len(y))
        gh = p @ self.w2.T
        gh *= h > 0
        self.w2 -= h.T @ p
        self.b2 -= p.sum(axis=0)
        self.w1 -= x.T @ gh
        self.b1 -= gh.sum(axis=0)
        return loss


def main():
    x, y = make_data(8192, 256, seed=1)
    net = Net(256, 512, 10)
    rng = np.random.default_rng(2)
    for epoch in range(10):
        order = rng.permutation(len(x))
        losses = []
        for start in range(0, len(x), 512):
            rows = order[start:start + 512]
            losses.append(net.step(x[rows], y[rows], 0.5))
        if epoch % 2 == 0:
            print(f"epoch {epoch} loss {np.mean(losses):.4f}")


if __name__ == "__main__":
    main()
