"""SQL over the columns of captures, in a process of its own with limits on memory and time."""
