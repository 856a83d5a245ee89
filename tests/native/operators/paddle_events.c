/* A stand-in for the libraries of Paddle: one has its events, another one calls them through its table. */
#define NAMED(name) __asm__(name) __attribute__((visibility("default")))

void from_text(void *event, const char *name, int type, unsigned level, int role)
    NAMED("_ZN3phi11RecordEventC1EPKcNS_15TracerEventTypeEjNS_9EventRoleE");
void from_string(void *event, const char *const *name, int type, unsigned level, int role)
    NAMED("_ZN3phi11RecordEventC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_15TracerEventTypeEjNS_"
          "9EventRoleE");
void end_event(void *event) NAMED("_ZN3phi11RecordEvent3EndEv");

#ifdef CORE
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

int standing(int what) { return what ? calls : balance; }
#else
void begin(void *event, const char *name, int type, unsigned level)
{
    if (type % 2)
        from_text(event, name, type, level, 0);
    else
        from_string(event, &name, type, level, 0);
}

void end(void *event) { end_event(event); }
#endif
