/* Puts the hooks of frameworks into the Python of this process. */
#ifndef WARPLINE_STEPS_BOOT_H
#define WARPLINE_STEPS_BOOT_H

/* Called once in a process, with the GIL, where Python code may run: has `boot.py` of the folder that WARPLINE_HOOKS
 * names watch for frameworks, for the sources in WARPLINE_HOOKED. Does nothing without these variables. */
void steps_boot(void);

#endif
