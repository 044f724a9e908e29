/* SPDX-License-Identifier: MIT */
/*
 * The keys of the job spec and of the site profile, in the order in which srank-spec(5)
 * lists them. Names are sbatch's long options in snake_case, so that who knows sbatch knows
 * them; aliases are what other generators call the same thing.
 */
#include "gen/spec/site.h"
#include "gen/spec/spec.h"

#define SPEC(member)      offsetof(struct spec, member)
#define SITE(member)      offsetof(struct spec_site, member)
#define PARTITION(member) offsetof(struct spec_partition, member)

static const struct spec_field run_fields[] = {
	{"script", SPEC_TEXT, SPEC(run.script), "Python script that every rank runs"},
	{"command", SPEC_WORDS, SPEC(run.command),
	 "program that every rank runs, with arguments"},
	{"module", SPEC_TEXT, SPEC(run.module), "Python module that every rank runs"},
	{"args", SPEC_WORDS, SPEC(run.args),
	 "arguments of the script, module or command"},
	{"python", SPEC_TEXT, SPEC(run.python), "Python interpreter; default python"},
	{"workdir", SPEC_TEXT, SPEC(run.workdir), "directory to run in",
	 .aliases = "chdir"},
	{NULL},
};

static const struct spec_field resources_fields[] = {
	{"nodes", SPEC_COUNT, SPEC(resources.nodes), "nodes of the job", .least = 1},
	{"gpus", SPEC_COUNT, SPEC(resources.gpus), "GPUs of the whole job"},
	{"gpus_per_node", SPEC_COUNT, SPEC(resources.gpus_per_node), "GPUs of each node"},
	{"gpu_type", SPEC_NAME, SPEC(resources.gpu_type),
	 "type of GPU, as gres.conf names it"},
	{"tasks_per_gpu", SPEC_COUNT, SPEC(resources.tasks_per_gpu),
	 "ranks that share a GPU; default 1", .aliases = "ntasks_per_gpu", .least = 1},
	{"ntasks", SPEC_COUNT, SPEC(resources.ntasks), "Slurm tasks of the job",
	 .aliases = "procs", .least = 1},
	{"ntasks_per_node", SPEC_COUNT, SPEC(resources.ntasks_per_node),
	 "Slurm tasks of each node", .aliases = "tasks_per_node", .least = 1},
	{"cpus_per_task", SPEC_COUNT, SPEC(resources.cpus_per_task),
	 "CPUs of each Slurm task", .least = 1},
	{"cpus_per_gpu", SPEC_COUNT, SPEC(resources.cpus_per_gpu),
	 "CPUs for each GPU, whatever the shape of the tasks", .least = 1},
	{"mem", SPEC_MEMORY, SPEC(resources.mem), "memory of each node; 0: all of it"},
	{"exclusive", SPEC_FLAG, SPEC(resources.exclusive), "whole nodes for this job",
	 .choices = "user mcs"},
	{NULL},
};

static const struct spec_field batch_fields[] = {
	{"partition", SPEC_TEXT, SPEC(batch.partition),
	 "partition, or several with commas", .aliases = "queue"},
	{"account", SPEC_TEXT, SPEC(batch.account), "account to charge",
	 .aliases = "bank"},
	{"qos", SPEC_TEXT, SPEC(batch.qos), "quality of service"},
	{"time", SPEC_TIME, SPEC(batch.time), "time limit", .aliases = "walltime"},
	{"output", SPEC_TEXT, SPEC(batch.output), "file for standard output"},
	{"error", SPEC_TEXT, SPEC(batch.error),
	 "file for standard error; default: output"},
	{"constraint", SPEC_TEXT, SPEC(batch.constraint),
	 "node features that must be there"},
	{"reservation", SPEC_TEXT, SPEC(batch.reservation), "reservation to run in"},
	{NULL},
};

static const struct spec_field rendezvous_fields[] = {
	{"port", SPEC_COUNT, SPEC(rendezvous.port),
	 "port where the ranks meet; default: one per step, by rule", .least = 1024,
	 .most = 65535},
	{NULL},
};

static const struct spec_field binding_fields[] = {
	{"gpus", SPEC_BINDING, SPEC(binding.gpus),
	 "which GPUs a task sees: order, mask, first, map:LIST or none"},
	{NULL},
};

static const struct spec_field srun_fields[] = {
	{"args", SPEC_WORDS, SPEC(srun.args), "further options of srun"},
	{NULL},
};

static const struct spec_field mmdet_fields[] = {
	{"config", SPEC_TEXT, SPEC(mmdet.config), "MMDetection config file"},
	{"work_dir", SPEC_TEXT, SPEC(mmdet.work_dir),
	 "directory for checkpoints and logs"},
	{NULL},
};

const struct spec_field spec_fields[] = {
	{"version", SPEC_COUNT, SPEC(version), "version of this format: 1", .least = 1,
	 .most = 1},
	{"name", SPEC_TEXT, SPEC(name), "name of the job", .aliases = "job_name"},
	{"launcher", SPEC_LAUNCHER, SPEC(launcher),
	 "what starts the ranks, see `srank launchers`; default torch"},
	{"run", SPEC_SECTION, SPEC(run), "what every rank runs", .fields = run_fields},
	{"mmdet", SPEC_SECTION, SPEC(mmdet), "an MMDetection 3.x training",
	 .fields = mmdet_fields},
	{"resources", SPEC_SECTION, SPEC(resources), "how much of the cluster",
	 .fields = resources_fields},
	{"batch", SPEC_SECTION, SPEC(batch), "where and how the job is queued",
	 .fields = batch_fields},
	{"rendezvous", SPEC_SECTION, SPEC(rendezvous), "where the ranks meet",
	 .fields = rendezvous_fields},
	{"binding", SPEC_SECTION, SPEC(binding), "which task sees which GPUs",
	 .fields = binding_fields},
	{"env", SPEC_MAP, SPEC(env), "environment variables of the ranks"},
	{"setup", SPEC_LINES, SPEC(setup), "shell code before the ranks start"},
	{"teardown", SPEC_LINES, SPEC(teardown), "shell code after the ranks have ended"},
	{"srun", SPEC_SECTION, SPEC(srun), "how srun starts the tasks",
	 .fields = srun_fields},
	{NULL},
};

static const struct spec_field partition_fields[] = {
	{"nodes", SPEC_COUNT, PARTITION(nodes), "most nodes of a job", .least = 1},
	{"cpus_per_node", SPEC_COUNT, PARTITION(cpus_per_node), "CPUs of a node",
	 .least = 1},
	{"gpus_per_node", SPEC_COUNT, PARTITION(gpus_per_node), "GPUs of a node"},
	{"mem", SPEC_MEMORY, PARTITION(mem), "memory of a node"},
	{"time", SPEC_TIME, PARTITION(time), "longest time limit"},
	{NULL},
};

const struct spec_field spec_site_fields[] = {
	{"version", SPEC_COUNT, SITE(version), "version of this format: 1", .least = 1,
	 .most = 1},
	{"name", SPEC_TEXT, SITE(name), "name of the cluster"},
	{"slurm", SPEC_NAME, SITE(slurm), "Slurm's version, as in 22.05"},
	{"plugin", SPEC_FLAG, SITE(plugin), "spank_srank.so is installed; default true"},
	/* In the order of enum spec_dialect. */
	{"gpu_dialect", SPEC_CHOICE, SITE(gpu_dialect), "how a script must ask for GPUs",
	 .choices = "gres gpus_per_node gpus_per_task"},
	{"partitions", SPEC_TABLE, SITE(partitions), "limits of the partitions",
	 .fields = partition_fields, .size = sizeof(struct spec_partition)},
	{NULL},
};
