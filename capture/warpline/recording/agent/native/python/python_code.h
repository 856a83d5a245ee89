/* What a code object of Python says of itself, read without the GIL and without ever faulting. */
#ifndef WARPLINE_PYTHON_CODE_H
#define WARPLINE_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "python_layout.h"

/* The line at `instruction` (an address inside the code object); -1 where the table has none or cannot be read. */
int python_code_line(const struct python_layout *layout, uintptr_t code, uintptr_t instruction);
/* UTF-8 of a str object into `to`, cut to fit; the length written, 0 where it cannot be read. */
size_t python_text(const struct python_layout *layout, uintptr_t text, char *to, size_t room);

#endif
