/* SPDX-License-Identifier: MIT */
/*
 * The event loop over libyaml and the words for its complaints. libyaml knows only the
 * place where it gave up; what the user did is said by the table `complaints`.
 */
#include "gen/spec/yaml.h"

#include "gen/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <yaml.h>

struct anchor {
	const char *name;
	struct spec_node *node; /* NULL while the node is still open */
};

struct parse {
	yaml_parser_t yaml;
	const char *file;
	const char *text;
	size_t length;
	const struct diag_place *at;
	struct spec_arena **arena;
	struct diag *diag;
	struct anchor *anchors;
	size_t anchors_count;
	unsigned int depth;
};

/* Texts of libyaml 0.2 (scanner.c, parser.c), and what they mean to who wrote the file.
 */
static const struct {
	const char *problem;
	const char *meaning;
} complaints[] = {
	{"mapping values are not allowed in this context",
	 "a second `: ` in one value, or a key indented deeper than its neighbours; put "
	 "quotes "
	 "around a value that contains `: `"},
	{"found character that cannot start any token",
	 "a value cannot begin with this character; put quotes around it"},
	{"could not find expected ':'", "a key without its `:`"},
	{"did not find expected key", "this line is indented unlike the ones above it, "
				      "or a quote or bracket is left open"},
	{"did not find expected '-' indicator",
	 "this line is indented unlike the list above it; list elements begin with `- `"},
	{"found unexpected end of stream", "a quote is opened and never closed"},
	{"did not find expected ',' or ']'",
	 "a list in [ ] is not closed, or lacks a comma"},
	{"did not find expected ',' or '}'",
	 "a map in { } is not closed, or lacks a comma"},
	{"block sequence entries are not allowed in this context",
	 "a list element cannot stand here; begin the list on its own line"},
	{"found unknown escape character",
	 "no such escape in \" \"; write \\\\ for a backslash, or use ' '"},
	{"control characters are not allowed",
	 "a control character; remove it, or write it as \"\\xNN\" in double quotes"},
};

static struct diag_place place_at(const struct parse *parse, const yaml_mark_t *start,
				  const yaml_mark_t *end)
{
	struct diag_place place = {
		.file = parse->file,
		.line = (uint32_t)start->line + 1,
		.column = (uint32_t)start->column + 1,
		.end_column = (uint32_t)start->column + 2,
	};

	if (parse->at)
		return *parse->at;
	if (end->line == start->line && end->column > start->column)
		place.end_column = (uint32_t)end->column + 1;
	return place;
}

static struct diag_place place_of_byte(const struct parse *parse, size_t offset)
{
	struct diag_place place = {.file = parse->file};

	utf8_place(parse->text, offset < parse->length ? offset : parse->length,
		   &place.line, &place.column);
	place.end_column = place.column + 1;
	return place;
}

/* True when a tab stands among the blanks that begin line LINE (from 1). */
static bool tab_indents(const struct parse *parse, uint32_t line,
			struct diag_place *place)
{
	const char *at = parse->text, *end = parse->text + parse->length;
	uint32_t column = 1;

	for (; line > 1 && at; line--) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (at)
			at++;
	}
	for (; at && at < end && *at == ' '; at++)
		column++;
	if (!at || at >= end || *at != '\t')
		return false;
	place->column = column;
	place->end_column = column + 1;
	return true;
}

static int complain(const struct parse *parse)
{
	const yaml_parser_t *yaml = &parse->yaml;
	const char *problem = yaml->problem ? yaml->problem : "not YAML";
	const char *meaning = NULL;
	struct diag_place place;

	if (yaml->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	place = place_at(parse, &yaml->problem_mark, &yaml->problem_mark);
	/* The reader is ahead of the scanner: it has an offset and no mark. */
	if (yaml->error == YAML_READER_ERROR && !parse->at)
		place = place_of_byte(parse, yaml->problem_offset);
	for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
		if (strcmp(problem, complaints[i].problem) == 0)
			meaning = complaints[i].meaning;
	}
	if (!parse->at && tab_indents(parse, place.line, &place)) {
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &place,
			 "a tab indents this line; YAML takes only blanks");
		diag_fix(parse->diag, "indent with blanks, two a level");
		return -EINVAL;
	}
	if (meaning)
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &place, "%s", meaning);
	else
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &place, "not YAML: %s",
			 problem);
	return -EINVAL;
}

static int next_event(struct parse *parse, yaml_event_t *event)
{
	if (yaml_parser_parse(&parse->yaml, event))
		return 0;
	return complain(parse);
}

static struct anchor *anchor_find(const struct parse *parse, const char *name)
{
	for (size_t i = parse->anchors_count; i > 0; i--) {
		if (strcmp(parse->anchors[i - 1].name, name) == 0)
			return &parse->anchors[i - 1];
	}
	return NULL;
}

/* Opens anchor NAME (NULL: none) and gives its index in *INDEX, which survives growth. */
static int anchor_open(struct parse *parse, const yaml_char_t *name, size_t *index)
{
	struct anchor *grown;

	*index = SIZE_MAX;
	if (!name)
		return 0;
	if (parse->anchors_count >= SPEC_YAML_KEYS)
		return -E2BIG;
	grown = spec_arena_grow(parse->arena, parse->anchors, parse->anchors_count,
				sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	parse->anchors = grown;
	*index = parse->anchors_count++;
	grown[*index].node = NULL;
	grown[*index].name = spec_arena_copy(parse->arena, (const char *)name,
					     strlen((const char *)name));
	return grown[*index].name ? 0 : -ENOMEM;
}

static int add_child(struct parse *parse, struct spec_node *parent,
		     struct spec_node *child)
{
	struct spec_node **grown =
		spec_arena_grow(parse->arena, parent->children, parent->count,
				sizeof(struct spec_node *));

	if (!grown)
		return -ENOMEM;
	parent->children = grown;
	parent->children[parent->count++] = child;
	return 0;
}

static int parse_alias(struct parse *parse, const yaml_event_t *event,
		       struct spec_node *node)
{
	const char *name = (const char *)event->data.alias.anchor;
	const struct diag_place place =
		place_at(parse, &event->start_mark, &event->end_mark);
	const struct anchor *anchor = anchor_find(parse, name);

	if (!anchor || !anchor->node) {
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &place,
			 anchor ? "alias *%s stands inside its own anchor"
				: "alias *%s has no anchor &%s above it",
			 name, name);
		return -EINVAL;
	}
	*node = *anchor->node;
	node->place = place;
	return 0;
}

bool spec_yaml_null(const char *text)
{
	/* yaml.org/type/null.html */
	static const char *const nulls[] = {"~", "null", "Null", "NULL"};

	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++) {
		if (strcmp(text, nulls[i]) == 0)
			return true;
	}
	return false;
}

static bool is_null(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	/* Quotes, and a tag such as !!str, make it a text. */
	return event->data.scalar.plain_implicit &&
	       event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (*text == '\0' || spec_yaml_null(text));
}

static int parse_scalar(struct parse *parse, const yaml_event_t *event,
			struct spec_node *node)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;

	if (memchr(text, '\0', length)) {
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &node->place,
			 "a NUL character cannot be part of a value");
		return -EINVAL;
	}
	node->kind = SPEC_NODE_SCALAR;
	node->null = is_null(event);
	node->text = spec_arena_copy(parse->arena, text, length);
	return node->text ? 0 : -ENOMEM;
}

static int parse_node(struct parse *parse, yaml_event_t *event,
		      struct spec_node **result);

static int parse_children(struct parse *parse, struct spec_node *node,
			  yaml_event_type_t end)
{
	for (;;) {
		struct spec_node *child;
		yaml_event_t event;
		int rc = next_event(parse, &event);

		if (rc < 0)
			return rc;
		if (event.type == end) {
			yaml_event_delete(&event);
			return 0;
		}
		rc = parse_node(parse, &event, &child);
		yaml_event_delete(&event);
		if (rc == 0)
			rc = add_child(parse, node, child);
		if (rc < 0)
			return rc;
	}
}

static int parse_open(struct parse *parse, const yaml_event_t *event,
		      struct spec_node *node)
{
	bool sequence = event->type == YAML_SEQUENCE_START_EVENT;
	int rc;

	node->kind = sequence ? SPEC_NODE_SEQUENCE : SPEC_NODE_MAPPING;
	if (parse->depth >= SPEC_YAML_DEPTH) {
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &node->place,
			 "lists and maps nest deeper than %d", SPEC_YAML_DEPTH);
		return -EINVAL;
	}
	parse->depth++;
	rc = parse_children(parse, node,
			    sequence ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT);
	parse->depth--;
	return rc;
}

/* EVENT stays the caller's. Recursion is bounded by SPEC_YAML_DEPTH. */
static int parse_node(struct parse *parse, yaml_event_t *event, struct spec_node **result)
{
	struct spec_node *node = spec_arena_alloc(parse->arena, sizeof(*node));
	const yaml_char_t *name = NULL;
	size_t anchor;
	int rc;

	if (!node)
		return -ENOMEM;
	node->place = place_at(parse, &event->start_mark, &event->end_mark);
	if (event->type == YAML_SCALAR_EVENT)
		name = event->data.scalar.anchor;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		name = event->data.sequence_start.anchor;
	else if (event->type == YAML_MAPPING_START_EVENT)
		name = event->data.mapping_start.anchor;
	rc = anchor_open(parse, name, &anchor);
	if (rc == -E2BIG) {
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &node->place,
			 "more than %d anchors", SPEC_YAML_KEYS);
		return -EINVAL;
	}
	if (rc < 0)
		return rc;
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		rc = parse_alias(parse, event, node);
		break;
	case YAML_SCALAR_EVENT:
		rc = parse_scalar(parse, event, node);
		break;
	default:
		rc = parse_open(parse, event, node);
		break;
	}
	if (rc < 0)
		return rc;
	if (anchor != SIZE_MAX)
		parse->anchors[anchor].node = node;
	*result = node;
	return 0;
}

/* The documents of the stream, and where each begins. */
struct documents {
	struct spec_node **roots;
	struct diag_place *places;
	size_t count;
};

static int add_document(struct parse *parse, struct documents *documents,
			const struct diag_place *place)
{
	struct spec_node **roots = spec_arena_grow(parse->arena, documents->roots,
						   documents->count, sizeof(*roots));
	struct diag_place *places = spec_arena_grow(parse->arena, documents->places,
						    documents->count, sizeof(*places));

	if (!roots || !places)
		return -ENOMEM;
	documents->roots = roots;
	documents->places = places;
	roots[documents->count] = NULL;
	places[documents->count++] = *place;
	parse->anchors_count = 0;
	return 0;
}

static int parse_stream(struct parse *parse, struct documents *documents)
{
	for (;;) {
		struct diag_place place;
		yaml_event_type_t type;
		yaml_event_t event;
		int rc = next_event(parse, &event);

		if (rc < 0)
			return rc;
		type = event.type;
		place = place_at(parse, &event.start_mark, &event.end_mark);
		if (type == YAML_DOCUMENT_START_EVENT)
			rc = add_document(parse, documents, &place);
		else if (type != YAML_STREAM_START_EVENT &&
			 type != YAML_STREAM_END_EVENT && type != YAML_DOCUMENT_END_EVENT)
			rc = parse_node(parse, &event,
					&documents->roots[documents->count - 1]);
		yaml_event_delete(&event);
		if (rc < 0 || type == YAML_STREAM_END_EVENT)
			return rc;
	}
}

static int check_text(const struct parse *parse)
{
	struct diag_place place = {.file = parse->file};

	if (parse->length > SPEC_YAML_BYTES) {
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &place,
			 "longer than %d KiB; this is no job spec",
			 SPEC_YAML_BYTES / 1024);
		return -EINVAL;
	}
	for (size_t i = 0, bytes; i < parse->length; i += bytes) {
		uint32_t code = '\0';

		bytes = utf8_decode(parse->text + i, parse->length - i, &code);
		if (code != '\0')
			continue;
		place = place_of_byte(parse, i);
		diag_add(parse->diag, DIAG_ERROR, "spec-yaml", &place,
			 bytes ? "byte 0x%02x: this is not a text file"
			       : "byte 0x%02x is not UTF-8; save the file as UTF-8",
			 (unsigned char)parse->text[i]);
		return -EINVAL;
	}
	return 0;
}

static int parse_all(struct documents *documents, struct parse *parse)
{
	int rc = check_text(parse);

	if (rc < 0)
		return rc;
	if (!yaml_parser_initialize(&parse->yaml))
		return -ENOMEM;
	yaml_parser_set_encoding(&parse->yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parse->yaml, (const unsigned char *)parse->text,
				     parse->length);
	rc = parse_stream(parse, documents);
	yaml_parser_delete(&parse->yaml);
	return rc;
}

static bool has_content(const struct spec_node *root)
{
	return root && !(root->kind == SPEC_NODE_SCALAR && root->null);
}

int spec_yaml_parse_all(struct spec_node ***roots, size_t *count, const char *file,
			const char *text, size_t length, const struct diag_place *at,
			struct spec_arena **arena, struct diag *diag)
{
	struct parse parse = {.file = file,
			      .text = text,
			      .length = length,
			      .at = at,
			      .arena = arena,
			      .diag = diag};
	struct documents documents = {0};
	const struct diag_place start = {.file = file};
	int rc = parse_all(&documents, &parse);

	*roots = NULL;
	*count = 0;
	if (rc == 0 && documents.count == 0)
		rc = add_document(&parse, &documents, &start);
	if (rc < 0)
		return rc;
	*roots = documents.roots;
	for (size_t i = 0; i < documents.count; i++) {
		if (has_content(documents.roots[i]))
			(*roots)[(*count)++] = documents.roots[i];
	}
	if (*count == 0)
		*count = 1;
	return 0;
}

int spec_yaml_parse(struct spec_node **root, const char *file, const char *text,
		    size_t length, const struct diag_place *at, struct spec_arena **arena,
		    struct diag *diag)
{
	struct parse parse = {.file = file,
			      .text = text,
			      .length = length,
			      .at = at,
			      .arena = arena,
			      .diag = diag};
	struct documents documents = {0};
	int rc = parse_all(&documents, &parse);

	*root = rc == 0 && documents.count ? documents.roots[0] : NULL;
	if (rc == 0 && documents.count > 1) {
		diag_add(diag, DIAG_ERROR, "spec-yaml", &documents.places[1],
			 "a second YAML document begins here; a file holds one");
		rc = -EINVAL;
	}
	return rc;
}
