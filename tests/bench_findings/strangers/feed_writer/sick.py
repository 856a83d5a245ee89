"""Build the product feed: join prices and stock, write one document per line."""
import json
import os
import random
import tempfile
from collections import Counter
from dataclasses import dataclass

PRODUCTS = 38_000
COLOURS = ("red", "green", "blue", "sand", "graphite")
COUNTRIES = ("de", "fr", "it", "es", "pl", "nl")


@dataclass(slots=True)
class Product:
    sku: str
    title: str
    weight: float
    tags: tuple


def load_products(count):
    rng = random.Random(21)
    words = ["folding", "steel", "garden", "travel", "compact", "wool", "oak", "kids"]
    return [
        Product(
            sku=f"P{n:06d}",
            title=" ".join(rng.sample(words, 3)),
            weight=round(rng.uniform(0.1, 30.0), 2),
            tags=tuple(rng.sample(words, 2)),
        )
        for n in range(count)
    ]


def load_prices(products):
    rng = random.Random(22)
    prices = {}
    for product in products:
        base = rng.randrange(300, 90_000)
        prices[product.sku] = {c: base + i * 10 for i, c in enumerate(COUNTRIES)}
    return prices


def load_stock(products):
    rng = random.Random(23)
    return {p.sku: [rng.randrange(0, 40) for _ in COLOURS] for p in products}


def document(product, price, stock):
    return {
        "sku": product.sku,
        "title": product.title,
        "weight": product.weight,
        "tags": list(product.tags),
        "price": {c: {"amount": v / 100, "currency": "EUR"} for c, v in price.items()},
        "variants": [
            {"colour": c, "stock": n, "available": n > 0, "eta": None if n else "14d"}
            for c, n in zip(COLOURS, stock)
        ],
    }


def write_feed(path, products, prices, stock):
    counts = Counter()
    with open(path, "w", encoding="utf-8", buffering=1 << 20) as out:
        for product in products:
            doc = document(product, prices[product.sku], stock[product.sku])
            json.dump(doc, out)
            out.write("\n")
            counts["docs"] += 1
            counts["sold_out"] += sum(not v["available"] for v in doc["variants"])
    counts["bytes"] = os.path.getsize(path)
    return counts


def verify(path, every):
    with open(path, encoding="utf-8") as lines:
        return sum(json.loads(line)["sku"][0] == "P" for n, line in enumerate(lines) if n % every == 0)


def main():
    products = load_products(PRODUCTS)
    prices = load_prices(products)
    stock = load_stock(products)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "feed.jsonl")
        counts = write_feed(path, products, prices, stock)
        checked = verify(path, 50)
    print(dict(counts), "checked", checked)


if __name__ == "__main__":
    main()
