/* SPDX-License-Identifier: MIT */
/*
 * Findings as text for people, and as JSON, SARIF 2.1.0 and lines as gcc's for programs.
 */
#include "gen/check/check.h"

#include "gen/utf8.h"

#include <stdlib.h>
#include <string.h>

#define HOME "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/"

const char *const check_format_names[CHECK_FORMATS] = {
	[CHECK_FORMAT_TEXT] = "text",
	[CHECK_FORMAT_JSON] = "json",
	[CHECK_FORMAT_SARIF] = "sarif",
	[CHECK_FORMAT_GCC] = "gcc",
};

/* TEXT as a JSON string (RFC 8259); bytes that are no UTF-8 become U+FFFD. */
static void string(FILE *out, const char *text)
{
	size_t left = strlen(text);

	fputc('"', out);
	while (left > 0) {
		uint32_t code = 0;
		size_t bytes = utf8_decode(text, left, &code);

		if (bytes == 0) {
			fputs("\\ufffd", out);
			bytes = 1;
		} else if (code == '"' || code == '\\') {
			fprintf(out, "\\%c", (int)code);
		} else if (code == '\n') {
			fputs("\\n", out);
		} else if (code == '\t') {
			fputs("\\t", out);
		} else if (code < 0x20 || code == 0x7f) {
			fprintf(out, "\\u%04x", (unsigned int)code);
		} else {
			fwrite(text, 1, bytes, out);
		}
		text += bytes;
		left -= bytes;
	}
	fputc('"', out);
}

static void field(FILE *out, const char *name, const char *text)
{
	if (!text)
		return;
	fprintf(out, ",\"%s\":", name);
	string(out, text);
}

/* ---- JSON ---- */

static void json(const struct diag *diag, FILE *out)
{
	fputs("{\"tool\":\"srank\",\"version\":\"" SRANK_VERSION "\"", out);
	fprintf(out, ",\"errors\":%zu,\"warnings\":%zu,\"findings\":[", diag->errors,
		diag->warnings);
	for (size_t i = 0; i < diag->count; i++) {
		const struct diag_item *item = &diag->items[i];
		const struct check_rule *rule = check_rule_find(item->rule);

		fputs(i ? ",\n{\"rule\":" : "\n{\"rule\":", out);
		string(out, item->rule);
		field(out, "severity", diag_severity_name(item->severity));
		field(out, "file", item->place.file);
		if (item->place.line > 0)
			fprintf(out, ",\"line\":%u,\"column\":%u,\"end_column\":%u",
				item->place.line, item->place.column,
				item->place.end_column);
		field(out, "message", item->message);
		field(out, "why", rule ? rule->why : NULL);
		field(out, "fix", item->fix);
		fputc('}', out);
	}
	fputs("\n]}\n", out);
}

/* ---- SARIF ---- */

static const char *level(enum diag_severity severity)
{
	return diag_severity_name(severity);
}

/* A file name as a URI (RFC 3986). */
static void uri(FILE *out, const char *file)
{
	fputc('"', out);
	if (strcmp(file, "-") == 0)
		file = "stdin";
	if (file[0] == '/')
		fputs("file://", out);
	for (; *file; file++) {
		const unsigned char byte = (unsigned char)*file;

		if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		    (byte >= '0' && byte <= '9') || strchr("-._~/", byte))
			fputc(byte, out);
		else
			fprintf(out, "%%%02X", byte);
	}
	fputc('"', out);
}

static void sarif_rule(const struct check_rule *rule, FILE *out)
{
	fputs("{\"id\":", out);
	string(out, rule->id);
	fputs(",\"shortDescription\":{\"text\":", out);
	string(out, rule->summary);
	fputs("},\"fullDescription\":{\"text\":", out);
	string(out, rule->why);
	fputs("},\"help\":{\"text\":", out);
	string(out, rule->cure);
	fprintf(out, "},\"defaultConfiguration\":{\"level\":\"%s\"}}",
		level(rule->severity));
}

static void sarif_result(const struct diag_item *item, FILE *out)
{
	const struct check_rule *rule = check_rule_find(item->rule);

	fputs("{\"ruleId\":", out);
	string(out, item->rule);
	if (rule)
		fprintf(out, ",\"ruleIndex\":%zu", (size_t)(rule - check_rules));
	fprintf(out, ",\"level\":\"%s\",\"message\":{\"text\":", level(item->severity));
	if (item->fix) {
		char *text;

		if (asprintf(&text, "%s; %s", item->message, item->fix) < 0)
			text = NULL;
		string(out, text ? text : item->message);
		free(text);
	} else {
		string(out, item->message);
	}
	fputs("},\"locations\":[", out);
	if (item->place.file) {
		fputs("{\"physicalLocation\":{\"artifactLocation\":{\"uri\":", out);
		uri(out, item->place.file);
		fputc('}', out);
		if (item->place.line > 0) {
			fprintf(out, ",\"region\":{\"startLine\":%u", item->place.line);
			if (item->place.column > 0)
				fprintf(out, ",\"startColumn\":%u,\"endColumn\":%u",
					item->place.column,
					item->place.end_column > item->place.column
						? item->place.end_column
						: item->place.column);
			fputc('}', out);
		}
		fputs("}}", out);
	}
	fputs("]}", out);
}

static void sarif(const struct diag *diag, FILE *out)
{
	fputs("{\"$schema\":\"" HOME "sarif-schema-2.1.0.json\",\"version\":\"2.1.0\","
	      "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"srank\",\"version\":"
	      "\"" SRANK_VERSION "\",\"rules\":[",
	      out);
	for (size_t i = 0; i < check_rules_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		sarif_rule(&check_rules[i], out);
	}
	fputs("\n]}},\"columnKind\":\"unicodeCodePoints\",\"results\":[", out);
	for (size_t i = 0; i < diag->count; i++) {
		fputs(i ? ",\n" : "\n", out);
		sarif_result(&diag->items[i], out);
	}
	fputs("\n]}]}\n", out);
}

/* ---- text ---- */

static const char *why(const char *id)
{
	const struct check_rule *rule = check_rule_find(id);

	return rule ? rule->why : NULL;
}

void check_print(struct diag *diag, enum check_format format, bool colour, FILE *out)
{
	diag_sort(diag);
	switch (format) {
	case CHECK_FORMAT_JSON:
		json(diag, out);
		break;
	case CHECK_FORMAT_SARIF:
		sarif(diag, out);
		break;
	case CHECK_FORMAT_GCC:
		diag_print(diag, out, DIAG_PLAIN | DIAG_NO_FIX);
		break;
	default:
		diag->why = why;
		diag_print(diag, out, DIAG_SOURCE | (colour ? DIAG_COLOUR : 0));
		diag->why = NULL;
		break;
	}
}
