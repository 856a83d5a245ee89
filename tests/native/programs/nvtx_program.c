/* What a C program may do with NVTX. The first argument says what. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

void plugin_work(void);

static void everything(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    printf("%d ", nvtxRangePushA("outer"));
    printf("%d ", nvtxRangePushW(L"wide \u00fc\u4e2d\U0001f600"));
    printf("%d ", nvtxRangePop());
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "rich";
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff102030;
    event.category = 5;
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 2.5;
    nvtxNameCategoryA(5, "five");
    printf("%d ", nvtxRangePushEx(&event));
    printf("%d ", nvtxRangePop());
    printf("%d ", nvtxRangePop());
    printf("%d\n", nvtxRangePop()); /* one too many */

    event.category = 0;
    event.colorType = 0;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.ullValue = 0;
    event.payload.iValue = -7;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &event);
    plugin_work();
    nvtxDomainRangePop(domain);
    nvtxDomainMarkEx(domain, &event);
    nvtxMarkA("mark");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the main thread");
    nvtxRangeId_t first = nvtxRangeStartA("first"), second = nvtxRangeStartA("second");
    nvtxRangeEnd(first); /* they overlap without nesting */
    nvtxRangeEnd(second);
    fflush(stdout);
}

static void *many(void *count)
{
    for (long i = 0; i < (long)count; i++) {
        nvtxRangePushA("outer");
        nvtxRangePushA("inner");
        nvtxRangePop();
        nvtxRangePop();
    }
    return NULL;
}

static void threads(long n, long count)
{
    pthread_t ids[64];
    for (long i = 0; i < n; i++)
        pthread_create(&ids[i], NULL, many, (void *)count);
    for (long i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
}

/* Obeys lines on stdin: "push NAME", "pop", "mark NAME"; answers each. */
static void converse(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "push ", 5) == 0)
            nvtxRangePushA(line + 5);
        else if (strcmp(line, "pop") == 0)
            nvtxRangePop();
        else if (strncmp(line, "mark ", 5) == 0)
            nvtxMarkA(line + 5);
        puts("ok");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "everything";
    long n = argc > 2 ? atol(argv[2]) : 1, count = argc > 3 ? atol(argv[3]) : 1;
    if (strcmp(what, "everything") == 0) {
        everything();
    } else if (strcmp(what, "threads") == 0) {
        threads(n, count);
    } else if (strcmp(what, "one-after-the-other") == 0) {
        for (long i = 0; i < n; i++)
            threads(1, count);
    } else if (strcmp(what, "converse") == 0) {
        converse();
    } else if (strcmp(what, "die") == 0) { /* kill -9 itself, a range open */
        many((void *)n);
        nvtxRangePushA("never ends");
        kill(getpid(), SIGKILL);
    } else if (strcmp(what, "fork") == 0) {
        everything();
        nvtxRangePushA("across the fork");
        pid_t child = fork();
        nvtxRangePop();
        many((void *)3);
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    } else if (strcmp(what, "names") == 0) {
        for (long i = 0; i < n; i++) {
            char name[40];
            snprintf(name, sizeof name, "name %ld", i);
            nvtxRangePushA(name);
            nvtxRangePop();
        }
    } else if (strcmp(what, "strange-names") == 0) {
        char *longest = malloc(100001);
        memset(longest, 'x', 100000);
        longest[100000] = 0;
        nvtxMarkA(longest);
        nvtxMarkA("\xff\xfe not UTF-8");
        nvtxMarkA("");
        nvtxMarkA(NULL);
    } else if (strcmp(what, "errno") == 0) {
        errno = 4711;
        for (long i = 0; i < 200000; i++) {
            nvtxRangePushA("errno");
            nvtxRangePop();
        }
        printf("%d\n", errno);
    }
    return 0;
}
