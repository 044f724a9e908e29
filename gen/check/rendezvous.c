/* SPDX-License-Identifier: MIT */
/*
 * Rules about where the ranks meet: the address of rank 0, its port, and what the tasks
 * get to see of either.
 */
#include "gen/check/rules.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

/* Linux's default net.ipv4.ip_local_port_range. */
#define EPHEMERAL_FIRST 32768
#define EPHEMERAL_LAST  60999
#define PORT_FIRST      1024
#define PORT_LAST       65535

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

static bool is_launcher(const struct check_launch *launch)
{
	return launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH ||
	       launch->tool == CHECK_ACCELERATE;
}

static bool is_said(const struct check_launch *launch, enum check_key key)
{
	return launch->setting[key].name != NULL;
}

static bool is_elastic(const struct check_launch *launch)
{
	const struct check_setting *backend = &launch->setting[CHECK_KEY_BACKEND];

	return backend->name && !(backend->value.constant && backend->value.text &&
				  strcmp(backend->value.text, "static") == 0);
}

/* Nodes of STEP; NULL: of the job's largest part. -1: not known. */
static int64_t nodes_of(const struct rules *rules, const struct check_step *step)
{
	int64_t most = -1;

	if (step)
		return exactly(&step->amount[CHECK_NODES].number);
	for (size_t i = 0; i < rules->model->jobs_count; i++) {
		int64_t nodes =
			exactly(&rules->model->jobs[i].amount[CHECK_NODES].number);

		if (nodes > most)
			most = nodes;
	}
	return most;
}

/* ---- addresses ---- */

static bool is_loopback(const char *text, size_t length)
{
	return (length == 9 && memcmp(text, "localhost", 9) == 0) ||
	       (length >= 4 && memcmp(text, "127.", 4) == 0) ||
	       /* To connect to it is to connect to oneself (ip(7), INADDR_ANY). */
	       (length == 7 && memcmp(text, "0.0.0.0", 7) == 0) ||
	       (length == 3 && memcmp(text, "::1", 3) == 0) ||
	       (length == 5 && memcmp(text, "[::1]", 5) == 0);
}

/* A command of the substitution that is called one of NAMES. */
static const struct check_command *inside(const struct check_model *model,
					  const struct check_expansion *expansion,
					  const char *const *names)
{
	for (size_t i = expansion->first;
	     i < expansion->last && i < model->commands_count; i++) {
		if (is_one_of(names, model->commands[i]->name))
			return model->commands[i];
	}
	return NULL;
}

static const char *const asks_slurm[] = {"scontrol", "hostlist", "nodeset", "srun",
					 "cluset",   "expand",   NULL};

static const char *const own_host[] = {"hostname", "ip",          "ifconfig",
				       "uname",    "hostnamectl", NULL};

/* python -c '... socket.gethostname() ...', cat /etc/hostname */
static bool asks_itself(const struct check_model *model,
			const struct check_expansion *expansion)
{
	static const char *const parts[] = {"gethostname", "getfqdn", "/etc/hostname",
					    "platform.node"};

	for (size_t i = expansion->first;
	     i < expansion->last && i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		for (size_t j = 1; j < command->words_count; j++) {
			for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
				if (strstr(command->words[j].text, parts[k]))
					return true;
			}
		}
	}
	return false;
}

static bool is_nodelist(const char *name)
{
	static const char *const names[] = {
		"SLURM_JOB_NODELIST",
		"SLURM_NODELIST",
		"SLURM_STEP_NODELIST",
		NULL,
	};

	return name && is_one_of(names, name);
}

static const struct check_expansion *
nodelist_within(const struct check_expansion *expansions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct check_expansion *found;

		if (expansions[i].kind == CHECK_PARAMETER &&
		    is_nodelist(expansions[i].name))
			return &expansions[i];
		found = nodelist_within(expansions[i].inner, expansions[i].inner_count);
		if (found)
			return found;
	}
	return NULL;
}

/* Text tools that know of the brackets get most lists right. */
static bool minds_brackets(const char *text)
{
	return strstr(text, "\\[") || strstr(text, "[[") || strcmp(text, "[") == 0 ||
	       strstr(text, "'['") || strstr(text, "[]") || strcmp(text, "[]") == 0;
}

/* The list of nodes goes through text tools: told at WHERE. */
static bool is_cut_by_hand(const struct check_model *model,
			   const struct check_expansion *expansion, bool *brackets)
{
	bool list = false;

	if (expansion->kind == CHECK_PARAMETER) {
		const char *op = expansion->op;

		*brackets = false;
		for (size_t i = 0; op && i < expansion->length; i++) {
			const char *text = model->source.text + expansion->range.begin;

			if (expansion->range.begin + i < expansion->range.end &&
			    (text[i] == '[' || text[i] == ']'))
				*brackets = true;
		}
		return is_nodelist(expansion->name) && op && *op &&
		       strchr("%#/:", op[0]) && strcmp(op, ":-") != 0;
	}
	if (expansion->kind != CHECK_SUBSTITUTE || inside(model, expansion, asks_slurm))
		return false;
	*brackets = false;
	for (size_t i = expansion->first;
	     i < expansion->last && i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		/* An interpreter may well know the whole grammar. */
		if (command->tool == CHECK_PYTHON || command->tool == CHECK_PROGRAM)
			return false;
		for (size_t j = 0; j < command->words_count; j++) {
			const struct check_value *word = &command->words[j];

			list |= nodelist_within(word->expansions,
						word->expansions_count) != NULL;
			*brackets |= j > 0 && minds_brackets(word->text);
		}
		if (command->node) {
			const struct shell_redirect *r = command->node->redirects;

			for (; r; r = r->next) {
				const struct shell_word *word = r->target;
				const struct shell_piece *piece =
					word ? word->pieces : NULL;

				for (; piece; piece = piece->next)
					list |= piece->kind == SHELL_PARAMETER &&
						is_nodelist(piece->text);
			}
		}
	}
	return list;
}

static void cut_by_hand(struct rules *rules, const struct check_expansion *expansion,
			int64_t nodes)
{
	const char *text = rules->model->source.text;
	struct script_range range = expansion->range;
	bool brackets = false;

	if (nodes == 1 || !is_cut_by_hand(rules->model, expansion, &brackets))
		return;
	if (!rules_tell_as(
		    rules, RULE_HAND_PARSED_NODELIST,
		    brackets || nodes < 2 ? DIAG_WARNING : DIAG_ERROR, range,
		    brackets ? "a list such as rack-1n[2-3],rack-2n1 is not cut right"
			     : "a list such as node[1-3] or node[1,3] is not cut "
			       "right"))
		return;
	rules_fix(rules, "write $(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
			 "head -n 1)");
	if (expansion->shell && expansion->shell->where == CHECK_BATCH &&
	    range.end > range.begin && text[range.begin] == '$')
		rules_edit(
			rules, range,
			"$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)");
}

/* `... || echo localhost` */
static void falls_back(struct rules *rules, const struct check_expansion *expansion,
		       int64_t nodes)
{
	const struct check_model *model = rules->model;

	for (size_t i = expansion->first;
	     i < expansion->last && i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (!command->conditional || strcmp(command->name, "echo") != 0 ||
		    command->words_count != 2)
			continue;
		if (nodes != 1 &&
		    is_loopback(command->words[1].text, command->words[1].length))
			rules_tell(rules, RULE_LOOPBACK_FALLBACK, command->range,
				   "where the command before fails, each node takes %s "
				   "for the "
				   "master",
				   command->words[1].text);
	}
}

/* The host in [SCHEME://]HOST[:PORT], as far as TEXT says it. */
static const char *host_of(const char *text, size_t *length)
{
	const char *scheme = strstr(text, "://"), *colon;

	if (scheme)
		text = scheme + 3;
	*length = strlen(text);
	if (text[0] == '[' && strchr(text, ']')) {
		*length = (size_t)(strchr(text, ']') + 1 - text);
	} else {
		colon = strchr(text, ':');
		/* More than one colon is a bare IPv6 address. */
		if (colon && !strchr(colon + 1, ':'))
			*length = (size_t)(colon - text);
	}
	return text;
}

/*
 * False: every step begins on the batch host, so that its name is that of rank 0's node.
 * The header's own -w changes nothing of that: Slurm sorts the job's nodes.
 */
static bool picks_nodes(const struct check_model *model)
{
	const struct script_use *order =
		script_header_find(&model->header, 0, "distribution");

	if (model->jobs_count > 1)
		return true;
	for (size_t i = 0; i < model->steps_count; i++) {
		const struct check_step *step = model->steps[i];
		const struct script_use *use =
			step->distribution ? step->distribution : order;
		const char *value = use ? use->value : NULL;

		if (step->nodelist || step->relative || step->opaque ||
		    check_step_find(step, "exclude") ||
		    (value && strncasecmp(value, "arbitrary", 9) == 0))
			return true;
	}
	return false;
}

/* The own name of a host, which is another one on each. */
static void own_name(struct rules *rules, const char *name,
		     const struct check_expansion *expansion, struct script_range where,
		     int64_t nodes, bool branch)
{
	const bool in_step = expansion->shell && expansion->shell->where == CHECK_STEP;
	/* srun copies HOSTNAME, so that one is the batch host's everywhere. */
	const bool copied = expansion->kind == CHECK_PARAMETER &&
			    strcmp(expansion->name, "HOSTNAME") == 0;

	if (nodes < 2)
		return;
	if (rules->picks_nodes == 0)
		rules->picks_nodes = picks_nodes(rules->model) ? 1 : -1;
	if (!in_step && !rules->options->pedantic && rules->picks_nodes < 0)
		return;
	if (!in_step)
		rules_tell(rules, RULE_BATCH_HOSTNAME_MASTER, where,
			   "%s is the batch host, which is rank 0's node unless a step "
			   "picks "
			   "its nodes",
			   name);
	else if (!copied && !branch)
		rules_tell(rules, RULE_STEP_HOSTNAME_MASTER, where,
			   "each of " LL " nodes takes itself for the master", nodes);
}

/*
 * Of each assignment of MASTER_ADDR, by its index, whether rank 0 itself listens there:
 * the store of c10d may be on any node. NULL: no memory, and RULES knows.
 */
static const bool *listened_at(struct rules *rules)
{
	const struct check_model *model = rules->model;
	bool *listened =
		spec_arena_alloc(&rules->model->arena, model->assignments_count + 1);

	if (!listened) {
		rules->rc = -ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const struct check_assignment *set =
			launch->command->sees[CHECK_MASTER_ADDR];

		if (!set || !launch->step || launch->step->kind != CHECK_STEP_SRUN ||
		    rules_skips(launch))
			continue;
		listened[set->index] |= is_launcher(launch)
						? is_said(launch, CHECK_KEY_ADDRESS) &&
							  !is_elastic(launch)
						: exactly(&launch->copies) != 1;
	}
	return listened;
}

/* Who gets an address. */
struct teller {
	const struct check_step *step; /* that it is for; NULL: not known */
	bool listens;                  /* rank 0 does so there */
	bool branch;                   /* other tasks get another one */
};

/* `if [ $SLURM_NODEID -eq 0 ]; then X=$(hostname); else X=...; fi` in a step. */
static bool is_one_branch(const struct check_assignment *set,
			  const struct check_assignment *other)
{
	return other && other->conditional && other->shell == set->shell &&
	       set->conditional && set->shell->where == CHECK_STEP;
}

/* Several hosts, or one that rank 0 does not run on. */
static void picked_host(struct rules *rules, const char *name,
			const struct check_expansion *expansion,
			struct script_range where, int64_t nodes, bool listens)
{
	const struct check_model *model = rules->model;
	const enum rules_hosts hosts = rules_hosts(model, expansion, nodes);

	if (nodes < 2 || hosts == RULES_HOSTS_UNKNOWN || hosts == RULES_HOSTS_FIRST)
		return;
	if (hosts == RULES_HOSTS_SEVERAL) {
		rules_tell(rules, RULE_MASTER_NOT_FIRST_HOST, where,
			   "%s is several of the job's " LL " hosts, and not one", name,
			   nodes);
		return;
	}
	if (rules->picks_nodes == 0)
		rules->picks_nodes = picks_nodes(model) ? 1 : -1;
	if (rules->picks_nodes > 0 || !listens)
		return;
	rules_tell(rules, RULE_MASTER_NOT_FIRST_HOST, where,
		   "%s is %s of " LL " hosts, and rank 0 runs on the first", name,
		   hosts == RULES_HOSTS_LAST ? "the last" : "another", nodes);
}

/* $(hostname -I), all of it: hosts of a cluster have more than one address. */
static void all_addresses(struct rules *rules, const char *name,
			  const struct check_expansion *expansion,
			  struct script_range where)
{
	const struct check_command *command =
		expansion->last == expansion->first + 1 &&
				expansion->first < rules->model->commands_count
			? rules->model->commands[expansion->first]
			: NULL;

	if (command && command->words_count == 2 &&
	    strcmp(command->name, "hostname") == 0 &&
	    (strcmp(command->words[1].text, "-I") == 0 ||
	     strcmp(command->words[1].text, "--all-ip-addresses") == 0) &&
	    rules_tell_as(rules, RULE_MASTER_NOT_FIRST_HOST, DIAG_WARNING, where,
			  "%s is all addresses of the host, with blanks between", name))
		rules_fix(rules, "write $(scontrol show hostnames "
				 "\"$SLURM_JOB_NODELIST\" | head -n 1)");
}

static void expanded_address(struct rules *rules, const char *name,
			     const struct check_expansion *expansion,
			     struct script_range where, const struct teller *teller)
{
	const struct check_model *model = rules->model;
	const bool in_step = expansion->shell && expansion->shell->where == CHECK_STEP;
	int64_t nodes = nodes_of(rules, in_step ? expansion->shell->step : teller->step);
	const char *of = expansion->name;
	const struct check_assignment *set;
	bool brackets;

	if (expansion->shell && expansion->shell->where == CHECK_ELSEWHERE)
		return;
	cut_by_hand(rules, expansion, nodes);
	picked_host(rules, name, expansion, where, nodes, teller->listens);
	if (expansion->kind == CHECK_SUBSTITUTE) {
		falls_back(rules, expansion, nodes);
		if (!inside(model, expansion, asks_slurm) &&
		    (inside(model, expansion, own_host) || asks_itself(model, expansion)))
			own_name(rules, name, expansion, where, nodes, teller->branch);
		all_addresses(rules, name, expansion, where);
		return;
	}
	if (expansion->kind != CHECK_PARAMETER || !of)
		return;
	if (strcmp(of, "SLURM_SUBMIT_HOST") == 0) {
		rules_tell(
			rules, RULE_SUBMIT_HOST_MASTER, where,
			"%s is the host where sbatch was called, and no rank runs there",
			name);
	} else if (strcmp(of, "SLURM_LAUNCH_NODE_IPADDR") == 0) {
		rules_tell(rules, RULE_LAUNCH_NODE_IPADDR, where,
			   "SLURM_LAUNCH_NODE_IPADDR is the host of this srun, which "
			   "need not "
			   "be rank 0's");
	} else if (strcmp(of, "SLURMD_NODENAME") == 0 || strcmp(of, "HOSTNAME") == 0 ||
		   strcmp(of, "SLURM_TOPOLOGY_ADDR") == 0) {
		own_name(rules, name, expansion, where, nodes, teller->branch);
	} else if (is_nodelist(of)) {
		if (nodes > 1 && (!expansion->op || !*expansion->op))
			rules_tell(rules, RULE_HAND_PARSED_NODELIST, where,
				   "%s is the list of all " LL " nodes", name, nodes);
	} else {
		/* ${NODES[0]} of a list that was made by hand. */
		set = rules_set_above(model, of, where.begin);
		for (size_t i = 0; set && i < set->value.expansions_count; i++) {
			if (is_cut_by_hand(model, &set->value.expansions[i], &brackets))
				cut_by_hand(rules, &set->value.expansions[i], nodes);
		}
	}
}

/* A host's name or address that stands in the script, for a job that may get any. */
static void fixed_host(struct rules *rules, const char *name, const char *host,
		       size_t length, const struct check_value *value,
		       struct script_range where, int64_t nodes)
{
	const struct check_model *model = rules->model;

	if (length == 0 || nodes < 1 || is_loopback(host, length) ||
	    !isalnum((unsigned char)host[0]) ||
	    (value->expansions_count > 0 &&
	     value->expansions[0].at < (uint32_t)(host + length - value->text)) ||
	    script_header_find(&model->header, 0, "nodelist") ||
	    script_header_find(&model->header, 0, "reservation"))
		return;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)host[i]) && !strchr(".-:", host[i]))
			return;
	}
	if (rules->picks_nodes == 0)
		rules->picks_nodes = picks_nodes(model) ? 1 : -1;
	if (rules->picks_nodes > 0)
		return;
	rules_tell(rules, RULE_MASTER_FIXED, where,
		   "%s is %.*s in every job, which may get other nodes", name,
		   (int)length, host);
}

/* NAME is MASTER_ADDR or an option; what is said of it is said at WHERE. */
static void address(struct rules *rules, const char *name,
		    const struct check_value *value, struct script_range where,
		    const struct teller *teller)
{
	int64_t nodes = nodes_of(rules, teller->step);
	size_t length;
	const char *host;

	if (!value->text)
		return;
	host = host_of(value->text, &length);
	if (nodes > 1 && is_loopback(host, length)) {
		rules_tell(rules, RULE_LOOPBACK_MASTER, where,
			   "%s is %.*s, which is another machine on each of " LL " nodes",
			   name, (int)length, host, nodes);
		return;
	}
	fixed_host(rules, name, host, length, value, where, nodes);
	for (size_t i = 0; i < value->expansions_count; i++) {
		const struct check_expansion *expansion = &value->expansions[i];

		/* What stands behind the host is the port. */
		if (expansion->at < (uint32_t)(host + length - value->text))
			expanded_address(rules, name, expansion, where, teller);
	}
}

/*
 * For each byte of the script the furthest end of an assignment of one of NAMES that
 * begins there or before, so that one look says whether a range is within such a one.
 * NULL: no memory, and RULES knows.
 */
static const uint32_t *assigned(struct rules *rules, const char *const *names)
{
	const struct check_model *model = rules->model;
	const size_t length = model->source.length;
	uint32_t *reach =
		spec_arena_alloc(&rules->model->arena, (length + 1) * sizeof(*reach));

	if (!reach) {
		rules->rc = -ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (is_one_of(names, set->name) && set->range.begin <= length &&
		    reach[set->range.begin] < set->range.end)
			reach[set->range.begin] = set->range.end;
	}
	for (size_t i = 1; i <= length; i++) {
		if (reach[i] < reach[i - 1])
			reach[i] = reach[i - 1];
	}
	return reach;
}

static bool is_within(const struct check_model *model, const uint32_t *reach,
		      struct script_range range)
{
	return range.begin <= model->source.length && reach[range.begin] >= range.end &&
	       reach[range.begin] > 0;
}

static void addresses(struct rules *rules)
{
	static const char *const names[] = {
		"MASTER_ADDR",       "PET_MASTER_ADDR",
		"PET_RDZV_ENDPOINT", "JAX_COORDINATOR_ADDRESS",
		"master_addr",       NULL};
	const struct check_model *model = rules->model;
	const uint32_t *reach = assigned(rules, names);
	const bool *listened = listened_at(rules);
	const struct check_assignment *last = NULL;

	if (!reach || !listened)
		return;
	/* Backwards, so that the one behind is known. */
	for (size_t i = model->assignments_count; i-- > 0;) {
		const struct check_assignment *set = model->assignments[i];
		const bool branch =
			is_one_branch(set, set->earlier) || is_one_branch(set, last);

		if (!is_one_of(names, set->name))
			continue;
		if (strcmp(set->name, names[0]) == 0)
			last = set;
		if (set->shell->where != CHECK_ELSEWHERE && !set->unset && !set->opaque)
			address(rules, set->name, &set->value, set->range,
				&(struct teller){set->shell->step, listened[i], branch});
	}
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const enum check_key keys[] = {CHECK_KEY_ADDRESS, CHECK_KEY_ENDPOINT};

		if (rules_skips(launch))
			continue;
		for (size_t j = 0; j < 2; j++) {
			const struct check_setting *setting = &launch->setting[keys[j]];
			struct script_range where = setting->value.source;

			/* What comes from MASTER_ADDR was told of there. */
			if (!setting->name || setting->assignment)
				continue;
			if (is_within(model, reach, where))
				where.end = where.begin;
			if (setting->value.constant && range_is_empty(where))
				continue;
			if (range_is_empty(where))
				where = setting->range;
			if (setting->value.expansions_count > 0 &&
			    is_within(model, reach, setting->value.expansions[0].range))
				continue;
			address(rules, setting->name, &setting->value, where,
				&(struct teller){launch->step,
						 is_launcher(launch) &&
							 !is_elastic(launch)});
		}
	}
}

/*
 * The variable that VALUE's part from AT on is, all of it, when nobody sets that one: not
 * the script, nor Slurm, nor anything that may set any; NULL: otherwise.
 */
static const char *unset_variable(const struct rules *rules,
				  const struct check_command *command,
				  const struct check_value *value, uint32_t at)
{
	static const char *const shells[] = {"UID",  "EUID", "PPID",     "USER",
					     "HOME", "HOST", "HOSTNAME", NULL};
	const struct check_model *model = rules->model;
	const struct check_expansion *first;
	/* A function may be called when more is set than where it stands. */
	uint32_t before = command->function || !command->node
				  ? UINT32_MAX
				  : command->node->range.begin;
	const char *name;
	size_t i = 0;

	while (i < value->expansions_count && value->expansions[i].at < at)
		i++;
	if (i == value->expansions_count)
		return NULL;
	first = &value->expansions[i];
	name = first->name;
	if (before < first->range.begin)
		before = first->range.begin;
	if (command->sourced || script_header_find(&model->header, 0, "export") ||
	    first->kind != CHECK_PARAMETER || !name || first->at != at ||
	    (first->op && *first->op) || first->number.known ||
	    !(isalpha((unsigned char)name[0]) || name[0] == '_') ||
	    strncmp(name, "SLURM", 5) == 0 || is_one_of(shells, name) ||
	    rules_set_above(model, name, before))
		return NULL;
	return name;
}

/* --rdzv_endpoint=$H:29500, and the script has no H. */
static void set_nowhere(struct rules *rules, const struct check_launch *launch)
{
	static const enum check_key keys[] = {CHECK_KEY_ADDRESS, CHECK_KEY_ENDPOINT};

	if (!is_launcher(launch))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct check_setting *setting = &launch->setting[keys[i]];
		const char *name = setting->name ? unset_variable(rules, launch->command,
								  &setting->value, 0)
						 : NULL;

		if (name)
			rules_tell_as(rules, RULE_MASTER_MISSING, DIAG_WARNING,
				      setting->range,
				      "%s is $%s, which this script does not set",
				      setting->name, name);
	}
}

/* Where the value of an endpoint's port begins in its text. */
static uint32_t port_begins(const struct check_setting *setting, enum check_key key)
{
	const char *text = setting->value.text, *colon = text ? strrchr(text, ':') : NULL;

	return key == CHECK_KEY_ENDPOINT && colon ? (uint32_t)(colon + 1 - text) : 0;
}

/* --master_port= and --rdzv_endpoint=HOST:, or a variable that nobody sets. */
static void no_port(struct rules *rules, const struct check_launch *launch)
{
	static const enum check_key keys[] = {CHECK_KEY_PORT, CHECK_KEY_ENDPOINT};
	const struct check_command *command = launch->command;
	const struct check_assignment *set = command->sees[CHECK_MASTER_PORT];
	const char *name;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct check_setting *setting = &launch->setting[keys[i]];
		const uint32_t at = port_begins(setting, keys[i]);

		if (!setting->name || !setting->value.text ||
		    (keys[i] == CHECK_KEY_ENDPOINT && at == 0))
			continue;
		name = unset_variable(rules, command, &setting->value, at);
		if (at == setting->value.length)
			rules_tell(rules, RULE_PORT_MISSING, setting->range,
				   "%s has no port", setting->name);
		else if (name)
			rules_tell_as(rules, RULE_PORT_MISSING, DIAG_WARNING,
				      setting->range,
				      "the port of %s is $%s, which this script does not "
				      "set",
				      setting->name, name);
	}
	if (!set || set->unset || set->opaque || is_launcher(launch) || launch->parent ||
	    !set->value.text || is_said(launch, CHECK_KEY_PORT) ||
	    is_said(launch, CHECK_KEY_ENDPOINT))
		return;
	name = unset_variable(rules, command, &set->value, 0);
	if (set->value.length == 0)
		rules_tell(rules, RULE_PORT_MISSING, set->range, "%s is empty",
			   set->name);
	else if (name)
		rules_tell_as(rules, RULE_PORT_MISSING, DIAG_WARNING, set->range,
			      "%s is $%s, which this script does not set", set->name,
			      name);
}

static void missing(struct rules *rules, const struct check_launch *launch)
{
	const struct check_command *command = launch->command;
	int64_t nodes = nodes_of(rules, launch->step), tasks;

	if (!launch->step || launch->step->kind != CHECK_STEP_SRUN || launch->parent ||
	    rules_has_plugin(rules, launch) || is_said(launch, CHECK_KEY_CONFIG))
		return;
	tasks = exactly(&launch->step->amount[CHECK_NTASKS].number);
	if (is_launcher(launch)) {
		const struct check_setting *machines = &launch->setting[CHECK_KEY_NNODES];

		if (nodes < 2 || is_said(launch, CHECK_KEY_STANDALONE) ||
		    is_said(launch, CHECK_KEY_ADDRESS) ||
		    is_said(launch, CHECK_KEY_ENDPOINT) || !machines->name ||
		    exactly(&machines->number) == 1)
			return;
		for (size_t i = 1; i < command->words_count && i < command->operand;
		     i++) {
			const struct check_value *word = &command->words[i];

			/* A word that may hold any options. */
			if (!word->constant && !word->quoted && word->text[0] == '$')
				return;
		}
		rules_tell(rules, RULE_MASTER_MISSING, command->range,
			   "%s is not told where its " LL
			   " nodes meet, and takes 127.0.0.1%s",
			   command->name, nodes,
			   command->sees[CHECK_MASTER_ADDR]
				   ? ": it does not read MASTER_ADDR"
				   : "");
	} else if (tasks > 1 && command->sees[CHECK_RANK] &&
		   !command->sees[CHECK_MASTER_ADDR] && !command->sourced &&
		   !is_said(launch, CHECK_KEY_ENDPOINT) &&
		   !is_said(launch, CHECK_KEY_ADDRESS) &&
		   !is_said(launch, CHECK_KEY_LAUNCHER)) {
		rules_tell_as(rules, RULE_MASTER_MISSING, DIAG_WARNING,
			      command->sees[CHECK_RANK]->range,
			      LL
			      " tasks get a RANK, and nobody sets MASTER_ADDR for them",
			      tasks);
	} else if (tasks > 1 && command->sees[CHECK_RANK] &&
		   command->sees[CHECK_MASTER_ADDR] &&
		   (!command->sees[CHECK_MASTER_PORT] ||
		    command->sees[CHECK_MASTER_PORT]->unset) &&
		   !command->sourced && !is_said(launch, CHECK_KEY_ENDPOINT) &&
		   !is_said(launch, CHECK_KEY_PORT) &&
		   !is_said(launch, CHECK_KEY_LAUNCHER)) {
		rules_tell_as(rules, RULE_PORT_MISSING, DIAG_WARNING,
			      command->sees[CHECK_MASTER_ADDR]->range,
			      LL " tasks get MASTER_ADDR, and nobody sets MASTER_PORT "
				 "for them",
			      tasks);
	}
}

/* ---- ports ---- */

static bool has_octal(const struct check_expansion *expansions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((expansions[i].octal && expansions[i].kind == CHECK_ARITHMETIC) ||
		    has_octal(expansions[i].inner, expansions[i].inner_count))
			return true;
	}
	return false;
}

/* $((20000 + id)) with digits in `id` that may begin with 0. */
static bool names_octal(const struct check_model *model,
			const struct check_expansion *expansion)
{
	const char *text = model->source.text;
	const struct script_range range = expansion->range;

	if (expansion->kind != CHECK_ARITHMETIC)
		return false;
	for (uint32_t at = range.begin; at < range.end; at++) {
		const struct check_assignment *set;
		char name[64];
		size_t length = 0;
		uint32_t back;

		if (!isalpha((unsigned char)text[at]) && text[at] != '_')
			continue;
		/* 10#$id is decimal. */
		for (back = at; back > range.begin && strchr("${", text[back - 1]);)
			back--;
		if (back > range.begin &&
		    (text[back - 1] == '#' || isalnum((unsigned char)text[back - 1])))
			continue;
		while (at < range.end && length + 1 < sizeof(name) &&
		       (isalnum((unsigned char)text[at]) || text[at] == '_'))
			name[length++] = text[at++];
		name[length] = '\0';
		set = rules_set_above(model, name, range.begin);
		for (size_t i = 0; set && i < set->value.expansions_count; i++) {
			if (set->value.expansions[i].octal)
				return true;
		}
	}
	return false;
}

/* Drawn anew wherever it is computed, which is in every task. */
static bool is_drawn_in_step(const struct check_model *model,
			     const struct check_expansion *expansions, size_t count)
{
	static const char *const draws[] = {"shuf",    "python", "python3", "comm",
					    "ss",      "jot",    "netstat", "date",
					    "uuidgen", NULL};

	for (size_t i = 0; i < count; i++) {
		const struct check_expansion *expansion = &expansions[i];
		const struct check_step *step =
			expansion->shell ? expansion->shell->step : NULL;

		if (!step || expansion->shell->where != CHECK_STEP ||
		    exactly(&step->amount[CHECK_NTASKS].number) == 1)
			continue;
		if (expansion->number.varies &
		    (CHECK_AT_RANDOM | CHECK_PER_TASK | CHECK_PER_NODE))
			return true;
		if (expansion->name && strcmp(expansion->name, "RANDOM") == 0)
			return true;
		if (expansion->kind == CHECK_SUBSTITUTE &&
		    inside(model, expansion, draws))
			return true;
		if (is_drawn_in_step(model, expansion->inner, expansion->inner_count))
			return true;
	}
	return false;
}

/* Made from the user and not from the job, so that a user's jobs share it. */
static bool is_of_user(const struct check_model *model,
		       const struct check_expansion *expansions, size_t count, bool *job)
{
	static const char *const users[] = {"USER", "UID", "EUID", "LOGNAME", NULL};
	static const char *const asks[] = {"id", "whoami", "logname", NULL};
	bool user = false;

	for (size_t i = 0; i < count; i++) {
		const struct check_expansion *expansion = &expansions[i];
		const char *name = expansion->name;

		if (expansion->number.varies & (CHECK_PER_JOB | CHECK_AT_RANDOM) ||
		    (name && (strstr(name, "JOB") || strstr(name, "ARRAY") ||
			      strstr(name, "STEP"))))
			*job = true;
		user |= name && is_one_of(users, name);
		if (expansion->kind == CHECK_SUBSTITUTE)
			user |= inside(model, expansion, asks) != NULL;
		user |= is_of_user(model, expansion->inner, expansion->inner_count, job);
		for (size_t j = expansion->first;
		     expansion->kind == CHECK_SUBSTITUTE && j < expansion->last &&
		     j < model->commands_count;
		     j++) {
			const struct check_command *command = model->commands[j];

			for (size_t k = 0; k < command->words_count; k++)
				user |= is_of_user(model, command->words[k].expansions,
						   command->words[k].expansions_count,
						   job);
		}
	}
	return user;
}

static void port(struct rules *rules, const char *name, const struct check_value *value,
		 const struct check_number *number, struct script_range where, bool whole)
{
	int64_t exact = exactly(number);
	bool job = false;

	if (is_drawn_in_step(rules->model, value->expansions, value->expansions_count)) {
		rules_tell(rules, RULE_PORT_PER_TASK, where,
			   "%s is drawn in every task, so the tasks do not agree on it",
			   name);
		return;
	}
	if (has_octal(value->expansions, value->expansions_count) ||
	    (value->expansions_count > 0 &&
	     names_octal(rules->model, &value->expansions[0])))
		rules_tell(rules, RULE_PORT_OCTAL, where,
			   "digits cut from the job id may begin with 0, which makes "
			   "them octal "
			   "in $(( ))");
	if (!whole &&
	    is_of_user(rules->model, value->expansions, value->expansions_count, &job) &&
	    !job) {
		rules_tell(rules, RULE_FIXED_PORT, where,
			   "%s is the same in all jobs of a user", name);
		return;
	}
	/* Port 0 is any free one. */
	if (!number->known || exact == 0)
		return;
	if (number->high > PORT_LAST) {
		if (exact > 0)
			rules_tell(rules, RULE_PORT_OUT_OF_RANGE, where,
				   "%s is " LL ", and the last port is 65535", name,
				   exact);
		else
			rules_tell(rules, RULE_PORT_OUT_OF_RANGE, where,
				   "%s can be up to " LL ", and the last port is 65535",
				   name, number->high);
		return;
	}
	if (number->low < PORT_FIRST) {
		rules_tell(rules, RULE_PORT_PRIVILEGED, where,
			   exact > 0 ? "%s is " LL ", and ports below 1024 are root's"
				     : "%s can be " LL
				       ", and ports below 1024 are root's",
			   name, number->low);
		return;
	}
	if (exact > 0 && !whole) {
		rules_tell(rules, RULE_FIXED_PORT, where, "%s is " LL " in every job%s",
			   name, exact,
			   exact >= EPHEMERAL_FIRST && exact <= EPHEMERAL_LAST
				   ? ", and among those that the system gives to clients"
				   : "");
		return;
	}
	if (number->high >= EPHEMERAL_FIRST && number->low <= EPHEMERAL_LAST)
		rules_tell(rules, RULE_PORT_EPHEMERAL, where,
			   exact > 0 ? "%s is " LL
				       ", which the system may give to a client"
				     : "%s can be up to " LL
				       ", and the system gives 32768 to 60999 to clients",
			   name, number->high);
}

static bool holds(struct script_range outer, struct script_range inner)
{
	return inner.begin >= outer.begin && inner.end <= outer.end;
}

static const char *const port_names[] = {"MASTER_PORT", "PET_MASTER_PORT",
					 "JAX_COORDINATOR_PORT", NULL};

/* The part of ENDPOINT behind its last colon as a value of its own. */
static bool port_of(const struct check_setting *endpoint, struct check_value *value,
		    struct check_number *number, int64_t *exact)
{
	const char *text = endpoint->value.text;
	const char *colon = text ? strrchr(text, ':') : NULL;
	char *end;

	*value = endpoint->value;
	*exact = -1;
	if (!colon || (colon[1] == '/' && colon[2] == '/'))
		return false;
	if (isdigit((unsigned char)colon[1])) {
		*exact = strtoll(colon + 1, &end, 10);
		if (*end && *end != '/')
			return false;
		*number = (struct check_number){true, *exact, *exact, CHECK_SAME};
		value->expansions_count = 0;
		return true;
	}
	/* One expansion, behind the colon, and nothing else. */
	while (value->expansions_count > 0 &&
	       value->expansions[0].at < (uint32_t)(colon + 1 - text)) {
		value->expansions++;
		value->expansions_count--;
	}
	if (value->expansions_count != 1 ||
	    value->expansions[0].at != (uint32_t)(colon + 1 - text) ||
	    value->expansions[0].at + value->expansions[0].length != value->length)
		return false;
	*number = value->expansions[0].number;
	return true;
}

/*
 * Where the script has the digits of a port that RANGE ends with: there, or where the
 * variable is set, PORT=29500.
 */
static struct script_range digits_at(const struct check_model *model,
				     struct script_range range)
{
	const char *text = model->source.text;
	const struct check_assignment *set;
	struct script_range at = range;
	char name[64];
	size_t length = 0;

	while (at.end > at.begin && text[at.end - 1] != ':' && text[at.end - 1] != '$')
		at.end--;
	if (at.end == at.begin || text[at.end - 1] != '$')
		return range;
	at.end += text[at.end] == '{';
	while (at.end < range.end && length + 1 < sizeof(name) &&
	       (isalnum((unsigned char)text[at.end]) || text[at.end] == '_'))
		name[length++] = text[at.end++];
	name[length] = '\0';
	set = rules_set_above(model, name, range.begin);
	return set ? set->range : range;
}

static void ports(struct rules *rules)
{
	const struct check_model *model = rules->model;
	/* What was told of where MASTER_PORT is set. */
	const uint32_t *told = assigned(rules, port_names);
	const bool whole = model->jobs[0].whole;

	if (!told)
		return;
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];
		struct check_number number;

		if (!is_one_of(port_names, set->name) || set->unset || set->opaque ||
		    set->shell->where == CHECK_ELSEWHERE)
			continue;
		/* ${MASTER_PORT:-29500} is for a value that comes from outside. */
		number = check_value_number(model, &set->value);
		port(rules, set->name, &set->value, &number, set->range, whole);
	}
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const struct check_setting *setting = &launch->setting[CHECK_KEY_PORT];
		const struct check_setting *endpoint =
			&launch->setting[CHECK_KEY_ENDPOINT];
		const struct check_job *job =
			launch->step ? launch->step->job : &model->jobs[0];
		struct check_value value;
		struct check_number number;
		int64_t exact;

		if (rules_skips(launch) || is_said(launch, CHECK_KEY_STANDALONE))
			continue;
		if (setting->name &&
		    (!setting->assignment ||
		     !is_one_of(port_names, setting->assignment->name))) {
			struct script_range where = setting->value.source;

			if (setting->value.expansions_count > 0)
				where = setting->value.expansions[0].range;
			else
				where = digits_at(model, where);
			if (!is_within(model, told, where))
				port(rules, setting->name, &setting->value,
				     &setting->number,
				     holds(setting->range, where) ? setting->range
								  : where,
				     job->whole);
		}
		if (endpoint->name && !endpoint->assignment &&
		    port_of(endpoint, &value, &number, &exact)) {
			struct script_range where = endpoint->range;

			if (value.expansions_count > 0)
				where = value.expansions[0].range;
			else
				where = digits_at(model, where);
			if (!is_within(model, told, where))
				port(rules, endpoint->name, &value, &number, where,
				     job->whole);
		}
	}
}

/*
 * The port that a launcher takes of its own accord: 29400 for c10d
 * (torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py, DEFAULT_PORT), else
 * 29500 (torch/distributed/run.py, --master_port; accelerate's the same).
 */
static void default_port(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *endpoint = &launch->setting[CHECK_KEY_ENDPOINT];
	const struct check_setting *address = &launch->setting[CHECK_KEY_ADDRESS];
	const struct check_job *job =
		launch->step ? launch->step->job : &rules->model->jobs[0];

	if (!is_launcher(launch) || !launch->step || launch->parent || job->whole ||
	    nodes_of(rules, launch->step) < 2 || rules_is_open(launch) ||
	    is_said(launch, CHECK_KEY_STANDALONE) || is_said(launch, CHECK_KEY_PORT) ||
	    is_said(launch, CHECK_KEY_CONFIG) || rules_has_plugin(rules, launch))
		return;
	if (is_elastic(launch)) {
		if (endpoint->name && endpoint->value.text &&
		    launch->tool != CHECK_ACCELERATE &&
		    port_begins(endpoint, CHECK_KEY_ENDPOINT) == 0)
			rules_tell(rules, RULE_FIXED_PORT, endpoint->range,
				   "%s has no port, and c10d takes 29400 in every job",
				   endpoint->name);
	} else if (address->name && !endpoint->name) {
		rules_tell(rules, RULE_FIXED_PORT, address->range,
			   "%s is not told a port, and takes 29500 in every job",
			   launch->command->name);
	}
}

/* ---- what else launchers are told ---- */

static void told_twice(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *rank = &launch->setting[CHECK_KEY_NODE_RANK];
	const struct check_setting *addr = &launch->setting[CHECK_KEY_ADDRESS];
	const struct check_setting *id = &launch->setting[CHECK_KEY_RUN_ID];

	if (launch->tool != CHECK_TORCHRUN && launch->tool != CHECK_TORCH_LAUNCH)
		return;
	if (is_elastic(launch) && (rank->name || addr->name))
		rules_tell(rules, RULE_C10D_IGNORES_STATIC_FLAGS,
			   rank->name ? rank->range : addr->range,
			   "%s has no effect with --rdzv_backend=%s",
			   rank->name ? rank->name : addr->name,
			   launch->setting[CHECK_KEY_BACKEND].value.text);
	if (id->name && nodes_of(rules, launch->step) > 1 &&
	    is_drawn_in_step(rules->model, id->value.expansions,
			     id->value.expansions_count))
		rules_tell(rules, RULE_RDZV_ID_PER_TASK, id->range,
			   "%s is drawn on each node, so the launchers never meet",
			   id->name);
}

/* ---- what the tasks see ---- */

static void export_it(struct rules *rules, const struct check_assignment *set)
{
	const struct script_text *source = &rules->model->source;
	struct script_range line = script_text_line_range(
		source, script_text_line(source, set->range.begin));
	struct script_range front = {set->range.begin, set->range.begin};

	rules_fix(rules, "write export %s=...", set->name);
	if (set->command || set->shell->where != CHECK_BATCH)
		return;
	for (uint32_t at = line.begin; at < set->range.begin; at++) {
		if (source->text[at] != ' ' && source->text[at] != '\t')
			return;
	}
	rules_edit(rules, front, "export ");
}

static bool is_kept(const struct check_assignment *set)
{
	return set && set->export == CHECK_KEPT && !set->unset &&
	       set->shell->where == CHECK_BATCH;
}

/* $NAME or ${NAME stands somewhere. */
static bool is_expanded(const struct check_model *model, const char *name)
{
	const char *end = model->source.text + model->source.length;
	const size_t length = strlen(name);

	for (const char *at = model->source.text;
	     (at = memmem(at, (size_t)(end - at), name, length)); at += length) {
		const char *behind = at + length;

		if (at > model->source.text && (at[-1] == '$' || at[-1] == '{') &&
		    (behind == end ||
		     !(isalnum((unsigned char)*behind) || *behind == '_')))
			return true;
	}
	return false;
}

/* Programs that read them from their environment. */
static void unexported(struct rules *rules, const struct check_launch *launch)
{
	static const enum check_variable variables[] = {
		CHECK_MASTER_ADDR, CHECK_MASTER_PORT, CHECK_WORLD_SIZE, CHECK_RANK,
		CHECK_LOCAL_RANK};
	const struct check_command *command = launch->command;

	if (!launch->step || launch->step->kind != CHECK_STEP_SRUN ||
	    is_launcher(launch) || launch->parent || command->sourced ||
	    exactly(&launch->step->amount[CHECK_NTASKS].number) == 1)
		return;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const struct check_assignment *set = command->sees[variables[i]];

		if (!is_kept(set))
			continue;
		/* Who sets such a variable, and has no use for it, means the program. */
		if (!launch->distributed && !command->sees[CHECK_RANK] &&
		    !command->sees[CHECK_LOCAL_RANK] &&
		    is_expanded(rules->model, set->name))
			continue;
		/* An argument may carry it. */
		if ((variables[i] == CHECK_MASTER_ADDR &&
		     (is_said(launch, CHECK_KEY_ADDRESS) ||
		      is_said(launch, CHECK_KEY_ENDPOINT))) ||
		    (variables[i] == CHECK_MASTER_PORT &&
		     (is_said(launch, CHECK_KEY_PORT) ||
		      is_said(launch, CHECK_KEY_ENDPOINT))) ||
		    (variables[i] == CHECK_WORLD_SIZE &&
		     is_said(launch, CHECK_KEY_WORLD)))
			continue;
		if (rules_tell(rules, RULE_UNEXPORTED_VARIABLE, set->range,
			       "%s is not exported, so the tasks do not have it",
			       set->name))
			export_it(rules, set);
	}
}

/* Words that a shell inside the step expands. */
static void words(struct rules *rules, const struct check_command *command,
		  const struct check_expansion *expansions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct check_expansion *expansion = &expansions[i];
		const struct check_assignment *set;
		const char *op = expansion->op ? expansion->op : "";

		words(rules, command, expansion->inner, expansion->inner_count);
		if (expansion->kind != CHECK_PARAMETER || !expansion->name ||
		    !expansion->shell || expansion->shell->where != CHECK_STEP)
			continue;
		if (strcmp(expansion->name, "HOSTNAME") == 0 &&
		    nodes_of(rules, expansion->shell->step) > 1)
			rules_tell(rules, RULE_HOSTNAME_VARIABLE_IN_STEP,
				   expansion->range,
				   "$HOSTNAME is the batch host's name in every task");
		if (!isalpha((unsigned char)expansion->name[0]) &&
		    expansion->name[0] != '_')
			continue;
		if (strchr(op, '-') || strchr(op, '+') || strchr(op, '='))
			continue;
		set = check_sees(rules->model, command, expansion->name);
		if (!is_kept(set))
			continue;
		if (rules_tell(
			    rules, RULE_UNEXPORTED_VARIABLE, set->range,
			    "%s is not exported, so it is empty in the step that line %u "
			    "starts",
			    set->name,
			    script_text_line(&rules->model->source,
					     expansion->range.begin))) {
			export_it(rules, set);
			rules_also(rules, expansion->range,
				   "%s is expanded inside the step here", set->name);
		}
	}
}

static void container(struct rules *rules, const struct check_command *command)
{
	static const char *const names[] = {"scontrol", "squeue", "sinfo",
					    "sbatch",   "srun",   NULL};

	if (!command->step || command->where != CHECK_STEP ||
	    !is_one_of(names, command->name))
		return;
	if (command == command->step->command)
		return;
	if (command->step->container || check_within(command, CHECK_CONTAINER))
		rules_tell(rules, RULE_SCONTROL_IN_CONTAINER, command->range,
			   "%s is called inside the container", command->name);
}

static void interfaces(struct rules *rules, const struct check_assignment *set)
{
	const char *text = set->value.text, *at, *source;
	struct script_range front;

	if (strcmp(set->name, "NCCL_SOCKET_IFNAME") != 0 || !set->value.constant ||
	    !text || text[0] != '^')
		return;
	for (at = text + 1; *at; at += at[0] == ',') {
		size_t length = strcspn(at, ",");

		/* NCCL compares beginnings, or all of a name behind =. */
		if (length >= 1 && at[0] == 'l' && (length == 1 || at[1] == 'o'))
			return;
		if (length == 3 && memcmp(at, "=lo", 3) == 0)
			return;
		at += length;
	}
	if (!rules_tell(rules, RULE_NCCL_EXCLUDE_WITHOUT_LO, set->range,
			"NCCL_SOCKET_IFNAME=%s leaves lo to NCCL", text))
		return;
	rules_fix(rules, "write ^lo,%s", text + 1);
	source = memchr(rules->model->source.text + set->range.begin, '^',
			set->range.end - set->range.begin);
	if (source) {
		front.begin = front.end =
			(uint32_t)(source + 1 - rules->model->source.text);
		rules_edit(rules, front, "lo,");
	}
}

static void network(struct rules *rules, const struct script_use *use)
{
	if (use && !range_is_empty(use->range))
		rules_tell(rules, RULE_NETWORK_OPTION, use->range,
			   "--network=%s does not choose the network of the program",
			   use->value ? use->value : "");
}

void rules_rendezvous(struct rules *rules)
{
	const struct check_model *model = rules->model;

	addresses(rules);
	ports(rules);
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (rules_skips(launch))
			continue;
		missing(rules, launch);
		set_nowhere(rules, launch);
		no_port(rules, launch);
		default_port(rules, launch);
		told_twice(rules, launch);
		unexported(rules, launch);
	}
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (command->where != CHECK_STEP || command->uncalled)
			continue;
		container(rules, command);
		for (size_t j = 0; j < command->words_count; j++)
			words(rules, command, command->words[j].expansions,
			      command->words[j].expansions_count);
	}
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];
		const struct check_command *command =
			set->command ? set->command : set->shell->command;

		interfaces(rules, set);
		if (set->shell->where == CHECK_STEP && command && !command->uncalled)
			words(rules, command, set->value.expansions,
			      set->value.expansions_count);
	}
	for (size_t i = 0; i < model->jobs_count; i++)
		network(rules, script_header_find(&model->header, model->jobs[i].group,
						  "network"));
	for (size_t i = 0; i < model->steps_count; i++)
		network(rules, check_step_find(model->steps[i], "network"));
}
