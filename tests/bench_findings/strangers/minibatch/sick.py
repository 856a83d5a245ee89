"""Logistic regression by minibatches over a feature file on disk."""
import os
import tempfile

import numpy as np

ROWS = 120_000
FEATURES = 200
BATCH = 512
STEPS = 100


def write_features(folder):
    """Stand-in for the feature extraction job: one .npy for X, one for y."""
    rng = np.random.default_rng(3)
    weights = rng.normal(size=FEATURES).astype(np.float32)
    block = rng.normal(size=(4000, FEATURES)).astype(np.float32)
    path = os.path.join(folder, "features.npy")
    features = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(ROWS, FEATURES)
    )
    for start in range(0, ROWS, 4000):
        features[start : start + 4000] = np.roll(block, start // 4000, axis=0)
    labels = np.concatenate(
        [np.roll(block @ weights > 0, start // 4000) for start in range(0, ROWS, 4000)]
    )
    del features
    np.save(os.path.join(folder, "labels.npy"), labels.astype(np.float32))
    return path


class FeatureStore:
    def __init__(self, folder):
        self.path = os.path.join(folder, "features.npy")
        self.labels = np.load(os.path.join(folder, "labels.npy"))

    def __len__(self):
        return len(self.labels)

    def batch(self, rows):
        features = np.load(self.path)
        return features[rows], self.labels[rows]


class Model:
    def __init__(self, size, rate=0.2):
        self.weights = np.zeros(size, dtype=np.float32)
        self.rate = rate

    def predict(self, x):
        return 1.0 / (1.0 + np.exp(-(x @ self.weights)))

    def step(self, x, y):
        p = self.predict(x)
        self.weights -= self.rate * (x.T @ (p - y)) / len(y)
        eps = 1e-6
        return float(-np.mean(y * np.log(p + eps) + (1 - y) * np.log(1 - p + eps)))


def batches(count, size, steps, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(count)
    for step in range(steps):
        start = step * size % (count - size)
        yield np.sort(order[start : start + size])


def train(store):
    model = Model(FEATURES)
    losses = []
    for rows in batches(len(store), BATCH, STEPS, seed=9):
        x, y = store.batch(rows)
        losses.append(model.step(x, y))
    return model, losses


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_features(folder)
        store = FeatureStore(folder)
        model, losses = train(store)
    print("steps", len(losses), "first", round(losses[0], 4), "last", round(losses[-1], 4))
    print("weight norm", round(float(np.linalg.norm(model.weights)), 4))


if __name__ == "__main__":
    main()
