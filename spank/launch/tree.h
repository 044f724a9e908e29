/* SPDX-License-Identifier: MIT */
/*
 * The text files of /proc and /sys, the machine's own or a recorded machine's: read whole
 * or not at all, and never for longer than a small file takes, whatever lies in the tree.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of every second CPU of LAUNCH_CPUS_MAX has about 10 kB. */
#define LAUNCH_TREE_TEXT_MAX 16384

struct launch_tree {
	const char *root;
	const char *sys; /* where /sys is below ROOT: "/sys", or "" */
};

/*
 * The tree below ROOT ("" or "/": this machine; ROOT must outlive TREE). A recorded tree
 * may have what is in /sys at its top, beside proc.
 */
void launch_tree_init(struct launch_tree *tree, const char *root);

/*
 * Reads the regular file of a formatted name below ROOT into TEXT, ended by a NUL. -EFBIG
 * rather than a part of it, -EINVAL when it is not a regular file, -ENAMETOOLONG, or what
 * open(2) and read(2) say.
 */
__attribute__((format(printf, 4, 5))) int launch_tree_read(const struct launch_tree *tree,
							   char *text, size_t size,
							   const char *format, ...);

/*
 * Whether a device cgroup, or the file's mode, keeps us from the device file of a
 * formatted name below ROOT. It is asked without opening the device, which would wake it
 * up. No such file: false.
 */
__attribute__((format(printf, 2, 3))) bool
launch_tree_denied(const struct launch_tree *tree, const char *format, ...);

/*
 * Gives VISIT the names in the directory of a formatted name below ROOT, as the kernel
 * orders them and the first few thousand at most, until it returns false. Nothing when
 * there is no such directory.
 */
__attribute__((format(printf, 4, 5))) void
launch_tree_list(const struct launch_tree *tree,
		 bool (*visit)(const char *name, void *data), void *data,
		 const char *format, ...);
