/* SPDX-License-Identifier: MIT */
/*
 * Renders straight from the template's text: a section is read again for each of its
 * elements, and with output off when it is not shown, so that an unclosed section is
 * found wherever it stands. Templates are some dozen lines; a parsed form would cost more
 * than it saves.
 */
#include "gen/script/mustache.h"

#include "gen/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Sections and partials within each other; a partial that includes itself ends here. */
#define DEPTH_MAX 64

#define DELIMITER_MAX 16

enum kind {
	KIND_FLAG,
	KIND_TEXT,
	KIND_LIST,
	KIND_OBJECT,
};

/* A part of a text, and where it stands in the spec. */
struct piece {
	size_t begin, end;
	const struct diag_place *place;
};

struct script_value {
	enum kind kind;
	bool flag;
	bool failed; /* a child was lost */
	char *name;
	char *text;
	struct piece *pieces; /* of the text, those that have a place */
	size_t pieces_count, pieces_allocated;
	struct script_value *first, *last, *next;
};

/* One level of the context stack; it lives in the C stack. */
struct frame {
	const struct script_value *value;
	const struct frame *outer;
};

struct delimiters {
	char open[DELIMITER_MAX], close[DELIMITER_MAX];
};

/* One template under way. */
struct reader {
	const struct script_template *template;
	size_t at;
	struct delimiters delimiters;
	/* Shared by a template and its partials. */
	FILE *out;
	script_partials partials;
	void *arg;
	struct script_origins *origins;
	struct diag *diag;
};

struct tag {
	char kind; /* '#', '^', '/', '!', '>', '=', or 0 for a variable */
	size_t at;
	size_t end; /* behind the tag, and behind its line when it stands alone there */
	const char *name;
	size_t length;
	bool alone;
	const char *indent; /* blanks in front of a tag that stands alone */
	size_t indent_length;
};

static struct script_value *add(struct script_value *parent, enum kind kind,
				const char *name)
{
	struct script_value *value;

	if (!parent)
		return NULL;
	value = calloc(1, sizeof(*value));
	if (value && name) {
		value->name = strdup(name);
		if (!value->name) {
			free(value);
			value = NULL;
		}
	}
	if (!value) {
		parent->failed = true;
		return NULL;
	}
	value->kind = kind;
	if (parent->last)
		parent->last->next = value;
	else
		parent->first = value;
	parent->last = value;
	return value;
}

struct script_value *script_value_create(void)
{
	struct script_value *root = calloc(1, sizeof(*root));

	if (root)
		root->kind = KIND_OBJECT;
	return root;
}

void script_value_free(struct script_value *root)
{
	struct script_value *child, *next;

	if (!root)
		return;
	for (child = root->first; child; child = next) {
		next = child->next;
		script_value_free(child);
	}
	free(root->name);
	free(root->text);
	free(root->pieces);
	free(root);
}

bool script_value_failed(const struct script_value *root)
{
	if (!root || root->failed)
		return true;
	for (const struct script_value *child = root->first; child; child = child->next) {
		if (script_value_failed(child))
			return true;
	}
	return false;
}

struct script_value *script_value_object(struct script_value *parent, const char *name)
{
	return add(parent, KIND_OBJECT, name);
}

struct script_value *script_value_list(struct script_value *parent, const char *name)
{
	return add(parent, KIND_LIST, name);
}

void script_value_flag(struct script_value *parent, const char *name, bool flag)
{
	struct script_value *value = add(parent, KIND_FLAG, name);

	if (value)
		value->flag = flag;
}

void script_value_text(struct script_value *parent, const char *name, const char *text)
{
	struct script_value *value = add(parent, KIND_TEXT, name);

	if (!value)
		return;
	value->text = text ? strdup(text) : NULL;
	if (!value->text)
		value->failed = true;
}

void script_value_number(struct script_value *parent, const char *name,
			 unsigned long long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", number);
	script_value_text(parent, name, text);
}

void script_value_origin(struct script_value *parent, size_t begin, size_t end,
			 const struct diag_place *place)
{
	struct script_value *value = parent ? parent->last : NULL;

	if (!value || !place)
		return;
	if (value->pieces_count == value->pieces_allocated) {
		size_t allocated =
			value->pieces_allocated ? 2 * value->pieces_allocated : 4;
		struct piece *grown =
			reallocarray(value->pieces, allocated, sizeof(*grown));

		if (!grown) {
			value->failed = true;
			return;
		}
		value->pieces = grown;
		value->pieces_allocated = allocated;
	}
	value->pieces[value->pieces_count++] = (struct piece){begin, end, place};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_space(char c)
{
	return is_blank(c) || c == '\r' || c == '\n';
}

/* The place of AT in the template, the column in characters as diag.h wants it. */
static struct diag_place place_of(const struct reader *reader, size_t at)
{
	struct diag_place place = {.file = reader->template->file};

	utf8_place(reader->template->text, at, &place.line, &place.column);
	place.end_column = place.column + 1;
	return place;
}

/* Reports a fault of the tag that starts at AT. -EINVAL; -ENOMEM. */
static int fault(const struct reader *reader, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fault(const struct reader *reader, size_t at, const char *format, ...)
{
	struct diag_place place = place_of(reader, at);
	char *text = NULL;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return -ENOMEM;
	diag_source(reader->diag, reader->template->file, reader->template->text,
		    reader->template->length);
	diag_add(reader->diag, DIAG_ERROR, "script-template", &place, "%s", text);
	free(text);
	return -EINVAL;
}

static const struct script_value *child_of(const struct script_value *value,
					   const char *name, size_t length)
{
	if (value->kind != KIND_OBJECT)
		return NULL;
	for (const struct script_value *child = value->first; child;
	     child = child->next) {
		if (strlen(child->name) == length &&
		    strncmp(child->name, name, length) == 0)
			return child;
	}
	return NULL;
}

/*
 * Looks NAME up: "." is the innermost value; of a dotted name the first part goes through
 * the stack and the rest must lie below what that found. NULL when there is none.
 */
static const struct script_value *look_up(const struct frame *frame, const char *name,
					  size_t length)
{
	const struct script_value *value = NULL;
	const char *end = name + length, *dot;

	if (length == 1 && name[0] == '.')
		return frame->value;
	dot = memchr(name, '.', length);
	for (; frame && !value; frame = frame->outer)
		value = child_of(frame->value, name, (dot ? dot : end) - name);
	while (value && dot) {
		name = dot + 1;
		dot = memchr(name, '.', end - name);
		value = child_of(value, name, (dot ? dot : end) - name);
	}
	return value;
}

static bool is_shown(const struct script_value *value)
{
	switch (value->kind) {
	case KIND_FLAG:
		return value->flag;
	case KIND_TEXT:
		return value->text[0] != '\0';
	case KIND_LIST:
		return value->first != NULL;
	case KIND_OBJECT:
		break;
	}
	return true;
}

/*
 * Finds out whether the tag stands alone on its line, so that the line goes with it.
 * SEEN is where the literal text in front of the tag began: a tag before it on the line
 * has ended there.
 */
static void check_alone(const struct reader *reader, size_t seen, struct tag *tag)
{
	const char *text = reader->template->text;
	size_t start = tag->at, end = tag->end;

	while (start > seen && is_blank(text[start - 1]))
		start--;
	if (start > 0 && text[start - 1] != '\n')
		return;
	while (end < reader->template->length && is_blank(text[end]))
		end++;
	if (end + 1 < reader->template->length && text[end] == '\r' &&
	    text[end + 1] == '\n')
		end++;
	if (end < reader->template->length && text[end] != '\n')
		return;
	tag->alone = true;
	tag->indent = text + start;
	tag->indent_length = tag->at - start;
	tag->end = end < reader->template->length ? end + 1 : end;
}

/* Reads the tag at reader->at, where the open delimiter stands. */
static int read_tag(struct reader *reader, size_t seen, struct tag *tag)
{
	const char *text = reader->template->text;
	const char *limit = text + reader->template->length;
	const char *name = text + reader->at + strlen(reader->delimiters.open);
	char close[DELIMITER_MAX + 2] = "";
	const char *end;

	*tag = (struct tag){.at = reader->at};
	if (name < limit && strchr("#^/!>&={", *name) && *name) {
		tag->kind = *name++;
		if (tag->kind == '{')
			strcpy(close, "}");
		else if (tag->kind == '=')
			strcpy(close, "=");
	}
	strcat(close, reader->delimiters.close);
	end = memmem(name, limit - name, close, strlen(close));
	if (!end)
		return fault(reader, tag->at, "this tag is not closed: no `%s` follows",
			     close);
	tag->end = end - text + strlen(close);
	while (name < end && is_space(*name))
		name++;
	while (end > name && is_space(end[-1]))
		end--;
	tag->name = name;
	tag->length = end - name;
	if (tag->kind == '{' || tag->kind == '&')
		tag->kind = 0;
	if (tag->kind)
		check_alone(reader, seen, tag);
	if (tag->kind == '!' || tag->kind == '=')
		return 0;
	if (!tag->length)
		return fault(reader, tag->at, "this tag has no name");
	for (const char *c = name; c < end; c++) {
		if (is_space(*c))
			return fault(reader, tag->at,
				     "`%.*s` is not a name: it has a blank",
				     (int)tag->length, name);
	}
	return 0;
}

/* `{{=<% %>=}}` */
static int set_delimiters(struct reader *reader, const struct tag *tag)
{
	const char *open = tag->name, *end = tag->name + tag->length, *close = end;
	size_t open_length = 0, close_length = 0;

	while (open + open_length < end && !is_space(open[open_length]))
		open_length++;
	while (close > open + open_length && !is_space(close[-1]))
		close--;
	close_length = end - close;
	for (const char *c = open + open_length; c < close; c++) {
		if (!is_space(*c))
			open_length = 0;
	}
	if (!open_length || !close_length || close == open + open_length ||
	    memchr(open, '=', tag->length))
		return fault(reader, tag->at,
			     "the delimiters must be two words without `=`, as in {{=<%% "
			     "%%>=}}");
	if (open_length >= DELIMITER_MAX || close_length >= DELIMITER_MAX)
		return fault(reader, tag->at, "a delimiter has at most %d characters",
			     DELIMITER_MAX - 1);
	memset(&reader->delimiters, 0, sizeof(reader->delimiters));
	memcpy(reader->delimiters.open, open, open_length);
	memcpy(reader->delimiters.close, close, close_length);
	return 0;
}

static int render(struct reader *reader, const struct frame *frame,
		  const struct tag *section, bool show, unsigned int depth);

static int render_variable(struct reader *reader, const struct frame *frame,
			   const struct tag *tag)
{
	const struct script_value *value = look_up(frame, tag->name, tag->length);

	if (!value)
		return fault(reader, tag->at, "unknown variable `%.*s`", (int)tag->length,
			     tag->name);
	if (value->kind != KIND_TEXT)
		return fault(reader, tag->at, "`%.*s` is not a text: use it as a section",
			     (int)tag->length, tag->name);
	if (reader->origins && value->pieces_count > 0) {
		const off_t at = ftello(reader->out);

		for (size_t i = 0; at >= 0 && i < value->pieces_count; i++)
			script_origins_add(reader->origins,
					   (size_t)at + value->pieces[i].begin,
					   (size_t)at + value->pieces[i].end,
					   value->pieces[i].place);
	}
	fputs(value->text, reader->out);
	return 0;
}

/* The body behind TAG, as often as its value says; leaves the reader behind the closing
 * tag. */
static int render_section(struct reader *reader, const struct frame *frame,
			  const struct tag *tag, bool show, unsigned int depth)
{
	const struct delimiters delimiters = reader->delimiters;
	const struct script_value *value;
	struct frame inner = {.outer = frame};
	size_t body = reader->at;
	int rc;

	if (!show)
		return render(reader, frame, tag, false, depth);
	value = look_up(frame, tag->name, tag->length);
	if (!value)
		return fault(reader, tag->at, "unknown variable `%.*s`", (int)tag->length,
			     tag->name);
	if (tag->kind == '^')
		return render(reader, frame, tag, !is_shown(value), depth);
	if (!is_shown(value))
		return render(reader, frame, tag, false, depth);
	if (value->kind != KIND_LIST) {
		inner.value = value;
		return render(reader, &inner, tag, true, depth);
	}
	for (inner.value = value->first; inner.value; inner.value = inner.value->next) {
		reader->at = body;
		reader->delimiters = delimiters;
		rc = render(reader, &inner, tag, true, depth);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A copy of PARTIAL with INDENT in front of each of its lines. */
static char *indented(const struct script_template *partial, const struct tag *tag,
		      size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);
	bool failed;

	if (!out)
		return NULL;
	for (size_t i = 0; i < partial->length; i++) {
		if (i == 0 || partial->text[i - 1] == '\n')
			fwrite(tag->indent, 1, tag->indent_length, out);
		fputc(partial->text[i], out);
	}
	failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

static int render_partial(const struct reader *reader, const struct frame *frame,
			  const struct tag *tag, unsigned int depth)
{
	struct reader inner = *reader;
	struct script_template partial = {0};
	char *name, *text = NULL;
	int rc;

	name = strndup(tag->name, tag->length);
	if (!name)
		return -ENOMEM;
	rc = reader->partials
		     ? reader->partials(name, &partial, reader->arg, reader->diag)
		     : -ENOENT;
	if (rc == -ENOENT)
		rc = fault(reader, tag->at, "there is no template `%s`", name);
	free(name);
	if (rc < 0)
		return rc;
	if (tag->alone && tag->indent_length) {
		text = indented(&partial, tag, &partial.length);
		if (!text)
			return -ENOMEM;
		partial.text = text;
	}
	inner.template = &partial;
	inner.at = 0;
	inner.delimiters = (struct delimiters){.open = "{{", .close = "}}"};
	rc = render(&inner, frame, NULL, true, depth);
	free(text);
	return rc;
}

/*
 * From reader->at to the end of the template, or of SECTION, whose closing tag is then
 * behind. SHOW false: reads the same and writes nothing.
 */
static int render(struct reader *reader, const struct frame *frame,
		  const struct tag *section, bool show, unsigned int depth)
{
	const struct script_template *template = reader->template;
	int rc = 0;

	if (depth > DEPTH_MAX)
		return fault(
			reader, section ? section->at : 0,
			"more than %d sections and partials within each other; does a "
			"partial include itself?",
			DEPTH_MAX);
	while (rc == 0) {
		const size_t seen = reader->at;
		const char *text = template->text + seen;
		const char *open =
			memmem(text, template->length - seen, reader->delimiters.open,
			       strlen(reader->delimiters.open));
		size_t literal = open ? (size_t)(open - text) : template->length - seen;
		struct tag tag;

		if (!open) {
			if (section)
				return fault(reader, section->at,
					     "the section `%.*s` is not closed",
					     (int)section->length, section->name);
			if (show)
				fwrite(text, 1, literal, reader->out);
			reader->at = template->length;
			return 0;
		}
		reader->at += literal;
		rc = read_tag(reader, seen, &tag);
		if (rc < 0)
			return rc;
		if (show)
			fwrite(text, 1, literal - (tag.alone ? tag.indent_length : 0),
			       reader->out);
		reader->at = tag.end;
		switch (tag.kind) {
		case '!':
			break;
		case '=':
			rc = set_delimiters(reader, &tag);
			break;
		case '#':
		case '^':
			rc = render_section(reader, frame, &tag, show, depth + 1);
			break;
		case '/':
			if (section && section->length == tag.length &&
			    memcmp(section->name, tag.name, tag.length) == 0)
				return 0;
			if (section)
				return fault(reader, tag.at,
					     "`%.*s` is closed here, but `%.*s` is open",
					     (int)tag.length, tag.name,
					     (int)section->length, section->name);
			return fault(reader, tag.at,
				     "`%.*s` is closed here, but not open",
				     (int)tag.length, tag.name);
		case '>':
			if (show)
				rc = render_partial(reader, frame, &tag, depth + 1);
			break;
		default:
			if (show)
				rc = render_variable(reader, frame, &tag);
			break;
		}
	}
	return rc;
}

int script_mustache(FILE *out, const struct script_template *template,
		    const struct script_value *root, script_partials partials, void *arg,
		    struct script_origins *origins, struct diag *diag)
{
	struct frame frame = {.value = root};
	struct reader reader = {
		.template = template,
		.delimiters = {.open = "{{", .close = "}}"},
		.out = out,
		.partials = partials,
		.arg = arg,
		.origins = origins,
		.diag = diag,
	};

	if (script_value_failed(root))
		return -ENOMEM;
	return render(&reader, &frame, NULL, true, 0);
}
