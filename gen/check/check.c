/* SPDX-License-Identifier: MIT */
/*
 * One script through the model and the rules. A finding is told here, where it is known
 * which rules the user, the site or the script itself has switched off.
 */
#include "gen/check/rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool rules_since(const struct rules *rules, script_slurm version)
{
	return rules->model->slurm >= version;
}

bool rules_before(const struct rules *rules, script_slurm version)
{
	return rules->model->slurm > 0 && rules->model->slurm < version;
}

/*
 * The first line of the command that goes over line ends with backslashes to LINE: no
 * remark can stand within it.
 */
static uint32_t first_line(const struct rules *rules, uint32_t line)
{
	const struct script_text *source = &rules->model->source;

	while (line > 1) {
		struct script_range above = script_text_line_range(source, line - 1);

		if (range_is_empty(above) || source->text[above.end - 1] != '\\')
			break;
		line--;
	}
	return line;
}

static bool names(const char *list, const char *id)
{
	return strcmp(list, "all") == 0 || strcmp(list, id) == 0;
}

static bool is_off(const struct rules *rules, const struct check_rule *rule,
		   struct script_range where)
{
	const struct check_model *model = rules->model;
	uint32_t last = 0, first = 0;

	if ((rule->flags & CHECK_PEDANTIC) && !rules->options->pedantic)
		return true;
	for (size_t i = 0; i < rules->options->disabled_count; i++) {
		if (names(rules->options->disabled[i], rule->id))
			return true;
	}
	for (size_t i = 0; i < model->pragmas_count; i++) {
		const struct check_pragma *pragma = &model->pragmas[i];

		if (!names(pragma->rule, rule->id))
			continue;
		if (pragma->file)
			return true;
		if (last == 0) {
			last = script_text_line(&model->source, where.begin);
			first = first_line(rules, last);
		}
		if (pragma->line >= first && pragma->line <= last)
			return true;
	}
	return false;
}

static void add(struct rules *rules, enum diag_severity severity,
		struct script_range where, const char *format, va_list list)
	__attribute__((format(printf, 4, 0)));

static void add(struct rules *rules, enum diag_severity severity,
		struct script_range where, const char *format, va_list list)
{
	struct diag_place place = check_place(rules->model, where);
	char *text;

	if (vasprintf(&text, format, list) < 0) {
		rules->rc = -ENOMEM;
		return;
	}
	diag_add(rules->diag, severity, rules->rule->id, &place, "%s", text);
	free(text);
}

static bool tell(struct rules *rules, enum rule rule, enum diag_severity severity,
		 struct script_range where, const char *format, va_list list)
	__attribute__((format(printf, 5, 0)));

static bool tell(struct rules *rules, enum rule rule, enum diag_severity severity,
		 struct script_range where, const char *format, va_list list)
{
	rules->rule = NULL;
	if (is_off(rules, &check_rules[rule], where))
		return false;
	rules->rule = &check_rules[rule];
	add(rules, severity, where, format, list);
	diag_fix(rules->diag, "%s", rules->rule->cure);
	return true;
}

bool rules_tell(struct rules *rules, enum rule rule, struct script_range where,
		const char *format, ...)
{
	va_list list;
	bool told;

	va_start(list, format);
	told = tell(rules, rule, check_rules[rule].severity, where, format, list);
	va_end(list);
	return told;
}

bool rules_tell_as(struct rules *rules, enum rule rule, enum diag_severity severity,
		   struct script_range where, const char *format, ...)
{
	va_list list;
	bool told;

	va_start(list, format);
	told = tell(rules, rule, severity, where, format, list);
	va_end(list);
	return told;
}

void rules_fix(struct rules *rules, const char *format, ...)
{
	va_list list;
	char *text;

	if (!rules->rule)
		return;
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	if (!text) {
		rules->rc = -ENOMEM;
		return;
	}
	diag_fix(rules->diag, "%s", text);
	free(text);
}

void rules_also(struct rules *rules, struct script_range where, const char *format, ...)
{
	va_list list;

	if (!rules->rule || range_is_empty(where))
		return;
	va_start(list, format);
	add(rules, DIAG_NOTE, where, format, list);
	va_end(list);
}

void rules_edit(struct rules *rules, struct script_range where, const char *format, ...)
{
	struct check_edits *edits = rules->edits;
	va_list list;
	char *text;

	if (!rules->rule || !edits)
		return;
	if (edits->count == edits->allocated) {
		size_t allocated = edits->allocated ? 2 * edits->allocated : 8;
		struct check_edit *grown =
			reallocarray(edits->items, allocated, sizeof(*grown));

		if (!grown) {
			rules->rc = -ENOMEM;
			return;
		}
		edits->items = grown;
		edits->allocated = allocated;
	}
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	if (!text) {
		rules->rc = -ENOMEM;
		return;
	}
	edits->items[edits->count++] = (struct check_edit){.from = where.begin,
							   .to = where.end,
							   .text = text,
							   .rule = rules->rule->id};
}

const struct check_assignment *rules_set_above(const struct check_model *model,
					       const char *name, uint32_t before)
{
	const struct check_assignment *found = NULL;
	size_t low = 0, high = model->assignments_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(model->by_name[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < model->assignments_count; low++) {
		const struct check_assignment *set = model->by_name[low];

		if (strcmp(set->name, name) != 0)
			break;
		if (set->range.begin < before && !set->unset &&
		    (!found || set->range.begin >= found->range.begin))
			found = set;
	}
	return found;
}

bool rules_has_plugin(const struct rules *rules, const struct check_launch *launch)
{
	const struct check_command *exec = check_within(launch->command, CHECK_SRANK);

	return (exec && check_srank_executes(exec)) ||
	       (launch->step && check_step_find(launch->step, "srank")) ||
	       check_sees(rules->model, launch->command, "SRANK") ||
	       script_header_find(&rules->model->header, 0, "srank");
}

bool rules_is_open(const struct check_launch *launch)
{
	const struct check_command *command = launch->command;

	for (size_t i = 1; i < command->words_count && i < command->operand; i++) {
		const struct check_value *word = &command->words[i];
		const char *before = command->words[i - 1].text;

		if (word->constant || word->quoted || word->text[0] != '$')
			continue;
		/* The value of the option before it. */
		if (i > 1 && before[0] == '-' && !strchr(before, '='))
			continue;
		return true;
	}
	return false;
}

bool rules_is_wrapper(const struct check_launch *launch)
{
	static const char *const names[] = {"accelerate", "torchrun",   "deepspeed",
					    "python",     "python3",    "mpirun",
					    "mpiexec",    "horovodrun", "bash"};
	const struct check_command *command = launch->command;

	if (launch->tool != CHECK_PROGRAM)
		return false;
	for (size_t i = 1; i < command->words_count; i++) {
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			if (strcmp(command->words[i].text, names[j]) == 0)
				return true;
		}
	}
	return false;
}

int check_script(const char *file, const char *text, size_t length,
		 const struct check_options *options, struct diag *diag,
		 struct check_edits *edits)
{
	static void (*const all[])(struct rules *) = {
		rules_directives, rules_values, rules_resources,  rules_steps,
		rules_launchers,  rules_ranks,  rules_rendezvous, rules_devices,
		rules_names,      rules_srank,  rules_job,
	};
	struct check_model model = {0};
	size_t errors;
	struct check_request request = {
		.file = file,
		.text = text,
		.length = length,
		.slurm = options->slurm,
		.site = options->site,
		.arguments = options->arguments,
		.arguments_count = options->arguments_count,
		.environment = options->environment,
		.environment_count = options->environment_count,
	};
	struct rules rules = {
		.model = &model,
		.options = options,
		.diag = diag,
		.edits = edits,
	};

	rules.rc = check_model_make(&model, &request);
	errors = diag->errors;
	diag_source(diag, file, text, length);
	for (size_t i = 0; rules.rc == 0 && i < sizeof(all) / sizeof(*all); i++) {
		all[i](&rules);
		/* The first two are about the header's form. */
		if (i < 2 && diag->errors > errors)
			rules.header_is_faulty = true;
	}
	check_model_clear(&model);
	return rules.rc;
}
