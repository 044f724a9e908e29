/* SPDX-License-Identifier: MIT */
/*
 * Readers of single values. The accepted forms are those that sbatch of
 * Slurm 22.05, 24.11 and 26.05 was seen to take; sbatch refuses the rest only when the
 * job is submitted, here the place in the spec is still known.
 */
#include "gen/spec/scalar.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gen/spec/field.h"

/* No field of a time or size is longer; keeps every product below 2^64. */
#define DIGITS_MAX 10

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Reads 1 to DIGITS_MAX digits at *TEXT and moves it behind them. */
static bool take_number(const char **text, uint64_t *number)
{
	size_t digits = 0;

	*number = 0;
	while (is_digit((*text)[digits]) && digits <= DIGITS_MAX) {
		*number = 10 * *number + (uint64_t)((*text)[digits] - '0');
		digits++;
	}
	*text += digits;
	return digits > 0 && digits <= DIGITS_MAX;
}

static void format_time(uint64_t seconds, char hint[SPEC_HINT_MAX])
{
	uint64_t days = seconds / 86400, hours = seconds / 3600 % 24;
	int at = 0;

	if (days > 0)
		at = snprintf(hint, SPEC_HINT_MAX, "%llu-", (unsigned long long)days);
	snprintf(hint + at, (size_t)(SPEC_HINT_MAX - at), "%02llu:%02llu:%02llu",
		 (unsigned long long)hours, (unsigned long long)(seconds / 60 % 60),
		 (unsigned long long)(seconds % 60));
}

/* "1h30m", "2 days", "90s": what people write; only to suggest the right form. */
static void suggest_time(const char *text, char hint[SPEC_HINT_MAX])
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {
		{"d", 86400},  {"day", 86400}, {"days", 86400}, {"h", 3600}, {"hr", 3600},
		{"hrs", 3600}, {"hour", 3600}, {"hours", 3600}, {"m", 60},   {"min", 60},
		{"mins", 60},  {"minute", 60}, {"minutes", 60}, {"s", 1},    {"sec", 1},
		{"second", 1}, {"seconds", 1},
	};
	const size_t count = sizeof(units) / sizeof(units[0]);
	uint64_t seconds = 0;

	while (*text != '\0') {
		size_t length, unit;
		uint64_t number;

		text += strspn(text, " ");
		if (!take_number(&text, &number))
			return;
		text += strspn(text, " ");
		length = strcspn(text, " 0123456789");
		for (unit = 0; unit < count; unit++) {
			if (strlen(units[unit].name) == length &&
			    strncasecmp(text, units[unit].name, length) == 0)
				break;
		}
		if (unit == count)
			return;
		seconds += number * units[unit].seconds;
		text += length;
		text += strspn(text, " ");
	}
	if (seconds > 0)
		format_time(seconds, hint);
}

/* The fields of a time, in seconds, after `D-` and without it. */
static const unsigned int dashed[] = {3600, 60, 1};

static bool read_clock(const char *text, bool days, uint64_t *seconds)
{
	uint64_t fields[3];
	size_t count = 0;
	const unsigned int *units;

	do {
		if (count == 3 || !take_number(&text, &fields[count++]))
			return false;
	} while (*text == ':' && text++);
	if (*text != '\0')
		return false;
	/* MINUTES and MINUTES:SECONDS without days, HOURS first with them. */
	units = days || count == 3 ? dashed : dashed + 1;
	for (size_t i = 0; i < count; i++)
		*seconds += fields[i] * units[i];
	return true;
}

int spec_time_read(const char *text, uint64_t *seconds, char hint[SPEC_HINT_MAX])
{
	static const char *const unlimited[] = {"-1", "UNLIMITED", "INFINITE"};
	const char *at = text;
	uint64_t days;

	hint[0] = '\0';
	for (size_t i = 0; i < sizeof(unlimited) / sizeof(unlimited[0]); i++) {
		if (strcasecmp(text, unlimited[i]) == 0) {
			*seconds = SPEC_TIME_UNLIMITED;
			return 0;
		}
	}
	*seconds = 0;
	if (take_number(&at, &days) && *at == '-') {
		*seconds = days * 86400;
		/* `1-` is one day to sbatch. */
		if (*++at != '\0' && !read_clock(at, true, seconds))
			goto wrong;
	} else if (!read_clock(text, false, seconds)) {
		goto wrong;
	}
	/* Slurm's arg_set_time_limit() (slurm_opt.c) takes 0 as no limit. */
	if (*seconds == 0)
		*seconds = SPEC_TIME_UNLIMITED;
	return 0;
wrong:
	suggest_time(text, hint);
	return -EINVAL;
}

/* Power of 1024 of the unit letter, over MiB; -2: none. */
static int unit_power(char c)
{
	static const char letters[] = "KMGTP";
	const char *at = c ? strchr(letters, c & ~0x20) : NULL;

	return at ? (int)(at - letters) - 1 : -2;
}

/* "64GiB", "64 G", "1.5G", "2P": what people write; only to suggest the right form. */
static void suggest_memory(const char *text, char hint[SPEC_HINT_MAX])
{
	uint64_t number, tenths = 0, mib;
	int power;

	if (!take_number(&text, &number))
		return;
	if (*text == '.' && is_digit(text[1])) {
		tenths = (uint64_t)(text[1] - '0');
		text += 2;
	}
	text += strspn(text, " ");
	power = unit_power(*text);
	if (power < 0 || number > 1u << 30)
		return;
	text++;
	text += *text == 'i';
	text += *text == 'B' || *text == 'b';
	if (*text != '\0')
		return;
	/* sbatch has no P, and no fractions: step down one unit for either. */
	if (tenths == 0 && power < 3) {
		snprintf(hint, SPEC_HINT_MAX, "%llu%c", (unsigned long long)number,
			 "MGT"[power]);
		return;
	}
	if (power == 0)
		return;
	mib = number * 1024 + tenths * 1024 / 10;
	snprintf(hint, SPEC_HINT_MAX, "%llu%c", (unsigned long long)mib,
		 "MGT"[power - 1]);
}

int spec_memory_read(const char *text, uint64_t *mib, char hint[SPEC_HINT_MAX])
{
	const char *at = text;
	uint64_t number;
	int power = 0;

	hint[0] = '\0';
	if (!take_number(&at, &number))
		goto wrong;
	if (*at != '\0') {
		power = unit_power(*at++);
		if (power == -2 || power > 2)
			goto wrong;
		at += *at == 'B' || *at == 'b';
	}
	if (*at != '\0')
		goto wrong;
	*mib = power < 0 ? (number + 1023) / 1024 : number << (10 * power);
	return 0;
wrong:
	suggest_memory(text, hint);
	return -EINVAL;
}

int spec_array_read(const char *text, uint64_t *count)
{
	const char *at = text;
	/* sbatch takes brackets around the list (slurm_opt.c leaves that to slurmctld).
	 */
	bool bracket = *at == '[';

	*count = 0;
	at += bracket;
	do {
		uint64_t first, last, step = 1;

		if (!take_number(&at, &first))
			return -EINVAL;
		last = first;
		if (*at == '-' && (at++, !take_number(&at, &last)))
			return -EINVAL;
		/* `0:3` without a range is refused by every version. */
		if (*at == ':' && last == first)
			return -EINVAL;
		if (*at == ':' && (at++, !take_number(&at, &step)))
			return -EINVAL;
		if (last < first || step == 0)
			return -EINVAL;
		*count += (last - first) / step + 1;
	} while (*at == ',' && at++);
	if (bracket && *at++ != ']')
		return -EINVAL;
	if (*at == '%') {
		uint64_t most;

		/* `%` alone and %0 are no limit to sbatch. */
		at++;
		if (*at != '\0' && !take_number(&at, &most))
			return -EINVAL;
	}
	return *at == '\0' ? 0 : -EINVAL;
}

int spec_signal_read(const char *text, struct spec_arena **arena,
		     struct spec_signal *signal)
{
	/* Those that Slurm's sig_name2num() knows (src/common/proc_args.c). */
	static const char *const names[] = {
		"HUP",  "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1",
		"USR2", "URG", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "XCPU",
	};
	uint64_t number;
	size_t length;
	char *name;

	*signal = (struct spec_signal){.before = 60};
	if (strncasecmp(text, "B:", 2) == 0) {
		signal->batch = true;
		text += 2;
	}
	length = strcspn(text, "@");
	signal->timed = text[length] == '@';
	if (signal->timed) {
		const char *at = text + length + 1;

		if (!take_number(&at, &number) || *at != '\0' || number > 65535)
			return -EINVAL;
		signal->before = (uint32_t)number;
	}
	if (strncasecmp(text, "SIG", 3) == 0) {
		text += 3;
		length = length > 3 ? length - 3 : 0;
	}
	name = spec_arena_copy(arena, text, length);
	if (!name)
		return -ENOMEM;
	signal->name = name;
	if (is_digit(*text)) {
		const char *at = name;

		/* sbatch takes more, but 64 is the last signal that there is. */
		return take_number(&at, &number) && *at == '\0' && number >= 1 &&
				       number <= 64
			       ? 0
			       : -EINVAL;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(name, names[i]) == 0) {
			signal->name = names[i];
			return 0;
		}
	}
	return -EINVAL;
}

/* Takes one word at *AT into WORD, which is long enough for the rest of the text. */
static int take_word(const char **at, char *word)
{
	char quote = '\0';

	for (; **at && (quote || !is_blank(**at)); ++*at) {
		char c = **at;

		if (quote && c == quote) {
			quote = '\0';
		} else if (!quote && (c == '\'' || c == '"')) {
			quote = c;
		} else if (c == '\\' && quote != '\'') {
			/* In " " a backslash escapes only these (POSIX 2.2.3). */
			if (!(*at)[1])
				return -EINVAL;
			if (!quote || strchr("$`\"\\", (*at)[1]))
				++*at;
			*word++ = **at;
		} else {
			*word++ = c;
		}
	}
	*word = '\0';
	return quote ? -EINVAL : 0;
}

int spec_words_split(const char *text, struct spec_arena **arena, const char ***words,
		     size_t *count)
{
	/* Every word is followed by a blank or the end, so all fit with their NULs. */
	char *word = spec_arena_alloc(arena, strlen(text) + 1);

	*words = NULL;
	*count = 0;
	if (!word)
		return -ENOMEM;
	for (;;) {
		int rc;

		while (is_blank(*text))
			text++;
		if (*text == '\0')
			return 0;
		*words = spec_arena_grow(arena, *words, *count, sizeof(**words));
		if (!*words)
			return -ENOMEM;
		rc = take_word(&text, word);
		if (rc < 0)
			return rc;
		(*words)[(*count)++] = word;
		word += strlen(word) + 1;
	}
}
