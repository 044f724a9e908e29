/* SPDX-License-Identifier: MIT */
/*
 * Scripts: any bytes make a model, whose every range lies in the text and whose every
 * value ends, for each version of Slurm; and any bytes are checked, fixed, printed in
 * each format and imported.
 */
#include "gen/check/check.h"
#include "gen/check/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_range(struct check_model *model, struct script_range range)
{
	const struct diag_place place = check_place(model, range);

	require(range.begin <= range.end && range.end <= model->source.length + 1);
	require(place.line >= 1 && place.line <= model->source.lines_count);
	require(place.column >= 1 && place.end_column >= place.column);
}

static void require_value(struct check_model *model, const struct check_value *value)
{
	size_t at = 0;

	require(value->text && value->text[value->length] == '\0');
	require_range(model, value->range);
	require_range(model, value->source);
	for (size_t i = 0; i < value->expansions_count; i++) {
		const struct check_expansion *expansion = &value->expansions[i];

		require(expansion->at >= at);
		at = expansion->at + expansion->length;
		require(at <= value->length);
		require(expansion->first <= expansion->last &&
			expansion->last <= model->commands_count);
		require_range(model, expansion->range);
	}
	require(value->constant == (value->expansions_count == 0));
	check_value_number(model, value);
	check_value_expands(value, "SLURM_PROCID");
}

static void require_uses(struct check_model *model, const struct script_use *uses,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		require(uses[i].name != NULL);
		require(uses[i].option || uses[i].fault != SCRIPT_USE_FINE);
		require_range(model, uses[i].range);
		require_range(model, uses[i].name_range);
		require_range(model, uses[i].value_range);
	}
}

static void require_model(struct check_model *model)
{
	for (size_t i = 0; i < model->header.directives_count; i++)
		require_range(model, model->header.directives[i].line);
	require_uses(model, model->header.uses, model->header.uses_count);
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		require(command->order == i && command->words_count > 0);
		require(command->operand <= command->words_count);
		require(command->stage < command->stages);
		require_range(model, command->range);
		for (size_t j = 0; j < command->words_count; j++)
			require_value(model, &command->words[j]);
		check_sees(model, command, "MASTER_ADDR");
	}
	for (size_t i = 0; i < model->assignments_count; i++) {
		require_value(model, &model->assignments[i]->value);
		require_range(model, model->assignments[i]->range);
		require_range(model, model->assignments[i]->name_range);
	}
	for (size_t i = 0; i < model->steps_count; i++)
		require_uses(model, model->steps[i]->uses, model->steps[i]->uses_count);
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		for (size_t j = 0; j < CHECK_KEYS; j++) {
			if (!launch->setting[j].name)
				continue;
			require_range(model, launch->setting[j].range);
			require_value(model, &launch->setting[j].value);
		}
	}
	if (model->program.fault.kind != SHELL_FINE)
		require_range(model, model->program.fault.range);
	for (size_t i = 0; i < model->faults_count; i++)
		require_range(model, model->faults[i].fault.range);
}

static void make_model(const char *text, size_t size, script_slurm slurm)
{
	struct check_request request = {
		.file = "job.sbatch",
		.text = text,
		.length = size,
		.slurm = slurm,
	};
	struct check_model model = {0};

	require(check_model_make(&model, &request) == 0);
	require_model(&model);
	check_model_clear(&model);
}

/* What is printed is not the matter; that it can be is. */
static void print(struct diag *diag)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return;
	for (int format = 0; format < CHECK_FORMATS; format++)
		check_print(diag, format, true, out);
	fclose(out);
	free(text);
}

static void check(const char *text, size_t size, const struct check_options *options)
{
	struct diag diag = {0};
	struct check_edits edits = {0};
	char *fixed = NULL;
	size_t fixed_size = 0;

	require(check_script("job.sbatch", text, size, options, &diag, &edits) == 0);
	print(&diag);
	diag_clear(&diag);
	require(check_fix_apply(text, size, &edits, &fixed, &fixed_size) == 0);
	check_edits_clear(&edits);
	/* What was put right is read like any other script. */
	require(check_script("job.sbatch", fixed, fixed_size, options, &diag, NULL) == 0);
	diag_clear(&diag);
	free(fixed);
}

static void import(const char *text, size_t size, const struct check_options *options)
{
	struct diag diag = {0};
	char *spec = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&spec, &length);
	int rc;

	if (!out)
		return;
	rc = check_import(out, "job.sbatch", text, size, options, &diag);
	require(rc == 0 || diag.errors > 0);
	fclose(out);
	free(spec);
	diag_clear(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const script_slurm versions[] = {0, 2205, 2411, 2605};
	const char *text = (const char *)data;
	const struct check_options options = {
		.slurm = versions[size % 4],
		.pedantic = true,
	};

	make_model(text, size, options.slurm);
	check(text, size, &options);
	import(text, size, &options);
	return 0;
}
