/* SPDX-License-Identifier: MIT */
/*
 * The report of `srank doctor`: for people, or as JSON.
 */
#pragma once

#include "spank/exec/findings.h"

#include <stdbool.h>
#include <stdio.h>

/* A table of the nodes, the findings with cause and cure, and the verdict. */
void exec_print_text(FILE *out, const struct exec_world *world,
		     const struct exec_verdict *verdict, bool strict);

/* The same in one object: srank(1) describes it. */
void exec_print_json(FILE *out, const struct exec_world *world,
		     const struct exec_verdict *verdict, bool strict);

/* Whether the step passes. */
bool exec_verdict_is_fine(const struct exec_verdict *verdict, bool strict);
