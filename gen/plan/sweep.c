/* SPDX-License-Identifier: MIT */
/* The points of a sweep, and the spec that each of them is; see sweep.h. */
#include "gen/plan/sweep.h"

#include "gen/spec/arena.h"
#include "gen/spec/read.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Axes among which a misspelt one is looked for. */
#define AXES_NAMED 32

size_t plan_sweep_axes(const struct spec *spec)
{
	return spec->sweep.matrix.count + spec->sweep.zip.count;
}

const struct spec_axis *plan_sweep_axis(const struct spec *spec, size_t i)
{
	const struct spec_axis *matrix = spec->sweep.matrix.entries;
	const struct spec_axis *zip = spec->sweep.zip.entries;

	return i < spec->sweep.matrix.count ? &matrix[i]
					    : &zip[i - spec->sweep.matrix.count];
}

/* Rows of the zip; 1 without one. */
static uint64_t zip_rows(const struct spec *spec)
{
	const struct spec_axis *zip = spec->sweep.zip.entries;

	return spec->sweep.zip.count ? zip[0].values.count : 1;
}

uint64_t plan_sweep_points(const struct spec *spec)
{
	uint64_t points = zip_rows(spec);

	if (plan_sweep_axes(spec) == 0)
		return 0;
	for (size_t i = 0; i < spec->sweep.matrix.count; i++) {
		const struct spec_axis *axis = plan_sweep_axis(spec, i);

		points *= axis->values.count;
		/* Enough for plan_sweep_check() to tell, and far from an overflow. */
		if (points > PLAN_SWEEP_MAX)
			return PLAN_SWEEP_MAX + 1;
	}
	return points;
}

uint64_t plan_sweep_stride(const struct spec *spec, size_t i)
{
	uint64_t stride = 1;

	/* The zip turns fastest, then the last axis of the matrix. */
	if (i >= spec->sweep.matrix.count)
		return stride;
	stride = zip_rows(spec);
	for (size_t j = i + 1; j < spec->sweep.matrix.count; j++)
		stride *= plan_sweep_axis(spec, j)->values.count;
	return stride;
}

size_t plan_sweep_value(const struct spec *spec, size_t i, uint64_t point)
{
	return point / plan_sweep_stride(spec, i) %
	       plan_sweep_axis(spec, i)->values.count;
}

bool plan_sweep_is_first(const struct spec *spec, uint64_t point)
{
	for (size_t i = 0; i < plan_sweep_axes(spec); i++) {
		const uint64_t stride = plan_sweep_stride(spec, i);

		if (point % stride == 0 &&
		    point / stride < plan_sweep_axis(spec, i)->values.count)
			return true;
	}
	return false;
}

static bool is_path(const struct spec_axis *axis)
{
	return strchr(axis->name.text, '.');
}

static int check_zip(const struct spec *spec, struct diag *diag)
{
	const struct spec_axis *zip = spec->sweep.zip.entries;
	int rc = 0;

	for (size_t i = 1; i < spec->sweep.zip.count; i++) {
		if (zip[i].values.count == zip[0].values.count)
			continue;
		diag_add(diag, DIAG_ERROR, "plan-sweep", &zip[i].name.place,
			 "zip: %.60s has %zu value%s, but %.60s has %zu",
			 zip[i].name.text, zip[i].values.count,
			 zip[i].values.count == 1 ? "" : "s", zip[0].name.text,
			 zip[0].values.count);
		rc = -EINVAL;
	}
	return rc;
}

static int check_axis(const struct spec *spec, size_t i, struct diag *diag)
{
	const struct spec_axis *axis = plan_sweep_axis(spec, i);
	const bool files = spec->sweep.as.number == SPEC_SWEEP_FILES;
	int rc = 0;

	for (size_t j = 0; j < i; j++) {
		const struct spec_axis *other = plan_sweep_axis(spec, j);

		if (strcmp(axis->name.text, other->name.text) != 0)
			continue;
		diag_add(diag, DIAG_ERROR, "plan-sweep", &axis->name.place,
			 "%.60s is in matrix and in zip", axis->name.text);
		rc = -EINVAL;
	}
	for (size_t j = 0; !is_path(axis) && j < spec->env.count; j++) {
		if (strcmp(axis->name.text, spec->env.items[j].name) != 0)
			continue;
		diag_add(diag, DIAG_ERROR, "plan-sweep", &axis->name.place,
			 "%.60s is an axis of the sweep and a variable of env",
			 axis->name.text);
		rc = -EINVAL;
	}
	if (is_path(axis) && spec->het.count) {
		diag_add(diag, DIAG_ERROR, "plan-sweep", &axis->name.place,
			 "%.60s is a key of the spec, and each component of a "
			 "heterogeneous job has its own",
			 axis->name.text);
		rc = -EINVAL;
	}
	if (is_path(axis) && !files) {
		diag_add(
			diag, DIAG_ERROR, "plan-sweep", &axis->name.place,
			"%.60s is a key of the spec, which is the same in all jobs of an "
			"array",
			axis->name.text);
		diag_fix(diag, "add sweep.as: files");
		rc = -EINVAL;
	}
	return rc;
}

/* `{lrr}` where the axis is called lr. */
static void warn_placeholders(const struct spec *spec, const char *text,
			      const struct diag_place *place, struct diag *diag)
{
	const char *names[AXES_NAMED];
	size_t count = 0;
	char name[64];

	for (; count < plan_sweep_axes(spec) && count < AXES_NAMED; count++)
		names[count] = plan_sweep_axis(spec, count)->name.text;
	for (text = text ? strchr(text, '{') : NULL; text; text = strchr(text + 1, '{')) {
		const size_t length = strcspn(text + 1, "{}");
		const char *nearest;
		bool axis = false;

		if (text[1 + length] != '}' || !length || length >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, text + 1);
		for (size_t i = 0; i < plan_sweep_axes(spec); i++)
			axis |= strcmp(plan_sweep_axis(spec, i)->name.text, name) == 0;
		nearest =
			axis ? NULL : launch_nearest(name, names, count, sizeof(*names));
		if (!nearest)
			continue;
		diag_add(diag, DIAG_WARNING, "plan-sweep", place,
			 "{%s} is no axis of the sweep, so it stays as it is; did you "
			 "mean {%s}?",
			 name, nearest);
	}
}

/* The axis whose placeholder `{NAME}` stands at TEXT; NULL: none. */
static const struct spec_axis *placeholder(const struct spec *spec, const char *text,
					   size_t *length)
{
	for (size_t i = 0; *text == '{' && i < plan_sweep_axes(spec); i++) {
		const struct spec_axis *axis = plan_sweep_axis(spec, i);
		const size_t size = strlen(axis->name.text);

		if (strncmp(text + 1, axis->name.text, size) == 0 &&
		    text[1 + size] == '}') {
			*length = size + 2;
			return axis;
		}
	}
	return NULL;
}

bool plan_sweep_part(const struct spec *spec, const char *text, size_t *at,
		     const char **part, size_t *length, const struct spec_axis **axis)
{
	size_t size;

	*part = text + *at;
	*axis = placeholder(spec, *part, length);
	if (!*axis) {
		*length = 0;
		while (text[*at + *length] != '\0' &&
		       !placeholder(spec, text + *at + *length, &size))
			++*length;
	}
	*at += *length;
	return *length > 0;
}

/* One point being made of a spec, for the spec itself or one of its components. */
struct expansion {
	const struct spec *spec;
	struct spec *to;
	struct spec_arena **arena;
	uint64_t point;
};

static const char *value_of(const struct expansion *expansion,
			    const struct spec_axis *axis)
{
	for (size_t i = 0;; i++) {
		if (plan_sweep_axis(expansion->spec, i) == axis)
			return axis->values
				.items[plan_sweep_value(expansion->spec, i,
							expansion->point)]
				.text;
	}
}

/* TEXT with its placeholders replaced; TEXT itself when there is none. */
static const char *expand(struct expansion *expansion, const char *text)
{
	const struct spec_axis *axis;
	const char *part, *result = NULL;
	size_t at = 0, length;

	if (!text || !strchr(text, '{'))
		return text;
	while (plan_sweep_part(expansion->spec, text, &at, &part, &length, &axis)) {
		if (axis) {
			part = value_of(expansion, axis);
			length = strlen(part);
		}
		result = spec_arena_format(expansion->arena, "%s%.*s",
					   result ? result : "", (int)length, part);
		if (!result)
			return NULL;
	}
	return result ? result : text;
}

static int expand_value(struct expansion *expansion, struct spec_value *value)
{
	struct spec_item *items;

	if (!value->given)
		return 0;
	value->text = expand(expansion, value->text);
	if (value->count == 0)
		return 0;
	items = spec_arena_alloc(expansion->arena,
				 (value->count + value->gone) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	memcpy(items, value->items, (value->count + value->gone) * sizeof(*items));
	for (size_t i = 0; i < value->count; i++) {
		items[i].text = expand(expansion, items[i].text);
		if (!items[i].text)
			return -ENOMEM;
	}
	value->items = items;
	return 0;
}

/*
 * Where `{name}` is a value. Shell code is not among them: there the variable is, and
 * braces mean something else.
 */
static const size_t expanded[] = {
	offsetof(struct spec, name),         offsetof(struct spec, run.script),
	offsetof(struct spec, run.command),  offsetof(struct spec, run.module),
	offsetof(struct spec, run.args),     offsetof(struct spec, run.workdir),
	offsetof(struct spec, mmdet.config), offsetof(struct spec, mmdet.work_dir),
	offsetof(struct spec, mmdet.resume), offsetof(struct spec, mmdet.cfg_options),
	offsetof(struct spec, env),          offsetof(struct spec, batch.output),
	offsetof(struct spec, batch.error),  offsetof(struct spec, batch.comment),
};

static int expand_values(struct expansion *expansion)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(expanded) / sizeof(expanded[0]) && rc == 0; i++)
		rc = expand_value(expansion,
				  (void *)((char *)expansion->to + expanded[i]));
	return rc;
}

/* Of a spec with a sweep, and of the whole of it: once, not for each point. */
static void warn_names(const struct spec *spec, struct diag *diag)
{
	for (size_t i = 0; i < sizeof(expanded) / sizeof(expanded[0]); i++) {
		const struct spec_value *value =
			(const void *)((const char *)spec + expanded[i]);

		if (value->given && value->count == 0)
			warn_placeholders(spec, value->text, &value->place, diag);
		for (size_t k = 0; k < value->count; k++)
			warn_placeholders(spec, value->items[k].text,
					  &value->items[k].place, diag);
	}
}

static int export_value(struct expansion *expansion, const struct spec_axis *axis,
			const char *value)
{
	struct spec_value *env = &expansion->to->env;
	struct spec_item *items =
		spec_arena_alloc(expansion->arena, (env->count + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	if (env->count)
		memcpy(items, env->items, env->count * sizeof(*items));
	items[env->count] = (struct spec_item){axis->name.text, value, axis->name.place};
	env->items = items;
	env->count++;
	env->gone = 0;
	env->given = true;
	return 0;
}

/* Placeholders and variables; keys are set before, for they may hold a placeholder. */
static int expand_spec(struct expansion *expansion)
{
	const struct spec *spec = expansion->spec;
	int rc = expand_values(expansion);

	for (size_t i = 0; i < plan_sweep_axes(spec) && rc == 0; i++) {
		const struct spec_axis *axis = plan_sweep_axis(spec, i);

		if (!is_path(axis))
			rc = export_value(expansion, axis, value_of(expansion, axis));
	}
	return rc;
}

/* The components are complete, so what they have from the spec is theirs by now. */
static int expand_components(const struct expansion *expansion)
{
	struct spec_table *het = &expansion->to->het;
	struct spec *components =
		spec_arena_alloc(expansion->arena, het->count * sizeof(*components));
	int rc = 0;

	if (!components)
		return -ENOMEM;
	memcpy(components, het->entries, het->count * sizeof(*components));
	het->entries = components;
	for (size_t i = 0; i < het->count && rc == 0; i++) {
		struct expansion part = *expansion;

		part.to = &components[i];
		rc = expand_spec(&part);
	}
	return rc;
}

int plan_sweep_apply(const struct spec *spec, uint64_t point, struct spec *point_spec,
		     struct diag *diag)
{
	struct expansion expansion = {.spec = spec,
				      .to = point_spec,
				      .arena = &point_spec->arena,
				      .point = point};
	int rc = 0;

	*point_spec = *spec;
	point_spec->arena = NULL;
	memset(&point_spec->sweep, 0, sizeof(point_spec->sweep));
	for (size_t i = 0; i < plan_sweep_axes(spec) && rc == 0; i++) {
		const struct spec_axis *axis = plan_sweep_axis(spec, i);

		if (is_path(axis))
			rc = spec_set(point_spec, axis->name.text,
				      value_of(&expansion, axis), &axis->name.place,
				      &axis->values.place, diag);
	}
	if (rc == 0)
		rc = expand_spec(&expansion);
	if (rc == 0 && point_spec->het.count)
		rc = expand_components(&expansion);
	return rc;
}

int plan_sweep_check(const struct spec *spec, struct diag *diag)
{
	const struct diag_place *place = spec->sweep.matrix.place.file
						 ? &spec->sweep.matrix.place
						 : &spec->sweep.zip.place;
	const struct spec_value *lone =
		spec->sweep.as.given ? &spec->sweep.as : &spec->sweep.max;
	int rc = check_zip(spec, diag);

	for (size_t i = 0; i < plan_sweep_axes(spec); i++) {
		if (check_axis(spec, i, diag) < 0)
			rc = -EINVAL;
	}
	if (plan_sweep_points(spec) > PLAN_SWEEP_MAX) {
		diag_add(diag, DIAG_ERROR, "plan-sweep", place,
			 "the sweep has more than %d jobs", PLAN_SWEEP_MAX);
		rc = -EINVAL;
	}
	if (plan_sweep_axes(spec) == 0 && (lone->given || place->file)) {
		diag_add(diag, DIAG_ERROR, "plan-sweep",
			 place->file ? place : &lone->place,
			 "the sweep has no values: %s",
			 place->file ? "no name is in it"
				     : "neither matrix nor zip is given");
		diag_fix(diag, "sweep: {matrix: {lr: [0.1, 0.01]}}, or no sweep");
		rc = -EINVAL;
	}
	if (spec->sweep.max.given && spec->sweep.as.number == SPEC_SWEEP_FILES) {
		diag_add(diag, DIAG_ERROR, "plan-sweep", &spec->sweep.max.place,
			 "sweep.max is for an array; jobs of scripts of their own run "
			 "when they can");
		diag_fix(diag, "remove max (-s sweep.max=null), or sweep.as: files");
		rc = -EINVAL;
	}
	if (plan_sweep_axes(spec) > 0)
		warn_names(spec, diag);
	return rc;
}
