/* SPDX-License-Identifier: MIT */
/*
 * What templates can say: every text already quoted for its place in the shell.
 * templates/README.md lists the names.
 */
#include "gen/script/parts.h"
#include "gen/script/quote.h"

#include "gen/plan/sweep.h"
#include "spank/launch/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that the ranks get to save what they have, of those before the time limit. */
#define GRACE_MARGIN 30

/* A part of a command line, and where it stands in the spec. */
struct part {
	size_t begin, end;
	const struct diag_place *place;
};

/* Words of a command line under way. */
struct line {
	struct script_work *work;
	const char *between;
	char *text;
	size_t length;
	FILE *out;
	struct part *parts; /* in the work's arena */
	size_t parts_count;
	bool failed;
};

static void line_start(struct line *line, struct script_work *work, const char *between)
{
	*line = (struct line){.work = work, .between = between};
	line->out = open_memstream(&line->text, &line->length);
	line->failed = !line->out;
}

/* TEXT, behind BETWEEN unless it is the first, from PLACE in the spec (NULL: ours). */
static void line_add(struct line *line, const struct diag_place *place,
		     const char *between, const char *text)
{
	long at;

	if (line->failed)
		return;
	if (ftell(line->out) > 0)
		fputs(between, line->out);
	at = ftell(line->out);
	fputs(text, line->out);
	if (!place)
		return;
	line->parts = spec_arena_grow(&line->work->arena, line->parts, line->parts_count,
				      sizeof(*line->parts));
	if (!line->parts || at < 0) {
		line->failed = true;
		return;
	}
	line->parts[line->parts_count++] =
		(struct part){(size_t)at, (size_t)at + strlen(text), place};
}

static void line_put(struct line *line, const struct diag_place *place,
		     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One more word, which is quoted here. */
static void line_put(struct line *line, const struct diag_place *place,
		     const char *format, ...)
{
	const char *word = NULL;
	char *text = NULL;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length >= 0) {
		word = script_word(line->work, text);
		free(text);
	}
	if (word)
		line_add(line, place, line->between, word);
	else
		line->failed = true;
}

static void line_end(struct line *line, struct script_value *root, const char *name)
{
	if (line->out && fclose(line->out) != 0)
		line->failed = true;
	script_value_text(root, name, line->failed ? NULL : line->text);
	for (size_t i = 0; !line->failed && i < line->parts_count; i++)
		script_value_origin(root, line->parts[i].begin, line->parts[i].end,
				    line->parts[i].place);
	free(line->text);
}

/* One word, from PLACE in the spec (NULL: ours). */
static void add_word(struct script_work *work, struct script_value *root,
		     const char *name, const char *text, const struct diag_place *place)
{
	const char *word = script_word(work, text);

	script_value_text(root, name, word);
	script_value_origin(root, 0, word ? strlen(word) : 0, place);
}

/* Nothing, unless VALUE is given. */
static void add_given(struct script_work *work, struct script_value *root,
		      const char *name, const struct spec_value *value)
{
	if (value->given)
		add_word(work, root, name, value->text, &value->place);
	else
		script_value_text(root, name, "");
}

/* The items of VALUE as words with blanks between. */
static void add_words(struct script_work *work, struct script_value *root,
		      const char *name, const struct spec_value *value)
{
	struct line line;

	line_start(&line, work, " ");
	for (size_t i = 0; i < value->count; i++)
		line_put(&line, &value->items[i].place, "%s", value->items[i].text);
	line_end(&line, root, name);
}

static void add_true(struct script_value *root, const char *name,
		     const struct spec_value *value)
{
	script_value_flag(root, name, value->given && value->number);
}

/* NUMBER, or nothing when it is not KNOWN. */
static void add_number(struct script_value *root, const char *name, bool known,
		       uint64_t number)
{
	if (known)
		script_value_number(root, name, number);
	else
		script_value_text(root, name, "");
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

/* TEXT without the line ends at its end. */
static size_t trimmed(const char *text)
{
	size_t length = strlen(text);

	while (length > 0 && text[length - 1] == '\n')
		length--;
	return length;
}

/* The lines of VALUE as they are, without the last line end. */
static void add_lines(struct script_work *work, struct script_value *root,
		      const char *name, const struct spec_value *value)
{
	size_t count = value->count;
	struct line line;

	while (count > 0 && trimmed(value->items[count - 1].text) == 0)
		count--;
	line_start(&line, work, "\n");
	for (size_t i = 0; i < count; i++) {
		const char *text = value->items[i].text;

		if (i + 1 == count)
			text = spec_arena_copy(&work->arena, text, trimmed(text));
		if (text)
			line_add(&line, &value->items[i].place, line.between, text);
		else
			line.failed = true;
	}
	line_end(&line, root, name);
}

/* PATH, or nothing, as a word for `cd`, which must look it up nowhere else. */
static void add_folder(struct script_work *work, struct script_value *root,
		       const char *name, const char *path, const struct diag_place *place)
{
	const char *text;

	if (!path) {
		script_value_text(root, name, "");
		return;
	}
	/* `cd -P` has options, `cd -` goes back, `cd sub` may follow the user's CDPATH.
	 * What begins with a value of a sweep may be a whole path. */
	text = strchr("/.", path[0]) || (path[0] == '{' && plan_sweep_points(work->spec))
		       ? path
		       : spec_arena_format(&work->arena, "./%s", path);
	if (text)
		add_word(work, root, name, text, place);
	else
		script_value_text(root, name, NULL);
}

/*
 * The program and its arguments as shell words, an option and what follows it on one
 * line.
 */
static void add_program(struct script_work *work, struct script_value *root,
			const struct plan_run *run)
{
	struct line line;

	line_start(&line, work, " ");
	if (run->target)
		line_put(&line, run->target_place, "%s", run->target);
	for (size_t i = 0; i < run->count; i++) {
		const char *text = run->args[i];

		/* A dash with a digit is a negative number, the value of an option. */
		line.between =
			text[0] == '-' && text[1] && !strchr("0123456789.", text[1])
				? " \\\n\t"
				: " ";
		line_put(&line, run->places[i], "%s", text);
	}
	line_end(&line, root, "program");
}

static const char *joined(struct script_work *work, const struct spec_value *value)
{
	const char *text = "";

	for (size_t i = 0; i < value->count && text; i++)
		text = spec_arena_format(&work->arena, "%s%s%s", text, i ? "," : "",
					 value->items[i].text);
	return text;
}

/* srun's options of pyxis (its args.c); a list of mounts has commas. */
static void add_pyxis(struct script_work *work, struct script_value *root,
		      const struct spec *spec)
{
	const bool used = spec->container.runtime.given &&
			  spec->container.runtime.number == SPEC_RUNTIME_PYXIS;
	const struct spec_value *options = &spec->container.options;
	struct line line;

	line_start(&line, work, " \\\n\t");
	if (used) {
		const char *mounts = joined(work, &spec->container.mounts);
		const char *names = joined(work, &spec->container.env);

		line.failed |= !mounts || !names;
		if (spec->container.image.given)
			line_put(&line, &spec->container.image.place,
				 "--container-image=%s", spec->container.image.text);
		if (mounts && mounts[0])
			line_put(&line, &spec->container.mounts.place,
				 "--container-mounts=%s", mounts);
		if (spec->container.workdir.given)
			line_put(&line, &spec->container.workdir.place,
				 "--container-workdir=%s", spec->container.workdir.text);
		if (spec->container.name.given)
			line_put(&line, &spec->container.name.place,
				 "--container-name=%s", spec->container.name.text);
		if (spec->container.home.given)
			line_put(&line, &spec->container.home.place,
				 "--%scontainer-mount-home",
				 spec->container.home.number ? "" : "no-");
		if (spec->container.writable.given)
			line_put(&line, &spec->container.writable.place, "--container-%s",
				 spec->container.writable.number ? "writable"
								 : "readonly");
		if (names && names[0])
			line_put(&line, &spec->container.env.place, "--container-env=%s",
				 names);
		for (size_t i = 0; i < options->count; i++)
			line_put(&line, &options->items[i].place, "%s",
				 options->items[i].text);
	}
	line_end(&line, root, "pyxis");
}

static bool has_option(const struct spec_value *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->items[i].text, name) == 0)
			return true;
	}
	return false;
}

/* `apptainer exec ... IMAGE`, in front of the program. */
static void add_apptainer(struct script_work *work, struct script_value *root,
			  const struct spec *spec, const struct plan *plan)
{
	const bool used = spec->container.runtime.given &&
			  (spec->container.runtime.number == SPEC_RUNTIME_APPTAINER ||
			   spec->container.runtime.number == SPEC_RUNTIME_SINGULARITY);
	const struct spec_value *options = &spec->container.options;
	const struct spec_value *mounts = &spec->container.mounts;
	struct line line;

	line_start(&line, work, " ");
	if (used) {
		line_put(&line, &spec->container.runtime.place, "%s",
			 spec->container.runtime.text);
		line_put(&line, NULL, "exec");
		/* The user's own --rocm and the like say that the GPUs are not NVIDIA's.
		 */
		if (plan_value(plan, PLAN_GPUS) && !has_option(options, "--rocm") &&
		    !has_option(options, "--nv") && !has_option(options, "--nvccli"))
			line_put(&line, NULL, "--nv");
		for (size_t i = 0; i < mounts->count; i++) {
			line_put(&line, NULL, "--bind");
			line_put(&line, &mounts->items[i].place, "%s",
				 mounts->items[i].text);
		}
		if (spec->container.workdir.given) {
			line_put(&line, NULL, "--pwd");
			line_put(&line, &spec->container.workdir.place, "%s",
				 spec->container.workdir.text);
		}
		if (spec->container.home.given && !spec->container.home.number)
			line_put(&line, &spec->container.home.place, "--no-home");
		if (spec->container.writable.given && spec->container.writable.number)
			line_put(&line, &spec->container.writable.place,
				 "--writable-tmpfs");
		for (size_t i = 0; i < options->count; i++)
			line_put(&line, &options->items[i].place, "%s",
				 options->items[i].text);
		if (spec->container.image.given)
			line_put(&line, &spec->container.image.place, "%s",
				 spec->container.image.text);
	}
	line_end(&line, root, "apptainer");
}

/*
 * Variables of the host that win over those of an image: pyxis has an option for it,
 * apptainer takes them by this prefix (apptainer-exec(1), APPTAINERENV_).
 */
static void add_container_variables(struct script_value *root, const struct spec *spec)
{
	struct script_value *list = script_value_list(root, "container_environment");
	const struct spec_value *names = &spec->container.env;
	const bool singularity =
		spec->container.runtime.number == SPEC_RUNTIME_SINGULARITY;

	if (!spec->container.runtime.given ||
	    (!singularity && spec->container.runtime.number != SPEC_RUNTIME_APPTAINER))
		return;
	for (size_t i = 0; i < names->count; i++) {
		struct script_value *entry = script_value_object(list, NULL);

		script_value_text(entry, "prefix",
				  singularity ? "SINGULARITYENV_" : "APPTAINERENV_");
		script_value_text(entry, "name", names->items[i].text);
	}
}

/* `--launcher L ...` of srank exec; empty when it is not the means. */
static void add_exec(struct script_work *work, struct script_value *root)
{
	const struct plan *plan = work->plan;
	struct line line;

	line_start(&line, work, " ");
	if (plan->means == SPEC_MEANS_EXEC && !plan->launcher->bare) {
		line_put(&line, NULL, "--launcher");
		line_put(&line, &work->spec->launcher.place, "%s", plan->launcher->name);
		if (work->spec->binding.gpus.given) {
			line_put(&line, NULL, "--gpus");
			line_put(&line, &work->spec->binding.gpus.place, "%s",
				 work->spec->binding.gpus.text);
		}
	}
	line_end(&line, root, "exec");
}

/*
 * --gpu-bind of the step. The plugin and srank exec bind the GPUs themselves, and want
 * all of them to be there; where there is neither, Slurm does what binding.gpus asks for.
 */
static const char *gpu_bind(struct script_work *work, const struct plan *plan,
			    const struct launch_settings *settings)
{
	if (plan->means == SPEC_MEANS_SHELL && plan_value(plan, PLAN_GPUS) &&
	    plan->shape == LAUNCH_WORKER) {
		if (settings->gpus == LAUNCH_GPUS_MAP)
			return spec_arena_format(&work->arena, "map_gpu:%s",
						 settings->gpus_map);
		if (settings->gpus == LAUNCH_GPUS_MASK &&
		    plan->dialect == SPEC_DIALECT_GPUS_PER_TASK)
			return "";
		if (settings->gpus == LAUNCH_GPUS_MASK &&
		    plan_known(plan, PLAN_GPUS_PER_TASK))
			return spec_arena_format(&work->arena, "per_task:%" PRIu64,
						 plan_value(plan, PLAN_GPUS_PER_TASK));
	}
	return plan->unbind ? "none" : "";
}

/* The numbers that hold for a node or a task. */
static void add_per_node(struct script_value *root, const struct plan *plan)
{
	script_value_number(root, "ntasks_per_node",
			    plan_value(plan, PLAN_NTASKS_PER_NODE));
	script_value_number(root, "workers_per_node",
			    plan_value(plan, PLAN_WORKERS_PER_NODE));
	script_value_number(root, "gpus_per_node", plan_value(plan, PLAN_GPUS_PER_NODE));
	script_value_flag(root, "has_gpus", plan_value(plan, PLAN_GPUS_PER_NODE) > 0);
	add_number(root, "cpus_per_task", plan_known(plan, PLAN_CPUS_PER_TASK),
		   plan_value(plan, PLAN_CPUS_PER_TASK));
}

/* What one srun, or one component of it, is told. */
static void add_part(struct script_work *work, struct script_value *part,
		     const struct launch_settings *settings, size_t index,
		     const struct spec *spec, const struct plan *plan, bool last,
		     bool behind)
{
	const struct spec *job = work->spec;
	const bool het = work->plan->components_count > 0;
	const struct plan_run *run = &plan->run;
	struct line own;

	script_value_flag(part, "first", index == 0);
	script_value_flag(part, "more", !last);
	script_value_flag(part, "behind", last && behind);
	add_number(part, "het_group", het, index);
	script_value_number(part, "own_nodes", plan_value(plan, PLAN_NODES));
	script_value_number(part, "own_ntasks", plan_value(plan, PLAN_NTASKS));
	add_per_node(part, plan);
	/* The options of srun are the job's; those of its GPUs the component's. */
	script_value_flag(part, "unbind", plan->unbind);
	script_value_text(part, "gpu_bind", gpu_bind(work, plan, settings));
	script_value_text(part, "kill_on_bad_exit",
			  job->srun.kill_on_bad_exit.given &&
					  !job->srun.kill_on_bad_exit.number
				  ? "0"
				  : "1");
	add_given(work, part, "cpu_bind", &job->binding.cpus);
	add_given(work, part, "distribution", &job->srun.distribution);
	add_given(work, part, "wait", &job->srun.wait);
	add_true(part, "unbuffered", &job->srun.unbuffered);
	add_true(part, "label", &job->srun.label);
	add_words(work, part, "srun_args", &job->srun.args);
	add_pyxis(work, part, spec);
	add_apptainer(work, part, spec, plan);
	add_exec(work, part);

	script_value_flag(part, "command", run->kind == PLAN_COMMAND);
	script_value_flag(part, "module", run->kind == PLAN_MODULE);
	script_value_flag(part, "own_python",
			  run->kind != PLAN_COMMAND &&
				  strcmp(run->python, "python") != 0);
	add_word(work, part, "python", run->kind == PLAN_COMMAND ? "python" : run->python,
		 run->python_place);
	add_program(work, part, run);

	/* Of a component's environment what the whole job does not have. */
	line_start(&own, work, " ");
	for (size_t i = 0; het && i < plan->env_count; i++) {
		const struct spec_item *item = &plan->env[i];
		bool same = false;

		for (size_t k = 0; k < work->plan->env_count; k++)
			same |= strcmp(work->plan->env[k].name, item->name) == 0 &&
				strcmp(work->plan->env[k].text, item->text) == 0;
		if (!same)
			line_put(&own, &item->place, "%s=%s", item->name, item->text);
	}
	line_end(&own, part, "own_environment");
}

static void add_parts(struct script_work *work, struct script_value *root,
		      const struct launch_settings *settings, bool behind)
{
	struct script_value *list = script_value_list(root, "parts");
	const struct plan *plan = work->plan;

	if (!plan->components_count) {
		add_part(work, script_value_object(list, NULL), settings, 0, work->spec,
			 plan, true, behind);
		/* For templates that know of one step alone. */
		add_part(work, root, settings, 0, work->spec, plan, true, behind);
	}
	for (size_t i = 0; i < plan->components_count; i++)
		add_part(work, script_value_object(list, NULL), settings, i,
			 &plan->component_specs[i], &plan->components[i],
			 i + 1 == plan->components_count, behind);
}

static void add_modules(struct script_work *work, struct script_value *root)
{
	const struct spec *spec = work->spec;
	const bool purge = spec->modules.purge.given && spec->modules.purge.number;

	script_value_flag(root, "modules",
			  purge || spec->modules.use.count || spec->modules.load.count);
	script_value_flag(root, "module_purge", purge);
	add_words(work, root, "module_use", &spec->modules.use);
	add_words(work, root, "module_load", &spec->modules.load);
	add_given(work, root, "venv", &spec->venv);
	add_given(work, root, "conda_env", &spec->conda.env);
	add_given(work, root, "conda_root", &spec->conda.root);
}

/* The values of AXIS as words, eight to a line. */
static char *axis_values(const struct spec_axis *axis)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);

	if (!out)
		return NULL;
	for (size_t i = 0; i < axis->values.count; i++) {
		if (i > 0)
			fputs(i % 8 == 0 ? "\n\t" : " ", out);
		script_quote_word(out, axis->values.items[i].text);
	}
	if (fclose(out) != 0) {
		free(result);
		return NULL;
	}
	return result;
}

/*
 * The axes of a sweep that is an array job, each with its values and which of them the
 * task of the array has: the script grows with the axes and not with their product.
 */
static void add_sweep(struct script_work *work, struct script_value *root)
{
	const struct spec *spec = work->spec;
	const bool used = plan_sweep_points(spec) > 0;
	struct script_value *list = script_value_list(root, "axes");
	const char *names = "";

	script_value_flag(root, "sweep", used);
	for (size_t i = 0; used && i < plan_sweep_axes(spec); i++) {
		const struct spec_axis *axis = plan_sweep_axis(spec, i);
		struct script_value *entry = script_value_object(list, NULL);
		char index[96] = "SLURM_ARRAY_TASK_ID", *values = axis_values(axis);
		const uint64_t stride = plan_sweep_stride(spec, i);

		if (stride > 1)
			snprintf(index + strlen(index), sizeof(index) - strlen(index),
				 " / %" PRIu64, stride);
		snprintf(index + strlen(index), sizeof(index) - strlen(index), " %% %zu",
			 axis->values.count);
		script_value_text(entry, "name", axis->name.text);
		script_value_text(entry, "index", index);
		script_value_text(entry, "values", values);
		free(values);
		names = names ? spec_arena_format(&work->arena, "%s%s%s", names,
						  i ? " " : "", axis->name.text)
			      : NULL;
	}
	script_value_text(root, "names", names);
}

/* The signal before the time limit, and what starts the job again. */
static bool add_handler(struct script_work *work, struct script_value *root)
{
	const struct spec *spec = work->spec;
	const struct plan_batch *batch = &work->plan->batch;
	const bool retried = spec->retry.max.given && spec->retry.max.number > 0;
	/* All but `fail` unless the spec says which. */
	const bool on_timeout = retried && (!spec->retry.on.given ||
					    has_option(&spec->retry.on, "timeout"));
	const bool on_fail = retried && has_option(&spec->retry.on, "fail");
	const bool trapped = batch->signal_parts.name && batch->signal_parts.batch;
	const uint32_t before = batch->signal_parts.before;
	const bool handled = trapped || on_fail;

	script_value_flag(root, "handled", handled);
	script_value_flag(root, "again", on_timeout || on_fail);
	script_value_flag(root, "again_signal", on_timeout);
	script_value_flag(root, "again_fail", on_fail);
	add_number(root, "retry_max", retried, spec->retry.max.number);
	script_value_text(root, "signal",
			  batch->signal_parts.name ? batch->signal_parts.name : "");
	script_value_flag(root, "trapped", trapped);
	script_value_number(root, "signal_before", before);
	add_number(root, "grace", on_timeout,
		   before > 2 * GRACE_MARGIN ? before - GRACE_MARGIN : before / 2);
	return handled;
}

static void add_environment(struct script_work *work, struct script_value *root)
{
	struct script_value *list = script_value_list(root, "environment");
	const struct plan *plan = work->plan;
	const uint64_t cpus = plan_value(plan, PLAN_CPUS_PER_TASK);
	const uint64_t each = plan->components_count || !cpus
				      ? 0
				      : cpus * plan_value(plan, PLAN_NTASKS_PER_NODE) /
						plan_value(plan, PLAN_WORKERS_PER_NODE);

	for (size_t i = 0; i < plan->env_count; i++) {
		struct script_value *entry = script_value_object(list, NULL);

		script_value_text(entry, "name", plan->env[i].name);
		script_value_origin(entry, 0, strlen(plan->env[i].name),
				    &plan->env[i].place);
		add_word(work, entry, "value", plan->env[i].text, &plan->env[i].place);
	}
	add_number(root, "omp_threads",
		   plan->omp_auto && plan->means == SPEC_MEANS_SHELL && each > 0, each);
	script_value_flag(root, "exports",
			  plan->env_count || work->spec->container.env.count ||
				  (plan->omp_auto && plan->means == SPEC_MEANS_SHELL));
}

/* One of the launcher's variables as the shell of a task makes it; NULL: it cannot. */
static const char *shell_value(struct script_work *work,
			       const struct launch_variable *variable,
			       const struct launch_settings *settings)
{
	static const char *const values[] = {
		[LAUNCH_VALUE_RANK] = "$SLURM_PROCID",
		[LAUNCH_VALUE_WORLD_SIZE] = "$SLURM_NTASKS",
		[LAUNCH_VALUE_LOCAL_RANK] = "$SLURM_LOCALID",
		[LAUNCH_VALUE_LOCAL_SIZE] = "${SLURM_STEP_TASKS_PER_NODE%%[(,]*}",
		[LAUNCH_VALUE_NODE_RANK] = "$SLURM_NODEID",
		[LAUNCH_VALUE_NNODES] = "$SLURM_NNODES",
		[LAUNCH_VALUE_CROSS_RANK] = "$SLURM_NODEID",
		[LAUNCH_VALUE_CROSS_SIZE] = "$SLURM_NNODES",
		[LAUNCH_VALUE_ADDR] = "$MASTER_ADDR",
		[LAUNCH_VALUE_LOCAL_ADDR] = "$SLURMD_NODENAME",
		[LAUNCH_VALUE_PORT] = "$MASTER_PORT",
		[LAUNCH_VALUE_ENDPOINT] = "$MASTER_ADDR:$MASTER_PORT",
		[LAUNCH_VALUE_RUN_ID] =
			"$SLURM_JOB_ID.$SLURM_STEP_ID.${SLURM_RESTART_COUNT:-0}",
		[LAUNCH_VALUE_IS_HOST] = "is_host=$((SLURM_NODEID == 0))",
	};
	const char *value = variable->text;

	if (variable->device && settings->local_zero)
		return "0";
	if (variable->value == LAUNCH_VALUE_ELASTIC)
		return spec_arena_format(&work->arena, "%" PRIu32 ":%" PRIu32,
					 settings->elastic_min, settings->elastic_max);
	if (variable->value != LAUNCH_VALUE_TEXT)
		value = values[variable->value];
	if (value && variable->keep && variable->value != LAUNCH_VALUE_IS_HOST)
		return spec_arena_format(&work->arena, "${%s:-%s}", variable->name,
					 value);
	return value;
}

static void add_variables(struct script_work *work, struct script_value *list,
			  const struct launch_variable *variables,
			  const struct launch_settings *settings)
{
	const enum launch_when other =
		settings->elastic_max ? LAUNCH_STATIC : LAUNCH_ELASTIC;

	for (; variables && variables->name; variables++) {
		struct script_value *entry;

		/* The workers of a node stand on the launcher's command line. */
		if (variables->when == other || variables->value == LAUNCH_VALUE_NPROC)
			continue;
		entry = script_value_object(list, NULL);
		script_value_text(entry, "name", variables->name);
		script_value_text(entry, "value", shell_value(work, variables, settings));
	}
}

/* What the shell of a task does where nothing of srank is on the nodes. */
static void add_shell(struct script_work *work, struct script_value *root,
		      const struct launch_settings *settings)
{
	const struct plan *plan = work->plan;
	const struct plan_rendezvous *meet = &plan->rendezvous;
	const bool used = plan->means == SPEC_MEANS_SHELL && !plan->launcher->bare;
	struct script_value *list = script_value_list(root, "variables");
	const char *const *removes = plan->launcher->removes;
	const char *stale = "";
	uint32_t size, places;

	script_value_flag(root, "shell", used);
	if (used) {
		add_variables(work, list, launch_shape_variables(plan->shape), settings);
		add_variables(work, list, plan->launcher->variables, settings);
	}
	for (; removes && *removes && stale; removes++)
		stale = spec_arena_format(&work->arena, "%s %s", stale, *removes);
	script_value_text(root, "stale", stale);
	script_value_text(root, "suffix", meet->suffix);
	script_value_text(root, "domain", meet->domain);
	add_number(root, "port", meet->port > 0, meet->port);
	script_value_flag(root, "reserved", meet->reserved);
	/* As launch_port() of spank/launch/rendezvous.c divides the range. */
	size = meet->port_high - meet->port_low + 1U;
	places = size >= 64 ? 8 : 1;
	script_value_number(root, "port_low", meet->port_low);
	script_value_number(root, "port_places", places);
	script_value_number(root, "port_blocks", size / places);
}

int script_context(struct script_work *work, struct script_value **result)
{
	const struct spec *spec = work->spec;
	const struct plan *plan = work->plan;
	const struct plan *first = plan->components_count ? plan->components : plan;
	const bool asks = plan->means == SPEC_MEANS_PLUGIN ||
			  plan->means == SPEC_MEANS_EXEC || plan->launcher->bare;
	struct script_value *root = script_value_create();
	struct launch_settings settings;
	struct launch_error err = {0};
	const char *workdir;
	bool handled, passed;
	int rc;

	launch_settings_init(&settings);
	/* The plan has made it, from values that were checked. */
	rc = launch_settings_parse(&settings, plan->srank, &err);
	script_value_text(root, "launcher", plan->launcher->name);
	script_value_flag(root, "het", plan->components_count > 0);
	script_value_number(root, "nodes", plan_value(plan, PLAN_NODES));
	script_value_number(root, "ntasks", plan_value(plan, PLAN_NTASKS));
	script_value_number(root, "world_size", plan_value(plan, PLAN_WORLD_SIZE));
	if (plan->components_count)
		add_per_node(root, first);
	add_count(root, "tasks", plan_value(first, PLAN_NTASKS_PER_NODE), "task");
	add_count(root, "workers", plan_value(first, PLAN_WORKERS_PER_NODE), "rank");
	script_value_flag(root, "one_gpu",
			  plan_value(first, PLAN_GPUS_PER_NODE) == 1 &&
				  plan_value(plan, PLAN_WORLD_SIZE) > 1);
	/* A launcher without variables of ours takes its ranks from PMIx. */
	script_value_flag(root, "pmix", plan->launcher->bare);
	if (spec->srun.mpi.given)
		add_word(work, root, "mpi", spec->srun.mpi.text, &spec->srun.mpi.place);
	else
		script_value_text(root, "mpi", plan->launcher->bare ? "pmix" : "");
	add_word(work, root, "settings", plan->srank, NULL);
	if (asks)
		add_word(work, root, "srank", plan->srank, NULL);
	else
		script_value_text(root, "srank", "");
	script_value_flag(root, "by_exec",
			  plan->means == SPEC_MEANS_EXEC && !plan->launcher->bare);
	/* The command of an image is not seen from outside, nor is that of a component of
	 * another kind of node by one step. */
	script_value_flag(
		root, "means",
		plan->means == SPEC_MEANS_EXEC && !plan->launcher->bare &&
			!plan->components_count &&
			!(spec->container.runtime.given &&
			  spec->container.runtime.number == SPEC_RUNTIME_PYXIS));
	script_value_flag(root, "plugin",
			  plan->means == SPEC_MEANS_PLUGIN && !plan->launcher->bare);

	add_modules(work, root);
	add_sweep(work, root);
	add_environment(work, root);
	add_container_variables(root, spec);
	add_lines(work, root, "site_setup", &work->site->setup);
	add_lines(work, root, "setup", &spec->setup);
	add_lines(work, root, "teardown", &spec->teardown);
	workdir = plan->components_count ? first->run.workdir : plan->run.workdir;
	/* Where sbatch was called is where the script is already. */
	add_folder(work, root, "workdir",
		   workdir && strcmp(workdir, ".") == 0 ? NULL : workdir,
		   &spec->run.workdir.place);
	add_true(root, "preflight", &spec->preflight);
	script_value_flag(root, "doctor", !plan->launcher->bare);
	script_value_flag(root, "task_gpus",
			  plan->dialect == SPEC_DIALECT_GPUS_PER_TASK &&
				  plan_value(plan, PLAN_GPUS_PER_NODE) > 0);
	handled = add_handler(work, root);
	/* A launcher of ranks would die of a signal that is meant for them. */
	passed = plan->batch.signal_parts.name && plan->shape == LAUNCH_NODE;
	script_value_flag(root, "passed", passed);
	add_shell(work, root, &settings);
	script_value_flag(
		root, "wrapped",
		passed || (plan->means == SPEC_MEANS_SHELL && !plan->launcher->bare));
	add_parts(work, root, &settings, handled);

	if (rc == 0 && script_value_failed(root))
		rc = -ENOMEM;
	if (rc < 0) {
		script_value_free(root);
		return rc;
	}
	*result = root;
	return 0;
}
