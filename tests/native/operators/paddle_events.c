/* A stand-in for the libraries of Paddle: one has its events, another one calls them through its table. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMED(name) __asm__(name) __attribute__((visibility("default")))

void from_text(void *event, const char *name, int type, unsigned level, int role)
    NAMED("_ZN3phi11RecordEventC1EPKcNS_15TracerEventTypeEjNS_9EventRoleE");
void from_string(void *event, const char *const *name, int type, unsigned level, int role)
    NAMED("_ZN3phi11RecordEventC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_15TracerEventTypeEjNS_"
          "9EventRoleE");
void end_event(void *event) NAMED("_ZN3phi11RecordEvent3EndEv");

/* What Paddle records beside its events; the rest of the third name are types of arguments that nobody reads. */
bool parts_wanted(void) NAMED("_ZN3phi11RecordEvent9IsEnabledEv");
bool shapes_wanted(void) NAMED("_ZN3phi22RecordOpInfoSupplement9IsEnabledEv");
void shapes(void *self, const void *type, const void *inputs, const void *attributes)
    NAMED("_ZN3phi22RecordOpInfoSupplementC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vector"
          "ISt4pairIPKcS9_IN6common4DDimESaISE_EEESaISH_EERKN6paddle13flat_hash_mapI");
void memory(void *self, const void *address, const void *place, size_t bytes, int operation)
    NAMED("_ZN6paddle8platform14RecordMemEventC1EPKvRKN3phi5PlaceEmNS4_18TracerMemEventTypeE");

#ifdef CORE
static int details;

bool parts_wanted(void) { return false; }
bool shapes_wanted(void) { return false; }

void shapes(void *self, const void *type, const void *inputs, const void *attributes)
{
    (void)self, (void)type, (void)inputs, (void)attributes;
    details++;
}

void memory(void *self, const void *address, const void *place, size_t bytes, int operation)
{
    (void)self, (void)address, (void)place, (void)bytes, (void)operation;
    details++;
}

static int balance, calls;

void from_text(void *event, const char *name, int type, unsigned level, int role)
{
    (void)event, (void)name, (void)type, (void)level, (void)role;
    balance++, calls++;
}

void from_string(void *event, const char *const *name, int type, unsigned level, int role)
{
    (void)event, (void)name, (void)type, (void)level, (void)role;
    balance++, calls++;
}

void end_event(void *event)
{
    (void)event;
    balance--;
}

int standing(int what) { return what == 2 ? details : what == 1 ? calls : balance; }
#else
void begin(void *event, const char *name, int type, unsigned level)
{
    if (type % 2)
        from_text(event, name, type, level, 0);
    else
        from_string(event, &name, type, level, 0);
}

void end(void *event) { end_event(event); }

int wants(void) { return parts_wanted() + 2 * shapes_wanted(); }

/* The inputs of a convolution: one tensor, and a list of two. */
void give_shapes(void)
{
    struct {
        int64_t sizes[9];
        int rank;
    } dimensions[] = {{{4, 3, 32, -1}, 4}, {{16}, 1}, {{0}, 0}};
    struct vector {
        const void *first, *last, *end;
    };
    struct {
        const char *name;
        struct vector shapes;
    } inputs[] = {{"x", {dimensions, dimensions + 1, dimensions + 1}},
                  {"list", {dimensions + 1, dimensions + 3, dimensions + 3}}};
    struct vector all = {inputs, inputs + 2, inputs + 2};
    shapes(NULL, NULL, &all, NULL);
}

void allocate(uintptr_t address, size_t bytes, int operation)
{
    struct {
        int8_t device, type;
        size_t id;
    } place = {1, 2, 0}; /* GPU 1 */
    char self;
    memory(&self, (void *)address, &place, bytes, operation);
}
#endif
