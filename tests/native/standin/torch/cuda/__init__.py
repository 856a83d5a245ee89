"""GPUs that are not there: what their allocator would tell grows by a megabyte whenever it is asked."""

import os

_asked = [0]
kept = [0]
"""What a test says that is allocated."""


def is_available():
    return "FAKE_GPUS" in os.environ


def is_initialized():
    return is_available()


def device_count():
    return int(os.environ.get("FAKE_GPUS", "0"))


def memory_stats(device):
    if device:
        return {}  # nothing was ever allocated there
    _asked[0] += 1
    allocated = _asked[0] << 20
    return {
        "allocated_bytes.all.current": allocated,
        "allocated_bytes.all.peak": 2 * allocated,
        "reserved_bytes.all.current": 64 << 20,
        "reserved_bytes.all.peak": 64 << 20,
    }


def current_device():
    return 0


def memory_allocated(device):
    return kept[device]
