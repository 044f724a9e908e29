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

static const char *const addr_modes[] = {
	[LAUNCH_ADDR_NAME] = "name",
	[LAUNCH_ADDR_IP] = "ip",
	[LAUNCH_ADDR_NODEADDR] = "nodeaddr",
};

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

/* A decimal number in [LOW, HIGH] that ends at END ('\0' for the text's end). */
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

static void show_launcher(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "launcher=%s",
		 settings->launcher ? settings->launcher->name : "auto");
}

static void show_gpus(const struct launch_settings *settings, char *text, size_t size)
{
	static const char *const modes[] = {
		[LAUNCH_GPUS_ORDER] = "order", [LAUNCH_GPUS_MASK] = "mask",
		[LAUNCH_GPUS_FIRST] = "first", [LAUNCH_GPUS_MAP] = "map:",
		[LAUNCH_GPUS_NONE] = "none",
	};

	snprintf(text, size, "gpus=%s%s", modes[settings->gpus],
		 settings->gpus == LAUNCH_GPUS_MAP ? settings->gpus_map : "");
}

static void show_local(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "local=%s", settings->local_zero ? "0" : "rank");
}

static void show_port(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, settings->port ? "port=%u" : "port=auto", settings->port);
}

static void show_ports(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "ports=%u-%u", settings->port_low, settings->port_high);
}

static void show_addr(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "addr=%s", addr_modes[settings->addr]);
}

static void show_suffix(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "suffix=%s", settings->suffix);
}

static void show_domain(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "domain=%s", settings->domain);
}

static void show_busy(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "busy=%s", settings->busy_warns ? "warn" : "fail");
}

static void show_omp(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "omp=%s", settings->omp_keep ? "keep" : "set");
}

static void show_elastic(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, settings->elastic_max ? "elastic=%u:%u" : "elastic=off",
		 settings->elastic_min, settings->elastic_max);
}

static void show_verbose(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "verbose=%s", settings->verbose ? "on" : "off");
}

static void show_default(const struct launch_settings *settings, char *text, size_t size)
{
	snprintf(text, size, "default=%s", settings->on ? "on" : "off");
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
	static const char *const values[] = {"off", "on"};
	int i = choose(key, value, values, COUNT(values), err);

	if (i < 0)
		return i;
	settings->verbose = i == 1;
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
	uint32_t port = 0;

	if (strcmp(value, "auto") != 0 && !read_number(&p, '\0', 1, UINT16_MAX, &port))
		return wrong(err, key->name, value,
			     "N, a number from 1 to 65535, or port=auto");
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

static int set_addr(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	int mode = choose(key, value, addr_modes, COUNT(addr_modes), err);

	if (mode < 0)
		return mode;
	settings->addr = mode;
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
	uint32_t least = 0, most = 0;

	if (strcmp(value, "off") != 0 &&
	    (!read_number(&p, ':', 1, UINT32_MAX, &least) ||
	     !read_number(&p, '\0', least, UINT32_MAX, &most)))
		return wrong(err, key->name, value,
			     "MIN:MAX, two numbers of nodes from 1, the smaller one "
			     "first, or elastic=off");
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

static int set_lock(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err);
static int set_forbid(const struct launch_key *key, struct launch_settings *settings,
		      const char *value, struct launch_error *err);

const struct launch_key launch_keys[] = {
	{"launcher", "NAME", LAUNCH_KEY_ANY, set_launcher,
	 "program that starts the ranks; NAME alone will do", show_launcher},
	{"auto", NULL, LAUNCH_KEY_ANY, set_auto,
	 "no launcher named: the shape follows from the step (default)"},
	{"gpus", "order|mask|first|map:LIST|none", LAUNCH_KEY_ANY, set_gpus,
	 "which GPUs a task sees (default order)", show_gpus},
	{"local", "rank|0", LAUNCH_KEY_ANY, set_local,
	 "LOCAL_RANK with gpus=mask: 0 for a task that sees one GPU", show_local},
	{"port", "N|auto", LAUNCH_KEY_ANY, set_port,
	 "MASTER_PORT (default auto: Slurm's, or one from ports=)", show_port},
	{"ports", "LO-HI", LAUNCH_KEY_ANY, set_ports,
	 "range of MASTER_PORT (default 20000-29999)", show_ports},
	{"addr", "name|ip|nodeaddr", LAUNCH_KEY_ANY, set_addr,
	 "MASTER_ADDR: rank 0's node by name, IP address or NodeAddr (name)", show_addr},
	{"suffix", "TEXT", LAUNCH_KEY_ANY, set_suffix,
	 "text put before the first dot of the node's name", show_suffix},
	{"domain", "NAME", LAUNCH_KEY_ANY, set_domain,
	 "domain put behind the node's name", show_domain},
	{"busy", "fail|warn", LAUNCH_KEY_ANY, set_busy,
	 "when MASTER_PORT is taken on rank 0's node (default fail)", show_busy},
	{"omp", "set|keep", LAUNCH_KEY_ANY, set_omp,
	 "OMP_NUM_THREADS: CPUs of the task, or left alone (default set)", show_omp},
	{"elastic", "MIN:MAX|off", LAUNCH_KEY_ANY, set_elastic,
	 "torchrun: nodes that may leave and join (default off)", show_elastic},
	{"verbose", "on|off", LAUNCH_KEY_ANY, set_verbose,
	 "print one table of nodes, ranks and rendezvous; verbose alone: on",
	 show_verbose, "on"},
	{"on", NULL, LAUNCH_KEY_JOB, set_on, "switch on (any other entry does too)"},
	{"off", NULL, LAUNCH_KEY_JOB, set_off, "switch off"},
	{"help", NULL, LAUNCH_KEY_JOB, set_help, "print this text"},
	{"default", "on|off", LAUNCH_KEY_SITE, set_default,
	 "for every step that says nothing (plugstack.conf only)", show_default},
	{"lock", "KEY[:KEY...]", LAUNCH_KEY_SITE, set_lock,
	 "keys that a job cannot change (plugstack.conf only)"},
	{"forbid", "WORD[:WORD...]", LAUNCH_KEY_SITE, set_forbid,
	 "KEY, KEY=VALUE, launcher: no job may say it (plugstack.conf only)"},
	{NULL},
};

/* One bit of launch_settings.locked for each. */
_Static_assert(COUNT(launch_keys) - 1 <= 32, "more keys than bits");

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

static bool is_bare(const struct launch_key *key)
{
	return !key->values || key->bare;
}

/* The known name nearest to NAME: the keys that take a value, or those that need none. */
static const char *near_name(const char *name, bool with_value, bool site)
{
	const char *names[64];
	size_t count = 0;

	for (const struct launch_key *key = launch_keys; key->name; key++) {
		bool here = key->where & (site ? LAUNCH_KEY_SITE : LAUNCH_KEY_JOB);

		if (here && (with_value ? key->values != NULL : is_bare(key)) &&
		    count < COUNT(names))
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

/* An entry of a list, taken apart in place. */
struct entry {
	const struct launch_key *key;
	char *value; /* NULL: a bare word */
};

static int read_entry(struct entry *entry, char *text, bool site,
		      struct launch_error *err)
{
	const struct launch_key *key;
	char *value = strchr(text, '=');

	if (value == text)
		return launch_error_set(err, -EINVAL,
					"%.80s: no key stands before the \"=\"; write "
					"KEY=VALUE, such as port=29500 (--srank=help "
					"lists the keys)",
					text);
	if (value) {
		*value++ = '\0';
	} else if (launch_launcher_find(text) || strcmp(text, "auto") == 0) {
		/* Short for launcher=NAME. */
		*entry = (struct entry){find_key("launcher"), text};
		return 0;
	}
	key = find_key(text);
	if (!key)
		return unknown(text, value, site, err);
	if (site && !(key->where & LAUNCH_KEY_SITE))
		return launch_error_set(
			err, -EINVAL,
			"%s has no place in plugstack.conf; write default=on "
			"or default=off",
			text);
	if (!site && !(key->where & LAUNCH_KEY_JOB))
		return launch_error_set(err, -EINVAL, "%s= is for plugstack.conf%s", text,
					key->show ? "; write on or off" : "");
	if (value && !key->values)
		return launch_error_set(err, -EINVAL, "%s=%.80s: %s takes no value", text,
					value, text);
	if (!value && !is_bare(key))
		return launch_error_set(err, -EINVAL, "%s needs a value: %s=%s", text,
					text, key->values);
	*entry = (struct entry){key, value};
	return 0;
}

static int lock_key(struct launch_settings *settings, char *name,
		    struct launch_error *err)
{
	const struct launch_key *key = find_key(name);

	if (!key)
		return unknown(name, true, true, err);
	if (!key->show)
		return launch_error_set(err, -EINVAL,
					"lock=%s: %s has no value that could be locked; "
					"lock=default locks on and off, lock=launcher "
					"the launcher",
					name, name);
	settings->locked |= UINT32_C(1) << (key - launch_keys);
	return 0;
}

/* The value may be all that stands before a colon: forbid=gpus=map is any map. */
static int check_value(const struct entry *entry, struct launch_error *err)
{
	struct launch_settings scratch;
	struct launch_error ignored = {""};
	char with_list[ENTRY_MAX + 4];

	launch_settings_init(&scratch);
	snprintf(with_list, sizeof(with_list), "%s:0", entry->value);
	if (entry->key->set(entry->key, &scratch, with_list, &ignored) == 0)
		return 0;
	return entry->key->set(entry->key, &scratch, entry->value, err);
}

static int forbid_word(struct launch_settings *settings, char *word,
		       struct launch_error *err)
{
	char *end = settings->forbidden + strlen(settings->forbidden);
	size_t room = sizeof(settings->forbidden) - (end - settings->forbidden);
	struct entry entry = {find_key(word), NULL};
	int r, length;

	/* A key alone means all its values. */
	if (!entry.key || strcmp(word, "auto") == 0) {
		r = read_entry(&entry, word, true, err);
		if (r == 0)
			r = check_value(&entry, err);
		if (r)
			return r;
	}
	length = snprintf(end, room, "%s%s%s%s:", *settings->forbidden ? "" : ":",
			  entry.key->name, entry.value ? "=" : "",
			  entry.value ? entry.value : "");
	if (length >= 0 && (size_t)length < room)
		return 0;
	return launch_error_set(err, -EINVAL, "forbid=: more than %zu characters in all",
				sizeof(settings->forbidden) - 2);
}

/* Calls ADD for each word of VALUE, which colons separate. */
static int each_word(const struct launch_key *key, struct launch_settings *settings,
		     const char *value,
		     int (*add)(struct launch_settings *settings, char *word,
				struct launch_error *err),
		     struct launch_error *err)
{
	char words[ENTRY_MAX];
	char *rest = words, *word;

	/* VALUE was part of an entry. */
	snprintf(words, sizeof(words), "%s", value);
	while ((word = strsep(&rest, ":"))) {
		int r = *word ? add(settings, word, err)
			      : wrong(err, key->name, value, key->values);

		if (r)
			return r;
	}
	return 0;
}

static int set_lock(const struct launch_key *key, struct launch_settings *settings,
		    const char *value, struct launch_error *err)
{
	return each_word(key, settings, value, lock_key, err);
}

static int set_forbid(const struct launch_key *key, struct launch_settings *settings,
		      const char *value, struct launch_error *err)
{
	return each_word(key, settings, value, forbid_word, err);
}

/* The value of an entry, said or meant; NULL: the key takes none. */
static const char *meaning(const struct entry *entry)
{
	return entry->value ? entry->value : entry->key->bare;
}

static int check_forbidden(const struct launch_settings *settings,
			   const struct entry *entry, struct launch_error *err)
{
	const char *name = entry->key->name;
	const char *said = entry->value ? entry->value : "";
	const char *equals = entry->value ? "=" : "";
	const char *value = meaning(entry);
	char word[ENTRY_MAX + 4];

	snprintf(word, sizeof(word), ":%s:", name);
	if (strstr(settings->forbidden, word))
		return launch_error_set(err, -EINVAL,
					"%s%s%.80s: this site does not allow %s%s; leave "
					"it out",
					name, equals, said, name, equals);
	if (!value)
		return 0;
	snprintf(word, sizeof(word), ":%s=%.*s:", name, (int)strcspn(value, ":"), value);
	if (!strstr(settings->forbidden, word))
		return 0;
	word[strlen(word) - 1] = '\0';
	return launch_error_set(err, -EINVAL,
				"%s%s%.80s: this site does not allow %s; leave it out",
				name, equals, said, word + 1);
}

static bool is_locked(const struct launch_settings *settings,
		      const struct launch_key *key)
{
	return settings->locked & UINT32_C(1) << (key - launch_keys);
}

/* The values before and after an entry or a list, which WHAT names. */
static int check_lock(const struct launch_key *key, const struct launch_settings *before,
		      const struct launch_settings *after, const char *what,
		      struct launch_error *err)
{
	char had[ENTRY_MAX], has[ENTRY_MAX];

	if (!is_locked(before, key))
		return 0;
	key->show(before, had, sizeof(had));
	key->show(after, has, sizeof(has));
	if (strcmp(had, has) == 0)
		return 0;
	return launch_error_set(err, -EINVAL,
				"%s: %s is fixed by this site (%s); leave it out", what,
				key->name, had);
}

static int check_locks(const struct launch_settings *before,
		       const struct launch_settings *after, const struct entry *entry,
		       struct launch_error *err)
{
	char what[ENTRY_MAX];

	snprintf(what, sizeof(what), "%s%s%.80s", entry->key->name,
		 entry->value ? "=" : "", entry->value ? entry->value : "");
	for (const struct launch_key *key = launch_keys; key->name; key++) {
		/* Whether it is on, only the whole list says. */
		int r = key->set == set_default
				? 0
				: check_lock(key, before, after, what, err);

		if (r)
			return r;
	}
	return 0;
}

/* What of an entry concerns the list as a whole. */
struct seen {
	bool launcher, elastic; /* the list names one */
};

static int apply(struct launch_settings *settings, char *text, bool site,
		 struct seen *seen, struct launch_error *err)
{
	struct launch_settings before = *settings;
	struct entry entry;
	int r;

	r = read_entry(&entry, text, site, err);
	if (r == 0 && !site)
		r = check_forbidden(settings, &entry, err);
	if (r == 0)
		r = entry.key->set(entry.key, settings, meaning(&entry), err);
	if (r || site)
		return r;
	seen->launcher |= entry.key->set == set_launcher;
	seen->elastic |= entry.key->set == set_elastic;
	return check_locks(&before, settings, &entry, err);
}

/* A device of gpus=map: an index, a range, or a name that NVIDIA gives. */
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

/*
 * elastic= of an earlier list goes with the launcher that it was for, since the one that
 * is named now would refuse it.
 */
static void drop_elastic(struct launch_settings *settings)
{
	if (launch_launcher_takes(settings->launcher, LAUNCH_VALUE_ELASTIC) ||
	    is_locked(settings, find_key("elastic")))
		return;
	settings->elastic_min = settings->elastic_max = 0;
}

static int parse(struct launch_settings *settings, const char *list, bool site,
		 struct launch_error *err)
{
	struct launch_settings new = *settings;
	struct seen seen = {0};
	char entry[ENTRY_MAX];
	int r;

	/* Slurm hands on an option without argument as "(null)" to an srun in sbatch. */
	if (!list || strcmp(list, "(null)") == 0)
		list = "";
	if (!site)
		new.on = new.asked = true;
	while ((r = next_entry(&list, entry, err)) > 0) {
		r = apply(&new, entry, site, &seen, err);
		if (r)
			return r;
	}
	if (seen.launcher && !seen.elastic)
		drop_elastic(&new);
	if (r == 0 && !site && !new.help)
		r = check_lock(find_key("default"), settings, &new,
			       new.on ? "switching srank on" : "switching srank off",
			       err);
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

/* A long word has its help on the next line. */
static void help_line(FILE *out, const char *word, const char *help)
{
	int length = fprintf(out, "  %s", word);

	if (length >= 22)
		fprintf(out, "\n%22s%s\n", "", help);
	else
		fprintf(out, "%*s%s\n", 22 - length, "", help);
}

/* What a site has made of one key; false: nothing. */
static bool help_key(FILE *out, const struct launch_key *key,
		     const struct launch_settings *site)
{
	struct launch_settings builtin;
	char had[ENTRY_MAX], has[ENTRY_MAX], text[ENTRY_MAX + 64] = "";
	bool locked = is_locked(site, key);

	if (!key->show)
		return false;
	launch_settings_init(&builtin);
	key->show(&builtin, had, sizeof(had));
	key->show(site, has, sizeof(has));
	if (strcmp(had, has) != 0)
		snprintf(text, sizeof(text), "default of this site (built-in: %s)%s", had,
			 locked ? "; no job can change it" : "");
	else if (locked)
		snprintf(text, sizeof(text), "no job can change it");
	else
		return false;
	help_line(out, has, text);
	return true;
}

/* Between colons, as in launch_settings. */
static bool help_forbidden(FILE *out, const char *forbidden)
{
	char words[sizeof(((struct launch_settings *)NULL)->forbidden)];
	char *rest = words, *word;
	bool any = false;

	snprintf(words, sizeof(words), "%s", forbidden);
	while ((word = strsep(&rest, ":"))) {
		if (*word)
			help_line(out, word, "no job may say it");
		any |= *word != '\0';
	}
	return any;
}

static void help_site(FILE *out, const struct launch_settings *site)
{
	bool any = false;

	fprintf(out, "\nAt this site:\n");
	for (const struct launch_key *key = launch_keys; key->name; key++)
		any |= help_key(out, key, site);
	any |= help_forbidden(out, site->forbidden);
	if (!any)
		fprintf(out, "  the defaults are the built-in ones, and all can be "
			     "changed\n");
}

void launch_settings_help(FILE *out, const struct launch_settings *site)
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
		char word[ENTRY_MAX];

		snprintf(word, sizeof(word), "%s%s%s", key->name, key->values ? "=" : "",
			 key->values ? key->values : "");
		help_line(out, word, key->help);
	}
	if (site)
		help_site(out, site);
}
