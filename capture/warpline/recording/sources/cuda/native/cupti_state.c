/* The state of the source "cuda": what CUPTI answered, and what to do about it. */
#include <stdio.h>

#include "cupti_internal.h"
#include "spool.h"

const char *cupti_result_text(int result, char *buffer, size_t size)
{
    const char *text = NULL;
    if (cupti.result_string(result, &text) != CUPTI_OK || text == NULL) /* some versions succeed and leave NULL */
        text = "unknown";
    snprintf(buffer, size, "%s (%d)", text, result);
    return buffer;
}

const char *cupti_remedy_of(int result)
{
    switch (result) {
    case CUPTI_MULTIPLE_SUBSCRIBERS:
        return "another profiler is attached to this program (nsys, ncu, cuda-gdb, compute-sanitizer, "
               "torch.profiler): run it without that one";
    case CUPTI_INSUFFICIENT_PRIVILEGES:
    case CUPTI_VIRTUALIZED_PRIVILEGES:
        return "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or record as root or with CAP_SYS_ADMIN";
    case CUPTI_NOT_COMPATIBLE:
        return "the program uses CUPTI's other family of functions: end its own profiler, or install a driver and an "
               "nvidia-cuda-cupti of CUDA 13.3 or newer, which serve several profilers";
    case CUPTI_CONFIDENTIAL_COMPUTING:
        return "the GPU is in confidential-computing mode, where NVIDIA allows no tracing: record on a GPU without it";
    case CUPTI_MINING_GPU:
    case CUPTI_SLI:
    case CUPTI_WSL: return "CUPTI does not support this kind of GPU or system: record on another one";
    case CUPTI_MIG:
        return "this driver does not allow tracing on a part of a GPU (MIG): install a newer driver, or record on a "
               "whole GPU";
    case CUPTI_NOT_INITIALIZED:
    case CUPTI_UNKNOWN:
        return "the driver may be older than this libcupti: install the nvidia-cuda-cupti package of the driver's "
               "CUDA version, or name another libcupti in WARPLINE_LIBCUPTI";
    default: return "name another libcupti in WARPLINE_LIBCUPTI";
    }
}

void cupti_set_state(bool is_on, const char *reason, const char *remedy)
{
    wl_write_source_state("cuda", is_on, reason, remedy, cupti_dropped());
}

void cupti_refuse(const char *what, int result)
{
    char text[160], reason[256];
    snprintf(reason, sizeof reason, "%s: %s", what, cupti_result_text(result, text, sizeof text));
    cupti_set_state(false, reason, cupti_remedy_of(result));
}
