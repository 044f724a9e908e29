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
	"host.name=a\nhost.addresses=10.0.0.1\nhost.own=10.0.0.1\nmesh.pairs=1\nkernel=6."
	"1\nlibc=glibc "
	"2.36\nlisten=10.0.0.1 4711\nlisten.interface=eth0\nsrun.port=40001\n",
	"node=a\nrank=1\nshape=worker\nncpus=8\ncpus=8-15\nmemlock=-1\nnofile=65536\n"
	"gpus=2\nown=0000:02:00.0\nsrun.port=40001\n",
	"node=b\nrank=2\nleader=1\nlocal_size=2\nshape=worker\nncpus=8\ncpus=0-7\n"
	"cpus.asked=8\nmemlock=-1\nnofile=65536\ngpus=2\ngpus.list=0,1\ngpus.step=2\n"
	"own=0000:01:00.0\nmemory=68619476736\nshm.size=34359738368\nshm.free="
	"34359738368\n"
	"job.nodes=2\nmaster.addresses=10.0.0.1\nreach=reached\nreach.address=10.0.0.1\n"
	"reach.port=29500\nround_trip=100000\nahead=-200\ninterface=eth0\n"
	"interfaces=lo, "
	"eth0\nhost.name=b\nhost.addresses=10.0.0.2\nhost.own=10.0.0.2\nmesh.pairs=0\n"
	"kernel=6.1\nlibc=glibc 2.36\nlisten=10.0.0.2 4711\nlisten.interface=eth0\n"
	"srun.port=40001\n",
	"node=b\nrank=3\nshape=worker\nncpus=8\ncpus=8-15\nmemlock=-1\nnofile=65536\n"
	"gpus=2\nown=0000:02:00.0\nsrun.port=40001\n",
};

/*
 * Lines in front of a record win over those behind; "!" is a record that has not come,
 * and "@KEY" one without the line of KEY.
 */
static const struct {
	const char *before[RANKS];
	const char *expected; /* "severity place: text [rule]", a line each */
} rows[] = {
	{{NULL, NULL, NULL, NULL}, ""},
	{{NULL, "!", NULL, NULL},
	 /* Its GPU is the one that no other rank has. */
	 "error : 1 of 4 ranks have not reported in 7 s: 1 [ranks-missing]\n"},
	/* How many tasks its node has only the leader says. */
	{{NULL, NULL, "!", NULL},
	 "error : 1 of 4 ranks have not reported in 7 s: 2 [ranks-missing]\n"},
	{{NULL, NULL, "!", "!"},
	 "error : 2 of 4 ranks have not reported in 7 s: 2,3 [ranks-missing]\n"},
	{{"error=no launcher\n", "error=no launcher\n", "error=no launcher\n"},
	 "error a and b: no launcher [step]\n"},
	{{"port.held=port 29500 is held by process 7 (python)\n"},
	 "error a: port 29500 is held by process 7 (python) [port-held]\n"},
	{{NULL, NULL, "master.addresses=\nmaster.error=Name or service not known\n"},
	 "error b: a does not resolve: Name or service not known [address-unresolved]\n"},
	{{NULL, NULL, "master.addresses=127.0.1.1\nreach.address=127.0.1.1\n"},
	 "error b: a is 127.0.1.1 there, the node itself [address-loopback]\n"},
	/* Programs go on to the next one. */
	{{NULL, NULL, "master.addresses=127.0.1.1,10.0.0.1\n"}, ""},
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
	{{"addr.set=1\n", NULL, "reach=refused\n"},
	 "error b: a (10.0.0.1), which MASTER_ADDR says while rank 0 is on a, port "
	 "29500, "
	 "refuses the connection [refused]\n"},
	/* Its own address is told, and not where that leads. */
	{{"addr=a\nport=29500\nlauncher=torch\n", "addr=a\nport=29500\nlauncher=torch\n",
	  "addr=b\nport=29500\nlauncher=torch\nreach=refused\nmaster.addresses=10.0.0."
	  "2\n",
	  "addr=a\nport=29501\nlauncher=mpi\n"},
	 "error b: MASTER_ADDR is b there, and a on rank 0 [ranks-differ]\n"
	 "error b: MASTER_PORT is 29501 there, and 29500 on rank 0 [ranks-differ]\n"
	 "error b: the launcher is mpi there, and torch on rank 0 [ranks-differ]\n"},
	{{NULL, NULL, "reach=silent\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, takes connections, "
	 "but does not answer [silent]\n"},
	{{NULL, NULL, "reach=small-only\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, can be reached, but "
	 "larger messages are lost [large-messages]\n"},
	{{"mesh.failed=b small-only\n"},
	 "error : 1 of 1 connections between nodes fail: a to b (large messages are "
	 "lost) "
	 "[mesh]\n"},
	{{NULL, NULL, "reach=failed\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, could not be tried "
	 "[not-tested]\n"},
	/* Nobody could be asked for an address. */
	{{NULL, NULL,
	  "master.addresses=\nreach=failed\nreach.address=\nreach.error=no thread\n"},
	 "error b: a, where rank 0 listens on port 29500, could not be tried (no thread) "
	 "[not-tested]\n"},
	{{"mesh.failed=b no-address\n", NULL, "@listen"},
	 "error b: no other node has tried to come here: there is no address but of the "
	 "loopback interface or of one link [not-tested]\n"},
	{{NULL, NULL, "master.addresses=10.1.0.1\n"},
	 "warning b: a is 10.1.0.1 there, and 10.0.0.1 on a [address-differs]\n"},
	/* Resolvers sort them by the networks of the host that asks. */
	{{NULL, NULL, "master.addresses=fd00::1,10.0.0.1\n"}, ""},
	{{"mesh.failed=b filtered\n"},
	 "error : 1 of 1 connections between nodes fail: a to b (no answer) [mesh]\n"},
	/* A rank that has not reported is why nobody comes to its node. */
	{{"mesh.failed=b refused\n", NULL, "!", "!"},
	 "error : 2 of 4 ranks have not reported in 7 s: 2,3 [ranks-missing]\n"},
	{{"mesh.failed=b refused,c refused\n", NULL, NULL, "!"},
	 "error : 1 of 4 ranks have not reported in 7 s: 3 [ranks-missing]\n"
	 "error : 1 of 1 connections between nodes fail: a to b (refused) [mesh]\n"},
	/* That is how other names than Slurm's would look. */
	{{"mesh.failed=b.example.org filtered\n"},
	 "error : 1 of 1 connections between nodes fail: a to b.example.org (no answer) "
	 "[mesh]\n"},
	{{"mesh.failed=b nonsense\n"},
	 "error : 1 of 1 connections between nodes fail: a to b (?) [mesh]\n"},
	/* It has been said of rank 0's node. */
	{{"mesh.failed=b filtered\n", NULL, "reach=filtered\n"},
	 "error b: a (10.0.0.1), where rank 0 listens on port 29500, does not answer "
	 "[filtered]\n"},
	/* Less than a third of what the better half sends. */
	{{"load.node=b\nload.rate=1250000000\n", NULL,
	  "load.node=a\nload.rate=416000000\n"},
	 "warning b: 3.33 Gbit/s go to a, and half of the nodes send 10.00 or more "
	 "[slow-link]\n"},
	{{"load.node=b\nload.rate=1250000000\n", NULL,
	  "load.node=a\nload.rate=417000000\n"},
	 ""},
	{{"load.node=b\nload.rate=1\n"}, ""},
	{{"nccl.list=ib\nnccl.state=missing\n", NULL,
	  "nccl.list=ib\nnccl.state=missing\n"},
	 "error a and b: NCCL_SOCKET_IFNAME=ib takes no interface of this node: it has "
	 "lo, "
	 "eth0 [interface-missing]\n"},
	{{"gloo.list=lo\ngloo.state=loopback\n"},
	 "error a: GLOO_SOCKET_IFNAME=lo takes the loopback interface "
	 "[interface-loopback]\n"},
	{{NULL, NULL, "gloo.list=eth0,ib7\ngloo.state=missing\ngloo.missing=ib7\n"},
	 "error b: GLOO_SOCKET_IFNAME=eth0,ib7: ib7 is no interface of this node: it has "
	 "lo, eth0 [interface-missing]\n"},
	/* The nodes came together by another one. */
	{{"nccl.list=ib\nnccl.state=other\nnccl.interface=ib0\n"},
	 "warning a: NCCL_SOCKET_IFNAME=ib takes ib0, and eth0 leads to rank 0 "
	 "[interface-other]\n"},
	/* By this one; and where one connection fails, they did not. */
	{{"nccl.list=ib\nnccl.state=other\nnccl.interface=ib0\nlisten.interface=ib0\n"},
	 ""},
	{{"nccl.list=ib\nnccl.state=other\nnccl.interface=ib0\nlisten.interface=ib0\n"
	  "mesh.failed=b filtered\n"},
	 "error : 1 of 1 connections between nodes fail: a to b (no answer) [mesh]\n"
	 "warning a: NCCL_SOCKET_IFNAME=ib takes ib0, and eth0 leads to rank 0 "
	 "[interface-other]\n"},
	{{NULL, NULL, "host.own=127.0.1.1\n"},
	 "warning b: the host's own name b is 127.0.1.1 [hostname-loopback]\n"},
	{{NULL, NULL, "host.own=\nhost.error=no name\n"},
	 "warning b: the host's own name b does not lead to it (no name), and Gloo then "
	 "takes "
	 "the loopback interface [hostname-loopback]\n"},
	{{NULL, NULL, "host.own=127.0.1.1\ngloo.list=eth0\ngloo.state=fine\n"}, ""},
	{{NULL, NULL, NULL, "gpus=0\nown=\n"},
	 "error rank 3 on b: no GPU, where other ranks have some [gpu-none]\n"
	 "warning b: 1 of 2 GPUs have a rank [gpu-idle]\n"},
	/* Components are different on purpose, and what srun was asked for in the first
	 * one is in the environment of all. */
	{{NULL, NULL,
	  "srun.port=40002\ngpus=0\nown=\ngpus.step=0\nncpus=2\ncpus.asked=4\n"
	  "gpus.asked=8\nmodels=V100\ndriver=nvidia 1\nmemory=1000\nlimits=x\nkernel=5\n"
	  "libc=musl\nsystem=Rocky\ncontainer=x.sif\n",
	  "srun.port=40002\ngpus=0\nown=\nncpus=2\n"},
	 ""},
	/* Within one they are not. */
	{{"srun.port=40002\n", NULL, NULL, "gpus=0\nown=\nncpus=2\ncpus=0-1\n"},
	 "error rank 3 on b: no GPU, where other ranks have some [gpu-none]\n"
	 "warning b: 1 of 2 GPUs have a rank [gpu-idle]\n"
	 "warning rank 3 on b: may run on 2 CPUs (0-1), and others on 8 [cpus-uneven]\n"},
	/* Which component it is, no variable says. */
	{{"het=1\nsrun.port=0\n", "het=1\nsrun.port=0\n",
	  "het=1\nsrun.port=0\ngpus=0\nown=\ngpus.step=0\nncpus=2\nkernel=5\n",
	  "het=1\nsrun.port=0\ngpus=0\nown=\nncpus=2\n"},
	 ""},
	/* As under mpirun, whose node srun has not started. */
	{{"srun.port=0\n", "srun.port=0\n", "kernel=5\n", NULL},
	 "warning b: kernel: 5, and 6.1 on a [kernel-differs]\n"},
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
	/* The tasks are as uneven. */
	{{"local_size=1\ngpus.step=1\n", "node=b\nown=0000:03:00.0\n",
	  "local_size=3\ngpus.step=3\n"},
	 ""},
	/* All of them are the launcher's. */
	{{"shape=node\ngpus.step=4\n", NULL, "shape=node\ngpus.step=4\n"}, ""},
	{{"models=A100\n", NULL, "models=V100\n"},
	 "warning b: GPU: V100, and A100 on a [gpu-model-differs]\n"},
	/* Nodes of which no GPU was given. */
	{{"gpus=0\ngpus.step=0\nown=\nmodels=A100\ndriver=nvidia 1\n", "gpus=0\nown=\n",
	  "gpus=0\ngpus.step=0\nown=\nmodels=V100\ndriver=nvidia 2\n", "gpus=0\nown=\n"},
	 ""},
	{{NULL, NULL, "driver=nvidia 535.1\n"},
	 "warning b: GPU driver: nvidia 535.1, and none on a [driver-differs]\n"},
	{{NULL, NULL, "ncpus=1\ncpus=0\n"},
	 "warning rank 2 on b: may run on 1 CPU (0), and 8 were asked for it "
	 "[cpus-few]\n"},
	{{NULL, NULL, NULL, "ncpus=2\ncpus=0-1\n"},
	 "warning rank 3 on b: may run on 2 CPUs (0-1), and others on 8 [cpus-uneven]\n"},
	/* Those of one node have all of its CPUs together, and as many each. */
	{{"ncpus=16\ncpus=0-15\n", "ncpus=16\ncpus=0-15\n", NULL, NULL}, ""},
	{{"ncpus=16\ncpus=0-15\n", "!", NULL, NULL},
	 "error : 1 of 4 ranks have not reported in 7 s: 1 [ranks-missing]\n"},
	{{"ncpus=32\ncpus=0-31\n", "ncpus=32\ncpus=0-31\n", NULL, NULL},
	 "warning rank 2 on b: may run on 8 CPUs (0-7), and others on 32 [cpus-uneven]\n"
	 "warning rank 3 on b: may run on 8 CPUs (8-15), and others on 32 "
	 "[cpus-uneven]\n"},
	{{NULL, NULL, "binding=one\\ntwo\n"},
	 "warning b: one [binding]\nwarning b: two [binding]\n"},
	{{NULL, NULL, "memory=34359738368\n"},
	 "warning b: 32768 MiB of memory for the job, and 65536 MiB on a "
	 "[memory-differs]\n"},
	/* By task it is the same. */
	{{NULL, NULL, "memory=34359738368\nlocal_size=1\n"}, ""},
	{{"memlock=65536\n"}, ""},
	{{"memlock=65536\ninfiniband=mlx5_0\ninfiniband.refused=NCCL_IB_DISABLE\n"}, ""},
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
	 "error b: /dev/shm has 0 of 64 MiB free, for 2 ranks [shm-small]\n"},
	/* 128 MiB a task, less one byte. */
	{{NULL, NULL, "shm.free=268435455\nshm.size=268435456\n"},
	 "warning b: /dev/shm has 255 of 256 MiB free, for 2 ranks [shm-low]\n"},
	{{NULL, NULL, "shm.free=268435456\nshm.size=268435456\n"}, ""},
	/* The container that Docker gives to a launcher of eight. */
	{{"shape=node\nlocal_size=1\ngpus=8\ngpus.step=8\nshm.free=67108864\n"
	  "shm.size=67108864\n",
	  "!", NULL, NULL},
	 "error : 1 of 4 ranks have not reported in 7 s: 1 [ranks-missing]\n"
	 "error a: /dev/shm has 64 of 64 MiB free, for 8 ranks [shm-small]\n"
	 "warning b: number of GPUs: 2, and 8 on a [gpu-count-differs]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=5678 2 3\n"},
	 "error b: code is not what it is on a: train.py [tree-differs]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=!No such file\n"},
	 "error b: code: No such file [tree-unreadable]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=#code/x: no\n"},
	 "error b: code: code/x: no [tree-forbidden]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=*code/x: gone\n"},
	 "warning b: code was not compared: code/x: gone [tree-changing]\n"},
	/* Of another list nothing is said, but that it is another one. */
	{{"trees=12 code\ntree.0=1234 2 3\n", NULL,
	  "trees=34 conf data\ntree.0=5678 2 3\n"},
	 "error b: was to read conf data, and a code, so these were not compared "
	 "[trees-other]\n"},
	{{"trees=12 code\ntree.0=1234 2 3\n"},
	 "error b: was to read none, and a code, so these were not compared "
	 "[trees-other]\n"},
	{{"trees=12 code\ntree.0=1234 2 3\n", NULL,
	  "trees=12 code\ntree.0=1234 2 3\n"},
	 ""},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=~code/x: no answer\n"},
	 "error b: code: code/x: no answer [tree-stalled]\n"},
	{{"tree.0=1234 2 3\n", NULL, "tree.0=-Too many open files\n"},
	 "error b: code was not compared: Too many open files [not-tested]\n"},
	{{"tree.0=?too much\n", NULL, "tree.0=5678 2 3\n"},
	 "warning a: code was not compared: too much [tree-large]\n"},
	/* Nothing is done with numbers that could overflow. */
	{{NULL, NULL,
	  "ahead=-9223372036854775808\nround_trip=9223372036854775807\n"
	  "nofile=-9223372036854775808\nlocal_size=9223372036854775807\n"
	  "shm.free=9223372036854775807\nshm.size=9223372036854775807\n"},
	 "error b: /dev/shm has 8796093022207 of 8796093022207 MiB free, for "
	 "9223372036854775807 ranks [shm-small]\n"
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

static void read_record(struct exec_record *record, const char *before, const char *usual)
{
	char text[4096], key[64], *line;

	if (before && *before == '!')
		usual = before = "";
	snprintf(text, sizeof(text), "%s%s", before && *before != '@' ? before : "",
		 usual);
	if (before && *before == '@') {
		snprintf(key, sizeof(key), "\n%s=", before + 1);
		line = strstr(text, key);
		assert_non_null(line);
		line[1] = '-'; /* a key that nobody asks for */
	}
	assert_int_equal(exec_record_read(record, text), 0);
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

enum pmix { JOINS, PARTS, UNJOINED, NONE };

static void judge(size_t row, enum pmix pmix, struct exec_verdict *verdict)
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
		.meshed = pmix == JOINS || pmix == PARTS,
		.apart = pmix == PARTS,
		.unjoined = pmix == UNJOINED,
		.seconds = 7,
		.trees = trees,
		.trees_count = 1,
		.differences = differences,
	};

	for (int rank = 0; rank < RANKS; rank++)
		read_record(&records[rank], rows[row].before[rank], healthy[rank]);
	exec_judge(verdict, &world);
	for (int rank = 0; rank < RANKS; rank++)
		exec_record_clear(&records[rank]);
}

static void finds_what_is_wrong(void **state)
{
	for (size_t row = 0; row < ROWS; row++) {
		struct exec_verdict verdict = {0};
		char *text;

		judge(row, JOINS, &verdict);
		text = describe(&verdict);
		assert_string_equal(text, rows[row].expected);
		assert_int_equal(verdict.errors + verdict.warnings, verdict.count);
		free(text);
		exec_verdict_clear(&verdict);
	}
}

static void tells_that_pmix_failed(void **state)
{
	static const char *const expected[] = {
		[PARTS] = "error : PMIx has not brought the ranks together in 7 s "
			  "[pmix-apart]\n",
		[UNJOINED] = "warning : PMIx does not join the nodes of this step "
			     "[pmix-unjoined]\n",
	};

	for (enum pmix pmix = PARTS; pmix <= UNJOINED; pmix++) {
		struct exec_verdict verdict = {0};
		char *text;

		judge(0, pmix, &verdict);
		text = describe(&verdict);
		assert_string_equal(text, expected[pmix]);
		free(text);
		exec_verdict_clear(&verdict);
	}
}

/* Without PMIx no two nodes have tried any interface. */
static void warns_of_what_was_not_tried(void **state)
{
	for (size_t row = 0; row < ROWS; row++) {
		const char *before = rows[row].before[0];
		struct exec_verdict verdict = {0};
		char *text;

		if (*rows[row].expected || !before || !strstr(before, "nccl.state=other"))
			continue;
		judge(row, NONE, &verdict);
		text = describe(&verdict);
		assert_string_equal(text,
				    "warning a: NCCL_SOCKET_IFNAME=ib takes ib0, and "
				    "eth0 leads to rank 0 [interface-other]\n");
		free(text);
		exec_verdict_clear(&verdict);
		return;
	}
	fail_msg("no row has an interface that was tried");
}

/* Those of PMIx are above. */
static void breaks_every_rule(void **state)
{
	for (const struct exec_rule *rule = exec_rules; rule->name; rule++) {
		char name[64];
		bool broken = strncmp(rule->name, "pmix-", 5) == 0;

		snprintf(name, sizeof(name), " [%s]\n", rule->name);
		for (size_t row = 0; row < ROWS && !broken; row++)
			broken = strstr(rows[row].expected, name);
		if (!broken)
			fail_msg("no row breaks %s", rule->name);
		assert_true(strlen(rule->cause) > 0 && strlen(rule->cure) > 0);
	}
}

/* As scdoc(5) writes it; the first letter may have become a capital. */
static bool tells(const char *manual_text, const char *text)
{
	char escaped[1024];
	size_t used = 0;

	for (const char *c = text + 1; *c && used + 2 < sizeof(escaped); c++) {
		if (*c == '_' || *c == '*')
			escaped[used++] = '\\';
		escaped[used++] = *c;
	}
	escaped[used] = '\0';
	return strstr(manual_text, escaped);
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
		const char *place;

		snprintf(name, sizeof(name), "\n*%s* (%s)\n", rule->name,
			 exec_severity_name(rule->severity));
		place = strstr(text, name);
		if (!place || !tells(place, rule->cause) || !tells(place, rule->cure))
			fail_msg("srank-doctor(1) does not tell what is in the table of "
				 "%s",
				 rule->name);
	}
	free(text);
}

/* COUNT nodes of one task each, of which FORMAT says what is not as usual. */
static struct exec_record *make_nodes(uint32_t count, const char *format)
{
	struct exec_record *records = calloc(count, sizeof(*records));

	assert_non_null(records);
	for (uint32_t rank = 0; rank < count; rank++) {
		char text[512];
		int length = snprintf(text, sizeof(text),
				      "node=n%u\nrank=%u\nleader=1\nlocal_size=1\n"
				      "nofile=65536\nsrun.port=%u\n",
				      rank, rank, 40000 + rank % ((count + 47) / 48));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text + length, sizeof(text) - (size_t)length, format, rank);
#pragma GCC diagnostic pop
		assert_int_equal(exec_record_read(&records[rank], text), 0);
	}
	return records;
}

static void judge_nodes(uint32_t count, const char *format, struct exec_verdict *verdict)
{
	struct exec_record *records = make_nodes(count, format);
	const struct exec_world world = {.ntasks = count,
					 .nnodes = count,
					 .records = records,
					 .addr = "a",
					 .seconds = 7};

	exec_judge(verdict, &world);
	for (uint32_t rank = 0; rank < count; rank++)
		exec_record_clear(&records[rank]);
	free(records);
}

/* Equal texts are one finding, of many places of which all are kept. */
static void counts_places(void **state)
{
	struct exec_verdict verdict = {0};
	char *text;

	judge_nodes(6, "error=same\n", &verdict);
	text = describe(&verdict);
	assert_string_equal(text, "error n0, n1, n2, n3 and 2 more: same [step]\n");
	assert_int_equal(verdict.findings[0].places, 6);
	assert_string_equal(verdict.findings[0].place[5], "n5");
	free(text);
	exec_verdict_clear(&verdict);
}

/* A step of many nodes has several ports of srun's, and is compared as a whole. */
static void compares_large_steps(void **state)
{
	struct exec_verdict verdict = {0};

	judge_nodes(100, "kernel=%u\n", &verdict);
	/* All but the first, which is as usual as any. */
	assert_int_equal(verdict.count, 99);
	exec_verdict_clear(&verdict);
}

/*
 * As many findings as nodes, and connections that fail by name: what takes the square of
 * them would be seen to take its time.
 */
static void judges_many_nodes(void **state)
{
	struct exec_verdict verdict = {0};

	judge_nodes(10000,
		    "error=of its own %1$u\nkernel=%1$u\nlisten=x 1\nmesh.pairs=2\n"
		    "mesh.failed=n9998 filtered,n9999 refused\n",
		    &verdict);
	/* Errors of the step, one of the mesh, other kernels than the first one's. */
	assert_int_equal(verdict.errors, 10000 + 1);
	assert_int_equal(verdict.warnings, 9999);
	assert_false(verdict.lost);
	exec_verdict_clear(&verdict);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_wrong),
		cmocka_unit_test(tells_that_pmix_failed),
		cmocka_unit_test(breaks_every_rule),
		cmocka_unit_test(stands_in_the_manual),
		cmocka_unit_test(warns_of_what_was_not_tried),
		cmocka_unit_test(counts_places),
		cmocka_unit_test(compares_large_steps),
		cmocka_unit_test(judges_many_nodes),
	};

	manual = argc > 1 ? argv[1] : "docs/srank-doctor.1.scd";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
