/* SPDX-License-Identifier: MIT */
/*
 * The values of options that the spec says in parts: array, dependency, mail, signal, and
 * what starting a job again needs of them.
 */
#include "gen/plan/resolve.h"

#include "gen/plan/sweep.h"
#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sent so long before the end of the time limit where only a retry asks for it: time to
 * save what a rank holds, and the minute by which Slurm may be early. */
#define RETRY_SIGNAL "USR1"
#define RETRY_BEFORE 120

static int take_array(struct plan_work *work)
{
	const struct spec_value *range = &work->spec->batch.array.range;
	const struct spec_value *max = &work->spec->batch.array.max;
	struct plan_batch *batch = &work->plan->batch;
	const struct spec_value *as = &work->spec->sweep.as;
	uint64_t points = plan_sweep_points(work->spec);
	const char *limit = "";

	if (points > 0 && as->given && as->number == SPEC_SWEEP_FILES)
		points = 0;
	if (points > 0) {
		const struct spec_value *most = &work->spec->sweep.max;

		if (range->given) {
			diag_add(work->diag, DIAG_ERROR, "plan-sweep", &range->place,
				 "array is given beside a sweep, which is an array "
				 "itself");
			diag_fix(work->diag, "remove array, or sweep.as: files");
			return -EINVAL;
		}
		if (most->given)
			limit = spec_arena_format(&work->plan->arena, "%%%llu",
						  (unsigned long long)most->number);
		if (limit)
			batch->array =
				spec_arena_format(&work->plan->arena, "0-%llu%s",
						  (unsigned long long)points - 1, limit);
		return batch->array ? 0 : -ENOMEM;
	}
	if (max->given && !range->given) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &max->place,
			 "array.max is given without array.range");
		return -EINVAL;
	}
	if (!range->given)
		return 0;
	if (max->given && strchr(range->text, '%')) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &max->place,
			 "array.max says again what `%s` of array.range says",
			 strchr(range->text, '%'));
		return -EINVAL;
	}
	batch->array = range->text;
	if (max->given)
		batch->array =
			spec_arena_format(&work->plan->arena, "%s%%%llu", range->text,
					  (unsigned long long)max->number);
	return batch->array ? 0 : -ENOMEM;
}

/* 123, 123_4, 123_*, and with LATER 123+10 (sbatch.1, --dependency). */
static bool is_job(const char *text, bool later)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0)
		return false;
	text += digits;
	if (*text == '_') {
		text++;
		digits = *text == '*' ? 1 : strspn(text, "0123456789");
		if (digits == 0)
			return false;
		text += digits;
	}
	if (later && *text == '+') {
		text++;
		digits = strspn(text, "0123456789");
		if (digits == 0)
			return false;
		text += digits;
	}
	return *text == '\0';
}

static int write_jobs(struct plan_work *work, FILE *out, const char *separator,
		      const char *name, const struct spec_value *jobs)
{
	const bool later = strcmp(name, "after") == 0;
	int rc = 0;

	if (jobs->count == 0)
		return 0;
	if (ftell(out) > 0)
		fputs(separator, out);
	fputs(name, out);
	for (size_t i = 0; i < jobs->count; i++) {
		const struct spec_item *item = &jobs->items[i];

		fprintf(out, ":%s", item->text);
		if (is_job(item->text, later))
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &item->place,
			 "%s: '%.60s' is not the id of a job, as 123 or 123_4", name,
			 item->text);
		rc = -EINVAL;
	}
	return rc;
}

/*
 * TYPE:JOB[:JOB...] or singleton, with all commas or all question marks between
 * (sbatch.1, --dependency). A shell's $ID, which nobody expands, is what usually is
 * wrong.
 */
static bool is_condition(const char *text)
{
	static const char *const types[] = {"after",      "afterany",  "afterok",
					    "afternotok", "aftercorr", "afterburstbuffer",
					    "expand"};

	for (;; text++) {
		char part[256];
		const size_t size = strcspn(text, ",?");
		char *name = part, *rest;
		bool known = false;

		if (size >= sizeof(part))
			return true;
		snprintf(part, sizeof(part), "%.*s", (int)size, text);
		rest = strchr(part, ':');
		if (rest)
			*rest++ = '\0';
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			known |= strcasecmp(name, types[i]) == 0;
		if (rest ? !known : strcasecmp(name, "singleton") != 0)
			return false;
		while (rest) {
			char *end = strchr(rest, ':');

			if (end)
				*end++ = '\0';
			if (!is_job(rest, strcasecmp(name, "after") == 0))
				return false;
			rest = end;
		}
		text += size;
		if (*text == '\0')
			return true;
	}
}

static int take_dependency(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct {
		const char *name;
		const struct spec_value *jobs;
	} kinds[] = {
		{"after", &spec->batch.dependency.after},
		{"afterany", &spec->batch.dependency.afterany},
		{"afterok", &spec->batch.dependency.afterok},
		{"afternotok", &spec->batch.dependency.afternotok},
		{"aftercorr", &spec->batch.dependency.aftercorr},
		{"afterburstbuffer", &spec->batch.dependency.afterburstbuffer},
	};
	const struct spec_value *condition = &spec->batch.dependency.condition;
	const char *separator = spec->batch.dependency.any.number ? "?" : ",";
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	int result = 0;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int rc = write_jobs(work, out, separator, kinds[i].name, kinds[i].jobs);

		if (rc < 0)
			result = rc;
	}
	if (spec->batch.dependency.singleton.number)
		fprintf(out, "%ssingleton", ftell(out) > 0 ? separator : "");
	if (fclose(out) != 0)
		return -ENOMEM;
	if (condition->given && length > 0) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &condition->place,
			 "dependency.condition is all of the dependency, but other keys "
			 "of it are given, too");
		result = -EINVAL;
	}
	if (condition->given && !is_condition(condition->text)) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &condition->place,
			 "dependency: '%.60s' is not what sbatch takes: TYPE:JOB:JOB or "
			 "singleton, as afterok:123:124,singleton",
			 condition->text);
		result = -EINVAL;
	}
	if (condition->given)
		work->plan->batch.dependency = condition->text;
	else if (length > 0)
		work->plan->batch.dependency =
			spec_arena_copy(&work->plan->arena, text, length);
	if (length > 0 && !work->plan->batch.dependency)
		result = -ENOMEM;
	free(text);
	return result;
}

static int take_mail(struct plan_work *work)
{
	const struct spec_value *type = &work->spec->batch.mail.type;
	const char *text = NULL;

	for (size_t i = 0; i < type->count; i++) {
		char *word =
			spec_arena_format(&work->plan->arena, "%s%s%s", text ? text : "",
					  text ? "," : "", type->items[i].text);

		if (!word)
			return -ENOMEM;
		for (char *at = word; *at; at++)
			*at = (char)toupper((unsigned char)*at);
		text = word;
	}
	work->plan->batch.mail_type = text;
	return 0;
}

static bool retries_on(const struct spec *spec, const char *event)
{
	const struct spec_value *on = &spec->retry.on;

	if (!spec->retry.max.given || spec->retry.max.number == 0)
		return false;
	if (!on->given)
		return strcmp(event, "fail") != 0;
	for (size_t i = 0; i < on->count; i++) {
		if (strcasecmp(on->items[i].text, event) == 0)
			return true;
	}
	return false;
}

static int take_signal(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *name = &spec->batch.signal.name;
	const struct spec_value *before = &spec->batch.signal.before;
	const struct spec_value *shell = &spec->batch.signal.batch;
	struct plan_batch *batch = &work->plan->batch;
	struct spec_signal signal = {
		.batch = true, .name = RETRY_SIGNAL, .before = RETRY_BEFORE};
	/* As sbatch takes it, with what follows from that. */
	bool whole = false;

	if (!name->given && (before->given || shell->given)) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch",
			 before->given ? &before->place : &shell->place,
			 "signal has no name");
		diag_fix(work->diag, "add signal.name: USR1");
		return -EINVAL;
	}
	if (name->given) {
		/* The reader of the spec has reported what is no signal. */
		if (spec_signal_read(name->text, &work->plan->arena, &signal) < 0)
			return -EINVAL;
		whole = signal.timed || signal.batch;
		if (!whole)
			signal.batch = true;
	} else if (!retries_on(spec, "timeout")) {
		return 0;
	}
	if ((before->given && signal.timed) || (shell->given && whole)) {
		diag_add(
			work->diag, DIAG_ERROR, "plan-batch",
			before->given ? &before->place : &shell->place,
			"signal.name `%s` is all of the signal, but another key of it is "
			"given, too",
			name->text);
		return -EINVAL;
	}
	if (before->given)
		signal.before = (uint32_t)before->number;
	if (shell->given)
		signal.batch = shell->number;
	if (!signal.batch && retries_on(spec, "timeout")) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &name->place,
			 "the job is to be started again after a timeout, for which the "
			 "batch shell must get the signal");
		diag_fix(work->diag, "signal: {name: %s, batch: true}", signal.name);
		return -EINVAL;
	}
	batch->signal_parts = signal;
	batch->signal =
		spec_arena_format(&work->plan->arena, "%s%s@%u", signal.batch ? "B:" : "",
				  signal.name, (unsigned int)signal.before);
	return batch->signal ? 0 : -ENOMEM;
}

static int take_requeue(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *requeue = &spec->batch.requeue;
	const struct spec_value *mode = &spec->batch.open_mode;
	struct plan_batch *batch = &work->plan->batch;
	const bool retry = spec->retry.max.given && spec->retry.max.number > 0;

	if (retry && requeue->given && !requeue->number) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &requeue->place,
			 "requeue is false, but retry starts the job again by requeueing "
			 "it");
		return -EINVAL;
	}
	if (!spec->retry.max.given &&
	    (spec->retry.on.given || spec->retry.exclude_bad_nodes.given)) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch",
			 spec->retry.on.given ? &spec->retry.on.place
					      : &spec->retry.exclude_bad_nodes.place,
			 "retry does not say how often");
		diag_fix(work->diag, "add retry.max: 3");
		return -EINVAL;
	}
	if (retry || requeue->given)
		batch->requeue = retry || requeue->number ? "requeue" : "no-requeue";
	if (mode->given)
		batch->open_mode = mode->text;
	/* The second start would empty the log of the first (sbatch.1, --open-mode). */
	else if (retry || requeue->number)
		batch->open_mode = "append";
	return 0;
}

/* --nice=N, --priority=N or TOP: what sbatch would refuse. */
static int check_numbers(struct plan_work *work)
{
	const struct spec_value *nice = &work->spec->batch.nice;
	const struct spec_value *priority = &work->spec->batch.priority;
	int rc = 0;

	if (nice->given) {
		const char *digits = nice->text + (nice->text[0] == '-');

		/* NICE_OFFSET of slurm.h is 2^31. */
		if (!*digits || digits[strspn(digits, "0123456789")] ||
		    strlen(digits) > 9) {
			diag_add(work->diag, DIAG_ERROR, "plan-batch", &nice->place,
				 "nice: '%.60s' is not a whole number that Slurm takes",
				 nice->text);
			rc = -EINVAL;
		}
	}
	if (priority->given && strcasecmp(priority->text, "TOP") != 0 &&
	    (priority->text[strspn(priority->text, "0123456789")] ||
	     strlen(priority->text) > 10)) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &priority->place,
			 "priority: '%.60s' is neither a whole number nor TOP",
			 priority->text);
		rc = -EINVAL;
	}
	return rc;
}

/* What sbatch would take for something else. */
static int check_extra(struct plan_work *work, const struct spec_value *extra)
{
	int rc = 0;

	for (size_t i = 0; i < extra->count; i++) {
		const struct spec_item *item = &extra->items[i];

		if (item->text[0] == '-' && item->text[1] == '-' && item->text[2])
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &item->place,
			 "extra: '%.60s' is not a long option, as --tres-bind=VALUE",
			 item->text);
		rc = -EINVAL;
	}
	return rc;
}

int plan_resolve_batch(struct plan_work *work)
{
	int (*const parts[])(struct plan_work *) = {
		take_array,  take_dependency, take_mail,
		take_signal, take_requeue,    check_numbers,
	};
	int result = check_extra(work, &work->spec->batch.extra);

	/* A component of a heterogeneous job is queued with the job. */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int rc = work->spec->entry.given ? 0 : parts[i](work);

		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			result = rc;
	}
	return result;
}
