"""Tables of two kernels as Nsight Compute prints them."""

from __future__ import annotations

PLACES = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",'
)
PLACES += '"Device","CC"'
FIRST = '"0","71","train","host","gemm(float*, int)","1","7","(256, 1, 1)","(16, 2, 1)","0","9.0"'
SECOND = '"1","71","train","host","relu(float*)","1","7","(128, 1, 1)","(4, 1, 1)","0","9.0"'
NCU_RAW = "\n".join(
    (
        "==PROF== Connected to process 71 (/bin/train)",
        f'{PLACES},"gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","launch__registers_per_thread"',
        '"","","","","","","","","","","","usecond","%","register/thread"',
        f'{FIRST},"1,002.5","42.5","64"',
        f'{SECOND},"2.5","3","16"',
    )
)
NCU_LONG = "\n".join(
    (
        f'{PLACES},"Section Name","Metric Name","Metric Unit","Metric Value"',
        f'{FIRST},"GPU Speed Of Light Throughput","Duration","us","1,002.5"',
        f'{FIRST},"Launch Statistics","launch__registers_per_thread","register/thread","64"',
        f'{SECOND},"GPU Speed Of Light Throughput","Duration","ns","2,500"',
    )
)
