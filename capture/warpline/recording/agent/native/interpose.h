/* Standing in for functions of the C library. */
#ifndef WARPLINE_INTERPOSE_H
#define WARPLINE_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* An exported function: one of the C library's names, or one of ours. */
#define EXPORT __attribute__((visibility("default")))

/* Functions are looked up before the agent starts threads, in constructors of this priority. */
#define FIRST_CONSTRUCTOR 101

/* Not 0 in the agent's own threads, and while the agent calls functions that it stands in for: then nothing is
 * recorded. */
extern __thread uint32_t wl_quiet __attribute__((tls_model("initial-exec")));

/* Whether this is one of the agent's own threads. */
extern __thread bool wl_is_own_thread __attribute__((tls_model("initial-exec")));

/* The C library's own function behind one of ours. `version` may be NULL. */
void *wl_real(const char *name, const char *version);

/* The same with the type of the function, looked up before the program's first line: a lookup is not allowed in a signal
 * handler, and frees the text that dlerror returned, which the program may be about to print. Constructors of other
 * libraries may call earlier. */
struct real_function {
    const char *name;
    void **known;
};
#define REAL(name)                                                                                                \
    ({                                                                                                            \
        static __typeof__(&name) known;                                                                           \
        static const struct real_function entry = {#name, (void **)(void *)&known};                               \
        static const struct real_function *const place __attribute__((used, section("real_functions"))) = &entry; \
        __typeof__(&name) real = __atomic_load_n(&known, __ATOMIC_RELAXED);                                       \
        if (__builtin_expect(real == NULL, 0)) {                                                                  \
            real = (__typeof__(&name))wl_real(#name, NULL);                                                       \
            __atomic_store_n(&known, real, __ATOMIC_RELAXED);                                                     \
        }                                                                                                         \
        real;                                                                                                     \
    })

#endif
