/* SPDX-License-Identifier: MIT */
/* The model as a whole: the parts are read in their order; see model.h. */
#include "gen/check/model.h"

#include "gen/check/follow.h"
#include "gen/spec/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * sbatch refuses a script that is longer (slurm.conf,
 * SchedulerParameters=max_script_size, by default 4 MiB); what stands behind is not read.
 */
#define SCRIPT_MAX (4u << 20)

static const char pragma_mark[] = "srank:";

/* Text from AT to END without blanks on either side. */
static void trim(const char *text, size_t *at, size_t *end)
{
	while (*at < *end && strchr(" \t\r", text[*at]) && text[*at])
		++*at;
	while (*end > *at && strchr(" \t\r", text[*end - 1]) && text[*end - 1])
		--*end;
}

static int add_pragma(struct check_model *model, const struct check_pragma *pragma)
{
	struct check_pragma *grown = spec_arena_grow(
		&model->arena, model->pragmas, model->pragmas_count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	model->pragmas = grown;
	grown[model->pragmas_count++] = *pragma;
	return 0;
}

/* disable=RULE[,RULE...] or disable-file=..., from AT to END of line LINE. */
static int read_pragma(struct check_model *model, uint32_t line, bool alone, size_t at,
		       size_t end)
{
	static const char here[] = "disable=", everywhere[] = "disable-file=";
	const char *text = model->source.text;
	const uint32_t command = model->header.command.end
					 ? model->header.command.begin
					 : (uint32_t)model->source.length;
	struct check_pragma pragma = {.line = alone ? line + 1 : line};
	int rc = 0;

	trim(text, &at, &end);
	if (end - at >= sizeof(everywhere) - 1 &&
	    memcmp(text + at, everywhere, sizeof(everywhere) - 1) == 0) {
		pragma.file = true;
		at += sizeof(everywhere) - 1;
	} else if (end - at >= sizeof(here) - 1 &&
		   memcmp(text + at, here, sizeof(here) - 1) == 0) {
		/* Above the first command a line of its own speaks of the file. */
		pragma.file = alone && at < command;
		at += sizeof(here) - 1;
	} else {
		return 0;
	}
	while (at < end && rc == 0) {
		size_t stop = at, first, last;

		while (stop < end && text[stop] != ',' && text[stop] != ' ')
			stop++;
		first = at;
		last = stop;
		trim(text, &first, &last);
		pragma.range = (struct script_range){(uint32_t)first, (uint32_t)last};
		pragma.rule = spec_arena_copy(&model->arena, text + first, last - first);
		if (!pragma.rule)
			return -ENOMEM;
		if (last > first)
			rc = add_pragma(model, &pragma);
		at = stop + 1;
	}
	return rc;
}

/* Comments `# srank: ...`; found by their mark, which is rare, and not line by line. */
static int read_pragmas(struct check_model *model)
{
	const char *text = model->source.text, *end = text + model->source.length;
	const char *at = text;
	int rc = 0;

	while (rc == 0 && (at = memmem(at, (size_t)(end - at), pragma_mark,
				       sizeof(pragma_mark) - 1))) {
		const uint32_t line =
			script_text_line(&model->source, (uint32_t)(at - text));
		const struct script_range whole =
			script_text_line_range(&model->source, line);
		size_t hash = (size_t)(at - text), first;

		while (hash > whole.begin && strchr(" \t", text[hash - 1]) &&
		       text[hash - 1])
			hash--;
		at += sizeof(pragma_mark) - 1;
		if (hash == whole.begin || text[hash - 1] != '#')
			continue;
		for (first = whole.begin; text[first] == ' ' || text[first] == '\t';
		     first++)
			;
		rc = read_pragma(model, line, first == hash - 1, (size_t)(at - text),
				 whole.end);
	}
	return rc;
}

/* The words of the first line name a shell that the reader knows. */
static bool is_shell_script(const struct check_model *model)
{
	static const char *const shells[] = {"bash", "sh", "dash", "zsh", "ksh", "ash"};
	const struct script_range line = model->header.shebang;
	const char *text = model->source.text;
	size_t end = line.begin + 2, begin;

	if (line.end == 0)
		return true;
	do {
		while (end < line.end && strchr(" \t\r", text[end]) && text[end])
			end++;
		begin = end;
		while (end < line.end && !(strchr(" \t\r", text[end]) && text[end]))
			end++;
		for (size_t at = begin; at < end; at++) {
			if (text[at] == '/')
				begin = at + 1;
		}
		/* #!/usr/bin/env -S bash -e */
	} while (end < line.end &&
		 ((end - begin == 3 && memcmp(text + begin, "env", 3) == 0) ||
		  text[begin] == '-'));
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		if (strlen(shells[i]) == end - begin &&
		    memcmp(text + begin, shells[i], end - begin) == 0)
			return true;
	}
	return false;
}

/* ---- directives of other scripts ---- */

struct spans {
	struct script_range *list;
	size_t count;
	struct spec_arena **arena;
	bool failed;
};

static void add_span(struct spans *spans, struct script_range range)
{
	struct script_range *grown;

	if (range.end <= range.begin)
		return;
	grown = spec_arena_grow(spans->arena, spans->list, spans->count, sizeof(*grown));
	if (!grown) {
		spans->failed = true;
		return;
	}
	spans->list = grown;
	grown[spans->count++] = range;
}

static void find_spans(struct spans *spans, const struct check_model *model,
		       const struct shell_node *node);

static void find_word_spans(struct spans *spans, const struct check_model *model,
			    const struct shell_word *word)
{
	for (; word; word = word->next) {
		/* Words on one line hold no directive; look into those that do not end
		 * where they begin. */
		if (memchr(model->source.text + word->range.begin, '\n',
			   word->range.end - word->range.begin))
			add_span(spans, word->range);
	}
}

static void find_spans(struct spans *spans, const struct check_model *model,
		       const struct shell_node *node)
{
	for (; node && !spans->failed; node = node->next) {
		find_word_spans(spans, model, node->words);
		for (const struct shell_assignment *at = node->assignments; at;
		     at = at->next) {
			find_word_spans(spans, model, at->value);
			find_word_spans(spans, model, at->items);
		}
		for (const struct shell_redirect *at = node->redirects; at; at = at->next)
			add_span(spans, at->document);
		find_spans(spans, model, node->children);
	}
}

static int compare_spans(const void *a, const void *b)
{
	const struct script_range *left = a, *right = b;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* What stands in a here-document or a string is text, and perhaps another script. */
static int find_quoted(struct check_model *model)
{
	struct spans spans = {.arena = &model->arena};
	struct script_header *header = &model->header;
	bool any = false;
	size_t next = 0;
	uint32_t reach = 0;

	for (size_t i = 0; i < header->directives_count; i++)
		any |= header->directives[i].kind == SCRIPT_DIRECTIVE_LATE ||
		       header->directives[i].kind == SCRIPT_DIRECTIVE_LOOKALIKE;
	if (!any)
		return 0;
	find_spans(&spans, model, model->program.list);
	if (spans.failed)
		return -ENOMEM;
	if (spans.count > 0)
		qsort(spans.list, spans.count, sizeof(*spans.list), compare_spans);
	for (size_t i = 0; i < header->directives_count; i++) {
		struct script_directive *directive = &header->directives[i];

		while (next < spans.count &&
		       spans.list[next].begin <= directive->line.begin) {
			if (spans.list[next].end > reach)
				reach = spans.list[next].end;
			next++;
		}
		if (directive->line.begin < reach &&
		    (directive->kind == SCRIPT_DIRECTIVE_LATE ||
		     directive->kind == SCRIPT_DIRECTIVE_LOOKALIKE))
			directive->kind = SCRIPT_DIRECTIVE_QUOTED;
	}
	return 0;
}

int check_model_make(struct check_model *model, const struct check_request *request)
{
	struct script_submission submission = {
		.slurm = request->slurm,
		.arguments = request->arguments,
		.arguments_count = request->arguments_count,
		.environment = request->environment,
		.environment_count = request->environment_count,
	};
	const size_t length = request->length < SCRIPT_MAX ? request->length : SCRIPT_MAX;
	struct shell_text text;
	int rc;

	*model = (struct check_model){.site = request->site};
	if (!submission.slurm && request->site && request->site->slurm.given)
		submission.slurm = script_slurm_parse(request->site->slurm.text);
	model->slurm = submission.slurm;
	model->too_long = request->length > SCRIPT_MAX;
	rc = script_text_init(&model->source, request->file, request->text, length);
	if (rc == 0)
		rc = script_header_read(&model->header, &model->source, &submission,
					&model->arena);
	if (rc == 0)
		rc = read_pragmas(model);
	if (rc == 0)
		rc = check_layout_job(model);
	if (rc < 0)
		return rc;
	model->shell_script = is_shell_script(model);
	if (!model->shell_script)
		return 0;
	text = (struct shell_text){.bytes = model->source.text, .length = length};
	rc = shell_read(&model->program, &text, &model->arena);
	if (rc == 0)
		rc = find_quoted(model);
	return rc < 0 ? rc : check_follow(model);
}

void check_model_clear(struct check_model *model)
{
	spec_arena_free(&model->arena);
	script_text_clear(&model->source);
	*model = (struct check_model){0};
}

struct diag_place check_place(struct check_model *model, struct script_range range)
{
	return script_text_place(&model->source, range);
}
