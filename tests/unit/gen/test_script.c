/* SPDX-License-Identifier: MIT */
/*
 * Plan -> script: what the header and the command lines must be for each launcher,
 * dialect and kind of program. Whole scripts are in tests/golden; here are the rules one
 * by one.
 */
#include "gen/script/options.h"
#include "gen/script/script.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char home[] = "/tmp/srank-test-XXXXXX";

struct made {
	struct spec spec;
	struct spec_site site;
	struct plan plan;
	struct script_templates templates;
	struct diag diag;
	char *script;
	size_t length;
	int rc;
};

/* The script of a spec and a site profile (NULL: the built-in one), both in YAML. */
static void make(struct made *made, const char *spec, const char *site)
{
	FILE *out;

	*made = (struct made){0};
	made->rc = spec_read_text(&made->spec, "dir/job.yaml", spec, strlen(spec),
				  &made->diag);
	spec_site_init(&made->site);
	if (made->rc == 0 && site)
		made->rc = spec_site_read_text(&made->site, "dir/site.yaml", site,
					       strlen(site), &made->diag);
	if (made->rc == 0)
		made->rc = plan_make(&made->plan, &made->spec, &made->site, &made->diag);
	if (made->rc < 0)
		diag_print(&made->diag, stderr, DIAG_PLAIN);
	assert_int_equal(made->rc, 0);
	out = open_memstream(&made->script, &made->length);
	assert_non_null(out);
	made->rc = script_write(out, &made->spec, &made->plan, &made->site, NULL,
				&made->templates, NULL, &made->diag);
	assert_int_equal(fclose(out), 0);
}

static void clear(struct made *made)
{
	free(made->script);
	script_templates_clear(&made->templates);
	plan_clear(&made->plan);
	spec_site_clear(&made->site);
	spec_clear(&made->spec);
	diag_clear(&made->diag);
}

/* The script from the last line that starts with `srun` on. */
static const char *step(const struct made *made)
{
	const char *last = NULL;

	for (const char *at = made->script; (at = strstr(at, "\nsrun ")); at++)
		last = at + 1;
	assert_non_null(last);
	return last;
}

/* All directives, one per line, without "#SBATCH ". */
static char *directives(const struct made *made)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);

	for (const char *at = made->script; (at = strstr(at, "\n#SBATCH ")); at++)
		fprintf(out, "%.*s\n", (int)strcspn(at + 9, "\n"), at + 9);
	assert_int_equal(fclose(out), 0);
	return result;
}

#define ENDS        "run: {script: train.py, args: [--lr, 0.1, x]}\n"
#define TWO_BY_FOUR "resources: {nodes: 2, gpus_per_node: 4, cpus_per_gpu: 3}\n"
#define ONE_BY_ONE  "resources: {nodes: 2, gpus_per_node: 1}\n"

static void commands(void **state)
{
	static const struct {
		const char *spec;
		const char *step;
	} rows[] = {
		/* Every worker launcher starts the program itself in each task. */
		{"launcher: torch\n" TWO_BY_FOUR ENDS,
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=3 \\\n"
		 "\tpython train.py \\\n\t--lr 0.1 x\n"},
		{"launcher: jax\n" TWO_BY_FOUR "run: {module: pkg.train}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=3 \\\n"
		 "\tpython -m pkg.train\n"},
		{"launcher: lightning\n" TWO_BY_FOUR
		 "run: {command: [./prog, -v, a b]}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=3 \\\n"
		 "\t./prog \\\n\t-v 'a b'\n"},
		/* MPI takes its ranks from PMIx. */
		{"launcher: mpi\n" TWO_BY_FOUR "run: {command: ./prog}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=3 --mpi=pmix "
		 "\\\n"
		 "\t./prog\n"},
		/* Another interpreter; a negative number is a value, not an option. */
		{"launcher: torch\n" ONE_BY_ONE "run: {script: a.py, python: /opt/my "
		 "py/bin/python3, args: [-n, -1, -.5]}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL \\\n"
		 "\t'/opt/my py/bin/python3' a.py \\\n\t-n -1 -.5\n"},
		/* The user's own srun options come last, so that they win. */
		{"launcher: torch\n" ONE_BY_ONE
		 "srun: {args: [--label, --comment=a b]}\n" ENDS,
		 "srun --kill-on-bad-exit=1 --export=ALL \\\n\t--label '--comment=a b' "
		 "\\\n"
		 "\tpython train.py \\\n\t--lr 0.1 x\n"},
		/* One torchrun per node; its rank, address and port come from the plugin.
		 */
		{"launcher: torchrun\n" TWO_BY_FOUR ENDS,
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=12 \\\n"
		 "\ttorchrun --nproc_per_node=4 \\\n\ttrain.py \\\n\t--lr 0.1 x\n"},
		{"launcher: torchrun\n" TWO_BY_FOUR "run: {module: pkg.train, args: y}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=12 \\\n"
		 "\ttorchrun --nproc_per_node=4 \\\n\t-m pkg.train y\n"},
		{"launcher: torchrun\n" TWO_BY_FOUR "run: {command: [./prog, -v]}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=12 \\\n"
		 "\ttorchrun --nproc_per_node=4 --no_python \\\n\t./prog \\\n\t-v\n"},
		{"launcher: torchrun\n" TWO_BY_FOUR "run: {script: a.py, python: ./py}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=12 \\\n"
		 "\t./py -m torch.distributed.run --nproc_per_node=4 \\\n\ta.py\n"},
		{"launcher: accelerate\n" TWO_BY_FOUR ENDS,
		 "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=12 \\\n"
		 "\tbash -c 'exec \"$0\" launch --machine_rank=\"$NODE_RANK\" \\\n"
		 "\t\t--main_process_ip=\"$MASTER_ADDR\" "
		 "--main_process_port=\"$MASTER_PORT\" "
		 "\"$@\"' \\\n"
		 "\taccelerate --num_machines=2 --num_processes=8 --same_network \\\n"
		 "\ttrain.py \\\n\t--lr 0.1 x\n"},
		/* One GPU a node: accelerate would think that nothing is distributed. */
		{"launcher: accelerate\n" ONE_BY_ONE "run: {module: pkg, python: it's}\n",
		 "srun --kill-on-bad-exit=1 --export=ALL \\\n"
		 "\tbash -c 'exec \"$0\" -m accelerate.commands.launch "
		 "--machine_rank=\"$NODE_RANK\" \\\n"
		 "\t\t--main_process_ip=\"$MASTER_ADDR\" "
		 "--main_process_port=\"$MASTER_PORT\" "
		 "\"$@\"' \\\n"
		 "\t\"it's\" --num_machines=2 --num_processes=2 --same_network "
		 "--multi_gpu \\\n"
		 "\t--module pkg\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct made made;

		make(&made, rows[i].spec, NULL);
		assert_int_equal(made.rc, 0);
		assert_string_equal(step(&made), rows[i].step);
		clear(&made);
	}
}

static void headers(void **state)
{
	static const struct {
		const char *spec;
		const char *site;
		const char *header;
	} rows[] = {
		/* All of them, in the order of the header and not of the spec. */
		{"launcher: torch\nname: \"it's #1\"\n"
		 "batch: {error: e.err, output: 'o #%j.out', time: 1-00:00:00, "
		 "reservation: r1,\n"
		 "  constraint: 'a100&ib', qos: high, account: proj, partition: "
		 "'gpu,big'}\n"
		 "resources: {exclusive: yes, mem: 64G, gpu_type: a100, gpus_per_node: "
		 "4,\n"
		 "  cpus_per_gpu: 6, nodes: 2}\n" ENDS,
		 NULL,
		 "--job-name=\"it's "
		 "#1\"\n--partition=gpu,big\n--account=proj\n--qos=high\n"
		 "--reservation=r1\n--constraint=\"a100&ib\"\n--nodes=2\n--ntasks-per-"
		 "node=4\n"
		 "--cpus-per-task=6\n--gres=gpu:a100:4\n--mem=64G\n--exclusive\n"
		 "--time=1-00:00:00\n--output=\"o #%j.out\"\n--error=e.err\n"},
		/* Nothing is asked for that nobody spoke of. */
		{"launcher: torch\nresources: {ntasks: 2, nodes: 1}\n" ENDS, NULL,
		 "--nodes=1\n--ntasks-per-node=2\n"},
		{"launcher: torch\nresources: {nodes: 1, ntasks: 1, exclusive: "
		 "no}\n" ENDS,
		 NULL, "--nodes=1\n--ntasks-per-node=1\n"},
		{"launcher: torch\nresources: {nodes: 1, ntasks: 1, exclusive: "
		 "user}\n" ENDS,
		 NULL, "--nodes=1\n--ntasks-per-node=1\n--exclusive=user\n"},
		/* Dialects. */
		{"launcher: torch\n" TWO_BY_FOUR ENDS, NULL,
		 "--nodes=2\n--ntasks-per-node=4\n--cpus-per-task=3\n--gres=gpu:4\n"},
		{"launcher: torch\n" TWO_BY_FOUR ENDS, "gpu_dialect: gpus_per_node\n",
		 "--nodes=2\n--ntasks-per-node=4\n--cpus-per-task=3\n--gpus-per-node="
		 "4\n"},
		{"launcher: torch\n" TWO_BY_FOUR ENDS, "gpu_dialect: gpus_per_task\n",
		 "--nodes=2\n--ntasks-per-node=4\n--cpus-per-task=3\n--ntasks=8\n"
		 "--gpus-per-task=1\n"},
		{"launcher: torchrun\n" TWO_BY_FOUR ENDS, "gpu_dialect: gpus_per_task\n",
		 "--nodes=2\n--ntasks-per-node=1\n--cpus-per-task=12\n--ntasks=2\n"
		 "--gpus-per-task=4\n"},
		{"launcher: torch\nresources: {nodes: 1, gpus: 2, gpu_type: h100}\n" ENDS,
		 "gpu_dialect: gpus_per_node\n",
		 "--nodes=1\n--ntasks-per-node=2\n--gpus-per-node=h100:2\n"},
		/* On several nodes --gpus alone is spread unevenly. */
		{"launcher: torch\n" TWO_BY_FOUR ENDS, "gpu_dialect: gpus\n",
		 "--nodes=2\n--ntasks-per-node=4\n--cpus-per-task=3\n--gpus=8\n"
		 "--gpus-per-node=4\n"},
		{"launcher: torch\nresources: {nodes: 1, gpus: 2}\n" ENDS,
		 "gpu_dialect: gpus\n", "--nodes=1\n--ntasks-per-node=2\n--gpus=2\n"},
		/* Other generic resources beside the GPUs. */
		{"launcher: torch\nresources: {nodes: 1, gpus: 2, gres: ['nvme:1', "
		 "'x:2']}\n" ENDS,
		 NULL, "--nodes=1\n--ntasks-per-node=2\n--gres=gpu:2,nvme:1,x:2\n"},
		{"launcher: torch\nresources: {nodes: 1, gpus: 2, gres: "
		 "['nvme:1']}\n" ENDS,
		 "gpu_dialect: gpus_per_node\n",
		 "--nodes=1\n--ntasks-per-node=2\n--gpus-per-node=2\n--gres=nvme:1\n"},
		/* Memory in the site's way. */
		{"launcher: torch\nresources: {nodes: 1, gpus: 2, mem_per_gpu: "
		 "8G}\n" ENDS,
		 NULL,
		 "--nodes=1\n--ntasks-per-node=2\n--gres=gpu:2\n--mem-per-gpu=8G\n"},
		{"launcher: torch\nresources: {nodes: 1, gpus: 2, mem_per_gpu: "
		 "8G}\n" ENDS,
		 "mem_dialect: none\n", "--nodes=1\n--ntasks-per-node=2\n--gres=gpu:2\n"},
		/* What the queue is told. */
		{"launcher: torch\nresources: {nodes: 1, ntasks: 1, licenses: 'a:1', "
		 "tmp: "
		 "10G, hint: nomultithread}\n"
		 "batch: {comment: a b, clusters: c1, wckey: w, nodelist: 'n[1-2]', "
		 "exclude: n3, time: 9, time_min: 5,\n"
		 "  begin: now+1hour, deadline: '2030-01-01', nice: -5, priority: 7, "
		 "hold: "
		 "yes, array: 0-3%2,\n"
		 "  dependency: {afterok: [1, 2], singleton: yes, any: yes}, requeue: "
		 "no,\n"
		 "  signal: B:USR1@90, mail: {user: a@b, type: [END, FAIL]}, export: "
		 "NONE, "
		 "output: o,\n"
		 "  open_mode: truncate, extra: [--reboot, '--gres-flags=x y']}\n" ENDS,
		 NULL,
		 "--comment=\"a b\"\n--clusters=c1\n--wckey=w\n--nodelist=\"n[1-2]\"\n"
		 "--exclude=n3\n--nodes=1\n--ntasks-per-node=1\n--hint=nomultithread\n"
		 "--tmp=10G\n--licenses=a:1\n--time=9\n--time-min=5\n"
		 "--begin=now+1hour\n--deadline=2030-01-01\n--nice=-5\n--priority=7\n"
		 "--hold\n--array=0-3%2\n--dependency=\"afterok:1:2?singleton\"\n--no-"
		 "requeue\n"
		 "--signal=B:USR1@90\n--mail-user=a@b\n--mail-type=END,FAIL\n--export="
		 "NONE\n"
		 "--output=o\n--open-mode=truncate\n--reboot\n\"--gres-flags=x "
		 "y\"\n"},
		/* A job that starts again may do so, and keeps its log. */
		{"launcher: torch\nresources: {nodes: 1, ntasks: 1}\nretry: 2\n" ENDS,
		 NULL,
		 "--nodes=1\n--ntasks-per-node=1\n--requeue\n--signal=B:USR1@120\n"
		 "--open-mode=append\n"},
		/* What the site wants in every script, and in none. */
		{"launcher: torch\nresources: {nodes: 1, gpus: 2, mem: 1G}\n"
		 "batch: {skip: [mem], extra: [--reboot]}\n" ENDS,
		 "extra: [--comment=site]\nskip: [ntasks-per-node]\n",
		 "--nodes=1\n--gres=gpu:2\n--comment=site\n--reboot\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct made made;
		char *header;

		make(&made, rows[i].spec, rows[i].site);
		assert_int_equal(made.rc, 0);
		header = directives(&made);
		assert_string_equal(header, rows[i].header);
		free(header);
		clear(&made);
	}
}

/* --gpus-per-task alone would leave each task with one GPU, which is cuda:0 there. */
static void the_step_undoes_gpus_per_task(void **state)
{
	struct made made;

	make(&made, "launcher: torch\n" TWO_BY_FOUR "srun: {args: -l}\n" ENDS,
	     "gpu_dialect: gpus_per_task\n");
	assert_int_equal(made.rc, 0);
	assert_string_equal(step(&made),
			    "srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=3 "
			    "--gpu-bind=none \\\n\t-l \\\n"
			    "\tpython train.py \\\n\t--lr 0.1 x\n");
	clear(&made);
	make(&made, "launcher: torch\n" TWO_BY_FOUR "binding: {gpus: none}\n" ENDS,
	     "gpu_dialect: gpus_per_task\n");
	assert_null(strstr(made.script, "gpu-bind"));
	clear(&made);
}

/* What no script can do, with the place that says it. */
static void refusals(void **state)
{
	static const struct {
		const char *spec;
		const char *rule;
		uint32_t line;
		const char *message; /* a part of it */
	} rows[] = {
		{"launcher: tensorflow\nplugin: off\n" TWO_BY_FOUR ENDS, "script-shell",
		 1, "TF_CONFIG"},
		{"launcher: torch\nplugin: off\nbinding: {gpus: first}\n" TWO_BY_FOUR
			 ENDS,
		 "script-shell", 3, "in front of the others"},
		{"launcher: torch\nplugin: off\nrendezvous: {addr: ip}\n" TWO_BY_FOUR
			 ENDS,
		 "script-shell", 3, "by its name alone"},
		{"launcher: torch\nbatch: {extra: [--comment]}\n" TWO_BY_FOUR ENDS,
		 "script-extra", 2, "needs its value in the same element"},
		{"launcher: torch\nbatch: {extra: [--nodes=3]}\n" TWO_BY_FOUR ENDS,
		 "script-extra", 2, "would not agree"},
		{"launcher: torch\nbatch: {extra: [--gpus-per-n=3]}\n" TWO_BY_FOUR ENDS,
		 "script-extra", 2, "would not agree"},
		{"launcher: torch\nbatch: {skip: [memm]}\n" TWO_BY_FOUR ENDS,
		 "script-skip", 2, "no option --memm"},
		{"launcher: torch\nbatch: {signal: {name: KILL}}\n" TWO_BY_FOUR ENDS,
		 "script-signal", 2, "no shell can catch"},
		{"launcher: torch\nbatch: {signal: {name: TERM}}\nretry: 1\n" TWO_BY_FOUR
			 ENDS,
		 "script-signal", 2, "scancel sends TERM"},
		{"launcher: torch\nretry: {max: 1, exclude_bad_nodes: yes}\n" TWO_BY_FOUR
			 ENDS,
		 "script-retry", 2, "nothing tells which node was at fault"},
		{"launcher: torch\ncontainer: my.sif\n" TWO_BY_FOUR ENDS,
		 "script-container", 2, "nothing says what runs"},
		{"launcher: torch\ncontainer: {runtime: apptainer}\n" TWO_BY_FOUR ENDS,
		 "script-container", 2, "container.image is missing"},
		{"launcher: torch\ncontainer: {runtime: apptainer, image: i, name: "
		 "x}\n" TWO_BY_FOUR ENDS,
		 "script-container", 2, "only pyxis"},
		{"launcher: torch\ncontainer: {runtime: pyxis, image: i, mounts: "
		 "['/a,b']}\n" TWO_BY_FOUR ENDS,
		 "script-container", 2, "a comma"},
		/* Another step than the plan's, and code that does not end. */
		{"launcher: torch\nsrun: {args: [--label, --ntasks=2]}\n" TWO_BY_FOUR
			 ENDS,
		 "script-srun", 2, "would start another step"},
		{"launcher: torch\nsrun: {args: -lN1}\n" TWO_BY_FOUR ENDS, "script-srun",
		 2, "would start another step"},
		{"launcher: torch\nsrun: {args: [--gres, 'gpu:1']}\n" TWO_BY_FOUR ENDS,
		 "script-srun", 2, "would start another step"},
		{"launcher: torch\nsrun: {args: --export=NONE}\n" TWO_BY_FOUR ENDS,
		 "script-srun", 2, "keeps the variables"},
		{"launcher: torch\nsetup: if true; then\n" TWO_BY_FOUR ENDS,
		 "script-code", 2, "a compound command is not closed"},
		{"launcher: torch\nsetup: cd /tmp &&\n" TWO_BY_FOUR ENDS, "script-code",
		 2, "its last command goes on"},
		{"launcher: torch\nteardown: [echo, 'echo \"x']\n" TWO_BY_FOUR ENDS,
		 "script-code", 2, "teardown is no whole piece"},
		{"launcher: torch\nname: 'a {x}'\nsweep: {matrix: {x: [1, "
		 "2]}}\n" TWO_BY_FOUR ENDS,
		 "script-sweep", 2, "{x} is another value in each task"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool found = false;
		struct made made;

		print_message("# %s\n", rows[i].message);
		make(&made, rows[i].spec, NULL);
		assert_int_equal(made.rc, -EINVAL);
		for (size_t k = 0; k < made.diag.count; k++) {
			const struct diag_item *item = &made.diag.items[k];

			found |= item->severity == DIAG_ERROR &&
				 strcmp(item->rule, rows[i].rule) == 0 &&
				 item->place.line == rows[i].line &&
				 strstr(item->message, rows[i].message);
		}
		assert_true(found);
		clear(&made);
	}
}

static void environment_and_lines(void **state)
{
	struct made made;

	make(&made,
	     "launcher: torchrun\n" TWO_BY_FOUR "run: {script: a.py, workdir: my dir}\n"
	     "binding: {gpus: mask}\nrendezvous: {port: 23456}\n"
	     "env: {Z: 1, A: 'x y', z_proxy: ''}\n"
	     "setup: [module load cuda, source venv/bin/activate]\n"
	     "teardown: |\n  echo done\n  rm -f lock\n",
	     NULL);
	assert_int_equal(made.rc, 0);
	/* Exact case, in the order written, behind the settings of the plugin. */
	assert_non_null(strstr(made.script,
			       "\nexport SRANK=torchrun,gpus=mask,port=23456\n"
			       "export Z=1\nexport A='x y'\nexport z_proxy=''\n\n"
			       "module load cuda\nsource venv/bin/activate\n\n"
			       "cd './my dir'\n"));
	assert_non_null(strstr(made.script,
			       "\n\tset +e\necho done\nrm -f lock\n"
			       "\texit \"$status\"\n}\ntrap teardown EXIT\n"));
	clear(&made);
}

/* A value of the user's never gets out of its place. */
static void comments(void **state)
{
	struct made made = {0};
	struct spec_item override = {.text = "name=a\n#SBATCH --nodes=9"};

	make(&made, "launcher: torch\n" ONE_BY_ONE ENDS, NULL);
	assert_int_equal(made.rc, 0);
	assert_non_null(strstr(made.script,
			       "\n# 2 nodes x 1 task = 2 ranks, launcher torch.\n"
			       "# Again:  srank gen dir/job.yaml\n"
			       "# Submit: sbatch SCRIPT\n"));

	free(made.script);
	made.spec.overrides = (struct spec_value){true, .items = &override, .count = 1};
	made.site.file = "x/my site.yaml";
	made.site.named = true;
	made.spec.file = "x/a\nb.yaml";
	made.spec.batch.output = (struct spec_value){true, .text = "logs/%j.out"};
	made.spec.batch.error = (struct spec_value){true, .text = "my err/x/%j.err"};
	FILE *out = open_memstream(&made.script, &made.length);
	assert_int_equal(script_write(out, &made.spec, &made.plan, &made.site, NULL,
				      &made.templates, NULL, &made.diag),
			 0);
	fclose(out);
	assert_non_null(strstr(made.script, "from a\\nb.yaml (digest "));
	assert_non_null(strstr(
		made.script,
		"\n# Again:  srank gen $'x/a\\nb.yaml' -s $'name=a\\n#SBATCH --nodes=9'"
		" --site 'x/my site.yaml'\n"
		"# Submit: mkdir -p logs 'my err/x' && sbatch SCRIPT\n"
		"#SBATCH --nodes=2\n"));

	/* A profile that was found is found again; names that look like options. */
	free(made.script);
	made.spec.overrides = (struct spec_value){0};
	made.site.named = false;
	made.spec.file = "-job.yaml";
	made.spec.batch.output = (struct spec_value){true, .text = "-p/%j.out"};
	out = open_memstream(&made.script, &made.length);
	assert_int_equal(script_write(out, &made.spec, &made.plan, &made.site, NULL,
				      &made.templates, NULL, &made.diag),
			 0);
	fclose(out);
	assert_non_null(strstr(made.script,
			       "\n# Again:  srank gen ./-job.yaml\n"
			       "# Submit: mkdir -p ./-p 'my err/x' && sbatch SCRIPT\n"));
	made.spec.batch.output = made.spec.batch.error = (struct spec_value){0};
	clear(&made);
}

static void folders(void **state)
{
	static const struct {
		const char *pattern, *folder;
	} rows[] = {
		{NULL, NULL},
		{"%x.out", NULL},
		{"a.out", NULL},
		{"logs/%x-%j.out", "logs"},
		{"logs/a.out", "logs"},
		{"a/b/c.out", "a/b"},
		{"/x/y/%j.out", "/x/y"},
		{"/a.out", NULL},
		{"logs//a.out", "logs"},
		{"logs/%j/a.out", "logs"},
		{"logs/run%j/a.out", "logs"},
		{"%j/a.out", NULL},
		{"./a.out", "."},
		/* No command may take it for an option. */
		{"-p/x.out", "./-p"},
		{"--parents/%j/x.out", "./--parents"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct spec_value value = {.given = rows[i].pattern != NULL,
						 .text = rows[i].pattern};
		char *folder;

		assert_int_equal(script_folder(&value, &folder), 0);
		if (rows[i].folder)
			assert_string_equal(folder, rows[i].folder);
		else
			assert_null(folder);
		free(folder);
	}
}

static void without_the_plugin(void **state)
{
	struct made made;

	/* The shell of each task does what the plugin would have done. */
	make(&made, "launcher: torch\n" ONE_BY_ONE ENDS, "name: x\nplugin: no\n");
	assert_int_equal(made.rc, 0);
	assert_null(strstr(made.script, "srun --help"));
	assert_null(strstr(made.script, "export SRANK="));
	assert_non_null(strstr(made.script, "\nexport RANK=\"$SLURM_PROCID\"\n"));
	assert_string_equal(step(&made), "srun --kill-on-bad-exit=1 --export=ALL \\\n"
					 "\tsh -c \"$srank_task\" srank \\\n"
					 "\tpython train.py \\\n\t--lr 0.1 x\n");
	clear(&made);

	/* Or srank exec does, which is told what the plugin would have been told. */
	make(&made, "launcher: torchrun\nbinding: {gpus: mask}\n" ONE_BY_ONE ENDS,
	     "rendezvous: exec\n");
	assert_int_equal(made.rc, 0);
	assert_null(strstr(made.script, "srun --help"));
	assert_non_null(strstr(made.script, "\nexport SRANK=torchrun,gpus=mask\n"));
	assert_string_equal(step(&made),
			    "srun --kill-on-bad-exit=1 --export=ALL \\\n"
			    "\tsrank exec --launcher torchrun --gpus mask -- \\\n"
			    "\ttorchrun --nproc_per_node=1 \\\n"
			    "\ttrain.py \\\n\t--lr 0.1 x\n");
	clear(&made);

	/* The ranks of MPI do not need it. */
	make(&made, "launcher: mpi\n" ONE_BY_ONE "run: {command: prog}\n",
	     "plugin: no\n");
	assert_int_equal(made.rc, 0);
	assert_null(strstr(made.script, "srun --help"));
	clear(&made);
}

static void literals_are_told(void **state)
{
	struct made made;

	make(&made,
	     "launcher: torch\n" ONE_BY_ONE "run: {script: '$a.py', workdir: ~/x}\n"
	     "env: {A: '$HOME/x', B: x~, C: '`id`', D: ^a$, E: ~30}\n"
	     "batch: {output: '$SCRATCH/%j.out', error: '~/e'}\n",
	     NULL);
	assert_int_equal(made.rc, 0);
	assert_int_equal(made.diag.errors, 0);
	/* Those in the header are an error of `srank check`, to which gen holds it. */
	assert_int_equal(made.diag.warnings, 4);
	diag_sort(&made.diag);
	for (size_t i = 0; i < made.diag.count; i++)
		assert_string_equal(made.diag.items[i].rule, "script-literal");
	assert_int_equal(made.diag.items[0].place.line, 3);
	assert_int_equal(made.diag.items[3].place.line, 4);
	clear(&made);
}

/* Words of the program: literal, unless a shell of its own reads them. */
static void literals_of_programs_are_told(void **state)
{
	static const struct {
		const char *run;
		size_t warnings;
	} rows[] = {
		{"run: {script: a.py, args: [--d, $HOME/x]}", 1},
		{"run: {command: './a ${X} $(id)'}", 2},
		{"run: {command: [bash, -c, 'echo $RANK']}", 0},
		{"run: {command: [numactl, -l, /bin/sh, -ec, 'echo $RANK']}", 0},
		{"run: {script: a.py}\nsrun: {args: [--chdir=$PWD]}", 1},
		{"run: {script: a.py, args: [^a$, $, 5$]}", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct made made;
		char text[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text), ONE_BY_ONE "%s\n", rows[i].run);
		make(&made, text, NULL);
		assert_int_equal(made.rc, 0);
		assert_int_equal(made.diag.count, rows[i].warnings);
		for (size_t k = 0; k < made.diag.count; k++)
			assert_string_equal(made.diag.items[k].rule, "script-literal");
		clear(&made);
	}
}

/* The script starts where sbatch was called, which is what `.` means. */
static void workdir_that_is_here(void **state)
{
	struct made made;

	make(&made, ONE_BY_ONE "run: {script: a.py, workdir: .}\n", NULL);
	assert_int_equal(made.rc, 0);
	assert_null(strstr(made.script, "\ncd "));
	clear(&made);
}

/* What the plan says itself, and code that is whole only when its lines are. */
static void the_same_is_fine(void **state)
{
	struct made made;

	make(&made,
	     "launcher: torch\n" TWO_BY_FOUR "run: {script: a.py}\n"
	     "srun: {args: [-N, '2', --ntasks=8, --exact, --export=ALL]}\n"
	     "setup: [if true; then, echo x, fi]\nteardown: [\"cat <<E\\nx\", E]\n",
	     NULL);
	assert_int_equal(made.rc, 0);
	assert_int_equal(made.diag.count, 0);
	clear(&made);
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/srank", home);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/srank/templates", home);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/srank/templates/%s.mustache", home, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void take_away(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/srank/templates/%s.mustache", home, name);
	assert_int_equal(unlink(path), 0);
}

static void templates_of_the_user(void **state)
{
	struct made made;

	/* One for a launcher that has no template of its own, with a built-in partial. */
	put("torch", "\n{{> srun}}\n\tmine {{world_size}} {{program}}\n");
	make(&made, "launcher: torch\n" TWO_BY_FOUR ENDS, NULL);
	assert_int_equal(made.rc, 0);
	assert_string_equal(
		step(&made),
		"srun --kill-on-bad-exit=1 --export=ALL --cpus-per-task=3 \\\n"
		"\tmine 8 train.py \\\n\t--lr 0.1 x\n");
	clear(&made);
	/* It does not concern other launchers. */
	make(&made, "launcher: jax\n" TWO_BY_FOUR ENDS, NULL);
	assert_null(strstr(made.script, "mine"));
	clear(&made);
	take_away("torch");

	/* A partial alone. */
	put("guard", "# no guard here\n");
	make(&made, "launcher: jax\n" TWO_BY_FOUR ENDS, NULL);
	assert_non_null(strstr(made.script, "\n\n# no guard here\n\n"));
	assert_null(strstr(made.script, "srun --help"));
	clear(&made);
	take_away("guard");

	/* DOS line ends would go into the script, which sbatch then refuses. */
	put("guard", "# mine\n# ends\r\n");
	make(&made, "launcher: jax\n" TWO_BY_FOUR ENDS, NULL);
	assert_int_equal(made.rc, -EINVAL);
	assert_int_equal(made.diag.errors, 1);
	assert_int_equal(made.diag.items[0].place.line, 2);
	assert_int_equal(made.diag.items[0].place.column, 7);
	clear(&made);
	take_away("guard");

	/* A name that is not there is told with the template's line. */
	put("worker", "\n{{> srun}}\n\t{{porgram}}\n");
	make(&made, "launcher: jax\n" TWO_BY_FOUR ENDS, NULL);
	assert_int_equal(made.rc, -EINVAL);
	assert_int_equal(made.diag.items[0].place.line, 3);
	assert_int_equal(made.diag.items[0].place.column, 2);
	assert_non_null(strstr(made.diag.items[0].place.file,
			       "/srank/templates/worker.mustache"));
	clear(&made);
	take_away("worker");
}

/* Every launcher has a template, and all that templates say is known. */
static void every_launcher(void **state)
{
	static const char *const runs[] = {
		"run: {script: a.py}\n",
		"run: {module: a}\n",
		"run: {command: ./a}\n",
		("run: {script: a.py, python: ./p, workdir: w}\nenv: {A: 1}\nsetup: a\n"
		 "teardown: b\nsrun: {args: -l}\n"),
	};

	for (size_t i = 0; i < launch_launchers_count; i++) {
		for (size_t j = 0; j < sizeof(runs) / sizeof(*runs); j++) {
			struct made made;
			char spec[512];

			snprintf(spec, sizeof(spec), "launcher: %s\n%s%s",
				 launch_launchers[i].name, TWO_BY_FOUR, runs[j]);
			make(&made, spec, NULL);
			if (made.rc < 0)
				diag_print(&made.diag, stderr, DIAG_SOURCE);
			assert_int_equal(made.rc, 0);
			assert_null(strstr(made.script, "{{"));
			assert_null(strstr(made.script, "\n\n\n"));
			assert_null(strstr(made.script, " \n"));
			/* Rank variables are for the tasks, never for the batch shell. */
			assert_null(strstr(made.script, "$SLURM_PROCID"));
			assert_null(strstr(made.script, "$SLURM_NODEID"));
			clear(&made);
		}
	}
}

/* Words of sbatch's command line, and which of them may not be there. */
static void arguments_for_sbatch(void **state)
{
	static const struct {
		const char *words[4];
		size_t refused; /* 9: none */
		bool owned;
	} rows[] = {
		{{"--hold", "--comment=a b", "--dependency", "afterok:1"}, 9},
		{{"--time", "1", "-p", "gpu"}, 9},
		{{"-t1", "-pgpu", "-Hv", "--nice=10"}, 9},
		/* The plan's numbers in every form. */
		{{"-N1"}, 0, true},
		{{"--nice", "-N", "1"}, 1, true},
		{{"--ntasks-per-n=1"}, 0, true},
		{{"--tasks-per-node=1"}, 0, true},
		{{"--gpus-per-socket", "1"}, 0, true},
		{{"-HN1"}, 0, true},
		{{"-HvQc2"}, 0, true},
		{{"--hold", "-sWG1"}, 1, true},
		/* Letters that are the value of another: a partition called N1. */
		{{"-pN1"}, 9},
		{{"-Hp", "N1"}, 9},
		{{"-kN1"}, 9},
		/* The value of an option is not looked at, a value without one is
		   refused. */
		{{"--comment", "-N1"}, 9},
		{{"other.sh"}, 0},
		{{"--hold", "other.sh"}, 1},
		{{"--wait", "other.sh"}, 1},
		{{"-W", "other.sh"}, 1},
		{{"-HW", "other.sh"}, 1},
		{{"-k", "other.sh"}, 1},
		{{"--exclusive", "user"}, 1},
		{{"--partition=gpu", "other.sh"}, 1},
		{{"-pgpu", "other.sh"}, 1},
		{{"-p", "gpu", "other.sh"}, 2},
		{{"-"}, 0},
		{{""}, 0},
		{{"--"}, 9},
		{{"--", "--hold"}, 1},
		/* Not the plan's, though it begins alike. */
		{{"--nodelist=n1", "--gpu-bind=none", "--gres-flags=x",
		  "--mem-per-cpu=1"},
		 9},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *words[4];
		size_t count = 0, refused;
		bool owned;

		for (; count < 4 && rows[i].words[count]; count++)
			words[count] = (char *)rows[i].words[count];
		print_message("# row %zu: %s\n", i, rows[i].words[0]);
		refused = script_options_check(words, count, &owned);
		assert_int_equal(refused, rows[i].refused == 9 ? count : rows[i].refused);
		assert_int_equal(owned, rows[i].owned);
	}
}

static int make_home(void **state)
{
	return mkdtemp(home) && setenv("XDG_CONFIG_HOME", home, 1) == 0 ? 0 : -1;
}

static int remove_home(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/srank/templates", home);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/srank", home);
	rmdir(path);
	return rmdir(home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(headers),
		cmocka_unit_test(the_step_undoes_gpus_per_task),
		cmocka_unit_test(refusals),
		cmocka_unit_test(environment_and_lines),
		cmocka_unit_test(comments),
		cmocka_unit_test(folders),
		cmocka_unit_test(without_the_plugin),
		cmocka_unit_test(literals_are_told),
		cmocka_unit_test(literals_of_programs_are_told),
		cmocka_unit_test(the_same_is_fine),
		cmocka_unit_test(workdir_that_is_here),
		cmocka_unit_test(templates_of_the_user),
		cmocka_unit_test(every_launcher),
		cmocka_unit_test(arguments_for_sbatch),
	};

	return cmocka_run_group_tests_name("script", tests, make_home, remove_home);
}
