"""What would show that a finding is wrong, by its identifier."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from warpline.analysis.findings.finding import Finding
from warpline.i18n import english

REFUTATIONS: Mapping[str, str] = MappingProxyType(
    {
        "data_loading": english("Refuted if the steps stay as long with data that is already in memory."),
        "gpu_data_loading": english("Refuted if the steps stay as long with data that is already in memory."),
        "gpu_copies": english("Refuted if the steps stay as long without these copies."),
        "gpu_copies_pageable": english("Refuted if copies from pinned memory take as long."),
        "operators": english("Refuted if the same operators on smaller inputs take as long."),
        "between_operators": english("Refuted if thread states show that the thread waits there."),
        "ranges": english(
            "Refuted if sampled stacks show that the time passes in something the range waits for."
        ),
        "between_ranges": english("Refuted if thread states show that the thread waits there."),
        "asynchronous_requests": english("Refuted if each request needs the result of the one before."),
        "gpu_host": english("Refuted if the GPU still idles when the CPU launches ahead of it."),
        "gpu_launch_bound": english("Refuted if the same work as a CUDA graph takes as long."),
        "gpu_launch_latency": english("Refuted if an idle GPU also starts launched work this late."),
        "gpu_synchronization": english("Refuted if removing the calls only moves the wait to a later call."),
        "gpu_page_migrations": english("Refuted if the kernels take as long with prefetched pages."),
        "gpu_allocation": english("Refuted if the steps stay as long with memory allocated beforehand."),
        "gpu_compilation": english("Refuted if a second run of the same process part takes as long."),
        "imports": english("Refuted if python -X importtime shows a shorter time for these modules."),
        "garbage": english("Refuted if the range takes as long after gc.freeze() and gc.disable()."),
        "waits_for_lock": english("Refuted if the waits remain when the holder does nothing under the lock."),
        "waits_for_semaphore": english(
            "Refuted if the program is as slow when the semaphore lets everyone in."
        ),
        "waits_for_thread_start": english(
            "Refuted if the same number of threads starts as slowly before the range."
        ),
        "blocks_event_loop": english("Refuted if the loop has no other task to run meanwhile."),
        "small_pool": english("Refuted if twice as many workers take as long for the same tasks."),
        "stragglers": english(
            "Refuted if no task of the next batch may start before the last one has ended."
        ),
        "small_queue": english("Refuted if the program takes as long with a queue without a limit."),
        "copied_work": english(
            "Refuted if the program takes as long when it hands over indices instead of data."
        ),
        "thread_per_item": english("Refuted if a few lasting threads take as long for the same items."),
        "process_per_item": english("Refuted if a few lasting processes take as long for the same items."),
        "connection_per_request": english("Refuted if the peer allows only one request for each connection."),
        "rewritten_file": english("Refuted if the program takes as long when it writes the file once."),
        "manager_calls": english(
            "Refuted if the program takes as long when each process keeps its own results."
        ),
        "serial_requests": english("Refuted if each request needs the reply to the one before."),
        "vain_wake_ups": english("Refuted if the program takes as long when each item wakes one thread."),
        "waits_for_gil": english("Refuted if processes instead of threads are no faster."),
        "waits_for_core": english("Refuted if the program takes as long on a machine with more free cores."),
        "too_many_threads": english("Refuted if the program takes as long with one thread for each core."),
        "kept_graphs": english("Refuted if memory grows as much when losses are detached."),
        "few_cores": english("Refuted if the program takes as long when it may use all cores."),
        "migrations": english("Refuted if the program takes as long when it is bound to one core."),
        "waits_for_sleep": english("Refuted if what the sleep waits for needs that time anyway."),
        "late_at_barrier": english("Refuted if another thread is as late once this one is on time."),
        "slow_stage": english("Refuted if the pipeline stays as slow when this stage does nothing."),
        "one_at_a_time": english("Refuted if each task needs the result of the one before."),
        "uneven_workers": english("Refuted if the last worker's work cannot be divided."),
        "waits_for_work": english("Refuted if the program has nothing else to do meanwhile."),
        "waits_for_timeout": english("Refuted if each item needs the result of the one before."),
        "reads_until_timeout": english("Refuted if more data can still arrive before the timeout."),
        "waits_for_condition": english("Refuted if the signalling thread cannot signal earlier."),
        "waits_for_join": english("Refuted if the thread that ends cannot do less."),
        "waits_for_barrier": english("Refuted if all threads arrive at the same time."),
        "page_faults": english("Refuted if the range takes as long with buffers that are reused."),
        "page_faults_disk": english("Refuted if a second run, with all files in memory, takes as long."),
        "waits_for_file": english("Refuted if the program takes as long with its files in /dev/shm."),
        "waits_for_pipe": english("Refuted if the other end of the pipe has nothing to deliver earlier."),
        "waits_for_network": english("Refuted if the peer answers as late to a single request."),
        "waits_for_poll": english("Refuted if nothing arrives meanwhile: an idle server is healthy."),
        "waits_for_child": english("Refuted if the child processes take as long when they run side by side."),
        "waits_for_signal": english("Refuted if the program has nothing to do until the signal."),
        "waits_for_terminal": english("Refuted if the program waits for a person."),
        "waits_for_blocked": english("Refuted if a recording with --trace osrt shows what is waited for."),
        "delayed_acknowledgement": english("Refuted if answers are as late with TCP_NODELAY."),
        "slow_lookup": english("Refuted if the same lookup is as slow with the address in the hosts file."),
        "repeated_lookups": english(
            "Refuted if the program takes as long with an address instead of the name."
        ),
        "empty_polls": english("Refuted if the program has something to do at each timeout."),
        "gpu_kernels": english("Refuted if another configuration of the same kernels is no faster."),
        "gpu_tensor_cores": english("Refuted if sizes that are multiples of 8 are no faster."),
        "gpu_unaligned": english("Refuted if the padded product takes as long."),
        "gpu_autotuning": english("Refuted if cuDNN chooses the same algorithms with benchmark = True."),
        "gpu_compute_bound": english("Refuted if the kernels take as long with half of the FLOPs."),
        "gpu_memory_bound": english("Refuted if the kernels take as long with half of the bytes."),
        "gpu_small_kernels": english("Refuted if larger inputs take proportionally longer."),
        "gpu_layout": english("Refuted if the model is as slow in a single memory layout."),
        "gpu_attention": english("Refuted if a fused attention kernel is no faster for these sizes."),
        "gpu_elementwise": english("Refuted if fusing these kernels moves as many bytes."),
        "gpu_few_blocks": english("Refuted if larger inputs take proportionally longer."),
        "gpu_occupancy": english(
            "Refuted if the kernel is as slow with fewer registers or less shared memory."
        ),
        "gpu_clock": english("Refuted if the clock is as low in a run that starts on a cool, idle GPU."),
        "gpu_stream": english("Refuted if an event on the stream shows that the work had to wait."),
        "gpu_serial_streams": english("Refuted if the work on the streams depends on each other."),
        "gpu_no_launch": english("Refuted if a recording of the launches shows that they were in time."),
        "gpu_communication": english("Refuted if the steps stay as long without the collectives."),
        "late_peer": english("Refuted if the traces of all peers show that they arrived at the same time."),
        "late_rank": english("Refuted if another rank is late in a second run on the same hosts."),
        "late_ranks": english("Refuted if all ranks arrive together in a second run."),
        "slow_steps": english("Refuted if other steps are slow in a second run."),
        "drift": english("Refuted if a longer recording does not drift."),
        "first_steps": english("Refuted if the first steps are not slower in a second run."),
        "program_failed": english("Refuted if the program is meant to end with that status."),
        "outside_steps": english("Refuted if longer runs spend as large a share outside the steps."),
        "cold_cache": english("Refuted if a second run, with all files in memory, takes as long."),
    }
)
_ANY = english("Refuted if the range takes as long after the remedy, recorded the same way.")


def refutation(finding: Finding) -> str:
    """What would show that a finding is wrong, as a stored text."""
    return finding.refutation or REFUTATIONS.get(finding.id, _ANY)
