"""Replace the account names in an access log by a placeholder."""
import random
import re


def make_log(n):
    rng = random.Random(3)
    verbs = ["GET", "POST", "PUT"]
    for i in range(n):
        user = f"user.{rng.randrange(10**6):06d}"
        path = f"/home/{user}/files/{rng.randrange(999)}"
        yield user, f"{i:06d} {rng.choice(verbs)} {path} by {user} 200 {rng.randrange(9999)}"


WORD = re.compile(r"[\w.]+")


def redact(line, user):
    return WORD.sub(lambda m: "<user>" if m[0].lower() == user else m[0], line)


def main():
    size = 0
    hits = 0
    for user, line in make_log(16000):
        clean = redact(line, user)
        hits += clean.count("<user>")
        size += len(clean)
    print(hits, size)


if __name__ == "__main__":
    main()
