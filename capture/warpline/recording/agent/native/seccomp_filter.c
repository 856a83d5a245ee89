#define _GNU_SOURCE
#include "seccomp_filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From linux/seccomp.h and linux/audit.h, which old systems lack. */
#define ALLOW 0x7fff0000u
#define ERRNO 0x00050000u
#define ACTION 0xffff0000u
#if defined(__x86_64__)
#define ARCHITECTURE 0xc000003eu
#elif defined(__aarch64__)
#define ARCHITECTURE 0xc00000b7u
#else
#define ARCHITECTURE 0u
#endif

struct call_data { /* seccomp(2): struct seccomp_data */
    int32_t number;
    uint32_t architecture;
    uint64_t instruction, arguments[6];
};

struct agent_call {
    int32_t number;
    bool may_fail; /* an error is as good as an answer */
    uint64_t arguments[6];
};

#define THREAD_FLAGS                                                                                   \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#define HERE ((uint64_t)(int64_t)AT_FDCWD)

static const struct agent_call calls[] = {
    {SYS_openat, false, {HERE, 1, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_CREAT | O_EXCL, 0600}},
    {SYS_openat, false, {HERE, 1, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0}},
    {SYS_openat, false, {HERE, 1, O_RDONLY | O_CLOEXEC, 0}},
    {SYS_fallocate, false, {3, 0, 4096, 4096}},
    {SYS_pwrite64, false, {3, 1, 4096, 4096}},
    {SYS_mmap, false, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 4096}},
    {SYS_mmap, false, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0u, 0}},
    {SYS_mprotect, false, {4096, 4096, PROT_READ | PROT_WRITE}},
    {SYS_munmap, false, {4096, 4096}},
    {SYS_madvise, false, {4096, 4096, 23}},
    {SYS_brk, false, {0}},
    {SYS_mremap, false, {4096, 4096, 8192, MREMAP_MAYMOVE}},
    {SYS_close, false, {3}},
    {SYS_read, false, {3, 1, 64}},
    {SYS_fstat, false, {3, 1}},
    {SYS_newfstatat, false, {3, 1, 1, 0x1000}},
    {SYS_readlinkat, false, {HERE, 1, 1, 64}},
#ifdef SYS_readlink
    {SYS_readlink, false, {1, 1, 64}},
#endif
    {SYS_getpid, false, {0}},
    {SYS_getppid, false, {0}},
    {SYS_gettid, false, {0}},
    {SYS_prlimit64, false, {0, 1, 0, 1}},
    {SYS_futex, false, {1, 0, 2}},
    {SYS_futex, false, {1, 129, 1}},
    {SYS_clock_gettime, false, {1, 1}},
    {SYS_clock_nanosleep, false, {0, 0, 1, 0}},
    {SYS_fcntl, false, {3, F_GETFL}},
    {SYS_rt_sigprocmask, false, {2, 1, 1, 8}},
    {SYS_exit, false, {0}},
    {SYS_clone, false, {THREAD_FLAGS, 1, 1, 1, 1}},
    {SYS_getcwd, true, {1, 64}},
    {SYS_getpeername, true, {3, 1, 1}},
    {SYS_getsockname, true, {3, 1, 1}},
    {SYS_prctl, true, {PR_SET_NAME, 1}},
    {SYS_prctl, true, {PR_SET_TIMERSLACK, 1}},
    {SYS_process_vm_readv, true, {1, 1, 1, 1, 1, 0}},
    {SYS_pipe2, true, {1, O_NONBLOCK | O_CLOEXEC}},
    {SYS_writev, true, {3, 1, 1}},
    {SYS_readv, true, {3, 1, 1}},
    {SYS_set_robust_list, true, {1, 24}},
#ifdef SYS_memfd_create
    {SYS_memfd_create, true, {1, 1}},
#endif
    {334, true, {1, 32, 0, 0x53053053}}, /* rseq, x86-64 */
    {435, true, {1, 88}},                /* clone3 */
    {436, true, {0, ~0u, 2}},            /* close_range */
};

/* Runs the filter, as the kernel will (socket filters in classic BPF); 0, which kills, for other instructions than
 * filters of system calls have. */
static uint32_t verdict(const struct sock_fprog *filter, const struct call_data *data)
{
    uint32_t accumulator = 0;
    for (uint32_t at = 0; at < filter->len; at++) {
        const struct sock_filter *step = &filter->filter[at];
        uint32_t jump = 0;
        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (step->k > sizeof *data - 4 || step->k % 4 != 0)
                return 0;
            memcpy(&accumulator, (const char *)data + step->k, 4);
            break;
        case BPF_LD | BPF_IMM: accumulator = step->k; break;
        case BPF_ALU | BPF_AND | BPF_K: accumulator &= step->k; break;
        case BPF_JMP | BPF_JA: jump = step->k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: jump = accumulator == step->k ? step->jt : step->jf; break;
        case BPF_JMP | BPF_JGT | BPF_K: jump = accumulator > step->k ? step->jt : step->jf; break;
        case BPF_JMP | BPF_JGE | BPF_K: jump = accumulator >= step->k ? step->jt : step->jf; break;
        case BPF_JMP | BPF_JSET | BPF_K: jump = accumulator & step->k ? step->jt : step->jf; break;
        case BPF_RET | BPF_K: return step->k;
        default: return 0;
        }
        if (jump >= filter->len - at)
            return 0;
        at += jump;
    }
    return 0;
}

bool filter_allows_agent(const struct sock_fprog *filter)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct call_data data = {.number = calls[i].number, .architecture = ARCHITECTURE};
        memcpy(data.arguments, calls[i].arguments, sizeof data.arguments);
        uint32_t action = verdict(filter, &data) & ACTION;
        if (action != ALLOW && !(calls[i].may_fail && action == ERRNO))
            return false;
    }
    return true;
}
