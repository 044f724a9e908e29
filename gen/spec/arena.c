/* SPDX-License-Identifier: MIT */
/* A list of blocks that grows at its head; see arena.h. */
#include "gen/spec/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 8192

struct spec_arena {
	struct spec_arena *next;
	size_t size, used;
	max_align_t data[];
};

void *spec_arena_alloc(struct spec_arena **arena, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct spec_arena *block = *arena;
	char *place;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + align - 1) / align * align;
	if (!block || block->size - block->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		*block = (struct spec_arena){.next = *arena, .size = room};
		*arena = block;
	}
	place = (char *)block->data + block->used;
	block->used += size;
	return memset(place, 0, size);
}

char *spec_arena_copy(struct spec_arena **arena, const char *text, size_t length)
{
	char *copy = spec_arena_alloc(arena, length + 1);

	if (copy && length > 0)
		memcpy(copy, text, length);
	return copy;
}

char *spec_arena_format(struct spec_arena **arena, const char *format, ...)
{
	va_list list, again;
	char *text = NULL;
	int length;

	va_start(list, format);
	va_copy(again, list);
	length = vsnprintf(NULL, 0, format, list);
	if (length >= 0)
		text = spec_arena_alloc(arena, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(list);
	return text;
}

void *spec_arena_grow(struct spec_arena **arena, void *list, size_t count, size_t size)
{
	void *grown;

	if (count & (count - 1))
		return list;
	grown = spec_arena_alloc(arena, (count ? 2 * count : 1) * size);
	if (grown && count > 0)
		memcpy(grown, list, count * size);
	return grown;
}

void spec_arena_free(struct spec_arena **arena)
{
	while (*arena) {
		struct spec_arena *block = *arena;

		*arena = block->next;
		free(block);
	}
}
