"""The tools, a module for each subject."""
