"""Shortest paths on a random road network: Dijkstra with a heap."""
import heapq
import random


def network(nodes, roads):
    rng = random.Random(2)
    graph = [[] for _ in range(nodes)]
    for _ in range(roads):
        a, b, d = rng.randrange(nodes), rng.randrange(nodes), rng.randrange(1, 100)
        graph[a].append((b, d))
        graph[b].append((a, d))
    return graph


def distances(graph, start):
    best = [1 << 60] * len(graph)
    best[start] = 0
    heap = [(0, start)]
    while heap:
        here, node = heapq.heappop(heap)
        if here > best[node]:
            continue
        for other, length in graph[node]:
            there = here + length
            if there < best[other]:
                best[other] = there
                heapq.heappush(heap, (there, other))
    return best


def main():
    graph = network(25_000, 90_000)
    total = 0
    for start in range(0, 25_000, 2500):
        total += sum(d for d in distances(graph, start) if d < 1 << 60)
    print(total)


if __name__ == "__main__":
    main()
