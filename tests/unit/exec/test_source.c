/* SPDX-License-Identifier: MIT */
/*
 * Whose PMIx server it is that the environment tells of, and which task speaks for the
 * step.
 */
#include "spank/exec/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* NULL: not set. */
static void set(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static const struct {
	const char *name, *rank, *job_id, *het_id, *step_id;
	bool there, slurm;
} servers[] = {
	{NULL, NULL, "7", NULL, "0", false, false},
	{"slurm.pmix.7.0", "1", "7", NULL, "0", true, true},
	{"slurm.pmix.7.12", "0", "7", NULL, "12", true, true},
	/* Half of it, or nothing in it. */
	{"slurm.pmix.7.0", NULL, "7", NULL, "0", false, true},
	{"slurm.pmix.7.0", "", "7", NULL, "0", false, true},
	{"", "1", "7", NULL, "0", false, false},
	/* Of a step around this one, of the same job or of another. */
	{"slurm.pmix.7.0", "1", "7", NULL, "1", false, true},
	{"slurm.pmix.7.1", "1", "7", NULL, "12", false, true},
	{"slurm.pmix.6.0", "1", "7", NULL, "0", false, true},
	{"slurm.pmix.6", "1", "7", NULL, "0", false, true},
	/* The second component of a heterogeneous job. */
	{"slurm.pmix.7.0", "1", "8", "7", "0", true, true},
	{"slurm.pmix.6.0", "1", "8", "7", "0", false, true},
	/* In no step at all, as under another starter. */
	{"slurm.pmix.7.0", "1", NULL, NULL, NULL, true, true},
	/* Open MPI's: of whatever step its daemon is in. */
	{"2364407809", "1", "7", NULL, "0", true, false},
	{"prterun-node1-17@1", "1", "7", NULL, "0", true, false},
};

static void servers_are_told_apart(void **state)
{
	for (size_t i = 0; i < sizeof(servers) / sizeof(*servers); i++) {
		set("PMIX_NAMESPACE", servers[i].name);
		set("PMIX_RANK", servers[i].rank);
		set("SLURM_JOB_ID", servers[i].job_id);
		set("SLURM_HET_JOB_ID", servers[i].het_id);
		set("SLURM_STEP_ID", servers[i].step_id);
		assert_int_equal(exec_source_has_server(), servers[i].there);
		assert_int_equal(exec_source_is_slurm(), servers[i].slurm);
	}
}

static const struct {
	const char *name, *pmix_rank, *rank, *local_rank;
	bool of_step, of_task;
} speakers[] = {
	{NULL, NULL, "4", "0", true, true},
	{NULL, NULL, "4", "3", false, true},
	{NULL, NULL, "4", NULL, true, true},
	{NULL, NULL, NULL, "3", true, true},
	/* All have the same wrong one. */
	{NULL, NULL, "0", "77", true, true},
	{NULL, NULL, "1", "77", false, true},
	{"slurm.pmix.7.0", "4", "4", "0", true, true},
	{"slurm.pmix.7.0", "4", "4", "1", false, true},
	/* What Slurm says is of mpirun's daemon. */
	{"prterun-node1-17@1", "0", "0", "0", true, true},
	{"prterun-node1-17@1", "1", "0", "0", false, true},
};

static void one_speaks_for_the_step(void **state)
{
	set("SLURM_JOB_ID", "7");
	set("SLURM_STEP_ID", "0");
	for (size_t i = 0; i < sizeof(speakers) / sizeof(*speakers); i++) {
		set("PMIX_NAMESPACE", speakers[i].name);
		set("PMIX_RANK", speakers[i].pmix_rank);
		set("SLURM_PROCID", speakers[i].rank);
		set("SLURM_LOCALID", speakers[i].local_rank);
		assert_int_equal(exec_source_speaks(-EINVAL), speakers[i].of_step);
		assert_int_equal(exec_source_speaks(-ENOTSUP), speakers[i].of_step);
		assert_int_equal(exec_source_speaks(-ENOMEM), speakers[i].of_task);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_told_apart),
		cmocka_unit_test(one_speaks_for_the_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
