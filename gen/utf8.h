/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 as RFC 3629 has it, for all that reads or shows the texts of a user: one idea of
 * what a character is, of where one stands, and of which ones a terminal or a reader of a
 * script must not get as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Bytes of the character with which TEXT begins (LENGTH > 0 bytes), and its number in
 * CODE; 0, with CODE left alone, when none does: overlong forms and surrogates are none.
 */
size_t utf8_decode(const char *text, size_t length, uint32_t *code);

/* Characters of LENGTH bytes of TEXT; a stray continuation byte counts with the one
 * before. */
uint32_t utf8_count(const char *text, size_t length);

/* Line and column, from 1, of the character at OFFSET bytes in TEXT. */
void utf8_place(const char *text, size_t offset, uint32_t *line, uint32_t *column);

/* C0, DEL, C1, and the marks that reorder or break the line around them. */
bool utf8_is_control(uint32_t code);

/*
 * Writes TEXT on one line and harmless: control characters as \n, \t, \xHH or \uHHHH,
 * bytes that are no UTF-8 as \xHH.
 */
void utf8_escape(FILE *out, const char *text);
