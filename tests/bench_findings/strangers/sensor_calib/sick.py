"""Calibrate field sensors: drop gaps, detrend, smooth and score each channel."""
import random

import numpy as np

CHANNELS = 6
SAMPLES = 240_000


def read_channel(index):
    """What the logger delivers: floats, with None where a sample was lost."""
    rng = random.Random(index)
    level = 20.0 + index
    out = []
    for i in range(SAMPLES):
        if rng.random() < 0.004:
            out.append(None)
        else:
            level += (rng.random() - 0.5) * 0.01
            out.append(level)
    return out


def load(index):
    raw = np.array(read_channel(index))
    present = np.not_equal(raw, None).astype(bool)
    return np.flatnonzero(present), raw[present]


def detrend(times, values):
    t = (times - times.mean()) / times.std()
    slope = (t * values).sum() / (t * t).sum()
    return values - slope * t - values.mean()


def smooth(values, span):
    total = np.cumsum(values)
    body = total[span:] - total[:-span]
    return body / span


def clip_outliers(values, limit=3.5):
    spread = ((values - values.mean()) ** 2).mean() ** 0.5
    return np.minimum(np.maximum(values, -limit * spread), limit * spread)


def residual_energy(values):
    energies = []
    for span in (5, 15, 45, 135, 405):
        slow = smooth(values, span)
        resid = values[span:] - slow
        energies.append(float((resid * resid).mean()))
    return energies


def calibrate(times, values):
    flat = detrend(times, values)
    for _ in range(4):
        flat = clip_outliers(flat)
    drift = float(np.abs(np.diff(flat)).max())
    return drift, residual_energy(flat)


def main():
    report = {}
    for index in range(CHANNELS):
        times, values = load(index)
        report[index] = calibrate(times, values)
    worst = max(report, key=lambda k: report[k][1][-1])
    print(worst, round(sum(sum(e) for _, e in report.values()), 5))


if __name__ == "__main__":
    main()
