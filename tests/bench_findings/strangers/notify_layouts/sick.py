"""Render notifications from a set of message layouts."""
import functools
import hashlib
import random
import re

TOKEN = re.compile(r"\{\{\s*(\w+)((?:\s*\|\s*\w+)*)\s*\}\}|([^{]+|\{)")
FILTERS = {
    "upper": str.upper,
    "title": str.title,
    "strip": str.strip,
    "twice": lambda s: s + s,
}
FIELDS = ("name", "city", "item", "carrier", "day")


def make_layouts(count):
    rng = random.Random(21)
    words = ["dear", "your", "parcel", "with", "arrives", "soon", "at", "the",
             "door", "please", "sign", "for", "it", "thanks"]
    layouts = {}
    for n in range(count):
        parts = []
        for _ in range(260):
            if rng.random() < 0.35:
                names = [" | " + rng.choice(list(FILTERS))
                         for _ in range(rng.randrange(3))]
                parts.append("{{ %s%s }}" % (rng.choice(FIELDS), "".join(names)))
            else:
                parts.append(" ".join(rng.sample(words, 4)))
        layouts["layout-%03d" % n] = " ".join(parts)
    return layouts


LAYOUTS = make_layouts(150)


def chain(names):
    functions = [FILTERS[name.strip()] for name in names.split("|") if name.strip()]

    def apply(text):
        for function in functions:
            text = function(text)
        return text
    return apply


@functools.lru_cache(maxsize=128)
def layout(name):
    """The parts of a layout: text, or a field and what to do with it."""
    parts = []
    for found in TOKEN.finditer(LAYOUTS[name]):
        field, filters, text = found.groups()
        if text is not None:
            if parts and isinstance(parts[-1], str):
                parts[-1] += text
            else:
                parts.append(text)
        else:
            parts.append((field, chain(filters)))
    return tuple(parts)


def render(name, values):
    out = []
    for part in layout(name):
        if isinstance(part, str):
            out.append(part)
        else:
            field, apply = part
            out.append(apply(values[field]))
    return "".join(out)


def recipients(count):
    rng = random.Random(22)
    for n in range(count):
        yield {"name": "person %d" % n, "city": rng.choice(("Ulm", "Bonn", "Kiel")),
               "item": "box %d" % rng.randrange(50), "carrier": " post ",
               "day": "day %d" % rng.randrange(7)}


def main():
    digest = hashlib.sha256()
    sent = size = 0
    for values in recipients(32):
        for name in LAYOUTS:
            text = render(name, values)
            digest.update(text.encode())
            size += len(text)
            sent += 1
    assert sent == 32 * 150
    assert "{{" not in text
    print("sent", sent, "characters", size, digest.hexdigest()[:16])


if __name__ == "__main__":
    main()
