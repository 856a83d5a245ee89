"""Power spectra of simulated recordings, window by window, in numpy."""
import numpy as np


def main():
    rng = np.random.default_rng(0)
    window = np.hanning(4096).astype(np.float32)
    power = np.zeros(2049)
    for _ in range(70):
        block = rng.standard_normal((256, 4096), dtype=np.float32)
        spectrum = np.fft.rfft(block * window, axis=1)
        power += (spectrum.real ** 2 + spectrum.imag ** 2).sum(axis=0)
    print(f"{power.sum():.4e}")


if __name__ == "__main__":
    main()
