"""A simulation that is shown live: sixty frames a second, each on time."""
import time

import numpy as np

FRAME = 1 / 60


def main():
    rng = np.random.default_rng(4)
    position = rng.random((4000, 2))
    velocity = rng.standard_normal((4000, 2)) * 0.1
    due = time.monotonic()
    for _ in range(180):
        position += velocity * FRAME
        outside = (position < 0) | (position > 1)
        velocity[outside] *= -1
        np.clip(position, 0, 1, out=position)
        due += FRAME
        delay = due - time.monotonic()
        if delay > 0:
            time.sleep(delay)
    print(f"{position.mean():.3f}")


if __name__ == "__main__":
    main()
