/* Finds where the tokens of JSON text begin: brackets, colons, commas, strings, numbers and words.
 *
 * Works on blocks of 64 bytes, with masks of one bit per byte. The parity of the quotation marks before a byte says
 * whether it is inside a string. The idea is from "Parsing Gigabytes of JSON per Second" (Langdale and Lemire, 2019).
 */
#ifndef WARPLINE_JSON_TOKENS_H
#define WARPLINE_JSON_TOKENS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* One bit per byte of a block. */
typedef struct {
    uint64_t quote, backslash, structure, word, space;
} Masks;

/* Part of a number, or of true, false, null, NaN, Infinity. */
static inline bool is_word(uint8_t byte)
{
    uint8_t lower = byte | 0x20;
    return (byte >= '0' && byte <= '9') || (lower >= 'a' && lower <= 'z') || byte == '-' || byte == '+' || byte == '.';
}

static inline bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

#if defined(__SSE2__)

static inline __m128i in_range(__m128i bytes, char low, char width)
{
    __m128i offset = _mm_sub_epi8(bytes, _mm_set1_epi8(low));
    return _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(width)), offset);
}

static inline Masks classify(const uint8_t *block)
{
    Masks found = {0, 0, 0, 0, 0};
    for (int part = 0; part < 4; part++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * part));
        __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i comma = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(','));
        /* Setting bit 5 turns square brackets into braces. */
        __m128i bracket = _mm_or_si128(_mm_cmpeq_epi8(lower, _mm_set1_epi8('{')),
                                       _mm_cmpeq_epi8(lower, _mm_set1_epi8('}')));
        __m128i structure = _mm_or_si128(_mm_or_si128(comma, bracket), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
        /* The range + to . is plus, comma, minus and point. */
        __m128i sign = _mm_andnot_si128(comma, in_range(bytes, '+', 3));
        __m128i word = _mm_or_si128(_mm_or_si128(sign, in_range(bytes, '0', 9)), in_range(lower, 'a', 25));
        /* Tab and line feed have adjacent codes. */
        __m128i space = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'))),
            in_range(bytes, '\t', 1));
        int shift = 16 * part;
        found.quote |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))) << shift;
        found.backslash |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) << shift;
        found.structure |= (uint64_t)_mm_movemask_epi8(structure) << shift;
        found.word |= (uint64_t)_mm_movemask_epi8(word) << shift;
        found.space |= (uint64_t)_mm_movemask_epi8(space) << shift;
    }
    return found;
}

#else

static inline Masks classify(const uint8_t *block)
{
    Masks found = {0, 0, 0, 0, 0};
    for (int at = 0; at < 64; at++) {
        uint8_t byte = block[at];
        uint8_t lower = byte | 0x20;
        uint64_t bit = UINT64_C(1) << at;
        if (byte == '"')
            found.quote |= bit;
        else if (byte == '\\')
            found.backslash |= bit;
        else if (lower == '{' || lower == '}' || byte == ',' || byte == ':')
            found.structure |= bit;
        else if (is_word(byte))
            found.word |= bit;
        else if (is_space(byte))
            found.space |= bit;
    }
    return found;
}

#endif

/* The bytes escaped by a backslash. `carry` is 1 if the last byte of the previous block escapes the first byte of this
 * one. */
static inline uint64_t escaped_bytes(uint64_t backslash, uint64_t *carry)
{
    if (!backslash) {
        uint64_t first = *carry;
        *carry = 0;
        return first;
    }
    uint64_t escaped = *carry;
    uint64_t left = backslash & ~escaped;
    *carry = 0;
    while (left) {
        uint64_t one = left & (~left + 1);
        if (one >> 63)
            *carry = 1;
        escaped |= one << 1;
        left &= ~one & ~(one << 1);
    }
    return escaped;
}

/* Parity of all bits up to and including each bit. */
static inline uint64_t parity_before(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

/* Writes the positions of the tokens from `begin` on; a string's token is its opening quotation mark. `tokens` has room
 * for one entry per byte. Stops at the first byte outside strings that is not JSON. */
static inline int64_t find_tokens(const uint8_t *text, int64_t begin, int64_t size, uint32_t *tokens)
{
    int64_t count = 0;
    uint64_t escape = 0, in_string = 0, in_word = 0;
    for (int64_t base = begin; base < size; base += 64) {
        uint8_t last[64];
        const uint8_t *block = text + base;
        if (size - base < 64) {
            memset(last, ' ', sizeof last);
            memcpy(last, block, (size_t)(size - base));
            block = last;
        }
        Masks found = classify(block);
        uint64_t quote = found.quote & ~escaped_bytes(found.backslash, &escape);
        /* From the opening mark up to, but not including, the closing one. */
        uint64_t inside = parity_before(quote) ^ in_string;
        in_string = (uint64_t)0 - (inside >> 63);
        uint64_t word = found.word & ~inside;
        uint64_t bits = (found.structure & ~inside) | (quote & inside) | (word & ~(word << 1 | in_word));
        in_word = word >> 63;
        uint64_t strange = ~(found.structure | found.word | found.space | quote) & ~inside;
        if (strange)
            bits &= (strange & (~strange + 1)) - 1;
        while (bits) {
            tokens[count++] = (uint32_t)(base + __builtin_ctzll(bits));
            bits &= bits - 1;
        }
        if (strange)
            break;
    }
    return count;
}

#endif
