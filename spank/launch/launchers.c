/* SPDX-License-Identifier: MIT */
/*
 * The table of launchers. A new launcher is one array of variables and one row; names,
 * rules and manual follow from it.
 */
#include "spank/launch/launchers.h"

#include <string.h>

static const struct launch_variable worker[] = {
	{"RANK", LAUNCH_VALUE_RANK, LAUNCH_ALWAYS, NULL},
	{"WORLD_SIZE", LAUNCH_VALUE_WORLD_SIZE, LAUNCH_ALWAYS, NULL},
	{"LOCAL_RANK", LAUNCH_VALUE_LOCAL_RANK, LAUNCH_ALWAYS, NULL, .device = true},
	{"LOCAL_WORLD_SIZE", LAUNCH_VALUE_LOCAL_SIZE, LAUNCH_ALWAYS, NULL},
	{"NODE_RANK", LAUNCH_VALUE_NODE_RANK, LAUNCH_ALWAYS, NULL},
	/* Lightning's torchelastic environment reads this one and not NODE_RANK. */
	{"GROUP_RANK", LAUNCH_VALUE_NODE_RANK, LAUNCH_ALWAYS, NULL},
	{"NNODES", LAUNCH_VALUE_NNODES, LAUNCH_ALWAYS, NULL},
	{NULL},
};

static const struct launch_variable node[] = {
	{"NODE_RANK", LAUNCH_VALUE_NODE_RANK, LAUNCH_ALWAYS, NULL},
	{"NNODES", LAUNCH_VALUE_NNODES, LAUNCH_ALWAYS, NULL},
	{NULL},
};

/*
 * torchrun reads the default of every option from PET_<OPTION> (PyTorch's
 * torch/distributed/argparse_util.py); an option on its command line still wins.
 *
 * static: node rank, master address and port are only looked at with this backend, and it
 * is the one that keeps ranks in the order of the nodes. It ignores PET_RDZV_ENDPOINT
 * only when that is empty, so the elastic variables must not be left over from an outer
 * step.
 *
 * c10d: the store is opened by the node that finds its own name or address in the
 * endpoint
 * (_matches_machine_hostname in torch/distributed/elastic/rendezvous/utils.py); with
 * suffix= or domain= no node might, so is_host says it. Members are sorted by their own
 * address and its owner's becomes the workers' MASTER_ADDR, hence PET_LOCAL_ADDR.
 * Three restarts: PyTorch's default of 0 ends the job with its first lost node.
 *
 * What concerns neither the ranks nor where they meet is the user's to say.
 */
static const struct launch_variable torchrun[] = {
	{"PET_NNODES", LAUNCH_VALUE_NNODES, LAUNCH_STATIC, NULL},
	{"PET_NNODES", LAUNCH_VALUE_ELASTIC, LAUNCH_ELASTIC, NULL},
	{"PET_NPROC_PER_NODE", LAUNCH_VALUE_NPROC, LAUNCH_ALWAYS, NULL, true},
	{"PET_RDZV_BACKEND", LAUNCH_VALUE_TEXT, LAUNCH_STATIC, "static"},
	{"PET_NODE_RANK", LAUNCH_VALUE_NODE_RANK, LAUNCH_STATIC, NULL},
	{"PET_MASTER_ADDR", LAUNCH_VALUE_ADDR, LAUNCH_STATIC, NULL},
	{"PET_MASTER_PORT", LAUNCH_VALUE_PORT, LAUNCH_STATIC, NULL},
	{"PET_RDZV_BACKEND", LAUNCH_VALUE_TEXT, LAUNCH_ELASTIC, "c10d"},
	{"PET_RDZV_ENDPOINT", LAUNCH_VALUE_ENDPOINT, LAUNCH_ELASTIC, NULL},
	{"PET_RDZV_ID", LAUNCH_VALUE_RUN_ID, LAUNCH_ELASTIC, NULL},
	{"PET_RDZV_CONF", LAUNCH_VALUE_IS_HOST, LAUNCH_ELASTIC, NULL, true},
	{"PET_LOCAL_ADDR", LAUNCH_VALUE_LOCAL_ADDR, LAUNCH_ELASTIC, NULL},
	{"PET_MAX_RESTARTS", LAUNCH_VALUE_TEXT, LAUNCH_ELASTIC, "3", true},
	{NULL},
};

/* --standalone makes every node a world of its own, whatever else is said (run.py). */
static const char *const torchrun_removes[] = {"PET_STANDALONE", NULL};

/* The second is the first one's module, and the third an older name for it. */
static const char *const torchrun_calls[] = {"torchrun", "-m torch.distributed.run",
					     "-m torch.distributed.launch", NULL};

/* Its other words configure, test or tell. */
static const char *const accelerate_calls[] = {"accelerate launch",
					       "-m accelerate.commands.launch", NULL};

/*
 * `--launcher pytorch` and `--launcher slurm` are served by the common set and Slurm's
 * own variables. `--launcher mpi` reads Open MPI's (mmengine/dist/utils.py), which srun
 * never sets, not even with --mpi=pmix.
 */
static const struct launch_variable mmengine[] = {
	{"OMPI_COMM_WORLD_RANK", LAUNCH_VALUE_RANK, LAUNCH_ALWAYS, NULL},
	{"OMPI_COMM_WORLD_SIZE", LAUNCH_VALUE_WORLD_SIZE, LAUNCH_ALWAYS, NULL},
	{"OMPI_COMM_WORLD_LOCAL_RANK", LAUNCH_VALUE_LOCAL_RANK, LAUNCH_ALWAYS, NULL,
	 .device = true},
	{"OMPI_COMM_WORLD_LOCAL_SIZE", LAUNCH_VALUE_LOCAL_SIZE, LAUNCH_ALWAYS, NULL},
	{NULL},
};

/* As DeepSpeed's own launcher sets them (deepspeed/launcher/launch.py). */
static const struct launch_variable deepspeed[] = {
	{"CROSS_RANK", LAUNCH_VALUE_NODE_RANK, LAUNCH_ALWAYS, NULL},
	{"CROSS_SIZE", LAUNCH_VALUE_NNODES, LAUNCH_ALWAYS, NULL},
	{"LOCAL_SIZE", LAUNCH_VALUE_LOCAL_SIZE, LAUNCH_ALWAYS, NULL},
	{NULL},
};

/*
 * The address is taken whole, host:port, by jax.distributed.initialize()
 * (jax/_src/distributed.py). The port alone is for releases whose Slurm detection reads
 * it.
 */
static const struct launch_variable jax[] = {
	{"JAX_COORDINATOR_ADDRESS", LAUNCH_VALUE_ENDPOINT, LAUNCH_ALWAYS, NULL},
	{"JAX_COORDINATOR_PORT", LAUNCH_VALUE_PORT, LAUNCH_ALWAYS, NULL},
	{NULL},
};

static const struct launch_variable tensorflow[] = {
	{"TF_CONFIG", LAUNCH_VALUE_TF_CONFIG, LAUNCH_ALWAYS, NULL},
	{NULL},
};

/*
 * Horovod's cross communicator joins the tasks of equal local rank, so with uneven nodes
 * it is smaller than the number of nodes. HOROVOD_LOCAL_RANK is more than the index of a
 * device: by it the tasks of a node find each other (gloo_context.cc).
 */
static const struct launch_variable horovod[] = {
	{"HOROVOD_RANK", LAUNCH_VALUE_RANK, LAUNCH_ALWAYS, NULL},
	{"HOROVOD_SIZE", LAUNCH_VALUE_WORLD_SIZE, LAUNCH_ALWAYS, NULL},
	{"HOROVOD_LOCAL_RANK", LAUNCH_VALUE_LOCAL_RANK, LAUNCH_ALWAYS, NULL},
	{"HOROVOD_LOCAL_SIZE", LAUNCH_VALUE_LOCAL_SIZE, LAUNCH_ALWAYS, NULL},
	{"HOROVOD_CROSS_RANK", LAUNCH_VALUE_CROSS_RANK, LAUNCH_ALWAYS, NULL},
	{"HOROVOD_CROSS_SIZE", LAUNCH_VALUE_CROSS_SIZE, LAUNCH_ALWAYS, NULL},
	{NULL},
};

const struct launch_launcher launch_launchers[] = {
	{"torch", LAUNCH_WORKER, "PyTorch, one task per GPU (env://)", NULL, false},
	{"torchrun", LAUNCH_NODE, "torchrun, one task per node", torchrun, false,
	 torchrun_removes, torchrun_calls},
	{"mmengine", LAUNCH_WORKER, "MMEngine and MMDetection 3.x, any --launcher",
	 mmengine, false},
	{"accelerate", LAUNCH_NODE, "accelerate launch, one task per node", NULL, false,
	 NULL, accelerate_calls},
	{"lightning", LAUNCH_WORKER, "PyTorch Lightning, one task per device", NULL,
	 false},
	{"deepspeed", LAUNCH_WORKER, "DeepSpeed, one task per GPU", deepspeed, false},
	{"jax", LAUNCH_WORKER, "JAX, one process per task", jax, false},
	{"tensorflow", LAUNCH_WORKER, "TensorFlow's MultiWorkerMirroredStrategy",
	 tensorflow, false},
	{"horovod", LAUNCH_WORKER, "Horovod, one task per GPU", horovod, false},
	{"mpi", LAUNCH_WORKER, "MPI: binding and threads; ranks come from PMIx", NULL,
	 true},
};

const size_t launch_launchers_count =
	sizeof(launch_launchers) / sizeof(*launch_launchers);

const struct launch_launcher *launch_launcher_find(const char *name)
{
	for (size_t i = 0; i < launch_launchers_count; i++) {
		if (strcmp(launch_launchers[i].name, name) == 0)
			return &launch_launchers[i];
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Behind the interpreter and its options, "-m" excepted, which says what is started. */
static char *const *skip_python(char *const *word)
{
	if (!*word || strncmp(base_name(*word), "python", strlen("python")) != 0)
		return word;
	for (word++; *word && **word == '-' && strcmp(*word, "-m") != 0; word++) {
		/* These have a word of their own. */
		if (word[1] && (strcmp(*word, "-W") == 0 || strcmp(*word, "-X") == 0))
			word++;
	}
	return word;
}

/* CALL is words with one blank between them. */
static bool begins_with(char *const *word, const char *call)
{
	bool first = true;

	for (; *call; word++, first = false) {
		size_t length = strcspn(call, " ");
		const char *text;

		if (!*word)
			return false;
		text = first ? base_name(*word) : *word;
		if (strncmp(text, call, length) != 0 || text[length])
			return false;
		call += length + (call[length] == ' ');
	}
	return true;
}

const struct launch_launcher *launch_launcher_of(char *const *program)
{
	char *const *words = skip_python(program);

	for (size_t i = 0; i < launch_launchers_count; i++) {
		const char *const *call = launch_launchers[i].calls;

		for (; call && *call; call++) {
			if (begins_with(words, *call))
				return &launch_launchers[i];
		}
	}
	return NULL;
}

bool launch_launcher_takes(const struct launch_launcher *launcher,
			   enum launch_value value)
{
	const struct launch_variable *variable = launcher ? launcher->variables : NULL;

	for (; variable && variable->name; variable++) {
		if (variable->value == value)
			return true;
	}
	return false;
}

const char *launch_shape_name(enum launch_shape shape)
{
	return shape == LAUNCH_NODE ? "node" : "worker";
}

const struct launch_variable *launch_shape_variables(enum launch_shape shape)
{
	return shape == LAUNCH_NODE ? node : worker;
}

/* What a value is made from, for the manual. */
static const char *const values[] = {
	[LAUNCH_VALUE_RANK] = "rank of the task in the step",
	[LAUNCH_VALUE_WORLD_SIZE] = "tasks of the step",
	[LAUNCH_VALUE_LOCAL_RANK] = "number of the task on its node",
	[LAUNCH_VALUE_LOCAL_SIZE] = "tasks on the node",
	[LAUNCH_VALUE_NODE_RANK] = "number of the node, 0 on the node of rank 0",
	[LAUNCH_VALUE_NNODES] = "nodes of the step",
	[LAUNCH_VALUE_CROSS_RANK] =
		"number of the node among those that have a task with this local rank",
	[LAUNCH_VALUE_CROSS_SIZE] = "nodes that have a task with this local rank",
	[LAUNCH_VALUE_NPROC] = "GPUs that the task sees; not set where there is none",
	[LAUNCH_VALUE_ADDR] = "MASTER_ADDR",
	[LAUNCH_VALUE_LOCAL_ADDR] = "address of this node",
	[LAUNCH_VALUE_PORT] = "MASTER_PORT",
	[LAUNCH_VALUE_ENDPOINT] = "MASTER_ADDR:MASTER_PORT",
	[LAUNCH_VALUE_RUN_ID] = "job, step and restart",
	[LAUNCH_VALUE_ELASTIC] = "MIN:MAX",
	[LAUNCH_VALUE_IS_HOST] = "is_host=1 on the node of rank 0, else is_host=0",
	[LAUNCH_VALUE_TF_CONFIG] =
		"every worker's address and port in the order of the ranks, "
		"and the rank of the task",
};

static void describe_variables(FILE *out, const struct launch_variable *variables)
{
	static const char *const when[] = {
		[LAUNCH_ALWAYS] = "",
		[LAUNCH_STATIC] = "; without `elastic=`",
		[LAUNCH_ELASTIC] = "; with `elastic=MIN:MAX`",
	};

	fprintf(out, "| variable | value |\n|---|---|\n");
	for (; variables->name; variables++)
		fprintf(out, "| `%s` | %s%s%s%s |\n", variables->name,
			variables->text ? variables->text : values[variables->value],
			when[variables->when],
			variables->keep ? "; a user's own is kept" : "",
			variables->device ? "; 0 with `local=0`" : "");
}

static void describe_launcher(FILE *out, const struct launch_launcher *launcher)
{
	fprintf(out, "\n## %s\n\n%s. ", launcher->name, launcher->summary);
	if (launcher->bare)
		fprintf(out, "No common set, no rendezvous.\n");
	else
		fprintf(out, "The common set of the %s shape%s\n",
			launch_shape_name(launcher->shape),
			launcher->variables ? ", and:\n" : ".");
	if (launcher->variables)
		describe_variables(out, launcher->variables);
	for (const char *const *name = launcher->removes; name && *name; name++)
		fprintf(out, "\nRemoved: `%s`.\n", *name);
	for (const char *const *call = launcher->calls; call && *call; call++)
		fprintf(out, "%s`%s%s`%s",
			call == launcher->calls ? "\n`srank exec` takes it by itself for "
						: ", ",
			**call == '-' ? "python " : "", *call, call[1] ? "" : ".\n");
}

void launch_launchers_describe(FILE *out)
{
	fprintf(out, "# Launchers\n\n"
		     "Made from the table in spank/launch/launchers.c; a unit test keeps "
		     "both the same.\n\n"
		     "| launcher | shape | for |\n|---|---|---|\n");
	for (size_t i = 0; i < launch_launchers_count; i++)
		fprintf(out, "| [%s](#%s) | %s | %s |\n", launch_launchers[i].name,
			launch_launchers[i].name,
			launch_shape_name(launch_launchers[i].shape),
			launch_launchers[i].summary);
	fprintf(out, "\nWith no launcher named (`auto`) the shape is node where every "
		     "node has one task and it sees\nmore than one GPU, else worker, and "
		     "the common set is all.\n"
		     "\n## The common set\n\n"
		     "`MASTER_ADDR`, `MASTER_PORT`, `OMP_NUM_THREADS`, `SRANK_VERSION` "
		     "and, in the worker shape:\n\n");
	describe_variables(out, worker);
	fprintf(out, "\nIn the node shape:\n\n");
	describe_variables(out, node);
	for (size_t i = 0; i < launch_launchers_count; i++)
		describe_launcher(out, &launch_launchers[i]);
}
