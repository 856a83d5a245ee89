/* The checksum of HDF5's directories: lookup3 by Bob Jenkins (public domain), `hashlittle` with the start value 0, as
   the HDF5 File Format Specification names it. Little-endian machines only, as captures are. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t turned(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

__attribute__((visibility("default"))) uint32_t warpline_lookup3(const uint8_t *bytes, size_t size)
{
    uint32_t a, b, c, tail[3] = {0, 0, 0};
    a = b = c = 0xdeadbeefu + (uint32_t)size;
    for (; size > 12; size -= 12, bytes += 12) {
        uint32_t words[3];
        memcpy(words, bytes, sizeof words);
        a += words[0];
        b += words[1];
        c += words[2];
        a -= c, a ^= turned(c, 4), c += b;
        b -= a, b ^= turned(a, 6), a += c;
        c -= b, c ^= turned(b, 8), b += a;
        a -= c, a ^= turned(c, 16), c += b;
        b -= a, b ^= turned(a, 19), a += c;
        c -= b, c ^= turned(b, 4), b += a;
    }
    if (size == 0)
        return c;
    memcpy(tail, bytes, size);
    a += tail[0];
    b += tail[1];
    c += tail[2];
    c ^= b, c -= turned(b, 14);
    a ^= c, a -= turned(c, 11);
    b ^= a, b -= turned(a, 25);
    c ^= b, c -= turned(b, 16);
    a ^= c, a -= turned(c, 4);
    b ^= a, b -= turned(a, 14);
    c ^= b, c -= turned(b, 24);
    return c;
}
