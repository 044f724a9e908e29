/* SPDX-License-Identifier: MIT */
/* The site profile's reader: defaults, partitions, faults. */
#include "support.h"

#include "gen/spec/site.h"

#include <errno.h>
#include <sys/stat.h>

static int read_text(struct spec_site *site, const char *text, struct diag *diag)
{
	spec_site_init(site);
	return spec_site_read_text(site, "site.yaml", text, strlen(text), diag);
}

static void built_in(void **state)
{
	struct spec_site site;

	spec_site_init(&site);
	assert_int_equal(site.plugin.number, 1);
	assert_int_equal(site.gpu_dialect.number, SPEC_DIALECT_GRES);
	assert_int_equal(site.partitions.count, 0);
	assert_null(site.file);
	assert_null(spec_site_partition(&site, "gpu"));
	spec_site_clear(&site);
}

static void profile(void **state)
{
	static const char text[] =
		"version: 1\n"
		"name: hill\n"
		"slurm: 22.05\n"
		"plugin: no\n"
		"gpu_dialect: gpus_per_task\n"
		"partitions:\n"
		"  mm_dev: &dev {nodes: 1, cpus_per_node: 64, gpus_per_node: 8}\n"
		"  gpu cluster:\n"
		"    <<: *dev\n"
		"    nodes: 4\n"
		"    mem: 512G\n"
		"    time: 3-0\n"
		"  cpu:\n";
	const struct spec_partition *partition;
	struct diag diag = {0};
	struct spec_site site;

	assert_int_equal(read_text(&site, text, &diag), 0);
	assert_int_equal(diag.count, 0);
	assert_string_equal(site.file, "site.yaml");
	assert_string_equal(site.slurm.text, "22.05");
	assert_int_equal(site.plugin.number, 0);
	assert_int_equal(site.gpu_dialect.number, SPEC_DIALECT_GPUS_PER_TASK);
	assert_int_equal(site.partitions.count, 3);
	partition = spec_site_partition(&site, "mm_dev");
	assert_non_null(partition);
	assert_int_equal(partition->nodes.number, 1);
	assert_false(partition->mem.given);
	partition = spec_site_partition(&site, "gpu cluster");
	assert_non_null(partition);
	assert_int_equal(partition->name.place.line, 8);
	assert_int_equal(partition->nodes.number, 4);
	assert_int_equal(partition->gpus_per_node.number, 8);
	assert_int_equal(partition->mem.number, 512 * 1024);
	assert_int_equal(partition->time.number, 3 * 86400);
	partition = spec_site_partition(&site, "cpu");
	assert_non_null(partition);
	assert_false(partition->nodes.given);
	assert_null(spec_site_partition(&site, "none"));
	diag_clear(&diag);
	spec_site_clear(&site);
}

static void dialects_have_the_order_of_their_enum(void **state)
{
	static const struct {
		const char *text;
		enum spec_dialect dialect;
	} rows[] = {
		{"gpu_dialect: gres", SPEC_DIALECT_GRES},
		{"gpu_dialect: gpus_per_node", SPEC_DIALECT_GPUS_PER_NODE},
		{"gpu_dialect: gpus_per_task", SPEC_DIALECT_GPUS_PER_TASK},
		{"gpu_dialect: gpus", SPEC_DIALECT_GPUS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		struct spec_site site;

		assert_int_equal(read_text(&site, rows[i].text, &diag), 0);
		assert_int_equal(site.gpu_dialect.number, rows[i].dialect);
		diag_clear(&diag);
		spec_site_clear(&site);
	}
}

/* A user's profile on top of the cluster's: partitions and defaults go together. */
static void one_profile_on_another(void **state)
{
	static const char cluster[] =
		"name: hill\nslurm: '23.02'\nextra: [--a]\n"
		"partitions: {gpu: {nodes: 4, time: 1-0}, cpu: {}}\n"
		"defaults: {batch: {account: a, qos: q}, "
		"env: {A: 1, B: 2}}\n";
	static const char own[] = "slurm: ~\npartitions: {gpu: {nodes: 2}, mine: {}}\n"
				  "defaults: {batch: {account: b}, env: {B: ~}}\n";
	const struct spec_partition *partition;
	struct diag diag = {0};
	struct spec_site site;

	spec_site_init(&site);
	assert_int_equal(spec_site_read_text(&site, "a", cluster, strlen(cluster), &diag),
			 0);
	assert_int_equal(spec_site_slurm(&site), 2302);
	assert_int_equal(spec_site_read_text(&site, "b", own, strlen(own), &diag), 0);
	assert_int_equal(diag.count, 0);
	assert_string_equal(site.name.text, "hill");
	assert_int_equal(spec_site_slurm(&site), 0);
	assert_int_equal(site.extra.count, 1);
	assert_int_equal(site.partitions.count, 3);
	partition = spec_site_partition(&site, "gpu");
	assert_int_equal(partition->nodes.number, 2);
	assert_int_equal(partition->time.number, 86400);
	assert_non_null(spec_site_partition(&site, "cpu"));
	assert_non_null(spec_site_partition(&site, "mine"));
	assert_string_equal(site.defaults.batch.account.text, "b");
	assert_string_equal(site.defaults.batch.qos.text, "q");
	assert_int_equal(site.defaults.env.count, 1);
	assert_string_equal(site.defaults.env.items[0].name, "A");
	spec_site_clear(&site);
	diag_clear(&diag);
}

static void means_by_the_profile(void **state)
{
	static const struct {
		const char *text;
		enum spec_means means;
	} rows[] = {
		{"name: x", SPEC_MEANS_PLUGIN},
		{"plugin: yes", SPEC_MEANS_PLUGIN},
		{"plugin: no", SPEC_MEANS_SHELL},
		{"rendezvous: plugin", SPEC_MEANS_PLUGIN},
		{"rendezvous: exec", SPEC_MEANS_EXEC},
		{"rendezvous: shell", SPEC_MEANS_SHELL},
		{"plugin: yes\nrendezvous: exec", SPEC_MEANS_EXEC},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		struct spec_site site;

		assert_int_equal(read_text(&site, rows[i].text, &diag), 0);
		assert_int_equal(spec_site_means(&site), rows[i].means);
		assert_null(spec_site_default(&site));
		diag_clear(&diag);
		spec_site_clear(&site);
	}
}

/* As the key `profile` of a spec names it, and as no key names it. */
static void places_of_the_profile(void **state)
{
	char folder[] = "/tmp/srank-test-XXXXXX", path[128], own[128];
	struct spec_value profile = {0};
	struct diag diag = {0};
	struct spec_site site;
	FILE *out;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
	snprintf(path, sizeof(path), "%s/srank", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(own, sizeof(own), "%s/srank/jw.yaml", folder);
	out = fopen(own, "w");
	assert_non_null(out);
	fputs("name: jw\n", out);
	assert_int_equal(fclose(out), 0);
	for (int i = 0; i < 2; i++) {
		profile = (struct spec_value){
			.given = true,
			.text = i ? own : "jw",
			.place = {.file = "job.yaml", .line = 1, .column = 10}};
		spec_site_init(&site);
		assert_int_equal(spec_site_load(&site, NULL, &profile, &diag), 0);
		assert_string_equal(site.name.text, "jw");
		assert_string_equal(site.file, own);
		spec_site_clear(&site);
	}
	/* --site counts over it. */
	spec_site_init(&site);
	profile.text = "gone";
	assert_int_equal(spec_site_load(&site, own, &profile, &diag), 0);
	spec_site_clear(&site);
	spec_site_init(&site);
	assert_int_equal(spec_site_load(&site, NULL, &profile, &diag), -EINVAL);
	assert_diag(&diag, "job.yaml:1:10: error: there is no profile gone: neither "
			   "/etc/srank/gone.yaml nor one in ~/.config/srank "
			   "[spec-profile]\n");
	spec_site_clear(&site);
	remove(own);
	remove(path);
	remove(folder);
}

static void faults(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"gpu_dialect: gpu",
		 "site.yaml:1:14: error: gpu_dialect: 'gpu' is not one of: gres "
		 "gpus_per_node gpus_per_task gpus [spec-value]\n"},
		{"name: a\n---\nname: b\n",
		 "site.yaml:2:1: error: a second YAML document begins here; a file holds "
		 "one [spec-yaml]\n"},
		{"partitions: {a: 1}",
		 "site.yaml:1:17: error: partitions: a must be a map [spec-type]\n"},
		{"partitions: [a]",
		 "site.yaml:1:13: error: partitions is a list; expected a map of "
		 "names to maps [spec-type]\n"},
		{"partitions: {a: {node: 1}}", "site.yaml:1:18: error: unknown key node "
					       "in partitions; did you mean nodes? "
					       "[spec-unknown-key]\n"},
		{"partitions: {a: {nodes: 1}, a: {}}",
		 "site.yaml:1:29: error: key a stands here a second time; the first is "
		 "on line 1 "
		 "[spec-duplicate-key]\n"},
		{"launcher: torch\n",
		 "site.yaml:1:1: error: unknown key launcher at the top level; launcher "
		 "stands under defaults [spec-unknown-key]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		struct spec_site site;

		print_message("# row %zu\n", i);
		assert_int_equal(read_text(&site, rows[i].text, &diag), -EINVAL);
		assert_diag(&diag, rows[i].expected);
		spec_site_clear(&site);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in),
		cmocka_unit_test(profile),
		cmocka_unit_test(dialects_have_the_order_of_their_enum),
		cmocka_unit_test(one_profile_on_another),
		cmocka_unit_test(means_by_the_profile),
		cmocka_unit_test(places_of_the_profile),
		cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests_name("site", tests, NULL, NULL);
}
