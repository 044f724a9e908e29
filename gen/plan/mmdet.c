/* SPDX-License-Identifier: MIT */
/*
 * MMDetection 3.x: the section `mmdet` as arguments of tools/train.py, and the samples of
 * a step against those that the config's learning rate is for.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* tools/train.py, run from the root of MMDetection's source tree. */
#define MMDET_SCRIPT "tools/train.py"

/*
 * The value of tools/train.py's --launcher: it reads RANK, LOCAL_RANK, WORLD_SIZE,
 * MASTER_ADDR and MASTER_PORT (mmengine/dist/utils.py), which the plugin gives to every
 * rank in the worker shape, and torchrun and accelerate to theirs in the node shape.
 */
#define MMDET_LAUNCHER "pytorch"

/* The keys of the config that the keys of `mmdet` stand for. */
#define KEY_BASE       "auto_scale_lr.base_batch_size"
#define KEY_BATCH      "train_dataloader.batch_size"
#define KEY_WORKERS    "train_dataloader.num_workers"
#define KEY_PERSISTENT "train_dataloader.persistent_workers"
#define KEY_ACCUMULATE "optim_wrapper.accumulative_counts"

static const struct {
	size_t offset; /* in struct spec */
	const char *name, *key;
} settings[] = {
#define SETTING(member, key)                                      \
	{                                                         \
		offsetof(struct spec, mmdet.member), #member, key \
	}
	SETTING(base_batch, KEY_BASE),
	SETTING(batch_size, KEY_BATCH),
	SETTING(num_workers, KEY_WORKERS),
	SETTING(accumulate, KEY_ACCUMULATE),
	SETTING(seed, "randomness.seed"),
	SETTING(deterministic, "randomness.deterministic"),
	SETTING(timeout, "env_cfg.dist_cfg.timeout"),
#undef SETTING
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static const struct spec_value *setting(const struct spec *spec, size_t i)
{
	return (const void *)((const char *)spec + settings[i].offset);
}

/* The entry KEY of cfg_options; NULL: none. */
static const struct spec_item *find_option(const struct spec *spec, const char *key)
{
	const struct spec_value *options = &spec->mmdet.cfg_options;

	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->items[i].name, key) == 0)
			return &options->items[i];
	}
	return NULL;
}

static bool has_settings(const struct spec *spec)
{
	bool given = spec->mmdet.cfg_options.count > 0;

	for (size_t i = 0; i < SETTINGS; i++)
		given |= setting(spec, i)->given;
	return given;
}

static bool is_option(const char *word, const char *option)
{
	size_t length = strlen(option);

	return strncmp(word, option, length) == 0 &&
	       (word[length] == '\0' || word[length] == '=');
}

/* The text of a flag or text that means no: as if it was not given. */
static bool says_no(const struct spec_value *value)
{
	static const char *const words[] = {"false", "no", "off"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value->text, words[i]) == 0)
			return true;
	}
	return false;
}

static bool says_yes(const struct spec_value *value)
{
	static const char *const words[] = {"true", "yes", "on"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value->text, words[i]) == 0)
			return true;
	}
	return false;
}

/* Options in run.args that would silently win over ours: argparse takes the last. */
static int check_args(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct {
		const char *option;
		const char *key; /* of mmdet; NULL: the option is always ours */
		bool given;
	} ours[] = {
		{"--launcher", NULL, true},
		{"--work-dir", "work_dir", spec->mmdet.work_dir.given},
		{"--resume", "resume", spec->mmdet.resume.given},
		{"--cfg-options", "cfg_options", has_settings(spec)},
	};
	const struct spec_value *args = &spec->run.args;
	int rc = 0;

	for (size_t i = 0; i < args->count; i++) {
		for (size_t j = 0; j < sizeof(ours) / sizeof(ours[0]); j++) {
			if (!ours[j].given ||
			    !is_option(args->items[i].text, ours[j].option))
				continue;
			if (ours[j].key)
				diag_add(work->diag, DIAG_ERROR, "plan-run",
					 &args->items[i].place,
					 "%s stands in run.args and as mmdet.%s; remove "
					 "one",
					 ours[j].option, ours[j].key);
			else
				diag_add(
					work->diag, DIAG_ERROR, "plan-run",
					&args->items[i].place,
					"%s stands in run.args, but mmdet adds it to fit "
					"the launcher; remove it",
					ours[j].option);
			rc = -EINVAL;
		}
	}
	return rc;
}

/*
 * What DictAction of MMEngine (mmengine/config/config.py) would read otherwise: it takes
 * blanks out, and quotes off the ends; and asserts that brackets are balanced.
 */
static const char *option_fault(const char *text)
{
	const size_t length = strlen(text);
	int square = 0, round = 0;

	if (strpbrk(text, " \t\n"))
		return "has a blank, which MMEngine would take out";
	if (length && (strchr("'\"", text[0]) || strchr("'\"", text[length - 1])))
		return "begins or ends with a quote, which MMEngine would take off";
	for (; *text; text++) {
		square += (*text == '[') - (*text == ']');
		round += (*text == '(') - (*text == ')');
	}
	return square || round ? "has a bracket without its counterpart" : NULL;
}

/*
 * Keys that MMDetection 2.x had, or that advice on the web gives to MMEngine, which has
 * them not: the config then holds them, and nothing reads them. What is under
 * env_cfg.dist_cfg goes to init_process_group(), to which an unknown key is a TypeError
 * (mmengine/dist/utils.py, and MMDetection's guide on migrating configs).
 */
static const struct {
	const char *key, *instead;
	bool below; /* what stands under it has kept its name */
} foreign[] = {
	{"data.samples_per_gpu", "mmdet.batch_size"},
	{"data.workers_per_gpu", "mmdet.num_workers"},
	{"data", "train_dataloader, val_dataloader and test_dataloader"},
	{"fp16", "mmdet.amp"},
	{"optimizer", "optim_wrapper.optimizer", true},
	{"optimizer_config", "optim_wrapper.clip_grad"},
	{"lr_config", "param_scheduler"},
	{"runner", "train_cfg"},
	{"total_epochs", "train_cfg.max_epochs"},
	{"checkpoint_config", "default_hooks.checkpoint"},
	{"log_config", "default_hooks.logger"},
	{"evaluation", "val_evaluator and train_cfg.val_interval"},
	{"resume_from", "mmdet.resume"},
	{"seed", "mmdet.seed"},
	{"cudnn_benchmark", "env_cfg.cudnn_benchmark"},
	{"dist_params", "env_cfg.dist_cfg", true},
	{"optim_wrapper.grad_reduce", "nothing: DDP averages gradients"},
	{"env_cfg.dist_cfg.grad_reduce", "nothing: DDP averages gradients"},
	{"env_cfg.dist_cfg.allreduce_interval", "mmdet.accumulate"},
	{"env_cfg.dist_cfg.gradient_compression",
	 "a DDP communication hook, in code of your own"},
	{"env_cfg.dist_cfg.broadcast_buffers_size",
	 "model_wrapper_cfg.broadcast_buffers"},
};

static void warn_foreign(struct plan_work *work, const struct spec_item *item)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		const size_t length = strlen(foreign[i].key);

		if (strncmp(item->name, foreign[i].key, length) != 0 ||
		    (item->name[length] && item->name[length] != '.'))
			continue;
		diag_add(work->diag, DIAG_WARNING, "plan-mmdet", &item->place,
			 "MMDetection 3.x does not have %.60s", item->name);
		diag_fix(work->diag, "%s%.60s", foreign[i].instead,
			 foreign[i].below ? item->name + length : "");
		return;
	}
}

static int check_options(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *options = &spec->mmdet.cfg_options;
	int rc = 0;

	for (size_t i = 0; i < options->count; i++) {
		const struct spec_item *item = &options->items[i];
		const char *fault = option_fault(item->text);

		warn_foreign(work, item);
		if (fault) {
			diag_add(work->diag, DIAG_ERROR, "plan-run", &item->place,
				 "cfg_options: the value of %.60s %s", item->name, fault);
			rc = -EINVAL;
		}
		for (size_t j = 0; j < SETTINGS; j++) {
			if (!setting(spec, j)->given ||
			    strcmp(settings[j].key, item->name) != 0)
				continue;
			diag_add(work->diag, DIAG_ERROR, "plan-run", &item->place,
				 "cfg_options has %s, which mmdet.%s on line %u is, too",
				 item->name, settings[j].name,
				 setting(spec, j)->place.line);
			rc = -EINVAL;
		}
	}
	return rc;
}

static int check_section(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *other =
		spec->run.command.given ? &spec->run.command : &spec->run.module;
	int rc = check_args(work);

	if (check_options(work) < 0)
		rc = -EINVAL;
	if (other->given) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &other->place,
			 "mmdet runs MMDetection's own script; give run.script for "
			 "another one, or write all arguments here and remove mmdet");
		rc = -EINVAL;
	}
	if (work->plan->launcher->bare) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &spec->launcher.place,
			 "launcher %s leaves the ranks to PMIx, and MMDetection reads "
			 "RANK, LOCAL_RANK and MASTER_ADDR",
			 work->plan->launcher->name);
		diag_fix(work->diag, "launcher: torchrun or launcher: mmengine");
		rc = -EINVAL;
	}
	return rc;
}

static int add_pair(struct plan_work *work, const char *key, const char *value,
		    const struct diag_place *place)
{
	return plan_add_arg(
		work, spec_arena_format(&work->plan->arena, "%s=%s", key, value), place);
}

static int add_setting(struct plan_work *work, size_t i)
{
	const struct spec_value *value = setting(work->spec, i);
	char number[24];

	if (!value->given)
		return 0;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)value->number);
	/* Python's word for a flag; the number of an auto comes with the CPUs. */
	if (value == &work->spec->mmdet.deterministic)
		return add_pair(work, settings[i].key, value->number ? "True" : "False",
				&value->place);
	if (value->word) {
		work->workers_arg = work->plan->run.count;
		return plan_add_arg(work, value->word, &value->place);
	}
	return add_pair(work, settings[i].key, number, &value->place);
}

static int add_settings(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *options = &spec->mmdet.cfg_options;
	const struct spec_value *workers = &spec->mmdet.num_workers;
	int rc;

	if (!has_settings(spec))
		return 0;
	rc = plan_add_arg(work, "--cfg-options", NULL);
	for (size_t i = 0; i < SETTINGS && rc == 0; i++)
		rc = add_setting(work, i);
	/* DataLoader refuses to keep workers that it does not have, and MMDetection's
	 * configs ask it to (torch/utils/data/dataloader.py). */
	if (rc == 0 && workers->given && !workers->word && workers->number == 0 &&
	    !find_option(spec, KEY_PERSISTENT))
		rc = add_pair(work, KEY_PERSISTENT, "False", NULL);
	for (size_t i = 0; i < options->count && rc == 0; i++)
		rc = add_pair(work, options->items[i].name, options->items[i].text,
			      &options->items[i].place);
	return rc;
}

/*
 * In an order in which no option takes what is not its own: --resume may have a value
 * since MMDetection 3.0, and --cfg-options takes all up to the next option.
 */
static int add_args(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *resume = &spec->mmdet.resume;
	int rc = plan_add_arg(work, spec->mmdet.config.text, &spec->mmdet.config.place);

	if (rc == 0 && spec->mmdet.work_dir.given) {
		rc = plan_add_arg(work, "--work-dir", NULL);
		if (rc == 0)
			rc = plan_add_arg(work, spec->mmdet.work_dir.text,
					  &spec->mmdet.work_dir.place);
	}
	if (rc == 0 && spec->mmdet.amp.number)
		rc = plan_add_arg(work, "--amp", &spec->mmdet.amp.place);
	if (rc == 0 && spec->mmdet.auto_scale_lr.number)
		rc = plan_add_arg(work, "--auto-scale-lr",
				  &spec->mmdet.auto_scale_lr.place);
	if (rc == 0 && resume->given && !says_no(resume)) {
		rc = plan_add_arg(work, "--resume", NULL);
		if (rc == 0 && !says_yes(resume))
			rc = plan_add_arg(work, resume->text, &resume->place);
	}
	if (rc == 0)
		rc = add_settings(work);
	if (rc == 0)
		rc = plan_add_arg(work, "--launcher", NULL);
	if (rc == 0)
		rc = plan_add_arg(work, MMDET_LAUNCHER, NULL);
	return rc;
}

int plan_take_mmdet(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	struct plan_run *run = &work->plan->run;
	int rc = check_section(work);

	if (rc < 0)
		return rc;
	run->kind = PLAN_SCRIPT;
	run->target = spec->run.script.given ? spec->run.script.text : MMDET_SCRIPT;
	run->target_place = spec->run.script.given ? &spec->run.script.place : NULL;
	return add_args(work);
}

/* A and B of "AxbB" between separators in the file's name, as in yolox_s_8xb8-300e. */
static bool read_name(const char *path, uint64_t *gpus, uint64_t *batch)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (const char *at = name; *at; at++) {
		unsigned int a, b;
		int length = 0;

		if (!isdigit((unsigned char)*at) ||
		    (at > name && !strchr("_-", at[-1])) ||
		    sscanf(at, "%4uxb%4u%n", &a, &b, &length) != 2 || !length ||
		    (at[length] && !strchr("_-.", at[length])) || !a || !b)
			continue;
		*gpus = a;
		*batch = b;
		return true;
	}
	return false;
}

/* The number that VALUE, or cfg_options under KEY, gives; 0: none. */
static uint64_t number_of(const struct plan_work *work, const struct spec_value *value,
			  const char *key, const struct diag_place **place)
{
	const struct spec_item *item = find_option(work->spec, key);
	unsigned long long number = 0;

	if (value->given && !value->word) {
		*place = &value->place;
		return value->number;
	}
	if (!item || strlen(item->text) > 9 ||
	    item->text[strspn(item->text, "0123456789")] ||
	    sscanf(item->text, "%llu", &number) != 1)
		return 0;
	*place = &item->place;
	return number;
}

static const char *given_at(struct plan_work *work, const struct diag_place *place)
{
	return spec_arena_format(&work->plan->arena, "given at %s:%u:%u", place->file,
				 place->line, place->column);
}

static int find_samples(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	struct plan_training *training = &work->plan->training;
	const struct diag_place *per_rank = NULL, *base = NULL, *other = NULL;
	uint64_t gpus, batch;

	training->per_rank =
		number_of(work, &spec->mmdet.batch_size, KEY_BATCH, &per_rank);
	training->base = number_of(work, &spec->mmdet.base_batch, KEY_BASE, &base);
	training->accumulate =
		number_of(work, &spec->mmdet.accumulate, KEY_ACCUMULATE, &other);
	if (!training->accumulate)
		training->accumulate = 1;
	if (per_rank)
		training->per_rank_reason = given_at(work, per_rank);
	if (base)
		training->base_reason = given_at(work, base);
	if (read_name(spec->mmdet.config.text, &gpus, &batch)) {
		const char *reason = spec_arena_format(
			&work->plan->arena, "the config's name, %llux%s%llu",
			(unsigned long long)gpus, "b", (unsigned long long)batch);

		if (!training->per_rank) {
			training->per_rank = batch;
			training->per_rank_reason = reason;
		}
		if (!training->base) {
			training->base = gpus * batch;
			training->base_reason = reason;
		}
	}
	if ((training->per_rank && !training->per_rank_reason) ||
	    (training->base && !training->base_reason))
		return -ENOMEM;
	training->total = plan_value(work->plan, PLAN_WORLD_SIZE) * training->per_rank *
			  training->accumulate;
	training->scaled = spec->mmdet.auto_scale_lr.number;
	for (size_t i = 0; i < spec->run.args.count; i++)
		training->scaled |=
			strcmp(spec->run.args.items[i].text, "--auto-scale-lr") == 0;
	return 0;
}

/* "2", "1/2", "3/2" */
static void write_ratio(uint64_t over, uint64_t under, char *text, size_t size)
{
	uint64_t a = over, b = under;

	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	if (under == a)
		snprintf(text, size, "%llu", (unsigned long long)(over / a));
	else
		snprintf(text, size, "%llu/%llu", (unsigned long long)(over / a),
			 (unsigned long long)(under / a));
}

static void compare_samples(struct plan_work *work)
{
	const struct plan_training *training = &work->plan->training;
	const struct diag_place *place = &work->spec->mmdet.config.place;
	unsigned long long ranks = plan_value(work->plan, PLAN_WORLD_SIZE);
	char product[96], ratio[48];

	if (!training->base || !training->per_rank)
		return;
	snprintf(product, sizeof(product), "%llu rank%s x %llu", ranks,
		 ranks == 1 ? "" : "s", (unsigned long long)training->per_rank);
	if (training->accumulate > 1) {
		size_t at = strlen(product);

		snprintf(product + at, sizeof(product) - at, " x accumulate %llu",
			 (unsigned long long)training->accumulate);
	}
	write_ratio(training->total, training->base, ratio, sizeof(ratio));
	if (training->scaled && training->accumulate > 1) {
		char own[48];

		/* Runner.scale_lr() of mmengine/runner/runner.py. */
		write_ratio(ranks * training->per_rank, training->base, own, sizeof(own));
		diag_add(work->diag, DIAG_WARNING, "plan-training", place,
			 "MMEngine scales the learning rate by %s and does not count "
			 "accumulate; for %llu samples (%s) against %llu it should be %s",
			 own, (unsigned long long)training->total, product,
			 (unsigned long long)training->base, ratio);
		diag_fix(work->diag,
			 "set the rate yourself in cfg_options, without auto_scale_lr, "
			 "or base_batch: %llu",
			 (unsigned long long)(training->base / training->accumulate));
		return;
	}
	/* `srank explain` shows the factor of a scaled one. */
	if (training->total == training->base || training->scaled)
		return;
	diag_add(work->diag, DIAG_WARNING, "plan-training", place,
		 "the weights change after %llu samples (%s), but the config's learning "
		 "rate is for %llu (%s): it should be multiplied by %s",
		 (unsigned long long)training->total, product,
		 (unsigned long long)training->base, training->base_reason, ratio);
	diag_fix(work->diag, "mmdet.auto_scale_lr: true, or set the rate in cfg_options");
}

static int count_workers(struct plan_work *work)
{
	const struct spec_value *value = &work->spec->mmdet.num_workers;
	struct plan *plan = work->plan;
	struct plan_training *training = &plan->training;
	const struct diag_place *place = NULL;
	const bool known = plan_known(plan, PLAN_CPUS_PER_NODE);
	const char *arg;

	if (known)
		training->cpus_per_rank = plan_value(plan, PLAN_CPUS_PER_NODE) /
					  plan_value(plan, PLAN_WORKERS_PER_NODE);
	training->workers = number_of(work, value, KEY_WORKERS, &place);
	if (value->word && !known) {
		diag_add(work->diag, DIAG_ERROR, "plan-missing", &value->place,
			 "num_workers is auto, but the CPUs of a rank are not known");
		diag_fix(work->diag, "add cpus_per_gpu under resources");
		return -EINVAL;
	}
	if (value->word) {
		/* One CPU is the rank's own. */
		training->workers =
			training->cpus_per_rank > 1 ? training->cpus_per_rank - 1 : 1;
		arg = spec_arena_format(&plan->arena, KEY_WORKERS "=%llu",
					(unsigned long long)training->workers);
		if (!arg)
			return -ENOMEM;
		plan->run.args[work->workers_arg] = arg;
		return 0;
	}
	if (place && known && training->workers + 1 > training->cpus_per_rank)
		diag_add(work->diag, DIAG_WARNING, "plan-training", place,
			 "num_workers %llu and the rank itself share %llu CPU%s",
			 (unsigned long long)training->workers,
			 (unsigned long long)training->cpus_per_rank,
			 training->cpus_per_rank == 1 ? "" : "s");
	return 0;
}

int plan_check_training(struct plan_work *work)
{
	int rc;

	if (!work->spec->mmdet.config.given)
		return 0;
	rc = find_samples(work);
	if (rc == 0)
		rc = count_workers(work);
	if (rc == 0)
		compare_samples(work);
	return rc;
}
