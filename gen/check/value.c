/* SPDX-License-Identifier: MIT */
/*
 * Words -> values: what the script says about a variable is put in for it, and what only
 * the running job knows stays as an expansion, with what can be said of it as a number.
 * See model.h.
 */
#include "gen/check/follow.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A value that grows above this stays a variable: text that doubles with each line must
 * not. Command lines of launchers are shorter by far.
 */
#define VALUE_MAX 16384
#define ITEMS_MAX 1024
/* So much of an expansion's spelling is kept; one that is not closed goes to the end. */
#define SPELLING_MAX 4096

/* The number of all bytes of a job id, which Slurm counts in 32 bits (NO_VAL). */
#define JOB_ID_MAX INT32_MAX

/* A value that is being put together, and those that are done. */
struct building {
	struct check_follow *follow;
	char *text;
	uint32_t *origins, *sources;
	bool elsewhere; /* SOURCES are not ORIGINS */
	bool *splits;   /* a blank here ends the word: it came from a bare expansion */
	size_t length, room;
	struct check_expansion *expansions;
	size_t expansions_count;
	bool quoted, some; /* SOME: a word even if it is empty */
	struct script_range range;
	struct check_value *values;
	size_t values_count;
	bool split; /* into words */
};

static const struct check_number unknown;

static struct check_number exact(int64_t value)
{
	return (struct check_number){.known = true, .low = value, .high = value};
}

static struct check_number between(int64_t low, int64_t high, unsigned int varies)
{
	return (struct check_number){true, low, high, varies};
}

/* ---- putting together ---- */

static bool make_room(struct building *b, size_t more)
{
	struct check_follow *follow = b->follow;
	size_t room = b->room ? b->room : 32;
	char *text;
	uint32_t *origins, *sources;
	bool *splits;

	if (b->length + more <= b->room)
		return true;
	while (room < b->length + more)
		room *= 2;
	text = check_alloc(follow, room + 1);
	origins = check_alloc(follow, (room + 1) * sizeof(*origins));
	sources = check_alloc(follow, (room + 1) * sizeof(*sources));
	splits = check_alloc(follow, room + 1);
	if (!text || !origins || !sources || !splits)
		return false;
	if (b->length > 0) {
		memcpy(text, b->text, b->length);
		memcpy(origins, b->origins, b->length * sizeof(*origins));
		memcpy(sources, b->sources, b->length * sizeof(*sources));
		memcpy(splits, b->splits, b->length);
	}
	b->text = text;
	b->origins = origins;
	b->sources = sources;
	b->splits = splits;
	b->room = room;
	return true;
}

static void put(struct building *b, char byte, uint32_t origin, uint32_t source,
		bool splits)
{
	if (!make_room(b, 1))
		return;
	b->text[b->length] = byte;
	b->origins[b->length] = origin;
	b->sources[b->length] = source;
	b->splits[b->length++] = splits;
	b->elsewhere |= origin != source;
}

static struct check_expansion *
add_expansion(struct building *b, const struct check_expansion *expansion, size_t at)
{
	struct check_follow *follow = b->follow;
	struct check_expansion *grown = spec_arena_grow(
		follow->arena, b->expansions, b->expansions_count, sizeof(*grown));

	if (!grown) {
		follow->rc = -ENOMEM;
		return NULL;
	}
	b->expansions = grown;
	grown += b->expansions_count++;
	*grown = *expansion;
	grown->at = (uint32_t)at;
	return grown;
}

static void set_source(struct check_value *value)
{
	value->source = (struct script_range){value->sources[0],
					      value->sources[value->length - 1] + 1};
	if (value->source.end <= value->source.begin)
		value->source = value->range;
}

/* Ends the word; an empty one is none unless it has quotes. */
static void flush(struct building *b)
{
	struct check_follow *follow = b->follow;
	struct check_value *value;

	if (b->length == 0 && !b->some)
		return;
	value = spec_arena_grow(follow->arena, b->values, b->values_count,
				sizeof(*value));
	if (!value || !make_room(b, 1)) {
		follow->rc = -ENOMEM;
		return;
	}
	b->values = value;
	b->text[b->length] = '\0';
	value[b->values_count++] = (struct check_value){
		.text = b->text,
		.length = (uint32_t)b->length,
		.range = b->range,
		.source = b->range,
		.constant = b->expansions_count == 0,
		.quoted = b->quoted,
		.expansions = b->expansions,
		.expansions_count = (uint32_t)b->expansions_count,
		.origins = b->origins,
		.sources = b->elsewhere ? b->sources : NULL,
	};
	if (b->elsewhere)
		set_source(&value[b->values_count - 1]);
	/* A word that a variable of many words gave stands where that one does. */
	if (b->length > 0 &&
	    (b->origins[0] < b->range.begin || b->origins[0] >= b->range.end)) {
		struct check_value *last = &value[b->values_count - 1];

		last->range = (struct script_range){b->origins[0],
						    b->origins[b->length - 1] + 1};
		if (last->range.end <= last->range.begin)
			last->range.end = last->range.begin + 1;
		last->source = last->range;
	}
	b->text = NULL;
	b->elsewhere = false;
	b->origins = b->sources = NULL;
	b->splits = NULL;
	b->length = b->room = 0;
	b->expansions = NULL;
	b->expansions_count = 0;
	b->some = false;
}

/* What another copy of VALUE takes, more or less. */
static size_t cost_of(const struct check_value *value)
{
	return sizeof(*value) + value->length +
	       value->expansions_count * sizeof(*value->expansions);
}

static bool has_blank(const struct check_value *value)
{
	size_t next = 0;

	for (size_t i = 0; i < value->length; i++) {
		if (next < value->expansions_count && value->expansions[next].at == i) {
			i += value->expansions[next++].length - 1;
			continue;
		}
		if (value->text[i] == ' ' || value->text[i] == '\t' ||
		    value->text[i] == '\n')
			return true;
	}
	return false;
}

/*
 * VALUE, which variable ASSIGNMENT holds (NULL: no variable), in the place of what is
 * spelt at RANGE. A value that is many words, a whole command line perhaps, is pointed at
 * where it stands, and others where they are used.
 */
static void put_value(struct building *b, const struct check_value *value,
		      const struct check_assignment *assignment,
		      struct script_range range, bool quoted)
{
	const bool splits = b->split && !quoted;
	const bool here = range.end > range.begin && !has_blank(value);
	size_t next = 0, inside = 0;

	b->follow->copied += cost_of(value);
	for (size_t i = 0; i < value->length && b->follow->rc == 0; i++) {
		const char c = value->text[i];
		uint32_t origin = value->origins ? value->origins[i] : value->range.begin;
		const uint32_t source = value->sources ? value->sources[i] : origin;

		if (here && i + 1 == value->length)
			origin = range.end - 1;
		else if (here)
			origin = range.begin + i < range.end ? range.begin + (uint32_t)i
							     : range.end - 1;
		if (inside == 0 && next < value->expansions_count &&
		    value->expansions[next].at == i) {
			struct check_expansion *copy =
				add_expansion(b, &value->expansions[next], b->length);

			if (!copy)
				return;
			if (!copy->through)
				copy->through = assignment;
			copy->quoted = quoted;
			inside = value->expansions[next++].length;
		}
		if (inside > 0) {
			inside--;
			put(b, c, origin, source, false);
		} else if (splits && (c == ' ' || c == '\t' || c == '\n')) {
			if (b->length > 0)
				flush(b);
		} else {
			put(b, c, origin, source, splits);
		}
	}
	b->some |= quoted;
}

/* ---- numbers of expansions ---- */

/* 1${SLURM_JOB_ID: -4}: digits around an expansion of so many digits. */
static struct check_number digits_around(const struct check_value *value)
{
	const struct check_expansion *expansion = &value->expansions[0];
	struct check_number number = {.varies = expansion->number.varies};
	int64_t low = 0, high = 0;

	/* Only what may start with 0 always has the same number of digits. */
	if (!expansion->octal || !expansion->number.known)
		return number;
	for (size_t i = 0; i < value->length; i++) {
		const char c = value->text[i];

		if (high > INT32_MAX)
			return number;
		if (i == expansion->at) {
			low *= expansion->number.high + 1;
			high = high * (expansion->number.high + 1) +
			       expansion->number.high;
			i += expansion->length - 1;
		} else if (isdigit((unsigned char)c)) {
			low = low * 10 + c - '0';
			high = high * 10 + c - '0';
		} else {
			return number;
		}
	}
	return between(low, high, number.varies);
}

struct check_number check_value_number(const struct check_model *model,
				       const struct check_value *value)
{
	size_t at = 0, digits = 0;
	int64_t number = 0;
	bool negative;

	if (value->expansions_count == 1 && value->expansions[0].at == 0 &&
	    value->expansions[0].length == value->length)
		return value->expansions[0].number;
	if (value->expansions_count == 1)
		return digits_around(value);
	if (!value->constant)
		return unknown;
	while (at < value->length && isspace((unsigned char)value->text[at]))
		at++;
	negative = at < value->length && value->text[at] == '-';
	at += negative;
	for (; at < value->length && isdigit((unsigned char)value->text[at]); at++) {
		if (++digits > 18)
			return unknown;
		number = number * 10 + value->text[at] - '0';
	}
	while (at < value->length && isspace((unsigned char)value->text[at]))
		at++;
	if (digits == 0 || at < value->length)
		return unknown;
	return exact(negative ? -number : number);
}

static unsigned int varies_of(const struct check_value *value)
{
	unsigned int varies = 0;

	for (size_t i = 0; i < value->expansions_count; i++)
		varies |= value->expansions[i].number.varies;
	return varies;
}

/* Variables of the shell, and of Slurm, that have a number. */
static struct check_number variable_number(const struct check_follow *follow,
					   const char *name)
{
	static const struct {
		const char *name;
		struct check_number number;
	} shells[] = {
		{"RANDOM", {true, 0, 32767, CHECK_AT_RANDOM}},
		{"SRANDOM", {true, 0, UINT32_MAX, CHECK_AT_RANDOM}},
		{"SECONDS", {true, 0, INT32_MAX, CHECK_AT_RANDOM}},
		{"EPOCHSECONDS", {true, 0, UINT32_MAX, CHECK_AT_RANDOM}},
		{"$", {true, 1, 4194304, CHECK_AT_RANDOM}},
		{"BASHPID", {true, 1, 4194304, CHECK_AT_RANDOM}},
		{"PPID", {true, 1, 4194304, CHECK_AT_RANDOM}},
		{"HOSTNAME", {.varies = CHECK_SAME}},
	};

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		if (strcmp(shells[i].name, name) == 0)
			return shells[i].number;
	}
	return check_slurm_variable(follow->model, name, follow->where, follow->step)
		.number;
}

static struct check_number name_number(const struct check_follow *follow,
				       const char *text, size_t length)
{
	char name[64];
	const struct check_name *found;
	const struct check_binding *binding;

	if (length >= sizeof(name))
		return unknown;
	memcpy(name, text, length);
	name[length] = '\0';
	found = check_name_find((struct check_follow *)follow, name, length);
	binding = found ? check_visible(follow, found) : NULL;
	if (!binding)
		return variable_number(follow, name);
	return binding->set ? check_value_number(follow->model, &binding->value)
			    : binding->number;
}

/* ---- arithmetic ---- */

struct arithmetic {
	struct check_follow *follow;
	const struct check_value *value;
	size_t at, expansion; /* EXPANSION: the first one not yet passed */
	unsigned int depth;
	bool octal, failed;
};

static char sign(struct arithmetic *a)
{
	while (a->at < a->value->length && isspace((unsigned char)a->value->text[a->at]))
		a->at++;
	return a->at < a->value->length ? a->value->text[a->at] : '\0';
}

static struct check_number combine(const struct check_number *a,
				   const struct check_number *b)
{
	return (struct check_number){.varies = a->varies | b->varies};
}

/* Sums and products of what fits 32 bits fit 64; more is no port and no count. */
#define LIMIT ((int64_t)1 << 31)

static bool is_small(const struct check_number *number)
{
	return number->known && number->low >= -LIMIT && number->high <= LIMIT;
}

static struct check_number multiply(const struct check_number *a,
				    const struct check_number *b)
{
	const int64_t corners[] = {a->low * b->low, a->low * b->high, a->high * b->low,
				   a->high * b->high};
	struct check_number result = between(corners[0], corners[0], 0);

	for (size_t i = 1; i < 4; i++) {
		result.low = corners[i] < result.low ? corners[i] : result.low;
		result.high = corners[i] > result.high ? corners[i] : result.high;
	}
	return result;
}

static struct check_number modulo(const struct check_number *a,
				  const struct check_number *b)
{
	const int64_t by = b->low;

	if (!check_exact(b) || by <= 0)
		return unknown;
	if (check_exact(a))
		return exact(a->low % by);
	if (a->known && a->low >= 0 && a->high < by)
		return between(a->low, a->high, 0);
	/* Of an unknown number nobody expects less than nothing. */
	return between(0, by - 1, 0);
}

static struct check_number apply(char op, const struct check_number *a,
				 const struct check_number *b)
{
	struct check_number result = unknown;

	if (op == '%') {
		result = modulo(a, b);
	} else if (is_small(a) && is_small(b)) {
		switch (op) {
		case '+':
			result = between(a->low + b->low, a->high + b->high, 0);
			break;
		case '-':
			result = between(a->low - b->high, a->high - b->low, 0);
			break;
		case '*':
			result = multiply(a, b);
			break;
		case '/':
			if (check_exact(b) && b->low > 0)
				result = between(a->low / b->low, a->high / b->low, 0);
			break;
		case '&':
			if (check_exact(b) && b->low >= 0)
				result = between(0, b->low, 0);
			break;
		default:
			break;
		}
	}
	result.varies = a->varies | b->varies;
	return result;
}

static struct check_number read_sum(struct arithmetic *a);

static struct check_number read_digits(struct arithmetic *a)
{
	const struct check_value *value = a->value;
	const size_t begin = a->at;
	int64_t number = 0;
	int base = 10;

	if (value->text[a->at] == '0' && a->at + 1 < value->length &&
	    isdigit((unsigned char)value->text[a->at + 1]))
		base = 8;
	while (a->at < value->length && isdigit((unsigned char)value->text[a->at]) &&
	       a->at - begin < 18)
		number = number * base + value->text[a->at++] - '0';
	/* 10#$X; other bases are rare. */
	if (a->at < value->length && value->text[a->at] == '#') {
		const bool octal = a->octal;
		struct check_number result;

		a->at++;
		a->depth++;
		result = read_sum(a);
		a->depth--;
		a->octal = octal;
		return number == 10 ? result : unknown;
	}
	return exact(number);
}

static struct check_number read_operand(struct arithmetic *a)
{
	const struct check_value *value = a->value;
	const char c = sign(a);
	struct check_number number;
	size_t begin;

	while (a->expansion < value->expansions_count &&
	       value->expansions[a->expansion].at < a->at)
		a->expansion++;
	if (a->expansion < value->expansions_count &&
	    value->expansions[a->expansion].at == a->at) {
		const struct check_expansion *expansion =
			&value->expansions[a->expansion++];

		a->octal |= expansion->octal && expansion->kind != CHECK_ARITHMETIC;
		a->at += expansion->length;
		/* Digits behind it, as in $A00, make another number. */
		if (a->at < value->length &&
		    (isalnum((unsigned char)value->text[a->at]) ||
		     value->text[a->at] == '_')) {
			a->failed = true;
			return (struct check_number){.varies = expansion->number.varies};
		}
		return expansion->number;
	}
	if (isdigit((unsigned char)c)) {
		begin = a->at;
		number = read_digits(a);
		if (a->expansion < value->expansions_count &&
		    value->expansions[a->expansion].at == a->at && a->at > begin)
			a->failed = true;
		return number;
	}
	if (isalpha((unsigned char)c) || c == '_') {
		begin = a->at;
		while (a->at < value->length &&
		       (isalnum((unsigned char)value->text[a->at]) ||
			value->text[a->at] == '_'))
			a->at++;
		return name_number(a->follow, value->text + begin, a->at - begin);
	}
	if (c == '(' || c == '-' || c == '+' || c == '!' || c == '~') {
		static const struct check_number zero = {.known = true};

		a->at++;
		if (++a->depth > 64) {
			a->failed = true;
			return unknown;
		}
		number = c == '(' ? read_sum(a) : read_operand(a);
		a->depth--;
		if (c == '-')
			return apply('-', &zero, &number);
		if (c == '!' || c == '~')
			return combine(&number, &number);
		if (c == '(' && sign(a) == ')')
			a->at++;
		return number;
	}
	a->failed = true;
	return unknown;
}

static struct check_number read_product(struct arithmetic *a)
{
	struct check_number left = read_operand(a);

	for (;;) {
		const char op = sign(a);
		struct check_number right;

		if (!op || !strchr("*/%", op) ||
		    (op == '*' && a->at + 1 < a->value->length &&
		     a->value->text[a->at + 1] == '*') ||
		    a->failed)
			return left;
		a->at++;
		right = read_operand(a);
		left = apply(op, &left, &right);
	}
}

static struct check_number read_sum(struct arithmetic *a)
{
	struct check_number left = read_product(a);

	for (;;) {
		const char op = sign(a);
		struct check_number right;

		if (!op || !strchr("+-&", op) || a->failed ||
		    (a->at + 1 < a->value->length && a->value->text[a->at + 1] == op))
			return left;
		a->at++;
		right = read_product(a);
		left = apply(op, &left, &right);
	}
}

struct check_number check_arithmetic(struct check_follow *follow,
				     const struct check_value *expression, bool *octal)
{
	struct arithmetic a = {.follow = follow, .value = expression};
	struct check_number number = read_sum(&a);

	/* An operator that is not known here: comparisons, shifts, ?:, assignments. */
	if (a.failed || sign(&a))
		number = (struct check_number){.varies = number.varies |
							 varies_of(expression)};
	number.varies |= varies_of(expression);
	if (check_exact(&number) && expression->constant)
		number.varies = 0;
	*octal = a.octal;
	return number;
}

/* ---- substitutions ---- */

static bool is_command(const struct check_command *command, const char *name)
{
	return strcmp(command->name, name) == 0;
}

static bool has_word(const struct check_command *command, const char *word)
{
	for (size_t i = 1; i < command->words_count; i++) {
		if (strcmp(command->words[i].text, word) == 0)
			return true;
	}
	return false;
}

static const struct check_amount *visible_amount(const struct check_follow *follow)
{
	if (follow->step)
		return &follow->step->amount[CHECK_VISIBLE];
	return &follow->model->jobs[0].amount[CHECK_GPUS_PER_NODE];
}

/* What `FIRST ... | wc -l` counts. */
static struct check_number count_lines(struct check_follow *follow,
				       const struct check_command *first)
{
	if (is_command(first, "scontrol") && has_word(first, "show") &&
	    (has_word(first, "hostnames") || has_word(first, "hostname")))
		return follow->model->jobs[0].amount[CHECK_NODES].number;
	if (is_command(first, "nvidia-smi"))
		return visible_amount(follow)->number;
	if (is_command(first, "echo") && first->words_count > 1 &&
	    check_value_expands(&first->words[first->words_count - 1],
				"CUDA_VISIBLE_DEVICES"))
		return visible_amount(follow)->number;
	return unknown;
}

/* The last N characters of a job id, or of what else the first command prints. */
static struct check_number last_digits(const struct check_command *first,
				       const struct check_command *last)
{
	int64_t count = 0, power = 1;

	for (size_t i = 1; i < last->words_count; i++) {
		const char *text = last->words[i].text;

		if (strncmp(text, "-c", 2) == 0)
			count = strtol(text[2] ? text + 2 : "0", NULL, 10);
		else if (isdigit((unsigned char)text[0]))
			count = strtol(text, NULL, 10);
		else if (strncmp(text, "--bytes=", 8) == 0)
			count = strtol(text + 8, NULL, 10);
	}
	/* echo without -n ends its line, and the line end is one of the bytes. */
	if (is_command(first, "echo") && !has_word(first, "-n"))
		count--;
	if (count <= 0 || count > 9)
		return unknown;
	for (int64_t i = 0; i < count; i++)
		power *= 10;
	return between(0, power - 1, 0);
}

static struct check_number shuffled(const struct check_command *command)
{
	for (size_t i = 1; i < command->words_count; i++) {
		const char *text = command->words[i].text;
		char *end;
		int64_t low, high;

		if (strcmp(text, "-i") == 0 && i + 1 < command->words_count)
			text = command->words[i + 1].text;
		else if (strncmp(text, "-i", 2) == 0)
			text += 2;
		else if (strncmp(text, "--input-range=", 14) == 0)
			text += 14;
		else
			continue;
		low = strtol(text, &end, 10);
		if (*end != '-')
			break;
		high = strtol(end + 1, &end, 10);
		if (*end == '\0' && low <= high)
			return between(low, high, CHECK_AT_RANDOM);
	}
	return (struct check_number){.varies = CHECK_AT_RANDOM};
}

/* Commands that say something else wherever, or whenever, they run. */
static const struct {
	const char *name;
	unsigned int varies;
} varying[] = {
	{"hostname", CHECK_PER_NODE}, {"uname", CHECK_PER_NODE},
	{"ip", CHECK_PER_NODE},       {"ifconfig", CHECK_PER_NODE},
	{"date", CHECK_AT_RANDOM},    {"shuf", CHECK_AT_RANDOM},
	{"mktemp", CHECK_AT_RANDOM},  {"uuidgen", CHECK_AT_RANDOM},
	{"openssl", CHECK_AT_RANDOM}, {"ss", CHECK_AT_RANDOM},
	{"netstat", CHECK_AT_RANDOM}, {"od", CHECK_AT_RANDOM},
};

/* The number that the commands FIRST up to LAST print, as far as it can be said. */
static struct check_number substitution_number(struct check_follow *follow, size_t first,
					       size_t last, bool *octal)
{
	struct check_command *const *commands = follow->model->commands;
	struct check_number number = unknown;
	const struct check_command *begin, *end;
	unsigned int varies = 0;

	if (last <= first)
		return unknown;
	begin = commands[first];
	end = commands[last - 1];
	for (size_t i = first; i < last; i++) {
		for (size_t j = 0; j < commands[i]->words_count; j++)
			varies |= varies_of(&commands[i]->words[j]);
		for (size_t j = 0; j < sizeof(varying) / sizeof(*varying); j++) {
			if (is_command(commands[i], varying[j].name))
				varies |= varying[j].varies;
		}
		if (commands[i]->tool == CHECK_PYTHON)
			varies |= CHECK_AT_RANDOM;
	}
	if (last - first == 1 && (is_command(end, "echo") || is_command(end, "printf"))) {
		const struct check_value *words = end->words;

		if (end->words_count > 1)
			number = check_value_number(follow->model,
						    &words[end->words_count - 1]);
	} else if (is_command(end, "wc")) {
		number = count_lines(follow, begin);
	} else if (is_command(end, "tail") || is_command(end, "cut")) {
		number = last_digits(begin, end);
		*octal = true;
	} else if (is_command(end, "shuf")) {
		number = shuffled(end);
	} else if (is_command(end, "expr") && end->words_count > 1) {
		struct check_value sum = check_value_join(follow, end->words + 1,
							  end->words_count - 1, ' ');
		bool ignored;

		/* expr knows no octal. */
		number = check_arithmetic(follow, &sum, &ignored);
	} else if (is_command(end, "nvidia-smi")) {
		number = unknown;
	}
	number.varies |= varies;
	return number;
}

/* ---- pieces ---- */

static uint32_t origin_of(const struct check_follow *follow, size_t at)
{
	return follow->text->origins ? follow->text->origins[at] : (uint32_t)at;
}

/* Where AT of the text of backquotes is in the value that the shell reads. */
static size_t around(const struct check_follow *follow, size_t at)
{
	return follow->text->around ? follow->text->around[at] : at;
}

static uint32_t source_of(const struct check_follow *follow, size_t at)
{
	return follow->origin && follow->origin->sources
		       ? follow->origin->sources[around(follow, at)]
		       : origin_of(follow, at);
}

/* BYTE, which stands at AT in the text that the shell reads. */
static void put_byte(struct building *b, size_t at, char byte)
{
	put(b, byte, origin_of(b->follow, at), source_of(b->follow, at), false);
}

static uint32_t spelt_length(const struct shell_piece *piece)
{
	const uint32_t length = piece->end - piece->begin;

	return length < SPELLING_MAX ? length : SPELLING_MAX;
}

/* The text of PIECE as it is spelt, with its origins. */
static void put_spelling(struct building *b, const struct shell_piece *piece)
{
	const struct shell_text *text = b->follow->text;

	for (size_t at = piece->begin; at < piece->begin + spelt_length(piece); at++)
		put_byte(b, at, text->bytes[at]);
}

static void put_expansion(struct building *b, const struct shell_piece *piece,
			  struct check_expansion *expansion)
{
	expansion->shell = b->follow->shell;
	expansion->quoted = piece->quoting != SHELL_BARE;
	expansion->range = piece->range;
	expansion->length = spelt_length(piece);
	add_expansion(b, expansion, b->length);
	put_spelling(b, piece);
}

/* An expansion that a shell outside has done: what it knew of it holds here, too. */
static void put_outer(struct building *b, const struct shell_piece *piece)
{
	const struct check_value *origin = b->follow->origin;
	struct check_expansion expansion = {
		.kind = CHECK_PARAMETER,
		.name = "",
		.op = "",
		.range = piece->range,
		.length = spelt_length(piece),
		.quoted = piece->quoting != SHELL_BARE,
		.shell = b->follow->shell->parent ? b->follow->shell->parent
						  : b->follow->shell,
	};
	size_t low = 0, high = origin ? origin->expansions_count : 0;
	const size_t at = around(b->follow, piece->begin);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (origin->expansions[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (origin && low < origin->expansions_count &&
	    origin->expansions[low].at == at) {
		expansion = origin->expansions[low];
		expansion.quoted |= piece->quoting != SHELL_BARE;
		expansion.length = spelt_length(piece);
	}
	add_expansion(b, &expansion, b->length);
	put_spelling(b, piece);
}

static bool may_copy(const struct building *b, const struct check_value *value)
{
	return b->length + value->length <= VALUE_MAX &&
	       b->follow->copied + cost_of(value) <= CHECK_COPIED_MAX;
}

/* The elements of an array, or "$@", as words of their own. */
static void put_items(struct building *b, const struct check_value *items, size_t count,
		      const struct check_assignment *assignment,
		      struct script_range range, bool quoted)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && b->split)
			flush(b);
		else if (i > 0)
			put(b, ' ', items[i].range.begin, items[i].range.begin, false);
		put_value(b, &items[i], assignment, range, quoted);
	}
}

static bool is_all(const struct shell_word *index)
{
	return index && index->literal &&
	       (strcmp(index->text, "@") == 0 || strcmp(index->text, "*") == 0);
}

/* The element of BINDING that INDEX means; NULL: it cannot be said. */
static const struct check_value *find_item(struct check_follow *follow,
					   const struct check_binding *binding,
					   const struct shell_word *index)
{
	int64_t at = 0;

	if (index) {
		const struct check_value value = check_evaluate(follow, index);
		const struct check_number number =
			check_value_number(follow->model, &value);

		if (!check_exact(&number) || number.low < 0)
			return NULL;
		at = number.low;
	}
	if (!binding->array)
		return at == 0 ? &binding->value : NULL;
	for (size_t i = 0; i <= (size_t)at && i < binding->items_count; i++) {
		const struct check_value *item = &binding->items[i];

		/* $(...) without quotes may be any number of elements. */
		for (size_t j = 0; j < item->expansions_count; j++) {
			if (!item->expansions[j].quoted)
				return NULL;
		}
	}
	return (size_t)at < binding->items_count ? &binding->items[at] : NULL;
}

/* ${#ARRAY[@]}, where no element can be more than one. */
static struct check_number count_items(struct check_follow *follow,
				       const struct check_binding *binding)
{
	for (size_t i = 0; i < binding->items_count; i++) {
		const struct check_value *item = &binding->items[i];

		for (size_t j = 0; j < item->expansions_count; j++) {
			const struct check_expansion *expansion = &item->expansions[j];

			if (expansion->quoted)
				continue;
			/* NODES=($(scontrol show hostnames ...)) */
			if (binding->items_count == 1 &&
			    expansion->kind == CHECK_SUBSTITUTE &&
			    expansion->last == expansion->first + 1)
				return count_lines(
					follow,
					follow->model->commands[expansion->first]);
			return unknown;
		}
	}
	return exact((int64_t)binding->items_count);
}

/* ${X: -4}: so many last digits. */
static struct check_number substring_number(struct check_follow *follow,
					    const struct shell_piece *piece,
					    const struct check_number *whole, bool *octal)
{
	const struct check_value operand = check_evaluate(follow, piece->operand);
	const struct check_number offset = check_value_number(follow->model, &operand);
	struct check_number number = {.varies = whole->varies};
	int64_t power = 1;

	*octal = true;
	if (!check_exact(&offset) || offset.low >= 0 || offset.low < -9)
		return number;
	for (int64_t i = 0; i > offset.low; i--)
		power *= 10;
	return between(0, power - 1, whole->varies);
}

/* True when the value of the parameter, or of its default, stands in its place now. */
static bool put_known(struct building *b, const struct shell_piece *piece,
		      const struct check_binding *binding)
{
	const bool quoted = piece->quoting != SHELL_BARE;
	const bool by_default =
		strcmp(piece->op, ":-") == 0 || strcmp(piece->op, "-") == 0 ||
		strcmp(piece->op, ":=") == 0 || strcmp(piece->op, "=") == 0;
	const bool checked = strcmp(piece->op, ":?") == 0 || strcmp(piece->op, "?") == 0;
	struct check_follow *follow = b->follow;

	if (strcmp(piece->op, "len") == 0) {
		struct check_number count = unknown;
		char digits[24];
		struct check_value value;

		if (binding && binding->set && is_all(piece->index))
			count = count_items(follow, binding);
		if (!check_exact(&count))
			return false;
		snprintf(digits, sizeof(digits), "%lld", (long long)count.low);
		value = check_value_text(follow, digits, piece->range);
		put_value(b, &value, binding->assignment, piece->range, true);
		return true;
	}
	if (*piece->op && !by_default && !checked)
		return false;
	if (binding && binding->set) {
		const struct check_value *item;

		if (is_all(piece->index)) {
			for (size_t i = 0; i < binding->items_count; i++) {
				if (!may_copy(b, &binding->items[i]))
					return false;
			}
			if (binding->array)
				put_items(b, binding->items, binding->items_count,
					  binding->assignment, (struct script_range){0},
					  quoted);
			else
				put_value(b, &binding->value, binding->assignment,
					  piece->range, quoted);
			return true;
		}
		item = find_item(follow, binding, piece->index);
		if (!item || !may_copy(b, item))
			return false;
		if (item->length > 0 || !by_default || piece->op[0] != ':') {
			put_value(b, item, binding->assignment, piece->range, quoted);
			return true;
		}
	}
	/*
	 * ${X:-8}, X being nothing that the script or Slurm sets: whoever submits may set
	 * it, and most do not.
	 */
	if (by_default && (!binding || binding->set) &&
	    strncmp(piece->text, "SLURM", 5) != 0) {
		const struct check_value value = check_evaluate(follow, piece->operand);

		if (!may_copy(b, &value))
			return false;
		put_value(b, &value, NULL, piece->range, quoted);
		return true;
	}
	return false;
}

static void put_parameter(struct building *b, const struct shell_piece *piece)
{
	struct check_follow *follow = b->follow;
	const bool quoted = piece->quoting != SHELL_BARE;
	struct check_expansion expansion = {
		.kind = CHECK_PARAMETER,
		.name = piece->text,
		.op = piece->op,
	};
	const struct check_binding *binding = NULL;
	const struct check_name *name = NULL;

	if (piece->outer) {
		put_outer(b, piece);
		return;
	}
	if (follow->arguments_known && !*piece->op) {
		const int64_t at = isdigit((unsigned char)piece->text[0])
					   ? strtol(piece->text, NULL, 10)
					   : -1;

		if (strcmp(piece->text, "@") == 0 || strcmp(piece->text, "*") == 0) {
			put_items(b, follow->arguments, follow->arguments_count, NULL,
				  (struct script_range){0}, quoted);
			return;
		}
		if (at > 0 && (size_t)at <= follow->arguments_count &&
		    may_copy(b, &follow->arguments[at - 1])) {
			put_value(b, &follow->arguments[at - 1], NULL, piece->range,
				  quoted);
			return;
		}
	}
	if (isalpha((unsigned char)piece->text[0]) || piece->text[0] == '_')
		name = check_name_find(follow, piece->text, strlen(piece->text));
	if (name)
		binding = check_visible(follow, name);
	if (put_known(b, piece, binding)) {
		b->some |= quoted;
		return;
	}
	if (binding) {
		expansion.through = binding->assignment;
		expansion.number =
			binding->set ? check_value_number(follow->model, &binding->value)
				     : binding->number;
		expansion.inner = binding->set ? binding->value.expansions : NULL;
		expansion.inner_count =
			binding->set ? binding->value.expansions_count : 0;
	} else {
		expansion.number = variable_number(follow, piece->text);
	}
	if (strcmp(piece->op, ":") == 0) {
		expansion.number = substring_number(follow, piece, &expansion.number,
						    &expansion.octal);
	} else if (strcmp(piece->op, ":-") == 0 || strcmp(piece->op, "-") == 0) {
		const struct check_value value = check_evaluate(follow, piece->operand);

		if (!expansion.number.known && !binding)
			expansion.number = check_value_number(follow->model, &value);
	} else if (*piece->op && strcmp(piece->op, ":?") != 0 &&
		   strcmp(piece->op, "?") != 0) {
		const struct check_number number = {.varies = expansion.number.varies};

		expansion.number = number;
		if (strcmp(piece->op, "len") == 0 && binding && binding->set &&
		    is_all(piece->index))
			expansion.number = count_items(follow, binding);
	}
	if (piece->index && !is_all(piece->index)) {
		const struct check_number number = {.varies = expansion.number.varies};

		expansion.number = number;
	}
	put_expansion(b, piece, &expansion);
}

/*
 * In $((X + 1)) X is expanded without a $: names that are no constants, as expansions
 * beside those of EXPRESSION, in B.
 */
static void add_names(struct building *b, const struct check_value *expression)
{
	struct check_follow *follow = b->follow;
	size_t next = 0, end;

	for (size_t i = 0; i < expression->expansions_count; i++)
		add_expansion(b, &expression->expansions[i],
			      expression->expansions[i].at);
	for (size_t at = 0; at < expression->length && follow->rc == 0; at = end) {
		const char *text = expression->text + at;
		struct check_expansion expansion = {.kind = CHECK_PARAMETER, .op = ""};
		const struct check_binding *binding;
		const struct check_name *name;

		end = at + 1;
		if (next < expression->expansions_count &&
		    expression->expansions[next].at == at) {
			end = at + expression->expansions[next++].length;
			continue;
		}
		if (isdigit((unsigned char)*text)) {
			while (end < expression->length &&
			       isalnum((unsigned char)expression->text[end]))
				end++;
			continue;
		}
		if (!isalpha((unsigned char)*text) && *text != '_')
			continue;
		while (end < expression->length &&
		       (isalnum((unsigned char)expression->text[end]) ||
			expression->text[end] == '_'))
			end++;
		name = check_name_find(follow, text, end - at);
		if (!name)
			return;
		binding = check_visible(follow, name);
		if (binding && binding->set && binding->value.constant)
			continue;
		expansion.name = name->name;
		expansion.shell = follow->shell;
		expansion.length = (uint32_t)(end - at);
		expansion.number = name_number(follow, text, end - at);
		expansion.range = expression->range;
		if (expression->origins)
			expansion.range =
				(struct script_range){expression->origins[at],
						      expression->origins[end - 1] + 1};
		if (expansion.range.end <= expansion.range.begin)
			expansion.range = expression->range;
		if (binding) {
			expansion.through = binding->assignment;
			expansion.inner = binding->value.expansions;
			expansion.inner_count = binding->value.expansions_count;
		}
		add_expansion(b, &expansion, at);
	}
}

static void put_arithmetic(struct building *b, const struct shell_piece *piece)
{
	struct check_follow *follow = b->follow;
	struct check_expansion expansion = {.kind = CHECK_ARITHMETIC, .op = ""};
	struct building inner = {.follow = follow};
	struct check_value expression;

	if (piece->outer) {
		put_outer(b, piece);
		return;
	}
	expression = check_evaluate(follow, piece->operand);
	expansion.number = check_arithmetic(follow, &expression, &expansion.octal);
	add_names(&inner, &expression);
	if (check_exact(&expansion.number) && inner.expansions_count == 0) {
		char digits[24];
		struct check_value value;

		snprintf(digits, sizeof(digits), "%lld", (long long)expansion.number.low);
		value = check_value_text(follow, digits, piece->range);
		put_value(b, &value, NULL, piece->range, true);
		return;
	}
	expansion.inner = inner.expansions;
	expansion.inner_count = inner.expansions_count;
	put_expansion(b, piece, &expansion);
}

static void put_substitution(struct building *b, const struct shell_piece *piece)
{
	struct check_follow *follow = b->follow;
	struct check_expansion expansion = {
		.kind = piece->kind == SHELL_PROCESS ? CHECK_PROCESS : CHECK_SUBSTITUTE,
		.op = "",
	};

	if (piece->outer) {
		put_outer(b, piece);
		return;
	}
	check_follow_substitution(follow, piece, &expansion.first, &expansion.last);
	if (piece->kind == SHELL_SUBSTITUTE)
		expansion.number = substitution_number(follow, expansion.first,
						       expansion.last, &expansion.octal);
	/* $(echo 8), $(pwd)/x: what echo prints is known. */
	if (expansion.last == expansion.first + 1 && piece->kind == SHELL_SUBSTITUTE) {
		const struct check_command *command =
			follow->model->commands[expansion.first];
		const bool bare =
			command->words_count == 2 && is_command(command, "echo");

		if (bare && command->words[1].constant &&
		    may_copy(b, &command->words[1])) {
			put_value(b, &command->words[1], NULL, piece->range,
				  piece->quoting != SHELL_BARE);
			return;
		}
	}
	put_expansion(b, piece, &expansion);
}

static void put_literal(struct building *b, const struct shell_piece *piece)
{
	const struct shell_text *text = b->follow->text;
	/* What is spelt as it is meant can be pointed at byte by byte. */
	const bool same =
		piece->text >= text->bytes && piece->text < text->bytes + text->length;
	const size_t from = same ? (size_t)(piece->text - text->bytes) : 0;

	for (size_t i = 0; i < piece->length && b->follow->rc == 0; i++) {
		if (same)
			put_byte(b, from + i, piece->text[i]);
		else
			put(b, piece->text[i], piece->range.begin, piece->range.begin,
			    false);
	}
	b->some |= piece->quoting != SHELL_BARE;
}

static void put_pieces(struct building *b, const struct shell_piece *piece)
{
	for (; piece && b->follow->rc == 0; piece = piece->next) {
		b->quoted |= piece->quoting != SHELL_BARE;
		switch (piece->kind) {
		case SHELL_LITERAL:
			put_literal(b, piece);
			break;
		case SHELL_PARAMETER:
			put_parameter(b, piece);
			break;
		case SHELL_ARITHMETIC:
			put_arithmetic(b, piece);
			break;
		case SHELL_SUBSTITUTE:
		case SHELL_PROCESS:
			put_substitution(b, piece);
			break;
		}
	}
}

struct check_value check_evaluate(struct check_follow *follow,
				  const struct shell_word *word)
{
	struct building b = {.follow = follow, .some = true};
	static const char empty[] = "";

	if (word) {
		b.range = word->range;
		put_pieces(&b, word->pieces);
	}
	b.some = true;
	if (follow->rc == 0)
		flush(&b);
	if (follow->rc < 0 || b.values_count == 0)
		return (struct check_value){.text = empty, .constant = true};
	return b.values[0];
}

void check_evaluate_words(struct check_follow *follow, const struct shell_word *word,
			  struct check_value **values, size_t *count)
{
	struct building b = {
		.follow = follow,
		.values = *values,
		.values_count = *count,
		.split = true,
	};

	for (; word && follow->rc == 0; word = word->next) {
		b.range = word->range;
		b.quoted = false;
		put_pieces(&b, word->pieces);
		flush(&b);
		if (b.values_count > ITEMS_MAX * 64)
			break;
	}
	*values = b.values;
	*count = b.values_count;
}

/* ---- parts ---- */

struct check_value check_value_part(struct check_follow *follow,
				    const struct check_value *value, size_t at,
				    size_t length)
{
	struct check_value part = *value;
	struct building b = {.follow = follow};

	part.text = check_copy(follow, value->text + at, length);
	part.length = (uint32_t)length;
	part.expansions = NULL;
	part.expansions_count = 0;
	if (value->origins) {
		part.origins = value->origins + at;
		if (at > 0)
			part.range.begin = value->origins[at - 1] + 1;
		if (part.range.begin < value->range.begin ||
		    part.range.begin > value->range.end)
			part.range.begin = value->range.begin;
		if (at + length < value->length &&
		    value->origins[at + length] >= part.range.begin &&
		    value->origins[at + length] <= value->range.end)
			part.range.end = value->origins[at + length];
		part.source = part.range;
	}
	if (value->sources && length > 0) {
		part.sources = value->sources + at;
		set_source(&part);
	}
	for (size_t i = 0; i < value->expansions_count; i++) {
		const struct check_expansion *expansion = &value->expansions[i];

		if (expansion->at >= at &&
		    expansion->at + expansion->length <= at + length)
			add_expansion(&b, expansion, expansion->at - at);
	}
	part.expansions = b.expansions;
	part.expansions_count = (uint32_t)b.expansions_count;
	part.constant = part.expansions_count == 0;
	if (!part.text)
		part = (struct check_value){.text = "", .constant = true};
	return part;
}

struct check_value check_value_join(struct check_follow *follow,
				    const struct check_value *values, size_t count,
				    char between)
{
	struct building b = {.follow = follow, .some = true};

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && between)
			put(&b, between, values[i].range.begin, values[i].range.begin,
			    false);
		put_value(&b, &values[i], NULL, (struct script_range){0}, true);
	}
	if (count > 0)
		b.range = (struct script_range){values[0].range.begin,
						values[count - 1].range.end};
	b.some = true;
	if (follow->rc == 0)
		flush(&b);
	if (follow->rc < 0 || b.values_count == 0)
		return (struct check_value){.text = "", .constant = true};
	return b.values[0];
}

struct check_value check_value_text(struct check_follow *follow, const char *text,
				    struct script_range range)
{
	const size_t length = strlen(text);
	struct check_value value = {
		.text = check_copy(follow, text, length),
		.length = (uint32_t)length,
		.range = range,
		.source = range,
		.constant = true,
	};

	if (!value.text)
		value = (struct check_value){.text = "", .constant = true};
	return value;
}

/* LEFT: how many may still be looked at, for text that is made to have too many. */
static const struct check_expansion *
find_expansion(const struct check_expansion *expansions, size_t count, const char *name,
	       unsigned int depth, unsigned int *left)
{
	for (size_t i = 0; i<count && * left> 0; i++) {
		const struct check_expansion *found = &expansions[i];

		--*left;
		if (found->kind == CHECK_PARAMETER && strcmp(found->name, name) == 0)
			return found;
		if (depth == 0)
			continue;
		found = find_expansion(found->inner, found->inner_count, name, depth - 1,
				       left);
		if (found)
			return found;
	}
	return NULL;
}

const struct check_expansion *check_value_expands(const struct check_value *value,
						  const char *name)
{
	unsigned int left = 10000;

	return find_expansion(value->expansions, value->expansions_count, name, 8, &left);
}
