"""Texts about CUDA in the agent's C code, repeated here for the translators."""

from __future__ import annotations

from warpline.i18n import english

REASONS = (
    english("libcupti does not start"),
    english("libcupti was not found ({why})"),
    english("libcupti has no {symbol}"),
    english("this libcupti is too old (API version {number}; CUDA 12 or newer is needed)"),
    english("CUPTI refused the subscription"),
    english("CUPTI refused the buffers"),
    english("activity kind {number}"),
    english("{count} CUDA calls that only ask for state were left out"),
    english("{count} buffers could not be read to their end"),
)
REMEDIES = (
    english(
        "another profiler is attached to this program (nsys, ncu, cuda-gdb, compute-sanitizer, torch.profiler): "
        "run it without that one"
    ),
    english(
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or record as root or with CAP_SYS_ADMIN"
    ),
    english(
        "the driver may be older than this libcupti: install the nvidia-cuda-cupti package of the driver's CUDA "
        "version, or name another libcupti in WARPLINE_LIBCUPTI"
    ),
    english("name another libcupti in WARPLINE_LIBCUPTI"),
    english("name a newer libcupti in WARPLINE_LIBCUPTI"),
    english(
        "install the nvidia-cuda-cupti package (nvidia-cuda-cupti-cu12 for CUDA 12) beside the program, or name a "
        "libcupti in WARPLINE_LIBCUPTI"
    ),
)
TEXTS = (*REASONS, *REMEDIES)
"""All texts, with fields in place of C's conversions."""
