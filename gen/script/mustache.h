/* SPDX-License-Identifier: MIT */
/*
 * The template engine: mustache as its specification has it (variables, sections,
 * inverted sections, comments, partials, set delimiters, standalone lines, dotted names),
 * with two differences that a script wants. `{{x}}` inserts as is, like `{{{x}}}`, since
 * a value is already quoted for its place and there is no HTML. And a name that the
 * context does not have is an error with its line: a typo must not become an empty word
 * in a job.
 */
#pragma once

#include "gen/diag.h"
#include "gen/script/origins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The context: a tree of texts, flags, lists and objects. A child belongs to its parent,
 * and only the root is freed. The calls that add give NULL, or nothing, without memory
 * and mark the tree, so that a builder checks once, at its end.
 */
struct script_value;

/* The root, an object; NULL without memory, which every call here takes. */
struct script_value *script_value_create(void);
void script_value_free(struct script_value *root);

/* True when memory ran out for ROOT or anything below it. */
bool script_value_failed(const struct script_value *root);

/*
 * Adds to PARENT, an object (NAME is the key) or a list (NAME is NULL). A TEXT of NULL
 * counts as memory that ran out before.
 */
struct script_value *script_value_object(struct script_value *parent, const char *name);
struct script_value *script_value_list(struct script_value *parent, const char *name);
void script_value_flag(struct script_value *parent, const char *name, bool flag);
void script_value_text(struct script_value *parent, const char *name, const char *text);
void script_value_number(struct script_value *parent, const char *name,
			 unsigned long long number);

/*
 * Bytes BEGIN up to END of the text that PARENT got last stand at PLACE, which must live
 * as long as the tree. In the order of the text. PLACE NULL: nothing is noted.
 */
void script_value_origin(struct script_value *parent, size_t begin, size_t end,
			 const struct diag_place *place);

/* The text of one template. FILE is what messages call it. */
struct script_template {
	const char *file;
	const char *text;
	size_t length;
};

/*
 * Finds the partial NAME. 0 and TEMPLATE filled, its texts valid until rendering ends;
 * -ENOENT when there is none; another -errno after having told DIAG why.
 */
typedef int (*script_partials)(const char *name, struct script_template *template,
			       void *arg, struct diag *diag);

/*
 * Renders TEMPLATE with ROOT to OUT. A section shows its body once for a true flag, a
 * text that is not empty or an object, once per element for a list, and not at all for a
 * false flag, an empty text or an empty list. PARTIALS may be NULL: there are none.
 * ORIGINS, unless NULL, gets the places of script_value_origin(), as offsets of OUT. 0;
 * -EINVAL when DIAG was told of a fault, with the template's line; -ENOMEM. What was
 * written to OUT before a fault is of no use.
 */
int script_mustache(FILE *out, const struct script_template *template,
		    const struct script_value *root, script_partials partials, void *arg,
		    struct script_origins *origins, struct diag *diag);
