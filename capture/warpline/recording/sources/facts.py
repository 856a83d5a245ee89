"""Facts that more than one source can tell: who provides one exactly says so, and others then need not estimate it."""

THREAD_STATES = "thread states"
"""When each thread ran, was runnable, was blocked."""
