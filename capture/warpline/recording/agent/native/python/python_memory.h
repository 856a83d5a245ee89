/* Memory of this process that may change or go away while it is read: reading it never faults. */
#ifndef WARPLINE_PYTHON_MEMORY_H
#define WARPLINE_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Set while a thread reads what its own frames stand on: that cannot go away meanwhile, and is read as it lies. */
extern __thread bool python_reads_own __attribute__((tls_model("initial-exec")));

bool python_read(void *to, uintptr_t from, size_t size);
/* The same of several places at once, into one after the other. */
struct python_place {
    uintptr_t from;
    size_t size;
};
bool python_read_places(void *to, const struct python_place *places, int count);
/* The same of places of which later ones may lead nowhere: bytes up to the first that does. */
size_t python_read_most(void *to, const struct python_place *places, int count);
/* The same into several places; `size` is that of all parts. */
long python_copy(const struct iovec *to, int to_count, const struct iovec *from, int count, size_t size);

/* For the thread that samples, which reads a hundred times a second and finds its caches cold each time: a third of the
 * cost from then on. The thread has descriptors of its own afterwards, none of the program's: it must run no Python. */
void python_memory_read_often(void);

#endif
