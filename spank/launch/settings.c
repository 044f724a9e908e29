/* SPDX-License-Identifier: MIT */
/*
 * The keys of `--srank=LIST`, of SRANK=LIST and of plugstack.conf. A new key is one row
 * of launch_keys and one function that reads its value.
 */
#include "spank/launch/settings.h"

#include "spank/launch/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Room for one entry; gpus=map: is the longest that makes sense. */
#define ENTRY_MAX 384

static int wrong(struct launch_error *err, const char *key, const char *value,
		 const char *expected)
{
	return launch_error_set(err, -EINVAL, "%s=%.80s: expected %s=%s", key, value, key,
				expected);
}

/* Index of VALUE in NAMES, or -EINVAL with the nearest name. */
static int choose(const struct launch_key *key, const char *value,
		  const char *const *names, size_t count, struct launch_error *err)
{
	const char *near;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(value, names[i]) == 0)
			return i;
	}
	near = launch_nearest(value, names, count, sizeof(*names));
	if (!near)
		return wrong(err, key->name, value, key->values);
	return launch_error_set(err, -EINVAL,
				"%s=%.80s: no such value; did you mean %s=%s? (%s)",
				key->name, value, key->name, near, key->values);
}

/* A number of decimal digits in [LOW, HIGH] that ends at END ('\0' for the text's end).
 */
static bool read_number(const char **at, char end, uint32_t low, uint32_t high,
			uint32_t *number)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; isdigit((unsigned char)*p) && value <= UINT32_MAX; p++)
		value = value * 10 + (*p - '0');
	if (p == *at || *p != end || value < low || value > high)
		return false;
	*number = value;
	*at = end ? p + 1 : p;
	return true;
}

/* Copies VALUE when it fits and has only letters, digits and the characters of EXTRA. */
static bool copy_text(char *to, size_t size, const char *value, const char *extra)
{
	size_t length = strlen(value);

	if (length >= size)
		return false;
	for (const char *p = value; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr(extra, *p))
			return false;
	}
	memcpy(to, value, length + 1);
	return true;
}

static int set_on(const struct launch_key *key, struct launch_settings *settings,
		  const char *value, struct launch_error *err)
{
	settings->on = true;
	return 0;
}

static int set_off(const struct launch_key *key, struct launch_settings *settings,
		   const char *value, struct launch_error *err)
{
	settings->on = false;
	return 0;
}

static int set_help(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	settings->help = true;
	settings->on = false;
	return 0;
}

static int set_verbose(const struct launch_key *key, struct launch_settings *settings,
		       const char *value, struct launch_error *err)
{
	settings->verbose = true;
	return 0;
}

static int set_auto(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	settings->launcher = NULL;
	return 0;
}

static int set_launcher(const struct launch_key *key, struct launch_settings *settings,
			const char *value, struct launch_error *err)
{
	const struct launch_launcher *launcher = launch_launcher_find(value);
	const char *near;

	if (!launcher && strcmp(value, "auto") != 0) {
		near = launch_nearest(value, &launch_launchers[0].name,
				      launch_launchers_count, sizeof(*launch_launchers));
		if (near)
			return launch_error_set(
				err, -EINVAL,
				"launcher=%.80s: no such launcher; did you mean "
				"launcher=%s?",
				value, near);
		return launch_error_set(
			err, -EINVAL,
			"launcher=%.80s: no such launcher; --srank=help lists "
			"them",
			value);
	}
	settings->launcher = launcher;
	return 0;
}

static int set_gpus(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	static const char *const modes[] = {
		[LAUNCH_GPUS_ORDER] = "order", [LAUNCH_GPUS_MASK] = "mask",
		[LAUNCH_GPUS_FIRST] = "first", [LAUNCH_GPUS_MAP] = "map",
		[LAUNCH_GPUS_NONE] = "none",
	};
	const char *map = "map:";
	int mode;

	if (strncmp(value, map, strlen(map)) == 0) {
		value += strlen(map);
		/* '/' stands in MIG names, '.' is a tile of Intel's, '*' repeats, '+'
		 * joins. */
		if (!*value || !copy_text(settings->gpus_map, sizeof(settings->gpus_map),
					  value, ",-+*/._:"))
			return launch_error_set(
				err, -EINVAL,
				"gpus=map:%.80s: expected device indices, ranges "
				"or names, such as gpus=map:0-3,7*2 (%zu "
				"characters at most)",
				value, sizeof(settings->gpus_map) - 1);
		settings->gpus = LAUNCH_GPUS_MAP;
		return 0;
	}
	mode = choose(key, value, modes, COUNT(modes), err);
	if (mode < 0)
		return mode;
	if (mode == LAUNCH_GPUS_MAP)
		return wrong(err, key->name, value, key->values);
	settings->gpus = mode;
	settings->gpus_map[0] = '\0';
	return 0;
}

static int set_local(const struct launch_key *key, struct launch_settings *settings,
		     const char *value, struct launch_error *err)
{
	static const char *const values[] = {"rank", "0"};
	int i = choose(key, value, values, COUNT(values), err);

	if (i < 0)
		return i;
	settings->local_zero = i == 1;
	return 0;
}

static int set_port(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	const char *p = value;
	uint32_t port;

	if (!read_number(&p, '\0', 1, UINT16_MAX, &port))
		return wrong(err, key->name, value, "N, a number from 1 to 65535");
	settings->port = port;
	return 0;
}

static int set_ports(const struct launch_key *key, struct launch_settings *settings,
		     const char *value, struct launch_error *err)
{
	const char *p = value;
	uint32_t low, high;

	if (!read_number(&p, '-', 1, UINT16_MAX, &low) ||
	    !read_number(&p, '\0', low, UINT16_MAX, &high))
		return wrong(err, key->name, value,
			     "LO-HI, two numbers from 1 to 65535, the smaller one first");
	settings->port_low = low;
	settings->port_high = high;
	/* A range is asked for where a fixed port does not do. */
	settings->port = 0;
	return 0;
}

static int set_suffix(const struct launch_key *key, struct launch_settings *settings,
		      const char *value, struct launch_error *err)
{
	if (!copy_text(settings->suffix, sizeof(settings->suffix), value, "-_"))
		return wrong(err, key->name, value,
			     "TEXT, up to 63 letters, digits, '-' and '_'");
	return 0;
}

static int set_domain(const struct launch_key *key, struct launch_settings *settings,
		      const char *value, struct launch_error *err)
{
	const char *name = *value == '.' ? value + 1 : value;

	if (!copy_text(settings->domain, sizeof(settings->domain), name, "-_."))
		return wrong(err, key->name, value,
			     "NAME, up to 191 letters, digits, '-', '_' and '.'");
	return 0;
}

static int set_busy(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	static const char *const values[] = {"fail", "warn"};
	int i = choose(key, value, values, COUNT(values), err);

	if (i < 0)
		return i;
	settings->busy_warns = i == 1;
	return 0;
}

static int set_omp(const struct launch_key *key, struct launch_settings *settings,
		   const char *value, struct launch_error *err)
{
	static const char *const values[] = {"set", "keep"};
	int i = choose(key, value, values, COUNT(values), err);

	if (i < 0)
		return i;
	settings->omp_keep = i == 1;
	return 0;
}

static int set_elastic(const struct launch_key *key, struct launch_settings *settings,
		       const char *value, struct launch_error *err)
{
	const char *p = value;
	uint32_t least, most;

	if (!read_number(&p, ':', 1, UINT32_MAX, &least) ||
	    !read_number(&p, '\0', least, UINT32_MAX, &most))
		return wrong(
			err, key->name, value,
			"MIN:MAX, two numbers of nodes from 1, the smaller one first");
	settings->elastic_min = least;
	settings->elastic_max = most;
	return 0;
}

static int set_default(const struct launch_key *key, struct launch_settings *settings,
		       const char *value, struct launch_error *err)
{
	static const char *const values[] = {"off", "on"};
	int i = choose(key, value, values, COUNT(values), err);

	if (i < 0)
		return i;
	settings->on = i == 1;
	return 0;
}

const struct launch_key launch_keys[] = {
	{"launcher", "NAME", LAUNCH_KEY_ANY, set_launcher,
	 "program that starts the ranks; NAME alone will do"},
	{"auto", NULL, LAUNCH_KEY_ANY, set_auto,
	 "no launcher named: the shape follows from the step (default)"},
	{"gpus", "order|mask|first|map:LIST|none", LAUNCH_KEY_ANY, set_gpus,
	 "which GPUs a task sees (default order)"},
	{"local", "rank|0", LAUNCH_KEY_ANY, set_local,
	 "LOCAL_RANK with gpus=mask: 0 for a task that sees one GPU"},
	{"port", "N", LAUNCH_KEY_ANY, set_port, "MASTER_PORT"},
	{"ports", "LO-HI", LAUNCH_KEY_ANY, set_ports,
	 "range of MASTER_PORT (default 20000-29999)"},
	{"suffix", "TEXT", LAUNCH_KEY_ANY, set_suffix,
	 "text put before the first dot of MASTER_ADDR"},
	{"domain", "NAME", LAUNCH_KEY_ANY, set_domain, "domain put behind MASTER_ADDR"},
	{"busy", "fail|warn", LAUNCH_KEY_ANY, set_busy,
	 "when MASTER_PORT is taken on rank 0's node (default fail)"},
	{"omp", "set|keep", LAUNCH_KEY_ANY, set_omp,
	 "OMP_NUM_THREADS: CPUs of the task, or left alone (default set)"},
	{"elastic", "MIN:MAX", LAUNCH_KEY_ANY, set_elastic,
	 "torchrun: nodes that may leave and join"},
	{"verbose", NULL, LAUNCH_KEY_ANY, set_verbose,
	 "print one table of nodes, ranks and rendezvous"},
	{"on", NULL, LAUNCH_KEY_JOB, set_on, "switch on (any other entry does too)"},
	{"off", NULL, LAUNCH_KEY_JOB, set_off, "switch off"},
	{"help", NULL, LAUNCH_KEY_JOB, set_help, "print this text"},
	{"default", "on|off", LAUNCH_KEY_SITE, set_default,
	 "for every step that says nothing (plugstack.conf only)"},
	{NULL},
};

void launch_settings_init(struct launch_settings *settings)
{
	*settings = (struct launch_settings){
		.port_low = LAUNCH_PORT_LOW,
		.port_high = LAUNCH_PORT_HIGH,
	};
}

static const struct launch_key *find_key(const char *name)
{
	for (const struct launch_key *key = launch_keys; key->name; key++) {
		if (strcmp(key->name, name) == 0)
			return key;
	}
	return NULL;
}

/* The known name nearest to NAME: the keys that take a value, or the bare words. */
static const char *near_name(const char *name, bool with_value, bool site)
{
	const char *names[64];
	size_t count = 0;

	for (const struct launch_key *key = launch_keys; key->name; key++) {
		bool here = key->where & (site ? LAUNCH_KEY_SITE : LAUNCH_KEY_JOB);

		if (here && !key->values == !with_value && count < COUNT(names))
			names[count++] = key->name;
	}
	for (size_t i = 0; i < launch_launchers_count && !with_value; i++) {
		if (count < COUNT(names))
			names[count++] = launch_launchers[i].name;
	}
	return launch_nearest(name, names, count, sizeof(*names));
}

static int unknown(const char *name, bool with_value, bool site, struct launch_error *err)
{
	const char *near = near_name(name, with_value, site);
	const char *kind = with_value ? "key" : "key or launcher";

	if (near)
		return launch_error_set(err, -EINVAL,
					"%.80s: no such %s; did you mean %s?", name, kind,
					near);
	/* `port` for `port=N`, `verbos=1` for `verbose` */
	near = near_name(name, !with_value, site);
	if (near)
		return launch_error_set(err, -EINVAL,
					"%.80s: no such %s; did you mean %s%s?", name,
					kind, near, with_value ? "" : "=");
	return launch_error_set(err, -EINVAL,
				"%.80s: no such %s; --srank=help lists them", name, kind);
}

static int apply(struct launch_settings *settings, char *entry, bool site,
		 struct launch_error *err)
{
	char *value = strchr(entry, '=');
	const struct launch_key *key;

	if (value)
		*value++ = '\0';
	else if (launch_launcher_find(entry))
		return set_launcher(find_key("launcher"), settings, entry, err);
	key = find_key(entry);
	if (!key)
		return unknown(entry, value, site, err);
	if (site && !(key->where & LAUNCH_KEY_SITE))
		return launch_error_set(
			err, -EINVAL,
			"%s has no place in plugstack.conf; write default=on "
			"or default=off",
			entry);
	if (!site && !(key->where & LAUNCH_KEY_JOB))
		return launch_error_set(err, -EINVAL,
					"%s= is for plugstack.conf; write on or off",
					entry);
	if (value && !key->values)
		return launch_error_set(err, -EINVAL, "%s=%.80s: %s takes no value",
					entry, value, entry);
	if (!value && key->values)
		return launch_error_set(err, -EINVAL, "%s needs a value: %s=%s", entry,
					entry, key->values);
	return key->set(key, settings, value, err);
}

/* Goes on with the devices of gpus=map: an index or a range, or a name that NVIDIA gives.
 */
static bool is_device(const char *entry)
{
	return isdigit((unsigned char)entry[0]) || strncmp(entry, "GPU-", 4) == 0 ||
	       strncmp(entry, "MIG-", 4) == 0;
}

/*
 * The next entry at *AT, without the blanks around it, in ENTRY: 1, 0 at the end, -EINVAL
 * with ERR when it is too long. Commas separate entries, but those in gpus=map: are its
 * own.
 */
static int next_entry(const char **at, char entry[ENTRY_MAX], struct launch_error *err)
{
	const char *map = "gpus=map:";
	const char *start = *at, *end;

	start += strspn(start, ", \t");
	*at = start;
	if (!*start)
		return 0;
	end = start + strcspn(start, ",");
	if (strncmp(start, map, strlen(map)) == 0) {
		while (*end == ',' && is_device(end + 1))
			end += 1 + strcspn(end + 1, ",");
	}
	*at = end;
	while (end[-1] == ' ' || end[-1] == '\t')
		end--;
	if (end - start >= ENTRY_MAX)
		return launch_error_set(
			err, -EINVAL,
			"%.40s...: longer than an entry can be (%d characters)", start,
			ENTRY_MAX - 1);
	memcpy(entry, start, end - start);
	entry[end - start] = '\0';
	return 1;
}

static int parse(struct launch_settings *settings, const char *list, bool site,
		 struct launch_error *err)
{
	struct launch_settings new = *settings;
	char entry[ENTRY_MAX];
	int r;

	/* Slurm hands on an option without argument as "(null)" in an srun inside sbatch.
	 */
	if (!list || strcmp(list, "(null)") == 0)
		list = "";
	if (!site)
		new.on = true;
	while ((r = next_entry(&list, entry, err)) > 0) {
		r = apply(&new, entry, site, err);
		if (r)
			return r;
	}
	if (r)
		return r;
	*settings = new;
	return 0;
}

int launch_settings_parse(struct launch_settings *settings, const char *list,
			  struct launch_error *err)
{
	return parse(settings, list, false, err);
}

int launch_settings_site(struct launch_settings *settings, const char *argument,
			 struct launch_error *err)
{
	return parse(settings, argument, true, err);
}

void launch_settings_help(FILE *out)
{
	fprintf(out,
		"--srank[=LIST], or SRANK=LIST in the environment: entries separated by "
		"commas,\nsuch as --srank=torchrun,gpus=order,verbose\n\nLaunchers:\n");
	for (size_t i = 0; i < launch_launchers_count; i++)
		fprintf(out, "  %-12s%-8s%s\n", launch_launchers[i].name,
			launch_shape_name(launch_launchers[i].shape),
			launch_launchers[i].summary);
	fprintf(out, "\nKeys:\n");
	for (const struct launch_key *key = launch_keys; key->name; key++) {
		int length = key->values ? fprintf(out, "  %s=%s", key->name, key->values)
					 : fprintf(out, "  %s", key->name);

		/* A long key has its help on the next line. */
		if (length >= 22)
			fprintf(out, "\n%22s%s\n", "", key->help);
		else
			fprintf(out, "%*s%s\n", 22 - length, "", key->help);
	}
}
