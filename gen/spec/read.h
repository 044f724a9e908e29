/* SPDX-License-Identifier: MIT */
/* Node tree -> struct, by a table of fields. */
#pragma once

#include "gen/diag.h"
#include "gen/spec/arena.h"
#include "gen/spec/field.h"
#include "gen/spec/yaml.h"

/* Fields of one section; the test of the tables holds them to it. */
#define SPEC_FIELDS_MAX 64

/* A file with more faults than this is not what it is taken for; the rest is not
 * reported. */
#define SPEC_FAULTS_MAX 50

/*
 * Fills the struct at BASE from the mapping ROOT (NULL: an empty document) by FIELDS.
 * Every fault is reported; a value with a fault is left as it was. -EINVAL when there was
 * one; -ENOMEM.
 */
int spec_read_fields(void *base, const struct spec_field *fields,
		     const struct spec_node *root, struct spec_arena **arena,
		     struct diag *diag);

/* Bytes of a byte order mark that TEXT of LENGTH bytes begins with: 0 or 3. */
size_t spec_mark_length(const char *text, size_t length);

/*
 * The same from TEXT, one YAML document that FILE names in messages; a byte order mark in
 * front of it is skipped. FILE must outlive what is read.
 */
int spec_read_document(void *base, const struct spec_field *fields, const char *file,
		       const char *text, size_t length, struct spec_arena **arena,
		       struct diag *diag);

/*
 * The same for the one field FIELD (of the struct at BASE) and its value NODE. ALL is the
 * table of the top level, for keys that stand in the wrong section.
 */
int spec_read_value(void *base, const struct spec_field *field,
		    const struct spec_field *all, const struct spec_node *node,
		    struct spec_arena **arena, struct diag *diag);

/* Sets the field to "removed"; a section with all that it holds. */
void spec_delete_value(void *base, const struct spec_field *field);

/*
 * Gives the struct TO what FROM, another of the same FIELDS, says and TO neither says nor
 * removes; maps entry by entry. Texts stay FROM's. -ENOMEM.
 */
int spec_inherit(void *to, const void *from, const struct spec_field *fields,
		 struct spec_arena **arena);

/* The field NAME of FIELDS, aliases included; NULL when there is none. */
const struct spec_field *spec_field_find(const struct spec_field *fields,
					 const char *name);

/*
 * Reports the unknown key NAME at PLACE among FIELDS with what was probably meant: the
 * nearest key, or the section of ALL that has it.
 */
void spec_unknown_key(const char *name, const struct diag_place *place,
		      const char *section, const struct spec_field *fields,
		      const struct spec_field *all, struct diag *diag);

/*
 * Why NAME can be no variable that a job exports, behind "NAME ": "cannot be ...". NULL:
 * it can.
 */
const char *spec_variable_fault(const char *name);

/* The same of a key of the map FIELD, whose keys need not be variables. */
const char *spec_key_fault(const struct spec_field *field, const char *name);

/* The same of an axis of a sweep: a variable, or the path of a key, as resources.nodes.
 */
const char *spec_axis_fault(const char *name);
