/* SPDX-License-Identifier: MIT */
/*
 * Memory that is given back all at once. A spec's texts and lists live as long as the
 * spec, replaced ones included, so no value needs an owner.
 */
#pragma once

#include <stddef.h>

struct spec_arena;

/*
 * SIZE zeroed bytes, aligned for any type, from the arena that *ARENA points to (NULL:
 * made by the first call). NULL without memory.
 */
void *spec_arena_alloc(struct spec_arena **arena, size_t size);

/* Copy of LENGTH bytes of TEXT with a NUL behind them; NULL without memory. */
char *spec_arena_copy(struct spec_arena **arena, const char *text, size_t length);

/* A formatted text; NULL without memory. */
char *spec_arena_format(struct spec_arena **arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * LIST of COUNT elements of SIZE bytes, with room for one more: moved when COUNT is a
 * power of two or 0. NULL without memory.
 */
void *spec_arena_grow(struct spec_arena **arena, void *list, size_t count, size_t size);

/* Frees all and sets *ARENA to NULL. */
void spec_arena_free(struct spec_arena **arena);
