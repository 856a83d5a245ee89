"""Assign delivery addresses to depots, a district at a time, on two processes."""
import functools
import math
import multiprocessing as mp
import random


def make_gazetteer(count):
    """Street to coordinates and zone."""
    rng = random.Random(3)
    return {"street-%06d" % n: (rng.uniform(0, 100), rng.uniform(0, 100),
                                "Z%02d" % rng.randrange(40))
            for n in range(count)}


def make_districts(streets, count, size):
    rng = random.Random(4)
    names = list(streets)
    return [(n, rng.sample(names, size)) for n in range(count)]


DEPOTS = [(13.0, 20.0), (71.0, 16.0), (45.0, 52.0), (22.0, 81.0), (88.0, 77.0)]


def nearest(x, y):
    best, distance = -1, math.inf
    for index, (a, b) in enumerate(DEPOTS):
        d = (x - a) ** 2 + (y - b) ** 2
        if d < distance:
            best, distance = index, d
    return best, math.sqrt(distance)


def assign(gazetteer, district):
    number, streets = district
    loads = [0] * len(DEPOTS)
    kilometres = 0.0
    zones = set()
    for street in streets:
        x, y, zone = gazetteer[street]
        depot, distance = nearest(x, y)
        loads[depot] += 1
        kilometres += distance
        zones.add(zone)
    return number, loads, kilometres, len(zones)


def plan(gazetteer, districts):
    with mp.Pool(2) as pool:
        work = functools.partial(assign, gazetteer)
        return pool.map(work, districts, chunksize=1)


def main():
    gazetteer = make_gazetteer(30000)
    districts = make_districts(gazetteer, 50, 400)
    results = plan(gazetteer, districts)
    loads = [sum(column) for column in zip(*(r[1] for r in results))]
    kilometres = sum(r[2] for r in results)
    assert [r[0] for r in results] == [d[0] for d in districts]
    assert sum(loads) == 50 * 400
    first = assign(gazetteer, districts[0])
    assert first == results[0]
    print("loads", loads, "kilometres", round(kilometres, 3),
          "zones", max(r[3] for r in results))


if __name__ == "__main__":
    main()
