"""Merge order exports of several shops and drop the orders that came in twice."""
import random


def read_exports(shops, per_shop):
    rng = random.Random(7)
    for shop in range(shops):
        for _ in range(per_shop):
            number = rng.randrange(per_shop * 3)
            yield {"shop": shop, "id": f"A{number:07d}", "cents": rng.randrange(100, 90000)}


def merge(rows):
    seen = set()
    kept = []
    for row in rows:
        key = row["id"]
        if key in seen:
            continue
        seen.add(key)
        kept.append(row)
    return kept


def main():
    orders = merge(read_exports(4, 5000))
    total = sum(o["cents"] for o in orders)
    print(len(orders), total)


if __name__ == "__main__":
    main()
