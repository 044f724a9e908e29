/* SPDX-License-Identifier: MIT */
/*
 * Rules about the values of sbatch's options. What is refused here was refused by 22.05,
 * 24.11 and 26.05; a form that was not tried passes.
 */
#include "gen/check/rules.h"

#include "gen/spec/scalar.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * NULL: the value is fine; else why not, and HINT may get what was meant. Only values
 * without expansions come here.
 */
typedef const char *(*check_fn)(const struct rules *rules, const char *value,
				char hint[SPEC_HINT_MAX]);

static const char *check_time(const struct rules *rules, const char *value,
			      char hint[SPEC_HINT_MAX])
{
	uint64_t seconds;

	return spec_time_read(value, &seconds, hint) < 0
		       ? "a time is MINUTES, HOURS:MINUTES:SECONDS or "
			 "DAYS-HOURS[:MINUTES]"
		       : NULL;
}

static const char *check_memory(const struct rules *rules, const char *value,
				char hint[SPEC_HINT_MAX])
{
	uint64_t mib;

	return spec_memory_read(value, &mib, hint) < 0
		       ? "a size is a whole number and K, M, G or T"
		       : NULL;
}

static bool is_digits(const char *text, size_t length)
{
	if (length == 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

static const char *check_count(const struct rules *rules, const char *value,
			       char hint[SPEC_HINT_MAX])
{
	return !is_digits(value, strlen(value)) || strtoull(value, NULL, 10) == 0
		       ? "it is a whole number, 1 or more"
		       : NULL;
}

/* N, MIN-MAX, and lists of these since 23.02; k and m for 1024 and its square. */
static const char *check_nodes(const struct rules *rules, const char *value,
			       char hint[SPEC_HINT_MAX])
{
	static const char form[] = "it is N or MIN-MAX, 1 or more";
	uint64_t least = 0, most = 0;
	char *end;

	if (strchr(value, ',') && !rules_before(rules, 2302))
		return strspn(value, "0123456789-,:kKmM") == strlen(value) ? NULL : form;
	if (!isdigit((unsigned char)value[0]))
		return form;
	least = strtoull(value, &end, 10);
	if (*end && strchr("kKmM", *end))
		end++;
	if (*end == '-' && isdigit((unsigned char)end[1])) {
		most = strtoull(end + 1, &end, 10);
		if (*end && strchr("kKmM", *end))
			end++;
		else if (most < least)
			return form;
	}
	return *end || least == 0 ? form : NULL;
}

/* [TYPE:]N */
static const char *check_gpus(const struct rules *rules, const char *value,
			      char hint[SPEC_HINT_MAX])
{
	const char *colon = strrchr(value, ':');
	const char *number = colon ? colon + 1 : value;

	return !is_digits(number, strlen(number))
		       ? "it is a number of GPUs, or TYPE:NUMBER"
		       : NULL;
}

/* One of a list: gpu, gpu:N, gpu:TYPE, gpu:TYPE:N, each with more from 23.02 on. */
static const char *check_gres(const struct rules *rules, const char *value,
			      char hint[SPEC_HINT_MAX])
{
	if (isdigit((unsigned char)value[0]))
		return "it is NAME:NUMBER, as in gpu:4";
	if (strncmp(value, "gpus", 4) == 0 && (value[4] == ':' || value[4] == '\0')) {
		snprintf(hint, SPEC_HINT_MAX, "gpu%s", value + 4);
		return "the resource is called gpu";
	}
	if (strncmp(value, "gpu:", 4) == 0 && isdigit((unsigned char)value[4])) {
		size_t digits = strspn(value + 4, "0123456789");

		if (value[4 + digits] == ':' &&
		    isalpha((unsigned char)value[5 + digits])) {
			snprintf(hint, SPEC_HINT_MAX, "gpu:%s:%.*s", value + 5 + digits,
				 (int)digits, value + 4);
			return "the type comes before the number";
		}
	}
	if (strncmp(value, "gpu=", 4) == 0 && rules_before(rules, 2302)) {
		snprintf(hint, SPEC_HINT_MAX, "gpu:%s", value + 4);
		return "this Slurm wants a colon before the number";
	}
	return NULL;
}

/* Ranges and single numbers, with a step and a limit of how many run at once. */
static const char *check_array(const struct rules *rules, const char *value,
			       char hint[SPEC_HINT_MAX])
{
	static const char form[] = "it is a list of N or FIRST-LAST[:STEP], and %LIMIT";
	const char *at = value, *end = strchrnul(value, '%');

	if (end > at && *at == '[' && end[-1] == ']') {
		at++;
		end--;
	}
	if (at == end)
		return form;
	while (at < end) {
		unsigned long first, last;
		char *stop;

		if (!isdigit((unsigned char)*at))
			return form;
		first = strtoul(at, &stop, 10);
		if (*stop == '-') {
			if (!isdigit((unsigned char)stop[1]))
				return form;
			last = strtoul(stop + 1, &stop, 10);
			if (last < first)
				return "the first number is above the last";
			if (*stop == ':') {
				if (!isdigit((unsigned char)stop[1]))
					return form;
				strtoul(stop + 1, &stop, 10);
			}
		}
		if (stop > end || (stop < end && *stop != ','))
			return form;
		at = stop < end ? stop + 1 : end;
	}
	return NULL;
}

static const char *check_signal(const struct rules *rules, const char *value,
				char hint[SPEC_HINT_MAX])
{
	static const char form[] = "it is [B:]NAME[@SECONDS], as in B:USR1@120";
	const char *at = value, *time = strchr(value, '@');
	size_t letters;

	if (strncasecmp(at, "B:", 2) == 0)
		at += 2;
	else if (strncasecmp(at, "R:", 2) == 0 || strncasecmp(at, "RB:", 3) == 0 ||
		 strncasecmp(at, "BR:", 3) == 0)
		at = strchr(at, ':') + 1;
	letters = time ? (size_t)(time - at) : strlen(at);
	if (letters == 0 || (letters == 1 && *at == '0'))
		return form;
	for (size_t i = 0; i < letters; i++) {
		if (!isalnum((unsigned char)at[i]))
			return form;
	}
	if (time && (!is_digits(time + 1, strlen(time + 1)) ||
		     strtoul(time + 1, NULL, 10) > 65535))
		return form;
	return NULL;
}

static bool is_one_of(const char *const *words, const char *text, size_t length)
{
	for (; *words; words++) {
		if (strlen(*words) == length && strncasecmp(*words, text, length) == 0)
			return true;
	}
	return false;
}

static const char *check_mail_type(const struct rules *rules, const char *value,
				   char hint[SPEC_HINT_MAX])
{
	static const char *const words[] = {
		"NONE",          "BEGIN",
		"END",           "FAIL",
		"REQUEUE",       "ALL",
		"STAGE_OUT",     "INVALID_DEPEND",
		"TIME_LIMIT",    "TIME_LIMIT_90",
		"TIME_LIMIT_80", "TIME_LIMIT_50",
		"ARRAY_TASKS",   NULL,
	};

	for (const char *at = value; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");

		if (length > 0 && !is_one_of(words, at, length))
			return "it is a list of BEGIN, END, FAIL, REQUEUE, ALL, "
			       "TIME_LIMIT "
			       "and others of sbatch(1)";
		at += length;
	}
	return NULL;
}

static const char *check_open_mode(const struct rules *rules, const char *value,
				   char hint[SPEC_HINT_MAX])
{
	/* Slurm looks at the beginning only (slurm_opt.c, arg_set_open_mode()). */
	return *value && strchr("aAtT", *value) ? NULL : "it is append or truncate";
}

static const struct {
	const char *option;
	check_fn check;
} checks[] = {
	{"time", check_time},
	{"time-min", check_time},
	{"mem", check_memory},
	{"mem-per-cpu", check_memory},
	{"mem-per-gpu", check_memory},
	{"nodes", check_nodes},
	{"ntasks", check_count},
	{"ntasks-per-node", check_count},
	{"tasks-per-node", check_count},
	{"cpus-per-task", check_count},
	{"cpus-per-gpu", check_count},
	{"gpus", check_gpus},
	{"gpus-per-node", check_gpus},
	{"gpus-per-task", check_gpus},
	{"gres", check_gres},
	{"array", check_array},
	{"signal", check_signal},
	{"mail-type", check_mail_type},
	{"open-mode", check_open_mode},
};

static void value(struct rules *rules, const struct script_use *use)
{
	char hint[SPEC_HINT_MAX] = "";
	const char *why = NULL;

	if (use->fault || use->ate || use->lost || !use->option || !use->value ||
	    use->origin == SCRIPT_USE_FOREIGN || strpbrk(use->value, "$`") ||
	    use->value[0] == '=' || range_is_empty(use->value_range))
		return;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		if (strcmp(checks[i].option, use->option->name) == 0)
			why = checks[i].check(rules, use->value, hint);
	}
	if (!why)
		return;
	if (!rules_tell(rules, RULE_BAD_VALUE, use->value_range,
			"sbatch does not take `%s` for --%s: %s", use->value,
			use->option->name, why))
		return;
	if (hint[0]) {
		rules_fix(rules, "write --%s=%s", use->option->name, hint);
		rules_edit(rules, use->value_range, "%s", hint);
	} else {
		rules_fix(rules, "%s", why);
	}
}

/* ---- log files ---- */

static void log_folder(struct rules *rules, const struct script_use *use)
{
	const char *slash, *percent;

	if (!use || !use->value || use->fault || range_is_empty(use->value_range) ||
	    rules_since(rules, 2302) || strpbrk(use->value, "$`"))
		return;
	slash = strrchr(use->value, '/');
	percent = strchr(use->value, '%');
	/* %x, %u and the like may well name a folder that is there. */
	while (percent && slash && percent < slash && !strchr("jJAabsNnt", percent[1]) &&
	       !isdigit((unsigned char)percent[1]))
		percent = strchr(percent + 2, '%');
	if (slash && percent && percent < slash)
		rules_tell(rules, RULE_LOG_FOLDER, use->value_range,
			   "the folder of `%s` is named after the job, so before Slurm "
			   "23.02 "
			   "it cannot be there",
			   use->value);
}

void rules_values(struct rules *rules)
{
	const struct script_header *header = &rules->model->header;

	for (size_t i = 0; i < header->uses_count; i++)
		value(rules, &header->uses[i]);
	for (size_t i = 0; i < rules->model->jobs_count; i++) {
		const struct check_job *job = &rules->model->jobs[i];

		log_folder(rules, job->output);
		log_folder(rules, job->error);
	}
}
