"""Names of CUDA's and CUPTI's numbers."""

from __future__ import annotations

import re

COPY_NAMES = (
    "Memcpy",
    "Memcpy HtoD",
    "Memcpy DtoH",
    "Memcpy HtoA",
    "Memcpy AtoH",
    "Memcpy AtoA",
    "Memcpy AtoD",
    "Memcpy DtoA",
    "Memcpy DtoD",
    "Memcpy HtoH",
    "Memcpy PtoP",
)
"""By CUpti_ActivityMemcpyKind."""

SYNC_NAMES = (
    "Synchronize",
    "Event synchronize",
    "Stream wait event",
    "Stream synchronize",
    "Context synchronize",
)
"""By CUpti_ActivitySynchronizationType."""

OVERHEAD_NAMES = {
    1: "Driver compiler",
    1 << 16: "CUPTI buffer flush",
    2 << 16: "CUPTI instrumentation",
    3 << 16: "CUPTI resource",
    4 << 16: "Module loading",
    5 << 16: "Lazy function loading",
    6 << 16: "Command buffer full",
    7 << 16: "CUPTI buffer request",
    8 << 16: "UVM activity start",
}
"""By CUpti_ActivityOverheadKind."""

# The numbers of cudaError and CUresult that calls of running programs return. Most are equal in both.
_RUNTIME_RESULTS = {
    0: "cudaSuccess",
    1: "cudaErrorInvalidValue",
    2: "cudaErrorMemoryAllocation",
    3: "cudaErrorInitializationError",
    4: "cudaErrorCudartUnloading",
    9: "cudaErrorInvalidConfiguration",
    11: "cudaErrorInvalidPitchValue",
    12: "cudaErrorInvalidSymbol",
    17: "cudaErrorInvalidDevicePointer",
    21: "cudaErrorInvalidMemcpyDirection",
    35: "cudaErrorInsufficientDriver",
    46: "cudaErrorDevicesUnavailable",
    98: "cudaErrorInvalidDeviceFunction",
    100: "cudaErrorNoDevice",
    101: "cudaErrorInvalidDevice",
    200: "cudaErrorInvalidKernelImage",
    201: "cudaErrorDeviceUninitialized",
    209: "cudaErrorNoKernelImageForDevice",
    214: "cudaErrorECCUncorrectable",
    217: "cudaErrorPeerAccessUnsupported",
    218: "cudaErrorInvalidPtx",
    222: "cudaErrorUnsupportedPtxVersion",
    300: "cudaErrorInvalidSource",
    301: "cudaErrorFileNotFound",
    303: "cudaErrorSharedObjectInitFailed",
    304: "cudaErrorOperatingSystem",
    400: "cudaErrorInvalidResourceHandle",
    401: "cudaErrorIllegalState",
    500: "cudaErrorSymbolNotFound",
    600: "cudaErrorNotReady",
    700: "cudaErrorIllegalAddress",
    701: "cudaErrorLaunchOutOfResources",
    702: "cudaErrorLaunchTimeout",
    704: "cudaErrorPeerAccessAlreadyEnabled",
    705: "cudaErrorPeerAccessNotEnabled",
    708: "cudaErrorSetOnActiveProcess",
    709: "cudaErrorContextIsDestroyed",
    710: "cudaErrorAssert",
    712: "cudaErrorHostMemoryAlreadyRegistered",
    713: "cudaErrorHostMemoryNotRegistered",
    714: "cudaErrorHardwareStackError",
    715: "cudaErrorIllegalInstruction",
    716: "cudaErrorMisalignedAddress",
    717: "cudaErrorInvalidAddressSpace",
    718: "cudaErrorInvalidPc",
    719: "cudaErrorLaunchFailure",
    720: "cudaErrorCooperativeLaunchTooLarge",
    800: "cudaErrorNotPermitted",
    801: "cudaErrorNotSupported",
    802: "cudaErrorSystemNotReady",
    803: "cudaErrorSystemDriverMismatch",
    804: "cudaErrorCompatNotSupportedOnDevice",
    900: "cudaErrorStreamCaptureUnsupported",
    901: "cudaErrorStreamCaptureInvalidated",
    902: "cudaErrorStreamCaptureMerge",
    903: "cudaErrorStreamCaptureUnmatched",
    904: "cudaErrorStreamCaptureUnjoined",
    905: "cudaErrorStreamCaptureIsolation",
    906: "cudaErrorStreamCaptureImplicit",
    907: "cudaErrorCapturedEvent",
    908: "cudaErrorStreamCaptureWrongThread",
    909: "cudaErrorTimeout",
    910: "cudaErrorGraphExecUpdateFailure",
    911: "cudaErrorExternalDevice",
    999: "cudaErrorUnknown",
}
_DRIVER_RESULTS = {
    0: "CUDA_SUCCESS",
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    4: "CUDA_ERROR_DEINITIALIZED",
    46: "CUDA_ERROR_DEVICE_UNAVAILABLE",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    200: "CUDA_ERROR_INVALID_IMAGE",
    201: "CUDA_ERROR_INVALID_CONTEXT",
    209: "CUDA_ERROR_NO_BINARY_FOR_GPU",
    214: "CUDA_ERROR_ECC_UNCORRECTABLE",
    217: "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
    218: "CUDA_ERROR_INVALID_PTX",
    222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    300: "CUDA_ERROR_INVALID_SOURCE",
    301: "CUDA_ERROR_FILE_NOT_FOUND",
    304: "CUDA_ERROR_OPERATING_SYSTEM",
    400: "CUDA_ERROR_INVALID_HANDLE",
    401: "CUDA_ERROR_ILLEGAL_STATE",
    500: "CUDA_ERROR_NOT_FOUND",
    600: "CUDA_ERROR_NOT_READY",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS",
    701: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    702: "CUDA_ERROR_LAUNCH_TIMEOUT",
    704: "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
    705: "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
    708: "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
    709: "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    710: "CUDA_ERROR_ASSERT",
    712: "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
    713: "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
    714: "CUDA_ERROR_HARDWARE_STACK_ERROR",
    715: "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    716: "CUDA_ERROR_MISALIGNED_ADDRESS",
    717: "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    718: "CUDA_ERROR_INVALID_PC",
    719: "CUDA_ERROR_LAUNCH_FAILED",
    720: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    800: "CUDA_ERROR_NOT_PERMITTED",
    801: "CUDA_ERROR_NOT_SUPPORTED",
    900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    901: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    906: "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
    999: "CUDA_ERROR_UNKNOWN",
}
_RUNTIME_VERSION = re.compile(r"_v\d{4,}$")


def result_name(is_driver: bool, result: int) -> str:
    """The name of a call's result; empty for an unknown number."""
    return (_DRIVER_RESULTS if is_driver else _RUNTIME_RESULTS).get(result, "")


def function_name(is_driver: bool, name: str, function: int) -> str:
    """``cudaLaunchKernel_v7000`` → ``cudaLaunchKernel``; a function CUPTI could not name gets its number."""
    if not name or name == "?":
        return f"{'driver' if is_driver else 'runtime'} call {function}"
    return name if is_driver else _RUNTIME_VERSION.sub("", name)


def copy_name(kind: int) -> str:
    """The name of a copy by its direction."""
    return COPY_NAMES[kind] if kind < len(COPY_NAMES) else COPY_NAMES[0]


def overhead_name(kind: int) -> str:
    """The name of a kind of overhead."""
    return OVERHEAD_NAMES.get(kind, f"Overhead {kind}")
