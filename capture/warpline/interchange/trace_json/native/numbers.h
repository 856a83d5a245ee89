/* Parses numbers in JSON text. Each function reads the word at `at`, which ends before the first non-word byte. Returns
 * false for anything it cannot represent exactly. */
#ifndef WARPLINE_NUMBERS_H
#define WARPLINE_NUMBERS_H

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#include "json_tokens.h"

/* 2^61 ns in microseconds, as in columns.py. */
#define MAX_WHOLE INT64_C(2305843009213693)

#if defined(_WIN32)
typedef _locale_t Locale;
static inline Locale plain_locale(void) { return _create_locale(LC_ALL, "C"); }
static inline double parse_real(const char *text, Locale locale) { return _strtod_l(text, NULL, locale); }
static inline void free_locale(Locale locale) { _free_locale(locale); }
#else
typedef locale_t Locale;
static inline Locale plain_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }
static inline double parse_real(const char *text, Locale locale) { return strtod_l(text, NULL, locale); }
static inline void free_locale(Locale locale) { freelocale(locale); }
#endif

static inline bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* Whether digits have a leading zero, which JSON does not allow. */
static inline bool has_leading_zero(const uint8_t *digits) { return digits[0] == '0' && is_digit(digits[1]); }

/* A whole number of at most 18 digits. */
static inline bool read_integer(const uint8_t *at, int64_t *value)
{
    bool negative = *at == '-';
    at += negative;
    const uint8_t *first = at;
    int64_t result = 0;
    for (; is_digit(*at); at++) {
        if (at - first >= 18)
            return false;
        result = result * 10 + (*at - '0');
    }
    if (at == first || has_leading_zero(first) || is_word(*at))
        return false;
    *value = negative ? -result : result;
    return true;
}

/* Microseconds, with or without a fraction, rounded to nanoseconds. Refuses exact halves. */
static inline bool read_nanoseconds(const uint8_t *at, int64_t *value)
{
    bool negative = *at == '-';
    at += negative;
    const uint8_t *first = at;
    int64_t whole = 0;
    for (; is_digit(*at); at++) {
        if (at - first >= 17)
            return false;
        whole = whole * 10 + (*at - '0');
    }
    if (at == first || has_leading_zero(first) || whole >= MAX_WHOLE)
        return false;
    int64_t fraction = 0;
    if (*at == '.') {
        const uint8_t *decimals = ++at;
        bool is_half = false;
        for (int64_t scale = 100; is_digit(*at); at++, scale /= 10) {
            if (scale) {
                fraction += (*at - '0') * scale;
            } else if (at - decimals == 3) {
                fraction += *at >= '5';
                is_half = *at == '5';
            } else {
                is_half = is_half && *at == '0';
            }
        }
        if (at == decimals || is_half)
            return false;
    }
    if (is_word(*at))
        return false;
    int64_t result = whole * 1000 + fraction;
    *value = negative ? -result : result;
    return true;
}

/* A decimal number without exponent and with more than 15 digits. */
static inline bool read_long_real(const uint8_t *at, double *value)
{
    char copy[64];
    int length = 0, digits = 0, decimals = 0, first = *at == '-';
    bool after_point = false;
    for (; is_word(at[length]); length++) {
        uint8_t byte = at[length];
        if (length == (int)sizeof copy - 1)
            return false;
        copy[length] = (char)byte;
        if (length < first)
            continue;
        if (byte == '.' && !after_point && digits > 0) {
            after_point = true;
        } else if (is_digit(byte)) {
            digits++;
            decimals += after_point;
        } else {
            return false;
        }
    }
    if ((after_point && !decimals) || has_leading_zero(at + first))
        return false;
    copy[length] = 0;
    Locale plain = plain_locale();
    if (!plain)
        return false;
    *value = parse_real(copy, plain);
    free_locale(plain);
    return true;
}

/* A decimal number without exponent. Up to 15 digits both operands are exact, so the result is correctly rounded. The C
 * library parses longer ones, in the "C" locale. */
static inline bool read_real(const uint8_t *at, double *value)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const uint8_t *word = at;
    bool negative = *at == '-';
    at += negative;
    if (has_leading_zero(at))
        return false;
    int64_t mantissa = 0;
    int digits = 0, decimals = 0;
    bool after_point = false;
    for (; is_word(*at); at++) {
        if (*at == '.' && !after_point && digits > 0) {
            after_point = true;
            continue;
        }
        if (!is_digit(*at))
            return false;
        if (++digits > 15)
            return read_long_real(word, value);
        mantissa = mantissa * 10 + (*at - '0');
        decimals += after_point;
    }
    if (digits == 0 || (after_point && decimals == 0))
        return false;
    *value = (double)mantissa / powers[decimals];
    if (negative)
        *value = -*value;
    return true;
}

#endif
