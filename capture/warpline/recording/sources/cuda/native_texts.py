"""Texts about CUDA in the agent's C code, repeated here for the translators."""

from __future__ import annotations

from warpline.i18n import english

REASONS = (
    english("libcupti does not start"),
    english("libcupti was not found ({why})"),
    english("libcupti has no {symbol}"),
    english("this libcupti is too old (API version {number}; CUDA 11.8 or newer is needed)"),
    english("CUPTI refused the subscription"),
    english("CUPTI refused the buffers"),
    english("activity kind {number}"),
    english(
        "another profiler was recording when Warpline began: it got no GPU records from then on, and when it ended, "
        "up to 0.25 s of GPU work may have been missed"
    ),
    english("when the recording ended, CUDA was not initialised: cuInit had failed or not returned"),
    english("{count} CUDA calls that only ask for state were left out"),
    english("{count} buffers could not be read to their end"),
    english("{count} records did not reach the program's own profiler, which gave no buffer"),
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
    english(
        "the program uses CUPTI's other family of functions: end its own profiler, or install a driver and an "
        "nvidia-cuda-cupti of CUDA 13.3 or newer, which serve several profilers"
    ),
    english(
        "the GPU is in confidential-computing mode, where NVIDIA allows no tracing: record on a GPU without it"
    ),
    english("CUPTI does not support this kind of GPU or system: record on another one"),
    english(
        "this driver does not allow tracing on a part of a GPU (MIG): install a newer driver, or record on a whole GPU"
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
