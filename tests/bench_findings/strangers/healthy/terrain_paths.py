"""Least cost paths over a terrain grid from a few stations."""
import heapq
import random

SIDE = 200


def terrain(seed):
    rng = random.Random(seed)
    return [rng.randrange(1, 30) for _ in range(SIDE * SIDE)]


def neighbours():
    """For every cell the cells beside it."""
    around = []
    for cell in range(SIDE * SIDE):
        row, column = divmod(cell, SIDE)
        beside = []
        if row:
            beside.append(cell - SIDE)
        if row < SIDE - 1:
            beside.append(cell + SIDE)
        if column:
            beside.append(cell - 1)
        if column < SIDE - 1:
            beside.append(cell + 1)
        around.append(tuple(beside))
    return around


def costs_from(start, height, around):
    far = 1 << 60
    cost = [far] * len(height)
    cost[start] = 0
    heap = [(0, start)]
    pop, push = heapq.heappop, heapq.heappush
    while heap:
        so_far, cell = pop(heap)
        if so_far > cost[cell]:
            continue
        for beside in around[cell]:
            there = so_far + height[beside]
            if there < cost[beside]:
                cost[beside] = there
                push(heap, (there, beside))
    return cost


def route(cost, height, around, target):
    """From the target back to the start."""
    path = [target]
    while cost[path[-1]]:
        cell = path[-1]
        for beside in around[cell]:
            if cost[beside] + height[cell] == cost[cell]:
                path.append(beside)
                break
    return path


def main():
    height = terrain(41)
    around = neighbours()
    rng = random.Random(42)
    stations = rng.sample(range(SIDE * SIDE), 26)
    total = steps = 0
    for station in stations:
        cost = costs_from(station, height, around)
        for target in stations:
            path = route(cost, height, around, target)
            assert path[-1] == station
            assert sum(height[c] for c in path[:-1]) == cost[target]
            total += cost[target]
            steps += len(path)
    print("stations", len(stations), "cost", total, "steps", steps)


if __name__ == "__main__":
    main()
