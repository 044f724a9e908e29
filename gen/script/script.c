/* SPDX-License-Identifier: MIT */
/*
 * Header and context of a script. The header is made from the table of options, in its
 * order; the context is what templates can say (templates/README.md lists the names).
 */
#include "gen/script/script.h"
#include "gen/script/options.h"
#include "gen/script/quote.h"
#include "gen/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* TEXT as one shell word, to be freed; NULL without memory. */
static char *word(const char *text)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);

	if (!out)
		return NULL;
	script_quote_word(out, text);
	if (fclose(out) != 0) {
		free(result);
		return NULL;
	}
	return result;
}

static void add_word(struct script_value *parent, const char *name, const char *text)
{
	char *quoted = word(text);

	script_value_text(parent, name, quoted);
	free(quoted);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int script_folder(const struct spec_value *pattern, char **folder)
{
	const char *text = pattern->given ? pattern->text : "";
	size_t length = strcspn(text, "%");

	*folder = NULL;
	while (length > 0 && text[length - 1] != '/')
		length--;
	while (length > 0 && text[length - 1] == '/')
		length--;
	if (length == 0)
		return 0;
	/* As an argument of mkdir or sbatch, "-p" would be an option. */
	if (asprintf(folder, "%s%.*s", text[0] == '-' ? "./" : "", (int)length, text) < 0)
		*folder = NULL;
	return *folder ? 0 : -ENOMEM;
}

/* One directive whose value is TEXT, which stands at PLACE in the spec. */
static int write_directive(FILE *out, const char *option, const char *text,
			   const struct diag_place *place, struct diag *diag)
{
	if (!script_quote_directive_ok(text)) {
		diag_add(diag, DIAG_ERROR, "script-directive", place,
			 "%s cannot have a line end in its value: sbatch reads a "
			 "directive as "
			 "one line",
			 option);
		return -EINVAL;
	}
	fprintf(out, "#SBATCH --%s=", option);
	script_quote_directive(out, text);
	fputc('\n', out);
	return 0;
}

static void write_gpus(FILE *out, const struct plan *plan)
{
	const char *type = plan->gpu_type ? plan->gpu_type : "";
	const char *colon = plan->gpu_type ? ":" : "";

	if (!plan_value(plan, PLAN_GPUS))
		return;
	switch (plan->dialect) {
	case SPEC_DIALECT_GRES:
		fprintf(out, "#SBATCH --gres=gpu:%s%s%" PRIu64 "\n", type, colon,
			plan_value(plan, PLAN_GPUS_PER_NODE));
		break;
	case SPEC_DIALECT_GPUS_PER_NODE:
		fprintf(out, "#SBATCH --gpus-per-node=%s%s%" PRIu64 "\n", type, colon,
			plan_value(plan, PLAN_GPUS_PER_NODE));
		break;
	case SPEC_DIALECT_GPUS_PER_TASK:
		/* Slurm refuses it without a number of tasks (src/interfaces/gres.c). */
		fprintf(out, "#SBATCH --ntasks=%" PRIu64 "\n",
			plan_value(plan, PLAN_NTASKS));
		fprintf(out, "#SBATCH --gpus-per-task=%s%s%" PRIu64 "\n", type, colon,
			plan_value(plan, PLAN_GPUS_PER_TASK));
		break;
	case SPEC_DIALECT_GPUS:
		fprintf(out, "#SBATCH --gpus=%s%s%" PRIu64 "\n", type, colon,
			plan_value(plan, PLAN_GPUS));
		/* --gpus alone is spread unevenly over several nodes: 7 and 1 of 8. */
		if (plan_value(plan, PLAN_NODES) > 1)
			fprintf(out, "#SBATCH --gpus-per-node=%s%s%" PRIu64 "\n", type,
				colon, plan_value(plan, PLAN_GPUS_PER_NODE));
		break;
	}
}

static int write_directives(FILE *out, const struct spec *spec, const struct plan *plan,
			    struct diag *diag)
{
	int rc = 0;

	for (size_t i = 0; i < script_options_count && rc == 0; i++) {
		const struct script_option *row = &script_options[i];
		const struct spec_value *value =
			(const void *)((const char *)spec + row->offset);

		switch (row->source) {
		case SCRIPT_UNWRITTEN:
			break;
		case SCRIPT_FROM_SPEC:
			if (value->given)
				rc = write_directive(out, row->name, value->text,
						     &value->place, diag);
			break;
		case SCRIPT_FROM_PLAN:
			if (plan_known(plan, row->quantity))
				fprintf(out, "#SBATCH --%s=%" PRIu64 "\n", row->name,
					plan_value(plan, row->quantity));
			break;
		case SCRIPT_FROM_GPUS:
			write_gpus(out, plan);
			break;
		case SCRIPT_FROM_EXCLUSIVE:
			value = &spec->resources.exclusive;
			if (!value->given || !value->number)
				break;
			if (strcmp(value->text, "user") == 0 ||
			    strcmp(value->text, "mcs") == 0)
				fprintf(out, "#SBATCH --%s=%s\n", row->name, value->text);
			else
				fprintf(out, "#SBATCH --%s\n", row->name);
			break;
		}
	}
	return rc;
}

/* The call that makes the script again, where it was made. */
static void write_call(FILE *out, const struct spec *spec, const struct spec_site *site)
{
	/* A file may be called like an option; "-" is standard input. */
	bool dash = spec->file[0] == '-' && spec->file[1];

	fprintf(out, "# Again:  srank gen %s", dash ? "./" : "");
	script_quote_line(out, spec->file);
	for (size_t i = 0; i < spec->overrides.count; i++) {
		fputs(" -s ", out);
		script_quote_line(out, spec->overrides.items[i].text);
	}
	/* Without the option the same profile is found where this one was. */
	if (site->file && site->named) {
		fputs(" --site ", out);
		script_quote_line(out, site->file);
	}
	fputc('\n', out);
}

/* What a reader of the script wants to know first, as comments. */
static int write_comments(FILE *out, const struct spec *spec, const struct plan *plan,
			  const struct spec_site *site)
{
	const char *name =
		strcmp(spec->file, "-") == 0 ? "standard input" : file_name(spec->file);
	char sentence[256], *output = NULL, *error = NULL;
	int rc;

	rc = script_folder(&spec->batch.output, &output);
	if (rc == 0)
		rc = script_folder(&spec->batch.error, &error);
	if (rc < 0)
		goto out;
	plan_sentence(plan, sentence, sizeof(sentence));
	fputs("# Made by srank " SRANK_VERSION " from ", out);
	utf8_escape(out, name);
	fprintf(out, " (digest %016" PRIx64 "): edit that, not this.\n", spec->digest);
	fprintf(out, "# %s, launcher %s.\n", sentence, plan->launcher->name);
	write_call(out, spec, site);
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

/*
 * The program and its arguments as shell words, an option and what follows it on one
 * line. To be freed; NULL without memory.
 */
static char *program(const struct plan_run *run)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);
	bool first = true;

	if (!out)
		return NULL;
	if (run->target) {
		script_quote_word(out, run->target);
		first = false;
	}
	for (size_t i = 0; i < run->count; i++) {
		const char *text = run->args[i];
		/* A dash with a digit is a negative number, the value of an option. */
		bool option =
			text[0] == '-' && text[1] && !strchr("0123456789.", text[1]);

		if (!first)
			fputs(option ? " \\\n\t" : " ", out);
		script_quote_word(out, text);
		first = false;
	}
	if (fclose(out) != 0) {
		free(result);
		return NULL;
	}
	return result;
}

/* The words of VALUE for a command line, to be freed; NULL without memory. */
static char *words(const struct spec_value *value)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);

	if (!out)
		return NULL;
	for (size_t i = 0; i < value->count; i++) {
		if (i > 0)
			fputc(' ', out);
		script_quote_word(out, value->items[i].text);
	}
	if (fclose(out) != 0) {
		free(result);
		return NULL;
	}
	return result;
}

/* PATH, or nothing, as a word for `cd`, which must look it up nowhere else. */
static void add_folder(struct script_value *root, const char *name, const char *path)
{
	char *text = NULL;

	if (!path) {
		script_value_text(root, name, "");
		return;
	}
	/* `cd -P` has options, `cd -` goes back, `cd sub` may follow the user's CDPATH.
	 */
	if (asprintf(&text, "%s%s", strchr("/.", path[0]) ? "" : "./", path) < 0)
		text = NULL;
	if (text)
		add_word(root, name, text);
	else
		script_value_text(root, name, NULL);
	free(text);
}

/* "1 task", "8 tasks" */
static void add_count(struct script_value *root, const char *name, uint64_t count,
		      const char *noun)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " %s%s", count, noun,
		 count == 1 ? "" : "s");
	script_value_text(root, name, text);
}

/* The lines of VALUE as they are, without the last line end. */
static void add_lines(struct script_value *root, const char *name,
		      const struct spec_value *value)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (out) {
		for (size_t i = 0; i < value->count; i++)
			fprintf(out, "%s\n", value->items[i].text);
		if (fclose(out) != 0) {
			free(text);
			text = NULL;
		}
	}
	while (text && length > 0 && text[length - 1] == '\n')
		text[--length] = '\0';
	script_value_text(root, name, text);
	free(text);
}

/* The names are those of templates/README.md. NULL without memory. */
static struct script_value *make_context(const struct spec *spec, const struct plan *plan)
{
	struct script_value *root = script_value_create();
	const struct plan_run *run = &plan->run;
	struct script_value *list;
	char number[24] = "", *text;

	script_value_text(root, "launcher", plan->launcher->name);
	script_value_number(root, "nodes", plan_value(plan, PLAN_NODES));
	script_value_number(root, "ntasks", plan_value(plan, PLAN_NTASKS));
	script_value_number(root, "ntasks_per_node",
			    plan_value(plan, PLAN_NTASKS_PER_NODE));
	script_value_number(root, "workers_per_node",
			    plan_value(plan, PLAN_WORKERS_PER_NODE));
	script_value_number(root, "gpus_per_node", plan_value(plan, PLAN_GPUS_PER_NODE));
	script_value_number(root, "world_size", plan_value(plan, PLAN_WORLD_SIZE));
	add_count(root, "tasks", plan_value(plan, PLAN_NTASKS_PER_NODE), "task");
	add_count(root, "workers", plan_value(plan, PLAN_WORKERS_PER_NODE), "rank");
	if (plan_known(plan, PLAN_CPUS_PER_TASK))
		snprintf(number, sizeof(number), "%" PRIu64,
			 plan_value(plan, PLAN_CPUS_PER_TASK));
	script_value_text(root, "cpus_per_task", number);
	script_value_flag(root, "one_gpu",
			  plan_value(plan, PLAN_GPUS_PER_NODE) == 1 &&
				  plan_value(plan, PLAN_WORLD_SIZE) > 1);
	script_value_flag(root, "unbind", plan->unbind);
	/* A launcher without variables of ours takes its ranks from PMIx. */
	script_value_flag(root, "pmix", plan->launcher->bare);
	add_word(root, "srank", plan->srank);

	script_value_flag(root, "command", run->kind == PLAN_COMMAND);
	script_value_flag(root, "module", run->kind == PLAN_MODULE);
	script_value_flag(root, "own_python",
			  run->kind != PLAN_COMMAND &&
				  strcmp(run->python, "python") != 0);
	add_word(root, "python", run->kind == PLAN_COMMAND ? "python" : run->python);
	text = program(run);
	script_value_text(root, "program", text);
	free(text);
	add_folder(root, "workdir", run->workdir);

	list = script_value_list(root, "environment");
	for (size_t i = 0; i < spec->env.count; i++) {
		struct script_value *entry = script_value_object(list, NULL);

		script_value_text(entry, "name", spec->env.items[i].name);
		add_word(entry, "value", spec->env.items[i].text);
	}
	text = words(&spec->srun.args);
	script_value_text(root, "srun_args", text);
	free(text);
	add_lines(root, "setup", &spec->setup);
	add_lines(root, "teardown", &spec->teardown);

	if (script_value_failed(root)) {
		script_value_free(root);
		return NULL;
	}
	return root;
}

/* Says that TEXT, which looks as if a shell would expand it, is taken as it is. */
static void warn_literal(const char *text, const struct diag_place *place,
			 const char *fix, struct diag *diag)
{
	if (text[0] != '~' && !strchr(text, '$') && !strchr(text, '`'))
		return;
	diag_add(diag, DIAG_WARNING, "script-literal", place,
		 "`%s` is taken as it is, nothing in it is expanded", text);
	diag_fix(diag, "%s", fix);
}

static void warn_literals(const struct spec *spec, struct diag *diag)
{
	static const char paths[] = "write the path out";

	if (spec->batch.output.given)
		warn_literal(spec->batch.output.text, &spec->batch.output.place, paths,
			     diag);
	if (spec->batch.error.given)
		warn_literal(spec->batch.error.text, &spec->batch.error.place, paths,
			     diag);
	if (spec->run.workdir.given)
		warn_literal(spec->run.workdir.text, &spec->run.workdir.place,
			     "write the path out, or use cd in setup", diag);
	for (size_t i = 0; i < spec->env.count; i++)
		warn_literal(spec->env.items[i].text, &spec->env.items[i].place,
			     "write the value out, or use export in setup", diag);
}

int script_write(FILE *out, const struct spec *spec, const struct plan *plan,
		 const struct spec_site *site, struct script_templates *templates,
		 struct diag *diag)
{
	struct script_template template = {0};
	struct script_value *root = NULL;
	int rc;

	/* MPI's ranks come from PMIx. */
	if (site->plugin.given && !site->plugin.number && !plan->launcher->bare) {
		diag_add(diag, DIAG_ERROR, "script-no-plugin", &site->plugin.place,
			 "this site has no srank plugin, and the ranks of a script made "
			 "here meet "
			 "by it");
		diag_fix(diag, "install spank_srank.so there and write `plugin: yes`");
		return -EINVAL;
	}
	/* The launcher's own template, else the one of its shape. */
	rc = script_templates_find(plan->launcher->name, &template, templates, diag);
	if (rc == -ENOENT)
		rc = script_templates_find(launch_shape_name(plan->shape), &template,
					   templates, diag);
	if (rc == -ENOENT) {
		diag_add(diag, DIAG_ERROR, "script-template", NULL,
			 "there is no template for launcher %s: neither %s.mustache nor "
			 "%s.mustache",
			 plan->launcher->name, plan->launcher->name,
			 launch_shape_name(plan->shape));
		return -EINVAL;
	}
	if (rc < 0)
		return rc;
	fputs("#!/bin/bash\n", out);
	rc = write_comments(out, spec, plan, site);
	if (rc == 0)
		rc = write_directives(out, spec, plan, diag);
	if (rc < 0)
		return rc;
	root = make_context(spec, plan);
	if (!root)
		return -ENOMEM;
	rc = script_mustache(out, &template, root, script_templates_find, templates,
			     diag);
	script_value_free(root);
	if (rc == 0)
		warn_literals(spec, diag);
	if (rc == 0 && ferror(out))
		rc = -EIO;
	return rc;
}
