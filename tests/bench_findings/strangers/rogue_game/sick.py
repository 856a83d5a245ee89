"""A dungeon simulation that can rewind a few turns."""
import copy
import random


class Creature:
    def __init__(self, name, x, y, hp):
        self.name = name
        self.x = x
        self.y = y
        self.hp = hp
        self.pack = ["torch", "rope"]


class World:
    def __init__(self, size, creatures):
        rng = random.Random(11)
        self.size = size
        self.turn = 0
        self.creatures = [
            Creature(f"c{i}", rng.randrange(size), rng.randrange(size), 20)
            for i in range(creatures)
        ]


def step(world, rng):
    world.turn += 1
    for c in world.creatures:
        c.x = (c.x + rng.choice((-1, 0, 1))) % world.size
        c.y = (c.y + rng.choice((-1, 0, 1))) % world.size
        if c.x == c.y and c.hp > 1:
            c.hp -= 1


def play(turns):
    world = World(60, 250)
    rng = random.Random(5)
    history = []
    for _ in range(turns):
        history.append(copy.deepcopy(world))
        if len(history) > 10:
            history.pop(0)
        step(world, rng)
    return world, history


def main():
    world, history = play(420)
    hp = sum(c.hp for c in world.creatures)
    old = sum(c.x * c.y + c.hp for c in history[0].creatures)
    print(world.turn, hp, old)


if __name__ == "__main__":
    main()
