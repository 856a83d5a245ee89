/* Sums every column of an image, frame after frame. */
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 4096, HEIGHT = 4096, FRAMES = 12 };

static void column_sums(const float *image, double *sums)
{
    for (int x = 0; x < WIDTH; x++)
        sums[x] = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            sums[x] += image[(size_t)y * WIDTH + x];
}

int main(void)
{
    float *image = malloc(sizeof(float) * WIDTH * HEIGHT);
    double *sums = malloc(sizeof(double) * WIDTH);
    unsigned seed = 1;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        seed = seed * 1103515245u + 12345u;
        image[i] = (seed >> 16 & 255) / 255.0f;
    }
    double total = 0;
    for (int frame = 0; frame < FRAMES; frame++) {
        column_sums(image, sums);
        for (int x = frame; x < WIDTH; x += FRAMES)
            total += sums[x];
    }
    printf("%.3f\n", total);
    free(sums);
    free(image);
    return 0;
}
