/* Enters a sandbox that forbids every system call which the program itself does not make, and works inside: prints what
 * it did, and the numbers of forbidden calls. The first argument says what it does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 300

static int nowhere;

static void print(const char *text) { syscall(SYS_write, 1, text, strlen(text)); }

static void on_forbidden(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    char text[] = "forbidden 000\n";
    for (int digit = 12, rest = info->si_syscall; digit > 9; digit--, rest /= 10)
        text[digit] = (char)('0' + rest % 10);
    print(text);
}

static void enter(const int *allowed, int count, unsigned otherwise, int flags)
{
    struct sock_filter steps[2 * 32 + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short at = 1;
    unsigned on_match = otherwise == SECCOMP_RET_ALLOW ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
    for (int i = 0; i < count; i++) {
        steps[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, on_match);
    }
    steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog filter = {at, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long result = flags == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                             : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    if (result != 0)
        exit(9);
}

static void *work(void *unused)
{
    for (int i = 0; i < CALLS; i++)
        if (write(nowhere, "x", 1) != 1)
            print("not written\n");
    return unused;
}

static void work_in_threads(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void work_in_child(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        fprintf(stderr, "child\n");
        _exit(3);
    }
    waitpid(child, &status, 0);
    print(WEXITSTATUS(status) == 3 ? "child ended\n" : "child was ended\n");
}

static void *rest_until_ended(void *unused)
{
    pause();
    return unused;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "calls";
    int everything[] = {
        SYS_write,       SYS_exit_group,      SYS_rt_sigreturn, SYS_exit,       SYS_futex,        SYS_mmap,
        SYS_mprotect,    SYS_munmap,          SYS_madvise,      SYS_clone,      435 /* clone3 */, SYS_rt_sigprocmask,
        334 /* rseq */,  SYS_set_robust_list, SYS_wait4,        SYS_newfstatat, SYS_pause,        SYS_brk,
        SYS_sched_yield,
#ifdef SYS_fork
        SYS_fork
#endif
    };
    int most = (int)(sizeof everything / sizeof *everything);
    struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
    nowhere = open("/dev/null", O_WRONLY);
    if (strcmp(what, "calls") == 0) {
        enter(everything, 4, SECCOMP_RET_TRAP, 0);
        work(NULL);
    } else if (strcmp(what, "many") == 0) {
        enter(everything, 4, SECCOMP_RET_TRAP, 0);
        for (int i = 0; i < 400; i++)
            work(NULL);
    } else if (strcmp(what, "threads") == 0) {
        pthread_t before;
        pthread_create(&before, NULL, rest_until_ended, NULL);
        enter(everything, most, SECCOMP_RET_TRAP, SECCOMP_FILTER_FLAG_TSYNC);
        work_in_threads();
    } else if (strcmp(what, "fork") == 0) {
        enter(everything, most, SECCOMP_RET_TRAP, 0);
        work_in_child();
    } else if (strcmp(what, "exec") == 0) {
        int forbidden[] = {SYS_fallocate, SYS_pwrite64, SYS_getppid};
        enter(forbidden, 2, SECCOMP_RET_ALLOW, 0);
        execl(words[0], words[0], "executed", NULL);
    } else if (strcmp(what, "executed") == 0) {
        work(NULL);
    } else if (strcmp(what, "lenient") == 0) {
        int forbidden[] = {SYS_acct, SYS_swapon};
        enter(forbidden, 2, SECCOMP_RET_ALLOW, 0);
        work_in_child();
    } else if (strcmp(what, "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        work(NULL);
        print("done\n");
        syscall(SYS_exit, 4);
    }
    print("done\n");
    syscall(SYS_exit_group, 4);
}
