/* SPDX-License-Identifier: MIT */
/*
 * Options whose value the spec says in parts, the settings of the step, and the jobs that
 * a sweep and a heterogeneous job are made of.
 */
#include "job.h"

#include "gen/plan/sweep.h"

#define RUN "run: {script: a.py}\nresources: {nodes: 1}\n"

struct batch_row {
	const char *text, *array, *dependency, *mail_type, *signal, *requeue, *open_mode;
};

static void parts_become_values(void **state)
{
	static const struct batch_row rows[] = {
		{"batch: {array: 0-9}", .array = "0-9"},
		{"batch: {array: '1,3-7:2%4'}", .array = "1,3-7:2%4"},
		{"batch: {array: {range: 0-99, max: 5}}", .array = "0-99%5"},
		{"batch: {dependency: 'afterok:1?singleton'}",
		 .dependency = "afterok:1?singleton"},
		{"batch: {dependency: {afterok: [12, 13], afterany: 4_2}}",
		 .dependency = "afterany:4_2,afterok:12:13"},
		{"batch: {dependency: {after: 7+30, singleton: yes, any: yes}}",
		 .dependency = "after:7+30?singleton"},
		{"batch: {dependency: {singleton: no}}", NULL},
		{"batch: {mail: {user: a@b, type: [end, Fail]}}",
		 .mail_type = "END,FAIL"},
		{"batch: {mail_type: 'BEGIN,END'}", .mail_type = "BEGIN,END"},
		/* A name alone goes to the batch shell, what is sbatch's is as it says.
		 */
		{"batch: {signal: USR1}", .signal = "B:USR1@60"},
		{"batch: {signal: SIGUSR2@90}", .signal = "USR2@90"},
		{"batch: {signal: 'b:usr1@120'}", .signal = "B:USR1@120"},
		{"batch: {signal: 'B:10'}", .signal = "B:10@60"},
		{"batch: {signal: {name: TERM, before: 300}}", .signal = "B:TERM@300"},
		{"batch: {signal: {name: TERM, before: 300, batch: false}}",
		 .signal = "TERM@300"},
		/* A log must not be lost by the second start. */
		{"batch: {requeue: yes}", .requeue = "requeue", .open_mode = "append"},
		{"batch: {requeue: no}", .requeue = "no-requeue"},
		{"batch: {requeue: yes, open_mode: truncate}", .requeue = "requeue",
		 .open_mode = "truncate"},
		/* Starting again after the time limit needs the signal before it. */
		{"retry: 3", .requeue = "requeue", .open_mode = "append",
		 .signal = "B:USR1@120"},
		{"retry: {max: 3, on: [preempt]}", .requeue = "requeue",
		 .open_mode = "append"},
		{"retry: 3\nbatch: {signal: {name: USR2, before: 300}}",
		 .requeue = "requeue", .open_mode = "append", .signal = "B:USR2@300"},
		{"retry: 0", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text), RUN "%s\n", rows[i].text);
		job_make(&job, text, NULL);
		job_fits(&job);
		assert_text(job.plan.batch.array, rows[i].array);
		assert_text(job.plan.batch.dependency, rows[i].dependency);
		assert_text(job.plan.batch.mail_type, rows[i].mail_type);
		assert_text(job.plan.batch.signal, rows[i].signal);
		assert_text(job.plan.batch.requeue, rows[i].requeue);
		assert_text(job.plan.batch.open_mode, rows[i].open_mode);
		job_clear(&job);
	}
}

static void settings_of_the_step(void **state)
{
	static const struct {
		const char *text, *site, *srank;
		enum spec_means means;
	} rows[] = {
		{"launcher: torchrun", "", "torchrun", SPEC_MEANS_PLUGIN},
		{"launcher: torchrun\nrendezvous: {backend: c10d}", "",
		 "torchrun,elastic=2:2", SPEC_MEANS_PLUGIN},
		{"launcher: torchrun\nrendezvous: {elastic: '1:4'}", "",
		 "torchrun,elastic=1:4", SPEC_MEANS_PLUGIN},
		{"binding: {gpus: mask, local: 0}", "", "torch,gpus=mask,local=0",
		 SPEC_MEANS_PLUGIN},
		{"rendezvous: {addr: ip, suffix: -ib, domain: a.b, ports: 20000-20009, "
		 "busy: warn, verbose: yes}\nbinding: {omp_threads: keep}",
		 "",
		 "torch,ports=20000-20009,addr=ip,suffix=-ib,domain=a.b,busy=warn,"
		 "omp=keep,verbose=on",
		 SPEC_MEANS_PLUGIN},
		{"rendezvous: {port: auto, master: first}", "", "torch",
		 SPEC_MEANS_PLUGIN},
		{"plugin: require", "rendezvous: shell", "torch", SPEC_MEANS_PLUGIN},
		{"plugin: exec", "", "torch", SPEC_MEANS_EXEC},
		{"plugin: off", "", "torch", SPEC_MEANS_SHELL},
		{"plugin: auto", "rendezvous: exec", "torch", SPEC_MEANS_EXEC},
		{"name: x", "plugin: no", "torch", SPEC_MEANS_SHELL},
		/* The plugin has the site's settings from plugstack.conf. */
		{"name: x", "suffix: -ib\nports: 30000-30099", "torch",
		 SPEC_MEANS_PLUGIN},
		{"name: x", "suffix: -ib\nports: 30000-30099\nrendezvous: exec",
		 "torch,ports=30000-30099,suffix=-ib", SPEC_MEANS_EXEC},
		{"rendezvous: {suffix: -eth}", "suffix: -ib\nrendezvous: exec",
		 "torch,suffix=-eth", SPEC_MEANS_EXEC},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[512];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text),
			 "run: {script: a.py}\nresources: {nodes: 2}\n%s\n",
			 rows[i].text);
		job_make(&job, text, rows[i].site);
		job_fits(&job);
		assert_text(job.plan.srank, rows[i].srank);
		assert_int_equal(job.plan.means, rows[i].means);
		job_clear(&job);
	}
}

static void where_ranks_meet_without_the_plugin(void **state)
{
	struct job job;

	job_make(&job, RUN, NULL);
	assert_string_equal(job.plan.rendezvous.addr, "name");
	assert_string_equal(job.plan.rendezvous.suffix, "");
	assert_int_equal(job.plan.rendezvous.port, 0);
	assert_int_equal(job.plan.rendezvous.port_low, 20000);
	assert_int_equal(job.plan.rendezvous.port_high, 29999);
	assert_false(job.plan.rendezvous.reserved);
	job_clear(&job);
	job_make(&job, RUN "rendezvous: {port: resv, addr: ip}\n",
		 "ports: 30000-30099\nsuffix: -ib\naddr: nodeaddr\n");
	assert_string_equal(job.plan.rendezvous.addr, "ip");
	assert_string_equal(job.plan.rendezvous.suffix, "-ib");
	assert_int_equal(job.plan.rendezvous.port_low, 30000);
	assert_int_equal(job.plan.rendezvous.port_high, 30099);
	assert_true(job.plan.rendezvous.reserved);
	job_clear(&job);
	job_make(&job, RUN "rendezvous: {port: 23456}\n", NULL);
	assert_int_equal(job.plan.rendezvous.port, 23456);
	job_clear(&job);
}

static void variables(void **state)
{
	struct job job;

	job_make(&job,
		 "run: {script: a.py}\nresources: {nodes: 1}\nlauncher: torchrun\n"
		 "env: {A: x, B: y}\nbinding: {omp_threads: 4}\n"
		 "rendezvous: {master: n1-ib, max_restarts: 2}\n",
		 NULL);
	job_fits(&job);
	assert_int_equal(job.plan.env_count, 5);
	assert_string_equal(job.plan.env[0].name, "A");
	assert_string_equal(job.plan.env[1].text, "y");
	assert_string_equal(job.plan.env[2].name, "MASTER_ADDR");
	assert_string_equal(job.plan.env[2].text, "n1-ib");
	assert_string_equal(job.plan.env[3].name, "OMP_NUM_THREADS");
	assert_string_equal(job.plan.env[3].text, "4");
	assert_string_equal(job.plan.env[4].name, "PET_MAX_RESTARTS");
	assert_string_equal(job.plan.env[4].text, "2");
	assert_false(job.plan.omp_auto);
	job_clear(&job);
	job_make(&job, RUN, NULL);
	assert_int_equal(job.plan.env_count, 0);
	assert_true(job.plan.omp_auto);
	job_clear(&job);
}

static void faults(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"batch: {array: {max: 3}}",
		 "job.yaml:3:22: error: array.max is given without array.range "
		 "[plan-batch]\n"},
		{"batch: {array: {range: '0-9%2', max: 3}}",
		 "job.yaml:3:38: error: array.max says again what `%2` of array.range "
		 "says [plan-batch]\n"},
		{"batch: {dependency: {afterok: [x, '1+2'], after: 1+2}}",
		 "job.yaml:3:32: error: afterok: 'x' is not the id of a job, as 123 or "
		 "123_4 [plan-batch]\n"
		 "job.yaml:3:35: error: afterok: '1+2' is not the id of a job, as 123 or "
		 "123_4 [plan-batch]\n"},
		{"batch: {dependency: 'afterok:$ID'}",
		 "job.yaml:3:21: error: dependency: 'afterok:$ID' is not what sbatch "
		 "takes: TYPE:JOB:JOB or singleton, as afterok:123:124,singleton "
		 "[plan-batch]\n"},
		{"batch: {dependency: 'afterok:1,after'}",
		 "job.yaml:3:21: error: dependency: 'afterok:1,after' is not what sbatch "
		 "takes: TYPE:JOB:JOB or singleton, as afterok:123:124,singleton "
		 "[plan-batch]\n"},
		{"batch: {dependency: {condition: 'after:1+5', singleton: yes}}",
		 "job.yaml:3:33: error: dependency.condition is all of the dependency, "
		 "but other keys of it are given, too [plan-batch]\n"},
		{"batch: {signal: {before: 60}}",
		 "job.yaml:3:26: error: signal has no name [plan-batch]\n"
		 "  fix: add signal.name: USR1\n"},
		{"batch: {signal: {name: 'USR1@60', before: 60}}",
		 "job.yaml:3:43: error: signal.name `USR1@60` is all of the signal, but "
		 "another key of it is given, too [plan-batch]\n"},
		{"batch: {signal: USR1@60}\nretry: 1",
		 "job.yaml:3:17: error: the job is to be started again after a timeout, "
		 "for which the batch shell must get the signal [plan-batch]\n"
		 "  fix: signal: {name: USR1, batch: true}\n"},
		{"batch: {requeue: no}\nretry: 1",
		 "job.yaml:3:18: error: requeue is false, but retry starts the job again "
		 "by requeueing it [plan-batch]\n"},
		{"retry: {on: fail}",
		 "job.yaml:3:13: error: retry does not say how often [plan-batch]\n"
		 "  fix: add retry.max: 3\n"},
		{"batch: {nice: 1.5, priority: high}",
		 "job.yaml:3:15: error: nice: '1.5' is not a whole number that Slurm "
		 "takes [plan-batch]\n"
		 "job.yaml:3:30: error: priority: 'high' is neither a whole number nor "
		 "TOP [plan-batch]\n"},
		{"batch: {extra: [--tres-bind=x, -x, y]}",
		 "job.yaml:3:32: error: extra: '-x' is not a long option, as "
		 "--tres-bind=VALUE [plan-batch]\n"
		 "job.yaml:3:36: error: extra: 'y' is not a long option, as "
		 "--tres-bind=VALUE [plan-batch]\n"},
		/* Values that do not go together. */
		{"container: {mounts: /a, home: yes}\nconda: {root: /c}",
		 "job.yaml:3:21: error: container.mounts is given without "
		 "container.image "
		 "[plan-value]\n"
		 "job.yaml:3:31: error: container.home is given without container.image "
		 "[plan-value]\n"
		 "job.yaml:4:15: error: conda.root is given without conda.env "
		 "[plan-value]\n"},
		{"container: {image: i, env: [A, 1B, C-D]}",
		 "job.yaml:3:32: error: container.env: '1B' cannot be the name of a "
		 "variable [plan-value]\n"
		 "job.yaml:3:36: error: container.env: 'C-D' cannot be the name of a "
		 "variable [plan-value]\n"},
		{"batch: {time: 10, time_min: 20}",
		 "job.yaml:3:29: error: time_min 20 is longer than time 10 "
		 "[plan-value]\n"},
		{"batch: {partition: 'a, [b] c'}",
		 "job.yaml:3:20: error: partition: 'a, [b] c' is no name of a "
		 "partition, nor several with commas between [plan-value]\n"
		 "  fix: partition: a,b,c\n"},
		{"batch: {nodelist: 'n[1-2', exclude: m7}",
		 "job.yaml:3:19: error: nodelist: 'n[1-2' is not a list of nodes, as "
		 "n[1-4],m7 [plan-value]\n"},
		{"batch: {nodelist: n7, exclude: 'm1,n[5-9]'}",
		 "job.yaml:3:32: error: node n7 is in exclude and in nodelist "
		 "[plan-value]\n"},
		/* Settings. */
		{"rendezvous: {elastic: '1:2'}",
		 "job.yaml:3:23: error: elastic is for launcher torchrun, and the "
		 "launcher is torch [plan-settings]\n"},
		{"rendezvous: {backend: c10d, max_restarts: 1}",
		 "job.yaml:3:23: error: backend is for launcher torchrun, and the "
		 "launcher is torch [plan-settings]\n"
		 "job.yaml:3:43: error: max_restarts is for launcher torchrun, and the "
		 "launcher is torch [plan-settings]\n"},
		{"launcher: torchrun\nrendezvous: {elastic: '2:3'}",
		 "job.yaml:4:23: error: elastic 2:3 does not fit 1 node: torchrun would "
		 "wait for more, or leave some out [plan-settings]\n"},
		{"launcher: torchrun\nrendezvous: {elastic: '1:3', backend: static}",
		 "job.yaml:4:39: error: backend is static, but elastic needs c10d "
		 "[plan-settings]\n"},
		{"rendezvous: {master: a}\nenv: {MASTER_ADDR: b}",
		 "job.yaml:3:22: error: rendezvous.master says what MASTER_ADDR is, and "
		 "so does env on line 4; remove one [plan-settings]\n"},
		/* Sweeps. */
		{"sweep: {matrix: {a: [1]}}\nbatch: {array: 0-1}",
		 "job.yaml:4:16: error: array is given beside a sweep, which is an array "
		 "itself [plan-sweep]\n"
		 "  fix: remove array, or sweep.as: files\n"},
		{"sweep: {zip: {a: [1, 2], b: [1]}}",
		 "job.yaml:3:26: error: zip: b has 1 value, but a has 2 [plan-sweep]\n"},
		{"sweep: {matrix: {a: [1]}, zip: {a: [1]}}\nenv: {a: x}",
		 "job.yaml:3:18: error: a is an axis of the sweep and a variable of env "
		 "[plan-sweep]\n"
		 "job.yaml:3:33: error: a is in matrix and in zip [plan-sweep]\n"
		 "job.yaml:3:33: error: a is an axis of the sweep and a variable of env "
		 "[plan-sweep]\n"},
		{"sweep: {matrix: {resources.nodes: [1]}}",
		 "job.yaml:3:18: error: resources.nodes is a key of the spec, which is "
		 "the same in all jobs of an array [plan-sweep]\n"
		 "  fix: add sweep.as: files\n"},
		{"sweep: {as: files}",
		 "job.yaml:3:13: error: the sweep has no values: neither matrix nor zip "
		 "is given [plan-sweep]\n"
		 "  fix: sweep: {matrix: {lr: [0.1, 0.01]}}, or no sweep\n"},
		{"sweep: {matrix: {}}",
		 "job.yaml:3:17: error: the sweep has no values: no name is in it "
		 "[plan-sweep]\n"
		 "  fix: sweep: {matrix: {lr: [0.1, 0.01]}}, or no sweep\n"},
		/* A variable of all tasks, as in env; the first such value is told. */
		{"sweep: {matrix: {SLURM_NTASKS: [1, 2, 3]}}",
		 "job.yaml:3:36: error: env: srun reads SLURM_NTASKS itself, and ntasks "
		 "is 1, not 2 [plan-settings]\n"
		 "  fix: remove it; the keys of resources size the job\n"},
		{"sweep: {as: files, max: 2, matrix: {a: [1]}}",
		 "job.yaml:3:25: error: sweep.max is for an array; jobs of scripts of "
		 "their own run when they can [plan-sweep]\n"
		 "  fix: remove max (-s sweep.max=null), or sweep.as: files\n"},
		{"het: [{}, {}]\nsweep: {as: files, matrix: {resources.nodes: [1]}}",
		 "job.yaml:4:29: error: resources.nodes is a key of the spec, and each "
		 "component of a heterogeneous job has its own [plan-sweep]\n"},
		{"het: [{}, {}]\nbatch: {array: 0-1}",
		 "job.yaml:3:6: error: Slurm has no arrays of heterogeneous jobs "
		 "[plan-batch]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text), RUN "%s\n", rows[i].text);
		job_make(&job, text, NULL);
		assert_int_equal(job.rc, -EINVAL);
		assert_diag(&job.diag, rows[i].expected);
		job_clear(&job);
	}
}

/* `{name}` that is nearly an axis; of others nothing is known. */
static void placeholders_that_are_misspelt(void **state)
{
	static const struct {
		const char *text, *message; /* NULL: none */
	} rows[] = {
		{"'--lr={lrr}'",
		 "{lrr} is no axis of the sweep, so it stays as it is; did you mean "
		 "{lr}?"},
		{"'{lr} {other} {{lr}} {} {lr'", NULL},
		{"'{Batch}'",
		 "{Batch} is no axis of the sweep, so it stays as it is; did you mean "
		 "{batch}?"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text),
			 "run: {script: a.py, args: [%s]}\nresources: {nodes: 1}\n"
			 "sweep: {matrix: {lr: [1, 2]}, zip: {batch: [3]}}\n",
			 rows[i].text);
		job_make(&job, text, NULL);
		job_fits(&job);
		assert_int_equal(job.diag.warnings, rows[i].message ? 1 : 0);
		if (rows[i].message)
			assert_string_equal(job.diag.items[0].message, rows[i].message);
		job_clear(&job);
	}
}

/* Where ranks cannot meet, and what the tasks never see. */
static void variables_that_mislead(void **state)
{
	static const struct {
		const char *text, *message; /* NULL: fine */
		int rc;
	} rows[] = {
		{"resources: {nodes: 2}\nenv: {MASTER_ADDR: localhost}",
		 "MASTER_ADDR: localhost is another machine on every node, so the ranks "
		 "would not meet",
		 -EINVAL},
		{"resources: {nodes: 2}\nrendezvous: {master: 127.0.0.1}",
		 "master: 127.0.0.1 is another machine on every node, so the ranks would "
		 "not meet",
		 -EINVAL},
		{"resources: {nodes: 2}\nrendezvous: {master: 127.1}",
		 "master: 127.1 is another machine on every node, so the ranks would not "
		 "meet",
		 -EINVAL},
		{"resources: {nodes: 1}\nenv: {MASTER_ADDR: localhost}", NULL, 0},
		{"resources: {nodes: 2}\nenv: {MASTER_ADDR: ''}", NULL, 0},
		{"resources: {nodes: 2}\nrendezvous: {master: n1-ib}", NULL, 0},
		{"resources: {nodes: 2}\nrendezvous: {master: 'fd00::1'}", NULL, 0},
		{"resources: {nodes: 2}\nrendezvous: {master: '[fd00::1]'}",
		 "master: '[fd00::1]' is neither a host nor an address; an IPv6 address "
		 "stands without brackets",
		 -EINVAL},
		{"resources: {nodes: 2}\nrendezvous: {master: 'ifname:ib0'}",
		 "master: the address of an interface cannot be named by ifname:ib0",
		 -EINVAL},
		{"resources: {nodes: 2}\nenv: {RANK: 0}",
		 "RANK is each task's own with launcher torch, so this value is lost", 0},
		{"resources: {nodes: 2}\nlauncher: mpi\nenv: {RANK: 0}",
		 "RANK is each rank's own, and env gives all of them 0", 0},
		{"resources: {nodes: 1}\nlauncher: mpi\nenv: {RANK: 0}", NULL, 0},
		{"resources: {nodes: 2}\nlauncher: mpi\nenv: {WORLD_SIZE: 4}",
		 "WORLD_SIZE is 4 in env, and the job has 2 ranks", 0},
		{"resources: {nodes: 2}\nlauncher: mpi\nenv: {WORLD_SIZE: 2}", NULL, 0},
		/* Values are literal: one that adds to itself takes away. */
		{"resources: {nodes: 1}\nenv: {PATH: '/x:$PATH'}",
		 "env: values are taken as written, so PATH would lose what it has and "
		 "get the text `/x:$PATH`",
		 -EINVAL},
		{"resources: {nodes: 1}\nenv: {A_B: '${A_B:-x}'}",
		 "env: values are taken as written, so A_B would lose what it has and "
		 "get the text `${A_B:-x}`",
		 -EINVAL},
		{"resources: {nodes: 1}\nenv: {A: '$AB ${A_} A $$ $', AB: $A}", NULL, 0},
		{"resources: {nodes: 1}\nenv: {PATH: '/opt/bin:/usr/local/bin'}",
		 "env: PATH is all of it, and the script finds srun and its other "
		 "commands in /opt/bin:/usr/local/bin only",
		 0},
		{"resources: {nodes: 1}\nenv: {PATH: '/opt/bin:/usr/bin'}", NULL, 0},
		{"resources: {nodes: 1}\nenv: {PATH: /bin}", NULL, 0},
		/* What srun would start instead of the plan's step. */
		{"resources: {nodes: 2, gpus_per_node: 4}\nenv: {SLURM_NTASKS: 4}",
		 "env: srun reads SLURM_NTASKS itself, and ntasks is 8, not 4", -EINVAL},
		{"resources: {nodes: 2, gpus_per_node: 4}\nenv: {SLURM_NTASKS: 8}", NULL,
		 0},
		{"resources: {nodes: 2}\nenv: {SRUN_CPUS_PER_TASK: 3}",
		 "env: srun reads SRUN_CPUS_PER_TASK itself, and nothing else says "
		 "cpus_per_task",
		 -EINVAL},
		{"resources: {nodes: 2}\nenv: {SLURM_JOB_ID: 3}",
		 "env: srun reads SLURM_JOB_ID itself, and would no longer start what "
		 "was planned",
		 -EINVAL},
		{"resources: {nodes: 2}\nenv: {SLURM_EXPORT_ENV: NONE}",
		 "env: srun reads SLURM_EXPORT_ENV itself, and the ranks would get none "
		 "of env",
		 -EINVAL},
		{"resources: {nodes: 2}\nenv: {SLURM_EXPORT_ENV: ALL, SLURM_CPU_BIND: "
		 "none}",
		 NULL, 0},
		{"resources: {nodes: 2}\nlauncher: horovod\nenv: {HOROVOD_SIZE: 2}",
		 "HOROVOD_SIZE is each task's own with launcher horovod, so this value "
		 "is "
		 "lost",
		 0},
		{"resources: {nodes: 2}\nenv: {OMP_NUM_THREADS: 2, MASTER_PORT: 23456}",
		 NULL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text), "run: {script: a.py}\n%s\n", rows[i].text);
		job_make(&job, text, NULL);
		assert_int_equal(job.rc, rows[i].rc);
		assert_int_equal(job.diag.count, rows[i].message ? 1 : 0);
		if (rows[i].message)
			assert_string_equal(job.diag.items[0].message, rows[i].message);
		job_clear(&job);
	}
}

static void gres_and_switches(void **state)
{
	static const struct {
		const char *resources, *message; /* NULL: fine */
		const char *fix;
	} rows[] = {
		{"gres: [nvme:1, 'tape:lto:2']", NULL},
		{"gres: gpu:4",
		 "gres `gpu:4` asks for GPUs, which gpus_per_node and gpu_type do",
		 "gpus_per_node: 4"},
		{"gres: gres/gpu:a100:4",
		 "gres `gres/gpu:a100:4` asks for GPUs, which gpus_per_node and gpu_type "
		 "do",
		 "gpus_per_node: 4 and gpu_type: a100"},
		{"gres: [gpu]",
		 "gres `gpu` asks for GPUs, which gpus_per_node and gpu_type do",
		 "gpus_per_node: COUNT"},
		{"gres: gpus:1", NULL},
		{"switches: 2", NULL},
		{"switches: '1@12:00:00'", NULL},
		{"switches: '1@4h'", "switches: '1@4h' is not a number of switches, with "
				     "@TIME behind it for how long to wait for them"},
		{"switches: x", "switches: 'x' is not a number of switches, with @TIME "
				"behind it for how long to wait for them"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[128];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text),
			 "run: {script: a.py}\nresources: {nodes: 1, %s}\n",
			 rows[i].resources);
		job_make(&job, text, NULL);
		assert_int_equal(job.rc, rows[i].message ? -EINVAL : 0);
		if (rows[i].message)
			assert_string_equal(job.diag.items[0].message, rows[i].message);
		if (rows[i].message)
			assert_text(job.diag.items[0].fix, rows[i].fix);
		job_clear(&job);
	}
}

/* More nodes by name than the job has: Slurm 24.11 picks, older ones refuse. */
static void nodes_by_name(void **state)
{
	static const struct {
		const char *slurm;
		int rc;
		size_t count;
	} rows[] = {
		{"slurm: '22.05'", -EINVAL, 1},
		{"name: x", 0, 1},
		{"slurm: '24.11'", 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		job_make(&job, RUN "batch: {nodelist: 'n[1-3]'}\n", rows[i].slurm);
		assert_int_equal(job.rc, rows[i].rc);
		assert_int_equal(job.diag.count, rows[i].count);
		job_clear(&job);
		job_make(&job, RUN "batch: {nodelist: n1}\n", rows[i].slurm);
		assert_int_equal(job.rc, 0);
		assert_int_equal(job.diag.count, 0);
		job_clear(&job);
	}
}

static void points_of_a_sweep(void **state)
{
	/* By hand: 2 x 3 combinations, each with both rows of the zip. */
	static const char *const expected[12][3] = {
		{"1", "x", "p"}, {"1", "x", "q"}, {"1", "y", "p"}, {"1", "y", "q"},
		{"1", "z", "p"}, {"1", "z", "q"}, {"2", "x", "p"}, {"2", "x", "q"},
		{"2", "y", "p"}, {"2", "y", "q"}, {"2", "z", "p"}, {"2", "z", "q"},
	};
	static const uint64_t strides[] = {6, 2, 1, 1};
	struct job job;

	job_make(&job,
		 RUN "sweep:\n  matrix: {a: [1, 2], b: [x, y, z]}\n"
		     "  zip: {c: [p, q], d: [r, s]}\n  max: 4\n",
		 NULL);
	job_fits(&job);
	assert_int_equal(plan_sweep_points(&job.spec), 12);
	assert_int_equal(plan_sweep_axes(&job.spec), 4);
	assert_string_equal(job.plan.batch.array, "0-11%4");
	for (uint64_t point = 0; point < 12; point++) {
		for (size_t i = 0; i < 3; i++) {
			const struct spec_axis *axis = plan_sweep_axis(&job.spec, i);
			size_t value = plan_sweep_value(&job.spec, i, point);

			assert_string_equal(axis->values.items[value].text,
					    expected[point][i]);
		}
		/* Side by side. */
		assert_int_equal(plan_sweep_value(&job.spec, 2, point),
				 plan_sweep_value(&job.spec, 3, point));
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(plan_sweep_stride(&job.spec, i), strides[i]);
	/* The first, then where b is y or z, d is s (and c is q), a is 2. */
	for (uint64_t point = 0; point < 12; point++)
		assert_int_equal(plan_sweep_is_first(&job.spec, point),
				 point <= 2 || point == 4 || point == 6);
	job_clear(&job);
	job_make(&job, RUN, NULL);
	assert_int_equal(plan_sweep_points(&job.spec), 0);
	assert_null(job.plan.batch.array);
	job_clear(&job);
}

/* 101 x 101 x 101 jobs are a slip of the pen; 100 x 100 x 100 are many. */
static void a_sweep_without_end(void **state)
{
	for (int values = 100; values <= 101; values++) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		struct job job;

		assert_non_null(out);
		fputs(RUN "sweep: {matrix: {", out);
		for (int axis = 0; axis < 3; axis++) {
			fprintf(out, "a%d: [", axis);
			for (int i = 0; i < values; i++)
				fprintf(out, "%d, ", i);
			fputs("], ", out);
		}
		fputs("}}\n", out);
		assert_int_equal(fclose(out), 0);
		job_make(&job, text, NULL);
		free(text);
		assert_int_equal(job.rc, values == 100 ? 0 : -EINVAL);
		if (values == 100)
			assert_string_equal(job.plan.batch.array, "0-999999");
		else
			assert_diag(&job.diag, "job.yaml:3:17: error: the sweep has more "
					       "than 1000000 jobs [plan-sweep]\n");
		job_clear(&job);
	}
}

static void a_point_is_a_spec(void **state)
{
	struct spec point = {0};
	struct job job;

	job_make(&job,
		 "name: run-{lr}\n"
		 "run: {script: a.py, args: ['--lr={lr}', '{opt}', '{none}', '{lr']}\n"
		 "resources: {nodes: 1, gpus_per_node: 4}\n"
		 "env: {RATE: 'x{lr}y{lr}', KEEP: z}\n"
		 "setup: 'echo ${lr} {lr}'\n"
		 "batch: {output: 'log-{opt}.out'}\n"
		 "sweep:\n  as: files\n"
		 "  matrix: {resources.nodes: [1, 2], lr: [0.1, \"it's a #\"]}\n"
		 "  zip: {opt: [sgd]}\n",
		 NULL);
	job_fits(&job);
	assert_null(job.plan.batch.array);
	assert_int_equal(plan_sweep_points(&job.spec), 4);
	assert_int_equal(plan_sweep_apply(&job.spec, 3, &point, &job.diag), 0);
	assert_int_equal(job.diag.count, 0);
	assert_string_equal(point.name.text, "run-it's a #");
	assert_string_equal(point.run.args.items[0].text, "--lr=it's a #");
	assert_string_equal(point.run.args.items[1].text, "sgd");
	assert_string_equal(point.run.args.items[2].text, "{none}");
	assert_string_equal(point.run.args.items[3].text, "{lr");
	assert_int_equal(point.resources.nodes.number, 2);
	assert_int_equal(point.resources.gpus_per_node.number, 4);
	assert_string_equal(point.batch.output.text, "log-sgd.out");
	assert_string_equal(point.setup.items[0].text, "echo ${lr} {lr}");
	assert_int_equal(point.env.count, 4);
	assert_string_equal(point.env.items[0].text, "xit's a #yit's a #");
	assert_string_equal(point.env.items[2].name, "lr");
	assert_string_equal(point.env.items[2].text, "it's a #");
	assert_string_equal(point.env.items[3].name, "opt");
	assert_int_equal(plan_sweep_points(&point), 0);
	spec_clear(&point);
	/* The spec itself is as it was. */
	assert_string_equal(job.spec.name.text, "run-{lr}");
	assert_int_equal(job.spec.env.count, 2);
	assert_int_equal(job.spec.resources.nodes.number, 1);
	job_clear(&job);
	/* A value that its key does not take is told where it stands. */
	job_make(&job,
		 RUN "sweep: {as: files, matrix: {resources.nodes: [many], x.y: [1]}}\n",
		 NULL);
	memset(&point, 0, sizeof(point));
	assert_int_equal(plan_sweep_apply(&job.spec, 0, &point, &job.diag), -EINVAL);
	spec_clear(&point);
	assert_diag(&job.diag,
		    "job.yaml:3:46: error: nodes: 'many' is not a whole number of at "
		    "least 1 [spec-value]\n");
	job_clear(&job);
}

/* Components have their texts by themselves. */
static void a_point_of_components(void **state)
{
	const struct spec *components;
	struct spec point = {0};
	struct job job;

	job_make(&job,
		 "run: {script: a.py, args: ['{lr}']}\nsweep: {as: files, matrix: {lr: "
		 "[1, 2]}}\nhet: [{resources: {nodes: 1}}, {resources: {nodes: 2}, "
		 "env: {A: 'x{lr}'}}]\n",
		 NULL);
	job_fits(&job);
	assert_int_equal(plan_sweep_apply(&job.spec, 1, &point, &job.diag), 0);
	components = point.het.entries;
	assert_string_equal(components[0].run.args.items[0].text, "2");
	assert_int_equal(components[0].env.count, 1);
	assert_string_equal(components[1].env.items[0].text, "x2");
	assert_string_equal(components[1].env.items[1].name, "lr");
	spec_clear(&point);
	components = job.spec.het.entries;
	assert_string_equal(components[0].run.args.items[0].text, "{lr}");
	job_clear(&job);
}

static void parts_of_a_text(void **state)
{
	static const struct {
		const char *text;
		const char *parts[6]; /* an axis as "{name}" */
	} rows[] = {
		{"--lr={lr}", {"--lr=", "{lr}"}},
		{"{lr}{opt}x", {"{lr}", "{opt}", "x"}},
		{"{\"lr\": {lr}}", {"{\"lr\": ", "{lr}", "}"}},
		{"{lrx}{ lr }{}", {"{lrx}{ lr }{}"}},
		{"plain", {"plain"}},
		{"", {NULL}},
	};
	struct job job;

	job_make(&job, RUN "sweep: {matrix: {lr: [1], opt: [2]}}\n", NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct spec_axis *axis;
		size_t at = 0, length, count = 0;
		const char *part;

		while (plan_sweep_part(&job.spec, rows[i].text, &at, &part, &length,
				       &axis)) {
			assert_non_null(rows[i].parts[count]);
			assert_int_equal(length, strlen(rows[i].parts[count]));
			assert_memory_equal(part, rows[i].parts[count], length);
			assert_int_equal(axis != NULL, part[0] == '{' && length < 6 &&
							       part[length - 1] == '}');
			count++;
		}
		assert_null(rows[i].parts[count]);
	}
	job_clear(&job);
}

static void components_of_a_job(void **state)
{
	struct job job;
	char text[128];

	job_make(&job,
		 "launcher: torchrun\n"
		 "run: {script: a.py, args: [-x]}\n"
		 "resources: {cpus_per_gpu: 4}\n"
		 "batch: {account: a, partition: p}\n"
		 "env: {A: 1, B: 2}\n"
		 "het:\n"
		 "  - resources: {nodes: 1, gpus_per_node: 8}\n"
		 "    env: {B: 3, A: ~}\n"
		 "  - resources: {nodes: 2, gpus_per_node: 4, cpus_per_task: 9,\n"
		 "                cpus_per_gpu: ~}\n"
		 "    partition: q\n"
		 "    run: {module: m}\n",
		 NULL);
	job_fits(&job);
	assert_int_equal(job.plan.components_count, 2);
	assert_int_equal(plan_value(&job.plan, PLAN_NODES), 3);
	assert_int_equal(plan_value(&job.plan, PLAN_GPUS), 16);
	assert_int_equal(plan_value(&job.plan, PLAN_NTASKS), 3);
	assert_int_equal(plan_value(&job.plan, PLAN_WORLD_SIZE), 16);
	assert_false(plan_known(&job.plan, PLAN_GPUS_PER_NODE));
	assert_int_equal(plan_value(&job.plan.components[0], PLAN_CPUS_PER_TASK), 32);
	assert_int_equal(plan_value(&job.plan.components[1], PLAN_CPUS_PER_TASK), 9);
	assert_string_equal(job.plan.components[0].run.target, "a.py");
	assert_string_equal(job.plan.components[0].run.args[0], "-x");
	assert_string_equal(job.plan.components[1].run.target, "m");
	assert_int_equal(job.plan.components[1].run.count, 0);
	assert_string_equal(job.plan.components[0].batch.partition, "p");
	assert_string_equal(job.plan.components[1].batch.partition, "q");
	assert_string_equal(job.plan.component_specs[1].batch.account.text, "a");
	assert_int_equal(job.plan.components[0].env_count, 1);
	assert_string_equal(job.plan.components[0].env[0].text, "3");
	assert_int_equal(job.plan.components[1].env_count, 2);
	plan_sentence(&job.plan, text, sizeof(text));
	assert_string_equal(text, "1 node x 1 task x 8 workers + 2 nodes x 1 task x 4 "
				  "workers = 16 ranks");
	job_clear(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_become_values),
		cmocka_unit_test(settings_of_the_step),
		cmocka_unit_test(where_ranks_meet_without_the_plugin),
		cmocka_unit_test(variables),
		cmocka_unit_test(faults),
		cmocka_unit_test(placeholders_that_are_misspelt),
		cmocka_unit_test(variables_that_mislead),
		cmocka_unit_test(gres_and_switches),
		cmocka_unit_test(nodes_by_name),
		cmocka_unit_test(points_of_a_sweep),
		cmocka_unit_test(a_sweep_without_end),
		cmocka_unit_test(a_point_is_a_spec),
		cmocka_unit_test(a_point_of_components),
		cmocka_unit_test(parts_of_a_text),
		cmocka_unit_test(components_of_a_job),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
