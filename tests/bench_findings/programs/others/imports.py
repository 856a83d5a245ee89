"""Imports what it hardly uses. Cured: it does not."""

import importlib
import sys

SICK = sys.argv[1] == "sick"
MODULES = (
    "asyncio doctest email.mime.text http.server pydoc sqlite3 unittest.mock xml.dom.minidom xmlrpc.client"
)
for name in MODULES.split() if SICK else ():
    importlib.import_module(name)  # sick
sum(range(3_000_000))
