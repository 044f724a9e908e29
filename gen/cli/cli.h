/* SPDX-License-Identifier: MIT */
/*
 * What the sub-commands of `srank` share: the table's row, the exit codes, the options
 * that name a job, and the careful writing of a file.
 */
#pragma once

#include "gen/plan/plan.h"
#include "gen/script/script.h"
#include "gen/script/templates.h"
#include "gen/spec/site.h"
#include "gen/spec/spec.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cli_exit {
	CLI_FINE = 0,
	CLI_FAILED = 1, /* errors found, or the work failed */
	CLI_USAGE = 2,  /* wrong call */
};

struct cli_command {
	const char *name;
	const char *args; /* for the usage line */
	const char *help; /* one line, for the list of commands */
	const char *more; /* the options and what else `srank help NAME` says */
	enum cli_exit (*run)(const struct cli_command *command, int argc, char **argv);
};

/* Ended by a NULL name. */
extern const struct cli_command cli_commands[];

/*
 * Prints `srank NAME: MESSAGE` on one line to stderr; control characters in it are
 * escaped, as they are by those below.
 */
void cli_say(const struct cli_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints `srank NAME: MESSAGE` and the usage line to stderr. Always CLI_USAGE. */
enum cli_exit cli_usage(const struct cli_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints `srank NAME: MESSAGE` to stderr. Always CLI_FAILED. */
enum cli_exit cli_fail(const struct cli_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sees that what was printed has left the process. CODE, with which the command ends, or
 * CLI_FAILED with a message where some of it was lost and CODE would not tell.
 */
enum cli_exit cli_end(const struct cli_command *command, enum cli_exit code);

/* Usage, options and what else there is to say about COMMAND. */
void cli_help(FILE *out, const struct cli_command *command);

/* Options of one command, at most. */
#define CLI_OPTIONS_MAX 16

/*
 * Parses the options of COMMAND, OPTIONS ended by a NULL name, among them -h, which is
 * dealt with here; each other one is handed to TAKE by its value `val`, which is the
 * letter of the option, or 0x100 and above when it has none. Leaves the first operand at
 * optind. True: go on; false: CODE is to be returned.
 */
bool cli_options(const struct cli_command *command, int argc, char **argv,
		 const struct option *options, void (*take)(int val, void *arg),
		 void *arg, enum cli_exit *code);

/* The same up to the first operand, from which on all words are another program's. */
bool cli_options_ahead(const struct cli_command *command, int argc, char **argv,
		       const struct option *options, void (*take)(int val, void *arg),
		       void *arg, enum cli_exit *code);

struct launch_error;
struct launch_settings;

/*
 * The settings of a command that stands in for the plugin: those of SRANK in the
 * environment. ERR has what is wrong with it.
 */
void cli_settings_init(struct launch_settings *settings, struct launch_error *err);

/*
 * Takes an option of such a command into SETTINGS: TEXT as the value of KEY, or as a list
 * ("" for KEY). False: it is wrong, and was said; CLI_FAILED is to be returned.
 */
bool cli_settings_take(const struct cli_command *command,
		       struct launch_settings *settings, const char *key,
		       const char *text);

/*
 * Prints the launchers and keys where SETTINGS ask for them by `help`, once in a step.
 * True: that was all there is to do.
 */
bool cli_settings_help(const struct launch_settings *settings);

/*
 * The seconds of --timeout, from 1 to MOST, into SECONDS. False: it is no such number,
 * and was said; CLI_USAGE is to be returned.
 */
bool cli_timeout_take(const struct cli_command *command, unsigned int most,
		      const char *text, unsigned int *seconds);

/*
 * One job: the files and options that name it, and what they were read into. Of a sweep
 * that is a script for each point, `spec` and `plan` are those of one point.
 */
struct cli_job {
	const char *file;
	const char *document;  /* --document; NULL: the only one */
	const char *site_file; /* --site; NULL: the user's or the site's own, if any */
	const char *point;     /* --point; NULL: none is asked for */
	char **overrides;      /* texts of -s, borrowed from argv */
	size_t overrides_count;
	struct spec spec;
	struct spec_site site;
	struct plan plan;
	struct spec sweep;        /* the spec as it was read, when there are points */
	uint64_t points;          /* scripts of the sweep; 0: the spec is one */
	struct script_point here; /* the point that `spec` is of */
	bool proved; /* what scripts there are was held to the rules of `srank check` */
	struct script_templates templates;
	struct diag diag;
};

/*
 * The same for a command about a job: the options that name it (-s, --site), -h, and MORE
 * (NULL: none), ended by a NULL name, which are handed to TAKE. The first operand is the
 * spec, and must be there; further ones are left at optind.
 */
bool cli_job_options(struct cli_job *job, const struct cli_command *command, int argc,
		     char **argv, const struct option *more,
		     void (*take)(int val, void *arg), void *arg, enum cli_exit *code);

/*
 * Reads the spec and the site profile and makes the plan, of a sweep by files that of
 * --point or of its first point; faults go to job->diag. True when there is none.
 */
bool cli_job_read(struct cli_job *job, const struct cli_command *command);

/* Makes job->spec and job->plan those of point NUMBER of the sweep. As above. */
bool cli_job_seek(struct cli_job *job, const struct cli_command *command,
		  uint64_t number);

/*
 * A name for files of the job, to be freed: its own or that of its spec, without what a
 * path or an option has. NULL without memory.
 */
char *cli_job_name(const struct cli_job *job);

/*
 * The script of a job that was read, to be freed, held to the rules of `srank check`;
 * NULL after a fault, which is in job->diag or was printed.
 */
char *cli_job_script(struct cli_job *job, const struct cli_command *command,
		     size_t *length);

/*
 * Holds TEXT, the script of JOB, to the rules of `srank check`. ORIGINS says what of it
 * stands in the spec; what is found there goes to job->diag. Of a sweep by files only
 * points that have a value for the first time want it. -EINVAL when an error was found;
 * -ENOMEM.
 */
int cli_job_prove(struct cli_job *job, const char *text, size_t length,
		  const struct script_origins *origins);

/* Prints what job->diag has gathered to stderr. CLI_FAILED when an error is among it. */
enum cli_exit cli_job_report(struct cli_job *job);

/* Every number of the plan and why, to standard output, as `srank explain` begins. */
void cli_print_numbers(const struct cli_job *job);

/* Which nodes and ranks each component of a heterogeneous job has. */
void cli_print_components(const struct plan *plan);

void cli_job_clear(struct cli_job *job);

enum cli_write {
	CLI_WRITE_FORCE = 1, /* replace a file with other content */
	CLI_WRITE_LAZY = 2,  /* the caller sees to it that the file is on disk */
};

/*
 * Writes TEXT to PATH at once or not at all: a temporary file in the same folder, renamed
 * when it is complete and on disk. A file with other content is kept unless FLAGS, of
 * enum cli_write, say otherwise, and one with the same is left alone. Something that is
 * no regular file (a pipe, /dev/null) is written to directly. 0; -EEXIST when another
 * content was kept; -ENOLINK when PATH is a link to something that is not there; -errno.
 */
int cli_write_file(const char *path, const char *text, size_t length, unsigned int flags);

/* Makes FOLDER and what is above it. -errno; -ENOTDIR when something else is there. */
int cli_make_folders(const char *folder);

/* The words for what cli_write_file() returned. */
const char *cli_write_fault(int rc);

/* TEXT to standard output (PATH NULL or "-"), or to PATH with a message when it was not
 * written. */
enum cli_exit cli_output(const struct cli_command *command, const char *path,
			 const char *text, size_t length, unsigned int flags);

/* The commands; each in the file of its name, the small ones in about.c. */
enum cli_exit cli_gen(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_submit(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_site(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_explain(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_exec(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_doctor(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_schema(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_check(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_import(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_rules(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_launchers(const struct cli_command *command, int argc, char **argv);
enum cli_exit cli_version(const struct cli_command *command, int argc, char **argv);
