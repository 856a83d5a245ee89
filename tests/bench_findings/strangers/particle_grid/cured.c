/* Counts neighbours of moving particles with a spatial hash, frame by frame. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 24, PARTICLES = 20000, FRAMES = 50 };

struct particle { uint32_t x, y, vx, vy; };

static uint32_t cell_of(const struct particle *p)
{
    return ((p->x >> 8) * 73856093u ^ (p->y >> 8) * 19349663u) % CELLS;
}

static long frame(struct particle *particles)
{
    static uint32_t *count;
    if (!count)
        count = calloc(CELLS, sizeof *count);
    long pairs = 0;
    for (int i = 0; i < PARTICLES; i++) {
        struct particle *p = &particles[i];
        p->x += p->vx;
        p->y += p->vy;
        pairs += count[cell_of(p)]++;
    }
    for (int i = 0; i < PARTICLES; i++)
        count[cell_of(&particles[i])] = 0;
    return pairs;
}

int main(void)
{
    struct particle *particles = malloc(sizeof *particles * PARTICLES);
    uint32_t seed = 9;
    for (int i = 0; i < PARTICLES; i++) {
        uint32_t *field = (uint32_t *)&particles[i];
        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            field[k] = k < 2 ? seed >> 8 : seed >> 22;
        }
    }
    long pairs = 0;
    for (int i = 0; i < FRAMES; i++)
        pairs += frame(particles);
    printf("%ld\n", pairs);
    free(particles);
    return 0;
}
