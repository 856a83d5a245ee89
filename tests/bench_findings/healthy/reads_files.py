"""Reads and parses files that are in memory."""

import json
import tempfile

with tempfile.NamedTemporaryFile("w+") as file:
    json.dump(list(range(200_000)), file)
    for _ in range(12):
        file.seek(0)
        json.load(file)
