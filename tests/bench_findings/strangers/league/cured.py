import random


def season(n):
    rnd = random.Random(9)
    return [(rnd.randrange(600), rnd.randrange(5)) for _ in range(n)]


def play(games):
    points = {}
    leaders = []
    for team, goals in games:
        points[team] = points.get(team, 0) + goals
    table = sorted(points.items(), key=lambda tp: -tp[1])
    leaders = table[:3]
    return leaders


def main():
    print(play(season(16000)))


main()
