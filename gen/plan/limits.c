/* SPDX-License-Identifier: MIT */
/*
 * The plan against the site profile: limits of the partition, and what the site's way of
 * asking for GPUs, its Slurm version and its select plugin cannot do. sbatch would refuse
 * such a job, or leave it pending for ever.
 */
#include "gen/plan/resolve.h"

#include "spank/launch/gpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *site_name(const struct plan_work *work)
{
	return work->site->file ? work->site->file : "the site profile";
}

/* Where the job says that it goes to the partition; the spec as a whole if it does not.
 */
static struct diag_place partition_place(const struct plan_work *work)
{
	const struct spec_value *partition = &work->spec->batch.partition;
	const struct diag_place file = {.file = work->spec->file};

	return partition->given ? partition->place : file;
}

static int over(struct plan_work *work, const struct diag_place *place, const char *what,
		const char *how, const char *limit)
{
	const struct diag_place otherwise = partition_place(work);

	diag_add(work->diag, DIAG_ERROR, "plan-limit", place ? place : &otherwise,
		 "%s is %s than partition %s %s: %s (%s)", what, how,
		 work->plan->partition->name.text,
		 strcmp(how, "more") == 0 ? "allows" : "wants", limit, site_name(work));
	return -EINVAL;
}

/* True when the number stands in the spec, or none contradicts another. */
static bool is_sound(const struct plan_work *work, enum plan_quantity quantity)
{
	return !work->failed || work->plan->number[quantity].origin == PLAN_GIVEN;
}

static int check_number(struct plan_work *work, enum plan_quantity quantity,
			uint64_t value, const struct spec_value *limit, bool least)
{
	char what[64], text[24];

	if (!limit->given || !is_sound(work, quantity) ||
	    !plan_known(work->plan, quantity))
		return 0;
	if (least ? value >= limit->number : value <= limit->number)
		return 0;
	snprintf(what, sizeof(what), "%s %llu", plan_quantity_name(quantity),
		 (unsigned long long)value);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit->number);
	return over(work, plan_place_of(work, quantity), what, least ? "less" : "more",
		    text);
}

/*
 * Where only some nodes have GPUs, the profile's numbers are theirs; a job without GPUs
 * may get others, of which nothing is known.
 */
static bool on_other_nodes(const struct plan_work *work)
{
	return work->plan->partition->gpu_nodes.given && !work->gpus;
}

/* CPUs that are reserved, or that other partitions have, and cores of which some threads
 * stay idle, make a difference to the plain number. */
static int check_cpus(struct plan_work *work)
{
	const struct spec_partition *partition = work->plan->partition;
	const uint64_t usable = on_other_nodes(work) ? partition->max_cpus_per_node.number
						     : plan_usable_cpus(partition);
	const uint64_t value = plan_value(work->plan, PLAN_CPUS_PER_NODE);
	const uint64_t taken = plan_taken_cpus(work);
	const char *reason = work->plan->number[PLAN_CPUS_PER_NODE].reason;
	/* No key of a spec, so by the two that make it. */
	const bool computed = work->computed & 1u << PLAN_CPUS_PER_NODE;
	char what[224], limit[96], idle[64] = "";

	if (!usable || taken <= usable || !is_sound(work, PLAN_CPUS_PER_NODE))
		return 0;
	if (taken > value)
		snprintf(idle, sizeof(idle), ", %llu with idle threads,",
			 (unsigned long long)taken);
	snprintf(what, sizeof(what), "cpus_per_node %llu%s%s%s%s",
		 (unsigned long long)value, computed ? " (" : "", computed ? reason : "",
		 computed ? ")" : "", idle);
	if (partition->reserved_cpus.number)
		snprintf(limit, sizeof(limit), "%llu, the reserved ones left out",
			 (unsigned long long)usable);
	else
		snprintf(limit, sizeof(limit), "%llu", (unsigned long long)usable);
	return over(work, plan_place_of(work, PLAN_CPUS_PER_NODE), what, "more", limit);
}

static int check_numbers(struct plan_work *work)
{
	const struct spec_partition *partition = work->plan->partition;
	const struct {
		enum plan_quantity quantity;
		const struct spec_value *limit;
		bool least;
	} limits[] = {
		{PLAN_NODES, &partition->nodes},
		{PLAN_NODES, &partition->min_nodes, .least = true},
		{PLAN_GPUS_PER_NODE, &partition->gpus_per_node},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (check_number(work, limits[i].quantity,
				 plan_value(work->plan, limits[i].quantity),
				 limits[i].limit, limits[i].least) < 0)
			rc = -EINVAL;
	}
	if (check_cpus(work) < 0)
		rc = -EINVAL;
	/* Where only some of the nodes have GPUs. */
	if (rc == 0 && work->gpus &&
	    check_number(work, PLAN_NODES, plan_value(work->plan, PLAN_NODES),
			 &partition->gpu_nodes, false) < 0)
		rc = -EINVAL;
	return rc;
}

static int check_memory(struct plan_work *work)
{
	const struct plan_memory *memory = &work->plan->memory;
	const struct spec_partition *partition = work->plan->partition;
	const struct spec *spec = work->spec;
	const struct spec_value *value = spec->resources.mem.given ? &spec->resources.mem
					 : spec->resources.mem_per_cpu.given
						 ? &spec->resources.mem_per_cpu
						 : &spec->resources.mem_per_gpu;
	const char *name = value == &spec->resources.mem           ? "mem"
			   : value == &spec->resources.mem_per_cpu ? "mem_per_cpu"
								   : "mem_per_gpu";
	const uint64_t cpus = plan_value(work->plan, PLAN_CPUS_PER_NODE);
	char what[96];
	int rc = 0;

	if (!value->given)
		return 0;
	snprintf(what, sizeof(what), "%s %.40s", name, value->text);
	if (value != &spec->resources.mem)
		snprintf(what, sizeof(what), "%s %.40s, %llu MiB a node,", name,
			 value->text, (unsigned long long)memory->per_node);
	if (partition->mem.given && memory->per_node > partition->mem.number &&
	    !on_other_nodes(work))
		rc = over(work, &value->place, what, "more", partition->mem.text);
	/* slurmctld then raises the CPUs of each task (_valid_pn_min_mem, job_mgr.c). */
	if (rc == 0 && partition->max_mem_per_cpu.number && cpus &&
	    memory->per_node > cpus * partition->max_mem_per_cpu.number)
		diag_add(work->diag, DIAG_WARNING, "plan-memory", &value->place,
			 "%s is more than partition %s allows for each of %llu CPUs, %s: "
			 "Slurm will take more CPUs than cpus_per_task says",
			 what, partition->name.text, (unsigned long long)cpus,
			 partition->max_mem_per_cpu.text);
	return rc;
}

static int check_time(struct plan_work *work)
{
	const struct spec_value *time = &work->spec->batch.time;
	const struct spec_value *limit = &work->plan->partition->time;
	char what[64];

	if (!time->given || !limit->given || time->number <= limit->number)
		return 0;
	snprintf(what, sizeof(what), "time %.40s", time->text);
	return over(work, &time->place, what, "more", limit->text);
}

/* TEXT is among the words of LIST, or nothing is known of it. */
static bool is_listed(const struct spec_value *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcasecmp(list->items[i].text, text) == 0)
			return true;
	}
	return !list->given;
}

static int check_words(struct plan_work *work)
{
	const struct spec_partition *partition = work->plan->partition;
	const struct {
		const struct spec_value *value, *list;
		const char *name;
	} rows[] = {
		{&work->spec->resources.gpu_type, &partition->gpu_types, "gpu_type"},
		{&work->spec->batch.qos, &partition->qos, "qos"},
		{&work->spec->batch.constraint, &partition->features, "constraint"},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct spec_value *value = rows[i].value, *list = rows[i].list;

		/* `a&b`, `[a|b]*2` and the like are slurmctld's to read. */
		if (!value->given || strpbrk(value->text, "&|[]()*,!") ||
		    is_listed(list, value->text))
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-limit", &value->place,
			 "%s %.60s is not among those of partition %s (%s)%s%.60s",
			 rows[i].name, value->text, partition->name.text, site_name(work),
			 list->count == 1 ? ": it has " : "",
			 list->count == 1 ? list->items[0].text : "");
		rc = -EINVAL;
	}
	return rc;
}

/* --gpus-per-task counts whole GPUs of each task; several tasks on one GPU have no
 * number. */
static int check_dialect(struct plan_work *work)
{
	const struct plan *plan = work->plan;

	if (work->failed || plan->dialect != SPEC_DIALECT_GPUS_PER_TASK || !work->gpus ||
	    plan_known(plan, PLAN_GPUS_PER_TASK))
		return 0;
	/* Something else is missing, and was told. */
	if (!plan_known(plan, PLAN_TASKS_PER_GPU))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-dialect",
		 plan_place_of(work, PLAN_TASKS_PER_GPU),
		 "tasks_per_gpu %llu cannot be asked for by --gpus-per-task, which %s "
		 "demands",
		 (unsigned long long)plan_value(plan, PLAN_TASKS_PER_GPU),
		 site_name(work));
	diag_fix(work->diag,
		 "a launcher of the node shape, as torchrun, can share a GPU here");
	return -EINVAL;
}

/*
 * GPUs of a job or a task are TRES that only cons_tres can place; those of a node are a
 * GRES that all can (gres_job_state_validate() in src/common/gres.c of Slurm 22.05,
 * src/interfaces/gres.c of 26.05).
 */
static int check_select(struct plan_work *work)
{
	const struct spec_site *site = work->site;
	const enum spec_dialect dialect = work->plan->dialect;

	if (!work->gpus || site->select.number == SPEC_SELECT_CONS_TRES ||
	    (dialect != SPEC_DIALECT_GPUS_PER_TASK && dialect != SPEC_DIALECT_GPUS))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-dialect", &site->gpu_dialect.place,
		 "gpu_dialect %s needs select/cons_tres, and the profile says select: %s",
		 site->gpu_dialect.text, site->select.text);
	diag_fix(work->diag, "gpu_dialect: gres");
	return -EINVAL;
}

/* Options that came with a later Slurm than the site's. */
static int check_version(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const unsigned int slurm = spec_site_slurm(work->site);
	const struct {
		const struct spec_value *value;
		const char *what;
		unsigned int since; /* CHANGELOG/slurm-24.05.md */
	} rows[] = {
		{&spec->resources.segment, "segment", 2405},
		{spec->resources.exclusive.given &&
				 strcmp(spec->resources.exclusive.text, "topo") == 0
			 ? &spec->resources.exclusive
			 : NULL,
		 "exclusive: topo", 2405},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!slurm || !rows[i].value || !rows[i].value->given ||
		    slurm >= rows[i].since)
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-version", &rows[i].value->place,
			 "%s came with Slurm %02u.%02u, and %s says slurm: %s",
			 rows[i].what, rows[i].since / 100, rows[i].since % 100,
			 site_name(work), work->site->slurm.text);
		rc = -EINVAL;
	}
	return rc;
}

/* slurmctld refuses a segment that does not divide the nodes (CHANGELOG 24.05). */
static int check_segment(struct plan_work *work)
{
	const struct spec_value *segment = &work->spec->resources.segment;
	const uint64_t nodes = plan_value(work->plan, PLAN_NODES);

	if (!segment->given || !nodes || nodes % segment->number == 0 || work->failed)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-identity", &segment->place,
		 "nodes %llu is not a multiple of segment %llu",
		 (unsigned long long)nodes, (unsigned long long)segment->number);
	return -EINVAL;
}

/* No node has as many; the plugin would end every task of such a step. */
static int check_gpus(struct plan_work *work)
{
	uint64_t gpus = plan_value(work->plan, PLAN_GPUS_PER_NODE);

	if (gpus <= LAUNCH_GPUS_MAX || !is_sound(work, PLAN_GPUS_PER_NODE))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-limit",
		 plan_place_of(work, PLAN_GPUS_PER_NODE),
		 "gpus_per_node %llu is more than the plugin takes: %d GPUs a node",
		 (unsigned long long)gpus, LAUNCH_GPUS_MAX);
	return -EINVAL;
}

int plan_check_limits(struct plan_work *work)
{
	static int (*const always[])(struct plan_work *) = {
		check_dialect, check_select, check_version,
		check_segment, check_gpus,   plan_check_nodelist,
	};
	static int (*const known[])(struct plan_work *) = {
		check_numbers,
		check_memory,
		check_time,
		check_words,
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		if (always[i](work) < 0)
			result = -EINVAL;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (work->plan->partition && known[i](work) < 0)
			result = -EINVAL;
	}
	return result;
}
