/* SPDX-License-Identifier: MIT */
/* One table of the forms that a character can have; see utf8.h. */
#include "gen/utf8.h"

#include <string.h>

/* RFC 3629, section 4: by its first byte, what the second can be, and the length. */
static const struct {
	unsigned char first, last, least, most;
	unsigned char bytes, bits; /* of the first byte that belong to the number */
} forms[] = {
	{0xc2, 0xdf, 0x80, 0xbf, 2, 0x1f}, {0xe0, 0xe0, 0xa0, 0xbf, 3, 0x0f},
	{0xe1, 0xec, 0x80, 0xbf, 3, 0x0f}, {0xed, 0xed, 0x80, 0x9f, 3, 0x0f},
	{0xee, 0xef, 0x80, 0xbf, 3, 0x0f}, {0xf0, 0xf0, 0x90, 0xbf, 4, 0x07},
	{0xf1, 0xf3, 0x80, 0xbf, 4, 0x07}, {0xf4, 0xf4, 0x80, 0x8f, 4, 0x07},
};

size_t utf8_decode(const char *text, size_t length, uint32_t *code)
{
	const unsigned char *byte = (const unsigned char *)text;

	if (byte[0] < 0x80) {
		*code = byte[0];
		return 1;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		uint32_t value = byte[0] & forms[i].bits;

		if (byte[0] < forms[i].first || byte[0] > forms[i].last)
			continue;
		if (length < forms[i].bytes || byte[1] < forms[i].least ||
		    byte[1] > forms[i].most)
			return 0;
		for (size_t j = 1; j < forms[i].bytes; j++) {
			if ((byte[j] & 0xc0) != 0x80)
				return 0;
			value = value << 6 | (byte[j] & 0x3f);
		}
		*code = value;
		return forms[i].bytes;
	}
	return 0;
}

uint32_t utf8_count(const char *text, size_t length)
{
	uint32_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

void utf8_place(const char *text, size_t offset, uint32_t *line, uint32_t *column)
{
	size_t start = 0;

	*line = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			++*line;
			start = i + 1;
		}
	}
	*column = 1 + utf8_count(text + start, offset - start);
}

bool utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void utf8_escape(FILE *out, const char *text)
{
	size_t length = strlen(text), bytes;

	for (; length > 0; text += bytes, length -= bytes) {
		uint32_t code;

		bytes = utf8_decode(text, length, &code);
		if (bytes == 0) {
			fprintf(out, "\\x%02x", (unsigned char)*text);
			bytes = 1;
		} else if (code == '\n') {
			fputs("\\n", out);
		} else if (code == '\t') {
			fputs("\\t", out);
		} else if (utf8_is_control(code)) {
			fprintf(out, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
		} else {
			fwrite(text, 1, bytes, out);
		}
	}
}
