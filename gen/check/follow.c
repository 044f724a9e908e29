/* SPDX-License-Identifier: MIT */
/*
 * The script from top to bottom, as its shell would go through it: each command in order,
 * variables as they are then, subshells and branches with what becomes of a variable
 * behind them. See model.h.
 */
#include "gen/check/follow.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Functions that call functions; a script that goes deeper is not a job script. */
#define CALLS_MAX 8

static void follow_node(struct check_follow *follow, const struct shell_node *node);

/* ---- memory and names ---- */

void *check_alloc(struct check_follow *follow, size_t size)
{
	void *memory = follow->rc < 0 ? NULL : spec_arena_alloc(follow->arena, size);

	if (!memory && follow->rc == 0)
		follow->rc = -ENOMEM;
	return memory;
}

char *check_copy(struct check_follow *follow, const char *text, size_t length)
{
	char *copy = check_alloc(follow, length + 1);

	if (copy && length > 0)
		memcpy(copy, text, length);
	return copy;
}

/* Appends ELEMENT to a list of pointers of the model. */
static bool append(struct check_follow *follow, void ***list, size_t *count,
		   void *element)
{
	void **grown = spec_arena_grow(follow->arena, *list, *count, sizeof(*grown));

	if (!grown) {
		follow->rc = -ENOMEM;
		return false;
	}
	grown[(*count)++] = element;
	*list = grown;
	return true;
}

struct check_name *check_name_find(struct check_follow *follow, const char *name,
				   size_t length)
{
	uint32_t hash = 5381;
	struct check_name **slot, *found;

	for (size_t i = 0; i < length; i++)
		hash = hash * 33 + (unsigned char)name[i];
	slot = &follow->names[hash % CHECK_NAMES_HASH];
	for (found = *slot; found; found = found->next) {
		if (strncmp(found->name, name, length) == 0 && !found->name[length])
			return found;
	}
	found = check_alloc(follow, sizeof(*found));
	if (!found)
		return NULL;
	found->name = check_copy(follow, name, length);
	if (!found->name)
		return NULL;
	found->next = *slot;
	*slot = found;
	return found;
}

size_t check_undo_mark(const struct check_follow *follow)
{
	return follow->undo_count;
}

void check_undo_to(struct check_follow *follow, size_t mark)
{
	while (follow->undo_count > mark) {
		const struct check_undo *undo = &follow->undo[--follow->undo_count];

		undo->name->now = undo->before;
	}
}

static void set_binding(struct check_follow *follow, struct check_name *name,
			const struct check_binding *binding)
{
	if (follow->undo_count == follow->undo_room) {
		const size_t room = follow->undo_room ? 2 * follow->undo_room : 64;
		void *grown = realloc(follow->undo, room * sizeof(*follow->undo));

		if (!grown) {
			follow->rc = -ENOMEM;
			return;
		}
		follow->undo = grown;
		follow->undo_room = room;
	}
	follow->undo[follow->undo_count++] = (struct check_undo){name, name->now};
	name->now = *binding;
}

const struct check_binding *check_visible(const struct check_follow *follow,
					  const struct check_name *name)
{
	const struct check_binding *binding = &name->now;

	if (!binding->assignment || binding->assignment->unset)
		return NULL;
	if (binding->process == follow->process)
		return binding;
	return binding->exported && binding->process >= follow->isolation ? binding
									  : NULL;
}

static struct check_assignment *
note_assignment(struct check_follow *follow, struct check_name *name,
		const struct check_value *value, enum check_export export,
		struct script_range range, struct script_range name_range)
{
	struct check_model *model = follow->model;
	struct check_assignment *assignment = check_alloc(follow, sizeof(*assignment));

	if (!assignment)
		return NULL;
	*assignment = (struct check_assignment){
		.index = model->assignments_count,
		.earlier = name->last,
		.name = name->name,
		.value = {.text = "", .constant = true},
		.export = export,
		.conditional = follow->conditional,
		.loop = follow->loops > 0,
		.shell = follow->shell,
		.command = export == CHECK_FOR_ONE ? NULL : follow->parent,
		.order = model->commands_count,
		.range = range,
		.name_range = name_range,
	};
	if (value)
		assignment->value = *value;
	if (export != CHECK_KEPT)
		assignment->exported = range;
	name->last = assignment;
	append(follow, (void ***)&model->assignments, &model->assignments_count,
	       assignment);
	return assignment;
}

/* Variables that a batch script finds exported: to set one is to export it. */
static bool is_inherited(const char *name)
{
	static const char *const names[] = {
		"PATH",
		"HOME",
		"USER",
		"PWD",
		"TMPDIR",
		"LD_LIBRARY_PATH",
		"CUDA_VISIBLE_DEVICES",
		"ROCR_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL",
		"ZE_AFFINITY_MASK",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return strncmp(name, "SLURM_", 6) == 0;
}

struct check_assignment *check_bind(struct check_follow *follow, const char *text,
				    const struct check_value *value, bool opaque,
				    enum check_export export, struct script_range range,
				    struct script_range name_range)
{
	struct check_name *name = check_name_find(follow, text, strlen(text));
	struct check_assignment *assignment;
	struct check_binding binding;

	if (!name)
		return NULL;
	if (export == CHECK_KEPT &&
	    (follow->allexport || name->now.exported || is_inherited(text)))
		export = CHECK_EXPORTED;
	assignment = note_assignment(follow, name, value, export, range, name_range);
	if (!assignment)
		return NULL;
	assignment->opaque = opaque;
	binding = (struct check_binding){
		.assignment = assignment,
		.set = value && !opaque,
		.exported = export != CHECK_KEPT,
		.process = follow->process,
	};
	if (value)
		binding.value = *value;
	set_binding(follow, name, &binding);
	return assignment;
}

/* ---- branches ---- */

/*
 * What was set since MARK may be set or not: put it back, and leave each such variable
 * without a known value, by its last assignment.
 */
static void merge_branch(struct check_follow *follow, size_t mark)
{
	const size_t count = follow->undo_count - mark;
	struct check_undo *after = count ? malloc(count * sizeof(*after)) : NULL;
	size_t kept = 0;

	if (count > 0 && !after) {
		follow->rc = -ENOMEM;
		return;
	}
	/* Each variable once, as it is now. */
	for (size_t i = mark; i < follow->undo_count; i++) {
		struct check_name *name = follow->undo[i].name;

		if (!name->now.assignment)
			continue;
		after[kept++] = (struct check_undo){name, name->now};
		name->now.assignment = NULL;
	}
	for (size_t i = 0; i < kept; i++)
		after[i].name->now = after[i].before;
	check_undo_to(follow, mark);
	for (size_t i = 0; i < kept; i++) {
		struct check_binding binding = after[i].before;
		const struct check_binding *before = &after[i].name->now;

		/* The same on both ways, as in a guard: X=${X:-8} behind it, too. */
		if (before->assignment == binding.assignment &&
		    before->exported == binding.exported && before->set == binding.set)
			continue;
		binding.set = false;
		binding.array = false;
		binding.number = (struct check_number){0};
		binding.exported |= before->exported;
		set_binding(follow, after[i].name, &binding);
	}
	free(after);
}

static void follow_branch(struct check_follow *follow, const struct shell_node *list)
{
	const size_t mark = check_undo_mark(follow);
	const bool conditional = follow->conditional;

	follow->conditional = true;
	check_follow_list(follow, list);
	follow->conditional = conditional;
	merge_branch(follow, mark);
}

/* ---- loops ---- */

static void forget(struct check_follow *follow, const char *text, size_t length)
{
	struct check_name *name = check_name_find(follow, text, length);
	struct check_binding binding;

	if (!name || !name->now.assignment)
		return;
	binding = name->now;
	binding.set = false;
	binding.array = false;
	binding.number = (struct check_number){0};
	set_binding(follow, name, &binding);
}

/* Names that an arithmetic command sets: X=, X+=, X++, ++X. */
static void forget_computed(struct check_follow *follow, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t end = at, next;
		bool set = at >= 2 && (text[at - 1] == '+' || text[at - 1] == '-') &&
			   text[at - 2] == text[at - 1];

		if (!isalpha((unsigned char)text[at]) && text[at] != '_') {
			at++;
			continue;
		}
		while (end < length &&
		       (isalnum((unsigned char)text[end]) || text[end] == '_'))
			end++;
		for (next = end; next < length && text[next] == ' '; next++)
			;
		if (next + 1 < length) {
			const char c = text[next], d = text[next + 1];

			set |= (c == '=' && d != '=') ||
			       (strchr("+-", c) && (d == c || d == '=')) ||
			       (strchr("*/%&|^", c) && d == '=');
		} else if (next < length) {
			set |= text[next] == '=';
		}
		if (set)
			forget(follow, text + at, end - at);
		at = end;
	}
}

static const char *literal_name(const struct shell_node *node)
{
	return node->words && node->words->literal ? node->words->text : "";
}

/* What a loop's body sets has no known value where the body begins. */
static void forget_assigned(struct check_follow *follow, const struct shell_node *node)
{
	for (; node && follow->rc == 0; node = node->next) {
		for (struct shell_assignment *at = node->assignments; at; at = at->next) {
			if (!node->words || at->argument)
				forget(follow, at->name, strlen(at->name));
		}
		if (node->kind == SHELL_COMMAND &&
		    strcmp(literal_name(node), "read") == 0) {
			for (struct shell_word *word = node->words; word;
			     word = word->next) {
				if (word->literal)
					forget(follow, word->text, word->length);
			}
		}
		if (node->kind == SHELL_FOR && node->name)
			forget(follow, node->name, strlen(node->name));
		if (node->kind == SHELL_COMPUTE && node->words && node->words->literal)
			forget_computed(follow, node->words->text, node->words->length);
		forget_assigned(follow, node->children);
	}
}

/* {0..3} and {a,b,c}: how many words; 0: none of them. */
static int64_t count_braces(const struct check_value *value)
{
	const char *dots = strstr(value->text, "..");
	char *end;
	int64_t low, high;

	if (value->text[0] != '{' || !dots || !value->constant)
		return 0;
	low = strtol(value->text + 1, &end, 10);
	if (end != dots)
		return 0;
	high = strtol(dots + 2, &end, 10);
	if (strcmp(end, "}") != 0 || high < low || high - low > 1000000)
		return 0;
	return high - low + 1;
}

/* A last argument of seq, or the loop's words, as the bounds of its variable. */
static void count_rounds(struct check_follow *follow, const struct check_value *values,
			 size_t count, struct check_number *rounds,
			 struct check_number *each)
{
	*each = (struct check_number){0};
	*rounds = (struct check_number){.known = true};
	for (size_t i = 0; i < count; i++) {
		const struct check_value *value = &values[i];
		const int64_t braces = count_braces(value);
		struct check_number number = {0};
		int64_t times = 1;

		if (braces > 0) {
			times = braces;
			number.known = true;
			number.low = strtol(value->text + 1, NULL, 10);
			number.high = number.low + braces - 1;
		} else if (!value->constant) {
			const struct check_expansion *expansion = &value->expansions[0];
			const struct check_command *command =
				expansion->kind == CHECK_SUBSTITUTE &&
						expansion->last == expansion->first + 1
					? follow->model->commands[expansion->first]
					: NULL;
			struct check_number first = {true, 1, 1, 0}, last = {0};

			if (command && strcmp(command->name, "seq") == 0 &&
			    command->words_count >= 2)
				last = check_value_number(
					follow->model,
					&command->words[command->words_count - 1]);
			if (command && command->words_count > 2)
				first = check_value_number(follow->model,
							   &command->words[1]);
			if (!check_exact(&first) || !last.known ||
			    last.high - first.low > 1000000) {
				*rounds = (struct check_number){0};
				*each = (struct check_number){0};
				return;
			}
			number = (struct check_number){true, first.low, last.high, 0};
			times = check_exact(&last) ? last.low - first.low + 1 : 1;
			if (times < 0)
				times = 0;
		} else {
			number = check_value_number(follow->model, value);
		}
		rounds->low += times;
		rounds->high += times;
		if (i == 0)
			*each = number;
		else if (!number.known)
			each->known = false;
		else {
			each->low = number.low < each->low ? number.low : each->low;
			each->high = number.high > each->high ? number.high : each->high;
		}
	}
}

static void follow_loop(struct check_follow *follow, const struct shell_node *node,
			const struct check_number *rounds)
{
	const struct check_number outer = follow->rounds;
	const size_t mark = check_undo_mark(follow);
	const bool conditional = follow->conditional;

	forget_assigned(follow, node->children);
	if (follow->loops < UINT8_MAX)
		follow->loops++;
	follow->rounds = *rounds;
	/* A for loop over words that are there runs; who knows of a while. */
	follow->conditional |= !(rounds->known && rounds->low > 0);
	for (const struct shell_node *list = node->children; list; list = list->next)
		check_follow_list(follow, list->children);
	follow->conditional = conditional;
	follow->loops--;
	follow->rounds = outer;
	merge_branch(follow, mark);
}

static void follow_for(struct check_follow *follow, const struct shell_node *node)
{
	struct check_value *values = NULL;
	size_t count = 0;
	struct check_number rounds = {0}, each = {0};
	struct check_assignment *assignment = NULL;

	if (node->counting) {
		if (node->words) {
			const struct check_value value =
				check_evaluate(follow, node->words);

			forget_computed(follow, value.text, value.length);
		}
		follow_loop(follow, node, &rounds);
		return;
	}
	if (node->implied) {
		values = (struct check_value *)follow->arguments;
		count = follow->arguments_count;
		if (follow->arguments_known)
			count_rounds(follow, values, count, &rounds, &each);
	} else {
		check_evaluate_words(follow, node->words, &values, &count);
		count_rounds(follow, values, count, &rounds, &each);
	}
	if (node->name) {
		const bool one =
			count == 1 && values[0].constant && count_braces(&values[0]) == 0;

		if (follow->loops < UINT8_MAX)
			follow->loops++;
		assignment = check_bind(follow, node->name, one ? &values[0] : NULL, !one,
					CHECK_KEPT, node->range, node->range);
		follow->loops--;
	}
	if (assignment && assignment->opaque) {
		struct check_name *name =
			check_name_find(follow, node->name, strlen(node->name));

		each.varies |= CHECK_PER_STEP;
		if (name)
			name->now.number = each;
	}
	follow_loop(follow, node, &rounds);
}

/* ---- commands with words ---- */

static const struct {
	const char *name;
	enum check_variable variable;
} variables[] = {
	{"MASTER_ADDR", CHECK_MASTER_ADDR},
	{"MASTER_PORT", CHECK_MASTER_PORT},
	{"RANK", CHECK_RANK},
	{"WORLD_SIZE", CHECK_WORLD_SIZE},
	{"LOCAL_RANK", CHECK_LOCAL_RANK},
	{"LOCAL_WORLD_SIZE", CHECK_LOCAL_WORLD_SIZE},
	{"NODE_RANK", CHECK_NODE_RANK},
	{"CUDA_VISIBLE_DEVICES", CHECK_CUDA_VISIBLE_DEVICES},
	{"HIP_VISIBLE_DEVICES", CHECK_HIP_VISIBLE_DEVICES},
	{"ROCR_VISIBLE_DEVICES", CHECK_ROCR_VISIBLE_DEVICES},
	{"OMP_NUM_THREADS", CHECK_OMP_NUM_THREADS},
	{"NCCL_SOCKET_IFNAME", CHECK_NCCL_SOCKET_IFNAME},
	{"SLURM_NTASKS", CHECK_SLURM_NTASKS},
	{"SLURM_NTASKS_PER_NODE", CHECK_SLURM_NTASKS_PER_NODE},
	{"SLURM_CPUS_PER_TASK", CHECK_SLURM_CPUS_PER_TASK},
	{"SRUN_CPUS_PER_TASK", CHECK_SRUN_CPUS_PER_TASK},
	{"SLURM_EXPORT_ENV", CHECK_SLURM_EXPORT_ENV},
	{"SLURM_GPUS_PER_NODE", CHECK_SLURM_GPUS_PER_NODE},
};

const char *check_variable_name(enum check_variable variable)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		if (variables[i].variable == variable)
			return variables[i].name;
	}
	return "";
}

/* The last part of a path. */
static const char *base_name(const struct check_value *value)
{
	const char *slash = strrchr(value->text, '/');

	if (!value->constant)
		return "";
	return slash ? slash + 1 : value->text;
}

static bool is_inside(uint32_t offset, struct script_range range)
{
	return offset >= range.begin && offset < range.end;
}

static struct check_command *note_command(struct check_follow *follow,
					  const struct check_value *words, size_t count)
{
	struct check_model *model = follow->model;
	struct check_command *command = check_alloc(follow, sizeof(*command));

	if (!command)
		return NULL;
	*command = (struct check_command){
		.order = model->commands_count,
		.name = base_name(&words[0]),
		.words = words,
		.words_count = count,
		.parent = follow->parent,
		.operand = count,
		.shell = follow->shell,
		.node = follow->node,
		.range = {words[0].range.begin, words[count - 1].range.end},
		.where = follow->where,
		.step = follow->step,
		.background = follow->background,
		.loops = follow->loops,
		.rounds = follow->rounds,
		.conditional = follow->conditional,
		.substitute = follow->substitute,
		.function = follow->function,
		.uncalled = follow->uncalled,
		.trapped = follow->trapped,
		.stage = follow->stage,
		.stages = follow->stages,
		.pipefail = follow->pipefail,
		.errexit = follow->errexit,
		.sourced = follow->sourced,
	};
	/* The last words may come from elsewhere, "$@" of a function for one. */
	if (is_inside(words[0].range.begin, follow->node->range) &&
	    !is_inside(command->range.end - 1, follow->node->range))
		command->range.end = follow->node->range.end;
	if (command->range.end <= command->range.begin)
		command->range = words[0].range;
	for (size_t i = 0; i < CHECK_VARIABLES; i++)
		command->sees[i] = follow->known[i]->now.assignment;
	if (!append(follow, (void ***)&model->commands, &model->commands_count, command))
		return NULL;
	return command;
}

struct check_command *check_follow_words(struct check_follow *follow,
					 const struct check_value *words, size_t count)
{
	struct check_command *command;

	if (count == 0 || follow->rc < 0)
		return NULL;
	if (follow->budget == 0) {
		follow->model->cut = true;
		return NULL;
	}
	follow->budget--;
	command = note_command(follow, words, count);
	if (command)
		check_tool_follow(follow, command);
	return command;
}

/* ---- shells ---- */

static struct check_shell *note_shell(struct check_follow *follow,
				      enum check_shell_kind kind,
				      const struct check_command *command,
				      struct script_range range)
{
	struct check_model *model = follow->model;
	struct check_shell *shell = check_alloc(follow, sizeof(*shell));

	if (!shell)
		return NULL;
	*shell = (struct check_shell){
		.parent = follow->shell,
		.command = command,
		.kind = kind,
		.where = follow->where,
		.step = follow->step,
		.level = follow->shell ? follow->shell->level : 1,
		.errexit = follow->errexit,
		.pipefail = follow->pipefail,
		.nounset = follow->nounset,
		.range = range,
	};
	if (!append(follow, (void ***)&model->shells, &model->shells_count, shell))
		return NULL;
	return shell;
}

void check_follow_substitution(struct check_follow *follow,
			       const struct shell_piece *piece, size_t *first,
			       size_t *last)
{
	const struct check_follow before = *follow;
	const size_t mark = check_undo_mark(follow);
	struct check_shell *shell =
		note_shell(follow, CHECK_SHELL_SUBSTITUTE, NULL, piece->range);

	*first = *last = follow->model->commands_count;
	if (!shell)
		return;
	follow->shell = shell;
	follow->substitute = true;
	follow->background = false;
	follow->stage = 0;
	follow->stages = 1;
	follow->parent = NULL;
	if (piece->quoted)
		follow->text = piece->quoted;
	check_follow_list(follow, piece->body);
	check_undo_to(follow, mark);
	follow->text = before.text;
	follow->shell = before.shell;
	follow->substitute = before.substitute;
	follow->background = before.background;
	follow->stage = before.stage;
	follow->stages = before.stages;
	follow->parent = before.parent;
	follow->node = before.node;
	follow->pipefail = before.pipefail;
	follow->errexit = before.errexit;
	follow->nounset = before.nounset;
	follow->allexport = before.allexport;
	*last = follow->model->commands_count;
}

/* VALUE as the text of a shell, with what was expanded outside marked. */
static struct shell_text *make_text(struct check_follow *follow,
				    const struct check_value *value, uint8_t level)
{
	struct shell_text *text = check_alloc(follow, sizeof(*text));
	uint32_t *origins;
	uint8_t *outer;

	if (!text)
		return NULL;
	*text = (struct shell_text){
		.bytes = value->text,
		.length = value->length,
		.origins = value->origins,
	};
	if (!value->origins) {
		origins = check_alloc(follow, (value->length + 1) * sizeof(*origins));
		if (!origins)
			return NULL;
		for (size_t i = 0; i < value->length; i++)
			origins[i] = value->range.begin;
		text->origins = origins;
	}
	if (value->expansions_count == 0)
		return text;
	outer = check_alloc(follow, value->length + 1);
	if (!outer)
		return NULL;
	for (size_t i = 0; i < value->expansions_count; i++) {
		const struct check_expansion *expansion = &value->expansions[i];

		memset(outer + expansion->at, level, expansion->length);
		if (expansion->length > 0)
			outer[expansion->at] |= SHELL_OUTER_FIRST;
	}
	text->outer = outer;
	return text;
}

void check_follow_text(struct check_follow *follow, const struct check_value *value,
		       enum check_shell_kind kind, const struct check_command *command,
		       const struct check_value *arguments, size_t arguments_count)
{
	const struct check_follow before = *follow;
	const size_t mark = check_undo_mark(follow);
	/* eval and trap: the text is read by this very shell. */
	const bool same = kind == CHECK_SHELL_EVAL || kind == CHECK_SHELL_TRAP;
	struct shell_program *program;
	struct shell_text *text;
	struct check_shell *shell;

	if (follow->shell->level >= CHECK_LEVEL_MAX || value->length == 0 ||
	    follow->rc < 0)
		return;
	/* The value itself must stay, for the expansions in it. */
	follow->origin = check_alloc(follow, sizeof(*follow->origin));
	program = check_alloc(follow, sizeof(*program));
	text = make_text(follow, value, follow->shell->level);
	shell = note_shell(follow, kind, command, value->range);
	if (!follow->origin || !program || !text || !shell)
		return;
	*(struct check_value *)follow->origin = *value;
	shell->level++;
	if (follow->where == CHECK_STEP && follow->step)
		shell->step = follow->step;
	follow->shell = shell;
	follow->text = text;
	follow->parent = command;
	follow->stage = 0;
	follow->stages = 1;
	if (!same) {
		follow->process = ++follow->processes;
		follow->errexit = follow->pipefail = follow->nounset = false;
		follow->allexport = false;
		follow->loops = 0;
		follow->arguments = arguments;
		follow->arguments_count = arguments_count;
		follow->arguments_known = true;
	}
	follow->trapped |= kind == CHECK_SHELL_TRAP;
	if (shell_read(program, text, follow->arena) < 0)
		follow->rc = -ENOMEM;
	if (program->fault.kind != SHELL_FINE) {
		struct check_model *model = follow->model;
		struct check_shell_fault *grown =
			spec_arena_grow(follow->arena, model->faults, model->faults_count,
					sizeof(*grown));

		if (grown) {
			model->faults = grown;
			grown[model->faults_count++] =
				(struct check_shell_fault){program->fault, shell};
		} else {
			follow->rc = -ENOMEM;
		}
	}
	check_follow_list(follow, program->list);
	if (kind == CHECK_SHELL_TRAP)
		merge_branch(follow, mark);
	else if (!same)
		check_undo_to(follow, mark);
	follow->shell = before.shell;
	follow->text = before.text;
	follow->origin = before.origin;
	follow->node = before.node;
	follow->parent = before.parent;
	follow->stage = before.stage;
	follow->stages = before.stages;
	follow->trapped = before.trapped;
	follow->process = before.process;
	follow->loops = before.loops;
	follow->arguments = before.arguments;
	follow->arguments_count = before.arguments_count;
	follow->arguments_known = before.arguments_known;
	if (!same) {
		follow->errexit = before.errexit;
		follow->pipefail = before.pipefail;
		follow->nounset = before.nounset;
		follow->allexport = before.allexport;
	}
}

/* ---- builtins ---- */

static bool is_option(const struct check_value *value, char letter)
{
	return value->text[0] == '-' && value->text[1] && value->text[1] != '-' &&
	       strchr(value->text + 1, letter);
}

static void set_options(struct check_follow *follow, const struct check_value *words,
			size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const char *text = words[i].text;
		const bool on = text[0] == '-';

		if (text[0] != '-' && text[0] != '+')
			return;
		if (strchr(text, 'e'))
			follow->errexit = on;
		if (strchr(text, 'u'))
			follow->nounset = on;
		if (strchr(text, 'a'))
			follow->allexport = on;
		if (strchr(text, 'o') && i + 1 < count) {
			const char *name = words[++i].text;

			if (strcmp(name, "pipefail") == 0)
				follow->pipefail = on;
			else if (strcmp(name, "errexit") == 0)
				follow->errexit = on;
			else if (strcmp(name, "nounset") == 0)
				follow->nounset = on;
			else if (strcmp(name, "allexport") == 0)
				follow->allexport = on;
		}
	}
}

/* export X: what X holds reaches other programs from now on. */
static void export_name(struct check_follow *follow, const struct check_value *word)
{
	struct check_name *name = check_name_find(follow, word->text, word->length);
	struct check_binding binding;

	if (!name || !name->now.assignment || !word->constant)
		return;
	binding = name->now;
	binding.exported = true;
	if (binding.assignment->export == CHECK_KEPT) {
		/* The model is still ours to change. */
		struct check_assignment *assignment =
			(struct check_assignment *)binding.assignment;

		assignment->export = CHECK_EXPORTED;
		assignment->exported = word->range;
	}
	set_binding(follow, name, &binding);
}

static void unset_name(struct check_follow *follow, const struct check_value *word)
{
	struct check_name *name;
	struct check_binding binding = {.process = follow->process};
	struct check_assignment *assignment;

	if (!word->constant)
		return;
	name = check_name_find(follow, word->text, word->length);
	if (!name)
		return;
	assignment =
		note_assignment(follow, name, NULL, CHECK_KEPT, word->range, word->range);
	if (!assignment)
		return;
	assignment->unset = true;
	binding.assignment = assignment;
	set_binding(follow, name, &binding);
}

static void bind_opaque(struct check_follow *follow, const struct check_value *word)
{
	if (word->constant &&
	    (isalpha((unsigned char)word->text[0]) || word->text[0] == '_'))
		check_bind(follow, word->text, NULL, true, CHECK_KEPT, word->range,
			   word->range);
}

/* Assignments of NODE, in this shell or (FOR_ONE) for its command. */
static void follow_assignments(struct check_follow *follow, const struct shell_node *node,
			       bool arguments, enum check_export export)
{
	for (const struct shell_assignment *at = node->assignments; at; at = at->next) {
		struct check_value *items = NULL;
		struct check_value value;
		struct check_assignment *assignment;
		struct check_name *name;
		size_t count = 0;

		if (at->argument != arguments)
			continue;
		name = check_name_find(follow, at->name, strlen(at->name));
		if (!name)
			return;
		if (at->array) {
			/* A=("${A[@]}" x) */
			if (at->append && name->now.array && name->now.set &&
			    follow->copied < CHECK_COPIED_MAX) {
				follow->copied +=
					name->now.items_count * sizeof(*name->now.items);
				for (size_t i = 0; i < name->now.items_count; i++) {
					items = spec_arena_grow(follow->arena, items,
								count, sizeof(*items));
					if (!items) {
						follow->rc = -ENOMEM;
						return;
					}
					items[count++] = name->now.items[i];
				}
			}
			check_evaluate_words(follow, at->items, &items, &count);
			value = count > 0 ? items[0]
					  : (struct check_value){.text = "",
								 .constant = true};
		} else {
			value = check_evaluate(follow, at->value);
		}
		if (at->append && !at->array && name->now.set && !name->now.array &&
		    name->now.value.length < 4096) {
			struct check_value both[] = {name->now.value, value};
			struct check_value joined =
				check_value_join(follow, both, 2, '\0');

			assignment = check_bind(follow, at->name, &joined, false, export,
						at->range, at->name_range);
			if (assignment)
				assignment->value = joined;
			continue;
		}
		assignment = check_bind(follow, at->name, &value,
					at->index != NULL || (at->append && !at->array),
					export, at->range, at->name_range);
		if (assignment && at->array) {
			name->now.array = true;
			name->now.set = !at->append || follow->copied < CHECK_COPIED_MAX;
			name->now.items = items;
			name->now.items_count = count;
		}
	}
}

static void follow_declaration(struct check_follow *follow, const struct shell_node *node,
			       const struct check_value *words, size_t count)
{
	bool exports = strcmp(words[0].text, "export") == 0, removes = false;

	for (size_t i = 1; i < count; i++) {
		exports |=
			strcmp(words[0].text, "export") != 0 && is_option(&words[i], 'x');
		removes |= exports && is_option(&words[i], 'n');
	}
	follow_assignments(follow, node, true, exports ? CHECK_EXPORTED : CHECK_KEPT);
	for (size_t i = 1; i < count && exports && !removes; i++) {
		const size_t length = strcspn(words[i].text, "=");

		/* export $(cat settings) */
		follow->sourced |= !words[i].constant && words[i].text[0] == '$';

		if (words[i].text[0] == '-')
			continue;
		if (!words[i].text[length]) {
			export_name(follow, &words[i]);
		} else {
			/* export $X or "A=$B", which the parser takes for words. */
			const struct check_value name =
				check_value_part(follow, &words[i], 0, length);
			const struct check_value value =
				check_value_part(follow, &words[i], length + 1,
						 words[i].length - length - 1);

			check_bind(follow, name.text, &value, false, CHECK_EXPORTED,
				   words[i].range, name.range);
		}
	}
}

/* What a builtin does to the variables of its shell. */
static void follow_builtin(struct check_follow *follow, const struct shell_node *node,
			   const struct check_value *words, size_t count)
{
	const char *name = words[0].text;
	size_t i = 1;

	if (strcmp(name, "export") == 0 || strcmp(name, "declare") == 0 ||
	    strcmp(name, "typeset") == 0 || strcmp(name, "local") == 0 ||
	    strcmp(name, "readonly") == 0) {
		follow_declaration(follow, node, words, count);
	} else if (strcmp(name, "unset") == 0) {
		for (; i < count; i++) {
			if (words[i].text[0] != '-')
				unset_name(follow, &words[i]);
		}
	} else if (strcmp(name, "read") == 0 || strcmp(name, "mapfile") == 0 ||
		   strcmp(name, "readarray") == 0 || strcmp(name, "getopts") == 0) {
		for (; i < count; i++)
			bind_opaque(follow, &words[i]);
	} else if (strcmp(name, "printf") == 0 && count > 2 &&
		   strcmp(words[1].text, "-v") == 0) {
		bind_opaque(follow, &words[2]);
	} else if (strcmp(name, "let") == 0) {
		for (; i < count; i++)
			forget_computed(follow, words[i].text, words[i].length);
	} else if (strcmp(name, "set") == 0) {
		set_options(follow, words, count);
	}
}

static void call_function(struct check_follow *follow, struct check_name *name,
			  const struct check_value *words, size_t count)
{
	const struct check_follow before = *follow;

	if (name->function_active || follow->depth >= CALLS_MAX) {
		follow->model->cut = true;
		return;
	}
	name->function_called = name->function_active = true;
	follow->depth++;
	follow->function = true;
	follow->arguments = words + 1;
	follow->arguments_count = count - 1;
	follow->arguments_known = true;
	follow->text = name->function_text;
	follow->origin = name->function_origin;
	follow_node(follow, name->function);
	name->function_active = false;
	follow->text = before.text;
	follow->origin = before.origin;
	follow->depth--;
	follow->function = before.function;
	follow->arguments = before.arguments;
	follow->arguments_count = before.arguments_count;
	follow->arguments_known = before.arguments_known;
	follow->node = before.node;
}

/* cat > FILE << EOF: the lines are kept, should FILE be run. */
static void note_file(struct check_follow *follow, const struct shell_node *node,
		      const struct check_value *words, size_t count,
		      const struct check_value *document)
{
	struct check_file *file;
	const char *path = NULL;

	if (strcmp(words[0].text, "cat") == 0) {
		for (struct shell_redirect *at = node->redirects; at; at = at->next) {
			if (at->op[0] == '>' && at->target && at->descriptor <= 1) {
				const struct check_value target =
					check_evaluate(follow, at->target);

				path = target.text;
			}
		}
	} else if (strcmp(words[0].text, "tee") == 0 && count > 1) {
		path = words[count - 1].text;
	}
	if (!path)
		return;
	file = check_alloc(follow, sizeof(*file));
	if (!file)
		return;
	*file = (struct check_file){
		.next = follow->files,
		.path = strncmp(path, "./", 2) == 0 ? path + 2 : path,
		.content = document,
	};
	follow->files = file;
}

/* The here-document of NODE as a value; NULL: it has none. */
static const struct check_value *document_of(struct check_follow *follow,
					     const struct shell_node *node)
{
	const struct shell_redirect *found = NULL;
	struct check_value *value;

	for (const struct shell_redirect *at = node->redirects; at; at = at->next) {
		if (strncmp(at->op, "<<", 2) == 0)
			found = at;
	}
	if (!found)
		return NULL;
	value = check_alloc(follow, sizeof(*value));
	if (!value)
		return NULL;
	if (found->op[2] == '<') {
		*value = check_evaluate(follow, found->target);
	} else if (found->body) {
		*value = check_evaluate(follow, found->body);
	} else {
		const size_t length = found->end - found->begin;
		uint32_t *origins = check_alloc(follow, (length + 1) * sizeof(*origins));

		if (!origins)
			return NULL;
		for (size_t i = 0; i < length; i++)
			origins[i] = follow->text->origins
					     ? follow->text->origins[found->begin + i]
					     : (uint32_t)(found->begin + i);
		*value = (struct check_value){
			.text = check_copy(follow, follow->text->bytes + found->begin,
					   length),
			.length = (uint32_t)length,
			.range = found->document,
			.source = found->document,
			.constant = true,
			.quoted = true,
			.origins = origins,
		};
		if (!value->text)
			return NULL;
	}
	return value;
}

static void follow_redirects(struct check_follow *follow, const struct shell_node *node)
{
	for (const struct shell_redirect *at = node->redirects; at; at = at->next) {
		if (strncmp(at->op, "<<", 2) != 0)
			check_evaluate(follow, at->target);
	}
}

static void follow_simple(struct check_follow *follow, const struct shell_node *node)
{
	struct check_value *words = NULL;
	size_t count = 0;
	const struct check_value *document;
	struct check_command *command;
	struct check_name *name;
	size_t mark, first;

	check_evaluate_words(follow, node->words, &words, &count);
	if (count == 0) {
		follow_redirects(follow, node);
		follow_assignments(follow, node, false, CHECK_KEPT);
		return;
	}
	mark = check_undo_mark(follow);
	first = follow->model->assignments_count;
	follow_assignments(follow, node, false, CHECK_FOR_ONE);
	follow_redirects(follow, node);
	document = document_of(follow, node);
	if (follow->rc < 0)
		return;
	name = words[0].constant ? check_name_find(follow, words[0].text, words[0].length)
				 : NULL;
	follow->document = document;
	command = check_follow_words(follow, words, count);
	follow->document = NULL;
	for (size_t i = first; command && i < follow->model->assignments_count; i++) {
		struct check_assignment *assignment = follow->model->assignments[i];

		if (assignment->export == CHECK_FOR_ONE && !assignment->command)
			assignment->command = command;
	}
	if (command && name && name->function)
		call_function(follow, name, words, count);
	if (document)
		note_file(follow, node, words, count, document);
	/* X=1 command: X is as before; but what a builtin sets stays. */
	if (node->assignments && !node->assignments->argument)
		check_undo_to(follow, mark);
	follow_builtin(follow, node, words, count);
}

/* ---- nodes ---- */

static void follow_test(struct check_follow *follow, const struct shell_node *node)
{
	struct check_value *words = NULL;
	size_t count = 0;

	check_evaluate_words(follow, node->words, &words, &count);
	if (node->kind == SHELL_COMPUTE && count > 0) {
		for (size_t i = 0; i < count; i++)
			forget_computed(follow, words[i].text, words[i].length);
	}
}

static void follow_pipeline(struct check_follow *follow, const struct shell_node *node)
{
	const uint16_t stage = follow->stage, stages = follow->stages;
	uint16_t count = 0;

	for (const struct shell_node *at = node->children; at && count < UINT16_MAX;
	     at = at->next)
		count++;
	follow->stage = 0;
	for (const struct shell_node *at = node->children; at; at = at->next) {
		const size_t mark = check_undo_mark(follow);

		follow->stages = count;
		follow_node(follow, at);
		check_undo_to(follow, mark);
		follow->stage++;
	}
	follow->stage = stage;
	follow->stages = stages;
}

static void follow_subshell(struct check_follow *follow, const struct shell_node *node)
{
	const struct check_follow before = *follow;
	const size_t mark = check_undo_mark(follow);
	struct check_shell *shell =
		note_shell(follow, CHECK_SHELL_SUBSHELL, NULL, node->range);

	if (!shell)
		return;
	follow->shell = shell;
	check_follow_list(follow, node->children);
	check_undo_to(follow, mark);
	follow->shell = before.shell;
	follow->pipefail = before.pipefail;
	follow->errexit = before.errexit;
	follow->nounset = before.nounset;
	follow->allexport = before.allexport;
}

static void follow_function(struct check_follow *follow, const struct shell_node *node)
{
	struct check_name *name =
		node->name ? check_name_find(follow, node->name, strlen(node->name))
			   : NULL;

	if (!name)
		return;
	if (!name->function_listed) {
		name->function_listed = true;
		*follow->functions_end = name;
		follow->functions_end = &name->next_function;
	}
	name->function = node->children;
	name->function_of = follow->shell;
	name->function_text = follow->text;
	name->function_origin = follow->origin;
	name->function_called = false;
}

static void follow_if(struct check_follow *follow, const struct shell_node *node)
{
	bool condition = true;

	for (const struct shell_node *list = node->children; list; list = list->next) {
		/* The last of an odd number is the else. */
		if (condition && list->next)
			check_follow_list(follow, list->children);
		else
			follow_branch(follow, list->children);
		condition = !condition;
	}
}

static void follow_kind(struct check_follow *follow, const struct shell_node *node)
{
	static const struct check_number often;

	switch (node->kind) {
	case SHELL_COMMAND:
		follow_simple(follow, node);
		break;
	case SHELL_PIPELINE:
		follow_pipeline(follow, node);
		break;
	case SHELL_GROUP:
	case SHELL_LIST:
		check_follow_list(follow, node->children);
		break;
	case SHELL_SUBSHELL:
		follow_subshell(follow, node);
		break;
	case SHELL_IF:
		follow_if(follow, node);
		break;
	case SHELL_WHILE:
		follow_loop(follow, node, &often);
		break;
	case SHELL_FOR:
		follow_for(follow, node);
		break;
	case SHELL_CASE:
		check_evaluate(follow, node->words);
		for (const struct shell_node *list = node->children; list;
		     list = list->next)
			follow_branch(follow, list->children);
		break;
	case SHELL_FUNCTION:
		follow_function(follow, node);
		break;
	case SHELL_TEST:
	case SHELL_COMPUTE:
		follow_test(follow, node);
		break;
	}
}

static void follow_node(struct check_follow *follow, const struct shell_node *node)
{
	const size_t mark = check_undo_mark(follow);
	const bool background = follow->background;

	if (follow->rc < 0)
		return;
	follow->node = node;
	follow->background |= node->background;
	if (node->kind != SHELL_COMMAND)
		follow_redirects(follow, node);
	follow->node = node;
	follow_kind(follow, node);
	follow->background = background;
	if (node->background)
		check_undo_to(follow, mark);
}

/* A command that asks, so that what follows && may well not run. */
static bool is_question(const struct shell_node *node)
{
	const char *name = literal_name(node);

	return node->kind == SHELL_TEST || node->kind == SHELL_COMPUTE || node->negated ||
	       strcmp(name, "[") == 0 || strcmp(name, "test") == 0 ||
	       strcmp(name, "grep") == 0 || strcmp(name, "command") == 0;
}

void check_follow_list(struct check_follow *follow, const struct shell_node *node)
{
	const bool conditional = follow->conditional;
	bool question = false;

	for (; node && follow->rc == 0; node = node->next) {
		const size_t mark = check_undo_mark(follow);

		if (node->link == SHELL_THEN)
			question = false;
		question |= node->link == SHELL_OR;
		follow->conditional = conditional || question;
		follow_node(follow, node);
		if (question && node->link != SHELL_THEN)
			merge_branch(follow, mark);
		follow->conditional = conditional;
		question |= is_question(node);
	}
}

/* ---- all of it ---- */

static void follow_uncalled(struct check_follow *follow)
{
	follow->uncalled = follow->function = true;
	follow->arguments = NULL;
	follow->arguments_count = 0;
	follow->arguments_known = false;
	for (struct check_name *name = follow->functions; name;
	     name = name->next_function) {
		const size_t mark = check_undo_mark(follow);

		if (!name->function || name->function_called ||
		    name->function_of != follow->shell)
			continue;
		name->function_called = true;
		follow_node(follow, name->function);
		check_undo_to(follow, mark);
	}
}

/* #!/bin/bash -eu: options from the first command on. */
static void read_shebang(struct check_follow *follow)
{
	const struct script_range line = follow->model->header.shebang;
	const char *text = follow->model->source.text;

	for (size_t at = line.begin; at + 1 < line.end; at++) {
		if (text[at] != ' ' || text[at + 1] != '-')
			continue;
		for (at += 2; at < line.end && isalpha((unsigned char)text[at]); at++) {
			follow->errexit |= text[at] == 'e';
			follow->nounset |= text[at] == 'u';
		}
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct check_assignment *const *left = a, *const *right = b;
	const int names = strcmp((*left)->name, (*right)->name);

	if (names != 0)
		return names;
	return (*left)->index < (*right)->index ? -1 : (*left)->index > (*right)->index;
}

static void sort_names(struct check_follow *follow)
{
	struct check_model *model = follow->model;
	const size_t size = model->assignments_count * sizeof(*model->by_name);

	model->by_name = check_alloc(follow, size + 1);
	if (!model->by_name || size == 0)
		return;
	memcpy(model->by_name, model->assignments, size);
	qsort(model->by_name, model->assignments_count, sizeof(*model->by_name),
	      compare_names);
}

int check_follow(struct check_model *model)
{
	struct check_follow follow = {
		.model = model,
		.arena = &model->arena,
		.where = CHECK_BATCH,
		.stages = 1,
		.budget = 4 * model->program.nodes + 1000,
	};
	struct shell_text text = {model->source.text, model->source.length, NULL, NULL};

	follow.functions_end = &follow.functions;
	follow.names = calloc(CHECK_NAMES_HASH, sizeof(*follow.names));
	if (!follow.names)
		return -ENOMEM;
	for (size_t i = 0; i < CHECK_VARIABLES; i++) {
		const char *name = check_variable_name(i);

		follow.known[i] = check_name_find(&follow, name, strlen(name));
	}
	read_shebang(&follow);
	if (follow.rc == 0)
		follow.shell =
			note_shell(&follow, CHECK_SHELL_SCRIPT, NULL,
				   (struct script_range){0, (uint32_t)text.length});
	follow.text = &text;
	if (follow.shell && follow.rc == 0) {
		check_follow_list(&follow, model->program.list);
		follow_uncalled(&follow);
	}
	if (follow.rc == 0)
		sort_names(&follow);
	free(follow.undo);
	free(follow.names);
	return follow.rc;
}

/* The last assignment of NAME that is not behind ORDER; NULL: none. */
static const struct check_assignment *last_of(const struct check_model *model,
					      const char *name, size_t order)
{
	size_t low = 0, high = model->assignments_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct check_assignment *at = model->by_name[middle];
		const int names = strcmp(at->name, name);

		if (names < 0 || (names == 0 && at->order <= order))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && strcmp(model->by_name[low - 1]->name, name) == 0
		       ? model->by_name[low - 1]
		       : NULL;
}

const struct check_assignment *check_sees(const struct check_model *model,
					  const struct check_command *command,
					  const char *name)
{
	const struct check_assignment *found;

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		if (strcmp(variables[i].name, name) == 0)
			return command->sees[variables[i].variable];
	}
	found = last_of(model, name, command->order);
	for (; found; found = found->earlier) {
		const struct check_shell *shell = command->shell;

		/* FOR_ONE and its like end with their command. */
		if (found->export != CHECK_KEPT && found->export != CHECK_EXPORTED) {
			const struct check_command *within = command;

			while (within && within != found->command)
				within = within->parent;
			if (!within)
				continue;
		}
		while (shell && shell != found->shell)
			shell = shell->parent;
		if (shell)
			return found->unset ? NULL : found;
	}
	return NULL;
}
