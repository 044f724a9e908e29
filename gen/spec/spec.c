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
#include <sys/stat.h>

uint64_t spec_digest(uint64_t hash, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Includes of includes, and files in all: more is no way to write a spec. */
#define INCLUDE_DEPTH 16
#define INCLUDE_FILES 64

/* One file being read, and the one that includes it. */
struct level {
	const struct level *outer;
	const char *file;
	struct stat info; /* st_ino 0: no file */
};

struct reading {
	struct spec *spec; /* owns the arena and the digest */
	struct diag *diag;
	size_t files;
};

/* The value of the key `name` of a document, to tell it from the others; NULL: none. */
static const char *document_name(const struct spec_node *root)
{
	const struct spec_field *name = spec_field_find(spec_fields, "name");

	if (!root || root->kind != SPEC_NODE_MAPPING)
		return NULL;
	for (size_t i = 0; i + 1 < root->count; i += 2) {
		const struct spec_node *key = root->children[i];
		const struct spec_node *value = root->children[i + 1];

		if (key->kind == SPEC_NODE_SCALAR && value->kind == SPEC_NODE_SCALAR &&
		    spec_field_find(spec_fields, key->text) == name)
			return value->text;
	}
	return NULL;
}

/* "1 (first), 2, 3 (third)"; cut to SIZE. */
static void list_documents(struct spec_node *const *roots, size_t count, char *text,
			   size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && at < size; i++) {
		const char *name = document_name(roots[i]);

		at += (size_t)snprintf(text + at, size - at, "%s%zu%s%.40s%s",
				       i ? ", " : "", i + 1, name ? " (" : "",
				       name ? name : "", name ? ")" : "");
	}
}

/* Which of the documents the spec is to be; -EINVAL, reported: it cannot be told. */
static int choose_document(const struct spec *spec, const char *file, bool included,
			   struct spec_node *const *roots, size_t count, size_t *index,
			   struct diag *diag)
{
	const struct diag_place place = {.file = file};
	const char *wanted = spec->document;
	char list[256];

	*index = 0;
	if (!wanted && count == 1)
		return 0;
	for (size_t i = 0; wanted && i < count; i++) {
		const char *name = document_name(roots[i]);
		char number[24];

		snprintf(number, sizeof(number), "%zu", i + 1);
		*index = i;
		if (strcmp(number, wanted) == 0 || (name && strcmp(name, wanted) == 0))
			return 0;
	}
	list_documents(roots, count, list, sizeof(list));
	if (wanted)
		diag_add(diag, DIAG_ERROR, "spec-document", &place,
			 "there is no document %.60s in it; there are: %s", wanted, list);
	else
		diag_add(diag, DIAG_ERROR, "spec-document", &place,
			 "the file has %zu documents, each a job of its own: %s", count,
			 list);
	diag_fix(diag, "%s",
		 included ? "include files with one document each"
			  : "say which one is meant: --document with its number or name");
	return -EINVAL;
}

/*
 * What a spec can say in one of several ways: who says one does not want the other from
 * elsewhere.
 */
static const struct {
	size_t offset;
	unsigned int group; /* bit */
	const char *key;
} alternatives[] = {
#define ALTERNATIVE(group, member)                                  \
	{                                                           \
		offsetof(struct spec, member), 1u << group, #member \
	}
	ALTERNATIVE(0, run.script),
	ALTERNATIVE(0, run.command),
	ALTERNATIVE(0, run.module),
	ALTERNATIVE(0, mmdet.config),
	ALTERNATIVE(1, resources.mem),
	ALTERNATIVE(1, resources.mem_per_cpu),
	ALTERNATIVE(1, resources.mem_per_gpu),
	ALTERNATIVE(2, resources.cpus_per_task),
	ALTERNATIVE(2, resources.cpus_per_gpu),
#undef ALTERNATIVE
};

static int inherit_spec(struct spec *to, const struct spec *from,
			struct spec_arena **arena)
{
	const struct spec_field *mmdet = spec_field_find(spec_fields, "mmdet");
	unsigned int given = 0;

	for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
		const struct spec_value *value =
			(const void *)((const char *)to + alternatives[i].offset);

		given |= value->given ? alternatives[i].group : 0;
	}
	for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
		struct spec_value *value = (void *)((char *)to + alternatives[i].offset);

		if (given & alternatives[i].group && !value->given)
			value->removed = true;
	}
	/* Arguments and settings are those of another program. */
	if (given & 1u && !to->run.args.given)
		to->run.args.removed = true;
	if (to->run.command.given || to->run.module.given ||
	    (to->run.script.given && !to->mmdet.config.given))
		mmdet = mmdet->fields;
	else
		mmdet = NULL;
	for (; mmdet && mmdet->name; mmdet++) {
		struct spec_value *value = (void *)((char *)to + mmdet->offset);

		if (!value->given)
			value->removed = true;
	}
	return spec_inherit(to, from, spec_fields, arena);
}

static int read_includes(struct reading *reading, struct spec *spec,
			 const struct level *level);

/* TEXT as FILE into SPEC, with what it includes. */
static int read_level(struct reading *reading, struct spec *spec,
		      const struct level *level, const char *text, size_t length)
{
	const size_t skip = spec_mark_length(text, length);
	struct diag *diag = reading->diag;
	struct spec_node **roots;
	size_t index;
	int rc, included;

	text += skip;
	length -= skip;
	diag_source(diag, level->file, text, length);
	rc = spec_yaml_parse_all(&roots, &spec->documents, level->file, text, length,
				 NULL, &reading->spec->arena, diag);
	if (rc == 0)
		rc = choose_document(spec, level->file, level->outer, roots,
				     spec->documents, &index, diag);
	if (rc < 0)
		return rc;
	rc = spec_read_fields(spec, spec_fields, roots[index], &reading->spec->arena,
			      diag);
	if (rc == -ENOMEM)
		return rc;
	included = read_includes(reading, spec, level);
	return included < 0 ? included : rc;
}

/* The path of what LEVEL includes as TEXT: beside the file itself. */
static const char *include_path(struct reading *reading, const struct level *level,
				const char *text)
{
	const char *slash = strrchr(level->file, '/');

	if (text[0] == '/' || !slash)
		return text;
	return spec_arena_format(&reading->spec->arena, "%.*s/%s",
				 (int)(slash - level->file), level->file, text);
}

/* True, and reported, when FILE is one of those that are being read. */
static bool is_circle(struct reading *reading, const struct level *level,
		      const struct stat *info, const struct spec_item *item)
{
	const struct level *outer = level;

	while (outer && !(outer->info.st_ino == info->st_ino &&
			  outer->info.st_dev == info->st_dev && outer->info.st_ino))
		outer = outer->outer;
	if (!outer)
		return false;
	diag_add(reading->diag, DIAG_ERROR, "spec-include", &item->place,
		 outer == level ? "%.60s includes itself"
				: "including %.60s here goes round in a circle: it is "
				  "being read already",
		 item->text);
	return true;
}

static int read_include(struct reading *reading, struct spec *spec,
			const struct level *outer, const struct spec_item *item)
{
	struct level level = {.outer = outer};
	struct diag *diag = reading->diag;
	unsigned int depth = 0;
	size_t length;
	char *text;
	int rc;

	level.file = include_path(reading, outer, item->text);
	if (!level.file)
		return -ENOMEM;
	for (const struct level *at = outer; at; at = at->outer)
		depth++;
	if (depth > INCLUDE_DEPTH || reading->files++ >= INCLUDE_FILES) {
		diag_add(diag, DIAG_ERROR, "spec-include", &item->place,
			 depth > INCLUDE_DEPTH ? "includes nest deeper than %d"
					       : "more than %d files are included",
			 depth > INCLUDE_DEPTH ? INCLUDE_DEPTH : INCLUDE_FILES);
		return -EINVAL;
	}
	if (stat(level.file, &level.info) < 0 || !S_ISREG(level.info.st_mode)) {
		diag_add(diag, DIAG_ERROR, "spec-include", &item->place,
			 "%.200s cannot be included: %s", level.file,
			 level.info.st_mode ? "it is no regular file" : strerror(errno));
		return -EINVAL;
	}
	if (is_circle(reading, outer, &level.info, item))
		return -EINVAL;
	rc = spec_file_read(level.file, &text, &length, diag);
	if (rc < 0)
		return rc == -ENOMEM ? rc : -EINVAL;
	reading->spec->digest = spec_digest(reading->spec->digest, text, length);
	rc = read_level(reading, spec, &level, text, length);
	free(text);
	return rc;
}

/* The later of several includes wins, and the file itself over all of them. */
static int read_includes(struct reading *reading, struct spec *spec,
			 const struct level *level)
{
	const struct spec_value include = spec->include;
	struct spec_arena **arena = &reading->spec->arena;
	struct spec *included;
	int result = 0;

	/* A file's own; what it includes has been asked already. */
	spec->include.removed = true;
	if (include.count == 0)
		return 0;
	included = spec_arena_alloc(arena, include.count * sizeof(*included));
	if (!included)
		return -ENOMEM;
	for (size_t i = 0; i < include.count && result != -ENOMEM; i++) {
		int rc = read_include(reading, &included[i], level, &include.items[i]);

		if (rc < 0)
			result = rc;
	}
	for (size_t i = include.count; i > 0 && result != -ENOMEM; i--) {
		int rc = inherit_spec(spec, &included[i - 1], arena);

		if (rc < 0)
			result = rc;
	}
	return result;
}

int spec_read_text(struct spec *spec, const char *file, const char *text, size_t length,
		   struct diag *diag)
{
	struct reading reading = {.spec = spec, .diag = diag};
	struct level level = {0};

	spec->file = spec_arena_copy(&spec->arena, file, strlen(file));
	if (!spec->file)
		return -ENOMEM;
	spec->digest = spec_digest(SPEC_DIGEST_START, text, length);
	level.file = spec->file;
	if (strcmp(file, "-") != 0 && stat(file, &level.info) < 0)
		level.info = (struct stat){0};
	return read_level(&reading, spec, &level, text, length);
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

int spec_complete(struct spec *spec, const struct spec *defaults)
{
	struct spec *components = spec->het.entries;
	int rc = defaults ? inherit_spec(spec, defaults, &spec->arena) : 0;

	for (size_t i = 0; i < spec->het.count && rc == 0; i++) {
		components[i].het.removed = true;
		components[i].sweep.matrix.removed = true;
		components[i].sweep.zip.removed = true;
		components[i].sweep.as.removed = true;
		components[i].sweep.max.removed = true;
		rc = inherit_spec(&components[i], spec, &spec->arena);
		components[i].file = spec->file;
		components[i].digest = spec->digest;
	}
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
		if (field->type == SPEC_MAP || field->type == SPEC_OPTIONS) {
			const char *fault = spec_key_fault(field, path);

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
	const size_t most = map->count + map->gone + 1;
	struct spec_item *items = spec_arena_alloc(&spec->arena, most * sizeof(*items));
	const struct spec_item entry = {name, text, *place};
	size_t count = 0, gone = 0;
	bool found = false;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->items[i].name, name) != 0) {
			items[count++] = map->items[i];
		} else if (text) {
			items[count++] = entry;
			found = true;
		}
	}
	if (text && !found)
		items[count++] = entry;
	for (size_t i = map->count; i < map->count + map->gone; i++) {
		if (strcmp(map->items[i].name, name) != 0)
			items[count + gone++] = map->items[i];
	}
	if (!text)
		items[count + gone++] = entry;
	if (!map->given)
		map->place = *place;
	map->given = map->given || text || gone > 0;
	map->items = items;
	map->count = count;
	map->gone = gone;
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
	case SPEC_LIST:
		return *text == '[';
	case SPEC_MAP:
	case SPEC_OPTIONS:
	case SPEC_AXES:
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
	/* The files have been read. */
	if (field->offset == offsetof(struct spec, include) &&
	    field->type == SPEC_WORDS) {
		diag_add(diag, DIAG_ERROR, "spec-override", &assignment->place,
			 "include cannot be set here; write it into the spec");
		return -EINVAL;
	}
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

int spec_set(struct spec *spec, const char *path, const char *value,
	     const struct diag_place *path_place, const struct diag_place *value_place,
	     struct diag *diag)
{
	struct assignment parts = {.place = *value_place};
	char *key = spec_arena_copy(&spec->arena, path, strlen(path));
	struct spec saved = *spec;
	int rc;

	parts.value = spec_arena_copy(&spec->arena, value, strlen(value));
	if (!key || !parts.value)
		return -ENOMEM;
	rc = find_field(spec, key, *path_place, &parts, diag);
	if (rc == 0)
		rc = apply(spec, &parts, diag);
	if (rc < 0) {
		/* A section may be half set; its old texts are still in the arena. */
		saved.arena = spec->arena;
		*spec = saved;
	}
	return rc;
}

int spec_override(struct spec *spec, const char *assignment, struct diag *diag)
{
	struct diag_place path = {.file = "-s", .column = 1}, value;
	const char *equals = strchr(assignment, '=');
	const char *copy;
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
	copy = spec->overrides.items[spec->overrides.count - 1].text +
	       (equals - assignment) + 1;
	key = strndup(assignment, (size_t)(equals - assignment));
	if (!key)
		return -ENOMEM;
	value = path;
	value.column = 2 + utf8_count(assignment, (size_t)(equals - assignment));
	value.end_column = value.column + utf8_count(copy, strlen(copy));
	rc = spec_set(spec, key, copy, &path, &value, diag);
	free(key);
	return rc;
}

void spec_clear(struct spec *spec)
{
	spec_arena_free(&spec->arena);
	memset(spec, 0, sizeof(*spec));
}
