/* Reads memory of this process that may change or be unmapped meanwhile, without faulting. */
#ifndef WARPLINE_PYTHON_MEMORY_H
#define WARPLINE_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Set while a thread reads objects that its own frames keep alive: they are read directly. */
extern __thread bool python_reads_own __attribute__((tls_model("initial-exec")));

bool python_read(void *to, uintptr_t from, size_t size);
/* Reads several places, one behind the other, in one call. */
struct python_place {
    uintptr_t from;
    size_t size;
};
bool python_read_places(void *to, const struct python_place *places, int count);
/* The same, but stops at the first place that cannot be read. Returns the bytes read. */
size_t python_read_most(void *to, const struct python_place *places, int count);
/* The same into several buffers; `size` is the sum of their sizes. */
long python_copy(const struct iovec *to, int to_count, const struct iovec *from, int count, size_t size);

/* For the sampling thread: makes its reads cost a third from now on (it reads a hundred times a second with cold
 * caches). It then has its own descriptor table, without the program's, so it must not run Python. */
void python_memory_read_often(void);

#endif
