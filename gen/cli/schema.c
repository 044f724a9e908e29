/* SPDX-License-Identifier: MIT */
/*
 * `srank schema`: the keys of the job spec or of the site profile as a JSON Schema, for
 * editors that complete and check YAML by one. It is made from the same table as the
 * reader, and says less: what depends on other keys only `srank gen` knows.
 */
#include "gen/cli/cli.h"
#include "gen/spec/read.h"
#include "spank/launch/launchers.h"
#include "spank/launch/nearest.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Sections of one schema, each written once. */
#define SECTIONS_MAX 48

struct schema {
	FILE *out;
	unsigned int depth;
	bool first; /* in the object or list that is open */
	const struct spec_field *sections[SECTIONS_MAX];
	size_t sections_count;
};

static void write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* The next member of the open object, or with KEY NULL the next element of the list. */
static void next(struct schema *schema, const char *key)
{
	fputs(schema->first ? "\n" : ",\n", schema->out);
	for (unsigned int i = 0; i < schema->depth; i++)
		fputs("  ", schema->out);
	schema->first = false;
	if (!key)
		return;
	write_text(schema->out, key);
	fputs(": ", schema->out);
}

static void open_value(struct schema *schema, const char *key, char bracket)
{
	next(schema, key);
	fputc(bracket, schema->out);
	schema->depth++;
	schema->first = true;
}

static void close_value(struct schema *schema, char bracket)
{
	schema->depth--;
	fputc('\n', schema->out);
	for (unsigned int i = 0; i < schema->depth; i++)
		fputs("  ", schema->out);
	fputc(bracket, schema->out);
	schema->first = false;
}

static void member(struct schema *schema, const char *key, const char *text)
{
	next(schema, key);
	write_text(schema->out, text);
}

/* A member whose value is JSON already. */
static void member_json(struct schema *schema, const char *key, const char *json)
{
	next(schema, key);
	fputs(json, schema->out);
}

/* The scalars that the reader takes for a text: YAML's own types do not matter to it. */
#define SCALARS "[\"string\", \"number\", \"boolean\", \"null\"]"

static void scalar(struct schema *schema, const char *types, const char *pattern)
{
	member_json(schema, "type", types);
	if (pattern)
		member(schema, "pattern", pattern);
}

static void write_words(struct schema *schema, const char *words)
{
	while (words && *words) {
		const size_t size = strcspn(words, " ");

		next(schema, NULL);
		fprintf(schema->out, "\"%.*s\"", (int)size, words);
		/* What YAML 1.1 makes of the bare word. */
		if (size == 3 && strncmp(words, "off", size) == 0) {
			next(schema, NULL);
			fputs("false", schema->out);
		}
		words += size;
		words += strspn(words, " ");
	}
}

static void enumeration(struct schema *schema, const char *words, bool flag)
{
	open_value(schema, "enum", '[');
	if (flag) {
		next(schema, NULL);
		fputs("true, false, \"true\", \"false\", \"yes\", \"no\", \"on\", "
		      "\"off\"",
		      schema->out);
	}
	write_words(schema, words);
	next(schema, NULL);
	fputs("null", schema->out);
	close_value(schema, ']');
}

static void launchers(struct schema *schema)
{
	open_value(schema, "enum", '[');
	for (size_t i = 0; i < launch_launchers_count; i++) {
		next(schema, NULL);
		write_text(schema->out, launch_launchers[i].name);
	}
	next(schema, NULL);
	fputs("null", schema->out);
	close_value(schema, ']');
}

static void count(struct schema *schema, const struct spec_field *field)
{
	char number[128];

	open_value(schema, "anyOf", '[');
	next(schema, NULL);
	snprintf(number, sizeof(number),
		 "{\"type\": \"integer\", \"minimum\": %u, \"maximum\": %u}",
		 field->least, field->most ? field->most : (unsigned int)SPEC_COUNT_MAX);
	fputs(number, schema->out);
	next(schema, NULL);
	fputs("{\"type\": \"string\", \"pattern\": \"^[0-9]+$\"}", schema->out);
	if (field->choices) {
		open_value(schema, NULL, '{');
		open_value(schema, "enum", '[');
		write_words(schema, field->choices);
		close_value(schema, ']');
		close_value(schema, '}');
	}
	next(schema, NULL);
	fputs("{\"type\": \"null\"}", schema->out);
	close_value(schema, ']');
}

/*
 * The pattern of words of CHOICES in upper or lower case, with commas or, as one text,
 * blanks between; FIELDS of the pattern have no flag for the case.
 */
static void write_choice_pattern(FILE *out, const char *choices)
{
	char one[2048] = "";
	size_t at = 0;

	for (; *choices && at < sizeof(one) - 8; choices++) {
		const int upper = toupper((unsigned char)*choices);
		const int lower = tolower((unsigned char)*choices);

		if (*choices == ' ')
			at += (size_t)snprintf(one + at, sizeof(one) - at, "|");
		else if (upper == lower)
			at += (size_t)snprintf(one + at, sizeof(one) - at, "%c", upper);
		else
			at += (size_t)snprintf(one + at, sizeof(one) - at, "[%c%c]",
					       upper, lower);
	}
	fprintf(out, "\"^(%s)([, ]+(%s))*$\"", one, one);
}

static void words(struct schema *schema, const struct spec_field *field)
{
	open_value(schema, "anyOf", '[');
	open_value(schema, NULL, '{');
	scalar(schema, SCALARS, NULL);
	if (field->choices) {
		next(schema, "pattern");
		write_choice_pattern(schema->out, field->choices);
	}
	close_value(schema, '}');
	open_value(schema, NULL, '{');
	member(schema, "type", "array");
	open_value(schema, "items", '{');
	scalar(schema, "[\"string\", \"number\", \"boolean\"]", NULL);
	if (field->choices) {
		next(schema, "pattern");
		write_choice_pattern(schema->out, field->choices);
	}
	close_value(schema, '}');
	close_value(schema, '}');
	close_value(schema, ']');
}

static void map(struct schema *schema)
{
	member_json(schema, "type", "[\"object\", \"null\"]");
	/* POSIX 8.1; SRANK is what launcher, binding and rendezvous say. */
	member_json(schema, "propertyNames",
		    "{\"pattern\": \"^(?!SRANK($|_))[A-Za-z_][A-Za-z0-9_]*$\"}");
	member_json(schema, "additionalProperties", "{\"type\": " SCALARS "}");
}

static void axes(struct schema *schema)
{
	member_json(schema, "type", "[\"object\", \"null\"]");
	member_json(schema, "additionalProperties",
		    "{\"type\": \"array\", \"minItems\": 1, \"items\": {\"type\": "
		    "[\"string\", \"number\", \"boolean\"]}}");
}

static void reference(struct schema *schema, const char *name)
{
	char target[96];

	snprintf(target, sizeof(target), "#/$defs/%s", name);
	member(schema, "$ref", target);
}

static void write_type(struct schema *schema, const struct spec_field *field);

/* A section, or what its shorthand takes. */
static void section(struct schema *schema, const struct spec_field *field)
{
	open_value(schema, "anyOf", '[');
	open_value(schema, NULL, '{');
	reference(schema, field->name);
	close_value(schema, '}');
	if (field->shorthand) {
		open_value(schema, NULL, '{');
		write_type(schema, spec_field_find(field->fields, field->shorthand));
		close_value(schema, '}');
	}
	next(schema, NULL);
	fputs("{\"type\": \"null\"}", schema->out);
	close_value(schema, ']');
}

static void table(struct schema *schema, const struct spec_field *field)
{
	const bool list = field->type == SPEC_LIST;

	member_json(schema, "type",
		    list ? "[\"array\", \"null\"]" : "[\"object\", \"null\"]");
	open_value(schema, list ? "items" : "additionalProperties", '{');
	open_value(schema, "anyOf", '[');
	open_value(schema, NULL, '{');
	reference(schema, field->name);
	close_value(schema, '}');
	next(schema, NULL);
	fputs("{\"type\": \"null\"}", schema->out);
	close_value(schema, ']');
	close_value(schema, '}');
}

#define RANGE "[0-9]+(-[0-9]+(:[0-9]+)?)?"
#define CLOCK "[0-9]+(:[0-9]+){0,2}"

static void write_type(struct schema *schema, const struct spec_field *field)
{
	static const char number_or_text[] = "[\"string\", \"integer\", \"null\"]";

	switch (field->type) {
	case SPEC_TEXT:
		scalar(schema, SCALARS, "^[^\\u0000-\\u001f\\u007f]+$");
		break;
	case SPEC_NAME:
		scalar(schema, "[\"string\", \"number\", \"null\"]", "^[A-Za-z0-9_.-]+$");
		break;
	case SPEC_COUNT:
		count(schema, field);
		break;
	case SPEC_FLAG:
		enumeration(schema, field->choices, true);
		break;
	case SPEC_CHOICE:
		enumeration(schema, field->choices, false);
		break;
	case SPEC_LAUNCHER:
		launchers(schema);
		break;
	case SPEC_SETTING:
		scalar(schema, SCALARS, NULL);
		break;
	case SPEC_TIME:
		scalar(schema, number_or_text,
		       "^(-1|" CLOCK "|[0-9]+-(" CLOCK ")?|[Uu][Nn][Ll][Ii][Mm][Ii][Tt]"
		       "[Ee][Dd]|[Ii][Nn][Ff][Ii][Nn][Ii][Tt][Ee])$");
		break;
	case SPEC_MEMORY:
	case SPEC_GIGABYTES:
		scalar(schema, number_or_text, "^[0-9]+([KMGTkmgt][Bb]?)?$");
		member_json(schema, "minimum", "0");
		break;
	case SPEC_ARRAY:
		scalar(schema, number_or_text,
		       "^\\[?" RANGE "(," RANGE ")*\\]?(%[0-9]*)?$");
		member_json(schema, "minimum", "0");
		break;
	case SPEC_SIGNAL:
		scalar(schema, number_or_text, "^([Bb]:)?[A-Za-z0-9]+(@[0-9]+)?$");
		break;
	case SPEC_WORDS:
	case SPEC_LINES:
		words(schema, field);
		break;
	case SPEC_MAP:
		map(schema);
		break;
	case SPEC_OPTIONS:
		member_json(schema, "type", "[\"object\", \"null\"]");
		member_json(schema, "propertyNames",
			    "{\"pattern\": \"^[^\\\\s=-][^\\\\s=]*$\"}");
		member_json(schema, "additionalProperties",
			    "{\"$ref\": \"#/$defs/option\"}");
		break;
	case SPEC_SECTION:
		section(schema, field);
		break;
	case SPEC_TABLE:
	case SPEC_LIST:
		table(schema, field);
		break;
	case SPEC_AXES:
		axes(schema);
		break;
	}
}

static void write_property(struct schema *schema, const struct spec_field *field,
			   const char *name, size_t length)
{
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)length, name);
	open_value(schema, key, '{');
	member(schema, "description", field->help);
	write_type(schema, field);
	close_value(schema, '}');
}

static void never_both(struct schema *schema, const char *one, const char *other,
		       size_t length)
{
	next(schema, NULL);
	fprintf(schema->out, "{\"not\": {\"required\": [\"%s\", \"%.*s\"]}}", one,
		(int)length, other);
}

/* A key and its aliases, or two spellings of one value, are given once. */
static void write_exclusions(struct schema *schema, const struct spec_field *fields)
{
	open_value(schema, "allOf", '[');
	for (const struct spec_field *field = fields; field->name; field++) {
		for (const char *alias = field->aliases; alias && *alias;) {
			const size_t size = strcspn(alias, " ");

			never_both(schema, field->name, alias, size);
			alias += size;
			alias += strspn(alias, " ");
		}
		for (const struct spec_field *other = field + 1; other->name; other++) {
			if (field->type != SPEC_SECTION && other->type != SPEC_SECTION &&
			    other->offset == field->offset)
				never_both(schema, field->name, other->name,
					   strlen(other->name));
		}
	}
	close_value(schema, ']');
}

static bool has_exclusions(const struct spec_field *fields)
{
	for (const struct spec_field *field = fields; field->name; field++) {
		if (field->aliases)
			return true;
	}
	return false;
}

/* The members of an object by FIELDS. */
static void write_fields(struct schema *schema, const struct spec_field *fields, bool top)
{
	member(schema, "type", "object");
	open_value(schema, "properties", '{');
	for (const struct spec_field *field = fields; field->name; field++) {
		write_property(schema, field, field->name, strlen(field->name));
		for (const char *alias = field->aliases; alias && *alias;) {
			const size_t size = strcspn(alias, " ");

			write_property(schema, field, alias, size);
			alias += size;
			alias += strspn(alias, " ");
		}
	}
	close_value(schema, '}');
	/* A place for anchors; `<<` is gone when a validator sees the data. */
	if (top)
		member_json(schema, "patternProperties", "{\"^x-\": true}");
	member_json(schema, "additionalProperties", "false");
	if (has_exclusions(fields))
		write_exclusions(schema, fields);
}

static void write_sections(struct schema *schema, const struct spec_field *fields)
{
	for (const struct spec_field *field = fields; field->name; field++) {
		bool known = schema->sections_count == SECTIONS_MAX;

		if (!field->fields)
			continue;
		for (size_t i = 0; i < schema->sections_count; i++)
			known |= schema->sections[i] == field->fields;
		if (known)
			continue;
		schema->sections[schema->sections_count++] = field->fields;
		open_value(schema, field->name, '{');
		write_fields(schema, field->fields, false);
		close_value(schema, '}');
		write_sections(schema, field->fields);
	}
}

static void write_schema(FILE *out, const char *title, const struct spec_field *fields)
{
	struct schema schema = {.out = out, .first = true};

	fputc('{', out);
	schema.depth = 1;
	member(&schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
	member(&schema, "title", title);
	write_fields(&schema, fields, true);
	open_value(&schema, "$defs", '{');
	open_value(&schema, "option", '{');
	open_value(&schema, "anyOf", '[');
	next(&schema, NULL);
	fputs("{\"type\": " SCALARS "}", out);
	next(&schema, NULL);
	fputs("{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/option\"}}", out);
	close_value(&schema, ']');
	close_value(&schema, '}');
	write_sections(&schema, fields);
	close_value(&schema, '}');
	close_value(&schema, '}');
	fputc('\n', out);
}

static const struct {
	const char *name, *title;
	const struct spec_field *fields;
} schemas[] = {
	{"spec", "srank job spec", spec_fields},
	{"site", "srank site profile", spec_site_fields},
};

#define SCHEMAS (sizeof(schemas) / sizeof(schemas[0]))

enum cli_exit cli_schema(const struct cli_command *command, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : schemas[0].name, *near;

	if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0) {
		cli_help(stdout, command);
		return CLI_FINE;
	}
	if (argc > 2)
		return cli_usage(command, "`%s`: one schema at a time", argv[2]);
	for (size_t i = 0; i < SCHEMAS; i++) {
		if (strcmp(schemas[i].name, name) != 0)
			continue;
		write_schema(stdout, schemas[i].title, schemas[i].fields);
		return CLI_FINE;
	}
	near = launch_nearest(name, &schemas[0].name, SCHEMAS, sizeof(schemas[0]));
	if (near)
		return cli_usage(command, "there is no schema `%s`; did you mean %s?",
				 name, near);
	return cli_usage(command, "there is no schema `%s`; there are spec and site",
			 name);
}
