/* SPDX-License-Identifier: MIT */
/*
 * The reader that all tables share. One row in `types` says what a type is called in
 * messages and which function reads it; nothing here knows a key of the spec.
 */
#include "gen/spec/read.h"

#include "gen/spec/scalar.h"
#include "spank/launch/launchers.h"
#include "spank/launch/nearest.h"
#include "spank/launch/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Merges of merges; YAML that people write has one or two. */
#define MERGE_DEPTH 16

struct reader {
	struct spec_arena **arena;
	struct diag *diag;
	size_t stop;                  /* count of errors at which reading ends */
	const char *section;          /* being read; NULL: the top level */
	const struct spec_field *all; /* table of the top level */
	bool replaces;                /* values that are there already, as -s does */
};

struct pair {
	const struct spec_node *key, *value;
	bool merged; /* came by `<<` */
};

/* The entries of one mapping, its own before the merged ones. */
struct pairs {
	struct pair *list;
	size_t count;
	size_t visited; /* merged maps and entries, taken or not: bounds a merge bomb */
};

typedef int (*read_function)(struct reader *reader, const struct spec_field *field,
			     const struct spec_node *node, void *place);

static bool is_full(const struct reader *reader)
{
	return reader->diag->errors >= reader->stop;
}

/* True when WORD stands in LIST, a text of words separated by blanks; *INDEX: which. */
static bool word_in_list(const char *list, const char *word, uint64_t *index)
{
	size_t length = strlen(word);

	*index = 0;
	while (list && *list) {
		size_t size = strcspn(list, " ");

		if (size == length && memcmp(list, word, length) == 0)
			return true;
		list += size;
		list += strspn(list, " ");
		++*index;
	}
	return false;
}

/* True when LENGTH bytes of WORD are one of LIST, in upper or lower case. */
static bool choice_of(const char *list, const char *word, size_t length)
{
	while (*list) {
		size_t size = strcspn(list, " ");

		if (size == length && strncasecmp(list, word, length) == 0)
			return true;
		list += size;
		list += strspn(list, " ");
	}
	return false;
}

static int value_is_wrong(const struct reader *reader, const struct spec_field *field,
			  const struct spec_node *node, const char *expected)
{
	diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place,
		 "%s: '%.60s' is not %s", field->name, node->text, expected);
	return -EINVAL;
}

static int read_text(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *node, void *place)
{
	const char *text = node->text;

	if (*text == '\0') {
		diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place,
			 "%s is empty; give it a value or remove the line", field->name);
		return -EINVAL;
	}
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return value_is_wrong(reader, field, node,
					      "one line without control characters");
	}
	return 0;
}

static int read_name(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *node, void *place)
{
	const char *text = node->text;

	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && !strchr("_.-", *text))
			break;
	}
	if (*node->text == '\0' || *text != '\0')
		return value_is_wrong(reader, field, node,
				      "a name of letters, digits, _ . -");
	return 0;
}

/* [TYPE:]COUNT, as sbatch has it for GPUs, and --gres=gpu:[TYPE:]COUNT. */
static void fix_typed_count(const struct reader *reader, const struct spec_field *field,
			    const char *text)
{
	const char *colon;

	if (strncmp(text, "gpu:", 4) == 0)
		text += 4;
	colon = strchr(text, ':');
	if (strncmp(field->name, "gpus", 4) != 0)
		return;
	if (!colon && text[0] && !text[strspn(text, "0123456789")])
		diag_fix(reader->diag, "%s: %s", field->name, text);
	if (!colon || colon == text || !colon[1] || strchr(text, ',') ||
	    colon[1 + strspn(colon + 1, "0123456789")])
		return;
	diag_fix(reader->diag, "%s: %s and gpu_type: %.*s", field->name, colon + 1,
		 (int)(colon - text), text);
}

static int read_count(struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node, void *place)
{
	struct spec_value *value = place;
	uint64_t most = field->most ? field->most : SPEC_COUNT_MAX;
	const char *text = node->text;
	uint64_t number = 0, index;
	char expected[160];

	if (word_in_list(field->choices, text, &index)) {
		value->word = text;
		return 0;
	}
	for (; isdigit((unsigned char)*text) && number <= most; text++)
		number = 10 * number + (uint64_t)(*text - '0');
	if (*node->text == '\0' || *text != '\0' || number < field->least ||
	    number > most) {
		if (field->least == most)
			snprintf(expected, sizeof(expected), "%u", field->least);
		else if (field->most)
			snprintf(expected, sizeof(expected),
				 "a whole number from %u to %u", field->least,
				 field->most);
		else
			snprintf(expected, sizeof(expected),
				 "a whole number of at least %u", field->least);
		if (number > most && !field->most)
			snprintf(expected, sizeof(expected),
				 "a number that Slurm can count to");
		if (field->choices) {
			size_t at = strlen(expected);

			snprintf(expected + at, sizeof(expected) - at, ", or one of: %s",
				 field->choices);
		}
		value_is_wrong(reader, field, node, expected);
		fix_typed_count(reader, field, node->text);
		return -EINVAL;
	}
	value->number = number;
	return 0;
}

static int read_choice(struct reader *reader, const struct spec_field *field,
		       const struct spec_node *node, void *place)
{
	struct spec_value *value = place;
	char expected[160];

	if (word_in_list(field->choices, node->text, &value->number))
		return 0;
	snprintf(expected, sizeof(expected), "one of: %s", field->choices);
	return value_is_wrong(reader, field, node, expected);
}

static int read_flag(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *node, void *place)
{
	/* The booleans of YAML 1.1 but for the single letters. */
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
	struct spec_value *value = place;
	char expected[160];
	uint64_t index;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(node->text, words[i]) == 0) {
			value->number = i % 2;
			value->text = words[i % 2];
			return 0;
		}
	}
	if (word_in_list(field->choices, node->text, &index)) {
		value->number = 1;
		return 0;
	}
	snprintf(expected, sizeof(expected), "one of: true false%s%s",
		 field->choices ? " " : "", field->choices ? field->choices : "");
	return value_is_wrong(reader, field, node, expected);
}

static int read_launcher(struct reader *reader, const struct spec_field *field,
			 const struct spec_node *node, void *place)
{
	const char *nearest;

	if (launch_launcher_find(node->text))
		return 0;
	nearest = launch_nearest(node->text, &launch_launchers[0].name,
				 launch_launchers_count, sizeof(launch_launchers[0]));
	if (nearest)
		diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place,
			 "%s: there is no '%.60s'; did you mean %s?", field->name,
			 node->text, nearest);
	else
		diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place,
			 "%s: there is no '%.60s'; `srank launchers` lists them all",
			 field->name, node->text);
	return -EINVAL;
}

/*
 * The rules of what the launch settings take stand there and nowhere else. They take
 * lists; a comma that ends the value, as in `order,off`, would say something else as
 * well.
 */
static int read_setting(struct reader *reader, const struct spec_field *field,
			const struct spec_node *node, void *place)
{
	const char *text = node->text, *map = "map:";
	const char *devices =
		strncmp(text, map, strlen(map)) == 0 ? text + strlen(map) : NULL;
	struct launch_settings settings;
	struct launch_error error = {{0}};
	char list[sizeof(settings.gpus_map) + 32];
	int length = snprintf(list, sizeof(list), "%s=%s", field->setting, text);

	launch_settings_init(&settings);
	if (length >= (int)sizeof(list) || (!devices && strchr(text, ',')))
		return value_is_wrong(reader, field, node, "one value");
	if (launch_settings_parse(&settings, list, &error) < 0) {
		diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place, "%s",
			 error.text);
		return -EINVAL;
	}
	if (devices && strcmp(settings.gpus_map, devices) != 0)
		return value_is_wrong(reader, field, node, "one list of devices");
	return 0;
}

static int read_time(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *node, void *place)
{
	struct spec_value *value = place;
	char hint[SPEC_HINT_MAX];

	if (spec_time_read(node->text, &value->number, hint) == 0)
		return 0;
	value_is_wrong(reader, field, node,
		       "a time that sbatch takes: MINUTES, HOURS:MINUTES:SECONDS, "
		       "DAYS-HOURS:MINUTES:SECONDS");
	if (*hint)
		diag_fix(reader->diag, "%s: %s", field->name, hint);
	return -EINVAL;
}

static int read_memory(struct reader *reader, const struct spec_field *field,
		       const struct spec_node *node, void *place)
{
	struct spec_value *value = place;
	const char *text = node->text;
	char hint[SPEC_HINT_MAX];

	if (field->type == SPEC_GIGABYTES && *text &&
	    strspn(text, "0123456789") == strlen(text)) {
		text = spec_arena_format(reader->arena, "%sG", text);
		if (!text)
			return -ENOMEM;
		value->text = text;
	}
	if (spec_memory_read(text, &value->number, hint) == 0)
		return 0;
	value_is_wrong(reader, field, node,
		       "a size that sbatch takes: digits and K, M, G or T, or 0 for all");
	if (*hint)
		diag_fix(reader->diag, "%s: %s", field->name, hint);
	return -EINVAL;
}

static int read_array(struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node, void *place)
{
	struct spec_value *value = place;

	if (spec_array_read(node->text, &value->number) == 0)
		return 0;
	return value_is_wrong(reader, field, node,
			      "a list of indices that sbatch takes: 0-9, 1,3,5-9:2, with "
			      "%N behind it for N at a time");
}

static int read_signal(struct reader *reader, const struct spec_field *field,
		       const struct spec_node *node, void *place)
{
	struct spec_signal signal;

	if (spec_signal_read(node->text, reader->arena, &signal) == 0)
		return 0;
	return value_is_wrong(
		reader, field, node,
		"a signal that sbatch takes: [B:]NAME[@SECONDS], as B:USR1@120");
}

static int add_item(struct reader *reader, struct spec_value *value, const char *name,
		    const char *text, const struct diag_place *place)
{
	struct spec_item *items = spec_arena_grow(reader->arena, value->items,
						  value->count, sizeof(*items));

	if (!items)
		return -ENOMEM;
	value->items = items;
	items[value->count++] =
		(struct spec_item){.name = name, .text = text, .place = *place};
	return 0;
}

/*
 * Shell code goes into the script as it is, and sbatch refuses one with DOS line ends.
 * Those of the spec's own lines never arrive here: YAML makes each a line feed.
 */
static int check_code(const struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node)
{
	if (field->type != SPEC_LINES || !strchr(node->text, '\r'))
		return 0;
	diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place,
		 "%s: there is a carriage return in it, and sbatch takes no script with "
		 "DOS line ends",
		 field->name);
	diag_fix(reader->diag, "remove it; where the code needs one, write $'\\r'");
	return -EINVAL;
}

static int read_list(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *node, struct spec_value *value)
{
	int result = 0, rc = 0;

	for (size_t i = 0; i < node->count && !is_full(reader) && rc == 0; i++) {
		const struct spec_node *child = node->children[i];

		if (child->kind == SPEC_NODE_SCALAR && !child->null) {
			if (check_code(reader, field, child) < 0)
				result = -EINVAL;
			rc = add_item(reader, value, NULL, child->text, &child->place);
			continue;
		}
		diag_add(reader->diag, DIAG_ERROR, "spec-type", &child->place,
			 child->kind == SPEC_NODE_SCALAR
				 ? "%s: an element without a value; write '' for an "
				   "empty text"
				 : "%s: an element is a list or a map; expected a text",
			 field->name);
		result = -EINVAL;
	}
	return rc < 0 ? rc : result;
}

/* The words of VALUE against the choices of FIELD; commas may part them, as in sbatch. */
static int check_words(struct reader *reader, const struct spec_field *field,
		       const struct spec_value *value)
{
	int result = 0;

	for (size_t i = 0; field->choices && i < value->count; i++) {
		const struct spec_item *item = &value->items[i];

		for (const char *word = item->text;; word++) {
			const size_t length = strcspn(word, ",");

			if (!choice_of(field->choices, word, length)) {
				diag_add(reader->diag, DIAG_ERROR, "spec-value",
					 &item->place, "%s: '%.*s' is not one of: %s",
					 field->name, length > 60 ? 60 : (int)length,
					 word, field->choices);
				result = -EINVAL;
			}
			word += length;
			if (*word == '\0')
				break;
		}
	}
	return result;
}

static int read_words(struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node, void *place)
{
	struct spec_value *value = place;
	const char **words;
	size_t count;
	int rc;

	if (node->kind == SPEC_NODE_SEQUENCE) {
		rc = read_list(reader, field, node, value);
		return rc < 0 ? rc : check_words(reader, field, value);
	}
	rc = spec_words_split(node->text, reader->arena, &words, &count);
	if (rc == -EINVAL)
		diag_add(reader->diag, DIAG_ERROR, "spec-value", &node->place,
			 "%s: a quote is not closed, or a backslash ends the text; "
			 "write a list, one element a word",
			 field->name);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_item(reader, value, NULL, words[i], &node->place);
	return rc < 0 ? rc : check_words(reader, field, value);
}

static int read_lines(struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node, void *place)
{
	struct spec_value *value = place;
	int rc;

	if (node->kind == SPEC_NODE_SEQUENCE)
		return read_list(reader, field, node, value);
	rc = check_code(reader, field, node);
	return rc < 0 ? rc : add_item(reader, value, NULL, node->text, &node->place);
}

/*
 * Adds one entry unless its key is there already. MERGED says that it came by `<<`: then
 * the key that stood first wins, otherwise a second one is a fault.
 */
static int add_pair(struct reader *reader, struct pairs *pairs,
		    const struct spec_node *key, const struct spec_node *value,
		    bool merged)
{
	struct pair *grown;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct spec_node *other = pairs->list[i].key;

		if (strcmp(other->text, key->text) != 0)
			continue;
		if (merged)
			return 0;
		diag_add(reader->diag, DIAG_ERROR, "spec-duplicate-key", &key->place,
			 "key %.60s stands here a second time; the first is on line %u",
			 key->text, other->place.line);
		return -EINVAL;
	}
	grown = spec_arena_grow(reader->arena, pairs->list, pairs->count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	pairs->list = grown;
	grown[pairs->count++] = (struct pair){key, value, merged};
	return 0;
}

static bool is_merge(const struct spec_node *key)
{
	return strcmp(key->text, "<<") == 0;
}

static int merge(struct reader *reader, const struct spec_node *from, struct pairs *pairs,
		 unsigned int depth);

static int check_size(struct reader *reader, const struct spec_node *node,
		      const struct pairs *pairs)
{
	if (pairs->count + pairs->visited <= SPEC_YAML_KEYS)
		return 0;
	diag_add(reader->diag, DIAG_ERROR, "spec-yaml", &node->place,
		 "more than %d keys in one map, merged ones counted", SPEC_YAML_KEYS);
	return -EINVAL;
}

/* The entries of NODE itself, then those of its merge keys, nearest first. */
static int collect(struct reader *reader, const struct spec_node *node,
		   struct pairs *pairs, unsigned int depth)
{
	int result = 0;

	for (size_t i = 0; i < node->count && !is_full(reader); i += 2) {
		const struct spec_node *key = node->children[i];
		int rc;

		if (depth > 0)
			pairs->visited++;
		rc = check_size(reader, node, pairs);
		if (rc < 0)
			return rc;
		if (key->kind != SPEC_NODE_SCALAR) {
			diag_add(reader->diag, DIAG_ERROR, "spec-type", &key->place,
				 "a key must be a plain word");
			rc = -EINVAL;
		} else if (!is_merge(key)) {
			rc = add_pair(reader, pairs, key, node->children[i + 1],
				      depth > 0);
		}
		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			result = rc;
	}
	for (size_t i = 0; i < node->count && !is_full(reader); i += 2) {
		const struct spec_node *key = node->children[i];

		if (key->kind == SPEC_NODE_SCALAR && is_merge(key)) {
			int rc = merge(reader, node->children[i + 1], pairs, depth + 1);

			if (rc < 0)
				return rc;
		}
	}
	return result;
}

/* yaml.org/type/merge.html: a map, or a list of maps of which the earlier win. */
static int merge(struct reader *reader, const struct spec_node *from, struct pairs *pairs,
		 unsigned int depth)
{

	if (depth > MERGE_DEPTH) {
		diag_add(reader->diag, DIAG_ERROR, "spec-yaml", &from->place,
			 "merges nest deeper than %d", MERGE_DEPTH);
		return -EINVAL;
	}
	if (from->kind == SPEC_NODE_MAPPING)
		return collect(reader, from, pairs, depth);
	for (size_t i = 0; i < from->count; i++) {
		int rc;

		if (from->children[i]->kind != SPEC_NODE_MAPPING)
			break;
		pairs->visited++;
		rc = check_size(reader, from, pairs);
		if (rc == 0)
			rc = collect(reader, from->children[i], pairs, depth);
		if (rc < 0 || i + 1 == from->count)
			return rc;
	}
	diag_add(reader->diag, DIAG_ERROR, "spec-type", &from->place,
		 "<< takes a map or a list of maps, by their aliases: `<<: *name`");
	return -EINVAL;
}

/* POSIX 8.1, and not only upper case. */
static bool is_variable_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return *name == '\0';
}

const char *spec_variable_fault(const char *name)
{
	/*
	 * bash.1, Shell Variables: those that are read-only, that lose their meaning or
	 * get a value of bash's own, or are arrays. `export` of one ends the job or gives
	 * the tasks something else.
	 */
	static const char *const shells[] = {
		"_",
		"BASHOPTS",
		"BASHPID",
		"BASH_ALIASES",
		"BASH_ARGC",
		"BASH_ARGV",
		"BASH_CMDS",
		"BASH_COMMAND",
		"BASH_LINENO",
		"BASH_MONOSECONDS",
		"BASH_SOURCE",
		"BASH_SUBSHELL",
		"BASH_VERSINFO",
		"DIRSTACK",
		"EPOCHREALTIME",
		"EPOCHSECONDS",
		"EUID",
		"FUNCNAME",
		"GROUPS",
		"HISTCMD",
		"LINENO",
		"OPTIND",
		"PIPESTATUS",
		"PPID",
		"RANDOM",
		"SECONDS",
		"SHELLOPTS",
		"SRANDOM",
		"UID",
	};

	if (!is_variable_name(name))
		return "cannot be the name of a variable";
	if (strcmp(name, "SRANK") == 0 || strncmp(name, "SRANK_", 6) == 0)
		return "is srank's own; launcher, binding and rendezvous say what it "
		       "would";
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(name, shells[i]) == 0)
			return "is bash's own and cannot be exported; choose another "
			       "name";
	}
	return NULL;
}

/*
 * What a value in a map is as one text: a scalar as it is, for options also a list of
 * scalars, as [a,b]. NULL: neither, or no memory.
 */
static const char *entry_text(struct reader *reader, const struct spec_field *field,
			      const struct spec_node *node)
{
	const char *text = "[";

	if (node->kind == SPEC_NODE_SCALAR)
		return node->text;
	if (node->kind != SPEC_NODE_SEQUENCE || field->type != SPEC_OPTIONS)
		return NULL;
	for (size_t i = 0; i < node->count && text; i++) {
		const char *part = entry_text(reader, field, node->children[i]);

		if (!part)
			return NULL;
		text = spec_arena_format(reader->arena, "%s%s%s", text, i ? "," : "",
					 part);
	}
	return text ? spec_arena_format(reader->arena, "%s]", text) : NULL;
}

const char *spec_key_fault(const struct spec_field *field, const char *name)
{
	if (field->type != SPEC_OPTIONS)
		return spec_variable_fault(name);
	/* A key is what stands in front of the first `=`. */
	for (const char *at = name; *at; at++) {
		if ((unsigned char)*at <= ' ' || *at == '=' || *at == 0x7f)
			return "has a blank or a = in it";
	}
	return *name == '\0' || *name == '-' ? "cannot be a key" : NULL;
}

const char *spec_axis_fault(const char *name)
{
	/* A path is looked up where the sweep is applied, with the place of the key. */
	return strchr(name, '.') ? NULL : spec_variable_fault(name);
}

static int read_map(struct reader *reader, const struct spec_field *field,
		    const struct spec_node *node, void *place)
{
	struct spec_value *value = place, removed = {0};
	struct pairs pairs = {0};
	int result = collect(reader, node, &pairs, 0);

	for (size_t i = 0; i < pairs.count && result != -ENOMEM && !is_full(reader);
	     i++) {
		const struct spec_node *key = pairs.list[i].key,
				       *text = pairs.list[i].value;
		const char *fault = spec_key_fault(field, key->text);
		const char *line = entry_text(reader, field, text);
		int rc = -EINVAL;

		if (fault)
			diag_add(reader->diag, DIAG_ERROR, "spec-value", &key->place,
				 "%s: '%.60s' %s", field->name, key->text, fault);
		else if (!line)
			diag_add(reader->diag, DIAG_ERROR, "spec-type", &text->place,
				 field->type == SPEC_OPTIONS
					 ? "%s: the value of %.60s must be a text, or a "
					   "list of texts"
					 : "%s: the value of %.60s must be a text",
				 field->name, key->text);
		else
			rc = add_item(reader, text->null ? &removed : value, key->text,
				      line, &text->place);
		if (rc < 0)
			result = rc;
	}
	/* Behind the others, for who inherits: see spec_complete(). */
	value->gone = 0;
	for (size_t i = 0; i < removed.count && result == 0; i++) {
		result = add_item(reader, value, removed.items[i].name, NULL,
				  &removed.items[i].place);
		value->gone++;
	}
	value->count -= value->gone;
	return result;
}

/* The same struct for all sections: fields have offsets in the whole. */
static int read_fields(struct reader *reader, void *base, const struct spec_field *fields,
		       const struct spec_node *node);

static int read_value(struct reader *reader, void *base, const struct spec_field *field,
		      const struct spec_node *node);

static int read_section(struct reader *reader, const struct spec_field *field,
			const struct spec_node *node, void *base)
{
	const char *outer = reader->section;
	int rc;

	if (node->kind != SPEC_NODE_MAPPING) {
		/* By the name that stands in the spec. */
		struct spec_field part =
			*spec_field_find(field->fields, field->shorthand);

		part.name = field->name;
		return read_value(reader, base, &part, node);
	}
	reader->section = field->name;
	rc = read_fields(reader, base, field->fields, node);
	reader->section = outer;
	return rc;
}

static int start_table(struct reader *reader, const struct spec_field *field,
		       const struct spec_node *node, size_t count,
		       struct spec_table *table)
{
	table->place = node->place;
	table->count = 0;
	table->removed = false;
	table->entries = spec_arena_alloc(reader->arena, (count + 1) * field->size);
	return table->entries ? 0 : -ENOMEM;
}

/* The next entry of TABLE, which start_table() has made room for. */
static void *next_entry(const struct spec_field *field, struct spec_table *table,
			const struct diag_place *place, const char *name)
{
	void *entry = (char *)table->entries + table->count++ * field->size;

	*(struct spec_value *)entry =
		(struct spec_value){.given = true, .place = *place, .text = name};
	return entry;
}

/* The map of one entry of a table or list. */
static int read_entry(struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node, const char *name, void *entry)
{
	const char *outer = reader->section;
	int rc;

	if (node->kind == SPEC_NODE_MAPPING) {
		reader->section = field->name;
		rc = read_fields(reader, entry, field->fields, node);
		reader->section = outer;
		return rc;
	}
	if (node->kind == SPEC_NODE_SCALAR && node->null)
		return 0;
	diag_add(reader->diag, DIAG_ERROR, "spec-type", &node->place,
		 "%s: %.60s must be a map", field->name, name);
	return -EINVAL;
}

static int read_table(struct reader *reader, const struct spec_field *field,
		      const struct spec_node *node, void *place)
{
	struct spec_table *table = place;
	struct pairs pairs = {0};
	int result = collect(reader, node, &pairs, 0);

	if (result == -ENOMEM)
		return result;
	if (start_table(reader, field, node, pairs.count, table) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < pairs.count && result != -ENOMEM && !is_full(reader);
	     i++) {
		const struct spec_node *key = pairs.list[i].key;
		void *entry = next_entry(field, table, &key->place, key->text);
		int rc = read_entry(reader, field, pairs.list[i].value, key->text, entry);

		if (rc < 0)
			result = rc;
	}
	return result;
}

static int read_sections(struct reader *reader, const struct spec_field *field,
			 const struct spec_node *node, void *place)
{
	struct spec_table *table = place;
	int result = start_table(reader, field, node, node->count, table);

	for (size_t i = 0; i < node->count && result != -ENOMEM && !is_full(reader);
	     i++) {
		const struct spec_node *child = node->children[i];
		void *entry = next_entry(field, table, &child->place, NULL);
		int rc = read_entry(reader, field, child, "an element", entry);

		if (rc < 0)
			result = rc;
	}
	return result;
}

static int read_axis(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *key, const struct spec_node *node,
		     struct spec_axis *axis)
{
	const struct spec_field list = {.name = key->text, .type = SPEC_WORDS};
	const char *fault = spec_axis_fault(key->text);

	if (fault) {
		diag_add(reader->diag, DIAG_ERROR, "spec-value", &key->place,
			 "%s: '%.60s' %s", field->name, key->text, fault);
		return -EINVAL;
	}
	if (node->kind != SPEC_NODE_SEQUENCE || node->count == 0) {
		diag_add(reader->diag, DIAG_ERROR, "spec-type", &node->place,
			 "%s: %.60s must be a list of values, as in [1, 2]", field->name,
			 key->text);
		return -EINVAL;
	}
	axis->values = (struct spec_value){.given = true, .place = node->place};
	return read_list(reader, &list, node, &axis->values);
}

static int read_axes(struct reader *reader, const struct spec_field *field,
		     const struct spec_node *node, void *place)
{
	struct spec_table *table = place;
	struct pairs pairs = {0};
	int result = collect(reader, node, &pairs, 0);

	if (result == -ENOMEM)
		return result;
	if (start_table(reader, field, node, pairs.count, table) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < pairs.count && result != -ENOMEM && !is_full(reader);
	     i++) {
		const struct spec_node *key = pairs.list[i].key;
		int rc = read_axis(reader, field, key, pairs.list[i].value,
				   next_entry(field, table, &key->place, key->text));

		if (rc < 0)
			result = rc;
	}
	return result;
}

enum accepts {
	ACCEPTS_SCALAR = 1 << SPEC_NODE_SCALAR,
	ACCEPTS_LIST = 1 << SPEC_NODE_SEQUENCE,
	ACCEPTS_MAP = 1 << SPEC_NODE_MAPPING,
};

static const struct {
	unsigned int accepts;
	const char *what;
	read_function read;
} types[] = {
	[SPEC_TEXT] = {ACCEPTS_SCALAR, "a text", read_text},
	[SPEC_NAME] = {ACCEPTS_SCALAR, "a name", read_name},
	[SPEC_COUNT] = {ACCEPTS_SCALAR, "a whole number", read_count},
	[SPEC_FLAG] = {ACCEPTS_SCALAR, "true or false", read_flag},
	[SPEC_CHOICE] = {ACCEPTS_SCALAR, "one of its words", read_choice},
	[SPEC_LAUNCHER] = {ACCEPTS_SCALAR, "the name of a launcher", read_launcher},
	[SPEC_SETTING] = {ACCEPTS_SCALAR, "a text", read_setting},
	[SPEC_TIME] = {ACCEPTS_SCALAR, "a time", read_time},
	[SPEC_MEMORY] = {ACCEPTS_SCALAR, "a size", read_memory},
	[SPEC_GIGABYTES] = {ACCEPTS_SCALAR, "a size", read_memory},
	[SPEC_ARRAY] = {ACCEPTS_SCALAR, "a list of indices, as 0-9", read_array},
	[SPEC_SIGNAL] = {ACCEPTS_SCALAR, "a signal", read_signal},
	[SPEC_WORDS] = {ACCEPTS_SCALAR | ACCEPTS_LIST, "a list of words, or a text",
			read_words},
	[SPEC_LINES] = {ACCEPTS_SCALAR | ACCEPTS_LIST, "a text, or a list of texts",
			read_lines},
	[SPEC_MAP] = {ACCEPTS_MAP, "a map of names to texts", read_map},
	[SPEC_OPTIONS] = {ACCEPTS_MAP, "a map of keys to values", read_map},
	[SPEC_SECTION] = {ACCEPTS_MAP, "a map", read_section},
	[SPEC_TABLE] = {ACCEPTS_MAP, "a map of names to maps", read_table},
	[SPEC_LIST] = {ACCEPTS_LIST, "a list of maps", read_sections},
	[SPEC_AXES] = {ACCEPTS_MAP, "a map of names to lists", read_axes},
};

/* What FIELD takes, its shorthand included. */
static unsigned int accepted(const struct spec_field *field)
{
	unsigned int accepts = types[field->type].accepts;

	if (field->shorthand)
		accepts |= types[spec_field_find(field->fields, field->shorthand)->type]
				   .accepts;
	return accepts;
}

static bool is_table(const struct spec_field *field)
{
	return field->type == SPEC_TABLE || field->type == SPEC_LIST ||
	       field->type == SPEC_AXES;
}

static int read_value(struct reader *reader, void *base, const struct spec_field *field,
		      const struct spec_node *node)
{
	static const char *const kinds[] = {"a single value", "a list", "a map"};
	void *place = (char *)base + field->offset;
	struct spec_value value = {
		.given = true, .place = node->place, .text = node->text};
	int rc;

	if (!(accepted(field) & 1u << node->kind)) {
		diag_add(reader->diag, DIAG_ERROR, "spec-type", &node->place,
			 "%s is %s; expected %s", field->name, kinds[node->kind],
			 types[field->type].what);
		/* As other programs have it: [A=1, B=2]. */
		if (field->type == SPEC_MAP && node->kind == SPEC_NODE_SEQUENCE)
			diag_fix(reader->diag, "%s: {NAME: VALUE, ...}", field->name);
		return -EINVAL;
	}
	if (field->type == SPEC_SECTION || is_table(field))
		return types[field->type].read(reader, field, node, place);
	rc = types[field->type].read(reader, field, node, &value);
	if (rc == 0)
		*(struct spec_value *)place = value;
	return rc;
}

const struct spec_field *spec_field_find(const struct spec_field *fields,
					 const char *name)
{
	uint64_t index;

	for (; fields->name; fields++) {
		if (strcmp(fields->name, name) == 0 ||
		    word_in_list(fields->aliases, name, &index))
			return fields;
	}
	return NULL;
}

static size_t fields_count(const struct spec_field *fields)
{
	size_t count = 0;

	while (fields[count].name)
		count++;
	return count;
}

void spec_unknown_key(const char *name, const struct diag_place *place,
		      const char *section, const struct spec_field *fields,
		      const struct spec_field *all, struct diag *diag)
{
	const char *nearest = launch_nearest(name, &fields->name, fields_count(fields),
					     sizeof(*fields));
	const struct spec_field *elsewhere = section ? spec_field_find(all, name) : NULL;
	const char *where = NULL;
	char hint[160] = "";

	for (; !elsewhere && all->name; all++) {
		if (all->type != SPEC_SECTION || all->fields == fields)
			continue;
		elsewhere = spec_field_find(all->fields, name);
		where = all->name;
	}
	if (elsewhere && where)
		snprintf(hint, sizeof(hint), "; %s stands under %s", elsewhere->name,
			 where);
	else if (elsewhere)
		snprintf(hint, sizeof(hint), "; %s stands at the top level, not indented",
			 elsewhere->name);
	else if (nearest && strcmp(name, "gpus_per_task") != 0)
		snprintf(hint, sizeof(hint), "; did you mean %s?", nearest);
	diag_add(diag, DIAG_ERROR, "spec-unknown-key", place, "unknown key %.60s %s%s%s",
		 name, section ? "in " : "at the top level", section ? section : "",
		 hint);
	/* The axes themselves, where what is made of them belongs. */
	if (section && strcmp(section, "sweep") == 0 && !hint[0])
		diag_fix(diag, "sweep: {matrix: {%.60s: [...]}}", name);
	if (strcmp(name, "gpus_per_task") == 0)
		diag_fix(diag,
			 "gpus_per_node with ntasks_per_node, whose quotient it is; "
			 "binding.gpus says which of them a task sees");
}

/* One entry of a map whose key is FIELD's. */
static int read_field(struct reader *reader, void *base, const struct spec_field *field,
		      const struct pair *pair)
{
	const struct spec_value *value =
		(const void *)((const char *)base + field->offset);

	/* Nothing, ~ and null mean "not given" for every type. */
	if (pair->value->null) {
		spec_delete_value(base, field);
		return 0;
	}
	/* `mem_gb` is another spelling of `mem`, and `mail_user` of `mail: {user: ...}`.
	 */
	if (field->type != SPEC_SECTION && !is_table(field) && value->given &&
	    !reader->replaces) {
		if (pair->merged)
			return 0;
		diag_add(reader->diag, DIAG_ERROR, "spec-duplicate-key",
			 &pair->key->place,
			 "%.60s says again what line %u says in other words",
			 pair->key->text, value->place.line);
		return -EINVAL;
	}
	return read_value(reader, base, field, pair->value);
}

static int read_fields(struct reader *reader, void *base, const struct spec_field *fields,
		       const struct spec_node *node)
{
	const struct spec_node *seen[SPEC_FIELDS_MAX] = {NULL};
	struct pairs pairs = {0};
	int result = collect(reader, node, &pairs, 0);

	for (size_t i = 0; i < pairs.count && result != -ENOMEM && !is_full(reader);
	     i++) {
		const struct spec_node *key = pairs.list[i].key;
		const struct spec_field *field = spec_field_find(fields, key->text);
		const struct spec_node **first = field ? &seen[field - fields] : NULL;
		int rc = 0;

		/* A place for anchors that are only merged: keys that no version will
		 * take. */
		if (!reader->section && strncmp(key->text, "x-", 2) == 0)
			continue;
		if (!field) {
			spec_unknown_key(key->text, &key->place, reader->section, fields,
					 reader->all, reader->diag);
			rc = -EINVAL;
		} else if (*first && pairs.list[i].merged) {
			continue;
		} else if (*first) {
			diag_add(reader->diag, DIAG_ERROR, "spec-duplicate-key",
				 &key->place,
				 "%.60s and %.60s are the same key; the first is on line "
				 "%u",
				 key->text, (*first)->text, (*first)->place.line);
			rc = -EINVAL;
		} else {
			*first = key;
			rc = read_field(reader, base, field, &pairs.list[i]);
		}
		if (rc < 0)
			result = rc;
	}
	return result;
}

static struct reader new_reader(const struct spec_field *all, struct spec_arena **arena,
				struct diag *diag)
{
	return (struct reader){.arena = arena,
			       .diag = diag,
			       .all = all,
			       .stop = diag->errors + SPEC_FAULTS_MAX};
}

static int finish(const struct reader *reader, const struct spec_node *node, int rc)
{
	if (rc == -EINVAL && is_full(reader))
		diag_add(reader->diag, DIAG_NOTE, "spec-faults",
			 &(struct diag_place){.file = node->place.file},
			 "stopped after %d errors", SPEC_FAULTS_MAX);
	return rc;
}

int spec_read_fields(void *base, const struct spec_field *fields,
		     const struct spec_node *root, struct spec_arena **arena,
		     struct diag *diag)
{
	struct reader reader = new_reader(fields, arena, diag);

	if (!root || root->null)
		return 0;
	if (root->kind != SPEC_NODE_MAPPING) {
		diag_add(diag, DIAG_ERROR, "spec-type", &root->place,
			 "expected a map of keys, `key: value` on each line");
		return -EINVAL;
	}
	return finish(&reader, root, read_fields(&reader, base, fields, root));
}

size_t spec_mark_length(const char *text, size_t length)
{
	static const char mark[] = "\xef\xbb\xbf";

	return length >= 3 && memcmp(text, mark, 3) == 0 ? strlen(mark) : 0;
}

int spec_read_document(void *base, const struct spec_field *fields, const char *file,
		       const char *text, size_t length, struct spec_arena **arena,
		       struct diag *diag)
{
	const size_t skip = spec_mark_length(text, length);
	struct spec_node *root;
	int rc;

	text += skip;
	length -= skip;
	diag_source(diag, file, text, length);
	rc = spec_yaml_parse(&root, file, text, length, NULL, arena, diag);
	return rc < 0 ? rc : spec_read_fields(base, fields, root, arena, diag);
}

int spec_read_value(void *base, const struct spec_field *field,
		    const struct spec_field *all, const struct spec_node *node,
		    struct spec_arena **arena, struct diag *diag)
{
	struct reader reader = new_reader(all, arena, diag);

	reader.replaces = true;
	return finish(&reader, node, read_value(&reader, base, field, node));
}

void spec_delete_value(void *base, const struct spec_field *field)
{
	void *place = (char *)base + field->offset;

	if (field->type == SPEC_SECTION) {
		for (const struct spec_field *part = field->fields; part->name; part++)
			spec_delete_value(place, part);
	} else if (is_table(field)) {
		*(struct spec_table *)place = (struct spec_table){.removed = true};
	} else {
		*(struct spec_value *)place = (struct spec_value){.removed = true};
	}
}

/* The entries of TO that FROM has and TO neither has nor removes. */
static int inherit_entries(struct spec_value *to, const struct spec_value *from,
			   struct spec_arena **arena)
{
	const size_t most = from->count + to->count + to->gone;
	struct spec_item *items = spec_arena_alloc(arena, (most + 1) * sizeof(*items));
	size_t count = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		bool own = false;

		for (size_t j = 0; j < to->count + to->gone && !own; j++)
			own = strcmp(to->items[j].name, from->items[i].name) == 0;
		if (!own)
			items[count++] = from->items[i];
	}
	/* In front: what a spec says itself may build on what it inherits. */
	for (size_t i = 0; i < to->count + to->gone; i++)
		items[count + i] = to->items[i];
	to->items = items;
	to->count += count;
	return 0;
}

/* The entries of FROM, each with what the one of the same name in TO says on top. */
static int inherit_table(struct spec_table *to, const struct spec_table *from,
			 const struct spec_field *field, struct spec_arena **arena)
{
	const size_t size = field->size;
	char *entries = spec_arena_alloc(arena, (to->count + from->count) * size);
	size_t count = to->count;
	int rc = 0;

	if (!entries)
		return -ENOMEM;
	memcpy(entries, to->entries, count * size);
	for (size_t i = 0; i < from->count && rc == 0; i++) {
		const void *other = (const char *)from->entries + i * size;
		const struct spec_value *name = other;
		size_t j = 0;

		while (j < to->count &&
		       strcmp(((struct spec_value *)(void *)(entries + j * size))->text,
			      name->text) != 0)
			j++;
		if (j == to->count)
			memcpy(entries + count++ * size, other, size);
		else
			rc = spec_inherit(entries + j * size, other, field->fields,
					  arena);
	}
	to->entries = entries;
	to->count = count;
	return rc;
}

static int inherit(void *to, const void *from, const struct spec_field *field,
		   struct spec_arena **arena)
{
	struct spec_value *own = to;
	const struct spec_value *other = from;
	int rc = 0;

	if (field->type == SPEC_SECTION)
		return spec_inherit(to, from, field->fields, arena);
	if (is_table(field)) {
		const struct spec_table *table = from;
		struct spec_table *mine = to;

		if (mine->place.file && table->place.file && field->type == SPEC_TABLE)
			return inherit_table(mine, table, field, arena);
		if (!mine->place.file && !mine->removed)
			*mine = *table;
		return 0;
	}
	if (own->removed)
		return 0;
	if (own->given && other->given &&
	    (field->type == SPEC_MAP || field->type == SPEC_OPTIONS))
		rc = inherit_entries(own, other, arena);
	else if (!own->given)
		*own = *other;
	return rc;
}

int spec_inherit(void *to, const void *from, const struct spec_field *fields,
		 struct spec_arena **arena)
{
	int rc = 0;

	for (; fields->name && rc == 0; fields++)
		rc = inherit((char *)to + fields->offset,
			     (const char *)from + fields->offset, fields, arena);
	return rc;
}
