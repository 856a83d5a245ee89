/* Reads Python code objects without the GIL, and without ever faulting. */
#ifndef WARPLINE_PYTHON_CODE_H
#define WARPLINE_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "python_layout.h"

/* The line at `instruction`, an address inside the code object; -1 if there is none or it cannot be read. */
int python_code_line(const struct python_layout *layout, uintptr_t code, uintptr_t instruction);
/* Writes a str object as UTF-8 to `to`, cut to fit. Returns the length; 0 if it cannot be read. */
size_t python_text(const struct python_layout *layout, uintptr_t text, char *to, size_t room);

#endif
