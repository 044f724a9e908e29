/* SPDX-License-Identifier: MIT */
/* Reading a spec from a file or text, and the overrides of the command line. */
#include "gen/spec/spec.h"

#include "gen/spec/arena.h"
#include "gen/spec/file.h"
#include "gen/spec/read.h"
#include "gen/spec/yaml.h"
#include "gen/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t spec_digest(uint64_t hash, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

int spec_read_text(struct spec *spec, const char *file, const char *text, size_t length,
		   struct diag *diag)
{
	spec->file = spec_arena_copy(&spec->arena, file, strlen(file));
	if (!spec->file)
		return -ENOMEM;
	spec->digest = spec_digest(SPEC_DIGEST_START, text, length);
	return spec_read_document(spec, spec_fields, spec->file, text, length,
				  &spec->arena, diag);
}

int spec_read(struct spec *spec, const char *file, struct diag *diag)
{
	char *text;
	size_t length;
	int rc = spec_file_read(file, &text, &length, diag);

	if (rc < 0)
		return rc;
	rc = spec_read_text(spec, file, text, length, diag);
	free(text);
	return rc;
}

/* What one -s means: the field, for a map the entry in it, and the text behind the `=`.
 */
struct assignment {
	const struct spec_field *field;
	const char *entry; /* NULL: the field itself */
	const char *value;
	struct diag_place place; /* of the value */
};

/*
 * Follows the PATH of LENGTH bytes through the tables. -EINVAL is reported with the
 * column of the part that is wrong.
 */
static int find_field(struct spec *spec, char *path, struct diag_place place,
		      struct assignment *assignment, struct diag *diag)
{
	const struct spec_field *fields = spec_fields;
	const char *section = NULL;

	for (;;) {
		char *dot = strchr(path, '.');
		const struct spec_field *field;

		if (dot)
			*dot = '\0';
		place.end_column = place.column + (uint32_t)strlen(path);
		field = spec_field_find(fields, path);
		if (!field) {
			spec_unknown_key(path, &place, section, fields, spec_fields,
					 diag);
			return -EINVAL;
		}
		assignment->field = field;
		if (!dot)
			return 0;
		path = dot + 1;
		place.column = place.end_column + 1;
		place.end_column = place.column + (uint32_t)strlen(path);
		if (field->type == SPEC_MAP) {
			const char *fault = spec_variable_fault(path);

			if (fault) {
				diag_add(diag, DIAG_ERROR, "spec-value", &place,
					 "%s: '%.60s' %s", field->name, path, fault);
				return -EINVAL;
			}
			assignment->entry =
				spec_arena_copy(&spec->arena, path, strlen(path));
			return assignment->entry ? 0 : -ENOMEM;
		}
		if (field->type != SPEC_SECTION) {
			diag_add(diag, DIAG_ERROR, "spec-unknown-key", &place,
				 "%s has no keys below it", field->name);
			return -EINVAL;
		}
		section = field->name;
		fields = field->fields;
	}
}

/* Sets, or with TEXT NULL removes, one entry of a map; the others keep their order. */
static int set_entry(struct spec *spec, struct spec_value *map, const char *name,
		     const char *text, const struct diag_place *place)
{
	struct spec_item *items =
		spec_arena_alloc(&spec->arena, (map->count + 1) * sizeof(*items));
	size_t count = 0;
	bool found = false;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->items[i].name, name) != 0) {
			items[count++] = map->items[i];
		} else if (text) {
			items[count++] = (struct spec_item){name, text, *place};
			found = true;
		}
	}
	if (text && !found)
		items[count++] = (struct spec_item){name, text, *place};
	if (!map->given)
		map->place = *place;
	map->given = map->given || text;
	map->items = items;
	map->count = count;
	return 0;
}

/*
 * Whether TEXT is YAML for the field. Never for shell code, which may well begin with a
 * bracket: `[ -d x ] || mkdir x`, `{ a; b; }`.
 */
static bool is_yaml(const struct spec_field *field, const char *text)
{
	switch (field->type) {
	case SPEC_WORDS:
		return *text == '[';
	case SPEC_MAP:
	case SPEC_SECTION:
		return *text == '{' || *text == '[';
	default:
		return false;
	}
}

static int apply(struct spec *spec, const struct assignment *assignment,
		 struct diag *diag)
{
	const struct spec_field *field = assignment->field;
	const char *text = assignment->value;
	bool remove = spec_yaml_null(text);
	struct spec_node scalar = {
		.kind = SPEC_NODE_SCALAR, .text = text, .place = assignment->place};
	struct spec_node *node = &scalar;
	int rc = 0;

	if (assignment->entry)
		return set_entry(spec, (void *)((char *)spec + field->offset),
				 assignment->entry, remove ? NULL : text,
				 &assignment->place);
	if (remove) {
		spec_delete_value(spec, field);
		return 0;
	}
	if (is_yaml(field, text))
		rc = spec_yaml_parse(&node, assignment->place.file, text, strlen(text),
				     &assignment->place, &spec->arena, diag);
	if (rc == 0)
		rc = spec_read_value(spec, field, spec_fields, node, &spec->arena, diag);
	return rc;
}

/* The overrides so far as the text of a file `-s`, one a line, for the carets. */
static void show_overrides(const struct spec *spec, struct diag *diag)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return;
	for (size_t i = 0; i < spec->overrides.count; i++) {
		for (const char *at = spec->overrides.items[i].text; *at; at++)
			fputc(*at == '\n' ? ' ' : *at, out);
		fputc('\n', out);
	}
	if (fclose(out) == 0)
		diag_source(diag, "-s", text, length);
	free(text);
}

static int keep_override(struct spec *spec, const char *text)
{
	struct spec_value *overrides = &spec->overrides;
	struct spec_item *items = spec_arena_grow(&spec->arena, overrides->items,
						  overrides->count, sizeof(*items));
	char *copy = spec_arena_copy(&spec->arena, text, strlen(text));

	if (!items || !copy)
		return -ENOMEM;
	overrides->given = true;
	overrides->items = items;
	items[overrides->count++] = (struct spec_item){.text = copy};
	spec->digest = spec_digest(spec->digest ? spec->digest : SPEC_DIGEST_START, copy,
				   strlen(copy) + 1);
	return 0;
}

int spec_override(struct spec *spec, const char *assignment, struct diag *diag)
{
	struct assignment parts = {0};
	struct diag_place path = {.file = "-s", .column = 1};
	const char *equals = strchr(assignment, '=');
	struct spec saved;
	char *key;
	int rc = keep_override(spec, assignment);

	if (rc < 0)
		return rc;
	show_overrides(spec, diag);
	path.line = (uint32_t)spec->overrides.count;
	if (!equals || equals == assignment) {
		path.end_column = 1 + utf8_count(assignment, strlen(assignment));
		diag_add(diag, DIAG_ERROR, "spec-override", &path,
			 "'%.60s' is not KEY.PATH=VALUE, as in resources.nodes=4",
			 assignment);
		return -EINVAL;
	}
	key = spec_arena_copy(&spec->arena, assignment, (size_t)(equals - assignment));
	parts.value = spec->overrides.items[spec->overrides.count - 1].text +
		      (equals - assignment) + 1;
	if (!key)
		return -ENOMEM;
	parts.place = path;
	parts.place.column = 2 + utf8_count(assignment, (size_t)(equals - assignment));
	parts.place.end_column =
		parts.place.column + utf8_count(parts.value, strlen(parts.value));
	saved = *spec;
	rc = find_field(spec, key, path, &parts, diag);
	if (rc == 0)
		rc = apply(spec, &parts, diag);
	if (rc < 0) {
		/* A section may be half set; its old texts are still in the arena. */
		saved.arena = spec->arena;
		*spec = saved;
	}
	return rc;
}

void spec_clear(struct spec *spec)
{
	spec_arena_free(&spec->arena);
	memset(spec, 0, sizeof(*spec));
}
