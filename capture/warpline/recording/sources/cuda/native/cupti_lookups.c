/* Stands in for dlsym and dlvsym, so that a program that looks CUPTI's functions up gets those that stand in for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>

#include "cupti_internal.h"
#include "interpose.h"
#include "spool.h"

typedef void *(*lookup_function)(void *handle, const char *name);
typedef void *(*versioned_lookup_function)(void *handle, const char *name, const char *version);

/* The next definitions: since glibc 2.34 in libc, before in libdl. Read by the assembly below. */
lookup_function cupti_next_dlsym __attribute__((visibility("hidden")));
versioned_lookup_function cupti_next_dlvsym __attribute__((visibility("hidden")));

/* Sanitizers look functions up before they are ready for instrumented code, or for functions that they replace. */
#define BEFORE_SANITIZERS __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))

BEFORE_SANITIZERS static bool is_equal(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (*a == '\0')
            return true;
    return false;
}

BEFORE_SANITIZERS static bool begins_with(const char *text, const char *beginning)
{
    for (; *beginning != '\0'; text++, beginning++)
        if (*text != *beginning)
            return false;
    return true;
}

/* A function of a loaded library, by the hash table of its symbols (System V ABI, as extended by GNU): the one way to find
 * dlvsym without it. */
BEFORE_SANITIZERS static void *symbol_of(const struct link_map *library, const char *name)
{
    const uint32_t *table = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) address = entry->d_un.d_ptr;
        if (address < library->l_addr) /* the loader makes most of them absolute */
            address += library->l_addr;
        if (entry->d_tag == DT_GNU_HASH)
            table = (const uint32_t *)address;
        else if (entry->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)address;
        else if (entry->d_tag == DT_STRTAB)
            names = (const char *)address;
    }
    if (table == NULL || symbols == NULL || names == NULL || table[0] == 0)
        return NULL;
    uint32_t hash = 5381, buckets_count = table[0], first = table[1];
    for (const char *letter = name; *letter != '\0'; letter++)
        hash = hash * 33 + (unsigned char)*letter;
    const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof *table);
    const uint32_t *chain = buckets + buckets_count;
    for (uint32_t number = buckets[hash % buckets_count]; number >= first; number++) {
        const ElfW(Sym) *symbol = &symbols[number];
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            is_equal(names + symbol->st_name, name))
            return (void *)(library->l_addr + symbol->st_value);
        if (chain[number - first] & 1)
            break;
    }
    return NULL;
}

BEFORE_SANITIZERS static versioned_lookup_function dlvsym_of_libc(void)
{
    versioned_lookup_function function = NULL;
    for (const struct link_map *library = _r_debug.r_map; library != NULL && function == NULL;
         library = library->l_next) {
        const char *file = library->l_name;
        for (const char *letter = file; *letter != '\0'; letter++)
            if (*letter == '/')
                file = letter + 1;
        if (begins_with(file, "libc.so") || begins_with(file, "libdl.so"))
            *(void **)&function = symbol_of(library, "dlvsym");
    }
    return function;
}

/* What follows the agent in the order of the loader, perhaps another tool's stand-in. */
BEFORE_SANITIZERS static void find_next(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    versioned_lookup_function find = NULL;
    lookup_function plain = NULL;
    versioned_lookup_function versioned = NULL;
    if (LIKELY(__atomic_load_n(&cupti_next_dlsym, __ATOMIC_ACQUIRE) != NULL) || (find = dlvsym_of_libc()) == NULL)
        return;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        if (plain == NULL)
            *(void **)&plain = find(RTLD_NEXT, "dlsym", versions[i]);
        if (versioned == NULL)
            *(void **)&versioned = find(RTLD_NEXT, "dlvsym", versions[i]);
    }
    __atomic_store_n(&cupti_next_dlvsym, versioned, __ATOMIC_RELAXED);
    __atomic_store_n(&cupti_next_dlsym, plain, __ATOMIC_RELEASE);
}

void *cupti_symbol(void *library, const char *name)
{
    find_next();
    lookup_function next = __atomic_load_n(&cupti_next_dlsym, __ATOMIC_ACQUIRE);
    return library != NULL && next != NULL ? next(library, name) : NULL;
}

bool cupti_is_preloaded(void)
{
    return cupti_symbol(dlopen(NULL, RTLD_LAZY), "cuptiSubscribe") == cupti_stand_in("cuptiSubscribe");
}

/* The agent's function where the program looks one of CUPTI up; NULL elsewhere. */
BEFORE_SANITIZERS static void *stand_in_for(void *handle, const char *name)
{
    find_next();
    if (LIKELY(name == NULL || !begins_with(name, "cupti")) || wl_quiet || !cupti_is_wanted() || handle == RTLD_NEXT ||
        handle == RTLD_DEFAULT || cupti_next_dlsym == NULL || cupti_next_dlvsym == NULL)
        return NULL;
    return cupti_stand_in(name);
}

/* What the program's lookup returns; NULL: what the next definition returns. */
#define ANSWER BEFORE_SANITIZERS __attribute__((visibility("hidden"), used)) void *
ANSWER cupti_answer_to_dlsym(void *handle, const char *name)
{
    void *function = stand_in_for(handle, name);
    return function != NULL && cupti_next_dlsym(handle, name) != NULL ? function : NULL;
}
ANSWER cupti_answer_to_dlvsym(void *handle, const char *name, const char *version)
{
    void *function = stand_in_for(handle, name);
    return function != NULL && cupti_next_dlvsym(handle, name, version) != NULL ? function : NULL;
}

/* A lookup with RTLD_NEXT depends on who called, which the next definition reads from its return address. So it is not
 * called but jumped to, with the arguments of before. */
/* clang-format off */
#if defined __x86_64__
#define STAND_IN_FOR(name)                   \
    __asm__(".text\n"                        \
            ".globl " #name "\n"             \
            ".type " #name ", @function\n"   \
            #name ":\n"                      \
            ".cfi_startproc\n"               \
            "endbr64\n"                      \
            "pushq %rdi\n"                   \
            ".cfi_adjust_cfa_offset 8\n"     \
            "pushq %rsi\n"                   \
            ".cfi_adjust_cfa_offset 8\n"     \
            "pushq %rdx\n"                   \
            ".cfi_adjust_cfa_offset 8\n"     \
            "call cupti_answer_to_" #name "\n"  \
            "popq %rdx\n"                    \
            ".cfi_adjust_cfa_offset -8\n"    \
            "popq %rsi\n"                    \
            ".cfi_adjust_cfa_offset -8\n"    \
            "popq %rdi\n"                    \
            ".cfi_adjust_cfa_offset -8\n"    \
            "testq %rax, %rax\n"             \
            "jne 1f\n"                       \
            "movq cupti_next_" #name "(%rip), %r11\n" \
            "testq %r11, %r11\n"             \
            "je 1f\n"                        \
            "jmp *%r11\n"                    \
            "1: ret\n"                       \
            ".cfi_endproc\n"                 \
            ".size " #name ", .-" #name "\n")
#elif defined __aarch64__
#define STAND_IN_FOR(name)                        \
    __asm__(".text\n"                             \
            ".globl " #name "\n"                  \
            ".type " #name ", %function\n"        \
            #name ":\n"                           \
            ".cfi_startproc\n"                    \
            "hint #34\n" /* bti c */              \
            "stp x29, x30, [sp, #-48]!\n"         \
            ".cfi_def_cfa_offset 48\n"            \
            ".cfi_offset x29, -48\n"              \
            ".cfi_offset x30, -40\n"              \
            "stp x0, x1, [sp, #16]\n"             \
            "str x2, [sp, #32]\n"                 \
            "bl cupti_answer_to_" #name "\n"         \
            "mov x16, x0\n"                       \
            "ldr x2, [sp, #32]\n"                 \
            "ldp x0, x1, [sp, #16]\n"             \
            "ldp x29, x30, [sp], #48\n"           \
            ".cfi_def_cfa_offset 0\n"             \
            ".cfi_restore x29\n"                  \
            ".cfi_restore x30\n"                  \
            "cbnz x16, 1f\n"                      \
            "adrp x17, cupti_next_" #name "\n"    \
            "ldr x16, [x17, :lo12:cupti_next_" #name "]\n" \
            "cbz x16, 1f\n"                       \
            "br x16\n"                            \
            "1: mov x0, x16\n"                    \
            "ret\n"                               \
            ".cfi_endproc\n"                      \
            ".size " #name ", .-" #name "\n")
#endif
STAND_IN_FOR(dlsym);
STAND_IN_FOR(dlvsym);
/* clang-format on */
