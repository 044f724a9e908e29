/* SPDX-License-Identifier: MIT */
/*
 * No key is read and then forgotten: each key of the spec, changed alone, changes the
 * script, or is refused with its place. A new key needs a row here.
 */
#include "gen/script/script.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TORCH \
	"launcher: torch\nresources: {nodes: 2, gpus_per_node: 4, cpus_per_gpu: 4}\n"
#define RUN "run: {script: a.py}\n"
#define JOB TORCH RUN
#define TORCHRUN                                                                     \
	"launcher: torchrun\nresources: {nodes: 2, gpus_per_node: 4, cpus_per_gpu: " \
	"4}\n" RUN
#define FREE        "launcher: torch\n" RUN "resources: {nodes: 2, gpus_per_node: 4}\n"
#define BARE        "launcher: torch\n" RUN
#define MM          TORCH "mmdet: {config: yolox_s_8xb8-300e_coco.py}\n"
#define IN(runtime) JOB "container: {runtime: " runtime ", image: i}\n"

enum effect {
	CHANGES, /* the script */
	REFUSED,
	ELSEWHERE, /* it is not of the script: which file is read, and the like */
};

static const struct {
	const char *path;
	const char *spec; /* that the key is put on top of */
	const char *value;
	enum effect effect;
} rows[] = {
	{"version", JOB, "1", ELSEWHERE},
	{"include", JOB, "[x.yaml]", ELSEWHERE},
	{"profile", JOB, "x", ELSEWHERE},
	{"name", JOB, "x", CHANGES},
	{"launcher", JOB, "torchrun", CHANGES},
	{"plugin", JOB, "off", CHANGES},
	{"run.script", JOB, "b.py", CHANGES},
	{"run.command", TORCH, "prog x", CHANGES},
	{"run.module", TORCH, "pkg.train", CHANGES},
	{"run.args", JOB, "[x]", CHANGES},
	{"run.python", JOB, "python3", CHANGES},
	{"run.workdir", JOB, "/x", CHANGES},
	{"mmdet.config", TORCH, "x.py", CHANGES},
	{"mmdet.work_dir", MM, "x", CHANGES},
	{"mmdet.amp", MM, "true", CHANGES},
	{"mmdet.auto_scale_lr", MM, "true", CHANGES},
	{"mmdet.base_batch", MM, "128", CHANGES},
	{"mmdet.batch_size", MM, "4", CHANGES},
	{"mmdet.num_workers", MM, "2", CHANGES},
	{"mmdet.accumulate", MM, "2", CHANGES},
	{"mmdet.resume", MM, "true", CHANGES},
	{"mmdet.seed", MM, "3", CHANGES},
	{"mmdet.deterministic", MM, "true", CHANGES},
	{"mmdet.timeout", MM, "60", CHANGES},
	{"mmdet.cfg_options", MM, "{a.b: 1}", CHANGES},
	{"resources.nodes", JOB, "3", CHANGES},
	{"resources.gpus", BARE "resources: {nodes: 2}\n", "4", CHANGES},
	{"resources.gpus_per_node", JOB, "3", CHANGES},
	{"resources.gpu_type", JOB, "a100", CHANGES},
	{"resources.tasks_per_gpu", JOB, "2", CHANGES},
	{"resources.ntasks", BARE "resources: {nodes: 2}\n", "4", CHANGES},
	{"resources.ntasks_per_node", BARE "resources: {nodes: 2}\n", "3", CHANGES},
	{"resources.cpus_per_task", FREE, "3", CHANGES},
	{"resources.cpus_per_gpu", FREE, "3", CHANGES},
	{"resources.threads_per_core", JOB, "1", CHANGES},
	{"resources.hint", JOB, "nomultithread", CHANGES},
	{"resources.mem", JOB, "1G", CHANGES},
	{"resources.mem_gb", JOB, "1", CHANGES},
	{"resources.mem_per_cpu", JOB, "1G", CHANGES},
	{"resources.mem_per_gpu", JOB, "1G", CHANGES},
	{"resources.exclusive", JOB, "true", CHANGES},
	{"resources.gres", JOB, "[nvme:1]", CHANGES},
	{"resources.licenses", JOB, "x", CHANGES},
	{"resources.tmp", JOB, "1G", CHANGES},
	{"resources.segment", JOB, "2", CHANGES},
	{"resources.switches", JOB, "1", CHANGES},
	{"batch.partition", JOB, "x", CHANGES},
	{"batch.account", JOB, "x", CHANGES},
	{"batch.qos", JOB, "x", CHANGES},
	{"batch.time", JOB, "60", CHANGES},
	{"batch.time_min", JOB "batch: {time: 60}\n", "30", CHANGES},
	{"batch.constraint", JOB, "x", CHANGES},
	{"batch.reservation", JOB, "x", CHANGES},
	{"batch.nodelist", JOB, "n1", CHANGES},
	{"batch.exclude", JOB, "n1", CHANGES},
	{"batch.begin", JOB, "now+1hour", CHANGES},
	{"batch.deadline", JOB, "2030-01-01", CHANGES},
	{"batch.nice", JOB, "5", CHANGES},
	{"batch.priority", JOB, "5", CHANGES},
	{"batch.hold", JOB, "true", CHANGES},
	{"batch.comment", JOB, "x", CHANGES},
	{"batch.wckey", JOB, "x", CHANGES},
	{"batch.clusters", JOB, "x", CHANGES},
	{"batch.output", JOB, "x", CHANGES},
	{"batch.error", JOB, "x", CHANGES},
	{"batch.open_mode", JOB, "append", CHANGES},
	{"batch.export", JOB, "NONE", CHANGES},
	{"batch.array.range", JOB, "0-3", CHANGES},
	{"batch.array.max", JOB "batch: {array: 0-3}\n", "2", CHANGES},
	{"batch.dependency.condition", JOB, "afterok:1", CHANGES},
	{"batch.dependency.after", JOB, "[1]", CHANGES},
	{"batch.dependency.afterany", JOB, "[1]", CHANGES},
	{"batch.dependency.afterok", JOB, "[1]", CHANGES},
	{"batch.dependency.afternotok", JOB, "[1]", CHANGES},
	{"batch.dependency.aftercorr", JOB, "[1]", CHANGES},
	{"batch.dependency.afterburstbuffer", JOB, "[1]", CHANGES},
	{"batch.dependency.singleton", JOB, "true", CHANGES},
	{"batch.dependency.any",
	 JOB "batch: {dependency: {afterok: [1], singleton: yes}}\n", "true", CHANGES},
	{"batch.requeue", JOB, "true", CHANGES},
	{"batch.signal.name", JOB, "USR1", CHANGES},
	{"batch.signal.before", JOB "batch: {signal: {name: USR1}}\n", "90", CHANGES},
	{"batch.signal.batch", JOB "batch: {signal: {name: USR1}}\n", "false", CHANGES},
	{"batch.mail.user", JOB "batch: {mail: {type: [END]}}\n", "x", CHANGES},
	{"batch.mail.type", JOB, "[END]", CHANGES},
	{"batch.mail_user", JOB, "x", CHANGES},
	{"batch.mail_type", JOB, "[END]", CHANGES},
	{"batch.extra", JOB, "[--reboot]", CHANGES},
	{"batch.skip", JOB, "[gres]", CHANGES},
	{"rendezvous.master", JOB, "x", CHANGES},
	{"rendezvous.addr", JOB, "ip", CHANGES},
	{"rendezvous.suffix", JOB, "i", CHANGES},
	{"rendezvous.domain", JOB, "x.y", CHANGES},
	{"rendezvous.port", JOB, "23456", CHANGES},
	{"rendezvous.ports", JOB, "21000-21999", CHANGES},
	{"rendezvous.busy", JOB, "warn", CHANGES},
	{"rendezvous.backend", TORCHRUN, "c10d", CHANGES},
	{"rendezvous.elastic", TORCHRUN, "1:4", CHANGES},
	{"rendezvous.max_restarts", TORCHRUN "rendezvous: {elastic: '1:4'}\n", "5",
	 CHANGES},
	{"rendezvous.verbose", JOB, "true", CHANGES},
	{"binding.gpus", JOB, "mask", CHANGES},
	{"binding.local", JOB "binding: {gpus: mask}\n", "0", CHANGES},
	{"binding.cpus", JOB, "cores", CHANGES},
	{"binding.omp_threads", JOB, "3", CHANGES},
	{"env", JOB, "{A: b}", CHANGES},
	{"modules.purge", JOB, "true", CHANGES},
	{"modules.use", JOB, "[x]", CHANGES},
	{"modules.load", JOB, "[x]", CHANGES},
	{"venv", JOB, "x", CHANGES},
	{"conda.env", JOB, "x", CHANGES},
	{"conda.root", JOB "conda: {env: x}\n", "/opt/conda", CHANGES},
	{"setup", JOB, "x", CHANGES},
	{"teardown", JOB, "x", CHANGES},
	{"container.runtime", IN("pyxis"), "apptainer", CHANGES},
	{"container.image", IN("pyxis"), "j", CHANGES},
	{"container.mounts", IN("apptainer"), "[/x]", CHANGES},
	{"container.workdir", IN("apptainer"), "/x", CHANGES},
	{"container.name", IN("pyxis"), "x", CHANGES},
	{"container.home", IN("pyxis"), "true", CHANGES},
	{"container.writable", IN("apptainer"), "true", CHANGES},
	{"container.env", IN("apptainer"), "[X]", CHANGES},
	{"container.options", IN("pyxis"), "[--no-container-entrypoint]", CHANGES},
	{"srun.args", JOB, "[-l]", CHANGES},
	{"srun.kill_on_bad_exit", JOB, "false", CHANGES},
	{"srun.wait", JOB, "60", CHANGES},
	{"srun.unbuffered", JOB, "true", CHANGES},
	{"srun.label", JOB, "true", CHANGES},
	{"srun.mpi", JOB, "pmix", CHANGES},
	{"srun.distribution", JOB, "cyclic", CHANGES},
	{"retry.max", JOB, "2", CHANGES},
	{"retry.on", JOB "retry: 1\n", "[fail]", CHANGES},
	{"retry.exclude_bad_nodes", JOB "retry: 1\n", "true", REFUSED},
	{"preflight", JOB, "true", CHANGES},
	/* Lists of sections: tests/golden and tests/cluster have them. */
	{"het", JOB, "", ELSEWHERE},
	{"sweep.matrix", JOB, "{x: [1, 2]}", CHANGES},
	{"sweep.zip", JOB, "{x: [1, 2]}", CHANGES},
	{"sweep.as", JOB "sweep: {matrix: {x: [1, 2]}}\n", "files", CHANGES},
	{"sweep.max", JOB "sweep: {matrix: {x: [1, 2]}}\n", "1", CHANGES},
};
#define ROWS (sizeof(rows) / sizeof(*rows))

/*
 * The script without its comments, in which the digest of the spec stands; to be freed.
 * NULL: the spec was refused.
 */
static char *script_of(const char *text, const char *path, const char *value)
{
	struct spec spec = {0};
	struct spec_site site;
	struct plan plan = {0};
	struct script_templates templates = {0};
	struct diag diag = {0};
	char *script = NULL, *body = NULL;
	char override[256];
	size_t length;
	FILE *out;
	int rc;

	rc = spec_read_text(&spec, "job.yaml", text, strlen(text), &diag);
	assert_int_equal(rc, 0);
	if (path) {
		snprintf(override, sizeof(override), "%s=%s", path, value);
		rc = spec_override(&spec, override, &diag);
	}
	spec_site_init(&site);
	if (rc == 0)
		rc = spec_complete(&spec, &site.defaults);
	if (rc == 0)
		rc = plan_make(&plan, &spec, &site, &diag);
	out = open_memstream(&script, &length);
	assert_non_null(out);
	if (rc == 0)
		rc = script_write(out, &spec, &plan, &site, NULL, &templates, NULL,
				  &diag);
	assert_int_equal(fclose(out), 0);
	if (rc < 0) {
		/* Never without a word. */
		assert_int_not_equal(diag.errors, 0);
		print_message("# %s: %s\n", path ? path : "", diag.items[0].message);
	} else {
		body = strstr(script, "#SBATCH");
		body = body ? strdup(body) : NULL;
	}
	free(script);
	script_templates_clear(&templates);
	plan_clear(&plan);
	spec_site_clear(&site);
	spec_clear(&spec);
	diag_clear(&diag);
	return body;
}

static void each_key_has_an_effect(void **state)
{
	for (size_t i = 0; i < ROWS; i++) {
		char *before, *after;

		if (rows[i].effect == ELSEWHERE)
			continue;
		/* A spec that lacks its program is none yet. */
		before = strstr(rows[i].spec, "run:") || strstr(rows[i].spec, "mmdet:")
				 ? script_of(rows[i].spec, NULL, NULL)
				 : strdup("");
		after = script_of(rows[i].spec, rows[i].path, rows[i].value);
		if (!before || (rows[i].effect == REFUSED) != !after ||
		    (after && strcmp(before, after) == 0))
			fail_msg("%s=%s %s", rows[i].path, rows[i].value,
				 !before ? "has a wrong spec in the table"
				 : after ? "changes nothing, or is taken"
					 : "is refused");
		free(before);
		free(after);
	}
}

/* Calls itself for sections. */
static void visit(const struct spec_field *fields, const char *section)
{
	for (; fields->name; fields++) {
		char path[128];
		bool found = false;

		snprintf(path, sizeof(path), "%s%s%s", section, *section ? "." : "",
			 fields->name);
		if (fields->type == SPEC_SECTION) {
			visit(fields->fields, path);
			continue;
		}
		for (size_t i = 0; i < ROWS; i++)
			found |= strcmp(rows[i].path, path) == 0;
		if (!found)
			fail_msg("%s has no row", path);
	}
}

static void each_key_has_a_row(void **state)
{
	visit(spec_fields, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_has_a_row),
		cmocka_unit_test(each_key_has_an_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
