/* SPDX-License-Identifier: MIT */
/* What a rank runs: script, module, command, and MMDetection's training. */
#include "support.h"

#include "gen/plan/plan.h"

#include <errno.h>

struct job {
	struct spec spec;
	struct spec_site site;
	struct plan plan;
	struct diag diag;
	int rc;
};

static void make(struct job *job, const char *text)
{
	memset(job, 0, sizeof(*job));
	spec_site_init(&job->site);
	assert_int_equal(
		spec_read_text(&job->spec, "job.yaml", text, strlen(text), &job->diag),
		0);
	/* Behind the text, so that its lines keep their numbers and no number is missing.
	 */
	assert_int_equal(spec_override(&job->spec, "resources.nodes=1", &job->diag), 0);
	job->rc = plan_make(&job->plan, &job->spec, &job->site, &job->diag);
}

static void clear(struct job *job)
{
	plan_clear(&job->plan);
	spec_clear(&job->spec);
	diag_clear(&job->diag);
}

static void assert_text(const char *got, const char *expected)
{
	if (expected)
		assert_string_equal(got, expected);
	else
		assert_null(got);
}

static void programs(void **state)
{
	static const struct {
		const char *text;
		enum plan_program kind;
		const char *python, *target, *args[20];
	} rows[] = {
		{"run: {script: a.py}", PLAN_SCRIPT, "python", "a.py", {NULL}},
		{"run: {script: a.py, args: [-x, 'b c'], python: /opt/py/bin/python3}",
		 PLAN_SCRIPT,
		 "/opt/py/bin/python3",
		 "a.py",
		 {"-x", "b c"}},
		{"run: {module: pkg.train, args: --lr 0.1}",
		 PLAN_MODULE,
		 "python",
		 "pkg.train",
		 {"--lr", "0.1"}},
		{"run: {command: [./a.out, -v], args: [x]}",
		 PLAN_COMMAND,
		 NULL,
		 NULL,
		 {"./a.out", "-v", "x"}},
		/* A command that starts Python is what it starts. */
		{"run: {command: python3 tools/train.py cfg.py, args: --amp}",
		 PLAN_SCRIPT,
		 "python3",
		 "tools/train.py",
		 {"cfg.py", "--amp"}},
		{"run: {command: /usr/bin/python3.11 -m pkg.train -v}",
		 PLAN_MODULE,
		 "/usr/bin/python3.11",
		 "pkg.train",
		 {"-v"}},
		/* Other options of python, other programs named alike: left alone. */
		{"run: {command: python -u a.py}",
		 PLAN_COMMAND,
		 NULL,
		 NULL,
		 {"python", "-u", "a.py"}},
		{"run: {command: python -m}", PLAN_COMMAND, NULL, NULL, {"python", "-m"}},
		{"run: {command: python}", PLAN_COMMAND, NULL, NULL, {"python"}},
		{"run: {command: pythonista a.py}",
		 PLAN_COMMAND,
		 NULL,
		 NULL,
		 {"pythonista", "a.py"}},
		/* A text alone is the command. */
		{"run: python a.py -x", PLAN_SCRIPT, "python", "a.py", {"-x"}},
		/* Signs of a shell within words, in quotes, and in lists are words. */
		{"run: {script: my a.py, args: \"u?a=1&b=2 --x=a>b '>' ^a$ \\\\;\"}",
		 PLAN_SCRIPT,
		 "python",
		 "my a.py",
		 {"u?a=1&b=2", "--x=a>b", ">", "^a$", ";"}},
		{"run: {command: [awk, -F, '|', '>', x=1]}",
		 PLAN_COMMAND,
		 NULL,
		 NULL,
		 {"awk", "-F", "|", ">", "x=1"}},
		{"run: {command: bash -c 'a > b; c'}",
		 PLAN_COMMAND,
		 NULL,
		 NULL,
		 {"bash", "-c", "a > b; c"}},
		/* MMDetection. */
		{"launcher: mmengine\nmmdet: {config: c.py}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--launcher", "pytorch"}},
		{"launcher: torchrun\nmmdet: {config: c.py, work_dir: w d}\n"
		 "run: {script: my/train.py, args: [--amp], python: python3}",
		 PLAN_SCRIPT,
		 "python3",
		 "my/train.py",
		 {"c.py", "--work-dir", "w d", "--launcher", "pytorch", "--amp"}},
		/* Each key by what MMDetection 3.x takes (tools/train.py, DictAction). */
		{"mmdet: {config: c.py, amp: yes, auto_scale_lr: yes, resume: yes}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--amp", "--auto-scale-lr", "--resume", "--launcher",
		  "pytorch"}},
		{"mmdet: {config: c.py, amp: no, auto_scale_lr: no, resume: false}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--launcher", "pytorch"}},
		{"mmdet: {config: c.py, resume: w/epoch_3.pth}\nrun: {args: [x]}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--resume", "w/epoch_3.pth", "--launcher", "pytorch", "x"}},
		{"mmdet: {config: c.py, seed: 42, deterministic: yes, accumulate: 4, "
		 "timeout: 3600, batch_size: 2, num_workers: 3, base_batch: 8,\n"
		 " cfg_options: {model.depth: 50, val: [1, 2], names: [a, [b, c]]}}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--cfg-options", "auto_scale_lr.base_batch_size=8",
		  "train_dataloader.batch_size=2", "train_dataloader.num_workers=3",
		  "optim_wrapper.accumulative_counts=4", "randomness.seed=42",
		  "randomness.deterministic=True", "env_cfg.dist_cfg.timeout=3600",
		  "model.depth=50", "val=[1,2]", "names=[a,[b,c]]", "--launcher",
		  "pytorch"}},
		/* Workers that are not there cannot persist. */
		{"mmdet: {config: c.py, num_workers: 0}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--cfg-options", "train_dataloader.num_workers=0",
		  "train_dataloader.persistent_workers=False", "--launcher", "pytorch"}},
		{"mmdet: {config: c.py, num_workers: auto}\n"
		 "resources: {cpus_per_task: 6}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--cfg-options", "train_dataloader.num_workers=5", "--launcher",
		  "pytorch"}},
		{"mmdet: c.py",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--launcher", "pytorch"}},
		{"mmdet: {config: c.py}\nrun: {args: [--work-dir=x]}",
		 PLAN_SCRIPT,
		 "python",
		 "tools/train.py",
		 {"c.py", "--launcher", "pytorch", "--work-dir=x"}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		size_t count = 0;

		print_message("# row %zu\n", i);
		make(&job, rows[i].text);
		assert_int_equal(job.rc, 0);
		assert_int_equal(job.diag.count, 0);
		assert_int_equal(job.plan.run.kind, rows[i].kind);
		assert_text(job.plan.run.python, rows[i].python);
		assert_text(job.plan.run.target, rows[i].target);
		while (rows[i].args[count])
			count++;
		assert_int_equal(job.plan.run.count, count);
		for (size_t j = 0; j < count; j++)
			assert_string_equal(job.plan.run.args[j], rows[i].args[j]);
		assert_null(job.plan.run.workdir);
		clear(&job);
	}
}

static void faults(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"name: x",
		 "job.yaml: error: the spec names no program to run [plan-run]\n"
		 "  fix: add run.script, run.module, run.command or the section "
		 "mmdet\n"},
		{"run:\n  script: a\n  command: b\n",
		 "job.yaml:3:12: error: run.command is given beside run.script; a job "
		 "runs one "
		 "program [plan-run]\n"},
		{"run:\n  module: a\n  script: b\n",
		 "job.yaml:2:11: error: run.module is given beside run.script; a job "
		 "runs one "
		 "program [plan-run]\n"},
		{"run: {command: []}",
		 "job.yaml:1:16: error: command has no words [plan-run]\n"},
		{"mmdet: {work_dir: w}",
		 "job.yaml:1:19: error: mmdet.work_dir is given without mmdet.config "
		 "[plan-run]\n"},
		{"mmdet: {config: c}\nrun: {module: m}",
		 "job.yaml:2:15: error: mmdet runs MMDetection's own script; give "
		 "run.script for "
		 "another one, or write all arguments here and remove mmdet "
		 "[plan-run]\n"},
		{"mmdet: {config: c}\nlauncher: mpi\n",
		 "job.yaml:2:11: error: launcher mpi leaves the ranks to PMIx, and "
		 "MMDetection reads RANK, LOCAL_RANK and MASTER_ADDR [plan-run]\n"
		 "  fix: launcher: torchrun or launcher: mmengine\n"},
		{"mmdet: {config: c, work_dir: w}\nrun: {args: [--launcher, slurm, "
		 "--work-dir=v]}\n",
		 "job.yaml:2:14: error: --launcher stands in run.args, but mmdet adds it "
		 "to fit "
		 "the launcher; remove it [plan-run]\n"
		 "job.yaml:2:33: error: --work-dir stands in run.args and as "
		 "mmdet.work_dir; "
		 "remove one [plan-run]\n"},
		{"mmdet: {amp: yes}",
		 "job.yaml:1:14: error: mmdet.amp is given without mmdet.config "
		 "[plan-run]\n"},
		{"mmdet: {config: c, seed: 1, resume: yes, "
		 "cfg_options: {randomness.seed: 2}}\n"
		 "run: {args: [--cfg-options, a=b, --resume]}",
		 "job.yaml:1:73: error: cfg_options has randomness.seed, which "
		 "mmdet.seed "
		 "on line 1 is, too [plan-run]\n"
		 "job.yaml:2:14: error: --cfg-options stands in run.args and as "
		 "mmdet.cfg_options; remove one "
		 "[plan-run]\n"
		 "job.yaml:2:34: error: --resume stands in run.args and as mmdet.resume; "
		 "remove one [plan-run]\n"},
		{"mmdet: {config: c, cfg_options: {a: x y, b: \"'q\", c: '[1', d: ok}}",
		 "job.yaml:1:37: error: cfg_options: the value of a has a blank, which "
		 "MMEngine would take out [plan-run]\n"
		 "job.yaml:1:45: error: cfg_options: the value of b begins or ends with "
		 "a "
		 "quote, which MMEngine would take off [plan-run]\n"
		 "job.yaml:1:54: error: cfg_options: the value of c has a bracket "
		 "without "
		 "its counterpart [plan-run]\n"},
		{"mmdet: {config: c, num_workers: auto}",
		 "job.yaml:1:33: error: num_workers is auto, but the CPUs of a rank are "
		 "not known [plan-missing]\n"
		 "  fix: add cpus_per_gpu under resources\n"},
		/* Programs that start ranks, in every form in which one can be named. */
		{"run: {command: torchrun --nproc_per_node=2 train.py}\n"
		 "launcher: torchrun\n",
		 "job.yaml:1:16: error: torchrun starts ranks itself, and would do so in "
		 "every task; run is what one rank runs [plan-nested]\n"
		 "  fix: launcher: torchrun and run: {script: train.py}\n"},
		{"run: torchrun train.py --lr 0.1\n",
		 "job.yaml:1:6: error: torchrun starts ranks itself, and would do so in "
		 "every task; run is what one rank runs [plan-nested]\n"
		 "  fix: launcher: torchrun and run: {script: train.py, args: [--lr, "
		 "0.1]}\n"},
		/* What is no plain word of YAML is not spelled out. */
		{"run: {command: [srun, -n2, a.py, 'b: c']}\n",
		 "job.yaml:1:16: error: srun starts ranks itself, and would do so in "
		 "every task; run is what one rank runs [plan-nested]\n"
		 "  fix: run: {script: a.py, args: [...]}, options of srun in "
		 "srun.args\n"},
		{"run: {command: [/opt/bin/accelerate, launch, train.py]}\n",
		 "job.yaml:1:16: error: accelerate starts ranks itself, and would do so "
		 "in "
		 "every task; run is what one rank runs [plan-nested]\n"
		 "  fix: launcher: accelerate and run: {script: train.py}\n"},
		{"run: {command: python3 -m torch.distributed.launch train.py}\n",
		 "job.yaml:1:16: error: torch.distributed.launch starts ranks itself, "
		 "and "
		 "would do so in every task; run is what one rank runs [plan-nested]\n"
		 "  fix: launcher: torchrun and run: {script: train.py}\n"},
		/* What a script puts in front of the program itself. */
		{"run: srank exec -l torch python t.py --lr 0.1\n",
		 "job.yaml:1:6: error: srank exec is the script's to call, with the "
		 "launcher of the spec; run is what one rank runs [plan-nested]\n"
		 "  fix: plugin: exec and run: {script: t.py, args: [--lr, 0.1]}\n"},
		{"run: {command: /opt/bin/srank, args: [exec, --, ./a.out]}\n",
		 "job.yaml:1:16: error: srank exec is the script's to call, with the "
		 "launcher of the spec; run is what one rank runs [plan-nested]\n"
		 "  fix: plugin: exec, and the program behind srank exec and its options "
		 "alone in run\n"},
		/* What is meant for a shell. */
		{"run: {command: python3 a.py > log}\n",
		 "job.yaml:1:16: error: command: no shell reads this, so `>` would be a "
		 "word for the program [plan-run]\n"
		 "  fix: batch.output and batch.error name the files of the job; or a "
		 "shell: command: [bash, -c, '...']; a plain word stands in quotes\n"},
		{"run: {command: ./a && ./b}\n",
		 "job.yaml:1:16: error: command: no shell reads this, so `&&` would be a "
		 "word for the program [plan-run]\n"
		 "  fix: a shell: command: [bash, -c, '...'], or setup and teardown; a "
		 "plain word stands in quotes\n"},
		{"run: {script: a.py, args: -x; echo y}\n",
		 "job.yaml:1:27: error: args: no shell reads this, so `-x;` would be a "
		 "word for the program [plan-run]\n"
		 "  fix: a shell: command: [bash, -c, '...'], or setup and teardown; a "
		 "plain word stands in quotes\n"},
		{"run: {command: NCCL_DEBUG=INFO python3 a.py}\n",
		 "job.yaml:1:16: error: command: no shell reads this, so NCCL_DEBUG=INFO "
		 "would be the program [plan-run]\n"
		 "  fix: env: {NCCL_DEBUG: INFO}, and the command without it\n"},
		{"run: {script: a.py --lr 0.1}\n",
		 "job.yaml:1:15: error: script names one file, and 'a.py --lr 0.1' has "
		 "arguments behind it [plan-run]\n"
		 "  fix: run: {script: a.py, args: --lr 0.1}\n"},
		{"run: {module: torch.distributed.run}\n",
		 "job.yaml:1:15: error: torch.distributed.run starts ranks itself, and "
		 "would do so in every task; run is what one rank runs [plan-nested]\n"
		 "  fix: launcher: torchrun, and the program behind "
		 "torch.distributed.run "
		 "alone in run\n"},
		{"run: {command: [mpirun, -np, '4', ./a.out]}\n",
		 "job.yaml:1:16: error: mpirun starts ranks itself, and would do so in "
		 "every task; run is what one rank runs [plan-nested]\n"
		 "  fix: launcher: mpi, and the program behind mpirun alone in run\n"},
		{"run: {command: srun ./a.out}\n",
		 "job.yaml:1:16: error: srun starts ranks itself, and would do so in "
		 "every "
		 "task; run is what one rank runs [plan-nested]\n"
		 "  fix: the program behind srun alone in run, its options in "
		 "srun.args\n"},
		/* Numbers and program are wrong each on its own: both are said. */
		{"resources: {gpus: 3, gpus_per_node: 2}\n",
		 "job.yaml: error: the spec names no program to run [plan-run]\n"
		 "  fix: add run.script, run.module, run.command or the section mmdet\n"
		 "-s:1:17: error: gpus 3 != nodes 1 x gpus_per_node 2: nodes 1 (-s), "
		 "gpus 3 (line "
		 "1), gpus_per_node 2 (line 1) [plan-identity]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		print_message("# row %zu\n", i);
		make(&job, rows[i].text);
		assert_int_equal(job.rc, -EINVAL);
		assert_diag(&job.diag, rows[i].expected);
		clear(&job);
	}
}

/* Whatever gives a rank its common set will do, and nothing else. */
static void mmdet_under_every_launcher(void **state)
{
	for (size_t i = 0; i < launch_launchers_count; i++) {
		struct job job;
		char text[64];

		snprintf(text, sizeof(text), "mmdet: {config: c}\nlauncher: %s\n",
			 launch_launchers[i].name);
		make(&job, text);
		if (strcmp(launch_launchers[i].name, "mpi") == 0) {
			assert_int_equal(job.rc, -EINVAL);
		} else {
			assert_int_equal(job.rc, 0);
			assert_string_equal(job.plan.run.args[2], "pytorch");
		}
		clear(&job);
	}
}

/* Against the A x B of the config's name, or what stands in its place. */
static void samples_of_a_step(void **state)
{
	static const struct {
		const char *mmdet, *resources;
		uint64_t total, base;
		const char *expected; /* message; NULL: none */
	} rows[] = {
		/* The config's own numbers. */
		{"config: c/x_8xb8-300e.py", "gpus_per_node: 8", 64, 64, NULL},
		{"config: c/x_8xb8-300e.py", "gpus_per_node: 4, tasks_per_gpu: 2", 64, 64,
		 NULL},
		{"config: c/x_8xb8-300e.py", "nodes: 2, gpus_per_node: 8", 128, 64,
		 "the weights change after 128 samples (16 ranks x 8), but the config's "
		 "learning rate is for 64 (the config's name, 8xb8): it should be "
		 "multiplied by 2"},
		{"config: c/x_8xb8-300e.py", "gpus_per_node: 1", 8, 64,
		 "the weights change after 8 samples (1 rank x 8), but the config's "
		 "learning rate is for 64 (the config's name, 8xb8): it should be "
		 "multiplied by 1/8"},
		{"config: c/x_8xb8-300e.py", "gpus_per_node: 3", 24, 64,
		 "the weights change after 24 samples (3 ranks x 8), but the config's "
		 "learning rate is for 64 (the config's name, 8xb8): it should be "
		 "multiplied by 3/8"},
		/* Asked for: nothing to say. */
		{"config: c/x_8xb8-300e.py, auto_scale_lr: yes",
		 "nodes: 2, gpus_per_node: 8", 128, 64, NULL},
		/* Fewer GPUs with as much more for each, or more steps. */
		{"config: x_8xb2.py, batch_size: 8", "gpus_per_node: 2", 16, 16, NULL},
		{"config: x_8xb2.py, accumulate: 4", "gpus_per_node: 2", 16, 16, NULL},
		{"config: x_8xb2.py, accumulate: 4, auto_scale_lr: yes",
		 "gpus_per_node: 2", 16, 16,
		 "MMEngine scales the learning rate by 1/4 and does not count "
		 "accumulate; "
		 "for 16 samples (2 ranks x 2 x accumulate 4) against 16 it should be 1"},
		{"config: x.py, batch_size: 2, base_batch: 16", "gpus_per_node: 4", 8, 16,
		 "the weights change after 8 samples (4 ranks x 2), but the config's "
		 "learning rate is for 16 (given at job.yaml:1:50): it should be "
		 "multiplied by 1/2"},
		{"config: x.py, cfg_options: {train_dataloader.batch_size: 4, "
		 "auto_scale_lr.base_batch_size: 16}",
		 "gpus_per_node: 4", 16, 16, NULL},
		/* No such name: nothing is known. */
		{"config: x.py", "gpus_per_node: 4", 0, 0, NULL},
		{"config: 8xb8/x.py", "gpus_per_node: 4", 0, 0, NULL},
		{"config: x8xb8.py", "gpus_per_node: 4", 0, 0, NULL},
		{"config: x_8xb8y.py", "gpus_per_node: 4", 0, 0, NULL},
		{"config: 2xb3.py", "gpus_per_node: 2", 6, 6, NULL},
		/* CPUs of a rank. */
		{"config: x.py, num_workers: 8", "gpus_per_node: 2, cpus_per_gpu: 6", 0,
		 0, "num_workers 8 and the rank itself share 6 CPUs"},
		{"config: x.py, num_workers: 5", "gpus_per_node: 2, cpus_per_gpu: 6", 0,
		 0, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[512];

		print_message("# row %zu\n", i);
		memset(&job, 0, sizeof(job));
		spec_site_init(&job.site);
		snprintf(text, sizeof(text),
			 "mmdet: {%s}\nlauncher: torchrun\nresources: {%s}\n",
			 rows[i].mmdet, rows[i].resources);
		assert_int_equal(spec_read_text(&job.spec, "job.yaml", text, strlen(text),
						&job.diag),
				 0);
		assert_int_equal(plan_make(&job.plan, &job.spec, &job.site, &job.diag),
				 0);
		assert_int_equal(job.plan.training.total, rows[i].total);
		assert_int_equal(job.plan.training.base, rows[i].base);
		assert_int_equal(job.diag.count, rows[i].expected ? 1 : 0);
		if (rows[i].expected)
			assert_string_equal(job.diag.items[0].message, rows[i].expected);
		clear(&job);
	}
}

/* What MMDetection 2.x had, and what MMEngine never had. */
static void keys_of_other_versions(void **state)
{
	static const struct {
		const char *key, *fix; /* NULL: MMDetection 3.x may have it */
	} rows[] = {
		{"data.samples_per_gpu", "mmdet.batch_size"},
		{"data.train.ann_file",
		 "train_dataloader, val_dataloader and test_dataloader"},
		{"fp16.loss_scale", "mmdet.amp"},
		{"optimizer.lr", "optim_wrapper.optimizer.lr"},
		{"optimizer", "optim_wrapper.optimizer"},
		{"dist_params.backend", "env_cfg.dist_cfg.backend"},
		{"optimizer_config.grad_clip.max_norm", "optim_wrapper.clip_grad"},
		{"env_cfg.dist_cfg.allreduce_interval", "mmdet.accumulate"},
		{"optim_wrapper.optimizer.lr", NULL},
		{"train_dataloader.dataset.data_root", NULL},
		{"database.x", NULL},
		{"env_cfg.dist_cfg.backend", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[160];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text), "mmdet: {config: c, cfg_options: {%s: 1}}",
			 rows[i].key);
		make(&job, text);
		assert_int_equal(job.rc, 0);
		assert_int_equal(job.diag.count, rows[i].fix ? 1 : 0);
		if (rows[i].fix)
			assert_string_equal(job.diag.items[0].fix, rows[i].fix);
		clear(&job);
	}
}

static void python_beside_a_command_is_said(void **state)
{
	struct job job;

	make(&job, "run: {command: ./a.out, python: python3, workdir: /w}");
	assert_int_equal(job.rc, 0);
	assert_string_equal(job.plan.run.workdir, "/w");
	assert_diag(&job.diag,
		    "job.yaml:1:33: warning: run.python is not used: run.command names "
		    "its own program [plan-run]\n");
	clear(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs),
		cmocka_unit_test(faults),
		cmocka_unit_test(mmdet_under_every_launcher),
		cmocka_unit_test(samples_of_a_step),
		cmocka_unit_test(keys_of_other_versions),
		cmocka_unit_test(python_beside_a_command_is_said),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
