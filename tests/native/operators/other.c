/* A library that calls others through its table, and none of Paddle's. */
#include <stdlib.h>

void *some(size_t size) { return malloc(size); }
