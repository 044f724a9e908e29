/* SPDX-License-Identifier: MIT */
/* What the tests of the generator share: the collector's text, and a spec from a literal.
 */
#pragma once

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gen/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The collector as a user without a terminal sees it; the caller frees. */
static inline char *diag_text(struct diag *diag)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	diag_print(diag, out, DIAG_PLAIN);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Fails with both texts in full, which assert_string_equal() does too, and clears DIAG.
 */
static inline void assert_diag(struct diag *diag, const char *expected)
{
	char *text = diag_text(diag);

	diag_clear(diag);
	if (strcmp(text, expected) != 0)
		print_error("expected:\n%sgot:\n%s", expected, text);
	assert_string_equal(text, expected);
	free(text);
}
