/* SPDX-License-Identifier: MIT */
/*
 * Nothing that a spec says is passed over: for every key of the table there is a row here
 * with a value of it, and the script with that value is another one than without.
 */
#include "job.h"

#include "gen/script/script.h"
#include "gen/spec/read.h"

#define BASE                                                                          \
	"run: {script: a.py}\nresources: {nodes: 2, gpus_per_node: 4, cpus_per_gpu: " \
	"4}\n"

#define MMDET    "run=null\nmmdet.config=c.py\nlauncher=mmengine"
#define TORCHRUN "launcher=torchrun"
#define IMAGE    "container.runtime=pyxis\ncontainer.image=img"
#define SWEEP    "sweep.matrix={lr: [1, 2]}\nrun.args=[\"{lr}\"]"

static const struct row {
	const char *path;
	const char *value; /* with further assignments on lines behind it */
	const char
		*context; /* assignments before it, on lines of their own; NULL: none */
} rows[] = {
	{"name", "x"},
	{"launcher", "torchrun"},
	{"plugin", "off"},
	{"run.script", "b.py"},
	{"run.command", "./a.out\nrun.script=null"},
	{"run.module", "m\nrun.script=null"},
	{"run.args", "[-x]"},
	{"run.python", "python3"},
	{"run.workdir", "/w"},
	{"mmdet.config", "d.py", MMDET},
	{"mmdet.work_dir", "w", MMDET},
	{"mmdet.amp", "true", MMDET},
	{"mmdet.auto_scale_lr", "true", MMDET},
	{"mmdet.base_batch", "16", MMDET},
	{"mmdet.batch_size", "2", MMDET},
	{"mmdet.num_workers", "3", MMDET},
	{"mmdet.accumulate", "2", MMDET},
	{"mmdet.resume", "true", MMDET},
	{"mmdet.seed", "1", MMDET},
	{"mmdet.deterministic", "true", MMDET},
	{"mmdet.timeout", "60", MMDET},
	{"mmdet.cfg_options", "{a.b: 1}", MMDET},
	{"resources.nodes", "3"},
	{"resources.gpus", "4\nresources.gpus_per_node=null"},
	{"resources.gpus_per_node", "3"},
	{"resources.gpu_type", "a100"},
	{"resources.tasks_per_gpu", "2"},
	{"resources.ntasks", "16"},
	{"resources.ntasks_per_node", "8"},
	{"resources.cpus_per_task", "7", "resources.cpus_per_gpu=null"},
	{"resources.cpus_per_gpu", "7"},
	{"resources.threads_per_core", "1"},
	{"resources.hint", "nomultithread"},
	{"resources.mem", "1G"},
	{"resources.mem_gb", "1"},
	{"resources.mem_per_cpu", "1G"},
	{"resources.mem_per_gpu", "1G"},
	{"resources.exclusive", "true"},
	{"resources.gres", "nvme:1"},
	{"resources.licenses", "matlab:1"},
	{"resources.tmp", "1G"},
	{"resources.segment", "2"},
	{"resources.switches", "1"},
	{"batch.partition", "p"},
	{"batch.account", "a"},
	{"batch.qos", "q"},
	{"batch.time", "10"},
	{"batch.time_min", "5"},
	{"batch.constraint", "ib"},
	{"batch.reservation", "r"},
	{"batch.nodelist", "n1"},
	{"batch.exclude", "n1"},
	{"batch.begin", "16:00"},
	{"batch.deadline", "16:00"},
	{"batch.nice", "5"},
	{"batch.priority", "5"},
	{"batch.hold", "true"},
	{"batch.comment", "c"},
	{"batch.wckey", "w"},
	{"batch.clusters", "c"},
	{"batch.output", "o"},
	{"batch.error", "e"},
	{"batch.open_mode", "append"},
	{"batch.export", "NONE"},
	{"batch.array.range", "0-3"},
	{"batch.array.max", "2", "batch.array.range=0-3"},
	{"batch.dependency.condition", "singleton"},
	{"batch.dependency.after", "1"},
	{"batch.dependency.afterany", "1"},
	{"batch.dependency.afterok", "1"},
	{"batch.dependency.afternotok", "1"},
	{"batch.dependency.aftercorr", "1"},
	{"batch.dependency.afterburstbuffer", "1"},
	{"batch.dependency.singleton", "true"},
	{"batch.dependency.any", "true",
	 "batch.dependency.afterok=1 2\n"
	 "batch.dependency.after=3"},
	{"batch.requeue", "true"},
	{"batch.signal.name", "USR1"},
	{"batch.signal.before", "90", "batch.signal.name=USR1"},
	{"batch.signal.batch", "false", "batch.signal.name=USR1"},
	{"batch.mail.user", "u"},
	{"batch.mail.type", "END"},
	{"batch.mail_user", "u"},
	{"batch.mail_type", "END"},
	{"batch.extra", "[--power=x]"},
	{"batch.skip", "[time]", "batch.time=10"},
	{"rendezvous.master", "n1"},
	{"rendezvous.addr", "ip"},
	{"rendezvous.suffix", "-ib"},
	{"rendezvous.domain", "a.b"},
	{"rendezvous.port", "23456"},
	{"rendezvous.ports", "20000-20099"},
	{"rendezvous.busy", "warn"},
	{"rendezvous.backend", "c10d", TORCHRUN},
	{"rendezvous.elastic", "1:2", TORCHRUN},
	{"rendezvous.max_restarts", "2", TORCHRUN},
	{"rendezvous.verbose", "true"},
	{"binding.gpus", "mask"},
	{"binding.local", "0", "binding.gpus=mask"},
	{"binding.cpus", "cores"},
	{"binding.omp_threads", "3"},
	{"env", "{A: 1}"},
	{"modules.purge", "true"},
	{"modules.use", "/m"},
	{"modules.load", "gcc"},
	{"venv", "/v"},
	{"conda.env", "e"},
	{"conda.root", "/c", "conda.env=e"},
	{"setup", "true"},
	{"teardown", "true"},
	{"container.runtime", "apptainer", IMAGE},
	{"container.image", "other", IMAGE},
	{"container.mounts", "/a:/b", IMAGE},
	{"container.workdir", "/w", IMAGE},
	{"container.name", "n", IMAGE},
	{"container.home", "true", IMAGE},
	{"container.writable", "true", IMAGE},
	{"container.env", "A", IMAGE},
	{"container.options", "[--container-remap-root]", IMAGE},
	{"srun.args", "[--overlap]"},
	{"srun.kill_on_bad_exit", "false"},
	{"srun.wait", "60"},
	{"srun.unbuffered", "true"},
	{"srun.label", "true"},
	{"srun.mpi", "pmi2"},
	{"srun.distribution", "block:cyclic"},
	{"retry.max", "2"},
	{"retry.on", "[fail]", "retry.max=2"},
	{"preflight", "true"},
	{"sweep.matrix", "{lr: [1, 2]}"},
	{"sweep.zip", "{lr: [1, 2]}"},
	{"sweep.as", "files", SWEEP},
	{"sweep.max", "1", SWEEP},
	/* What is put into the second of two components. */
	{"het.run", "run: {script: b.py}"},
	{"het.mmdet", "mmdet: {config: c.py}"},
	{"het.resources", "resources: {nodes: 3}"},
	{"het.partition", "partition: q"},
	{"het.account", "account: q"},
	{"het.qos", "qos: q"},
	{"het.constraint", "constraint: q"},
	{"het.nodelist", "nodelist: n1"},
	{"het.exclude", "exclude: n1"},
	{"het.extra", "extra: [--power=x]"},
	{"het.env", "env: {A: 1}"},
	{"het.container", "container: {runtime: pyxis, image: i}"},
};

/* Keys that say where a spec is from and what else counts, and one that can only be no:
 * what yes would need, Slurm does not do. */
static const char *const apart[] = {"version", "include", "profile",
				    "retry.exclude_bad_nodes"};

/* Assignments, each on a line. */
static void set(struct spec *spec, const char *assignments, struct diag *diag)
{
	while (assignments) {
		const size_t size = strcspn(assignments, "\n");
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)size, assignments);
		if (spec_override(spec, line, diag) < 0)
			fail_msg("%s: %s", line, diag->items[0].message);
		assignments = assignments[size] ? assignments + size + 1 : NULL;
	}
}

/* The script of the base with ROW's context, and with its value when WITH; but for its
 * comments, which show the assignments. The caller frees. */
static char *script_of(const struct row *row, bool with)
{
	struct script_templates templates = {0};
	struct job job = {0};
	char *text = NULL, *left = NULL, line[512];
	size_t length, kept;
	FILE *out = open_memstream(&text, &length), *rest = open_memstream(&left, &kept);

	assert_non_null(out);
	assert_non_null(rest);
	spec_site_init(&job.site);
	assert_int_equal(
		spec_read_text(&job.spec, "job.yaml", BASE, strlen(BASE), &job.diag), 0);
	set(&job.spec, row->context, &job.diag);
	if (strncmp(row->path, "het.", 4) == 0) {
		snprintf(line, sizeof(line), "het=[{}, {%s}]", with ? row->value : "");
		set(&job.spec, line, &job.diag);
	} else if (with) {
		snprintf(line, sizeof(line), "%s=%s", row->path, row->value);
		set(&job.spec, line, &job.diag);
	}
	assert_int_equal(spec_complete(&job.spec, &job.site.defaults), 0);
	job.rc = plan_make(&job.plan, &job.spec, &job.site, &job.diag);
	if (job.rc == 0)
		job.rc = script_write(out, &job.spec, &job.plan, &job.site, NULL,
				      &templates, &job.diag);
	assert_int_equal(fclose(out), 0);
	if (job.rc < 0)
		print_error("%s=%s: %s\n", row->path, row->value,
			    job.diag.count ? job.diag.items[0].message : "no message");
	for (char *at = job.rc == 0 ? text : NULL, *end; at && (end = strchr(at, '\n'));
	     at = end + 1) {
		if (strncmp(at, "# ", 2) != 0)
			fprintf(rest, "%.*s\n", (int)(end - at), at);
	}
	assert_int_equal(fclose(rest), 0);
	free(text);
	script_templates_clear(&templates);
	job_clear(&job);
	return left;
}

static void every_value_makes_another_script(void **state)
{
	size_t same = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *without = script_of(&rows[i], false);
		char *with = script_of(&rows[i], true);

		/* A script that could not be made is empty. */
		if (!with[0] || strcmp(without, with) == 0) {
			print_error("%s=%s makes no difference\n", rows[i].path,
				    rows[i].value);
			same++;
		}
		free(without);
		free(with);
	}
	assert_int_equal(same, 0);
}

static bool has_row(const char *path)
{
	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		if (strcmp(apart[i], path) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].path, path) == 0)
			return true;
	}
	return false;
}

static size_t walk(const struct spec_field *fields, const char *prefix)
{
	size_t count = 0;

	for (; fields->name; fields++) {
		char path[128];

		snprintf(path, sizeof(path), "%s%s", prefix, fields->name);
		/* The sections of a component are those of the spec. */
		if ((fields->type == SPEC_SECTION || fields->type == SPEC_LIST) &&
		    !prefix[0]) {
			strcat(path, ".");
			count += walk(fields->fields, path);
		} else if (fields->type == SPEC_SECTION &&
			   strncmp(prefix, "het.", 4) != 0) {
			strcat(path, ".");
			count += walk(fields->fields, path);
		} else {
			count++;
			if (!has_row(path))
				fail_msg("%s has no row here", path);
		}
	}
	return count;
}

static void every_key_has_a_row(void **state)
{
	assert_int_equal(walk(spec_fields, ""), sizeof(rows) / sizeof(rows[0]) +
							sizeof(apart) / sizeof(apart[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_a_row),
		cmocka_unit_test(every_value_makes_another_script),
	};

	return cmocka_run_group_tests_name("consumed", tests, NULL, NULL);
}
