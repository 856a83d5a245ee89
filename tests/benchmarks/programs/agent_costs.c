/* CPU time of the agent's work, in ns per record: best of several rounds. Linked with the agent's sources.
 * agent_costs nvtx N | cupti N | cupti-file N | clock N | threads COUNT N */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti_internal.h"
#include "spool.h"

int warpline_attach(void);
void warpline_push(const char *name, uint32_t color);
void warpline_pop(void);

#define ROUNDS 7

static double cpu_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void ranges(long n)
{
    for (long i = 0; i < n; i++) {
        warpline_push("a range of usual length", 0);
        warpline_pop();
    }
}

static void clocks(long n)
{
    struct timespec t;
    for (long i = 0; i < n; i++)
        clock_gettime(CLOCK_MONOTONIC, &t);
}

/* CUPTI's part of the iteration is small in the real one (9 ns) and nothing here. */
static size_t stride;
static int next_record(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + stride : buffer;
    if (next >= buffer + valid)
        return CUPTI_MAX_LIMIT_REACHED;
    *record = next;
    return CUPTI_OK;
}

static int callback_name(uint32_t domain, uint32_t id, const char **name)
{
    (void)domain;
    (void)id;
    *name = "cudaLaunchKernel_v7000";
    return CUPTI_OK;
}

static uint8_t *buffer;
static size_t in_buffer;

/* A megabyte of what a training step gives: a call and a kernel in turn, 200 different long names. */
static void fill(void)
{
    stride = 248;
    in_buffer = (1 << 20) / stride;
    buffer = calloc(in_buffer, stride);
    for (size_t i = 0; i < in_buffer; i++) {
        uint8_t *at = buffer + i * stride;
        if (i % 2 == 0) {
            struct activity_api *call = (void *)at;
            call->kind = ACTIVITY_RUNTIME;
            call->function = 211;
            call->correlation = (uint32_t)i;
            continue;
        }
        char name[256];
        struct activity_kernel *kernel = (void *)at;
        snprintf(name, sizeof name,
                 "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_%"
                 "zu_%s",
                 i % 400, "padding as long as the names of templates usually are in frameworks");
        kernel->kind = ACTIVITY_CONCURRENT_KERNEL;
        kernel->name = strdup(name);
        kernel->start = 1000 + i;
        kernel->end = 2000 + i;
        kernel->correlation = (uint32_t)i;
    }
}

static void records(long n, bool is_moving)
{
    static uint64_t now = 1000000000;
    for (long done = 0; done < n; done += (long)in_buffer) {
        for (size_t i = 0; is_moving && i < in_buffer; i++) { /* for a file that looks like a program's */
            uint8_t *at = buffer + i * stride;
            struct activity_api *call = (void *)at;
            struct activity_kernel *kernel = (void *)at;
            if (i % 2 == 0) {
                call->start = now;
                call->end = now += 1000;
                call->correlation = (uint32_t)(done + (long)i + 1);
            } else {
                kernel->start = now;
                kernel->end = now += 3000;
                kernel->correlation = (uint32_t)(done + (long)i);
            }
        }
        cupti_write_records(buffer, in_buffer * stride);
    }
}

static void *run_ranges(void *n)
{
    double began = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    ranges((long)n);
    double *result = malloc(sizeof *result);
    *result = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began) / (2.0 * (double)(long)n);
    return result;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nvtx";
    long n = argc > 2 ? atol(argv[argc - 1]) : 100000;
    if (strcmp(what, "clock") != 0 && !warpline_attach())
        return 1;
    if (strcmp(what, "threads") == 0) {
        int count = atoi(argv[2]);
        pthread_t ids[64];
        double worst = 0;
        for (int i = 0; i < count; i++)
            pthread_create(&ids[i], NULL, run_ranges, (void *)n);
        for (int i = 0; i < count; i++) {
            double *result;
            pthread_join(ids[i], (void **)&result);
            worst = *result > worst ? *result : worst;
        }
        printf("%.1f\n", worst);
        return 0;
    }
    cupti.next_record = next_record;
    cupti.callback_name = callback_name;
    fill();
    if (strcmp(what, "cupti-file") == 0) {
        records(n, true);
        return 0;
    }
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double began = cpu_ns(CLOCK_THREAD_CPUTIME_ID), per;
        if (strcmp(what, "nvtx") == 0) {
            ranges(n / 2);
            per = (double)(n / 2 * 2);
        } else if (strcmp(what, "cupti") == 0) {
            records(n, false);
            per = (double)((n + (long)in_buffer - 1) / (long)in_buffer * (long)in_buffer);
        } else {
            clocks(n);
            per = (double)n;
        }
        double taken = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began) / per;
        best = taken < best ? taken : best;
    }
    printf("%.1f\n", best);
    return 0;
}
