/* SPDX-License-Identifier: MIT */
/* Finds remarks by their mark, which is rare, and not line by line; see remark.h. */
#include "gen/cli/remark.h"

#include <string.h>

static const char mark[] = "srank:";

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* RULE, or `all`, is among the words from AT to END, which commas and blanks part. */
static bool names(const char *at, const char *end, const char *rule)
{
	while (at < end) {
		const char *stop = at;
		size_t length;

		while (stop < end && !is_blank(*stop) && *stop != ',')
			stop++;
		length = (size_t)(stop - at);
		if ((length == strlen(rule) && memcmp(at, rule, length) == 0) ||
		    (length == 3 && memcmp(at, "all", 3) == 0))
			return true;
		at = stop + 1;
	}
	return false;
}

/* Only blank lines and comments stand in TEXT up to END. */
static bool is_empty(const char *text, const char *end)
{
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		while (text < end && is_blank(*text))
			text++;
		if (text < end && *text != '\n' && *text != '#')
			return false;
		text = stop ? stop + 1 : end;
	}
	return true;
}

/* The remark whose mark stands at AT, on line NUMBER. */
static bool disables(const char *text, size_t length, const char *at, uint32_t number,
		     uint32_t line, const char *rule)
{
	static const char here[] = "disable=", everywhere[] = "disable-file=";
	const char *hash = at, *begin = at, *first, *end;
	bool alone;

	while (begin > text && begin[-1] != '\n')
		begin--;
	while (hash > begin && is_blank(hash[-1]))
		hash--;
	if (hash == begin || *--hash != '#' || (hash > begin && !is_blank(hash[-1])))
		return false;
	for (first = begin; is_blank(*first); first++)
		;
	alone = first == hash;
	end = memchr(at, '\n', (size_t)(text + length - at));
	if (!end)
		end = text + length;
	at += sizeof(mark) - 1;
	while (at < end && is_blank(*at))
		at++;
	if ((size_t)(end - at) >= sizeof(everywhere) - 1 &&
	    memcmp(at, everywhere, sizeof(everywhere) - 1) == 0)
		return names(at + sizeof(everywhere) - 1, end, rule);
	if ((size_t)(end - at) < sizeof(here) - 1 ||
	    memcmp(at, here, sizeof(here) - 1) != 0)
		return false;
	if (number != line && !(alone && (number + 1 == line || is_empty(text, begin))))
		return false;
	return names(at + sizeof(here) - 1, end, rule);
}

bool remark_disables(const char *text, size_t length, uint32_t line, const char *rule)
{
	const char *end = text + length, *counted = text, *at = text;
	uint32_t number = 1;

	while ((at = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1))) {
		for (; counted < at; counted++)
			number += *counted == '\n';
		if (disables(text, length, at, number, line, rule))
			return true;
		at += sizeof(mark) - 1;
	}
	return false;
}
