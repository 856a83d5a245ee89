"""A compiled function of JAX, called many times."""

from __future__ import annotations

import os

from common import need, skip

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
jax = need("jax")
CALLS = 100
if jax.default_backend() != "gpu":
    raise SystemExit(skip(f"JAX uses {jax.default_backend()}"))


@jax.jit
def scale(values):
    return values @ values / values.shape[0]


values = jax.numpy.ones((512, 512))
for _ in range(CALLS):
    values = scale(values)
values.block_until_ready()
assert abs(float(values.mean()) - 1) < 1e-2
print(f"calls={CALLS}")
