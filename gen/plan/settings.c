/* SPDX-License-Identifier: MIT */
/*
 * What the ranks are told: the value of SRANK, the variables that the script exports, and
 * how ranks meet where there is no plugin to find it out.
 */
#include "gen/plan/resolve.h"
#include "gen/plan/sweep.h"

#include "gen/spec/arena.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const addr_words[] = {"name", "ip", "nodeaddr"};

/* The text of OWN, else of OTHER, else FALLBACK. */
static const char *text_of(const struct spec_value *own, const struct spec_value *other,
			   const char *fallback)
{
	return own->given ? own->text : other->given ? other->text : fallback;
}

static enum spec_means choose_means(const struct plan_work *work)
{
	if (!work->spec->plugin.given)
		return spec_site_means(work->site);
	switch (work->spec->plugin.number) {
	case SPEC_PLUGIN_REQUIRE:
		return SPEC_MEANS_PLUGIN;
	case SPEC_PLUGIN_EXEC:
		return SPEC_MEANS_EXEC;
	case SPEC_PLUGIN_OFF:
		return SPEC_MEANS_SHELL;
	default:
		return spec_site_means(work->site);
	}
}

/* A value of the spec, and the key of the launch settings that it is for. */
struct part {
	const char *key;
	const char *text;
	const struct diag_place *place;
};

/*
 * Writes the settings one after the other, and has each read as the plugin will, so that
 * what does not go together (local=0 without mask, elastic= for another launcher) is told
 * here, with its place.
 */
static int add_part(struct plan_work *work, struct launch_settings *settings, FILE *out,
		    const struct part *part)
{
	struct launch_error error = {{0}};
	char entry[sizeof(settings->gpus_map) + 64];

	if (!part->text)
		return 0;
	snprintf(entry, sizeof(entry), "%s=%s", part->key, part->text);
	fprintf(out, ",%s", entry);
	if (launch_settings_parse(settings, entry, &error) == 0)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-settings", part->place, "%s", error.text);
	return -EINVAL;
}

/* "MIN:MAX" of a job whose nodes meet by c10d and do not change. */
static const char *fixed_elastic(struct plan_work *work)
{
	return spec_arena_format(&work->plan->arena, "%llu:%llu",
				 (unsigned long long)plan_value(work->plan, PLAN_NODES),
				 (unsigned long long)plan_value(work->plan, PLAN_NODES));
}

/* The text of the setting elastic=, or NULL; -EINVAL: another launcher, or no such nodes.
 */
static int take_elastic(struct plan_work *work, const char **text)
{
	const struct spec_value *elastic = &work->spec->rendezvous.elastic;
	const struct spec_value *backend = &work->spec->rendezvous.backend;
	const bool c10d = backend->given && strcmp(backend->text, "c10d") == 0;
	const bool on = elastic->given && strcmp(elastic->text, "off") != 0;
	const struct spec_value *value = on ? elastic : backend;
	const unsigned long long nodes = plan_value(work->plan, PLAN_NODES);
	unsigned long long least, most;

	*text = NULL;
	if (!on && !c10d)
		return 0;
	if (on && backend->given && !c10d) {
		diag_add(work->diag, DIAG_ERROR, "plan-settings", &backend->place,
			 "backend is %s, but elastic needs c10d", backend->text);
		return -EINVAL;
	}
	if (!launch_launcher_takes(work->plan->launcher, LAUNCH_VALUE_ELASTIC)) {
		diag_add(work->diag, DIAG_ERROR, "plan-settings", &value->place,
			 "%s is for launcher torchrun, and the launcher is %s",
			 on ? "elastic" : "backend", work->plan->launcher->name);
		return -EINVAL;
	}
	*text = on ? elastic->text : fixed_elastic(work);
	if (!*text)
		return -ENOMEM;
	/* A heterogeneous job's nodes are counted together, by the plugin. */
	if (!on || work->spec->entry.given ||
	    sscanf(elastic->text, "%llu:%llu", &least, &most) != 2 ||
	    (least <= nodes && nodes <= most))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-settings", &elastic->place,
		 "elastic %s does not fit %llu node%s: torchrun would wait for more, or "
		 "leave some out",
		 elastic->text, nodes, nodes == 1 ? "" : "s");
	return -EINVAL;
}

static int name_settings(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_site *site = work->site;
	struct plan *plan = work->plan;
	/* The plugin has the site's settings from plugstack.conf. */
	const bool own = plan->means == SPEC_MEANS_PLUGIN;
	const struct spec_value none = {0};
	const char *elastic, *copy;
	struct launch_settings settings;
	char port[16] = "", *text = NULL;
	size_t length;
	FILE *out;
	int result = take_elastic(work, &elastic);

	if (result == -ENOMEM)
		return result;
	if (spec->rendezvous.port.given && !spec->rendezvous.port.word)
		snprintf(port, sizeof(port), "%u",
			 (unsigned int)spec->rendezvous.port.number);
	out = open_memstream(&text, &length);
	if (!out)
		return -ENOMEM;
	launch_settings_init(&settings);
	fputs(plan->launcher->name, out);
	{
		const struct spec_value *omp = &spec->binding.omp_threads;
		const struct part parts[] = {
			{"gpus", spec->binding.gpus.text, &spec->binding.gpus.place},
			{"local", spec->binding.local.text, &spec->binding.local.place},
			{"port", port[0] ? port : NULL, &spec->rendezvous.port.place},
			{"ports",
			 text_of(&spec->rendezvous.ports, own ? &none : &site->ports,
				 NULL),
			 &spec->rendezvous.ports.place},
			{"addr",
			 text_of(&spec->rendezvous.addr, own ? &none : &site->addr, NULL),
			 &spec->rendezvous.addr.place},
			{"suffix",
			 text_of(&spec->rendezvous.suffix, own ? &none : &site->suffix,
				 NULL),
			 &spec->rendezvous.suffix.place},
			{"domain",
			 text_of(&spec->rendezvous.domain, own ? &none : &site->domain,
				 NULL),
			 &spec->rendezvous.domain.place},
			{"busy", spec->rendezvous.busy.text,
			 &spec->rendezvous.busy.place},
			{"omp",
			 omp->word && strcmp(omp->word, "keep") == 0 ? "keep" : NULL,
			 &omp->place},
			{"elastic", elastic, &spec->rendezvous.elastic.place},
			{"verbose", spec->rendezvous.verbose.number ? "on" : NULL,
			 &spec->rendezvous.verbose.place},
		};

		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			int rc = add_part(work, &settings, out, &parts[i]);

			if (rc < 0)
				result = rc;
		}
	}
	if (fclose(out) != 0)
		return -ENOMEM;
	copy = spec_arena_copy(&plan->arena, text, length);
	free(text);
	plan->srank = copy;
	return copy ? result : -ENOMEM;
}

static int take_rendezvous(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_site *site = work->site;
	struct plan_rendezvous *rendezvous = &work->plan->rendezvous;
	const char *ports = text_of(&spec->rendezvous.ports, &site->ports, NULL);
	const struct spec_value *port = &spec->rendezvous.port;
	unsigned int low = LAUNCH_PORT_LOW, high = LAUNCH_PORT_HIGH;

	/* Read by the launch settings, which have checked it. */
	if (ports)
		sscanf(ports, "%u-%u", &low, &high);
	rendezvous->addr = text_of(&spec->rendezvous.addr, &site->addr,
				   addr_words[LAUNCH_ADDR_NAME]);
	rendezvous->suffix = text_of(&spec->rendezvous.suffix, &site->suffix, "");
	rendezvous->domain = text_of(&spec->rendezvous.domain, &site->domain, "");
	rendezvous->port = port->given && !port->word ? (uint16_t)port->number : 0;
	rendezvous->port_low = (uint16_t)low;
	rendezvous->port_high = (uint16_t)high;
	rendezvous->reserved = port->word && strcmp(port->word, "resv") == 0;
	return 0;
}

/* One more variable; an error when the spec's own env has it. */
static int add_variable(struct plan_work *work, const char *name, const char *text,
			const char *key, const struct diag_place *place)
{
	struct plan *plan = work->plan;

	for (size_t i = 0; i < work->spec->env.count; i++) {
		const struct spec_item *item = &work->spec->env.items[i];

		if (strcmp(item->name, name) != 0)
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-settings", place,
			 "%s says what %s is, and so does env on line %u; remove one",
			 key, name, item->place.line);
		return -EINVAL;
	}
	if (!text)
		return -ENOMEM;
	plan->env[plan->env_count++] = (struct spec_item){name, text, *place};
	return 0;
}

static int take_variables(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	struct plan *plan = work->plan;
	const struct spec_value *master = &spec->rendezvous.master;
	const struct spec_value *omp = &spec->binding.omp_threads;
	const struct spec_value *restarts = &spec->rendezvous.max_restarts;
	int result = 0, rc = 0;

	plan->env = spec_arena_alloc(&plan->arena,
				     (spec->env.count + 3) * sizeof(*plan->env));
	if (!plan->env)
		return -ENOMEM;
	for (size_t i = 0; i < spec->env.count; i++)
		plan->env[plan->env_count++] = spec->env.items[i];
	if (master->given && strcmp(master->text, "first") != 0)
		result = add_variable(work, "MASTER_ADDR", master->text,
				      "rendezvous.master", &master->place);
	plan->omp_auto = !omp->given || (omp->word && strcmp(omp->word, "auto") == 0);
	if (omp->given && !omp->word)
		rc = add_variable(work, "OMP_NUM_THREADS",
				  spec_arena_format(&plan->arena, "%llu",
						    (unsigned long long)omp->number),
				  "binding.omp_threads", &omp->place);
	if (rc < 0)
		result = rc;
	if (!restarts->given)
		return result;
	if (!launch_launcher_takes(plan->launcher, LAUNCH_VALUE_ELASTIC)) {
		diag_add(work->diag, DIAG_ERROR, "plan-settings", &restarts->place,
			 "max_restarts is for launcher torchrun, and the launcher is %s",
			 plan->launcher->name);
		return -EINVAL;
	}
	/* The default of torchrun's --max-restarts (torch/distributed/run.py). */
	rc = add_variable(work, "PET_MAX_RESTARTS",
			  spec_arena_format(&plan->arena, "%llu",
					    (unsigned long long)restarts->number),
			  "rendezvous.max_restarts", &restarts->place);
	return rc < 0 ? rc : result;
}

/* An address where ranks of other nodes cannot meet, or no address at all. */
static int check_master(struct plan_work *work, const char *key, const char *host,
			const struct diag_place *place)
{
	const bool alone =
		plan_value(work->plan, PLAN_NODES) == 1 && !work->spec->entry.given;

	if (strncmp(host, "ifname:", 7) == 0) {
		diag_add(work->diag, DIAG_ERROR, "plan-settings", place,
			 "%s: the address of an interface cannot be named by %.60s", key,
			 host);
		diag_fix(work->diag,
			 "rendezvous.suffix or domain, which make of a node's "
			 "name that of its other interface");
		return -EINVAL;
	}
	if (strpbrk(host, " []")) {
		diag_add(work->diag, DIAG_ERROR, "plan-settings", place,
			 "%s: '%.60s' is neither a host nor an address; an IPv6 address "
			 "stands without brackets",
			 key, host);
		return -EINVAL;
	}
	if (alone || !launch_address_is_loopback(host))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-settings", place,
		 "%s: %s is another machine on every node, so the ranks would not meet",
		 key, host);
	diag_fix(work->diag, "remove it: rank 0's node is found at launch");
	return -EINVAL;
}

/* True when the tasks get NAME anew, whatever stands in the environment. */
static bool is_recomputed(const struct plan *plan, const char *name)
{
	const struct launch_variable *const lists[] = {
		launch_shape_variables(plan->shape), plan->launcher->variables};

	for (size_t i = 0; i < 2 && !plan->launcher->bare; i++) {
		for (const struct launch_variable *row = lists[i]; row && row->name;
		     row++) {
			if (!row->keep && strcmp(row->name, name) == 0)
				return true;
		}
	}
	return false;
}

/*
 * Variables by which srun sizes or finds a step (srun.1, INPUT ENVIRONMENT VARIABLES).
 * srun reads them behind the header, so the step would no longer be what was planned.
 */
static const struct {
	const char *name;
	enum plan_quantity quantity; /* PLAN_QUANTITIES: of none, whatever its value */
} step_variables[] = {
	{"SLURM_NNODES", PLAN_NODES},
	{"SLURM_JOB_NUM_NODES", PLAN_NODES},
	{"SLURM_NTASKS", PLAN_NTASKS},
	{"SLURM_NPROCS", PLAN_NTASKS},
	{"SLURM_NTASKS_PER_NODE", PLAN_NTASKS_PER_NODE},
	{"SLURM_CPUS_PER_TASK", PLAN_CPUS_PER_TASK},
	{"SRUN_CPUS_PER_TASK", PLAN_CPUS_PER_TASK},
	{"SLURM_CPUS_PER_GPU", PLAN_CPUS_PER_GPU},
	{"SLURM_GPUS", PLAN_GPUS},
	{"SLURM_GPUS_PER_NODE", PLAN_GPUS_PER_NODE},
	{"SLURM_GPUS_PER_TASK", PLAN_GPUS_PER_TASK},
	{"SLURM_NTASKS_PER_GPU", PLAN_TASKS_PER_GPU},
	{"SLURM_TASKS_PER_NODE", PLAN_QUANTITIES},
	{"SLURM_TRES_PER_TASK", PLAN_QUANTITIES},
	{"SLURM_GRES", PLAN_QUANTITIES},
	{"SLURM_STEP_GRES", PLAN_QUANTITIES},
	{"SLURM_JOB_ID", PLAN_QUANTITIES},
	{"SLURM_JOBID", PLAN_QUANTITIES},
	{"SLURM_JOB_NODELIST", PLAN_QUANTITIES},
	{"SLURM_NODELIST", PLAN_QUANTITIES},
};

static int refuse_variable(struct plan_work *work, const struct spec_item *item,
			   const char *why, const char *fix)
{
	diag_add(work->diag, DIAG_ERROR, "plan-settings", &item->place,
		 "env: srun reads %s itself, %s", item->name, why);
	diag_fix(work->diag, "%s", fix);
	return -EINVAL;
}

/* A variable that would make another step of the one that was planned. */
static int check_step_variable(struct plan_work *work, const struct spec_item *item)
{
	char number[24], why[96];

	if (strcmp(item->name, "SLURM_EXPORT_ENV") == 0)
		return strcmp(item->text, "NONE") != 0
			       ? 0
			       : refuse_variable(work, item,
						 "and the ranks would get none of env",
						 "remove it");
	for (size_t i = 0; i < sizeof(step_variables) / sizeof(step_variables[0]); i++) {
		const enum plan_quantity quantity = step_variables[i].quantity;

		if (strcmp(step_variables[i].name, item->name) != 0)
			continue;
		if (quantity == PLAN_QUANTITIES)
			return refuse_variable(work, item,
					       "and would no longer start what was "
					       "planned",
					       "remove it; the keys of resources size "
					       "the job");
		snprintf(number, sizeof(number), "%llu",
			 (unsigned long long)plan_value(work->plan, quantity));
		if (plan_known(work->plan, quantity) && strcmp(number, item->text) == 0)
			return 0;
		if (plan_known(work->plan, quantity))
			snprintf(why, sizeof(why), "and %s is %s, not %.20s",
				 plan_quantity_name(quantity), number, item->text);
		else
			snprintf(why, sizeof(why), "and nothing else says %s",
				 plan_quantity_name(quantity));
		return refuse_variable(work, item, why,
				       "remove it; the keys of resources size the job");
	}
	return 0;
}

/* Who a rank is, with one value for all of them. */
static bool is_shared_rank(const struct plan *plan, const struct spec_item *item)
{
	static const char *const names[] = {
		"RANK",
		"LOCAL_RANK",
		"HOROVOD_RANK",
		"HOROVOD_LOCAL_RANK",
		"PMI_RANK",
		"PMIX_RANK",
		"SLURM_PROCID",
		"SLURM_LOCALID",
		"SLURM_NODEID",
		"OMPI_COMM_WORLD_RANK",
		"OMPI_COMM_WORLD_LOCAL_RANK",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], item->name) == 0)
			return plan_value(plan, PLAN_WORLD_SIZE) > 1;
	}
	return false;
}

/* WORLD_SIZE that is another one than the ranks make; false when it is none. */
static bool is_wrong_size(const struct plan *plan, const struct spec_item *item)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)plan_value(plan, PLAN_WORLD_SIZE));
	return strcmp(item->name, "WORLD_SIZE") == 0 && item->text[0] &&
	       plan_known(plan, PLAN_WORLD_SIZE) && strcmp(number, item->text) != 0;
}

/* `$NAME` or `${NAME` in the value of NAME itself. */
static bool names_itself(const struct spec_item *item)
{
	const size_t length = strlen(item->name);

	for (const char *at = item->text; (at = strchr(at, '$'));) {
		at += at[1] == '{' ? 2 : 1;
		if (strncmp(at, item->name, length) == 0 &&
		    !isalnum((unsigned char)at[length]) && at[length] != '_')
			return true;
	}
	return false;
}

/*
 * A value is taken as written. One that is to add to what the variable has would take
 * that away instead, and without the folders of PATH no command of the script is found.
 */
static int check_value(struct plan_work *work, const struct spec_item *item)
{
	if (!names_itself(item))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-settings", &item->place,
		 "env: values are taken as written, so %s would lose what it has and get "
		 "the text `%.80s`",
		 item->name, item->text);
	if (strpbrk(item->text, "\"`\\\n") || strlen(item->text) > 200)
		diag_fix(work->diag, "export it in setup, where a shell expands it");
	else
		diag_fix(work->diag, "setup: export %s=\"%s\"", item->name, item->text);
	return -EINVAL;
}

/* FOLDER is an element of PATH. */
static bool has_folder(const char *path, const char *folder)
{
	const size_t length = strlen(folder);

	for (;; path++) {
		const size_t size = strcspn(path, ":");

		if (size == length && strncmp(path, folder, length) == 0)
			return true;
		path += size;
		if (!*path)
			return false;
	}
}

static void warn_path(struct plan_work *work, const struct spec_item *item)
{
	if (strcmp(item->name, "PATH") != 0 || has_folder(item->text, "/bin") ||
	    has_folder(item->text, "/usr/bin"))
		return;
	diag_add(work->diag, DIAG_WARNING, "plan-settings", &item->place,
		 "env: PATH is all of it, and the script finds srun and its other "
		 "commands "
		 "in %.80s only",
		 item->text[0] ? item->text : "no folder");
	diag_fix(work->diag, "setup: export PATH=\"%.80s:$PATH\"", item->text);
}

/* ITEM is a variable that all ranks get. */
static int check_variable(struct plan_work *work, const struct spec_item *item)
{
	int rc = 0;

	/* Empty counts as unset. */
	if (strcmp(item->name, "MASTER_ADDR") == 0 && item->text[0] &&
	    check_master(work, item->name, item->text, &item->place) < 0)
		rc = -EINVAL;
	if (check_step_variable(work, item) < 0)
		rc = -EINVAL;
	if (check_value(work, item) < 0)
		rc = -EINVAL;
	else
		warn_path(work, item);
	if (is_recomputed(work->plan, item->name))
		diag_add(work->diag, DIAG_WARNING, "plan-settings", &item->place,
			 "%s is each task's own with launcher %s, so this value is lost",
			 item->name, work->plan->launcher->name);
	else if (is_shared_rank(work->plan, item))
		diag_add(work->diag, DIAG_WARNING, "plan-settings", &item->place,
			 "%s is each rank's own, and env gives all of them %.20s",
			 item->name, item->text);
	else if (is_wrong_size(work->plan, item))
		diag_add(work->diag, DIAG_WARNING, "plan-settings", &item->place,
			 "WORLD_SIZE is %.20s in env, and the job has %llu ranks",
			 item->text,
			 (unsigned long long)plan_value(work->plan, PLAN_WORLD_SIZE));
	return rc;
}

/* Of an axis the values in which something is wrong, until one is found. */
static int check_axis(struct plan_work *work, const struct spec_axis *axis)
{
	const size_t before = work->diag->errors + work->diag->warnings;
	int rc = 0;

	for (size_t i = 0; i < axis->values.count; i++) {
		struct spec_item item = axis->values.items[i];

		item.name = axis->name.text;
		rc = check_variable(work, &item);
		if (work->diag->errors + work->diag->warnings > before)
			return rc;
	}
	return rc;
}

static int check_variables(struct plan_work *work)
{
	const struct spec_value *env = &work->spec->env;
	const struct spec_value *master = &work->spec->rendezvous.master;
	int rc = 0;

	if (master->given &&
	    check_master(work, "master", master->text, &master->place) < 0)
		rc = -EINVAL;
	for (size_t i = 0; i < env->count; i++) {
		if (check_variable(work, &env->items[i]) < 0)
			rc = -EINVAL;
	}
	/* The points of a sweep by files have their values in env. */
	for (size_t i = 0; i < plan_sweep_axes(work->spec); i++) {
		if (check_axis(work, plan_sweep_axis(work->spec, i)) < 0)
			rc = -EINVAL;
	}
	return rc;
}

int plan_resolve_settings(struct plan_work *work)
{
	int (*const parts[])(struct plan_work *) = {name_settings, take_rendezvous,
						    take_variables, check_variables};
	int result = 0;

	work->plan->means = choose_means(work);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int rc = parts[i](work);

		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			result = rc;
	}
	return result;
}
