"""Score support tickets against a phrase table with a pool of workers."""
import random
import string
from concurrent.futures import ProcessPoolExecutor
from itertools import islice

ALPHABET = string.ascii_lowercase


def build_phrases(count, rng):
    table = {}
    while len(table) < count:
        word = "".join(rng.choices(ALPHABET, k=7))
        table[word] = (rng.random(), rng.randrange(12))
    return table


def make_tickets(phrases, count, rng):
    words = list(islice(phrases, 0, None, 7))
    for number in range(count):
        yield number, " ".join(rng.choices(words, k=60))


def batched(items, size):
    items = iter(items)
    while chunk := list(islice(items, size)):
        yield chunk


class Scorer:
    def __init__(self, phrases, decay=0.97):
        self.phrases = phrases
        self.decay = decay

    def score(self, text):
        total, weight = 0.0, 1.0
        topics = [0.0] * 12
        for word in text.split():
            hit = self.phrases.get(word)
            if hit is None:
                continue
            value, topic = hit
            total += value * weight
            topics[topic] += value
            weight *= self.decay
        return total, topics.index(max(topics))


_scorer = None


def install(scorer):
    global _scorer
    _scorer = scorer


def score_batch(batch):
    return [(number, *_scorer.score(text)) for number, text in batch]


def summarise(results):
    by_topic = {}
    for _, total, topic in results:
        count, acc = by_topic.get(topic, (0, 0.0))
        by_topic[topic] = (count + 1, acc + total)
    return by_topic


def main():
    rng = random.Random(5)
    scorer = Scorer(build_phrases(90_000, rng))
    tickets = make_tickets(scorer.phrases, 2400, rng)
    results = []
    with ProcessPoolExecutor(2, initializer=install, initargs=(scorer,)) as pool:
        for part in pool.map(score_batch, batched(tickets, 60)):
            results.extend(part)
    by_topic = summarise(results)
    print(len(results), round(sum(v for _, v in by_topic.values()), 4))


if __name__ == "__main__":
    main()
