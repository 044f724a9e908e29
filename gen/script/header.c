/* SPDX-License-Identifier: MIT */
/*
 * The header of a script: comments for its readers, and the directives from the table of
 * options, in its order, for the job or for each component of a heterogeneous one.
 */
#include "gen/script/options.h"
#include "gen/script/parts.h"
#include "gen/script/quote.h"
#include "gen/utf8.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct header {
	FILE *out;
	struct script_work *work;
	const struct spec *spec; /* of the component */
	const struct plan *plan;
	bool het;
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool lists(const struct spec_value *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->items[i].text, name) == 0)
			return true;
	}
	return false;
}

static bool is_skipped(const struct header *header, const char *option)
{
	return lists(&header->work->spec->batch.skip, option) ||
	       lists(&header->work->site->skip, option);
}

/* Ends the directive that begins at AT and stands at PLACE in the spec (NULL: it follows
 * from something else there). */
static void end_directive(struct header *header, long at, const struct diag_place *place)
{
	const long end = ftell(header->out);

	if (at >= 0 && end >= 0)
		script_origins_add(header->work->origins, (size_t)at, (size_t)end, place);
	fputc('\n', header->out);
}

/* --OPTION, with VALUE unless that is NULL, which stands at PLACE in the spec. */
static int write_option(struct header *header, const char *option, const char *value,
			const struct diag_place *place)
{
	const long at = ftell(header->out);
	int rc;

	if (is_skipped(header, option))
		return 0;
	if (!value) {
		fprintf(header->out, "#SBATCH --%s", option);
		end_directive(header, at, place);
		return 0;
	}
	rc = script_plain(header->work, value, place, "an #SBATCH line", &value);
	if (rc < 0)
		return rc;
	if (!script_quote_directive_ok(value)) {
		diag_add(header->work->diag, DIAG_ERROR, "script-directive", place,
			 "%s cannot have a line end in its value: sbatch reads a "
			 "directive as one line",
			 option);
		return -EINVAL;
	}
	fprintf(header->out, "#SBATCH --%s=", option);
	script_quote_directive(header->out, value);
	end_directive(header, at, place);
	return 0;
}

/* --OPTION=[PREFIX][TYPE:]NUMBER */
static int write_number(struct header *header, const char *option, const char *prefix,
			const char *type, uint64_t number)
{
	const char *text =
		spec_arena_format(&header->work->arena, "%s%s%s%" PRIu64, prefix,
				  type ? type : "", type ? ":" : "", number);

	return text ? write_option(header, option, text, NULL) : -ENOMEM;
}

static const struct spec_value *value_of(const struct header *header,
					 const struct script_option *row)
{
	return (const void *)((const char *)header->spec + row->offset);
}

static int from_spec(struct header *header, const struct script_option *row)
{
	const struct spec_value *value = value_of(header, row);

	return value->given ? write_option(header, row->name, value->text, &value->place)
			    : 0;
}

static int from_flag(struct header *header, const struct script_option *row)
{
	const struct spec_value *value = value_of(header, row);

	if (!value->given || !value->number)
		return 0;
	return write_option(header, row->name, NULL, &value->place);
}

static int from_batch(struct header *header, const struct script_option *row)
{
	const char *const *text =
		(const void *)((const char *)&header->plan->batch + row->offset);

	return *text ? write_option(header, row->name, *text, NULL) : 0;
}

static int from_plan(struct header *header, const struct script_option *row)
{
	if (!plan_known(header->plan, row->quantity))
		return 0;
	return write_number(header, row->name, "", NULL,
			    plan_value(header->plan, row->quantity));
}

/* The generic resources beside --gres=gpu, or GPUS (NULL: none there) alone. */
static int write_gres(struct header *header, const char *gpus)
{
	const struct spec_value *others = &header->spec->resources.gres;
	const char *text = gpus;

	for (size_t i = 0; i < others->count; i++) {
		const char *other = others->items[i].text;

		text = text ? spec_arena_format(&header->work->arena, "%s,%s", text,
						other)
			    : other;
		if (!text)
			return -ENOMEM;
	}
	return text ? write_option(header, "gres", text, &others->place) : 0;
}

static int from_gpus(struct header *header, const struct script_option *row)
{
	const struct plan *plan = header->plan;
	const char *type = plan->gpu_type;
	const char *gpus = NULL;
	int rc = 0;

	(void)row;
	if (!plan_value(plan, PLAN_GPUS))
		return write_gres(header, NULL);
	switch (plan->dialect) {
	case SPEC_DIALECT_GRES:
		gpus = spec_arena_format(&header->work->arena, "gpu:%s%s%" PRIu64,
					 type ? type : "", type ? ":" : "",
					 plan_value(plan, PLAN_GPUS_PER_NODE));
		if (!gpus)
			return -ENOMEM;
		break;
	case SPEC_DIALECT_GPUS_PER_NODE:
		rc = write_number(header, "gpus-per-node", "", type,
				  plan_value(plan, PLAN_GPUS_PER_NODE));
		break;
	case SPEC_DIALECT_GPUS_PER_TASK:
		/* Slurm refuses it without a number of tasks (src/interfaces/gres.c). */
		if (!header->het)
			rc = write_number(header, "ntasks", "", NULL,
					  plan_value(plan, PLAN_NTASKS));
		if (rc == 0)
			rc = write_number(header, "gpus-per-task", "", type,
					  plan_value(plan, PLAN_GPUS_PER_TASK));
		break;
	case SPEC_DIALECT_GPUS:
		rc = write_number(header, "gpus", "", type, plan_value(plan, PLAN_GPUS));
		/* Alone it is spread unevenly over several nodes: 7 and 1 of 8. */
		if (rc == 0 && plan_value(plan, PLAN_NODES) > 1)
			rc = write_number(header, "gpus-per-node", "", type,
					  plan_value(plan, PLAN_GPUS_PER_NODE));
		break;
	}
	return rc < 0 ? rc : write_gres(header, gpus);
}

static int from_memory(struct header *header, const struct script_option *row)
{
	const struct plan_memory *memory = &header->plan->memory;

	(void)row;
	return memory->option ? write_option(header, memory->option, memory->value,
					     memory->place)
			      : 0;
}

static int from_exclusive(struct header *header, const struct script_option *row)
{
	const struct spec_value *value = value_of(header, row);
	const char *whom = value->text;

	if (!value->given || !value->number)
		return 0;
	/* user, mcs and topo; every other word for true means nobody at all. */
	if (strcmp(whom, "user") != 0 && strcmp(whom, "mcs") != 0 &&
	    strcmp(whom, "topo") != 0)
		whom = NULL;
	return write_option(header, row->name, whom, &value->place);
}

/*
 * In a heterogeneous job, or the number of tasks that the first component's variables
 * tell srun holds for the others, too (Slurm 24.11 and later).
 */
static int from_tasks(struct header *header, const struct script_option *row)
{
	return header->het ? from_plan(header, row) : 0;
}

static int from_requeue(struct header *header, const struct script_option *row)
{
	(void)row;
	return header->work->plan->batch.requeue
		       ? write_option(header, header->work->plan->batch.requeue, NULL,
				      NULL)
		       : 0;
}

static int (*const writers[])(struct header *header, const struct script_option *row) = {
	[SCRIPT_UNWRITTEN] = NULL,
	[SCRIPT_FROM_SPEC] = from_spec,
	[SCRIPT_FROM_FLAG] = from_flag,
	[SCRIPT_FROM_BATCH] = from_batch,
	[SCRIPT_FROM_PLAN] = from_plan,
	[SCRIPT_FROM_TASKS] = from_tasks,
	[SCRIPT_FROM_GPUS] = from_gpus,
	[SCRIPT_FROM_MEMORY] = from_memory,
	[SCRIPT_FROM_EXCLUSIVE] = from_exclusive,
	[SCRIPT_FROM_REQUEUE] = from_requeue,
};

static const struct script_option *find_option(const char *name, size_t length)
{
	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *row = &script_options[i];

		if (script_option_of(row, SCRIPT_SBATCH, 0) &&
		    strncmp(row->name, name, length) == 0 && !row->name[length])
			return row;
	}
	return NULL;
}

/* One further option, a word that sbatch is to read as it is. */
static int write_extra(struct header *header, const struct spec_item *item)
{
	const char *text = item->text, *plain;
	const struct script_option *row =
		strncmp(text, "--", 2) == 0
			? find_option(text + 2, strcspn(text + 2, "="))
			: NULL;
	struct diag *diag = header->work->diag;
	char *word = (char *)text;
	bool owned;
	long at;
	int rc;

	if (text[0] != '-' || !text[1]) {
		diag_add(diag, DIAG_ERROR, "script-extra", &item->place,
			 "`%s` is no option of sbatch", text);
		diag_fix(diag, "write each option with its value as one element, as in "
			       "[--tres-bind=gres/gpu:single:1]");
		return -EINVAL;
	}
	if (script_options_check(&word, 1, &owned) == 0 && owned) {
		diag_add(diag, DIAG_ERROR, "script-extra", &item->place,
			 "%s would not agree with the commands of the script", text);
		diag_fix(diag, "say it by the keys of resources");
		return -EINVAL;
	}
	/* sbatch would take the next directive for it. */
	if (row && row->takes == SCRIPT_TAKES_VALUE && !strchr(text, '=')) {
		diag_add(diag, DIAG_ERROR, "script-extra", &item->place,
			 "%s needs its value in the same element", text);
		diag_fix(diag, "%s=VALUE", text);
		return -EINVAL;
	}
	rc = script_plain(header->work, text, &item->place, "an #SBATCH line", &plain);
	if (rc < 0)
		return rc;
	if (!script_quote_directive_ok(plain)) {
		diag_add(diag, DIAG_ERROR, "script-directive", &item->place,
			 "an option cannot have a line end in it: sbatch reads a "
			 "directive as one line");
		return -EINVAL;
	}
	at = ftell(header->out);
	fputs("#SBATCH ", header->out);
	script_quote_directive(header->out, plain);
	end_directive(header, at, &item->place);
	return 0;
}

static int write_extras(struct header *header, const struct spec_value *words)
{
	int result = 0;

	for (size_t i = 0; i < words->count; i++) {
		int rc = write_extra(header, &words->items[i]);

		if (rc == -ENOMEM)
			return rc;
		result = rc < 0 ? rc : result;
	}
	return result;
}

/* The directives of the job, or of its component INDEX. */
static int write_component(struct header *header, size_t index)
{
	int result = 0;

	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *row = &script_options[i];
		int rc;

		/* What is the job's and no component's stands in the first. */
		if (!writers[row->source] || (index > 0 && !row->component))
			continue;
		rc = writers[row->source](header, row);
		if (rc == -ENOMEM)
			return rc;
		result = rc < 0 ? rc : result;
	}
	if (result == 0)
		result = write_extras(header, &header->work->site->extra);
	if (result == 0)
		result = write_extras(header, &header->spec->batch.extra);
	return result;
}

static int check_skip(struct script_work *work, const struct spec_value *names)
{
	int rc = 0;

	for (size_t i = 0; i < names->count; i++) {
		const struct spec_item *item = &names->items[i];
		const char *near;

		if (find_option(item->text, strlen(item->text)))
			continue;
		near = launch_nearest(item->text, &script_options[0].name,
				      script_options_count, sizeof(*script_options));
		diag_add(work->diag, DIAG_ERROR, "script-skip", &item->place,
			 "sbatch has no option --%s", item->text);
		if (near)
			diag_fix(work->diag, "did you mean %s?", near);
		rc = -EINVAL;
	}
	return rc;
}

static int write_directives(FILE *out, struct script_work *work)
{
	const struct plan *plan = work->plan;
	struct header header = {out, work, work->spec, plan, plan->components_count > 0};
	int rc = check_skip(work, &work->spec->batch.skip);

	if (check_skip(work, &work->site->skip) < 0 || rc < 0)
		return -EINVAL;
	if (!header.het)
		return write_component(&header, 0);
	for (size_t i = 0; i < plan->components_count && rc == 0; i++) {
		header.spec = &plan->component_specs[i];
		header.plan = &plan->components[i];
		if (i > 0)
			fputs("#SBATCH hetjob\n", out);
		rc = write_component(&header, i);
	}
	return rc;
}

/* The call that makes the script again, where it was made. */
static void write_call(FILE *out, const struct script_work *work)
{
	const struct spec *spec = work->point ? work->point->sweep : work->spec;
	/* A file may be called like an option; "-" is standard input. */
	bool dash = spec->file[0] == '-' && spec->file[1];

	fprintf(out, "# Again:  srank gen %s", dash ? "./" : "");
	script_quote_line(out, spec->file);
	if (spec->document) {
		fputs(" --document ", out);
		script_quote_line(out, spec->document);
	}
	for (size_t i = 0; i < spec->overrides.count; i++) {
		fputs(" -s ", out);
		script_quote_line(out, spec->overrides.items[i].text);
	}
	/* Without the option the same profile is found where this one was. */
	if (work->site->file && work->site->named) {
		fputs(" --site ", out);
		script_quote_line(out, work->site->file);
	}
	if (work->point)
		fprintf(out, " --point %" PRIu64, work->point->number);
	fputc('\n', out);
}

/* What a reader of the script wants to know first, as comments. */
static int write_comments(FILE *out, const struct script_work *work)
{
	const struct spec *spec = work->spec;
	const char *name =
		strcmp(spec->file, "-") == 0 ? "standard input" : file_name(spec->file);
	char sentence[256], *output = NULL, *error = NULL;
	int rc;

	rc = script_folder(&spec->batch.output, &output);
	if (rc == 0)
		rc = script_folder(&spec->batch.error, &error);
	if (rc < 0)
		goto out;
	plan_sentence(work->plan, sentence, sizeof(sentence));
	fputs("# Made by srank " SRANK_VERSION " from ", out);
	utf8_escape(out, name);
	fprintf(out, " (digest %016" PRIx64 "): edit that, not this.\n", spec->digest);
	fprintf(out, "# %s, launcher %s.\n", sentence, work->plan->launcher->name);
	write_call(out, work);
	fputs("# Submit: ", out);
	if (output || error) {
		fputs("mkdir -p", out);
		if (output) {
			fputc(' ', out);
			script_quote_line(out, output);
		}
		if (error && !(output && strcmp(output, error) == 0)) {
			fputc(' ', out);
			script_quote_line(out, error);
		}
		fputs(" && ", out);
	}
	fputs("sbatch SCRIPT\n", out);
out:
	free(output);
	free(error);
	return rc;
}

int script_header(FILE *out, struct script_work *work)
{
	int rc;

	fputs("#!/bin/bash\n", out);
	rc = write_comments(out, work);
	return rc < 0 ? rc : write_directives(out, work);
}
