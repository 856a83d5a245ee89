"""A kernel of CuPy, launched many times on a stream of its own."""

from __future__ import annotations

from common import need

cupy = need("cupy")
LAUNCHES = 200
SOURCE = 'extern "C" __global__ void count_up(float *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] += 1; }'
count_up = cupy.RawKernel(SOURCE, "count_up")
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    numbers = cupy.zeros(1 << 11, dtype=cupy.float32)
    for _ in range(LAUNCHES):
        count_up((16,), (128,), (numbers,))
    stream.synchronize()
    assert float(numbers.min()) == LAUNCHES
print(f"name=count_up\nkernels={LAUNCHES}")
