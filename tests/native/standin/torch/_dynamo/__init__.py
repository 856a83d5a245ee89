"""Compiles nothing."""
