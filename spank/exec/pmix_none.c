/* SPDX-License-Identifier: MIT */
/*
 * In the place of pmix.c where there are no headers of PMIx to build it with.
 */
#include "spank/exec/pmix.h"

#include <errno.h>

int exec_pmix_open(struct exec_pmix **pmix, unsigned int seconds,
		   struct launch_error *err)
{
	*pmix = NULL;
	return launch_error_set(err, -ENOTSUP, "this srank was built without PMIx");
}

void exec_pmix_close(struct exec_pmix **pmix)
{
}

const char *exec_pmix_name(const struct exec_pmix *pmix)
{
	return "";
}

uint32_t exec_pmix_rank(const struct exec_pmix *pmix)
{
	return 0;
}

int exec_pmix_number(struct exec_pmix *pmix, uint32_t rank, const char *key,
		     uint32_t *number)
{
	return -ENOENT;
}

int exec_pmix_text(struct exec_pmix *pmix, uint32_t rank, const char *key, char **text)
{
	*text = NULL;
	return -ENOENT;
}

bool exec_pmix_has(struct exec_pmix *pmix, uint32_t rank, const char *key)
{
	return false;
}

int exec_pmix_put(struct exec_pmix *pmix, enum exec_pmix_scope scope, const char *key,
		  const char *text)
{
	return -ENOTSUP;
}

int exec_pmix_fence(struct exec_pmix *pmix, unsigned int seconds,
		    struct launch_error *err)
{
	return -ENOTSUP;
}

int exec_pmix_gather(struct exec_pmix *pmix, const char *key, const uint32_t *ranks,
		     uint32_t count, unsigned int seconds, char **texts)
{
	return -ENOTSUP;
}

void exec_pmix_abort(struct exec_pmix *pmix)
{
}

const char *exec_pmix_version(void)
{
	return NULL;
}
