/* SPDX-License-Identifier: MIT */
/*
 * What a program is linked with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Room for the name of a library. */
#define NEEDS_NAME_MAX 64

/*
 * True when PROGRAM, looked up in PATH as execvp() does, names a library of MPI or PMIx
 * among those it needs (DT_NEEDED), with that one in LIBRARY. False for scripts, whose
 * interpreter may load MPI later (mpi4py), for what libraries load in turn, and for what
 * cannot be read.
 */
bool exec_needs_mpi(const char *program, char *library, size_t size);
