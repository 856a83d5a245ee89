"""A desk with many clerks: tickets arrive one by one and any clerk may take one."""
import collections
import threading

CLERKS = 120
TICKETS = 2200


class Desk:
    def __init__(self):
        self.tickets = collections.deque()
        self.changed = threading.Condition()
        self.served = 0
        self.answers = threading.Semaphore(0)

    def arrive(self, ticket):
        with self.changed:
            self.tickets.append(ticket)
            self.changed.notify_all()

    def clerk(self):
        while True:
            with self.changed:
                while not self.tickets:
                    self.changed.wait()
                ticket = self.tickets.popleft()
                if ticket is None:
                    return
                self.served += ticket
            self.answers.release()


def main():
    desk = Desk()
    clerks = [threading.Thread(target=desk.clerk) for _ in range(CLERKS)]
    for clerk in clerks:
        clerk.start()
    for ticket in range(TICKETS):
        desk.arrive(ticket)
        desk.answers.acquire()
    for _ in clerks:
        desk.arrive(None)
    for clerk in clerks:
        clerk.join()
    print(desk.served)


if __name__ == "__main__":
    main()
