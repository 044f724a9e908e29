/* SPDX-License-Identifier: MIT */
/*
 * The drawing. A column stands for a NUMA node: its ranks above, its GPUs below, so that
 * a line from a rank to its GPU is short where the way is short and crosses a border
 * where the data must. All styling is in presentation attributes, since slide programs
 * pass style sheets over, and every distance has a colour (of Okabe and Ito's set, which
 * tells them apart for all kinds of colour vision), a width and a dash of its own.
 */
#include "gen/cli/figure.h"

#include "gen/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH  1600.0
#define HEIGHT 900.0
#define MARGIN 48.0
/* The nodes' panels. */
#define TOP     168.0
#define BOTTOM  828.0
#define PADDING 16.0

/* Of a sans serif type, an average character in parts of its size. */
#define CHARACTER 0.56

#define INK    "#1f2937"
#define QUIET  "#5b6675"
#define BORDER "#cbd5e1"

/* A NUMA node, or the part of one that lies on one socket. */
struct column {
	size_t package, numa;
	struct launch_cpuset cpus;
	uint32_t units; /* ranks or GPUs side by side */
	uint32_t gpus, drawn;
	double x, width;
};

/* Ranks whose CPUs lie in the same columns. */
struct group {
	size_t first, last; /* column */
	uint32_t count, drawn;
	uint32_t lane; /* 0: the lowest */
	double x, width;
};

/* A rank or a GPU, laid out. */
struct chip {
	double x, width; /* middle, and width */
	uint32_t lane;
	uint32_t lines, drawn; /* that meet here */
};

struct figure {
	FILE *out;
	const struct spec *spec;
	const struct plan *plan;
	const struct cli_place *place;
	struct column *columns;
	size_t columns_count;
	struct group *groups;
	size_t groups_count;
	uint32_t ranks; /* drawn of a node */
	size_t group_of[FIGURE_RANKS_MAX];
	struct chip rank[FIGURE_RANKS_MAX];
	uint32_t gpus_count; /* of the machine, the step's first */
	struct chip gpu[LAUNCH_GPUS_MAX];
	bool placed[LAUNCH_GPUS_MAX]; /* false: in the strip below the columns */
	uint32_t strip;               /* GPUs in it */
	uint32_t lanes;
	double gap;   /* between columns */
	double scale; /* of heights and type in a panel */
	bool lists;   /* the CPUs of every rank fit into its chip */
	bool seen[LAUNCH_DISTANCE_UNKNOWN + 1];
};

/* How a distance is drawn and what the legend says of it. */
static const struct look {
	const char *class, *colour, *dash, *text;
	double width;
} looks[] = {
	[LAUNCH_DISTANCE_LOCAL] = {"near", "#009e73", "none",
				   "GPU of the rank's own NUMA node", 3},
	[LAUNCH_DISTANCE_NODE] = {"near", "#009e73", "none",
				  "GPU of the rank's own NUMA node", 3},
	[LAUNCH_DISTANCE_SOCKET] = {"far", "#e69f00", "11 6",
				    "on another NUMA node of the socket", 3.5},
	[LAUNCH_DISTANCE_OTHER] = {"far", "#d55e00", "3 6", "on another socket", 4.5},
	[LAUNCH_DISTANCE_UNKNOWN] = {"unknown", "#7b8794", "none", "distance not known",
				     2.5},
};

__attribute__((format(printf, 2, 3))) static void put(struct figure *figure,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(figure->out, format, arguments);
	va_end(arguments);
}

/* At most MOST characters of TEXT as XML; what XML or a reader cannot take is U+FFFD. */
static void put_text(struct figure *figure, const char *text, uint32_t most)
{
	size_t left = strlen(text);
	uint32_t count = utf8_count(text, left), shown = 0;

	while (left) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, left, &code);

		if (shown++ + 1 >= most && count > most) {
			fputs("\xe2\x80\xa6", figure->out);
			return;
		}
		if (!length || utf8_is_control(code) || code == 0xfffe || code == 0xffff)
			fputs("\xef\xbf\xbd", figure->out);
		else if (code == '&')
			fputs("&amp;", figure->out);
		else if (code == '<')
			fputs("&lt;", figure->out);
		else if (code == '>')
			fputs("&gt;", figure->out);
		else if (code == '"')
			fputs("&quot;", figure->out);
		else
			fwrite(text, 1, length, figure->out);
		length = length ? length : 1;
		text += length;
		left -= length;
	}
}

/* One line of text, at most WIDTH wide. ANCHOR: start, middle or end. */
static void put_line(struct figure *figure, double x, double y, double size,
		     const char *anchor, const char *colour, const char *weight,
		     double width, const char *text)
{
	put(figure,
	    "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"%s\" "
	    "fill=\"%s\" font-weight=\"%s\">",
	    x, y, size, anchor, colour, weight);
	put_text(figure, text, (uint32_t)(width / (size * CHARACTER)) + 1);
	put(figure, "</text>\n");
}

static bool fits(const char *text, double size, double width)
{
	return (double)strlen(text) * size * CHARACTER <= width;
}

static void put_box(struct figure *figure, double x, double y, double width,
		    double height, double round, const char *fill, const char *stroke)
{
	put(figure,
	    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" "
	    "fill=\"%s\" stroke=\"%s\"/>\n",
	    x, y, width, height, round, fill, stroke);
}

static struct launch_cpuset common(const struct launch_cpuset *a,
				   const struct launch_cpuset *b)
{
	struct launch_cpuset both = *a;

	launch_cpuset_keep(&both, b);
	return both;
}

/* Each has a CPU at least, so they are no more than these. */
static int list_columns(struct figure *figure)
{
	const struct spec_machine *machine = figure->place->machine;
	size_t most = machine ? launch_cpuset_count(&machine->cpus) : 1;

	figure->columns = calloc(most, sizeof(*figure->columns));
	if (!figure->columns)
		return -ENOMEM;
	if (!machine)
		figure->columns_count = 1;
	for (size_t i = 0; machine && i < machine->packages_count; i++) {
		for (size_t j = 0; j < machine->numa_count; j++) {
			struct launch_cpuset cpus = common(&machine->packages[i].cpus,
							   &machine->numa[j].cpus);

			if (launch_cpuset_count(&cpus))
				figure->columns[figure->columns_count++] =
					(struct column){
						.package = i, .numa = j, .cpus = cpus};
		}
	}
	return 0;
}

static uint32_t shared(const struct launch_cpuset *a, const struct launch_cpuset *b)
{
	struct launch_cpuset both = common(a, b);

	return launch_cpuset_count(&both);
}

/* The column with most of SET. */
static size_t column_of(const struct figure *figure, const struct launch_cpuset *set)
{
	size_t best = 0;
	uint32_t most = 0;

	for (size_t i = 0; i < figure->columns_count; i++) {
		uint32_t count = shared(&figure->columns[i].cpus, set);

		if (count > most) {
			most = count;
			best = i;
		}
	}
	return best;
}

static uint32_t workers_per_task(const struct figure *figure)
{
	return figure->place->workers / figure->place->tasks;
}

/* The first and last column in which the rank has CPUs. */
static void span_of(const struct figure *figure, uint32_t rank, size_t *first,
		    size_t *last)
{
	const struct launch_cpuset *mask;
	bool found = false;

	*first = *last = 0;
	if (!figure->place->masks)
		return;
	mask = &figure->place->masks[rank / workers_per_task(figure)];
	for (size_t i = 0; i < figure->columns_count; i++) {
		if (!shared(&figure->columns[i].cpus, mask))
			continue;
		if (!found)
			*first = i;
		found = true;
		*last = i;
	}
}

/* Whether a rank that has its own place in a column, without a box around it. */
static bool is_single(const struct group *group)
{
	return group->first == group->last;
}

static int list_groups(struct figure *figure)
{
	figure->groups = calloc(figure->ranks, sizeof(*figure->groups));
	if (!figure->groups)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < figure->ranks; rank++) {
		size_t first, last, i = 0;

		span_of(figure, rank, &first, &last);
		while (i < figure->groups_count && (figure->groups[i].first != first ||
						    figure->groups[i].last != last))
			i++;
		if (i == figure->groups_count)
			figure->groups[figure->groups_count++] =
				(struct group){.first = first, .last = last};
		figure->groups[i].count++;
		figure->group_of[rank] = i;
	}
	return 0;
}

/* Boxes over several columns that meet lie above each other, and above single ranks. */
static void choose_lanes(struct figure *figure)
{
	uint32_t base = 0;

	figure->lanes = 1;
	for (size_t i = 0; i < figure->groups_count; i++) {
		if (is_single(&figure->groups[i]))
			base = 1;
	}
	for (size_t i = 0; i < figure->groups_count; i++) {
		struct group *group = &figure->groups[i];
		bool moved = !is_single(group);

		group->lane = moved ? base : 0;
		while (moved) {
			moved = false;
			for (size_t j = 0; j < i; j++) {
				const struct group *other = &figure->groups[j];

				if (is_single(other) || other->lane != group->lane ||
				    other->last < group->first ||
				    group->last < other->first)
					continue;
				group->lane++;
				moved = true;
			}
		}
		if (group->lane + 1 > figure->lanes)
			figure->lanes = group->lane + 1;
	}
}

/* The CPUs near GPU, or NULL when its place is not known. */
static const struct launch_cpuset *place_of(const struct figure *figure, uint32_t gpu)
{
	const struct cli_place *place = figure->place;

	if (gpu < place->gpus.count)
		return place->gpus.gpu[gpu].located ? &place->gpus.gpu[gpu].local : NULL;
	if (memcmp(&place->machine->gpus[gpu].local, &place->machine->cpus,
		   sizeof(struct launch_cpuset)) == 0)
		return NULL;
	return &place->machine->gpus[gpu].local;
}

static bool has_place(const struct figure *figure, uint32_t gpu)
{
	return figure->columns_count == 1 || place_of(figure, gpu);
}

static size_t gpu_column(const struct figure *figure, uint32_t gpu)
{
	return figure->columns_count == 1 ? 0 : column_of(figure, place_of(figure, gpu));
}

/* As many places side by side as each column needs for its ranks and its GPUs. */
static void count_units(struct figure *figure)
{
	for (size_t i = 0; i < figure->groups_count; i++) {
		const struct group *group = &figure->groups[i];

		if (is_single(group))
			figure->columns[group->first].units = group->count;
	}
	for (uint32_t gpu = 0; gpu < figure->gpus_count; gpu++) {
		figure->placed[gpu] = has_place(figure, gpu);
		if (figure->placed[gpu])
			figure->columns[gpu_column(figure, gpu)].gpus++;
		else
			figure->strip++;
	}
	for (size_t i = 0; i < figure->columns_count; i++) {
		struct column *column = &figure->columns[i];

		if (column->units < column->gpus)
			column->units = column->gpus;
		if (!column->units)
			column->units = 1;
	}
	for (size_t i = 0; i < figure->groups_count; i++) {
		const struct group *group = &figure->groups[i];
		uint32_t sum = 0;

		for (size_t j = group->first; j <= group->last; j++)
			sum += figure->columns[j].units;
		for (size_t j = group->first; sum < group->count; sum++) {
			figure->columns[j].units++;
			j = j == group->last ? group->first : j + 1;
		}
	}
}

/* Whether column I begins a socket. */
static bool begins(const struct figure *figure, size_t i)
{
	return i == 0 || figure->columns[i].package != figure->columns[i - 1].package;
}

static bool ends(const struct figure *figure, size_t i)
{
	return i + 1 == figure->columns_count || begins(figure, i + 1);
}

/* Between sockets, in parts of the gap between columns. */
#define SOCKET_GAP 1.75

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static void place_columns(struct figure *figure)
{
	const double room = WIDTH - 2 * MARGIN - 2 * PADDING;
	double x = MARGIN + PADDING, unit, gaps = 0;
	uint32_t units = 0;

	for (size_t i = 0; i < figure->columns_count; i++) {
		units += figure->columns[i].units;
		gaps += 1 + begins(figure, i) + (begins(figure, i) && i ? SOCKET_GAP : 0);
	}
	/* Gaps of the usual width, unless there are so many that little else is left. */
	figure->gap = smaller(8, room / 3 / gaps);
	unit = (room - gaps * figure->gap) / units;
	for (size_t i = 0; i < figure->columns_count; i++) {
		struct column *column = &figure->columns[i];

		if (begins(figure, i))
			x += figure->gap * (i ? 1 + SOCKET_GAP : 1);
		column->x = x;
		column->width = unit * column->units;
		x += column->width + figure->gap;
	}
}

/* In a place of UNIT, at most MOST. */
static double chip_width(double unit, double most)
{
	return smaller(unit > 24 ? unit - 8 : unit * 0.7, most);
}

static void place_chips(struct figure *figure)
{
	double most = 150 * figure->scale, unit;

	for (size_t i = 0; i < figure->groups_count; i++) {
		struct group *group = &figure->groups[i];
		const struct column *last = &figure->columns[group->last];

		group->x = figure->columns[group->first].x;
		group->width = last->x + last->width - group->x;
	}
	for (uint32_t rank = 0; rank < figure->ranks; rank++) {
		struct group *group = &figure->groups[figure->group_of[rank]];

		unit = group->width / group->count;
		figure->rank[rank] = (struct chip){
			.x = group->x + unit * (group->drawn++ + 0.5),
			.width = chip_width(unit, is_single(group) ? most : 3 * most),
			.lane = group->lane};
	}
	for (uint32_t gpu = 0, drawn = 0; gpu < figure->gpus_count; gpu++) {
		struct column *column;

		if (!figure->placed[gpu]) {
			unit = (WIDTH - 2 * MARGIN - 4 * PADDING) / figure->strip;
			figure->gpu[gpu] = (struct chip){.x = MARGIN + 2 * PADDING +
							      unit * (drawn++ + 0.5),
							 .width = chip_width(unit, most)};
			continue;
		}
		column = &figure->columns[gpu_column(figure, gpu)];
		unit = column->width / column->gpus;
		figure->gpu[gpu] =
			(struct chip){.x = column->x + unit * (column->drawn++ + 0.5),
				      .width = chip_width(unit, most)};
	}
	for (uint32_t rank = 0; rank < figure->ranks; rank++) {
		for (uint64_t set = cli_place_gpus(figure->place, rank); set;
		     set &= set - 1) {
			figure->rank[rank].lines++;
			figure->gpu[__builtin_ctzll(set)].lines++;
		}
	}
}

/* Either all ranks show which CPUs they have, or all show how many. */
static void choose_labels(struct figure *figure)
{
	figure->lists = figure->place->masks && workers_per_task(figure) == 1;
	for (uint32_t rank = 0; rank < figure->ranks && figure->lists; rank++) {
		char cpus[256];

		launch_cpuset_text(&figure->place->masks[rank], cpus, sizeof(cpus));
		figure->lists =
			fits(cpus, 11.5 * figure->scale, figure->rank[rank].width - 8);
	}
}

/* Heights within a panel that begins at `top`. */
struct panel {
	double top, height;
	double columns;    /* top of the sockets */
	double ranks;      /* top of the highest lane */
	double lane, chip; /* heights */
	double gpus;       /* top of the GPUs */
	double end;        /* bottom of the sockets */
	double strip;      /* top of the strip */
};

static struct panel measure(const struct figure *figure, double top, double height)
{
	double scale = figure->scale;
	struct panel panel = {.top = top, .height = height};
	double bottom = top + height - PADDING;

	panel.columns = top + 36 + 20 * scale;
	panel.ranks = panel.columns + 6 + 40 * scale;
	if (!figure->place->machine)
		panel.ranks = top + 46;
	panel.chip = 44 * scale;
	panel.lane = panel.chip + 14 * scale;
	/* Many lanes share the upper half. */
	if (panel.lane * figure->lanes > height * 0.5) {
		panel.lane = height * 0.5 / figure->lanes;
		panel.chip = panel.lane * 0.76;
	}
	panel.end = bottom;
	panel.strip = bottom;
	if (figure->strip) {
		panel.strip = bottom - panel.chip - 30 * scale;
		panel.end = panel.ranks + panel.lane * figure->lanes + 8;
		if (figure->strip < figure->gpus_count)
			panel.end = panel.strip - 18 * scale;
	}
	panel.gpus = panel.end - panel.chip - 10 * scale;
	return panel;
}

static double rank_top(const struct figure *figure, const struct panel *panel,
		       uint32_t rank)
{
	return panel->ranks + panel->lane * (figure->lanes - 1 - figure->rank[rank].lane);
}

static double gpu_top(const struct figure *figure, const struct panel *panel,
		      uint32_t gpu)
{
	return figure->placed[gpu] ? panel->gpus : panel->strip + 8 * figure->scale;
}

static void draw_sockets(struct figure *figure, const struct panel *panel)
{
	const struct spec_machine *machine = figure->place->machine;
	double top = panel->columns - 20 * figure->scale, start = 0;

	for (size_t i = 0; machine && i < figure->columns_count; i++) {
		const struct column *column = &figure->columns[i];
		double end = column->x + column->width + figure->gap;
		char name[32];

		if (begins(figure, i))
			start = column->x - figure->gap;
		if (!ends(figure, i))
			continue;
		snprintf(name, sizeof(name), "socket %" PRIu32,
			 machine->packages[column->package].id);
		put_box(figure, start, top, end - start, panel->end - top + 6, 12,
			"#e8eef6", BORDER);
		put_line(figure, start + 10, top + 14.5 * figure->scale,
			 12.5 * figure->scale, "start", QUIET, "bold", end - start - 12,
			 name);
	}
}

/* True when the column's NUMA node lies on more than one socket. */
static bool is_split(const struct figure *figure, const struct column *column)
{
	for (size_t i = 0; i < figure->columns_count; i++) {
		if (figure->columns[i].numa == column->numa &&
		    figure->columns[i].package != column->package)
			return true;
	}
	return false;
}

static void draw_columns(struct figure *figure, const struct panel *panel)
{
	const struct spec_machine *machine = figure->place->machine;
	double size = 13 * figure->scale;

	for (size_t i = 0; machine && i < figure->columns_count; i++) {
		const struct column *column = &figure->columns[i];
		char name[64], cpus[256];

		launch_cpuset_text(&column->cpus, cpus, sizeof(cpus));
		snprintf(name, sizeof(name), "NUMA %u%s", machine->numa[column->numa].id,
			 is_split(figure, column) ? ", part" : "");
		if (!fits(name, size, column->width - 16))
			snprintf(name, sizeof(name), "%u",
				 machine->numa[column->numa].id);
		put(figure,
		    "<g class=\"numa\"><title>socket %u, NUMA node %u, CPUs %s"
		    "</title>\n",
		    machine->packages[column->package].id, machine->numa[column->numa].id,
		    cpus);
		put_box(figure, column->x, panel->columns, column->width,
			panel->end - panel->columns, 8, "#ffffff", BORDER);
		put_line(figure, column->x + 10, panel->columns + 4 + 15 * figure->scale,
			 size, "start", INK, "bold", column->width, name);
		if (column->width > 60)
			put_line(figure, column->x + 10,
				 panel->columns + 4 + 31 * figure->scale, size * 0.88,
				 "start", QUIET, "normal", column->width - 26, cpus);
		put(figure, "</g>\n");
	}
}

/* Behind ranks whose CPUs lie in several columns. */
static void draw_groups(struct figure *figure, const struct panel *panel)
{
	for (size_t i = 0; i < figure->groups_count; i++) {
		const struct group *group = &figure->groups[i];
		double top =
			panel->ranks + panel->lane * (figure->lanes - 1 - group->lane);

		if (!is_single(group) && group->count > 1)
			put_box(figure, group->x + 2, top - 5, group->width - 4,
				panel->chip + 10, 10, "#f1f5f9", "#94a3b8");
	}
}

/* Where the next line meets the edge of a chip: evenly over its middle. */
static double next_end(struct chip *chip)
{
	double step = chip->width * 0.6 / chip->lines;

	return chip->x - chip->width * 0.3 + step * (chip->drawn++ % chip->lines + 0.5);
}

/* Of a line that is far, at its GPU: it is seen in print without colours, too. */
static void draw_mark(struct figure *figure, double x, double y, const char *colour)
{
	put(figure,
	    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#ffffff\" stroke=\"%s\" "
	    "stroke-width=\"2\"/>\n",
	    x, y, 8 * figure->scale, colour);
	put(figure,
	    "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"middle\" "
	    "fill=\"%s\" font-weight=\"bold\">!</text>\n",
	    x, y + 4.5 * figure->scale, 13 * figure->scale, colour);
}

static void draw_line(struct figure *figure, const struct panel *panel, uint64_t node,
		      uint32_t rank, uint32_t gpu, enum launch_distance distance)
{
	const struct look *look = &looks[distance];
	double x1 = next_end(&figure->rank[rank]), x2 = next_end(&figure->gpu[gpu]);
	double y1 = rank_top(figure, panel, rank) + panel->chip;
	double y2 = gpu_top(figure, panel, gpu), half = (y2 - y1) / 2;

	figure->seen[distance] = true;
	put(figure,
	    "<path class=\"%s\" data-rank=\"%" PRIu64 "\" data-gpu=\"%s\" "
	    "data-distance=\"%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\" "
	    "fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" stroke-dasharray=\"%s\" "
	    "stroke-linecap=\"%s\"/>\n",
	    look->class, cli_place_rank(figure->place, node, rank),
	    figure->place->gpus.gpu[gpu].name, launch_distance_name(distance), x1, y1, x1,
	    y1 + half, x2, y2 - half, x2, y2, look->colour, look->width, look->dash,
	    distance == LAUNCH_DISTANCE_OTHER ? "round" : "butt");
	if (distance == LAUNCH_DISTANCE_OTHER)
		draw_mark(figure, x2, y2 - 13 * figure->scale, look->colour);
}

/* Near ones first, so that the far ones are seen. */
static void draw_lines(struct figure *figure, const struct panel *panel, uint64_t node)
{
	static const enum launch_distance turns[] = {
		LAUNCH_DISTANCE_UNKNOWN, LAUNCH_DISTANCE_LOCAL, LAUNCH_DISTANCE_NODE,
		LAUNCH_DISTANCE_SOCKET, LAUNCH_DISTANCE_OTHER};

	for (size_t turn = 0; turn < sizeof(turns) / sizeof(*turns); turn++) {
		for (uint32_t rank = 0; rank < figure->ranks; rank++) {
			uint64_t set = cli_place_gpus(figure->place, rank);

			for (; set; set &= set - 1) {
				uint32_t gpu = (uint32_t)__builtin_ctzll(set);

				if (cli_place_distance(figure->place, rank, gpu) ==
				    turns[turn])
					draw_line(figure, panel, node, rank, gpu,
						  turns[turn]);
			}
		}
	}
}

/* Two lines of text in a chip, as large as they fit; SMALL only if it does. */
static void label_chip(struct figure *figure, const struct chip *chip, double top,
		       double height, const char *colour, const char *quiet,
		       const char *text, const char *bare, const char *small)
{
	double size = smaller(16 * figure->scale, height * 0.42);
	bool two = small[0] && fits(small, size * 0.72, chip->width - 8);

	if (!fits(text, size, chip->width - 6))
		text = bare;
	while (size > 6 && !fits(text, size, chip->width - 4))
		size--;
	put_line(figure, chip->x,
		 top + height * (two ? 0.46 : 0.5) + size * (two ? 0 : 0.35), size,
		 "middle", colour, "bold", WIDTH, text);
	if (two)
		put_line(figure, chip->x, top + height * 0.82, size * 0.72, "middle",
			 quiet, "normal", WIDTH, small);
}

static void draw_rank(struct figure *figure, const struct panel *panel, uint64_t node,
		      uint32_t rank)
{
	const struct cli_place *place = figure->place;
	const struct chip *chip = &figure->rank[rank];
	uint64_t set = cli_place_gpus(place, rank);
	uint64_t number = cli_place_rank(place, node, rank);
	double top = rank_top(figure, panel, rank);
	char text[48], bare[24], cpus[256] = "", few[64] = "";

	snprintf(text, sizeof(text), "rank %" PRIu64, number);
	snprintf(bare, sizeof(bare), "%" PRIu64, number);
	if (place->masks) {
		const struct launch_cpuset *mask =
			&place->masks[rank / workers_per_task(figure)];

		launch_cpuset_text(mask, cpus, sizeof(cpus));
		snprintf(few, sizeof(few), "%" PRIu32 " CPUs", launch_cpuset_count(mask));
		if (workers_per_task(figure) > 1)
			few[0] = '\0';
	}
	put(figure,
	    "<g class=\"rank\" id=\"rank-%" PRIu64 "\"><title>rank %" PRIu64
	    ", local rank %" PRIu32,
	    number, number, rank);
	if (cpus[0])
		put(figure, ", CPUs %s", cpus);
	for (; set; set &= set - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(set);

		put(figure, ", GPU %s (%s)", place->gpus.gpu[gpu].name,
		    launch_distance_name(cli_place_distance(place, rank, gpu)));
	}
	put(figure, "</title>\n");
	put_box(figure, chip->x - chip->width / 2, top, chip->width, panel->chip, 9,
		"#dbeafe", "#3b6fb6");
	if (figure->lists)
		snprintf(few, sizeof(few), "%.60s", cpus);
	label_chip(figure, chip, top, panel->chip, "#12325e", "#3a5a86", text, bare, few);
	put(figure, "</g>\n");
}

static void draw_gpu(struct figure *figure, const struct panel *panel, uint32_t gpu)
{
	const struct cli_place *place = figure->place;
	const struct chip *chip = &figure->gpu[gpu];
	double top = gpu_top(figure, panel, gpu);
	bool step = gpu < place->gpus.count;
	const char *model = "";
	char text[48], bare[24];

	snprintf(bare, sizeof(bare), "%.20s", step ? place->gpus.gpu[gpu].name : "");
	if (!step)
		snprintf(bare, sizeof(bare), "%" PRIu32, place->machine->gpus[gpu].index);
	snprintf(text, sizeof(text), "GPU %s", bare);
	if (place->machine && gpu < place->machine->gpus_count &&
	    place->machine->gpus[gpu].model)
		model = place->machine->gpus[gpu].model;
	put(figure, "<g class=\"gpu\"><title>GPU %s", bare);
	if (model[0]) {
		put(figure, ", ");
		put_text(figure, model, 80);
	}
	put(figure, "%s</title>\n",
	    !step         ? ", not asked for by the job"
	    : chip->lines ? ""
			  : ", no rank computes on it");
	if (chip->lines)
		put_box(figure, chip->x - chip->width / 2, top, chip->width, panel->chip,
			6, "#27364b", "#27364b");
	else
		put(figure,
		    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		    "rx=\"6.0\" fill=\"#f8fafc\" stroke=\"#94a3b8\" "
		    "stroke-dasharray=\"5 4\"/>\n",
		    chip->x - chip->width / 2, top, chip->width, panel->chip);
	label_chip(figure, chip, top, panel->chip, chip->lines ? "#ffffff" : QUIET,
		   chip->lines ? "#c6d3e4" : QUIET, text, bare,
		   chip->lines ? model
		   : step      ? "idle"
			       : "not asked for");
	put(figure, "</g>\n");
}

static void draw_strip(struct figure *figure, const struct panel *panel)
{
	double height = panel->chip + 30 * figure->scale;

	if (!figure->strip)
		return;
	put(figure,
	    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10.0\" "
	    "fill=\"#ffffff\" stroke=\"#94a3b8\" stroke-dasharray=\"6 5\"/>\n",
	    MARGIN + PADDING, panel->strip, WIDTH - 2 * MARGIN - 2 * PADDING, height);
	put_line(figure, MARGIN + PADDING + 12, panel->strip + height - 7 * figure->scale,
		 12.5 * figure->scale, "start", QUIET, "normal", WIDTH,
		 "GPUs that the system places near no NUMA node");
}

static void draw_node(struct figure *figure, uint64_t node, double top, double height)
{
	const struct cli_place *place = figure->place;
	const struct panel panel = measure(figure, top, height);
	uint64_t first = cli_place_rank(place, node, 0);
	uint64_t last = cli_place_rank(place, node, place->workers - 1);
	char text[160];

	put(figure, "<g class=\"node\" id=\"node-%" PRIu64 "\">\n", node);
	put_box(figure, MARGIN, top, WIDTH - 2 * MARGIN, height, 14, "#f8fafc", BORDER);
	snprintf(text, sizeof(text), "node%" PRIu64, node);
	put_line(figure, MARGIN + PADDING + 4, top + 26, 20, "start", INK, "bold", 300,
		 text);
	if (place->workers == 1)
		snprintf(text, sizeof(text), "rank %" PRIu64, first);
	else
		snprintf(text, sizeof(text), "ranks %" PRIu64 " to %" PRIu64 "%s%s",
			 first, last,
			 last - first == place->workers - 1 ? "" : ", not all between",
			 figure->ranks < place->workers ? ", of which the first are shown"
							: "");
	put_line(figure, WIDTH - MARGIN - PADDING - 4, top + 26, 16, "end", QUIET,
		 "normal", 900, text);
	draw_sockets(figure, &panel);
	draw_columns(figure, &panel);
	draw_strip(figure, &panel);
	draw_groups(figure, &panel);
	draw_lines(figure, &panel, node);
	for (uint32_t rank = 0; rank < figure->ranks; rank++)
		draw_rank(figure, &panel, node, rank);
	for (uint32_t gpu = 0; gpu < figure->gpus_count; gpu++)
		draw_gpu(figure, &panel, gpu);
	put(figure, "</g>\n");
}

static void draw_nodes(struct figure *figure)
{
	uint64_t nodes = plan_value(figure->plan, PLAN_NODES);
	uint64_t ranks = figure->place->workers;
	double gap = nodes > 2 ? 52 : 22, height;
	char text[160];

	if (nodes == 1) {
		draw_node(figure, 0, TOP + 24, BOTTOM - TOP - 84);
		return;
	}
	height = (BOTTOM - TOP - gap) / 2;
	draw_node(figure, 0, TOP, height);
	if (nodes > 2) {
		int used = snprintf(text, sizeof(text),
				    "\xe2\x8b\xae   %" PRIu64 " more node%s alike",
				    nodes - 2, nodes == 3 ? "" : "s");

		/* Node by node, they are all that lie between. */
		if (cli_place_rank(figure->place, 1, 0) == ranks)
			snprintf(text + used, sizeof(text) - (size_t)used,
				 ", ranks %" PRIu64 " to %" PRIu64, ranks,
				 (nodes - 1) * ranks - 1);
		put_line(figure, WIDTH / 2, TOP + height + gap / 2 + 6, 18, "middle",
			 QUIET, "normal", WIDTH, text);
	}
	draw_node(figure, nodes - 1, TOP + height + gap, height);
}

static void draw_legend(struct figure *figure)
{
	double x = MARGIN, y = 866;

	for (int distance = 0; distance <= LAUNCH_DISTANCE_UNKNOWN; distance++) {
		const struct look *look = &looks[distance];
		const char *text;

		if (!figure->seen[distance] || (distance == LAUNCH_DISTANCE_NODE &&
						figure->seen[LAUNCH_DISTANCE_LOCAL]))
			continue;
		put(figure,
		    "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"%.1f\" "
		    "stroke-dasharray=\"%s\"/>\n",
		    x, y - 6, x + 56, look->colour, look->width, look->dash);
		text = distance == LAUNCH_DISTANCE_UNKNOWN &&
				       cli_place_flat(figure->place)
			       ? "all on one NUMA node"
			       : look->text;
		put_line(figure, x + 68, y, 18, "start", INK, "normal", WIDTH, text);
		x += 68 + (double)strlen(text) * 18 * CHARACTER + 24;
	}
	put_line(figure, WIDTH - MARGIN, y, 15, "end", QUIET, "normal", WIDTH,
		 "srank explain --svg");
}

/* "2 nodes x 8 tasks = 16 ranks", with a cross for the x. */
static void make_sentence(const struct figure *figure, char *text, size_t size)
{
	char plain[256];
	const char *at = plain, *cross;
	size_t used = 0;

	plan_sentence(figure->plan, plain, sizeof(plain));
	for (; (cross = strstr(at, " x ")); at = cross + 3)
		used += (size_t)snprintf(text + used, size - used, "%.*s \xc3\x97 ",
					 (int)(cross - at), at);
	snprintf(text + used, size - used, "%s", at);
}

static void draw_title(struct figure *figure)
{
	const struct cli_place *place = figure->place;
	const char *name = figure->spec->name.given ? figure->spec->name.text : NULL;
	char sentence[400], machine[CLI_PLACE_TEXT_MAX], summary[CLI_PLACE_TEXT_MAX];
	char text[2 * CLI_PLACE_TEXT_MAX];

	make_sentence(figure, sentence, sizeof(sentence));
	cli_place_summary(place, summary, sizeof(summary));
	put(figure, "<title id=\"title\">");
	if (name) {
		put_text(figure, name, 60);
		put(figure, ": ");
	}
	put(figure, "%s</title>\n<desc id=\"desc\">", sentence);
	put_text(figure, summary[0] ? summary : "The ranks of a job and their GPUs",
		 UINT32_MAX);
	put(figure, ".</desc>\n<rect width=\"1600\" height=\"900\" fill=\"#ffffff\"/>\n");
	put(figure,
	    "<text x=\"%.1f\" y=\"68\" font-size=\"36\" font-weight=\"bold\" "
	    "fill=\"%s\">",
	    MARGIN, INK);
	if (name) {
		put_text(figure, name, 32);
		put(figure, ": ");
	}
	put(figure, "%s</text>\n", sentence);
	snprintf(text, sizeof(text), "launcher %s, SRANK=%s",
		 figure->plan->launcher->name, figure->plan->srank);
	if (place->machine) {
		cli_place_machine(place, machine, sizeof(machine));
		snprintf(text, sizeof(text), "%s \xc2\xb7 %s \xc2\xb7 CPUs by %s",
			 figure->plan->launcher->name, machine, place->deal);
	}
	put_line(figure, MARGIN, 104, 20, "start", QUIET, "normal", WIDTH - 2 * MARGIN,
		 text);
	snprintf(text, sizeof(text), "%s: %s",
		 plan_value(figure->plan, PLAN_NODES) == 1 ? "The node" : "Each node",
		 summary);
	if (!summary[0])
		snprintf(text, sizeof(text), "%s",
			 !place->gpus.count ? "No GPU is asked for"
			 : place->machine   ? "Slurm binds the GPUs"
					    : "Nothing is known of the nodes yet: GPUs "
					      "in Slurm's order");
	put_line(figure, MARGIN, 140, 20, "start", INK, "bold", WIDTH - 2 * MARGIN, text);
}

static int lay_out(struct figure *figure)
{
	int rc = list_columns(figure);

	if (rc == 0)
		rc = list_groups(figure);
	if (rc < 0)
		return rc;
	count_units(figure);
	choose_lanes(figure);
	place_columns(figure);
	place_chips(figure);
	choose_labels(figure);
	return 0;
}

int figure_draw(FILE *out, const struct spec *spec, const struct plan *plan,
		const struct cli_place *place)
{
	struct figure figure = {
		.out = out, .spec = spec, .plan = plan, .place = place, .scale = 1};
	int rc;

	figure.ranks =
		place->workers < FIGURE_RANKS_MAX ? place->workers : FIGURE_RANKS_MAX;
	figure.gpus_count = place->gpus.count;
	if (place->machine && place->machine->gpus_count > figure.gpus_count)
		figure.gpus_count = place->machine->gpus_count;
	if (plan_value(plan, PLAN_NODES) == 1)
		figure.scale = 1.4;
	rc = lay_out(&figure);
	if (rc == 0) {
		put(&figure,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1600\" "
		    "height=\"900\" viewBox=\"0 0 1600 900\" role=\"img\" "
		    "aria-labelledby=\"title desc\" font-family=\"Helvetica, Arial, "
		    "'Liberation Sans', 'DejaVu Sans', sans-serif\">\n");
		draw_title(&figure);
		draw_nodes(&figure);
		draw_legend(&figure);
		put(&figure, "</svg>\n");
	}
	free(figure.columns);
	free(figure.groups);
	return rc;
}
