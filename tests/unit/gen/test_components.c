/* SPDX-License-Identifier: MIT */
/*
 * Nothing that a component of a heterogeneous job says is passed over: for every key of
 * one there is a row here with a value of it, and the script with that value in the
 * second of two components is another one than without. The keys of a spec are in
 * test_fields.c.
 */
#include "job.h"

#include "gen/script/script.h"
#include "gen/spec/read.h"

#define BASE                                                                          \
	"run: {script: a.py}\nresources: {nodes: 2, gpus_per_node: 4, cpus_per_gpu: " \
	"4}\n"

static const struct row {
	const char *key,
		*value; /* the value with its key, as it stands in the component */
} rows[] = {
	{"run", "run: {script: b.py}"},
	{"mmdet", "mmdet: {config: c.py}"},
	{"resources", "resources: {nodes: 3}"},
	{"partition", "partition: q"},
	{"account", "account: q"},
	{"qos", "qos: q"},
	{"constraint", "constraint: q"},
	{"nodelist", "nodelist: n1"},
	{"exclude", "exclude: n1"},
	{"extra", "extra: [--power=x]"},
	{"env", "env: {A: 1}"},
	{"container", "container: {runtime: pyxis, image: i}"},
};

/* The script of two components, with ROW's value in the second when WITH; but for its
 * comments, which show the assignment. The caller frees. */
static char *script_of(const struct row *row, bool with)
{
	struct script_templates templates = {0};
	struct job job = {0};
	char *text = NULL, *left = NULL, line[256];
	size_t length, kept;
	FILE *out = open_memstream(&text, &length), *rest = open_memstream(&left, &kept);

	assert_non_null(out);
	assert_non_null(rest);
	spec_site_init(&job.site);
	assert_int_equal(
		spec_read_text(&job.spec, "job.yaml", BASE, strlen(BASE), &job.diag), 0);
	snprintf(line, sizeof(line), "het=[{}, {%s}]", with ? row->value : "");
	assert_int_equal(spec_override(&job.spec, line, &job.diag), 0);
	assert_int_equal(spec_complete(&job.spec, &job.site.defaults), 0);
	job.rc = plan_make(&job.plan, &job.spec, &job.site, &job.diag);
	if (job.rc == 0)
		job.rc = script_write(out, &job.spec, &job.plan, &job.site, NULL,
				      &templates, NULL, &job.diag);
	assert_int_equal(fclose(out), 0);
	if (job.rc < 0)
		print_error("%s=%s: %s\n", row->key, row->value,
			    job.diag.count ? job.diag.items[0].message : "no message");
	for (char *at = job.rc == 0 ? text : NULL, *end; at && (end = strchr(at, '\n'));
	     at = end + 1) {
		if (strncmp(at, "# ", 2) != 0)
			fprintf(rest, "%.*s\n", (int)(end - at), at);
	}
	assert_int_equal(fclose(rest), 0);
	free(text);
	script_templates_clear(&templates);
	job_clear(&job);
	return left;
}

static void every_value_makes_another_script(void **state)
{
	size_t same = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *without = script_of(&rows[i], false);
		char *with = script_of(&rows[i], true);

		/* A script that could not be made is empty. */
		if (!with[0] || strcmp(without, with) == 0) {
			print_error("%s=%s makes no difference\n", rows[i].key,
				    rows[i].value);
			same++;
		}
		free(without);
		free(with);
	}
	assert_int_equal(same, 0);
}

static void every_key_has_a_row(void **state)
{
	const struct spec_field *fields = spec_field_find(spec_fields, "het")->fields;
	size_t count = 0;

	for (; fields->name; fields++, count++) {
		bool found = false;

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			found |= strcmp(rows[i].key, fields->name) == 0;
		if (!found)
			fail_msg("%s has no row here", fields->name);
	}
	assert_int_equal(count, sizeof(rows) / sizeof(rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_a_row),
		cmocka_unit_test(every_value_makes_another_script),
	};

	return cmocka_run_group_tests_name("components", tests, NULL, NULL);
}
