/* SPDX-License-Identifier: MIT */
/*
 * The rules of `srank doctor` on records that are written by hand: each rule is broken by
 * a row, a step that keeps to all of them breaks none, and the manual names every one.
 */
#include "spank/exec/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANKS 4

static const char *manual;

/* Two nodes with two tasks each, of which nothing is wrong. */
static const char *const healthy[RANKS] = {
	"node=a\nrank=0\nhead=1\nleader=1\nlocal_size=2\nshape=worker\nncpus=8\ncpus=0-"
	"7\n"
	"cpus.asked=8\nmemlock=-1\nnofile=65536\ngpus=2\ngpus.list=0,1\ngpus.step=2\n"
	"own=0000:01:00.0\nmemory=68719476736\nshm.size=34359738368\nshm.free="
	"34359738368\n"
	"job.nodes=2\nmaster.addresses=10.0.0.1\nreach=reached\nreach.address=10.0.0.1\n"
	"reach.port=29500\nround_trip=100000\nahead=0\ninterface=eth0\ninterfaces=lo, "
	"eth0\n"
	"host.name=a\nhost.addresses=10.0.0.1\nmesh.pairs=1\nkernel=6.1\nlibc=glibc "
	"2.36\n",
	"node=a\nrank=1\nshape=worker\nncpus=8\ncpus=8-15\nmemlock=-1\nnofile=65536\n"
	"gpus=2\nown=0000:02:00.0\n",
	"node=b\nrank=2\nleader=1\nlocal_size=2\nshape=worker\nncpus=8\ncpus=0-7\n"
	"cpus.asked=8\nmemlock=-1\nnofile=65536\ngpus=2\ngpus.list=0,1\ngpus.step=2\n"
	"own=0000:01:00.0\nmemory=68619476736\nshm.size=34359738368\nshm.free="
	"34359738368\n"
	"job.nodes=2\nmaster.addresses=10.0.0.1\nreach=reached\nreach.address=10.0.0.1\n"
	"reach.port=29500\nround_trip=100000\nahead=-200\ninterface=eth0\n"
	"interfaces=lo, eth0\nhost.name=b\nhost.addresses=10.0.0.2\nmesh.pairs=0\n"
	"kernel=6.1\nlibc=glibc 2.36\n",
	"node=b\nrank=3\nshape=worker\nncpus=8\ncpus=8-15\nmemlock=-1\nnofile=65536\n"
	"gpus=2\nown=0000:02:00.0\n",
};

/* Lines in front of a record win over those behind; "!" is a record that has not come. */
static const struct {
	const char *before[RANKS];
	const char *expected; /* "severity place: text [rule]", a line each */
} rows[] = {
	{{NULL, NULL, NULL, NULL}, ""},
	{{NULL, "!", NULL, NULL},
	 "error : 1 of 4 ranks have not reported in 7 s: 1 [ranks-missing]\n"
	 /* Its GPU is then nobody's, as far as is known. */
	 "warning a: 1 of 2 GPUs have a rank [gpu-idle]\n"},
	{{NULL, NULL, "!", "!"},
	 "error : 2 of 4 ranks have not reported in 7 s: 2,3 [ranks-missing]\n"},
	{{"error=no launcher\n", "error=no launcher\n", "error=no launcher\n"},
	 "error a and b: no launcher [step]\n"},
	{{"port.held=port 29500 is held by process 7 (python)\n"},
	 "error a: port 29500 is held by process 7 (python) [port-held]\n"},
	{{NULL, NULL, "master.addresses=\nmaster.error=Name or service not known\n"},
	 "error b: a does not resolve: Name or service not known [address-unresolved]\n"},
	{{NULL, NULL, "master.addresses=127.0.1.1\nreach=refused\n"},
	 "error b: a is 127.0.1.1 there, the node itself [address-loopback]\n"},
	{{NULL, NULL, "master.addresses=::1\nreach=refused\n"},
	 "error b: a is ::1 there, the node itself [address-loopback]\n"},
	/* Rank 0's own node may well call itself so. */
	{{"master.addresses=127.0.1.1\n"}, ""},
	{{NULL, NULL, "reach=refused\nreach.error=Connection refused\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, refuses the "
	 "connection (Connection refused) [refused]\n"},
	{{NULL, NULL, "reach=unreachable\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, cannot be reached "
	 "from here [unreachable]\n"},
	{{NULL, NULL, "reach=filtered\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, does not answer "
	 "[filtered]\n"},
	{{NULL, NULL, "reach=other\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, answers, but it is "
	 "no "
	 "rank of this step [other-program]\n"},
	{{NULL, NULL, "reach=failed\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, could not be tried "
	 "[not-tested]\n"},
	{{NULL, NULL, "master.addresses=10.1.0.1\n"},
	 "warning b: a is 10.1.0.1 there, and 10.0.0.1 on a [address-differs]\n"},
	/* Resolvers sort them by the networks of the host that asks. */
	{{NULL, NULL, "master.addresses=fd00::1,10.0.0.1\n"}, ""},
	{{"mesh.failed=b filtered\n"},
	 "error : 1 of 1 connections between nodes fail: a to b (no answer) [mesh]\n"},
	{{"mesh.failed=b nonsense\n"},
	 "error : 1 of 1 connections between nodes fail: a to b (?) [mesh]\n"},
	/* It has been said of rank 0's node. */
	{{"mesh.failed=b filtered\n", NULL, "reach=filtered\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, does not answer "
	 "[filtered]\n"},
	{{"nccl.list=ib\nnccl.state=missing\n", NULL,
	  "nccl.list=ib\nnccl.state=missing\n"},
	 "error a and b: NCCL_SOCKET_IFNAME=ib takes no interface of this node: it has "
	 "lo, "
	 "eth0 [interface-missing]\n"},
	{{"gloo.list=lo\ngloo.state=loopback\n"},
	 "error a: GLOO_SOCKET_IFNAME=lo takes the loopback interface "
	 "[interface-loopback]\n"},
	{{"nccl.list=ib\nnccl.state=other\n"},
	 "warning a: NCCL_SOCKET_IFNAME=ib does not take eth0, which leads to rank 0 "
	 "[interface-other]\n"},
	{{NULL, NULL, "host.addresses=127.0.1.1\n"},
	 "warning b: the host's own name b is 127.0.1.1 [hostname-loopback]\n"},
	{{NULL, NULL, "host.addresses=\nhost.error=no name\n"},
	 "warning b: the host's own name b does not resolve (no name), and Gloo then "
	 "takes "
	 "the loopback interface [hostname-loopback]\n"},
	{{NULL, NULL, "host.addresses=127.0.1.1\ngloo.list=eth0\ngloo.state=fine\n"}, ""},
	{{NULL, NULL, NULL, "gpus=0\nown=\n"},
	 "error rank 3 on b: no GPU, where other ranks have some [gpu-none]\n"
	 "warning b: 1 of 2 GPUs have a rank [gpu-idle]\n"},
	/* A component of a heterogeneous job may do without. */
	{{NULL, NULL, "het=1\ngpus=0\nown=\ngpus.step=2\n", "het=1\ngpus=0\nown=\n"}, ""},
	{{NULL, NULL, "gpus.missing=/dev/nvidia1\n"},
	 "error b: Slurm has given the task 0,1, and there is no /dev/nvidia1 "
	 "[gpu-missing]\n"},
	{{NULL, NULL, "gpus.denied=/dev/nvidia1\n", "gpus.denied=/dev/nvidia1\n"},
	 "error b: no access to /dev/nvidia1 [gpu-denied]\n"},
	{{NULL, NULL, NULL, "own=0000:01:00.0\n"},
	 "warning b: 1 of 2 tasks share the GPU of another: ranks 2 and 3 both have "
	 "0000:01:00.0 [gpu-shared]\n"},
	{{NULL, NULL, "own=0000:03:00.0,0000:02:00.0\n"},
	 "warning b: 1 of 2 tasks share the GPU of another: ranks 2 and 3 both have "
	 "0000:02:00.0 [gpu-shared]\n"},
	{{"gpus.asked=4\n"},
	 "warning a: the job asked for 4 GPUs a node, and the step has 2 [gpu-fewer]\n"},
	{{"gpus.step=4\n"},
	 "warning a: 2 of 4 GPUs have a rank [gpu-idle]\n"
	 "warning b: number of GPUs: 2, and 4 on a [gpu-count-differs]\n"},
	/* All of them are the launcher's. */
	{{"shape=node\ngpus.step=4\n", NULL, "shape=node\ngpus.step=4\n"}, ""},
	{{"models=2 x A100\n", NULL, "models=2 x V100\n"},
	 "warning b: GPU: 2 x V100, and 2 x A100 on a [gpu-model-differs]\n"},
	{{NULL, NULL, "driver=nvidia 535.1\n"},
	 "warning b: GPU driver: nvidia 535.1, and none on a [driver-differs]\n"},
	{{NULL, NULL, "ncpus=1\ncpus=0\n"},
	 "warning rank 2 on b: may run on 1 CPU (0), and 8 were asked for it "
	 "[cpus-few]\n"},
	{{NULL, NULL, NULL, "ncpus=2\ncpus=0-1\n"},
	 "warning rank 3 on b: may run on 2 CPUs (0-1), and others on 8 [cpus-uneven]\n"},
	{{NULL, NULL, "binding=one\\ntwo\n"},
	 "warning b: one [binding]\nwarning b: two [binding]\n"},
	{{NULL, NULL, "memory=34359738368\n"},
	 "warning b: 32768 MiB of memory for the job, and 65536 MiB on a "
	 "[memory-differs]\n"},
	{{"memlock=65536\n"}, ""},
	{{"memlock=65536\ninfiniband=mlx5_0\n"},
	 "error a: no more than 64 KiB of memory can be locked, and there is InfiniBand "
	 "(mlx5_0) [memlock-low]\n"},
	{{NULL, NULL, "nofile=512\n", "nofile=512\n"},
	 "warning b: a task may open 512 files [files-low]\n"},
	{{"nofile=128\n"},
	 "warning rank 0 on a: may open 128 files, and has a connection to each of 4 "
	 "ranks "
	 "[files-low]\n"},
	{{NULL, NULL, "limits=open files 1\n"},
	 "warning b: limits: open files 1, and none on a [limits-differ]\n"},
	{{NULL, NULL, "shm.free=0\nshm.size=67108864\n"},
	 "error b: /dev/shm has 0 of 64 MiB free, for 2 tasks [shm-small]\n"},
	/* 128 MiB a task, less one byte. */
	{{NULL, NULL, "shm.free=268435455\nshm.size=268435456\n"},
	 "warning b: /dev/shm has 255 of 256 MiB free, for 2 tasks [shm-low]\n"},
	{{NULL, NULL, "shm.free=268435456\nshm.size=268435456\n"}, ""},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=5678 2 3\n"},
	 "error b: code is not what it is on a: train.py [tree-differs]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=!No such file\n"},
	 "error b: code: No such file [tree-unreadable]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=~code/x: no answer\n"},
	 "error b: code: code/x: no answer [tree-stalled]\n"},
	{{"tree.0=?too much\n", NULL, "tree.0=5678 2 3\n"},
	 "warning a: code was not compared: too much [tree-large]\n"},
	/* Nothing is done with numbers that could overflow. */
	{{NULL, NULL,
	  "ahead=-9223372036854775808\nround_trip=9223372036854775807\n"
	  "nofile=-9223372036854775808\nlocal_size=9223372036854775807\n"
	  "shm.free=9223372036854775807\nshm.size=9223372036854775807\n"},
	 "error b: /dev/shm has 8796093022207 of 8796093022207 MiB free, for "
	 "9223372036854775807 tasks [shm-small]\n"
	 "warning b: the clock is 4611686018.4 s before rank 0's [clock-skew]\n"},
	{{"job.nodes=3\n"},
	 "warning : the job has 3 nodes, and this step 2 [nodes-idle]\n"},
	{{NULL, NULL, "kernel=5.14\n"},
	 "warning b: kernel: 5.14, and 6.1 on a [kernel-differs]\n"},
	{{NULL, NULL, "libc=glibc 2.28\n"},
	 "warning b: C library: glibc 2.28, and glibc 2.36 on a [libc-differs]\n"},
	{{NULL, NULL, "system=Rocky\n"},
	 "warning b: system: Rocky, and none on a [system-differs]\n"},
	{{"container=apptainer x.sif\n"},
	 "warning b: container: none, and apptainer x.sif on a [container-differs]\n"},
	{{NULL, NULL, "ahead=-2000000000\n"},
	 "warning b: the clock is 2.0 s before rank 0's [clock-skew]\n"},
	{{NULL, NULL, "ahead=61000000000\n"},
	 "warning b: the clock is 61.0 s behind rank 0's [clock-skew]\n"},
	/* What the way may have taken is no skew. */
	{{NULL, NULL, "ahead=2000000000\nround_trip=3000000000\n"}, ""},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static void read_row(size_t row, struct exec_record *records)
{
	for (int rank = 0; rank < RANKS; rank++) {
		const char *before = rows[row].before[rank];
		char text[4096];

		snprintf(text, sizeof(text), "%s%s", before ? before : "", healthy[rank]);
		assert_int_equal(exec_record_read(&records[rank],
						  before && *before == '!' ? "" : text),
				 0);
	}
}

static char *describe(const struct exec_verdict *verdict)
{
	char *text = NULL, place[1600];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < verdict->count; i++) {
		const struct exec_finding *finding = &verdict->findings[i];

		exec_finding_place(finding, place, sizeof(place));
		fprintf(out, "%s %s: %s [%s]\n",
			exec_severity_name(finding->rule->severity), place, finding->text,
			finding->rule->name);
	}
	assert_int_equal(fclose(out), 0);
	return text;
}

static void judge(size_t row, bool apart, struct exec_verdict *verdict)
{
	static const char *const trees[] = {"code"};
	char difference[] = "train.py";
	char *differences[] = {difference};
	struct exec_record records[RANKS];
	const struct exec_world world = {
		.ntasks = RANKS,
		.nnodes = 2,
		.records = records,
		.addr = "a",
		.port = 29500,
		.meshed = true,
		.apart = apart,
		.seconds = 7,
		.trees = trees,
		.trees_count = 1,
		.differences = differences,
	};

	read_row(row, records);
	exec_judge(verdict, &world);
	for (int rank = 0; rank < RANKS; rank++)
		exec_record_clear(&records[rank]);
}

static void finds_what_is_wrong(void **state)
{
	for (size_t row = 0; row < ROWS; row++) {
		struct exec_verdict verdict = {0};
		char *text;

		judge(row, false, &verdict);
		text = describe(&verdict);
		assert_string_equal(text, rows[row].expected);
		assert_int_equal(verdict.errors + verdict.warnings, verdict.count);
		free(text);
		exec_verdict_clear(&verdict);
	}
}

static void tells_that_pmix_failed(void **state)
{
	struct exec_verdict verdict = {0};
	char *text;

	judge(0, true, &verdict);
	text = describe(&verdict);
	assert_string_equal(text,
			    "error : PMIx has not brought the ranks together in 7 s "
			    "[pmix-apart]\n");
	free(text);
	exec_verdict_clear(&verdict);
}

/* The one above is of a row of its own. */
static void breaks_every_rule(void **state)
{
	for (const struct exec_rule *rule = exec_rules; rule->name; rule++) {
		char name[64];
		bool broken = strcmp(rule->name, "pmix-apart") == 0;

		snprintf(name, sizeof(name), " [%s]\n", rule->name);
		for (size_t row = 0; row < ROWS && !broken; row++)
			broken = strstr(rows[row].expected, name);
		if (!broken)
			fail_msg("no row breaks %s", rule->name);
		assert_true(strlen(rule->cause) > 0 && strlen(rule->cure) > 0);
	}
}

static void stands_in_the_manual(void **state)
{
	FILE *in = fopen(manual, "r");
	char *text = NULL, name[64];
	size_t size = 0;

	assert_non_null(in);
	assert_true(getdelim(&text, &size, '\0', in) > 0);
	fclose(in);
	for (const struct exec_rule *rule = exec_rules; rule->name; rule++) {
		snprintf(name, sizeof(name), "\n*%s* (%s)\n", rule->name,
			 exec_severity_name(rule->severity));
		if (!strstr(text, name))
			fail_msg("srank-doctor(1) has no line%s", name);
	}
	free(text);
}

/* Many places are counted, and equal texts are one finding. */
static void counts_places(void **state)
{
	struct exec_record records[6];
	const struct exec_world world = {
		.ntasks = 6, .nnodes = 6, .records = records, .addr = "a", .seconds = 7};
	struct exec_verdict verdict = {0};
	char *text;

	for (int rank = 0; rank < 6; rank++) {
		char record[128];

		snprintf(record, sizeof(record),
			 "node=n%d\nrank=%d\nleader=1\nnofile=65536\nerror=same\n", rank,
			 rank);
		assert_int_equal(exec_record_read(&records[rank], record), 0);
	}
	exec_judge(&verdict, &world);
	text = describe(&verdict);
	assert_string_equal(text, "error n0, n1, n2, n3 and 2 more: same [step]\n");
	free(text);
	exec_verdict_clear(&verdict);
	for (int rank = 0; rank < 6; rank++)
		exec_record_clear(&records[rank]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_wrong),
		cmocka_unit_test(tells_that_pmix_failed),
		cmocka_unit_test(breaks_every_rule),
		cmocka_unit_test(stands_in_the_manual),
		cmocka_unit_test(counts_places),
	};

	manual = argc > 1 ? argv[1] : "docs/srank-doctor.1.scd";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
