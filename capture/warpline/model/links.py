"""Kinds of links between events: from the one that caused or announced to the one that followed."""

from __future__ import annotations

LAUNCH = "launch"
"""From a call of an API to the GPU work it put on a stream."""
WAKEUP = "wakeup"
"""From what a thread was doing to the waiting of the thread that it woke."""
RELEASE = "release"
"""From the moment a lock was given back, or a condition signalled, to the wait that this ended."""
DATA = "data"
"""From writing into a pipe to the read that waited for it."""
FORWARD_BACKWARD = "forward_backward"
"""From an operator of the forward pass to its derivative's."""
ANNOTATION = "annotation"
"""From a range of the host to the same range as it is felt on a GPU."""
FLOW = "flow"
"""Any other arrow of a trace."""
