/* SPDX-License-Identifier: MIT */
/* Places within a text of several lines that stands in a YAML file. */
#pragma once

#include "gen/diag.h"

#include <stddef.h>

/*
 * Moves PLACE, that of a value with the TEXT of LENGTH bytes, to its bytes from BEGIN up
 * to END, by the source that DIAG has of the file. A line that looks otherwise in YAML,
 * as in quotes or in a folded text, keeps PLACE as it is.
 */
void spec_place_within(struct diag_place *place, const struct diag *diag,
		       const char *text, size_t length, size_t begin, size_t end);
