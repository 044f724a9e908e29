/* SPDX-License-Identifier: MIT */
/*
 * Texts that came from tasks are printable by now (record.h); paths that the user has
 * given are what he has written.
 */
#include "spank/exec/print.h"

#include "gen/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Nodes in the table; more than that nobody reads in a log. */
#define ROWS_MAX 64

/* Findings of one rule that are shown; JSON has all. */
#define FINDINGS_SHOWN 8

#define COLUMNS    8
#define CELL_MAX   64
#define PLACES_MAX 1600

static const char *const titles[COLUMNS] = {
	"NODE",       "RANKS",     "CPUS",  "GPUS",
	"ROUND TRIP", "INTERFACE", "CLOCK", "TO NEXT NODE",
};

bool exec_verdict_is_fine(const struct exec_verdict *verdict, bool strict)
{
	return !verdict->errors && !(strict && verdict->warnings) && !verdict->lost;
}

/* A list of numbers as Linux writes it, "0-3,8", in the making. */
struct ranges {
	char *text;
	size_t size, used;
	int64_t first, last; /* of the range that is open; first -1: none is */
};

static void close_range(struct ranges *ranges)
{
	if (ranges->first < 0 || ranges->used >= ranges->size)
		return;
	ranges->used += (size_t)snprintf(
		ranges->text + ranges->used, ranges->size - ranges->used,
		ranges->first == ranges->last ? "%s%" PRId64 : "%s%" PRId64 "-%" PRId64,
		ranges->used ? "," : "", ranges->first, ranges->last);
}

/* The ranks on NODE; the smallest and largest number of their CPUs. */
static void describe_ranks(const struct exec_world *world, const char *node, char *text,
			   size_t size, int64_t cpus[2])
{
	struct ranges ranges = {.text = text, .size = size, .first = -1};

	*text = '\0';
	cpus[0] = cpus[1] = 0;
	for (uint32_t rank = 0; rank < world->ntasks; rank++) {
		const struct exec_record *record = &world->records[rank];
		int64_t count;

		if (strcmp(exec_record_text(record, "node"), node) != 0)
			continue;
		if (ranges.first < 0 || ranges.last + 1 != rank) {
			close_range(&ranges);
			ranges.first = rank;
		}
		ranges.last = rank;
		exec_record_number(record, "ncpus", &count);
		if (count && (!cpus[0] || count < cpus[0]))
			cpus[0] = count;
		if (count > cpus[1])
			cpus[1] = count;
	}
	close_range(&ranges);
}

static void fill_row(const struct exec_world *world, const struct exec_record *node,
		     char row[COLUMNS][CELL_MAX])
{
	int64_t cpus[2], number;
	const char *reach = exec_record_text(node, "reach");

	for (int i = 0; i < COLUMNS; i++)
		strcpy(row[i], "-");
	snprintf(row[0], CELL_MAX, "%s", exec_record_text(node, "node"));
	describe_ranks(world, exec_record_text(node, "node"), row[1], CELL_MAX, cpus);
	if (cpus[0])
		snprintf(row[2], CELL_MAX,
			 cpus[0] == cpus[1] ? "%" PRId64 : "%" PRId64 "-%" PRId64,
			 cpus[0], cpus[1]);
	if (exec_record_number(node, "gpus.step", &number) && number)
		snprintf(row[3], CELL_MAX, "%" PRId64, number);
	if (strcmp(reach, "reached") == 0) {
		exec_record_number(node, "round_trip", &number);
		snprintf(row[4], CELL_MAX, "%.2f ms", (double)number / 1e6);
		exec_record_number(node, "ahead", &number);
		snprintf(row[6], CELL_MAX, "%+.3f s", (0 - (double)number) / 1e9);
	} else if (*reach) {
		snprintf(row[4], CELL_MAX, "%s", reach);
	}
	if (exec_record_number(node, "load.rate", &number))
		snprintf(row[7], CELL_MAX, "%.2f Gbit/s", (double)number * 8 / 1e9);
	if (*exec_record_text(node, "interface"))
		snprintf(row[5], CELL_MAX, "%s", exec_record_text(node, "interface"));
}

/* The first COUNT columns. */
static void print_row(FILE *out, char row[COLUMNS][CELL_MAX], const int *width, int count)
{
	for (int i = 0; i < count - 1; i++)
		fprintf(out, "%-*s  ", width[i], row[i]);
	fprintf(out, "%s\n", row[count - 1]);
}

/* The last one only where it was measured. */
static int count_columns(const struct exec_world *world)
{
	for (uint32_t rank = 0; rank < world->ntasks; rank++) {
		if (exec_record_get(&world->records[rank], "load.rate"))
			return COLUMNS;
	}
	return COLUMNS - 1;
}

static void print_table(FILE *out, const struct exec_world *world)
{
	char(*rows)[COLUMNS][CELL_MAX] = calloc(ROWS_MAX + 1, sizeof(*rows));
	int width[COLUMNS] = {0}, count = 1, columns = count_columns(world);
	uint32_t nodes = 0;

	if (!rows)
		return;
	for (int i = 0; i < COLUMNS; i++)
		strcpy(rows[0][i], titles[i]);
	for (uint32_t rank = 0; rank < world->ntasks; rank++) {
		if (!exec_record_get(&world->records[rank], "leader"))
			continue;
		if (nodes++ < ROWS_MAX)
			fill_row(world, &world->records[rank], rows[count++]);
	}
	for (int row = 0; row < count; row++) {
		for (int i = 0; i < COLUMNS; i++) {
			if ((int)strlen(rows[row][i]) > width[i])
				width[i] = (int)strlen(rows[row][i]);
		}
	}
	for (int row = 0; row < count; row++)
		print_row(out, rows[row], width, columns);
	if (nodes > ROWS_MAX)
		fprintf(out, "... and %" PRIu32 " more nodes\n", nodes - ROWS_MAX);
	free(rows);
}

static void print_findings(FILE *out, const struct exec_verdict *verdict)
{
	uint32_t shown = 0;
	char place[PLACES_MAX];

	for (uint32_t i = 0; i < verdict->count; i++) {
		const struct exec_finding *finding = &verdict->findings[i];
		bool last = i + 1 == verdict->count ||
			    verdict->findings[i + 1].rule != finding->rule;

		exec_finding_place(finding, place, sizeof(place));
		if (shown++ < FINDINGS_SHOWN) {
			fprintf(out, "%s: %s%s",
				exec_severity_name(finding->rule->severity), place,
				*place ? ": " : "");
			utf8_escape(out, finding->text);
			fprintf(out, " [%s]\n", finding->rule->name);
		}
		if (!last)
			continue;
		if (shown > FINDINGS_SHOWN)
			fprintf(out, "... and %" PRIu32 " more of these\n",
				shown - FINDINGS_SHOWN);
		fprintf(out, "  cause: %s\n  cure:  %s\n", finding->rule->cause,
			finding->rule->cure);
		shown = 0;
	}
}

static void print_counts(FILE *out, const struct exec_verdict *verdict)
{
	fprintf(out, "%" PRIu32 " error%s, %" PRIu32 " warning%s", verdict->errors,
		verdict->errors == 1 ? "" : "s", verdict->warnings,
		verdict->warnings == 1 ? "" : "s");
}

/* Of tasks that start the ranks themselves, those are not there yet. */
static void print_title(FILE *out, const struct exec_world *world)
{
	const struct exec_record *first = &world->records[0];
	const char *what = strcmp(exec_record_text(first, "shape"), "node") == 0
				   ? "launcher"
				   : "rank";

	fprintf(out, "srank doctor: %" PRIu32 " %s%s on %" PRIu32 " node%s",
		world->ntasks, what, world->ntasks == 1 ? "" : "s", world->nnodes,
		world->nnodes == 1 ? "" : "s");
	if (world->addr && world->port)
		fprintf(out, ", to meet at %s port %u", world->addr, world->port);
	fprintf(out, "\nlauncher %s, as %s\n\n", exec_record_text(first, "launcher"),
		exec_record_get(first, "served")
			? "the plugin has set it"
			: "srank exec would set it; the plugin has not been asked");
}

void exec_print_text(FILE *out, const struct exec_world *world,
		     const struct exec_verdict *verdict, bool strict)
{
	print_title(out, world);
	print_table(out, world);
	if (!world->meshed && world->nnodes > 1)
		fprintf(out,
			"Without PMIx only the ways to rank 0 are tested, not those "
			"between the other nodes%s%s.\n",
			world->unmeasured ? ", and no bandwidth" : "",
			world->apart || world->unjoined ? ""
							: "; srun --mpi=pmix tries all");
	fputc('\n', out);
	print_findings(out, verdict);
	fprintf(out, "verdict: %s",
		exec_verdict_is_fine(verdict, strict) ? "fine" : "problem");
	if (verdict->count || verdict->lost) {
		fprintf(out, " (");
		print_counts(out, verdict);
		fprintf(out, ")");
	}
	fputc('\n', out);
}

/* ---- JSON ---- */

/* RFC 8259, section 7. Bytes that are no UTF-8 become U+FFFD, as in decoders. */
static void print_string(FILE *out, const char *text)
{
	size_t length = strlen(text), bytes;

	fputc('"', out);
	for (; length > 0; text += bytes, length -= bytes) {
		uint32_t code = 0xfffd;

		bytes = utf8_decode(text, length, &code);
		if (bytes == 0 || utf8_is_control(code)) {
			fprintf(out, "\\u%04x", code);
		} else {
			if (code == '"' || code == '\\')
				fputc('\\', out);
			fwrite(text, 1, bytes, out);
		}
		bytes += bytes == 0;
	}
	fputc('"', out);
}

static void print_strings(FILE *out, const char *key, const char *const *list,
			  uint32_t count)
{
	fprintf(out, ", \"%s\": [", key);
	for (uint32_t i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		print_string(out, list[i]);
	}
	fputc(']', out);
}

static void print_member(FILE *out, const char *key, const char *value)
{
	fprintf(out, ", \"%s\": ", key);
	print_string(out, value);
}

static bool is_number(const char *key)
{
	static const char *const keys[] = {
		"ahead",     "cpus.asked", "gpus",       "gpus.asked", "gpus.step",
		"head",      "het",        "job.nodes",  "leader",     "local_size",
		"memlock",   "memory",     "mesh.pairs", "ncpus",      "nofile",
		"rank",      "reach.port", "round_trip", "shm.free",   "shm.size",
		"srun.port", "apart",      "load.rate",  "port",       "served",
		"addr.set",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(keys[i], key) == 0)
			return true;
	}
	return false;
}

/* Everything that the task has found out, under the names of its record. */
static void print_record(FILE *out, const struct exec_record *record)
{
	for (uint32_t i = 0; i < record->count; i++) {
		const char *key = record->entry[i].key;
		int64_t number;

		fprintf(out, "%s", i ? ", " : "");
		print_string(out, key);
		fprintf(out, ": ");
		if (is_number(key) && exec_record_number(record, key, &number))
			fprintf(out, "%" PRId64, number);
		else
			print_string(out, record->entry[i].value);
	}
}

static void print_finding(FILE *out, const struct exec_finding *finding)
{
	char place[PLACES_MAX];

	exec_finding_place(finding, place, sizeof(place));
	fprintf(out, "{\"severity\": \"%s\", \"id\": \"%s\"",
		exec_severity_name(finding->rule->severity), finding->rule->name);
	print_member(out, "place", place);
	print_strings(out, "places", (const char *const *)finding->place,
		      finding->places);
	print_member(out, "message", finding->text);
	print_member(out, "cause", finding->rule->cause);
	print_member(out, "cure", finding->rule->cure);
	fprintf(out, "}");
}

void exec_print_json(FILE *out, const struct exec_world *world,
		     const struct exec_verdict *verdict, bool strict)
{
	bool first = true;

	fprintf(out,
		"{\"version\": 1, \"verdict\": \"%s\", \"errors\": %" PRIu32
		", \"warnings\": %" PRIu32 ", \"ranks\": %" PRIu32
		", \"nodes\": %" PRIu32,
		exec_verdict_is_fine(verdict, strict) ? "fine" : "problem",
		verdict->errors, verdict->warnings, world->ntasks, world->nnodes);
	if (world->addr)
		print_member(out, "address", world->addr);
	fprintf(out, ", \"port\": %u, \"mesh\": %s, \"strict\": %s, \"seconds\": %u",
		world->port, world->meshed ? "true" : "false", strict ? "true" : "false",
		world->seconds);
	print_strings(out, "trees", world->trees, world->trees_count);
	fprintf(out, ",\n \"tasks\": [");
	for (uint32_t rank = 0; rank < world->ntasks; rank++) {
		if (!world->records[rank].count)
			continue;
		fprintf(out, "%s\n  {", first ? "" : ",");
		print_record(out, &world->records[rank]);
		fprintf(out, "}");
		first = false;
	}
	fprintf(out, "],\n \"findings\": [");
	for (uint32_t i = 0; i < verdict->count; i++) {
		fprintf(out, "%s\n  ", i ? "," : "");
		print_finding(out, &verdict->findings[i]);
	}
	fprintf(out, "]}\n");
}
