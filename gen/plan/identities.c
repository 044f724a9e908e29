/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of a job: every identity is a product of two quantities, in one table.
 * Two known ones give the third; three known ones must agree. `srank check` will hold
 * scripts against the same table.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum holds {
	ALWAYS,
	WORKER_SHAPE,
	WITH_GPUS,
};

static const struct identity {
	enum plan_quantity product, left, right;
	enum holds holds;
} identities[] = {
	{PLAN_NTASKS, PLAN_NODES, PLAN_NTASKS_PER_NODE, ALWAYS},
	{PLAN_GPUS, PLAN_NODES, PLAN_GPUS_PER_NODE, ALWAYS},
	{PLAN_NTASKS_PER_NODE, PLAN_GPUS_PER_NODE, PLAN_TASKS_PER_GPU, WORKER_SHAPE},
	{PLAN_NTASKS, PLAN_GPUS, PLAN_TASKS_PER_GPU, WORKER_SHAPE},
	{PLAN_WORKERS_PER_NODE, PLAN_GPUS_PER_NODE, PLAN_TASKS_PER_GPU, WITH_GPUS},
	{PLAN_WORLD_SIZE, PLAN_NODES, PLAN_WORKERS_PER_NODE, ALWAYS},
	{PLAN_CPUS_PER_NODE, PLAN_NTASKS_PER_NODE, PLAN_CPUS_PER_TASK, ALWAYS},
	{PLAN_CPUS_PER_NODE, PLAN_GPUS_PER_NODE, PLAN_CPUS_PER_GPU, WITH_GPUS},
	{PLAN_CPUS_PER_GPU, PLAN_TASKS_PER_GPU, PLAN_CPUS_PER_TASK, WORKER_SHAPE},
	{PLAN_GPUS_PER_NODE, PLAN_NTASKS_PER_NODE, PLAN_GPUS_PER_TASK, ALWAYS},
};

/*
 * OPTIONAL: nothing needs the quantity, so it may stay unknown where it is no whole
 * number. MAY_BE_ZERO: a factor that is none makes sense. INTERNAL: no key of the spec,
 * so that users are told of it by what it is computed from.
 */
static const struct {
	const char *name;
	bool optional, may_be_zero, internal;
} quantities[PLAN_QUANTITIES] = {
	[PLAN_NODES] = {"nodes"},
	[PLAN_GPUS] = {"gpus", .may_be_zero = true},
	[PLAN_GPUS_PER_NODE] = {"gpus_per_node", .may_be_zero = true},
	[PLAN_TASKS_PER_GPU] = {"tasks_per_gpu"},
	[PLAN_NTASKS] = {"ntasks"},
	[PLAN_NTASKS_PER_NODE] = {"ntasks_per_node"},
	[PLAN_WORKERS_PER_NODE] = {"workers_per_node", .internal = true},
	[PLAN_WORLD_SIZE] = {"world_size", .internal = true},
	[PLAN_CPUS_PER_TASK] = {"cpus_per_task"},
	[PLAN_CPUS_PER_GPU] = {"cpus_per_gpu", .optional = true, .may_be_zero = true},
	[PLAN_CPUS_PER_NODE] = {"cpus_per_node", .internal = true},
	[PLAN_GPUS_PER_TASK] = {"gpus_per_task", .optional = true, .may_be_zero = true,
				.internal = true},
};

const char *plan_quantity_name(enum plan_quantity quantity)
{
	return quantities[quantity].name;
}

void plan_set(struct plan_work *work, enum plan_quantity quantity, uint64_t value,
	      enum plan_origin origin, const char *reason)
{
	struct plan_number *number = &work->plan->number[quantity];

	number->origin = origin;
	number->value = value;
	number->reason = reason;
	work->roots[quantity] = 1u << quantity;
	work->computed &= ~(1u << quantity);
}

static bool applies(const struct plan_work *work, const struct identity *identity)
{
	switch (identity->holds) {
	case WORKER_SHAPE:
		return work->gpus && work->plan->shape == LAUNCH_WORKER;
	case WITH_GPUS:
		return work->gpus;
	default:
		return true;
	}
}

/* "nodes 2" or, unknown, "nodes". */
static void describe(const struct plan *plan, enum plan_quantity quantity, char *text,
		     size_t size)
{
	if (plan_known(plan, quantity))
		snprintf(text, size, "%s %llu", plan_quantity_name(quantity),
			 (unsigned long long)plan_value(plan, quantity));
	else
		snprintf(text, size, "%s", plan_quantity_name(quantity));
}

static uint32_t roots_of(const struct plan_work *work, const struct identity *identity)
{
	return work->roots[identity->product] | work->roots[identity->left] |
	       work->roots[identity->right];
}

/* The given and built-in numbers behind IDENTITY, as "nodes 2 (line 5), ...". */
static void describe_roots(const struct plan_work *work, const struct identity *identity,
			   char *text, size_t size)
{
	const struct plan *plan = work->plan;
	uint32_t roots = roots_of(work, identity);
	size_t at = 0;

	text[0] = '\0';
	for (int q = 0; q < PLAN_QUANTITIES; q++) {
		const struct plan_number *number = &plan->number[q];
		char one[64], where[96];
		int length;

		if (!(roots & 1u << q))
			continue;
		describe(plan, q, one, sizeof(one));
		if (number->origin != PLAN_GIVEN)
			snprintf(where, sizeof(where), "%s", number->reason);
		else if (strcmp(number->place.file, "-s") == 0)
			snprintf(where, sizeof(where), "-s");
		else
			snprintf(where, sizeof(where), "line %u", number->place.line);
		length = snprintf(text + at, size - at, "%s%s (%s)", at ? ", " : "", one,
				  where);
		if (length < 0 || (size_t)length >= size - at)
			return;
		at += (size_t)length;
	}
}

static bool is_later(const struct diag_place *a, const struct diag_place *b)
{
	bool a_override = strcmp(a->file, "-s") == 0;
	bool b_override = strcmp(b->file, "-s") == 0;

	if (a_override != b_override)
		return a_override;
	return a->line != b->line ? a->line > b->line : a->column > b->column;
}

const struct diag_place *plan_latest_place(const struct plan_work *work, uint32_t roots)
{
	const struct diag_place *latest = NULL;

	for (int q = 0; q < PLAN_QUANTITIES; q++) {
		const struct plan_number *number = &work->plan->number[q];

		if (!(roots & 1u << q) || number->origin != PLAN_GIVEN)
			continue;
		if (!latest || is_later(&number->place, latest))
			latest = &number->place;
	}
	return latest;
}

/* A default among ROOTS, other than that there is no GPU; PLAN_QUANTITIES: none. */
static enum plan_quantity default_root(const struct plan_work *work, uint32_t roots)
{
	int q = 0;

	while (q < PLAN_QUANTITIES &&
	       (!(roots & 1u << q) || plan_value(work->plan, q) == 0 ||
		work->plan->number[q].origin != PLAN_DEFAULT))
		q++;
	return q;
}

/* As describe(), but one that is no key by the numbers that it is computed from. */
static void describe_keys(const struct plan_work *work, enum plan_quantity quantity,
			  bool factor, char *text, size_t size)
{
	const char *reason = work->plan->number[quantity].reason;

	if (!quantities[quantity].internal || !(work->computed & 1u << quantity))
		describe(work->plan, quantity, text, size);
	else
		snprintf(text, size, factor ? "(%s)" : "%s", reason);
}

static int fails(struct plan_work *work, const struct identity *identity, const char *how,
		 const char *end)
{
	const enum plan_quantity parts[] = {identity->product, identity->left,
					    identity->right};
	const uint32_t roots = roots_of(work, identity);
	const struct diag_place *place = plan_latest_place(work, roots);
	struct plan_failure *failure;
	char texts[3][160], from[512];
	bool inferred = false;

	work->failed |= 1u << (identity - identities);
	if (work->failures_count == PLAN_FAILURES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < 3; i++) {
		describe_keys(work, parts[i], i > 0, texts[i], sizeof(texts[i]));
		inferred |= work->plan->number[parts[i]].origin == PLAN_INFERRED;
	}
	describe_roots(work, identity, from, sizeof(from));
	failure = &work->failures[work->failures_count];
	failure->roots = roots;
	failure->guess = default_root(work, roots);
	failure->text = spec_arena_format(&work->plan->arena, "%s %s %s x %s%s: %s%s",
					  texts[0], how, texts[1], texts[2], end,
					  inferred ? "it follows from " : "", from);
	if (place)
		failure->place = *place;
	if (!failure->text)
		return -ENOMEM;
	work->failures_count++;
	return -EINVAL;
}

/*
 * True when a part of the numbers behind FAILURE contradict each other already, or the
 * same ones in an identity before: with wrong numbers behind it another one can only fail
 * as well.
 */
static bool is_echo(const struct plan_work *work, const struct plan_failure *failure)
{
	for (size_t i = 0; i < work->failures_count; i++) {
		const struct plan_failure *other = &work->failures[i];

		if ((failure->roots & other->roots) == other->roots &&
		    (other->roots != failure->roots || other < failure))
			return true;
	}
	return false;
}

static void tell_failures(const struct plan_work *work)
{
	for (size_t i = 0; i < work->failures_count; i++) {
		const struct plan_failure *failure = &work->failures[i];
		const bool guessed = failure->guess != PLAN_QUANTITIES;

		if (is_echo(work, failure))
			continue;
		/* Not the user's contradiction when only a default does not fit what is
		 * given. */
		diag_add(work->diag, DIAG_ERROR,
			 guessed ? "plan-missing" : "plan-identity", &failure->place,
			 "%s", failure->text);
		if (guessed)
			diag_fix(work->diag, "give %s; its default does not fit the rest",
				 plan_quantity_name(failure->guess));
	}
}

static int infer(struct plan_work *work, const struct identity *identity,
		 enum plan_quantity quantity, uint64_t value)
{
	struct plan *plan = work->plan;
	uint32_t roots = roots_of(work, identity);
	char first[64], second[64];
	const char *sign = quantity == identity->product ? "x" : "/";
	const char *reason;

	describe(plan, quantity == identity->product ? identity->left : identity->product,
		 first, sizeof(first));
	describe(plan, quantity == identity->right ? identity->left : identity->right,
		 second, sizeof(second));
	reason = spec_arena_format(&plan->arena, "%s %s %s", first, sign, second);
	if (!reason)
		return -ENOMEM;
	plan_set(work, quantity, value, PLAN_INFERRED, reason);
	work->roots[quantity] = roots;
	work->computed |= 1u << quantity;
	return 1;
}

/* Factor QUANTITY of the product, KNOWN being the other one. */
static int infer_factor(struct plan_work *work, const struct identity *identity,
			enum plan_quantity quantity, uint64_t known)
{
	uint64_t product = plan_value(work->plan, identity->product);

	/* 0 = 0 x anything says nothing; a product of zero factors is for the check
	 * below. */
	if (known == 0)
		return product == 0 ? 0 : fails(work, identity, "!=", "");
	if (product % known == 0 && (product > 0 || quantities[quantity].may_be_zero))
		return infer(work, identity, quantity, product / known);
	if (quantities[quantity].optional)
		return 0;
	return fails(work, identity, "is not", ", whole numbers above zero");
}

/* 1: something new is known; 0: nothing. */
static int apply(struct plan_work *work, const struct identity *identity)
{
	struct plan *plan = work->plan;
	bool product = plan_known(plan, identity->product);
	bool left = plan_known(plan, identity->left);
	bool right = plan_known(plan, identity->right);
	/* Both are below 2^32, so the product of the two is exact. */
	uint64_t value =
		plan_value(plan, identity->left) * plan_value(plan, identity->right);

	if (left && right) {
		if (value > SPEC_COUNT_MAX)
			return fails(work, identity, "=",
				     " is more than Slurm can count");
		if (!product)
			return infer(work, identity, identity->product, value);
		if (plan_value(plan, identity->product) == value)
			return 0;
		return fails(work, identity, "!=", "");
	}
	if (product && left)
		return infer_factor(work, identity, identity->right,
				    plan_value(plan, identity->left));
	if (product && right)
		return infer_factor(work, identity, identity->left,
				    plan_value(plan, identity->right));
	return 0;
}

int plan_propagate(struct plan_work *work)
{
	bool again;

	do {
		again = false;
		for (size_t i = 0; i < sizeof(identities) / sizeof(identities[0]); i++) {
			int rc = 0;

			if (applies(work, &identities[i]) && !(work->failed & 1u << i))
				rc = apply(work, &identities[i]);
			if (rc < 0 && rc != -EINVAL)
				return rc;
			again |= rc == 1;
		}
	} while (again);
	tell_failures(work);
	return work->failed ? -EINVAL : 0;
}

int plan_list_identities(struct plan_work *work)
{
	struct plan *plan = work->plan;

	plan->checked = spec_arena_alloc(&plan->arena, sizeof(identities) /
							       sizeof(identities[0]) *
							       sizeof(*plan->checked));
	if (!plan->checked)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(identities) / sizeof(identities[0]); i++) {
		const struct identity *identity = &identities[i];
		char product[64], left[64], right[64];
		const char *text;

		if (!applies(work, identity) || !plan_known(plan, identity->product) ||
		    !plan_known(plan, identity->left) ||
		    !plan_known(plan, identity->right))
			continue;
		describe(plan, identity->product, product, sizeof(product));
		describe(plan, identity->left, left, sizeof(left));
		describe(plan, identity->right, right, sizeof(right));
		text = spec_arena_format(&plan->arena, "%s = %s x %s", product, left,
					 right);
		if (!text)
			return -ENOMEM;
		plan->checked[plan->checked_count++] = text;
	}
	return 0;
}
