"""Helper processes wait in a busy loop and take the cores. Cured: they are woken."""

import multiprocessing
import sys

SICK = sys.argv[1] == "sick"


def spin() -> None:
    while not end.value:
        sum(range(20_000))  # sick


def sleep() -> None:
    woken.wait()


context = multiprocessing.get_context("fork")
end, woken = context.Value("b", 0, lock=False), context.Event()
helpers = [context.Process(target=spin if SICK else sleep) for _ in range(6)]
for helper in helpers:
    helper.start()
for _ in range(30):
    sum(range(400_000))
end.value = 1
woken.set()
for helper in helpers:
    helper.join()
