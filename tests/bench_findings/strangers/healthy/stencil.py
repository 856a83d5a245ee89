"""Heat flow through a plate: explicit scheme on a fixed grid with in-place kernels."""
import numpy as np

SIZE = 384
STEPS = 9000
ALPHA = np.float32(0.22)
REPORT = 900


class Plate:
    """Temperature field and the two work buffers the stepping needs."""

    def __init__(self, size):
        self.field = np.zeros((size, size), dtype=np.float32)
        self.flow = np.empty((size - 2, size - 2), dtype=np.float32)
        self.field[0, :] = 100.0
        self.field[:, 0] = np.linspace(100.0, 20.0, size, dtype=np.float32)
        self.field[:, -1] = np.linspace(100.0, 60.0, size, dtype=np.float32)
        self.field[-1, :] = np.linspace(20.0, 60.0, size, dtype=np.float32)

    def step(self):
        t, flow = self.field, self.flow
        inner = t[1:-1, 1:-1]
        np.add(t[:-2, 1:-1], t[2:, 1:-1], out=flow)
        flow += t[1:-1, :-2]
        flow += t[1:-1, 2:]
        flow *= ALPHA
        inner *= np.float32(1.0) - np.float32(4.0) * ALPHA
        inner += flow

    def state(self):
        inner = self.field[1:-1, 1:-1]
        return float(inner.mean()), float(inner.min()), float(inner.max())


def isotherms(field, levels):
    """Share of the plate at or above each level."""
    ordered = np.sort(field, axis=None)
    places = np.searchsorted(ordered, levels)
    return [1.0 - place / ordered.size for place in places]


def profile(field, parts):
    middle = field[:, field.shape[1] // 2]
    return [float(chunk.mean()) for chunk in np.array_split(middle, parts)]


def simulate(plate, steps):
    history = []
    for number in range(1, steps + 1):
        plate.step()
        if number % REPORT == 0:
            history.append((number, *plate.state()))
    return history


def main():
    plate = Plate(SIZE)
    for number, mean, low, high in simulate(plate, STEPS):
        print(f"step {number:5d}  mean {mean:7.3f}  min {low:7.3f}  max {high:7.3f}")
    levels = np.array([20.0, 40.0, 60.0, 80.0], dtype=np.float32)
    for level, share in zip(levels, isotherms(plate.field, levels)):
        print(f"{level:5.1f} degrees and above: {share:6.2%}")
    print("profile", [round(v, 2) for v in profile(plate.field, 6)])


if __name__ == "__main__":
    main()
