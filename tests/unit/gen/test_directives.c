/* SPDX-License-Identifier: MIT */
/*
 * The header of a script as sbatch reads it. Expected values are what real slurmctld of
 * 22.05, 24.11 and 26.05 made of these lines.
 */
#include "support.h"

#include "gen/script/directives.h"
#include "gen/spec/arena.h"

static const char *const faults[] = {
	[SCRIPT_USE_UNKNOWN] = "unknown",
	[SCRIPT_USE_AMBIGUOUS] = "ambiguous",
	[SCRIPT_USE_OTHER_COMMAND] = "other-command",
	[SCRIPT_USE_OTHER_VERSION] = "other-version",
	[SCRIPT_USE_NO_VALUE] = "no-value",
	[SCRIPT_USE_UNWANTED_VALUE] = "unwanted-value",
	[SCRIPT_USE_STRAY] = "stray",
};

struct header {
	struct script_text source;
	struct script_header header;
	struct spec_arena *arena;
};

static void read_header(struct header *h, const char *text, size_t length,
			script_slurm slurm)
{
	const struct script_submission submission = {.slurm = slurm};

	*h = (struct header){0};
	assert_int_equal(script_text_init(&h->source, "job.sbatch", text, length), 0);
	assert_int_equal(
		script_header_read(&h->header, &h->source, &submission, &h->arena), 0);
}

static void clear_header(struct header *h)
{
	spec_arena_free(&h->arena);
	script_text_clear(&h->source);
}

/* NAME=VALUE of each use, with its group, fault and loss, one blank between. */
static char *render(const struct header *h)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	for (size_t i = 0; i < h->header.uses_count; i++) {
		const struct script_use *use = &h->header.uses[i];

		fprintf(out, "%s", i ? " " : "");
		if (use->group)
			fprintf(out, "%u/", use->group);
		if (use->lost)
			fprintf(out, "lost:");
		if (use->origin != SCRIPT_USE_DIRECTIVE)
			fprintf(out, "%d:", use->origin);
		fprintf(out, "%s", use->option ? use->option->name : use->name);
		if (use->value)
			fprintf(out, "=%s", use->value);
		if (use->fault)
			fprintf(out, "(%s)", faults[use->fault]);
		if (use->ate)
			fprintf(out, "(ate)");
	}
	fclose(out);
	return text;
}

static const struct row {
	const char *lines; /* behind #!/bin/bash */
	const char *uses;
	script_slurm slurm;
} rows[] = {
	{"#SBATCH --nodes 2\n#SBATCH -N2\n#SBATCH -N 2\n", "nodes=2 nodes=2 nodes=2"},
	{"#SBATCH\t  --nodes=2   \n#SBATCH--nodes=2\n", "nodes=2 nodes=2"},
	{"#SBATCH -Jname --mem=0\n", "job-name=name mem=0"},
	{"#SBATCH -HN1\n", "hold nodes=1"},
	{"#SBATCH --nodes = 2\n", "nodes== 2(stray)"},
	{"#SBATCH --nodes =2\n", "nodes==2"},
	{"#SBATCH --nodes= 2\n", "nodes= 2(stray)"},
	{"#SBATCH -N=2\n", "nodes==2"},
	{"#SBATCH --job-name=a#b -N2\n#SBATCH -n4\n", "job-name=a ntasks=4"},
	{"#SBATCH --job-name='a #b'\n#SBATCH --comment=a\\#b\n",
	 "job-name=a #b comment=a#b"},
	{"#SBATCH -c8 # it's a note (\"two\")\n", "cpus-per-task=8"},
	{"#SBATCH --job-name=\"big run\"\n", "job-name=big run"},
	{"#SBATCH \"--job-name=big run\"\n", "job-name=big run"},
	{"#SBATCH --job-name=a\"b c\"d\n", "job-name=ab cd"},
	{"#SBATCH --job-name=big\\ run\n", "job-name=big run", 2411},
	{"#SBATCH --job-name=big\\ run\n", "job-name=big run(stray)", 2205},
	{"#SBATCH --job-name=big run\n", "job-name=big run(stray)"},
	{"#SBATCH nodes=2\n#SBATCHX\n", "nodes=2(stray) X(stray)"},
	{"#SBATCH --job-name\n#SBATCH --nodes=2\n", "job-name=--nodes=2(ate)"},
	{"#SBATCH --exclusive\n#SBATCH --nodes=2\n", "exclusive nodes=2"},
	{"#SBATCH --nodes\n", "nodes(no-value)"},
	{"#SBATCH --job-name=\n", "job-name="},
	{"#SBATCH --hold=yes\n", "hold=yes(unwanted-value)"},
	{"#SBATCH --nodes=2 \\\n#SBATCH -n4\n", "nodes=2 ntasks=4"},
	{"#SBATCH --output=$HOME/`x`/*;&|\n", "output=$HOME/`x`/*;&|"},
	{"\n   \n# text\n  # text\n#SBATCH -N2\n", "nodes=2"},
	{"#sbatch x\n##SBATCH\n# SBATCH is read by sbatch\n", ""},
	{"set -e\n#SBATCH -N2\n", "lost:nodes=2"},
	{"set -e\n#SBATCH --nodse=2\n", "lost:nodse=2(unknown)"},
	{"  #SBATCH -N2\n", "lost:nodes=2"},
	{"#sbatch --nodes=2\n", "lost:nodes=2"},
	{"# SBATCH --nodes=2\n", "lost:nodes=2"},
	{"#SABTCH --nodes=2\n", "lost:nodes=2"},
	{"#SBACH --nodes=2\n", "lost:nodes=2"},
	{"#SBATCH --ntasks-per-nod=4 --gpus-per-n=2 --job=x\n",
	 "ntasks-per-node=4 gpus-per-node=2 job-name=x"},
	{"#SBATCH --gpu=4\n#SBATCH --node 2\n#SBATCH --cpu=1\n",
	 "gpu=4(ambiguous) node=2(ambiguous) cpu=1(ambiguous)"},
	{"#SBATCH --ntasks_per_node=4 --Nodes=2\n",
	 "ntasks_per_node=4(unknown) Nodes=2(unknown)"},
	{"#SBATCH -nodes=2\n", "ntasks=odes=2"},
	{"#SBATCH --cpu-bind=none --label -u\n",
	 "cpu-bind=none(other-command) label(other-command) u(other-command)"},
	{"#SBATCH --gpu-bind=none --distribution=block\n",
	 "gpu-bind=none distribution=block"},
	{"#SBATCH --tres-per-task=gres/gpu:1\n",
	 "tres-per-task=gres/gpu:1(other-version)", 2205},
	{"#SBATCH --tres-per-task=gres/gpu:1\n", "tres-per-task=gres/gpu:1", 2411},
	{"#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n", "nodes=1 1/nodes=2"},
	{"#SBATCH -N1\n#SBATCH PACKJOB -c2\n#SBATCH -N2\n",
	 "nodes=1 1/cpus-per-task=2 1/nodes=2"},
	{"#SBATCH --comment=hetjob\n", "comment=hetjob"},
	/* The words of a component are read together, those of two are not. */
	{"#SBATCH -J\n#SBATCH hetjob\n#SBATCH -N2\n", "job-name(no-value) 1/nodes=2"},
	{"#PBS -l nodes=3:ppn=2,walltime=1:00:00 -N old\n#SBATCH -N2\n",
	 "nodes=2 1:nodes=3 1:ntasks=6 1:time=1:00:00 1:job-name=old"},
	{"true\n#PBS -q long\n", "1:partition=long"},
	{"#SBATCH --ignore-pbs\n#PBS -q long\n", "ignore-pbs"},
	{"#pbs -q x\n# PBS -q x\n##PBS -q x\n", ""},
	{"#BSUB -n 4 -J x\n", "1:ntasks=4 1:job-name=x"},
	{"#SBATCH \"\" --nodes=2\n#SBATCH -n4\n", "ntasks=4"},
	{"#SLURM -N2\n", "nodes=2"},
	/* Options of plugins, whole names only. */
	{"#SBATCH --container-image=a.sqsh --srank\n", "container-image=a.sqsh srank"},
	{"#SBATCH --env=A --srun=1\n", "env=A(unknown) srun=1(unknown)"},
};

static void uses_are_slurms(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char script[512];
		struct header h;
		char *text;

		snprintf(script, sizeof(script), "#!/bin/bash\n%s", rows[i].lines);
		read_header(&h, script, strlen(script), rows[i].slurm);
		text = render(&h);
		if (strcmp(text, rows[i].uses) != 0)
			print_error("%s", rows[i].lines);
		assert_string_equal(text, rows[i].uses);
		free(text);
		clear_header(&h);
	}
}

/* What a use says where it stands; the text between is what an edit replaces. */
static const struct {
	const char *line;
	const char *range, *name, *value;
} places[] = {
	{"#SBATCH --nodes=2", "--nodes=2", "--nodes", "2"},
	{"#SBATCH --nodes 2 # x", "--nodes 2", "--nodes", "2"},
	{"#SBATCH -N2", "-N2", "-N", "2"},
	{"#SBATCH --job-name=\"big run\"", "--job-name=\"big run\"", "--job-name",
	 "\"big run\""},
	{"#SBATCH -J 'a b' -N2", "-J 'a b'", "-J", "'a b'"},
	{"#SBATCH --comment=a\\#b", "--comment=a\\#b", "--comment", "a\\#b"},
};

static void assert_slice(const char *text, struct script_range range,
			 const char *expected)
{
	char slice[64];

	assert_in_range(range.end - range.begin, 0, sizeof(slice) - 1);
	memcpy(slice, text + range.begin, range.end - range.begin);
	slice[range.end - range.begin] = '\0';
	assert_string_equal(slice, expected);
}

static void places_are_exact(void **state)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct header h;
		const struct script_use *use;

		read_header(&h, places[i].line, strlen(places[i].line), 0);
		use = &h.header.uses[0];
		assert_slice(places[i].line, use->range, places[i].range);
		assert_slice(places[i].line, use->name_range, places[i].name);
		assert_slice(places[i].line, use->value_range, places[i].value);
		clear_header(&h);
	}
}

static const struct {
	const char *line;
	enum script_directive_kind kind;
	unsigned int lookalike;
	enum script_directive_fault fault;
	const char *comment, *nbsp, *dash;
} lines[] = {
	{"#SBATCH -N2 # two", SCRIPT_DIRECTIVE_READ, .comment = "# two"},
	{"#SBATCH -Ja#b", SCRIPT_DIRECTIVE_READ, .comment = "#b"},
	{"#SBATCH: -N2", SCRIPT_DIRECTIVE_READ, .fault = SCRIPT_DIRECTIVE_COLON},
	{"#SBATCH -J'a b", SCRIPT_DIRECTIVE_READ, .fault = SCRIPT_DIRECTIVE_OPEN_QUOTE},
	{"#SBATCH --partition\xc2\xa0gpu", SCRIPT_DIRECTIVE_READ, .nbsp = "\xc2\xa0"},
	{"#SBATCH \xe2\x80\x93nodes=2", SCRIPT_DIRECTIVE_READ, .dash = "\xe2\x80\x93"},
	{" \t#SBATCH -N2", SCRIPT_DIRECTIVE_LOOKALIKE, SCRIPT_LOOKALIKE_INDENTED},
	{"# SBATCH -N2", SCRIPT_DIRECTIVE_LOOKALIKE, SCRIPT_LOOKALIKE_SPACED},
	{"##SBATCH -N2", SCRIPT_DIRECTIVE_LOOKALIKE, SCRIPT_LOOKALIKE_DOUBLED},
	{"#Sbatch -N2", SCRIPT_DIRECTIVE_LOOKALIKE, SCRIPT_LOOKALIKE_CASE},
	{" # SBATHC -N2", SCRIPT_DIRECTIVE_LOOKALIKE,
	 SCRIPT_LOOKALIKE_INDENTED | SCRIPT_LOOKALIKE_SPACED | SCRIPT_LOOKALIKE_SPELT},
	{"SBATCH --nodes=2", SCRIPT_DIRECTIVE_LOOKALIKE, SCRIPT_LOOKALIKE_BARE},
	{"#PBS -N x", SCRIPT_DIRECTIVE_PBS},
	{"#SBATCH hetjob", SCRIPT_DIRECTIVE_HETJOB},
};

static void assert_mark(const char *text, struct script_range range, const char *expected)
{
	if (expected)
		assert_slice(text, range, expected);
	else
		assert_int_equal(range.end, 0);
}

static void lines_are_told_apart(void **state)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *text = lines[i].line;
		const struct script_directive *directive;
		struct header h;

		read_header(&h, text, strlen(text), 0);
		assert_int_equal(h.header.directives_count, 1);
		directive = &h.header.directives[0];
		assert_int_equal(directive->kind, lines[i].kind);
		assert_int_equal(directive->lookalike, lines[i].lookalike);
		assert_int_equal(directive->fault, lines[i].fault);
		assert_mark(text, directive->comment, lines[i].comment);
		assert_mark(text, directive->nbsp, lines[i].nbsp);
		assert_mark(text, directive->dash, lines[i].dash);
		clear_header(&h);
	}
}

static void no_directive_at_all(void **state)
{
	static const char *const texts[] = {
		"# SBATCH reads the lines above", "#SBATCHING --nodes", "# sbatch job.sh",
		"sbatch --nodes=2 job.sh",        "echo '#SBATCH -N2'", "#SB -N2",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct header h;

		read_header(&h, texts[i], strlen(texts[i]), 0);
		for (size_t j = 0; j < h.header.directives_count; j++)
			assert_int_equal(h.header.directives[j].kind,
					 SCRIPT_DIRECTIVE_READ);
		assert_int_equal(h.header.directives_count, i == 1);
		clear_header(&h);
	}
}

static void files_as_a_whole(void **state)
{
	struct header h;

	read_header(&h, "", 0, 0);
	assert_true(h.header.empty);
	clear_header(&h);

	read_header(&h, "\xef\xbb\xbf#!/bin/bash\n", 15, 0);
	assert_true(h.header.bom);
	assert_int_equal(h.header.shebang.end, 0);
	assert_int_equal(h.header.no_shebang.end, 14);
	clear_header(&h);

	read_header(&h, "#!/bin/sh\n#SBATCH -N2\r\ntrue\r\n", 30, 0);
	assert_int_equal(h.header.dos_lines, 2);
	assert_int_equal(h.header.dos.begin, 21);
	assert_int_equal(h.header.command.begin, 23);
	assert_string_equal(h.header.uses[0].value, "2");
	clear_header(&h);

	read_header(&h, "#!/bin/sh\necho a\0b\n", 19, 0);
	assert_int_equal(h.header.nul.begin, 16);
	clear_header(&h);
}

/* Command line over environment over #PBS over #SBATCH; the last of one of them. */
static void the_strongest_counts(void **state)
{
	static const char text[] = "#!/bin/sh\n#PBS -N pbs\n#SBATCH -J a --mem=1G -J b\n"
				   "#SBATCH --tasks-per-node=3 -t 5 -p x\n";
	const char *const environment[] = {"SBATCH_TIMELIMIT=7", "SBATCH_MEM_PER_CPU=2G",
					   "HOME=/"};
	const char *const arguments[] = {"--mem", "3G", "-p", "y"};
	const struct script_submission submission = {
		.environment = environment,
		.environment_count = 3,
		.arguments = arguments,
		.arguments_count = 4,
	};
	static const struct {
		const char *name, *value;
	} expected[] = {
		{"job-name", "pbs"}, {"ntasks-per-node", "3"}, {"time", "7"},
		{"mem", "3G"},       {"mem-per-cpu", "2G"},    {"partition", "y"},
	};
	struct header h = {0};

	assert_int_equal(script_text_init(&h.source, "x", text, sizeof(text) - 1), 0);
	assert_int_equal(script_header_read(&h.header, &h.source, &submission, &h.arena),
			 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const struct script_use *use =
			script_header_find(&h.header, 0, expected[i].name);

		assert_non_null(use);
		assert_string_equal(use->value, expected[i].value);
	}
	assert_null(script_header_find(&h.header, 0, "qos"));
	assert_null(script_header_find(&h.header, 1, "mem"));
	clear_header(&h);
}

static void nearest_names(void **state)
{
	static const struct {
		const char *line, *nearest;
	} names[] = {
		{"#SBATCH --ntasks_per_node=4", "ntasks-per-node"},
		{"#SBATCH --gpu-per-node=4", "gpus-per-node"},
		{"#SBATCH --tiem=1:00", "time"},
		{"#SBATCH --frobnicate", NULL},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct header h;
		const struct script_option *nearest;

		read_header(&h, names[i].line, strlen(names[i].line), 0);
		nearest = h.header.uses[0].nearest;
		if (names[i].nearest)
			assert_string_equal(nearest->name, names[i].nearest);
		else
			assert_null(nearest);
		clear_header(&h);
	}
}

static void versions(void **state)
{
	assert_int_equal(script_slurm_parse("22.05"), 2205);
	assert_int_equal(script_slurm_parse("22.05.8"), 2205);
	assert_int_equal(script_slurm_parse("26.05.0-0rc1"), 2605);
	assert_int_equal(script_slurm_parse("2205"), 0);
	assert_int_equal(script_slurm_parse("22.5"), 0);
	assert_int_equal(script_slurm_parse(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uses_are_slurms),
		cmocka_unit_test(places_are_exact),
		cmocka_unit_test(lines_are_told_apart),
		cmocka_unit_test(no_directive_at_all),
		cmocka_unit_test(files_as_a_whole),
		cmocka_unit_test(the_strongest_counts),
		cmocka_unit_test(nearest_names),
		cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests_name("directives", tests, NULL, NULL);
}
