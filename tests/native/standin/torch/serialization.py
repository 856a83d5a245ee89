"""Files."""

import time


def save(seconds):
    time.sleep(seconds)


def load(seconds):
    time.sleep(seconds)
