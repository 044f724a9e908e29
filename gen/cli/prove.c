/* SPDX-License-Identifier: MIT */
/*
 * The script of a job held to the rules of `srank check`. What a spec puts into a script
 * as it is, as set-up code, arguments and variables, only a reader of scripts can judge.
 * Each finding is told where the user wrote what it is about; one about a line of the
 * template is none of the user's, and the tests see to it that there is none.
 */
#include "gen/check/check.h"
#include "gen/cli/cli.h"
#include "gen/cli/remark.h"
#include "gen/script/text.h"
#include "gen/spec/within.h"
#include "gen/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the generator tells itself, in the words of the spec. */
static const char *const told_before[] = {
	"over-limit",
	"select-plugin",
	"shell-syntax",
	"unknown-partition",
};

/* The script does these by itself, or a key does, so that the cure is another one here.
 */
static const struct {
	const char *cure;
	const char *rules; /* separated by blanks */
} cures[] = {
	{"remove it: the ranks meet without it; rendezvous.master is for another name of "
	 "rank 0's node",
	 "loopback-master loopback-fallback step-hostname-master batch-hostname-master "
	 "launch-node-ipaddr submit-host-master hand-parsed-nodelist master-fixed "
	 "master-not-first-host"},
	{"remove it: every step gets a port of its own; rendezvous.port is for a certain "
	 "one",
	 "fixed-port port-out-of-range port-privileged port-ephemeral port-per-task "
	 "port-octal port-missing"},
	{"remove it: the launcher starts as many as resources say",
	 "torchrun-times-ntasks spawner-times-ntasks gpu-constant-drift "
	 "accelerate-processes"},
	{"remove it: every rank is told who it is and how many there are",
	 "rank-not-unique node-rank world-size-mismatch"},
	{"make it the nodes of resources, or these what is meant",
	 "num-nodes-mismatch nnodes-mismatch"},
	{"make it what resources say, or resources what is meant; `srank explain` shows "
	 "the numbers",
	 "ntasks-vs-gpus"},
	{"ask for it under resources, or make the step smaller", "step-exceeds-job"},
	{"remove it; the keys of resources size the job", "slurm-variable-overwritten"},
	{"say it by the keys of resources and batch, or in batch.extra",
	 "late-directive"},
	{"say it once, in batch.extra or by its key", "duplicate-directive"},
	{"write the value itself, or a pattern of sbatch (%j %x %u %A %a %N)",
	 "variable-in-directive"},
};

static const char *cure_of(const struct diag_item *item)
{
	const size_t length = strlen(item->rule);

	for (size_t i = 0; i < sizeof(cures) / sizeof(*cures); i++) {
		const char *at = cures[i].rules;

		for (size_t size; *at; at += size + (at[size] == ' ')) {
			size = strcspn(at, " ");
			if (size == length && memcmp(at, item->rule, size) == 0)
				return cures[i].cure;
		}
	}
	return item->fix;
}

/* TEXT, which speaks of lines of the script, for who sees the spec. To be freed. */
static char *of_the_script(const char *text)
{
	static const char line[] = "line ";
	const char *digits = text;
	size_t count = 0;
	char *result;

	while (count == 0 && (digits = strstr(digits, line))) {
		digits += sizeof(line) - 1;
		count = strspn(digits, "0123456789");
	}
	if (!digits)
		return strdup(text);
	digits += count;
	if (asprintf(&result, "%.*s of the script%s", (int)(digits - text), text,
		     digits) < 0)
		return NULL;
	return result;
}

/* What finding the place of a finding needs. */
struct proof {
	struct cli_job *job;
	struct script_text script;
	const struct script_origins *origins;
};

/* The byte of TEXT, up to END, at which character COLUMN (from 1) begins. */
static const char *seek(const char *text, const char *end, uint32_t column)
{
	for (; column > 1 && text < end; column--) {
		uint32_t code;
		size_t size = utf8_decode(text, (size_t)(end - text), &code);

		text += size ? size : 1;
	}
	return text;
}

/* Where what ITEM is about stands in the spec or the profile; false: nowhere. */
static bool find_place(const struct proof *proof, const struct diag_item *item,
		       struct diag_place *place)
{
	const struct script_range line =
		script_text_line_range(&proof->script, item->place.line);
	const char *script = proof->script.text, *end = script + line.end;
	const char *from = seek(script + line.begin, end, item->place.column);
	const char *to = seek(script + line.begin, end, item->place.end_column);
	const struct script_origin *origin =
		script_origins_find(proof->origins, (size_t)(from - script));

	if (!origin)
		return false;
	*place = origin->place;
	spec_place_within(place, &proof->job->diag, script + origin->begin,
			  origin->end - origin->begin,
			  (size_t)(from - script) - origin->begin,
			  (size_t)(to - script) - origin->begin);
	return true;
}

/* One finding about one place is enough, of whichever point of a sweep it is. */
static bool is_told(const struct diag *diag, const struct diag_item *item,
		    const struct diag_place *place)
{
	for (size_t i = 0; i < diag->count; i++) {
		const struct diag_place *other = &diag->items[i].place;

		if (strcmp(diag->items[i].rule, item->rule) == 0 && other->file &&
		    strcmp(other->file, place->file) == 0 && other->line == place->line &&
		    other->column == place->column)
			return true;
	}
	return false;
}

static bool is_off(const struct proof *proof, const struct diag_item *item,
		   const struct diag_place *place)
{
	const struct diag_source *source =
		diag_source_find(&proof->job->diag, place->file);

	return source && source->text &&
	       remark_disables(source->text, source->length, place->line, item->rule);
}

/* ITEM and the COUNT - 1 further places of it that follow. */
static void tell(const struct proof *proof, const struct diag_item *item, size_t count)
{
	struct diag *diag = &proof->job->diag;
	struct diag_place place, also;
	size_t at = 0;
	char *message;

	while (at < count && !find_place(proof, &item[at], &place))
		at++;
	if (at == count || is_told(diag, item, &place) || is_off(proof, item, &place))
		return;
	message = of_the_script(item->message);
	diag_add(diag, item->severity, item->rule, &place, "%s",
		 message ? message : item->message);
	free(message);
	if (item->fix)
		diag_fix(diag, "%s", cure_of(item));
	for (size_t i = at + 1; i < count; i++) {
		if (find_place(proof, &item[i], &also) && !is_told(diag, item, &also))
			diag_add(diag, DIAG_NOTE, item->rule, &also, "%s",
				 item[i].message);
	}
}

int cli_job_prove(struct cli_job *job, const char *text, size_t length,
		  const struct script_origins *origins)
{
	const struct check_options options = {
		.site = &job->site,
		.disabled = told_before,
		.disabled_count = sizeof(told_before) / sizeof(*told_before),
	};
	struct proof proof = {.job = job, .origins = origins};
	const size_t errors = job->diag.errors;
	struct diag found = {0};
	int rc;

	rc = check_script("script", text, length, &options, &found, NULL);
	if (rc == 0)
		rc = script_text_init(&proof.script, "script", text, length);
	for (size_t i = 0, next; rc == 0 && i < found.count; i = next) {
		/* A further place has no cure of its own. */
		for (next = i + 1; next < found.count && !found.items[next].fix &&
				   found.items[next].rule == found.items[i].rule;)
			next++;
		tell(&proof, &found.items[i], next - i);
	}
	if (rc == 0 && found.lost)
		rc = -ENOMEM;
	script_text_clear(&proof.script);
	diag_clear(&found);
	if (rc == 0 && job->diag.errors > errors)
		rc = -EINVAL;
	return rc;
}
