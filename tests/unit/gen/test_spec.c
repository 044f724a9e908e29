/* SPDX-License-Identifier: MIT */
/* The spec's reader: values with places, faults with places, merges, bounds, overrides.
 */
#include "support.h"

#include "gen/spec/read.h"
#include "gen/spec/spec.h"
#include "gen/spec/yaml.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_text(struct spec *spec, const char *text, struct diag *diag)
{
	memset(spec, 0, sizeof(*spec));
	return spec_read_text(spec, "job.yaml", text, strlen(text), diag);
}

static void assert_place(const struct spec_value *value, uint32_t line, uint32_t column,
			 uint32_t end)
{
	assert_true(value->given);
	assert_string_equal(value->place.file, "job.yaml");
	assert_int_equal(value->place.line, line);
	assert_int_equal(value->place.column, column);
	assert_int_equal(value->place.end_column, end);
}

static void every_value_keeps_text_and_place(void **state)
{
	static const char text[] =
		"version: 1\n"
		"name: big run\n"
		"launcher: torchrun\n"
		"run:\n"
		"  script: tools/train.py\n"
		"  args: [a b, '--lr', 0.1]\n"
		"  workdir: \"/data/\xe4\xb8\xad\"\n"
		"resources: {nodes: 2, gpus_per_node: 08, mem: 64g, exclusive: user}\n"
		"batch:\n"
		"  time: 72:00:00\n"
		"  output: \"%x_%j.out\"\n"
		"env:\n"
		"  b_lower: no\n"
		"  A: 0o17\n"
		"  EMPTY: ''\n"
		"  NULLED: ~\n"
		"  LINES: |\n"
		"    one\n"
		"    two\n"
		"setup: |\n"
		"  module load cuda\n"
		"srun: {args: --label '--x=a b'}\n";
	struct diag diag = {0};
	struct spec spec;

	assert_int_equal(read_text(&spec, text, &diag), 0);
	assert_int_equal(diag.count, 0);
	assert_int_equal(spec.version.number, 1);
	assert_string_equal(spec.name.text, "big run");
	assert_place(&spec.name, 2, 7, 14);
	assert_string_equal(spec.launcher.text, "torchrun");
	assert_string_equal(spec.run.script.text, "tools/train.py");
	assert_place(&spec.run.script, 5, 11, 25);
	assert_int_equal(spec.run.args.count, 3);
	assert_string_equal(spec.run.args.items[0].text, "a b");
	assert_string_equal(spec.run.args.items[1].text, "--lr");
	assert_string_equal(spec.run.args.items[2].text, "0.1");
	assert_int_equal(spec.run.args.items[2].place.column, 23);
	assert_string_equal(spec.run.workdir.text, "/data/\xe4\xb8\xad");
	assert_place(&spec.run.workdir, 7, 12, 21); /* columns count characters */
	assert_int_equal(spec.resources.nodes.number, 2);
	assert_place(&spec.resources.nodes, 8, 20, 21);
	/* Decimal, where YAML 1.1 would see a malformed octal number. */
	assert_int_equal(spec.resources.gpus_per_node.number, 8);
	assert_int_equal(spec.resources.mem.number, 65536);
	assert_string_equal(spec.resources.mem.text, "64g");
	assert_int_equal(spec.resources.exclusive.number, 1);
	assert_string_equal(spec.resources.exclusive.text, "user");
	/* YAML 1.1 would make this the number 259200, written to sbatch as minutes. */
	assert_string_equal(spec.batch.time.text, "72:00:00");
	assert_int_equal(spec.batch.time.number, 72 * 3600);
	assert_string_equal(spec.batch.output.text, "%x_%j.out");
	assert_false(spec.batch.account.given);
	assert_int_equal(spec.env.count, 4);
	assert_string_equal(spec.env.items[0].name, "b_lower");
	assert_string_equal(spec.env.items[0].text, "no");
	assert_string_equal(spec.env.items[1].name, "A");
	assert_string_equal(spec.env.items[1].text, "0o17");
	assert_string_equal(spec.env.items[2].text, "");
	assert_string_equal(spec.env.items[3].text, "one\ntwo\n");
	assert_int_equal(spec.setup.count, 1);
	assert_string_equal(spec.setup.items[0].text, "module load cuda\n");
	assert_int_equal(spec.srun.args.count, 2);
	assert_string_equal(spec.srun.args.items[1].text, "--x=a b");
	diag_clear(&diag);
	spec_clear(&spec);
	/* Once more is harmless. */
	spec_clear(&spec);
}

/* What a value stands for that is no map, words in place of numbers, other spellings. */
static void forms_of_sections_and_values(void **state)
{
	static const char text[] =
		"mmdet: c.py\n"
		"modules: [cuda/12, gcc]\n"
		"conda: base\n"
		"container: image.sif\n"
		"srun: --label\n"
		"retry: 3\n"
		"resources: {ntasks_per_node: auto, cpus_per_task: auto, mem_gb: 64}\n"
		"batch:\n"
		"  timeout_min: 30\n"
		"  array: 0-9%2\n"
		"  dependency: afterok:12\n"
		"  signal: B:USR1@60\n"
		"  mail: me@here\n"
		"  mail_type: [End, FAIL]\n"
		"rendezvous: {port: resv, range: 20000-20099}\n"
		"binding: {gpu: mask, omp_threads: keep}\n"
		"het: [{resources: {nodes: 1}}, {resources: {nodes: 2}}]\n"
		"sweep: {matrix: {lr: [1, 0.1], opt: ['a b']}, as: files}\n";
	const struct spec *components;
	const struct spec_axis *axes;
	struct diag diag = {0};
	struct spec spec;

	assert_int_equal(read_text(&spec, text, &diag), 0);
	assert_int_equal(diag.count, 0);
	assert_string_equal(spec.mmdet.config.text, "c.py");
	assert_int_equal(spec.modules.load.count, 2);
	assert_string_equal(spec.conda.env.text, "base");
	assert_string_equal(spec.container.image.text, "image.sif");
	assert_string_equal(spec.srun.args.items[0].text, "--label");
	assert_int_equal(spec.retry.max.number, 3);
	assert_string_equal(spec.resources.ntasks_per_node.word, "auto");
	assert_string_equal(spec.resources.cpus_per_task.word, "auto");
	assert_int_equal(spec.resources.mem.number, 65536);
	assert_string_equal(spec.resources.mem.text, "64G");
	assert_int_equal(spec.batch.time.number, 1800);
	assert_string_equal(spec.batch.array.range.text, "0-9%2");
	assert_int_equal(spec.batch.array.range.number, 10);
	assert_string_equal(spec.batch.dependency.condition.text, "afterok:12");
	assert_string_equal(spec.batch.signal.name.text, "B:USR1@60");
	assert_string_equal(spec.batch.mail.user.text, "me@here");
	assert_int_equal(spec.batch.mail.type.count, 2);
	assert_string_equal(spec.rendezvous.port.word, "resv");
	assert_string_equal(spec.rendezvous.ports.text, "20000-20099");
	assert_string_equal(spec.binding.gpus.text, "mask");
	assert_string_equal(spec.binding.omp_threads.word, "keep");
	components = spec.het.entries;
	assert_int_equal(spec.het.count, 2);
	assert_int_equal(components[1].resources.nodes.number, 2);
	assert_int_equal(components[1].entry.place.column, 32);
	axes = spec.sweep.matrix.entries;
	assert_int_equal(spec.sweep.matrix.count, 2);
	assert_string_equal(axes[0].name.text, "lr");
	assert_int_equal(axes[0].values.count, 2);
	assert_string_equal(axes[1].values.items[0].text, "a b");
	assert_int_equal(spec.sweep.as.number, SPEC_SWEEP_FILES);
	diag_clear(&diag);
	spec_clear(&spec);
}

/* The words of choices are in the order of their enums. */
static void choices_have_the_order_of_their_enums(void **state)
{
	static const char *const plugins[] = {"auto", "require", "exec", "'off'"};
	static const char *const runtimes[] = {"none", "pyxis", "apptainer",
					       "singularity"};

	for (size_t i = 0; i < 4; i++) {
		struct diag diag = {0};
		struct spec spec;
		char text[80];

		snprintf(text, sizeof(text), "plugin: %s\ncontainer: {runtime: %s}\n",
			 plugins[i], runtimes[i]);
		assert_int_equal(read_text(&spec, text, &diag), 0);
		assert_int_equal(spec.plugin.number, i);
		assert_int_equal(spec.container.runtime.number, i);
		diag_clear(&diag);
		spec_clear(&spec);
	}
}

static void absent_and_null_are_not_given(void **state)
{
	static const char *const texts[] = {
		"",
		"# only a comment\n",
		"---\n...\n",
		"resources:\n",
		"resources: {nodes: }\n",
		"resources: {nodes: null, gpus: ~, mem: NULL}\nenv:\nrun: {args: }\n",
		"x-anchors: {whatever: [1, 2]}\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct diag diag = {0};
		struct spec spec;

		assert_int_equal(read_text(&spec, texts[i], &diag), 0);
		assert_int_equal(diag.count, 0);
		assert_false(spec.resources.nodes.given);
		assert_false(spec.resources.mem.given);
		assert_false(spec.env.given);
		assert_false(spec.run.args.given);
		diag_clear(&diag);
		spec_clear(&spec);
	}
}

/* Quotes or a tag make a text of what would be null; other spellings never were one. */
static void what_is_no_null(void **state)
{
	static const char text[] = "env: {A: 'null', B: !!str null, C: !!str ~, D: nULL, "
				   "E: !!str , F: null, G: Null}\nname: !!str NULL\n";
	static const char *const expected[][2] = {
		{"A", "null"}, {"B", "null"}, {"C", "~"}, {"D", "nULL"}, {"E", ""}};
	struct diag diag = {0};
	struct spec spec;

	assert_int_equal(read_text(&spec, text, &diag), 0);
	assert_int_equal(spec.env.count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(spec.env.items[i].name, expected[i][0]);
		assert_string_equal(spec.env.items[i].text, expected[i][1]);
	}
	assert_string_equal(spec.name.text, "NULL");
	diag_clear(&diag);
	spec_clear(&spec);
}

/* As editors of another system write it; places are as if it was not there. */
static void byte_order_mark(void **state)
{
	struct diag diag = {0};
	struct spec spec;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_int_equal(
		read_text(&spec, "\xef\xbb\xbfname: a\r\nrun: {script: b}\r\n", &diag),
		0);
	assert_string_equal(spec.name.text, "a");
	assert_place(&spec.name, 1, 7, 8);
	spec_clear(&spec);
	assert_int_equal(read_text(&spec, "\xef\xbb\xbf", &diag), 0);
	spec_clear(&spec);
	assert_int_equal(diag.count, 0);
	assert_int_equal(read_text(&spec, "\xef\xbb\xbfnam: a\n", &diag), -EINVAL);
	assert_non_null(out);
	diag_print(&diag, out, DIAG_SOURCE);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text,
			    "job.yaml:1:1: error: unknown key nam at the top level; did "
			    "you mean name? [spec-unknown-key]\n"
			    "    1 | nam: a\n"
			    "      | ^~~\n");
	free(text);
	diag_clear(&diag);
	spec_clear(&spec);
}

static void flags(void **state)
{
	static const struct {
		const char *text;
		bool value;
	} rows[] = {
		{"true", true}, {"True", true}, {"yes", true},
		{"ON", true},   {"mcs", true},  {"false", false},
		{"no", false},  {"off", false}, {"FALSE", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		struct spec spec;
		char text[64];

		snprintf(text, sizeof(text), "resources: {exclusive: %s}", rows[i].text);
		assert_int_equal(read_text(&spec, text, &diag), 0);
		assert_true(spec.resources.exclusive.given);
		assert_int_equal(spec.resources.exclusive.number, rows[i].value);
		diag_clear(&diag);
		spec_clear(&spec);
	}
}

/* Each row is one spec and all that is said about it. */
static void faults(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		/* Unknown keys. */
		{"resources: {gpus_per_nod: 8}",
		 "job.yaml:1:13: error: unknown key gpus_per_nod in resources; did you "
		 "mean "
		 "gpus_per_node? [spec-unknown-key]\n"},
		{"resources:\n  gpus-per-node: 8\n",
		 "job.yaml:2:3: error: unknown key gpus-per-node in resources; did you "
		 "mean "
		 "gpus_per_node? [spec-unknown-key]\n"},
		{"laucher: torch\n",
		 "job.yaml:1:1: error: unknown key laucher at the top level; "
		 "did you mean launcher? [spec-unknown-key]\n"},
		{"nodes: 2\n",
		 "job.yaml:1:1: error: unknown key nodes at the top level; nodes "
		 "stands under resources [spec-unknown-key]\n"},
		{"resources: {walltime: 10}\n",
		 "job.yaml:1:13: error: unknown key walltime in resources; time stands "
		 "under "
		 "batch [spec-unknown-key]\n"},
		{"run: {launcher: torch}\n", "job.yaml:1:7: error: unknown key launcher "
					     "in run; launcher stands at the top "
					     "level, not indented [spec-unknown-key]\n"},
		{"zzzzzz: 1\n",
		 "job.yaml:1:1: error: unknown key zzzzzz at the top level "
		 "[spec-unknown-key]\n"},
		/* Several in one run, in the order of the file. */
		{"launcher: torchrum\nresources: {nodes: two, gpus: -1, ntasks: 0}\nfoo: "
		 "1\n",
		 "job.yaml:1:11: error: launcher: there is no 'torchrum'; did you mean "
		 "torchrun? "
		 "[spec-value]\n"
		 "job.yaml:2:20: error: nodes: 'two' is not a whole number of at least 1 "
		 "[spec-value]\n"
		 "job.yaml:2:31: error: gpus: '-1' is not a whole number of at least 0 "
		 "[spec-value]\n"
		 "job.yaml:2:43: error: ntasks: '0' is not a whole number of at least 1 "
		 "[spec-value]\n"
		 "job.yaml:3:1: error: unknown key foo at the top level "
		 "[spec-unknown-key]\n"},
		/* Values. */
		{"version: 2",
		 "job.yaml:1:10: error: version: '2' is not 1 [spec-value]\n"},
		{"resources: {nodes: 2.0}",
		 "job.yaml:1:20: error: nodes: '2.0' is not a whole "
		 "number of at least 1 [spec-value]\n"},
		{"resources: {nodes: 0x2}",
		 "job.yaml:1:20: error: nodes: '0x2' is not a whole "
		 "number of at least 1 [spec-value]\n"},
		{"resources: {nodes: ''}",
		 "job.yaml:1:20: error: nodes: '' is not a whole "
		 "number of at least 1 [spec-value]\n"},
		{"resources: {nodes: 2147483648}",
		 "job.yaml:1:20: error: nodes: '2147483648' is not a number that Slurm "
		 "can count "
		 "to [spec-value]\n"},
		{"resources: {nodes: 99999999999999999999999999}",
		 "job.yaml:1:20: error: nodes: '99999999999999999999999999' is not a "
		 "number that "
		 "Slurm can count to [spec-value]\n"},
		{"rendezvous: {port: 80}",
		 "job.yaml:1:20: error: port: '80' is not a whole number "
		 "from 1024 to 65535, or one of: auto resv [spec-value]\n"},
		{"batch: {time: 4h}",
		 "job.yaml:1:15: error: time: '4h' is not a time that sbatch takes: "
		 "MINUTES, "
		 "HOURS:MINUTES:SECONDS, DAYS-HOURS:MINUTES:SECONDS [spec-value]\n"
		 "  fix: time: 04:00:00\n"},
		{"resources: {mem: 64GiB}", "job.yaml:1:18: error: mem: '64GiB' is not a "
					    "size that sbatch takes: digits and "
					    "K, M, G or T, or 0 for all [spec-value]\n"
					    "  fix: mem: 64G\n"},
		{"resources: {exclusive: maybe}",
		 "job.yaml:1:24: error: exclusive: 'maybe' is not one of: true false "
		 "user mcs topo [spec-value]\n"},
		{"launcher: zzzzzzzz",
		 "job.yaml:1:11: error: launcher: there is no 'zzzzzzzz'; "
		 "`srank launchers` lists them all [spec-value]\n"},
		{"resources: {gpu_type: 'a:8'}",
		 "job.yaml:1:23: error: gpu_type: 'a:8' is not a name of letters, "
		 "digits, _ . - "
		 "[spec-value]\n"},
		{"name: ''",
		 "job.yaml:1:7: error: name is empty; give it a value or remove the "
		 "line [spec-value]\n"},
		{"name: \"a\\nb\"",
		 "job.yaml:1:7: error: name: 'a\\nb' is not one line without "
		 "control characters [spec-value]\n"},
		{"run: {args: \"a 'b\"}",
		 "job.yaml:1:13: error: args: a quote is not closed, or a backslash ends "
		 "the "
		 "text; write a list, one element a word [spec-value]\n"},
		{"run: {args: [a, ]}\nsetup: [, ]\n",
		 "job.yaml:2:9: error: not YAML: did not find expected node content "
		 "[spec-yaml]\n"},
		{"run:\n  args:\n  - a\n  -\n", "job.yaml:4:4: error: args: an element "
						"without a value; write '' for an empty "
						"text [spec-type]\n"},
		{"env: {a-b: 1, 1x: 2}",
		 "job.yaml:1:7: error: env: 'a-b' cannot be the name of a variable "
		 "[spec-value]\n"
		 "job.yaml:1:15: error: env: '1x' cannot be the name of a variable "
		 "[spec-value]\n"},
		{"env: {SRANK: torch, SRANK_MASTER_ADDR: a}",
		 "job.yaml:1:7: error: env: 'SRANK' is srank's own; launcher, binding "
		 "and "
		 "rendezvous say what it would [spec-value]\n"
		 "job.yaml:1:21: error: env: 'SRANK_MASTER_ADDR' is srank's own; "
		 "launcher, "
		 "binding and rendezvous say what it would [spec-value]\n"},
		{"env: {UID: 0, RANDOM: 1, _: x}",
		 "job.yaml:1:7: error: env: 'UID' is bash's own and cannot be exported; "
		 "choose another name [spec-value]\n"
		 "job.yaml:1:15: error: env: 'RANDOM' is bash's own and cannot be "
		 "exported; "
		 "choose another name [spec-value]\n"
		 "job.yaml:1:26: error: env: '_' is bash's own and cannot be exported; "
		 "choose another name [spec-value]\n"},
		{"setup: \"a\\r\\nb\"\nteardown: [c, \"d\\r\"]\n",
		 "job.yaml:1:8: error: setup: there is a carriage return in it, and "
		 "sbatch "
		 "takes no script with DOS line ends [spec-value]\n"
		 "  fix: remove it; where the code needs one, write $'\\r'\n"
		 "job.yaml:2:15: error: teardown: there is a carriage return in it, and "
		 "sbatch takes no script with DOS line ends [spec-value]\n"
		 "  fix: remove it; where the code needs one, write $'\\r'\n"},
		/* Types. */
		{"- a\n- b\n",
		 "job.yaml:1:1: error: expected a map of keys, `key: value` on each "
		 "line [spec-type]\n"},
		{"just words",
		 "job.yaml:1:1: error: expected a map of keys, `key: value` on each "
		 "line [spec-type]\n"},
		{"name: [a]", "job.yaml:1:7: error: name is a list; expected a text "
			      "[spec-type]\n"},
		{"resources: 2",
		 "job.yaml:1:12: error: resources is a single value; expected a map "
		 "[spec-type]\n"},
		{"resources: {nodes: {a: 1}}", "job.yaml:1:20: error: nodes is a map; "
					       "expected a whole number [spec-type]\n"},
		{"run: {args: {a: 1}}",
		 "job.yaml:1:13: error: args is a map; expected a list of "
		 "words, or a text [spec-type]\n"},
		{"run: {args: [[a]]}",
		 "job.yaml:1:14: error: args: an element is a list or a map; "
		 "expected a text [spec-type]\n"},
		{"env: {A: [1]}", "job.yaml:1:10: error: env: the value of A must be a "
				  "text [spec-type]\n"},
		{"? [a]\n: b\n",
		 "job.yaml:1:3: error: a key must be a plain word [spec-type]\n"},
		/* Keys twice. */
		{"name: a\nlauncher: torch\nname: b\n",
		 "job.yaml:3:1: error: key name stands here a second time; the first is "
		 "on line 1 "
		 "[spec-duplicate-key]\n"},
		{"resources:\n  tasks_per_node: 1\n  ntasks_per_node: 1\n",
		 "job.yaml:3:3: error: ntasks_per_node and tasks_per_node are the same "
		 "key; the "
		 "first is on line 2 [spec-duplicate-key]\n"},
		{"env: {A: 1, A: 2}\n", "job.yaml:1:13: error: key A stands here a "
					"second time; the first is on line 1 "
					"[spec-duplicate-key]\n"},
		{"resources: {mem: 1G, mem_gb: 2}\n",
		 "job.yaml:1:22: error: mem_gb says again what line 1 says in other "
		 "words "
		 "[spec-duplicate-key]\n"},
		{"batch:\n  mail: {user: a}\n  mail_user: b\n",
		 "job.yaml:3:3: error: mail_user says again what line 2 says in other "
		 "words [spec-duplicate-key]\n"},
		/* Words and forms of the later types. */
		{"resources: {cpus_per_task: all}\n",
		 "job.yaml:1:28: error: cpus_per_task: 'all' is not a whole number of at "
		 "least 1, or one of: auto [spec-value]\n"},
		{"batch: {array: 9-0, signal: USR9, mail_type: [END, ENDS]}\n",
		 "job.yaml:1:16: error: array: '9-0' is not a list of indices that "
		 "sbatch "
		 "takes: 0-9, 1,3,5-9:2, with %N behind it for N at a time "
		 "[spec-value]\n"
		 "job.yaml:1:29: error: signal: 'USR9' is not a signal that sbatch "
		 "takes: "
		 "[B:]NAME[@SECONDS], as B:USR1@120 [spec-value]\n"
		 "job.yaml:1:52: error: mail_type: 'ENDS' is not one of: NONE BEGIN END "
		 "FAIL REQUEUE ALL INVALID_DEPEND STAGE_OUT TIME_LIMIT TIME_LIMIT_90 "
		 "TIME_LIMIT_80 TIME_LIMIT_50 ARRAY_TASKS [spec-value]\n"},
		{"batch: {array: {a: 1}}\n",
		 "job.yaml:1:17: error: unknown key a in array [spec-unknown-key]\n"},
		{"resources: [1]\n",
		 "job.yaml:1:12: error: resources is a list; expected a map "
		 "[spec-type]\n"},
		{"rendezvous: {suffix: 'a,b'}\n",
		 "job.yaml:1:22: error: suffix: 'a,b' is not one value [spec-value]\n"},
		{"het: {a: 1}\n",
		 "job.yaml:1:6: error: het is a map; expected a list of maps "
		 "[spec-type]\n"},
		{"het: [a, {name: x}]\n",
		 "job.yaml:1:7: error: het: an element must be a map [spec-type]\n"
		 "job.yaml:1:11: error: unknown key name in het; name stands at the top "
		 "level, not indented [spec-unknown-key]\n"},
		{"sweep: {matrix: {lr: 1, 1x: [2], b: []}}\n",
		 "job.yaml:1:22: error: matrix: lr must be a list of values, as in [1, "
		 "2] "
		 "[spec-type]\n"
		 "job.yaml:1:25: error: matrix: '1x' cannot be the name of a variable "
		 "[spec-value]\n"
		 "job.yaml:1:37: error: matrix: b must be a list of values, as in [1, 2] "
		 "[spec-type]\n"},
		{"sweep: {lr: [0.1]}\n",
		 "job.yaml:1:9: error: unknown key lr in sweep [spec-unknown-key]\n"
		 "  fix: sweep: {matrix: {lr: [...]}}\n"},
		{"resources: {gpus: a100:8, gpus_per_task: 1}\n",
		 "job.yaml:1:19: error: gpus: 'a100:8' is not a whole number of at least "
		 "0 [spec-value]\n"
		 "  fix: gpus: 8 and gpu_type: a100\n"
		 "job.yaml:1:27: error: unknown key gpus_per_task in resources "
		 "[spec-unknown-key]\n"
		 "  fix: gpus_per_node with ntasks_per_node, whose quotient it is; "
		 "binding.gpus says which of them a task sees\n"},
		/* As behind --gres. */
		{"resources: {gpus_per_node: 'gpu:8', gpus: 'gpu:a100:16'}\n",
		 "job.yaml:1:28: error: gpus_per_node: 'gpu:8' is not a whole number of "
		 "at least 0 [spec-value]\n"
		 "  fix: gpus_per_node: 8\n"
		 "job.yaml:1:43: error: gpus: 'gpu:a100:16' is not a whole number of at "
		 "least 0 [spec-value]\n"
		 "  fix: gpus: 16 and gpu_type: a100\n"},
		{"mmdet: {config: c, cfg_options: {a: {b: 1}, c=d: 2, '': 3}}\n",
		 "job.yaml:1:37: error: cfg_options: the value of a must be a text, or a "
		 "list of texts [spec-type]\n"
		 "job.yaml:1:45: error: cfg_options: 'c=d' has a blank or a = in it "
		 "[spec-value]\n"
		 "job.yaml:1:53: error: cfg_options: '' cannot be a key [spec-value]\n"},
		/* YAML itself. */
		{"run:\n\tscript: a\n",
		 "job.yaml:2:1: error: a tab indents this line; YAML takes "
		 "only blanks [spec-yaml]\n"
		 "  fix: indent with blanks, two a level\n"},
		{"batch:\n  output: %x.out\n", "job.yaml:2:11: error: a value cannot "
					       "begin with this character; put quotes "
					       "around it [spec-yaml]\n"},
		{"name: a: b\n", "job.yaml:1:8: error: a second `: ` in one value, or a "
				 "key indented deeper than "
				 "its neighbours; put quotes around a value that "
				 "contains `: ` [spec-yaml]\n"},
		{"run: [a\nname: b\n",
		 "job.yaml:2:5: error: a list in [ ] is not closed, or lacks a comma "
		 "[spec-yaml]\n"},
		/* Several documents are several jobs. */
		{"name: a\n---\nname: b\n---\nlauncher: torch\n",
		 "job.yaml: error: the file has 3 documents, each a job of its own: 1 "
		 "(a), "
		 "2 (b), 3 [spec-document]\n"
		 "  fix: say which one is meant: --document with its number or name\n"},
		{"name: *gone\n", "job.yaml:1:7: error: alias *gone has no anchor &gone "
				  "above it [spec-yaml]\n"},
		{"x-a: &a [*a]\n", "job.yaml:1:10: error: alias *a stands inside its own "
				   "anchor [spec-yaml]\n"},
		{"name: a\nsetup: \"\xff\"\n",
		 "job.yaml:2:9: error: byte 0xff is not UTF-8; save the file as UTF-8 "
		 "[spec-yaml]\n"},
		/* Overlong and surrogate forms are not UTF-8 either (RFC 3629). */
		{"\xc0\x80",
		 "job.yaml:1:1: error: byte 0xc0 is not UTF-8; save the file as UTF-8 "
		 "[spec-yaml]\n"},
		{"\xed\xa0\x80",
		 "job.yaml:1:1: error: byte 0xed is not UTF-8; save the file as "
		 "UTF-8 [spec-yaml]\n"},
		{"name: a\033b\n",
		 "job.yaml:1:8: error: a control character; remove it, or write "
		 "it as \"\\xNN\" in double quotes [spec-yaml]\n"},
		{"name: \"a\\0b\"",
		 "job.yaml:1:7: error: a NUL character cannot be part of a "
		 "value [spec-yaml]\n"},
		/* Merges. */
		{"<<: 1\n",
		 "job.yaml:1:5: error: << takes a map or a list of maps, by their "
		 "aliases: `<<: *name` [spec-type]\n"},
		{"<<: [[]]\n",
		 "job.yaml:1:5: error: << takes a map or a list of maps, by their "
		 "aliases: `<<: *name` [spec-type]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		struct spec spec;

		print_message("# row %zu\n", i);
		assert_int_equal(read_text(&spec, rows[i].text, &diag), -EINVAL);
		assert_diag(&diag, rows[i].expected);
		spec_clear(&spec);
	}
}

static void bindings(void **state)
{
	static const char *const right[] = {"order", "mask",      "first",  "none",
					    "map:0", "map:0-3,7", "map:7*2"};
	static const char *const wrong[] = {"ordr",        "order,off",    "mask,local=0",
					    "'map:'",      "map:0,off",    "''",
					    "order,order", "map:0,verbose"};
	char text[128];

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		struct diag diag = {0};
		struct spec spec;

		snprintf(text, sizeof(text), "binding:\n  gpus: %s\n", right[i]);
		assert_int_equal(read_text(&spec, text, &diag), 0);
		assert_string_equal(spec.binding.gpus.text, right[i]);
		diag_clear(&diag);
		spec_clear(&spec);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct diag diag = {0};
		struct spec spec;

		snprintf(text, sizeof(text), "binding:\n  gpus: %s\n", wrong[i]);
		assert_int_equal(read_text(&spec, text, &diag), -EINVAL);
		assert_int_equal(diag.count, 1);
		print_message("# %s\n", diag.items[0].message);
		diag_clear(&diag);
		spec_clear(&spec);
	}
}

static void what_is_right_is_kept_beside_faults(void **state)
{
	struct diag diag = {0};
	struct spec spec;

	assert_int_equal(read_text(&spec, "resources: {nodes: x, gpus: 8}", &diag),
			 -EINVAL);
	assert_false(spec.resources.nodes.given);
	assert_int_equal(spec.resources.gpus.number, 8);
	diag_clear(&diag);
	spec_clear(&spec);
}

static void anchors_and_merge_keys(void **state)
{
	static const char text[] =
		"x-small: &small {nodes: 1, gpus_per_node: 4, cpus_per_gpu: 6}\n"
		"x-big: &big {nodes: 8, tasks_per_node: 3, mem: 1G}\n"
		"resources:\n"
		"  <<: [*small, *big]\n"
		"  nodes: 2\n"
		"  ntasks_per_node: 5\n"
		"  mem:\n"
		"name: &n run-1\n"
		"batch: {account: *n}\n";
	struct diag diag = {0};
	struct spec spec;

	assert_int_equal(read_text(&spec, text, &diag), 0);
	/* Own key, then the earlier of the merged maps (yaml.org/type/merge.html). */
	assert_int_equal(spec.resources.nodes.number, 2);
	assert_int_equal(spec.resources.nodes.place.line, 5);
	assert_int_equal(spec.resources.gpus_per_node.number, 4);
	assert_int_equal(spec.resources.gpus_per_node.place.line, 1);
	assert_int_equal(spec.resources.cpus_per_gpu.number, 6);
	/* An own key wins over a merged alias of it, and null takes a merged value away.
	 */
	assert_int_equal(spec.resources.ntasks_per_node.number, 5);
	assert_false(spec.resources.mem.given);
	/* The place of an aliased value is where it is used. */
	assert_string_equal(spec.batch.account.text, "run-1");
	assert_place(&spec.batch.account, 9, 18, 20);
	assert_int_equal(diag.count, 0);
	diag_clear(&diag);
	spec_clear(&spec);
}

/* Builds a text of COUNT copies of UNIT between HEAD and TAIL; the caller frees. */
static char *repeat(const char *head, const char *unit, size_t count, const char *tail)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	fputs(head, out);
	for (size_t i = 0; i < count; i++)
		fputs(unit, out);
	fputs(tail, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void bounds_hold(void **state)
{
	static const struct {
		const char *head, *unit;
		size_t count;
		const char *tail, *expected;
	} rows[] = {
		{"x-a: ", "[", 1000, "", "lists and maps nest deeper than 64"},
		{"x-a: ", "{a: ", 1000, "", "lists and maps nest deeper than 64"},
		{"x-a: ", "[", 500000, "", "lists and maps nest deeper than 64"},
		{"x-a:\n", "- ", 1000, "a", "lists and maps nest deeper than 64"},
		{"name: a\n", "#########\n", 110000, "", "longer than 1024 KiB"},
		{"", "a: 1\n", 5000, "", "a second time"},
		{"run: {args: [", "[],", 100000, "]}", "an element is a list or a map"},
		{"<<: [", "{a: 1},", 5000, "]", "more than 4096 keys in one map"},
		{"name: ", "a", 1000000, "", NULL},
		{"env:\n  A: \"", "\\n", 500000, "\"\n", NULL},
		{"setup: [", "a,", 500000, "]", NULL},
		{"x-a: [", "&a b, ", 5000, "]", "more than 4096 anchors"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text =
			repeat(rows[i].head, rows[i].unit, rows[i].count, rows[i].tail);
		struct diag diag = {0};
		struct spec spec;
		int rc = read_text(&spec, text, &diag);

		print_message("# row %zu, %zu bytes\n", i, strlen(text));
		assert_int_equal(rc, rows[i].expected ? -EINVAL : 0);
		assert_true(diag.count <= SPEC_FAULTS_MAX + 1);
		if (rows[i].expected)
			assert_non_null(strstr(diag.items[0].message, rows[i].expected));
		free(text);
		diag_clear(&diag);
		spec_clear(&spec);
	}
}

/* Doubling aliases: 2^40 elements or merges if anything expanded them. */
static void bombs_do_not_go_off(void **state)
{
	static const char *const forms[][2] = {{"[", "]"}, {"{<<: [", "]}"}};
	static const char *const uses[] = {"run: {args: *a40}\n",
					   "resources:\n  <<: *a40\n"};

	for (size_t i = 0; i < 2; i++) {
		struct diag diag = {0};
		char text[4096] = "x-0: &a0 {nodes: 1}\n";
		struct spec spec;

		for (int n = 1; n <= 40; n++) {
			size_t at = strlen(text);

			snprintf(text + at, sizeof(text) - at,
				 "x-%d: &a%d %s*a%d, *a%d%s\n", n, n, forms[i][0], n - 1,
				 n - 1, forms[i][1]);
		}
		strcat(text, uses[i]);
		assert_int_equal(read_text(&spec, text, &diag), -EINVAL);
		assert_true(diag.errors >= 1 && diag.errors <= 2);
		diag_clear(&diag);
		spec_clear(&spec);
	}
}

/* Doubling merges within the allowed depth: stopped by the count. */
static void wide_merges_are_counted(void **state)
{
	struct diag diag = {0};
	char text[4096] = "x-0: &a0 {}\n";
	struct spec spec;

	for (int n = 1; n <= 14; n++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at,
			 "x-%d: &a%d {<<: [*a%d, *a%d, *a%d]}\n", n, n, n - 1, n - 1,
			 n - 1);
	}
	strcat(text, "resources:\n  <<: *a14\n");
	assert_int_equal(read_text(&spec, text, &diag), -EINVAL);
	assert_non_null(strstr(diag.items[0].message, "more than 4096 keys"));
	diag_clear(&diag);
	spec_clear(&spec);
}

static void merges_have_a_depth(void **state)
{
	struct diag diag = {0};
	char text[4096] = "x-0: &a0 {nodes: 1}\n";
	struct spec spec;

	for (int n = 1; n <= 40; n++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "x-%d: &a%d {<<: *a%d}\n", n, n,
			 n - 1);
	}
	strcat(text, "resources:\n  <<: *a15\n");
	assert_int_equal(read_text(&spec, text, &diag), 0);
	assert_int_equal(spec.resources.nodes.number, 1);
	spec_clear(&spec);
	strcpy(strstr(text, "*a15\n"), "*a16\n");
	assert_int_equal(read_text(&spec, text, &diag), -EINVAL);
	/* The innermost alias that is one too deep. */
	assert_diag(&diag,
		    "job.yaml:2:15: error: merges nest deeper than 16 [spec-yaml]\n");
	spec_clear(&spec);
}

static void many_faults_end_the_reading(void **state)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct diag diag = {0};
	struct spec spec;

	assert_non_null(out);
	for (int i = 0; i < 1000; i++)
		fprintf(out, "key%d: 1\n", i);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(read_text(&spec, text, &diag), -EINVAL);
	assert_int_equal(diag.errors, SPEC_FAULTS_MAX);
	assert_string_equal(diag.items[diag.count - 1].message,
			    "stopped after 50 errors");
	free(text);
	diag_clear(&diag);
	spec_clear(&spec);
}

static void overrides(void **state)
{
	static const char base[] = "name: a\n"
				   "resources: {nodes: 2, gpus: 16}\n"
				   "run: {args: [x]}\n"
				   "mmdet: {config: c, work_dir: w}\n"
				   "env: {A: 1, B: 2}\n";
	static const char *const assignments[] = {
		"resources.nodes=4",
		"name=b c: #d",
		"batch.walltime=10:30",
		"run.args=[p, 'q r']",
		"env.B=x=y, #z",
		"env.C=null and more",
		"env.A=null",
		"env.E=",
		"mmdet=null",
		"resources.gpus=null",
		"batch={qos: q}",
		"launcher=mmengine",
		"env.D=1",
		"env.D=NULL",
		"env.D=2",
		"env.D=~",
		"batch.account=a",
		"batch.account=Null",
	};
	struct diag diag = {0};
	struct spec spec;
	uint64_t digest;

	assert_int_equal(read_text(&spec, base, &diag), 0);
	digest = spec.digest;
	for (size_t i = 0; i < sizeof(assignments) / sizeof(assignments[0]); i++)
		assert_int_equal(spec_override(&spec, assignments[i], &diag), 0);
	assert_int_equal(diag.count, 0);
	assert_int_equal(spec.resources.nodes.number, 4);
	assert_string_equal(spec.resources.nodes.place.file, "-s");
	assert_int_equal(spec.resources.nodes.place.line, 1);
	assert_int_equal(spec.resources.nodes.place.column, 17);
	assert_string_equal(spec.name.text, "b c: #d");
	assert_int_equal(spec.batch.time.number, 630);
	assert_int_equal(spec.run.args.count, 2);
	assert_string_equal(spec.run.args.items[1].text, "q r");
	/* Order is kept, A is gone, C and E come last. */
	assert_int_equal(spec.env.count, 3);
	assert_string_equal(spec.env.items[0].name, "B");
	assert_string_equal(spec.env.items[0].text, "x=y, #z");
	assert_string_equal(spec.env.items[1].name, "C");
	assert_string_equal(spec.env.items[1].text, "null and more");
	assert_string_equal(spec.env.items[2].text, "");
	assert_false(spec.mmdet.config.given);
	assert_false(spec.mmdet.work_dir.given);
	assert_false(spec.resources.gpus.given);
	assert_string_equal(spec.batch.qos.text, "q");
	assert_string_equal(spec.launcher.text, "mmengine");
	assert_false(spec.batch.account.given);
	assert_int_equal(spec.overrides.count, 18);
	assert_string_equal(spec.overrides.items[11].text, "launcher=mmengine");
	assert_true(spec.digest != digest);
	diag_clear(&diag);
	spec_clear(&spec);
}

/* What begins with a bracket is YAML where only that makes sense, and never in code. */
static void brackets_in_overrides(void **state)
{
	static const char *const code[] = {
		"[ -d x ] || mkdir x",
		"[[ -n $A ]] && echo {a,b}",
		"{ a; b; }",
		"{a",
		"[a, b]",
		"[",
	};
	struct diag diag = {0};
	struct spec spec;

	assert_int_equal(read_text(&spec, "name: a", &diag), 0);
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++) {
		static const char *const fields[] = {"setup", "teardown"};

		for (size_t j = 0; j < 2; j++) {
			const struct spec_value *value = j ? &spec.teardown : &spec.setup;
			char assignment[64];

			snprintf(assignment, sizeof(assignment), "%s=%s", fields[j],
				 code[i]);
			assert_int_equal(spec_override(&spec, assignment, &diag), 0);
			assert_int_equal(value->count, 1);
			assert_string_equal(value->items[0].text, code[i]);
		}
	}
	assert_int_equal(spec_override(&spec, "run.command=[prog, a b]", &diag), 0);
	assert_int_equal(spec.run.command.count, 2);
	assert_int_equal(spec_override(&spec, "run.args={a} b", &diag), 0);
	assert_int_equal(spec.run.args.count, 2);
	assert_string_equal(spec.run.args.items[0].text, "{a}");
	assert_int_equal(spec_override(&spec, "name=[x]", &diag), 0);
	assert_string_equal(spec.name.text, "[x]");
	assert_int_equal(diag.count, 0);
	assert_int_equal(spec_override(&spec, "env=[a]", &diag), -EINVAL);
	assert_int_equal(spec_override(&spec, "setup=a\r", &diag), -EINVAL);
	assert_int_equal(diag.errors, 2);
	diag_clear(&diag);
	spec_clear(&spec);
}

static void wrong_overrides_change_nothing(void **state)
{
	static const struct {
		const char *assignment, *expected;
	} rows[] = {
		{"resources.nods=4",
		 "-s:1:11: error: unknown key nods in resources; did you mean "
		 "nodes? [spec-unknown-key]\n"},
		{"resorces.nodes=4",
		 "-s:1:1: error: unknown key resorces at the top level; did "
		 "you mean resources? [spec-unknown-key]\n"},
		{"nodes=4",
		 "-s:1:1: error: unknown key nodes at the top level; nodes stands under "
		 "resources [spec-unknown-key]\n"},
		{"name.x=4",
		 "-s:1:6: error: name has no keys below it [spec-unknown-key]\n"},
		{"resources.nodes=many",
		 "-s:1:17: error: nodes: 'many' is not a whole number of "
		 "at least 1 [spec-value]\n"},
		{"resources=2",
		 "-s:1:11: error: resources is a single value; expected a map "
		 "[spec-type]\n"},
		{"resources={nodes: 9, gpus: x}",
		 "-s:1:11: error: gpus: 'x' is not a whole number of at least 0 "
		 "[spec-value]\n"},
		{"run.args=[a",
		 "-s:1:10: error: a list in [ ] is not closed, or lacks a comma "
		 "[spec-yaml]\n"},
		{"env.a-b=1",
		 "-s:1:5: error: env: 'a-b' cannot be the name of a variable "
		 "[spec-value]\n"},
		{"env.SRANK=off",
		 "-s:1:5: error: env: 'SRANK' is srank's own; launcher, binding and "
		 "rendezvous say what it would [spec-value]\n"},
		{"env=1",
		 "-s:1:5: error: env is a single value; expected a map of names to texts "
		 "[spec-type]\n"},
		{"include=a.yaml",
		 "-s:1:9: error: include cannot be set here; write it into the spec "
		 "[spec-override]\n"},
		{"name",
		 "-s:1:1: error: 'name' is not KEY.PATH=VALUE, as in resources.nodes=4 "
		 "[spec-override]\n"},
		{"=x",
		 "-s:1:1: error: '=x' is not KEY.PATH=VALUE, as in resources.nodes=4 "
		 "[spec-override]\n"},
		{"name=",
		 "-s:1:6: error: name is empty; give it a value or remove the line "
		 "[spec-value]\n"},
		{".=1",
		 "-s:1:1: error: unknown key  at the top level [spec-unknown-key]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		struct spec spec;

		print_message("# -s %s\n", rows[i].assignment);
		assert_int_equal(
			read_text(&spec, "resources: {nodes: 2}\nname: a", &diag), 0);
		assert_int_equal(spec_override(&spec, rows[i].assignment, &diag),
				 -EINVAL);
		assert_int_equal(spec.resources.nodes.number, 2);
		assert_string_equal(spec.name.text, "a");
		assert_false(spec.resources.gpus.given);
		assert_diag(&diag, rows[i].expected);
		spec_clear(&spec);
	}
}

static void files(void **state)
{
	char name[] = "/tmp/srank-test-XXXXXX";
	int fd = mkstemp(name);
	struct diag diag = {0};
	struct spec spec = {0};
	char expected[128];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "name: f\n", 8), 8);
	close(fd);
	assert_int_equal(spec_read(&spec, name, &diag), 0);
	assert_string_equal(spec.name.text, "f");
	assert_string_equal(spec.file, name);
	spec_clear(&spec);
	unlink(name);
	assert_int_equal(spec_read(&spec, name, &diag), -ENOENT);
	snprintf(expected, sizeof(expected),
		 "%s: error: cannot be read: No such file or directory [spec-file]\n",
		 name);
	assert_diag(&diag, expected);
	assert_int_equal(spec_read(&spec, "/tmp", &diag), -EISDIR);
	diag_clear(&diag);
	/* Endless: stops at the bound. */
	assert_int_equal(spec_read(&spec, "/dev/zero", &diag), -EINVAL);
	diag_clear(&diag);
	spec_clear(&spec);
}

/* A folder with files for one test. */
static char folder[64];

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/srank-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"a.yaml",   "b.yaml",     "c.yaml",
					    "job.yaml", "sub/d.yaml", "sub/e.yaml",
					    "sub"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		remove(path);
	}
	return remove(folder);
}

static int read_job(struct spec *spec, struct diag *diag)
{
	char path[128];

	memset(spec, 0, sizeof(*spec));
	snprintf(path, sizeof(path), "%s/job.yaml", folder);
	return spec_read(spec, path, diag);
}

/* Messages without the folder's name, which differs from run to run. */
static void assert_diag_here(struct diag *diag, const char *expected)
{
	char *text = diag_text(diag), *at;
	size_t length = strlen(folder) + 1;

	while ((at = strstr(text, folder)))
		memmove(at, at + length, strlen(at + length) + 1);
	diag_clear(diag);
	assert_string_equal(text, expected);
	free(text);
}

static void includes(void **state)
{
	struct diag diag = {0};
	struct spec spec;
	uint64_t digest;
	char path[128];

	snprintf(path, sizeof(path), "%s/sub", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	put("a.yaml", "name: a\nlauncher: torchrun\nenv: {A: 1, B: 1, C: 1}\n"
		      "batch: {account: acc, qos: q}\nresources: {mem: 1G}\n"
		      "run: {script: a.py, args: [-a]}\n");
	put("b.yaml", "include: sub/d.yaml\nname: b\nenv: {B: 2}\n");
	put("sub/d.yaml", "include: [e.yaml]\nenv: {D: 4, B: 4}\nresources: {gpus: 7}\n");
	put("sub/e.yaml", "resources: {gpus: 8, nodes: 3}\n");
	put("job.yaml", "include: [a.yaml, b.yaml]\n"
			"env: {C: ~, E: 5}\n"
			"batch: {qos: ~}\n"
			"resources: {mem_per_gpu: 2G}\n"
			"run: {module: m}\n");
	assert_int_equal(read_job(&spec, &diag), 0);
	assert_int_equal(diag.count, 0);
	/* The later include, and the file itself over both. */
	assert_string_equal(spec.name.text, "b");
	assert_string_equal(spec.launcher.text, "torchrun");
	assert_string_equal(spec.batch.account.text, "acc");
	assert_int_equal(spec.resources.gpus.number, 7);
	assert_int_equal(spec.resources.nodes.number, 3);
	/* What null takes away stays away; maps are put together. */
	assert_false(spec.batch.qos.given);
	assert_int_equal(spec.env.count, 4);
	assert_string_equal(spec.env.items[0].name, "A");
	assert_string_equal(spec.env.items[1].name, "D");
	assert_string_equal(spec.env.items[2].name, "B");
	assert_string_equal(spec.env.items[2].text, "2");
	assert_string_equal(spec.env.items[3].name, "E");
	/* One way to say the memory, and one program. */
	assert_false(spec.resources.mem.given);
	assert_int_equal(spec.resources.mem_per_gpu.number, 2048);
	assert_false(spec.run.script.given);
	assert_false(spec.run.args.given);
	assert_string_equal(spec.run.module.text, "m");
	/* The places are those of the files. */
	assert_non_null(strstr(spec.resources.gpus.place.file, "/sub/d.yaml"));
	assert_int_equal(spec.resources.gpus.place.line, 3);
	digest = spec.digest;
	spec_clear(&spec);
	/* A changed include is another job. */
	put("sub/e.yaml", "resources: {gpus: 8, nodes: 4}\n");
	assert_int_equal(read_job(&spec, &diag), 0);
	assert_true(spec.digest != digest);
	spec_clear(&spec);
	/* The same file twice is no circle. */
	put("job.yaml", "include: [sub/e.yaml, sub/d.yaml, sub/e.yaml]\n");
	assert_int_equal(read_job(&spec, &diag), 0);
	assert_int_equal(spec.resources.gpus.number, 8);
	assert_int_equal(diag.count, 0);
	spec_clear(&spec);
	diag_clear(&diag);
}

static void includes_that_cannot_be(void **state)
{
	struct diag diag = {0};
	struct spec spec;

	put("job.yaml", "name: x\ninclude: [gone.yaml, job.yaml, ., a.yaml]\nnodes: 1\n");
	put("a.yaml", "include: b.yaml\nlauncher: torchrum\n");
	put("b.yaml", "include: [a.yaml, c.yaml]\nname: [1]\n");
	put("c.yaml", "a: 1\n---\nb: 2\n");
	assert_int_equal(read_job(&spec, &diag), -EINVAL);
	assert_string_equal(spec.name.text, "x");
	/* By file, in the order in which they were opened. */
	assert_diag_here(
		&diag,
		"job.yaml:2:11: error: gone.yaml cannot be included: No such file or "
		"directory [spec-include]\n"
		"job.yaml:2:22: error: job.yaml includes itself [spec-include]\n"
		"job.yaml:2:32: error: . cannot be included: it is no regular file "
		"[spec-include]\n"
		"job.yaml:3:1: error: unknown key nodes at the top level; nodes stands "
		"under resources [spec-unknown-key]\n"
		"a.yaml:2:11: error: launcher: there is no 'torchrum'; did you mean "
		"torchrun? [spec-value]\n"
		"b.yaml:1:11: error: including a.yaml here goes round in a circle: it is "
		"being read already [spec-include]\n"
		"b.yaml:2:7: error: name is a list; expected a text [spec-type]\n"
		"c.yaml: error: the file has 2 documents, each a job of its own: 1, 2 "
		"[spec-document]\n"
		"  fix: include files with one document each\n");
	spec_clear(&spec);
	/* Files that include each other twice would be read without end. */
	put("a.yaml", "include: [b.yaml, b.yaml]\n");
	put("b.yaml", "include: [c.yaml, c.yaml, c.yaml, c.yaml]\n");
	put("c.yaml", "include: [sub/d.yaml, sub/d.yaml, sub/d.yaml, sub/d.yaml, "
		      "sub/d.yaml, sub/d.yaml, sub/d.yaml, sub/d.yaml]\n");
	put("job.yaml", "include: [a.yaml, a.yaml]\n");
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/sub", folder);
		mkdir(path, 0700);
	}
	put("sub/d.yaml", "name: d\n");
	assert_int_equal(read_job(&spec, &diag), -EINVAL);
	assert_non_null(strstr(diag.items[diag.count - 1].message,
			       "more than 64 files are included"));
	diag_clear(&diag);
	spec_clear(&spec);
}

static void documents(void **state)
{
	static const char text[] = "name: first\nlauncher: &l torchrun\n---\n"
				   "job_name: 2nd\n---\n---\nresources: {nodes: 7}\n";
	static const struct {
		const char *document;
		const char *name; /* NULL: none */
		uint64_t nodes;
	} rows[] = {
		{"1", "first", 0},     {"2", "2nd", 0},   {"3", NULL, 7},
		{"first", "first", 0}, {"2nd", "2nd", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spec spec = {.document = rows[i].document};
		struct diag diag = {0};

		assert_int_equal(
			spec_read_text(&spec, "job.yaml", text, strlen(text), &diag), 0);
		assert_int_equal(spec.documents, 3);
		assert_int_equal(spec.name.given, rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(spec.name.text, rows[i].name);
		assert_int_equal(spec.resources.nodes.number, rows[i].nodes);
		diag_clear(&diag);
		spec_clear(&spec);
	}
	{
		struct spec spec = {.document = "4"};
		struct diag diag = {0};

		assert_int_equal(
			spec_read_text(&spec, "job.yaml", text, strlen(text), &diag),
			-EINVAL);
		assert_diag(&diag,
			    "job.yaml: error: there is no document 4 in it; there are: 1 "
			    "(first), 2 (2nd), 3 [spec-document]\n"
			    "  fix: say which one is meant: --document with its number "
			    "or name\n");
		spec_clear(&spec);
	}
	{
		/* An anchor ends with its document. */
		static const char other[] = "name: &n a\n---\nname: *n\n";
		struct spec spec = {.document = "1"};
		struct diag diag = {0};

		assert_int_equal(
			spec_read_text(&spec, "job.yaml", other, strlen(other), &diag),
			-EINVAL);
		assert_diag(&diag, "job.yaml:3:7: error: alias *n has no anchor &n above "
				   "it [spec-yaml]\n");
		spec_clear(&spec);
	}
}

static void defaults_are_below_the_spec(void **state)
{
	static const char site[] = "launcher: torchrun\nname: d\n"
				   "batch: {account: acc, qos: q, mail: a@b}\n"
				   "resources: {mem: 1G, cpus_per_gpu: 4}\n"
				   "env: {A: 1, B: 1}\n";
	static const char text[] = "batch: {account: mine, qos: ~}\n"
				   "resources: {cpus_per_task: 2}\n"
				   "env: {B: ~}\n";
	struct diag diag = {0};
	struct spec spec, defaults;

	assert_int_equal(read_text(&defaults, site, &diag), 0);
	assert_int_equal(read_text(&spec, text, &diag), 0);
	assert_int_equal(spec_override(&spec, "env.A=null", &diag), 0);
	assert_int_equal(spec_override(&spec, "launcher=null", &diag), 0);
	assert_int_equal(spec_complete(&spec, &defaults), 0);
	assert_string_equal(spec.batch.account.text, "mine");
	assert_false(spec.batch.qos.given);
	assert_string_equal(spec.batch.mail.user.text, "a@b");
	assert_int_equal(spec.resources.mem.number, 1024);
	/* Another way to say the CPUs. */
	assert_false(spec.resources.cpus_per_gpu.given);
	assert_int_equal(spec.env.count, 0);
	assert_false(spec.launcher.given);
	spec_clear(&spec);
	spec_clear(&defaults);
	diag_clear(&diag);
}

static void digest_tells_texts_apart(void **state)
{
	struct diag diag = {0};
	struct spec a, b;

	/* FNV-1a of "a" is a published test vector; `a` is no map, which does not matter
	 * here. */
	read_text(&a, "a", &diag);
	assert_true(a.digest == UINT64_C(0xaf63dc4c8601ec8c));
	read_text(&b, "name: x\n", &diag);
	assert_true(a.digest != b.digest);
	spec_clear(&a);
	spec_clear(&b);
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_keeps_text_and_place),
		cmocka_unit_test(forms_of_sections_and_values),
		cmocka_unit_test(choices_have_the_order_of_their_enums),
		cmocka_unit_test(absent_and_null_are_not_given),
		cmocka_unit_test(what_is_no_null),
		cmocka_unit_test(byte_order_mark),
		cmocka_unit_test(flags),
		cmocka_unit_test(faults),
		cmocka_unit_test(bindings),
		cmocka_unit_test(what_is_right_is_kept_beside_faults),
		cmocka_unit_test(anchors_and_merge_keys),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(bombs_do_not_go_off),
		cmocka_unit_test(wide_merges_are_counted),
		cmocka_unit_test(merges_have_a_depth),
		cmocka_unit_test(many_faults_end_the_reading),
		cmocka_unit_test(overrides),
		cmocka_unit_test(brackets_in_overrides),
		cmocka_unit_test(wrong_overrides_change_nothing),
		cmocka_unit_test(files),
		cmocka_unit_test_setup_teardown(includes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(includes_that_cannot_be, make_folder,
						remove_folder),
		cmocka_unit_test(documents),
		cmocka_unit_test(defaults_are_below_the_spec),
		cmocka_unit_test(digest_tells_texts_apart),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
