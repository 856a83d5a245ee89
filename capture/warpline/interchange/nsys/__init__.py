"""Imports exports of NVIDIA Nsight Systems: `tables` reads files, the other modules convert one subject each."""
