/* SPDX-License-Identifier: MIT */
/*
 * YAML text -> a tree of nodes with their places, on libyaml's events. Aliases are shared
 * nodes and are never expanded, so the tree is no larger than the text.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* A spec is some hundred lines; these only keep a wrong or hostile file from hurting. */
#define SPEC_YAML_BYTES (1024 * 1024)
#define SPEC_YAML_DEPTH 64
#define SPEC_YAML_KEYS  4096 /* in one mapping, merged ones included */

enum spec_node_kind {
	SPEC_NODE_SCALAR,
	SPEC_NODE_SEQUENCE,
	SPEC_NODE_MAPPING,
};

struct spec_node {
	enum spec_node_kind kind;
	bool null;               /* scalar: a null without quotes or the tag !!str */
	const char *text;        /* scalar */
	struct diag_place place; /* of an alias where the node is used by one */
	/* The elements of a sequence; of a mapping key, value, key, value, ... */
	struct spec_node **children;
	size_t count;
};

/* True for a null of YAML 1.1: ~, null, Null or NULL (nothing at all is one, too). */
bool spec_yaml_null(const char *text);

/*
 * Parses TEXT, YAML documents in UTF-8, into *ROOTS, *COUNT of them; those without
 * content count only where there is no other, and are NULL. Anchors end with their
 * document. The rest is as below.
 */
int spec_yaml_parse_all(struct spec_node ***roots, size_t *count, const char *file,
			const char *text, size_t length, const struct diag_place *at,
			struct spec_arena **arena, struct diag *diag);

/*
 * Parses TEXT, one YAML document in UTF-8. FILE must outlive the nodes. AT is the place
 * of everything in a text that is itself one value, as on the command line; NULL: lines
 * and columns are counted. Faults go to DIAG with rule spec-yaml; TEXT itself is given to
 * diag_source() by the caller. *ROOT is NULL for a document without content. 0; -EINVAL;
 * -ENOMEM.
 */
int spec_yaml_parse(struct spec_node **root, const char *file, const char *text,
		    size_t length, const struct diag_place *at, struct spec_arena **arena,
		    struct diag *diag);
