/* SPDX-License-Identifier: MIT */
/*
 * Rules about the values of sbatch's options. What is refused here was refused by 22.05,
 * 24.11 and 26.05; a form that was not tried passes.
 */
#include "gen/check/rules.h"

#include "gen/spec/scalar.h"

#include "spank/launch/nearest.h"

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

/* A list of [TYPE:]N and TYPE, which is one of them. */
static const char *check_gpus(const struct rules *rules, const char *value,
			      char hint[SPEC_HINT_MAX])
{
	for (const char *at = value;; at++) {
		const size_t length = strcspn(at, ","), type = strcspn(at, ":,");
		const bool typed = type < length;
		const char *number = typed ? at + type + 1 : at;

		/* The number goes behind the type; a name alone is a type. */
		if ((typed || isdigit((unsigned char)*at)) &&
		    (!is_digits(number, (size_t)(at + length - number)) ||
		     (typed && isdigit((unsigned char)*at))))
			return "it is a number of GPUs, or TYPE:NUMBER";
		if (length == 0)
			return "it is a number of GPUs, or TYPE:NUMBER";
		at += length;
		if (!*at)
			return NULL;
	}
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
	/* NAME:TYPE:NUMBER, of which the last is a number. */
	for (const char *at = value; *at; at += *at == ',') {
		const size_t length = strcspn(at, ",");
		const char *colon = memrchr(at, ':', length);

		if (colon && memchr(at, ':', (size_t)(colon - at)) &&
		    !isdigit((unsigned char)colon[1]))
			return "it is NAME:TYPE:NUMBER, as in gpu:a100:4";
		at += length;
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
				if (strtoul(stop + 1, &stop, 10) == 0)
					return "the step is 1 or more";
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

static const char *const mail_types[] = {
	"NONE",          "BEGIN",
	"END",           "FAIL",
	"REQUEUE",       "ALL",
	"STAGE_OUT",     "INVALID_DEPEND",
	"TIME_LIMIT",    "TIME_LIMIT_90",
	"TIME_LIMIT_80", "TIME_LIMIT_50",
	"ARRAY_TASKS",   NULL,
};

/* Words that are none are passed over, and a list of nothing else is refused. */
static const char *check_mail_type(const struct rules *rules, const char *value,
				   char hint[SPEC_HINT_MAX])
{
	for (const char *at = value; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");

		if (is_one_of(mail_types, at, length))
			return NULL;
		at += length;
	}
	return "it is a list of BEGIN, END, FAIL, REQUEUE, ALL, TIME_LIMIT and others of "
	       "sbatch(1)";
}

static const char *check_open_mode(const struct rules *rules, const char *value,
				   char hint[SPEC_HINT_MAX])
{
	/* Slurm looks at the beginning only (slurm_opt.c, arg_set_open_mode()). */
	return *value && strchr("aAtT", *value) ? NULL : "it is append or truncate";
}

/* One of WORDS, or a list of them where LIST says so. */
static const char *check_words(const char *const *words, bool list, const char *value,
			       const char *form)
{
	for (const char *at = value;; at++) {
		const size_t length = list ? strcspn(at, ",") : strlen(at);

		if (!is_one_of(words, at, length))
			return form;
		at += length;
		if (!*at)
			return NULL;
	}
}

static const char *check_hint(const struct rules *rules, const char *value,
			      char hint[SPEC_HINT_MAX])
{
	static const char *const words[] = {"compute_bound", "memory_bound",
					    "multithread",   "nomultithread",
					    "help",          NULL};

	return check_words(words, true, value,
			   "it is compute_bound, memory_bound, multithread or "
			   "nomultithread");
}

/* As _verify_dist_type() in Slurm's src/common/proc_args.c takes it. */
static const char *check_distribution(const struct rules *rules, const char *value,
				      char hint[SPEC_HINT_MAX])
{
	static const char form[] = "it is NODES[:SOCKETS[:CORES]], of block, cyclic, "
				   "fcyclic and *, and Pack or NoPack";
	static const char *const nodes[] = {"*",         "block", "cyclic",
					    "arbitrary", "plane", NULL};
	static const char *const inner[] = {"*", "block", "cyclic", "fcyclic", NULL};
	static const char *const last[] = {"pack", "nopack", NULL};
	size_t length = strcspn(value, ":,"), parts = 1;

	if (strncasecmp(value, "plane=", 6) == 0)
		return isdigit((unsigned char)value[6]) ? NULL : form;
	if (is_one_of(last, value, strlen(value)))
		return NULL;
	if (!is_one_of(nodes, value, length))
		return form;
	for (value += length; *value == ':' && parts < 3; parts++) {
		length = strcspn(++value, ":,");
		if (!is_one_of(inner, value, length))
			return form;
		value += length;
	}
	if (*value == ',')
		return is_one_of(last, value + 1, strlen(value + 1)) ? NULL : form;
	return *value ? form : NULL;
}

static const char *check_exclusive(const struct rules *rules, const char *value,
				   char hint[SPEC_HINT_MAX])
{
	static const char *const words[] = {"user", "mcs", "exclusive", "topo", NULL};
	return check_words(words, false, value, "it takes no value, or user, mcs, topo");
}

/* A value came with Slurm 25.05 (its sbatch.1). */
static const char *check_requeue(const struct rules *rules, const char *value,
				 char hint[SPEC_HINT_MAX])
{
	return strcasecmp(value, "expedite") == 0 ? NULL : "it takes no value";
}

static const char *check_gres_flags(const struct rules *rules, const char *value,
				    char hint[SPEC_HINT_MAX])
{
	static const char *const words[] = {
		"enforce-binding",      "disable-binding",
		"allow-task-sharing",   "multiple-tasks-per-sharing",
		"one-task-per-sharing", NULL};

	if (strcmp(value, "enforce_binding") == 0 ||
	    strcmp(value, "disable_binding") == 0)
		snprintf(hint, SPEC_HINT_MAX, "%.*s-binding",
			 (int)(strchr(value, '_') - value), value);
	return check_words(words, true, value,
			   "it is enforce-binding or disable-binding");
}

static const char *check_yes_no(const struct rules *rules, const char *value,
				char hint[SPEC_HINT_MAX])
{
	static const char *const words[] = {"yes", "no", NULL};

	return check_words(words, false, value, "it is yes or no");
}

static const char *check_0_1(const struct rules *rules, const char *value,
			     char hint[SPEC_HINT_MAX])
{
	return strcmp(value, "0") == 0 || strcmp(value, "1") == 0 ? NULL : "it is 0 or 1";
}

/* A list whose names are brought together by [ and ]. */
static const char *check_nodelist(const struct rules *rules, const char *value,
				  char hint[SPEC_HINT_MAX])
{
	int open = 0;

	for (const char *at = value; *at; at++) {
		open += (*at == '[') - (*at == ']');
		if (open < 0 || open > 1)
			return "its brackets do not match";
	}
	return open ? "its brackets do not match" : NULL;
}

/*
 * TYPE:ID[:ID...] and TYPE, parted by , or by ?. The controller refuses what is none
 * (update_job_dependency() in Slurm's src/slurmctld/job_scheduler.c).
 */
static const char *check_dependency(const struct rules *rules, const char *value,
				    char hint[SPEC_HINT_MAX])
{
	static const char form[] = "it is TYPE:JOBID, as in afterok:1234, or singleton";
	static const char *const types[] = {"after",     "afterany",   "afterburstbuffer",
					    "aftercorr", "afternotok", "afterok",
					    "expand",    NULL};
	static const char *const alone[] = {"singleton", "none", "0", NULL};

	for (const char *at = value;; at++) {
		const size_t length = strcspn(at, ",?"), type = strcspn(at, ":(,?");

		if (!is_one_of(alone, at, length) && !isdigit((unsigned char)*at)) {
			if (!is_one_of(types, at, type) || at[type] != ':' ||
			    !isdigit((unsigned char)at[type + 1]))
				return form;
		}
		at += length;
		if (!*at)
			return NULL;
	}
}

/* NAME[@SERVER][:COUNT], parted by , or ; or |. */
static const char *check_licenses(const struct rules *rules, const char *value,
				  char hint[SPEC_HINT_MAX])
{
	static const char form[] = "it is NAME:COUNT, as in matlab:2";

	for (const char *at = value;; at++) {
		const size_t length = strcspn(at, ",;|");
		const char *colon = memrchr(at, ':', length);

		if (colon && !is_digits(colon + 1, (size_t)(at + length - colon - 1)))
			return form;
		at += length;
		if (!*at)
			return NULL;
	}
}

static const char *check_constraint(const struct rules *rules, const char *value,
				    char hint[SPEC_HINT_MAX])
{
	const char *doubled = strstr(value, "&&");
	int open = 0;

	if (!doubled)
		doubled = strstr(value, "||");
	if (doubled) {
		if (strlen(value) < SPEC_HINT_MAX)
			snprintf(hint, SPEC_HINT_MAX, "%.*s%s", (int)(doubled - value),
				 value, doubled + 1);
		return "one & or | stands between two features";
	}
	for (; *value; value++)
		open += (*value == '[' || *value == '(') -
			(*value == ']' || *value == ')');
	return open ? "its brackets do not match" : NULL;
}

/*
 * A point of time as parse_time() in Slurm's src/common/parse_time.c takes it: words and
 * numbers, of which a word that is none of the following is refused.
 */
static const char *check_moment(const struct rules *rules, const char *value,
				char hint[SPEC_HINT_MAX])
{
	static const char *const words[] = {
		"now",     "today",   "tomorrow", "midnight", "noon",    "elevenses",
		"fika",    "teatime", "am",       "pm",       "t",       "second",
		"seconds", "sec",     "secs",     "minute",   "minutes", "min",
		"mins",    "hour",    "hours",    "day",      "days",    "week",
		"weeks",   "uts",     NULL};

	for (const char *at = value; *at;) {
		size_t length = 0;

		while (isalpha((unsigned char)at[length]))
			length++;
		if (length > 0 && !is_one_of(words, at, length))
			return "it is a time such as 16:00, 2026-01-20T12:34:00, "
			       "tomorrow or now+1hour";
		at += length > 0 ? length : 1;
	}
	return NULL;
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
	{"gpus-per-socket", check_gpus},
	{"threads-per-core", check_count},
	{"hint", check_hint},
	{"distribution", check_distribution},
	{"exclusive", check_exclusive},
	{"requeue", check_requeue},
	{"gres-flags", check_gres_flags},
	{"kill-on-invalid-dep", check_yes_no},
	{"wait-all-nodes", check_0_1},
	{"nodelist", check_nodelist},
	{"exclude", check_nodelist},
	{"dependency", check_dependency},
	{"licenses", check_licenses},
	{"constraint", check_constraint},
	{"begin", check_moment},
	{"deadline", check_moment},
};

bool rules_value_form(const struct rules *rules, const char *option, const char *value,
		      const char **why, char *hint)
{
	*why = NULL;
	hint[0] = '\0';
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		if (strcmp(checks[i].option, option) == 0) {
			*why = checks[i].check(rules, value, hint);
			return true;
		}
	}
	return false;
}

/* What sbatch takes, and not for what it was meant. */
static void misread(struct rules *rules, const struct script_use *use)
{
	const char *value = use->value;

	if (strcmp(use->option->name, "open-mode") == 0) {
		const bool append = strchr("aA", *value) != NULL;
		const char *word = append ? "append" : "truncate";

		if (strcasecmp(value, word) != 0 && value[1] != '\0' &&
		    rules_tell_as(rules, RULE_BAD_VALUE, DIAG_WARNING, use->value_range,
				  "`%s` is taken for %s by its first letter", value,
				  word)) {
			rules_fix(rules, "write --open-mode=%s", word);
			rules_edit(rules, use->value_range, "%s", word);
		}
		return;
	}
	if (strcmp(use->option->name, "nodes") == 0) {
		if (strchr(value, ',') && !rules_since(rules, 2302))
			rules_tell_as(
				rules, RULE_BAD_VALUE, DIAG_WARNING, use->value_range,
				"Slurm before 23.02 refuses a list such as `%s`", value);
		return;
	}
	if (strcmp(use->option->name, "gres") == 0) {
		if (strncmp(value, "gpu=", 4) == 0 && !rules_since(rules, 2302) &&
		    rules_tell_as(rules, RULE_BAD_VALUE, DIAG_WARNING, use->value_range,
				  "Slurm before 23.02 refuses `%s`: it wants a colon",
				  value)) {
			rules_fix(rules, "write --gres=gpu:%s", value + 4);
			rules_edit(rules, use->value_range, "gpu:%s", value + 4);
		}
		return;
	}
	if (strcmp(use->option->name, "mail-type") != 0)
		return;
	for (const char *at = value; *at; at += *at == ',') {
		const size_t length = strcspn(at, ",");
		char word[SPEC_HINT_MAX], *end;
		const char *near;

		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		at += length;
		if (length == 0 || is_one_of(mail_types, word, strlen(word)))
			continue;
		for (end = word; *end; end++)
			*end = (char)toupper((unsigned char)*end);
		near = launch_nearest(word, mail_types,
				      sizeof(mail_types) / sizeof(*mail_types) - 1,
				      sizeof(*mail_types));
		if (rules_tell_as(rules, RULE_BAD_VALUE, DIAG_WARNING, use->value_range,
				  "sbatch passes over `%.*s`, so there is no such mail",
				  (int)length, at - length) &&
		    near)
			rules_fix(rules, "did you mean %s?", near);
	}
}

static void value(struct rules *rules, const struct script_use *use)
{
	char hint[SPEC_HINT_MAX];
	const char *why;

	if (use->fault || use->ate || use->lost || !use->option || !use->value ||
	    use->origin == SCRIPT_USE_FOREIGN || strpbrk(use->value, "$`") ||
	    use->value[0] == '=' || range_is_empty(use->value_range))
		return;
	if (strcmp(use->option->name, "srank") == 0) {
		rules_srank_list(rules, use->value_range, "--srank", use->value);
		return;
	}
	if (!rules_value_form(rules, use->option->name, use->value, &why, hint) || !why) {
		misread(rules, use);
		return;
	}
	if (!rules_tell(rules, RULE_BAD_VALUE, use->value_range,
			"sbatch does not take `%s` for --%s: %s", use->value,
			use->option->name, why))
		return;
	if (hint[0]) {
		rules_fix(rules, "write --%s=%s", use->option->name, hint);
		rules_edit(rules, use->value_range, "%s", hint);
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
