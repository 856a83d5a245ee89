"""The engine, and the two ways to it."""

import time


def _engine_run_backward(seconds):
    time.sleep(seconds)


def backward(seconds):
    _engine_run_backward(seconds)
