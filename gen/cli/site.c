/* SPDX-License-Identifier: MIT */
/*
 * `srank site`: the profile of the cluster at hand, from what scontrol and srun print.
 */
#include "gen/cli/cli.h"
#include "gen/cli/cluster.h"
#include "gen/spec/scalar.h"
#include "gen/spec/yaml.h"
#include "gen/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Kinds of nodes of one partition that the comment above it lists. */
#define KINDS_SHOWN 8

enum {
	OPTION_FORCE = 0x200,
};

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, OPTION_FORCE},
	{NULL},
};

struct site_options {
	const char *output;
	bool force;
};

static void take(int val, void *arg)
{
	struct site_options *site = arg;

	if (val == 'o')
		site->output = optarg;
	else
		site->force = true;
}

/* All that FD gives, with a NUL behind it; NULL: errno says why not. */
static char *read_all(int fd)
{
	size_t size = 1 << 16, length = 0;
	char *text = malloc(size), *more;

	while (text) {
		ssize_t n = read(fd, text + length, size - length - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(text);
			return NULL;
		}
		if (n == 0) {
			text[length] = '\0';
			return text;
		}
		length += n;
		if (length < size - 1)
			continue;
		size *= 2;
		more = realloc(text, size);
		if (!more)
			free(text);
		text = more;
	}
	return NULL;
}

/* What the program ARGV prints, to be freed; NULL after a message. */
static char *output_of(const struct cli_command *command, const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	char *text = NULL;
	int ends[2], status, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		cli_fail(command, "cannot make a pipe: %m");
		return NULL;
	}
	rc = posix_spawn_file_actions_init(&actions);
	if (rc == 0) {
		rc = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		if (rc == 0)
			rc = posix_spawnp(&pid, argv[0], &actions, NULL,
					  (char *const *)argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	if (rc != 0) {
		close(ends[0]);
		cli_fail(command,
			 "cannot start %s: %s; run this on a login host of the cluster",
			 argv[0], strerror(rc));
		return NULL;
	}
	text = read_all(ends[0]);
	if (!text)
		cli_fail(command, "cannot read what %s says: %m", argv[0]);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		cli_fail(command, "cannot wait for %s: %m", argv[0]);
		status = 0;
		free(text);
		text = NULL;
		break;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return text;
	if (WIFEXITED(status))
		cli_fail(command, "%s ended with exit code %d", argv[0],
			 WEXITSTATUS(status));
	else
		cli_fail(command, "%s was ended by signal %d", argv[0], WTERMSIG(status));
	free(text);
	return NULL;
}

/* TEXT as a scalar of YAML: plain where that can be read as nothing else. */
static void write_text(FILE *out, const char *text)
{
	bool plain = isalpha((unsigned char)text[0]) && !spec_yaml_null(text);

	for (const char *c = text; *c; c++)
		plain &= isalnum((unsigned char)*c) || strchr("_-./", *c) != NULL;
	if (plain) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			fprintf(out, "\\x%02x", (unsigned char)*c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void write_kind(FILE *out, const struct cli_cluster_kind *kind)
{
	fprintf(out, "  # %" PRIu64 " node%s: %" PRIu64 " CPUs", kind->nodes,
		kind->nodes == 1 ? "" : "s", kind->cpus);
	if (kind->reserved)
		fprintf(out, " (%" PRIu64 " reserved)", kind->reserved);
	if (kind->gpus)
		fprintf(out, ", %" PRIu64 " GPU%s", kind->gpus,
			kind->gpus == 1 ? "" : "s");
	for (size_t i = 0; i < CLI_TYPES_MAX && kind->types[i]; i++) {
		fputs(i ? " and " : " of type ", out);
		utf8_escape(out, kind->types[i]);
	}
	if (kind->mem > 1)
		fprintf(out, ", %" PRIu64 "M", kind->mem);
	fputc('\n', out);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * What a partition has to offer: the most of each number among its nodes with GPUs, or
 * where none has any, among all of them; `nodes` counts those nodes. Of threads, sockets
 * and reserved CPUs what its first kind has, which has most GPUs and CPUs.
 */
static struct cli_cluster_kind offer(const struct cli_cluster_partition *partition)
{
	struct cli_cluster_kind most = {0};

	if (partition->kinds_count)
		most = partition->kinds[0];
	for (size_t i = 1; i < partition->kinds_count; i++) {
		const struct cli_cluster_kind *kind = &partition->kinds[i];

		if (most.gpus && !kind->gpus)
			break;
		most.nodes += kind->nodes;
		most.mem = larger(most.mem, kind->mem);
		if (kind->cpus - kind->reserved <= most.cpus - most.reserved)
			continue;
		most.cpus = kind->cpus;
		most.reserved = kind->reserved;
		most.threads = kind->threads;
		most.sockets = kind->sockets;
	}
	if (partition->mem && partition->mem < most.mem)
		most.mem = partition->mem;
	return most;
}

static void write_number(FILE *out, const char *key, uint64_t number, const char *unit)
{
	if (number)
		fprintf(out, "    %s: %" PRIu64 "%s\n", key, number, unit);
}

/* A time that sbatch takes; what else a release may say is no limit that we know. */
static void write_time(FILE *out, const char *key, const char *time)
{
	char hint[SPEC_HINT_MAX];
	uint64_t seconds;

	if (time && spec_time_read(time, &seconds, hint) == 0)
		fprintf(out, "    %s: %s\n", key, time);
}

/* The next text of a list with one blank or comma between; a flow sequence of YAML. */
static void write_item(FILE *out, const char *key, const char *text, bool first)
{
	if (first)
		fprintf(out, "    %s: [", key);
	else
		fputs(", ", out);
	write_text(out, text);
}

static void write_types(FILE *out, const struct cli_cluster_partition *partition)
{
	char *seen[CLI_TYPES_MAX] = {0};
	size_t count = 0;

	for (size_t i = 0; i < partition->kinds_count; i++) {
		char *const *types = partition->kinds[i].types;

		for (size_t k = 0; k < CLI_TYPES_MAX && types[k]; k++) {
			bool known = count == CLI_TYPES_MAX;

			for (size_t j = 0; j < count; j++)
				known |= strcmp(seen[j], types[k]) == 0;
			if (known)
				continue;
			write_item(out, "gpu_types", types[k], count == 0);
			seen[count++] = types[k];
		}
	}
	if (count)
		fputs("]\n", out);
}

static void write_qos(FILE *out, const char *list)
{
	bool first = true;
	char *name;

	while (list && *list) {
		const size_t length = strcspn(list, ",");

		name = strndup(list, length);
		if (name && length)
			write_item(out, "qos", name, first);
		first &= length == 0;
		free(name);
		list += length + (list[length] == ',');
	}
	if (!first)
		fputs("]\n", out);
}

static void write_partition(FILE *out, const struct cli_cluster_partition *partition)
{
	const struct cli_cluster_kind most = offer(partition);
	uint64_t all = 0;

	for (size_t i = 0; i < partition->kinds_count; i++) {
		if (i < KINDS_SHOWN)
			write_kind(out, &partition->kinds[i]);
		all += partition->kinds[i].nodes;
	}
	if (partition->kinds_count > KINDS_SHOWN)
		fprintf(out, "  # and %zu more kinds of nodes\n",
			partition->kinds_count - KINDS_SHOWN);
	fputs("  ", out);
	write_text(out, partition->name);
	fputs(":\n", out);
	if (partition->is_default)
		fputs("    default: yes\n", out);
	write_number(out, "nodes", partition->nodes, "");
	write_number(out, "min_nodes",
		     partition->min_nodes > 1 ? partition->min_nodes : 0, "");
	write_number(out, "gpu_nodes", most.gpus && most.nodes < all ? most.nodes : 0,
		     "");
	write_number(out, "cpus_per_node", most.cpus, "");
	write_number(out, "max_cpus_per_node", partition->cpus, "");
	write_number(out, "reserved_cpus", most.reserved, "");
	write_number(out, "threads_per_core", most.threads, "");
	write_number(out, "sockets", most.sockets, "");
	if (partition->kinds_count)
		fprintf(out, "    gpus_per_node: %" PRIu64 "\n", most.gpus);
	write_types(out, partition);
	/* RealMemory is 1 where slurm.conf does not say it, and then is no limit. */
	write_number(out, "mem", most.mem > 1 ? most.mem : 0, "M");
	write_number(out, "mem_per_cpu", partition->mem_per_cpu, "M");
	write_number(out, "max_mem_per_cpu", partition->max_mem_per_cpu, "M");
	write_time(out, "time", partition->time);
	write_time(out, "default_time", partition->default_time);
	if (partition->exclusive)
		fputs("    exclusive: yes\n", out);
	for (size_t i = 0; i < partition->features_count; i++)
		write_item(out, "features", partition->features[i], i == 0);
	if (partition->features_count)
		fputs("]\n", out);
	write_qos(out, partition->qos);
}

/* Of "22.05.8" that of "22.05". */
static int release_length(const char *version)
{
	const char *dot = strchr(version, '.');

	return (int)(dot ? dot + 1 - version + strcspn(dot + 1, ".") : strlen(version));
}

/* Those that a profile can name. */
static bool is_select(const char *name)
{
	return strcmp(name, "cons_tres") == 0 || strcmp(name, "cons_res") == 0 ||
	       strcmp(name, "linear") == 0;
}

/* Some node has a RealMemory. */
static bool knows_memory(const struct cli_cluster *cluster)
{
	bool known = false, nodes = false;

	for (size_t i = 0; i < cluster->partitions_count; i++) {
		const struct cli_cluster_partition *partition = &cluster->partitions[i];

		for (size_t k = 0; k < partition->kinds_count; k++)
			known |= partition->kinds[k].mem > 1;
		nodes |= partition->kinds_count > 0;
	}
	return known || !nodes;
}

static void write_profile(FILE *out, const struct cli_cluster *cluster, bool plugin)
{
	fputs("# What scontrol and srun say of this cluster, by `srank site`; "
	      "srank-spec(5) "
	      "explains the keys.\nversion: 1\n",
	      out);
	if (cluster->name) {
		fputs("name: ", out);
		write_text(out, cluster->name);
		fputc('\n', out);
	}
	fprintf(out, "slurm: \"%.*s\"\n", release_length(cluster->version),
		cluster->version);
	if (cluster->select && is_select(cluster->select))
		fprintf(out, "select: %s\n", cluster->select);
	fprintf(out, "plugin: %s\n", plugin ? "yes" : "no");
	fputs("gpu_dialect: gres\n", out);
	/* Slurm then takes every node for one of 1 MiB, and refuses what asks for more.
	 */
	if (!knows_memory(cluster))
		fputs("mem_dialect: none\n", out);
	fputs("partitions:\n", out);
	for (size_t i = 0; i < cluster->partitions_count; i++)
		write_partition(out, &cluster->partitions[i]);
}

/* The profile, to be freed; NULL after a message. */
static char *make_profile(const struct cli_command *command, size_t *length)
{
	static const char *const config_call[] = {"scontrol", "show", "config", NULL};
	/* --all: hidden partitions, too, which can be used by who knows their names. */
	static const char *const partition_call[] = {
		"scontrol", "--all", "--oneliner", "show", "partition", NULL};
	static const char *const node_call[] = {"scontrol", "--all", "--oneliner",
						"show",     "node",  NULL};
	static const char *const help_call[] = {"srun", "--help", NULL};
	char *config = output_of(command, config_call);
	char *partitions = config ? output_of(command, partition_call) : NULL;
	char *nodes = partitions ? output_of(command, node_call) : NULL;
	char *help = nodes ? output_of(command, help_call) : NULL;
	struct cli_cluster cluster = {0};
	const char *fault = NULL;
	char *profile = NULL;
	FILE *out = NULL;
	int rc;

	if (!help)
		goto out;
	rc = cli_cluster_read(&cluster, config, partitions, nodes, &fault);
	if (rc == 0) {
		out = open_memstream(&profile, length);
		rc = out ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		write_profile(out, &cluster, strstr(help, "--srank"));
		if (fclose(out) != 0)
			rc = -ENOMEM;
	}
	if (rc < 0) {
		cli_fail(command, "%s", fault ? fault : strerror(-rc));
		free(profile);
		profile = NULL;
	}
out:
	cli_cluster_clear(&cluster);
	free(help);
	free(nodes);
	free(partitions);
	free(config);
	return profile;
}

enum cli_exit cli_site(const struct cli_command *command, int argc, char **argv)
{
	struct site_options site = {0};
	enum cli_exit code;
	size_t length;
	char *profile;

	if (!cli_options(command, argc, argv, options, take, &site, &code))
		return code;
	if (optind < argc)
		return cli_usage(command, "`%s`: this command takes no operands",
				 argv[optind]);
	if (site.force && !site.output)
		return cli_usage(command, "--force is for a file named with -o");
	profile = make_profile(command, &length);
	if (!profile)
		return CLI_FAILED;
	code = cli_output(command, site.output, profile, length, site.force);
	free(profile);
	return code;
}
