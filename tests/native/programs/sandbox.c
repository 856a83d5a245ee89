/* Enters a sandbox that forbids every system call which the program itself does not make, and works inside: prints what
 * it did, and the numbers of forbidden calls. The first argument says what it does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
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

static struct sock_filter without_end = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));

/* The kernel refuses this filter, which lacks an end. */
static void be_refused(int flags)
{
    struct sock_fprog filter = {1, &without_end};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter) != -1)
        print("not refused\n");
}

static _Atomic int is_alone;

static void *enter_alone(void *unused)
{
    int forbidden[] = {SYS_acct};
    enter(forbidden, 1, SECCOMP_RET_ALLOW, 0);
    is_alone = 1;
    pause();
    return unused;
}

/* The kernel refuses this filter for all threads, because one has another filter; it returns the id of that thread. */
static void be_refused_for_all(void)
{
    pthread_t other;
    struct sock_filter strict = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog filter = {1, &strict};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    pthread_create(&other, NULL, enter_alone, NULL);
    while (!is_alone)
        sched_yield();
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) <= 0)
        print("not refused for all\n");
}

static void run_other(const char *program)
{
    int status = 1;
    pid_t child = vfork();
    if (child == 0) {
        be_refused(0);
        execl(program, program, "executed", NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
}

static void *write_once(void *unused)
{
    if (write(nowhere, "x", 1) != 1)
        print("not written\n");
    return unused;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "calls";
    int everything[] = {
        SYS_write,
        SYS_exit_group,
        SYS_rt_sigreturn,
        SYS_exit,
        SYS_futex,
        SYS_mmap,
        SYS_mprotect,
        SYS_munmap,
        SYS_madvise,
        SYS_clone,
        435 /* clone3 */,
        SYS_rt_sigprocmask,
        334 /* rseq */,
        SYS_set_robust_list,
        SYS_wait4,
        SYS_newfstatat,
        SYS_pause,
        SYS_brk,
        SYS_sched_yield,
#ifdef SYS_fork
        SYS_fork,
#endif
        -1, /* room for one more */
    };
    int most = (int)(sizeof everything / sizeof *everything) - 1;
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
    } else if (strcmp(what, "refused") == 0) {
        for (int i = 0; i < 3; i++) {
            be_refused(i % 2 ? SECCOMP_FILTER_FLAG_TSYNC : 0);
            work_in_threads();
        }
        be_refused_for_all();
        run_other(words[0]);
        for (int i = 0; i < 400; i++)
            work(NULL);
    } else if (strcmp(what, "successive") == 0) {
        char letter;
        everything[most++] = SYS_read;
        pthread_t thread;
        pthread_create(&thread, NULL, write_once, NULL);
        pthread_join(thread, NULL);
        enter(everything, most, SECCOMP_RET_TRAP, 0);
        for (int i = 0; i < 3000; i++) {
            pthread_create(&thread, NULL, write_once, NULL);
            pthread_join(thread, NULL);
        }
        print("ready\n");
        if (read(0, &letter, 1) != 1)
            print("not told\n");
        work_in_threads();
    } else if (strcmp(what, "waits") == 0) {
        char letter;
        everything[most++] = SYS_read;
        enter(everything, most, SECCOMP_RET_TRAP, 0);
        work_in_child();
        if (read(0, &letter, 1) != 1)
            print("not told\n");
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
