/* SPDX-License-Identifier: MIT */
/*
 * The layout of a step is in slurmctld's answer to REQUEST_STEP_LAYOUT
 * (_slurm_rpc_step_layout() in Slurm's src/slurmctld/proc_req.c): a list of nodes, and
 * for each of them the ids of its tasks.
 */
#include "spank/plugin/layout.h"

#include "spank/launch/hostlist.h"
#include "spank/launch/order.h"
#include "spank/plugin/compat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Calls VISIT with every task until it returns false. */
static void each_task(const slurm_step_layout_t *layout,
		      bool (*visit)(uint32_t task, uint32_t node, void *arg), void *arg)
{
	for (uint32_t node = 0; node < layout->node_cnt; node++) {
		for (uint32_t i = 0; i < layout->tasks[node]; i++) {
			if (!visit(layout->tids[node][i], node, arg))
				return;
		}
	}
}

static slurm_step_layout_t *get_layout(uint32_t job_id, uint32_t step_id)
{
	slurm_step_layout_t *layout = srank_step_layout(job_id, step_id);

	if (layout && layout->node_list && layout->tasks && layout->tids)
		return layout;
	if (layout)
		slurm_job_step_layout_free(layout);
	return NULL;
}

struct nodes {
	uint32_t *of; /* the node of each task */
	uint32_t ntasks;
	uint32_t found;
};

static bool note_node(uint32_t task, uint32_t node, void *arg)
{
	struct nodes *nodes = arg;

	if (task >= nodes->ntasks)
		return false;
	nodes->of[task] = node;
	nodes->found++;
	return true;
}

int srank_layout_order(uint32_t job_id, uint32_t step_id, char **text)
{
	slurm_step_layout_t *layout = get_layout(job_id, step_id);
	struct nodes nodes = {0};
	int r = -EIO;

	*text = NULL;
	if (!layout)
		return r;
	nodes.ntasks = layout->task_cnt;
	nodes.of = calloc(nodes.ntasks ? nodes.ntasks : 1, sizeof(*nodes.of));
	if (!nodes.of) {
		r = -ENOMEM;
		goto out;
	}
	each_task(layout, note_node, &nodes);
	if (nodes.found == nodes.ntasks)
		r = launch_order_write(job_id, step_id, layout->node_list, nodes.of,
				       nodes.ntasks, text);
	if (r == -EINVAL)
		r = -EIO;
out:
	free(nodes.of);
	slurm_job_step_layout_free(layout);
	return r;
}

/* The components of a step in one job are put together, the first one first. */
static bool find_head(uint32_t task, uint32_t node, void *arg)
{
	uint32_t *head = arg;

	if (task == 0)
		*head = node;
	return task != 0;
}

int srank_layout_head(uint32_t job_id, uint32_t step_id, char *name, size_t size,
		      uint32_t *position)
{
	slurm_step_layout_t *layout = get_layout(job_id, step_id);
	uint32_t head = NO_VAL;
	int r = -EIO;

	if (!layout)
		return r;
	each_task(layout, find_head, &head);
	if (head != NO_VAL &&
	    launch_hostlist_nth(layout->node_list, head, name, size) == 0) {
		*position = head;
		r = 0;
	}
	slurm_job_step_layout_free(layout);
	return r;
}

uint32_t srank_layout_leader(uint32_t job_id)
{
	uint32_t leader = job_id;
	job_info_msg_t *jobs;

	if (srank_load_job(&jobs, job_id))
		return job_id;
	for (uint32_t i = 0; i < jobs->record_count; i++) {
		if (jobs->job_array[i].job_id == job_id && jobs->job_array[i].het_job_id)
			leader = jobs->job_array[i].het_job_id;
	}
	slurm_free_job_info_msg(jobs);
	return leader;
}
