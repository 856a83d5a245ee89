/* One libcupti, two users: Warpline and the program's own profiler. */
#ifndef WARPLINE_CUPTI_SHARING_H
#define WARPLINE_CUPTI_SHARING_H

#include <stdbool.h>

#include "cupti_abi.h"

enum cupti_user { WARPLINE, PROGRAM, USERS };
struct clocks;

int sharing_subscribe(enum cupti_user user, cupti_callback callback, void *data);
int sharing_unsubscribe(enum cupti_user user);
int sharing_enable_callback(enum cupti_user user, bool is_on, uint32_t domain, uint32_t id);
int sharing_enable_domain(enum cupti_user user, bool is_on, uint32_t domain);
int sharing_register_callbacks(enum cupti_user user, cupti_request request, cupti_complete complete);
int sharing_enable(enum cupti_user user, uint32_t kind, bool is_dumping);
int sharing_enable_in_context(enum cupti_user user, void *context, uint32_t kind);
int sharing_disable(enum cupti_user user, uint32_t kind);
int sharing_flush_all(enum cupti_user user, uint32_t flag);
int sharing_register_timestamp(enum cupti_user user, cupti_timestamp callback);
int sharing_get_timestamp(enum cupti_user user, uint64_t *time);
int sharing_set_thread_id_type(enum cupti_user user, uint32_t type);
int sharing_finalize(enum cupti_user user);

/* Whether the program's profiler has asked for records. */
bool sharing_has_program(void);
/* Somebody whose calls are unseen records too, so that not every record is for Warpline. */
void sharing_note_stranger(void);
/* Whether this user has asked for the record: its kind, at its time. */
bool sharing_is_for(enum cupti_user user, const struct clocks *clocks, const void *record);
/* Records that the program's profiler had no room for. */
uint64_t sharing_refused(void);

/* Makes `cupti` call the functions above as Warpline. */
void sharing_use(void *library);

#endif
