/* SPDX-License-Identifier: MIT */
/*
 * Build tool: writes the templates into one C table, so that the command is a single file
 * that runs where nothing is installed. Runs on the build machine: embed OUTPUT FILE...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *file)
{
	fprintf(stderr, "embed: cannot %s %s: %s\n", what, file, strerror(errno));
	exit(1);
}

static void embed(FILE *out, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	FILE *in = fopen(path, "rb");
	size_t length = 0;
	int c;

	if (!in)
		fail("open", path);
	/* Numbers rather than a string: no limit on its length, nothing to escape. */
	fprintf(out, "static const char text_%.*s[] = {", (int)strcspn(name, "."), name);
	for (; (c = fgetc(in)) != EOF; length++)
		fprintf(out, "%s%d,", length % 24 == 0 ? "\n\t" : "", (signed char)c);
	fputs("\n\t0};\n", out);
	if (ferror(in))
		fail("read", path);
	fclose(in);
}

int main(int argc, char **argv)
{
	FILE *out;

	if (argc < 3) {
		fputs("usage: embed OUTPUT FILE...\n", stderr);
		return 2;
	}
	out = fopen(argv[1], "w");
	if (!out)
		fail("create", argv[1]);
	fputs("/* Made from templates/ by embed.c. */\n"
	      "#include \"gen/script/templates.h\"\n\n",
	      out);
	for (int i = 2; i < argc; i++)
		embed(out, argv[i]);
	fputs("\nconst struct script_builtin script_builtins[] = {\n", out);
	for (int i = 2; i < argc; i++) {
		const char *slash = strrchr(argv[i], '/');
		const char *name = slash ? slash + 1 : argv[i];
		int length = strcspn(name, ".");

		fprintf(out, "\t{\"%.*s\", text_%.*s, sizeof(text_%.*s) - 1},\n", length,
			name, length, name, length, name);
	}
	fputs("};\n\nconst size_t script_builtins_count =\n"
	      "\tsizeof(script_builtins) / sizeof(*script_builtins);\n",
	      out);
	if (fclose(out) != 0)
		fail("write", argv[1]);
	return 0;
}
