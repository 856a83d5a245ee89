"""Texts through generators."""

words = (f"{number:x}" for number in range(600_000))
print(sum(len(word) for word in words if word.endswith("f")))
