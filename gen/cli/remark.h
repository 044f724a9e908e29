/* SPDX-License-Identifier: MIT */
/* Remarks `# srank: disable=RULE` in a spec, which mean there what they mean in a script.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True when a remark in TEXT, a YAML file of LENGTH bytes, switches RULE off for line
 * LINE (from 1): at the end of that line, alone on the line above, alone above everything
 * but remarks, or as disable-file anywhere.
 */
bool remark_disables(const char *text, size_t length, uint32_t line, const char *rule);
