"""Computes on one core."""

for _ in range(30):
    sum(range(600_000))
