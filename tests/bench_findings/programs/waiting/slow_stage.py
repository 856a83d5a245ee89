"""Of three stages of a pipeline one is slow. Cured: it is as fast as the others."""

import queue
import sys
import threading
import time

SICK = sys.argv[1] == "sick"
END = -1


def read(out: "queue.Queue[int]") -> None:
    for item in range(20):
        out.put(item)
    out.put(END)


def decode(source: "queue.Queue[int]", out: "queue.Queue[int]") -> None:
    while (item := source.get()) != END:
        if SICK:
            time.sleep(0.03)  # sick
        out.put(item)
    out.put(END)


first: "queue.Queue[int]" = queue.Queue(2)
second: "queue.Queue[int]" = queue.Queue(2)
threading.Thread(target=read, args=(first,)).start()
threading.Thread(target=decode, args=(first, second)).start()
while second.get() != END:
    sum(range(200_000))
sum(range(5_000_000))
