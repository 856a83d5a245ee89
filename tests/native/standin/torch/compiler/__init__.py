"""Never traces of itself; a flag says that it does, which older ones have nowhere that it could be looked at."""

import os

_is_compiling_flag = False
old = {"is": False}
if os.environ.get("OLD_TORCH"):
    del _is_compiling_flag


def is_compiling():
    return old["is"] or globals().get("_is_compiling_flag", False)
