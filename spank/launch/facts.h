/* SPDX-License-Identifier: MIT */
/*
 * What is known about one task of a Slurm step. Sources fill it (the plugin from SPANK
 * and the step's environment, `srank exec` from PMIx or SLURM_*, `srank explain` from a
 * spec); the rules in rendezvous.c, gpus.c, environment.c and report.c read it and
 * nothing else.
 */
#pragma once

#include "spank/launch/error.h"

#include <stdbool.h>
#include <stdint.h>

/* How the tasks of the step are numbered over its nodes: the first part of -m. */
enum launch_layout {
	LAUNCH_LAYOUT_BLOCK,     /* node by node */
	LAUNCH_LAYOUT_CYCLIC,    /* one to each node in turn */
	LAUNCH_LAYOUT_PLANE,     /* plane_size to each node in turn */
	LAUNCH_LAYOUT_ARBITRARY, /* as a list of hosts says: SLURM_HOSTFILE */
	LAUNCH_LAYOUT_OTHER,     /* not known */
};

/* What SLURM_DISTRIBUTION says; NULL: it is not set. */
enum launch_layout launch_layout_of(const char *distribution);

struct launch_facts {
	/* The step; in a heterogeneous one the whole step, not a component. */
	uint32_t job_id;
	uint32_t step_id;
	uint32_t restart_count; /* SLURM_RESTART_COUNT: 0 on the first run of a job */
	uint32_t nnodes;
	uint32_t ntasks;
	char *nodelist;       /* compressed; order is the nodes' order in the step */
	char *tasks_per_node; /* "8(x2),4", in the order of nodelist */
	enum launch_layout layout;
	uint32_t plane_size; /* with LAUNCH_LAYOUT_PLANE, else 0 */
	bool het;            /* a step over components: nodelist is sorted by name, while
				node ids go by component */
	char *resv_ports;    /* SLURM_STEP_RESV_PORTS, "41001-41003"; NULL: none */
	/*
	 * Node of global task 0, where a source knows it. NULL: it is the first name of
	 * nodelist, unless head_uncertain says that this rule does not hold for the step
	 * (arbitrary distribution, heterogeneous step: hostlist_uniq() and
	 * _reorder_het_job_recs() sort the list in Slurm's srun). A source that then
	 * finds the node out calls launch_facts_set_head().
	 */
	char *head;
	uint32_t head_id; /* its node id */
	bool head_uncertain;
	/*
	 * What addr=ip and addr=nodeaddr need beyond the name, from a source that may
	 * ask for it (launch_head_query() of rendezvous.h says when and for what): the
	 * address of rank 0's node and of this one. NULL: not known.
	 */
	char *head_addr;
	char *node_addr;
	uint16_t agreed_port; /* on which rank 0 and the others have settled; 0: none */
	/* The nodes by lowest rank and the node of each rank (order.h), or neither. */
	char *order;
	char *placement;

	/* This task. */
	char *node;         /* SLURMD_NODENAME; NULL: not known */
	uint32_t node_rank; /* SLURM_NODEID; see launch_node_rank() for NODE_RANK */
	uint32_t rank;
	uint32_t local_rank;
	uint32_t local_size;
	uint32_t ncpus;         /* CPUs in the task's affinity mask; 0: not known */
	char *gpus;             /* device tokens visible to the task, as Slurm set them,
				   comma-separated and opaque; NULL: none */
	uint32_t gpu_variables; /* bit i: launch_gpu_variables[i] of gpus.h has in the
				   task the list that Slurm set; one that the user has
				   set otherwise does not count */
	bool pty; /* it is at a terminal (srun --pty), most likely a shell */

	/* What the user set before the step, by the precedence rules; NULL: nothing. */
	char *user_addr;
	char *user_port;
	bool user_omp;          /* OMP_NUM_THREADS is set, and not by us */
	bool user_device_order; /* CUDA_DEVICE_ORDER is set */
	char *user_nproc;       /* PET_NPROC_PER_NODE */
	char *user_restarts;    /* PET_MAX_RESTARTS */
	char *user_rdzv_conf;   /* PET_RDZV_CONF, without an is_host= of ours */
	bool submitit;          /* SUBMITIT_EXECUTOR is set: stand aside */
	char *outer; /* SRANK_LAUNCHER: the launcher of the step that this one was
			started in, whose variables are stale; NULL: none */
};

/* Looks a variable up; NULL when it is not set. The text lives until the next call. */
typedef const char *(*launch_lookup)(const char *name, void *arg);

/*
 * Fills FACTS from a step's environment. Per-task variables (SLURM_PROCID, SLURM_LOCALID,
 * SLURM_NODEID) are those of this task only when called at or after task_init: before it
 * they are the batch script's. SLURM_STEP_* are used for all that concerns the whole
 * step: srun makes them anew for each step, over all components (env_array_for_step() in
 * Slurm's src/common/env.c), while SLURM_NTASKS and its like may be the job's or the
 * user's.
 *
 * Precedence and staleness rules are applied here: MASTER_ADDR, MASTER_PORT,
 * OMP_NUM_THREADS and the PET_ variables above count as the user's unless empty or equal
 * to the value in the marker (SRANK_MASTER_ADDR and so on) that a step of ours around
 * this one left. SLURM_SRANK_NODES (order.h) tells where the ranks are, unless it is
 * another step's.
 *
 * local_size comes from tasks_per_node, or in a heterogeneous step from SLURM_GTIDS, and
 * may be overwritten by a source that knows better. -EINVAL with ERR set when a variable
 * is missing or malformed, or two of them contradict each other; -ENOMEM. FACTS is always
 * in a state that launch_facts_clear() takes.
 */
int launch_facts_read(struct launch_facts *facts, launch_lookup lookup, void *arg,
		      struct launch_error *err);

/*
 * The same without what is of this task (node, its ranks and sizes, its devices): for a
 * source that looks before Slurm has made the tasks.
 */
int launch_facts_read_shared(struct launch_facts *facts, launch_lookup lookup, void *arg,
			     struct launch_error *err);

/*
 * The same for the batch step, which has no SLURM_STEP_* and no task: the job's nodes,
 * and step_id LAUNCH_BATCH_STEP, so that the batch script's port is no step's. rank and
 * its like are 0; ntasks and tasks_per_node too where sbatch left them open.
 */
int launch_facts_read_batch(struct launch_facts *facts, launch_lookup lookup, void *arg,
			    struct launch_error *err);

/*
 * Only gpus and gpu_variables, of FACTS that may be zeroed: all devices that the step has
 * on a node, for a source that can look before Slurm binds the tasks. It then knows which
 * variables are Slurm's, and can read those of a task again from VARIABLES alone (0: from
 * all that there are). -ENOMEM.
 */
int launch_facts_read_devices(struct launch_facts *facts, uint32_t variables,
			      launch_lookup lookup, void *arg);

/*
 * Says that rank 0 is on node HEAD with node id HEAD_ID (in a heterogeneous step, whose
 * first component has rank 0: its position among the nodes of that one). -ENOMEM.
 */
int launch_facts_set_head(struct launch_facts *facts, const char *head, uint32_t head_id);

/*
 * Says how many nodes the component of the task has (SPANK's S_JOB_NNODES): all nodes of
 * the step, or the step is one of several components. SLURM_HET_SIZE tells nothing of
 * `srun a : b` inside an ordinary allocation, and is there in a step of one component of
 * a heterogeneous job. A source that knows calls this before it looks at het and head.
 */
void launch_facts_set_component(struct launch_facts *facts, uint32_t nodes);

/* SLURM_BATCH_SCRIPT in slurm/slurm.h. */
#define LAUNCH_BATCH_STEP 0xfffffffbU

/* Number of device tokens in gpus; 0 when there is none. */
uint32_t launch_facts_ngpus(const struct launch_facts *facts);

/*
 * How many of the TOTAL devices that the step has on the node the task sees. All, where
 * Slurm set none of its variables; none, where it set one without a device in it.
 */
uint32_t launch_facts_visible(const struct launch_facts *facts, uint32_t total);

/*
 * How many CPUs the job has on each of its nodes; 0 where the environment does not tell,
 * as in a job with more of them on one node than on another.
 */
uint32_t launch_facts_node_cpus(launch_lookup lookup, void *arg);

/* Frees the texts and zeroes the rest. */
void launch_facts_clear(struct launch_facts *facts);
