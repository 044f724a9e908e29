/* SPDX-License-Identifier: MIT */
/* A spec and a site profile from literals, completed and planned, for the tests of the
 * plan. */
#pragma once

#include "support.h"

#include "gen/plan/plan.h"

#include <errno.h>

struct job {
	struct spec spec;
	struct spec_site site;
	struct plan plan;
	struct diag diag;
	int rc; /* of plan_make() */
};

/* TEXT as job.yaml, which must be readable; SITE as site.yaml, NULL: none. */
static inline void job_make(struct job *job, const char *text, const char *site)
{
	memset(job, 0, sizeof(*job));
	spec_site_init(&job->site);
	if (spec_read_text(&job->spec, "job.yaml", text, strlen(text), &job->diag) < 0)
		fail_msg("%s: %s", text, job->diag.items[0].message);
	if (site && spec_site_read_text(&job->site, "site.yaml", site, strlen(site),
					&job->diag) < 0)
		fail_msg("%s: %s", site, job->diag.items[0].message);
	assert_int_equal(spec_complete(&job->spec, &job->site.defaults), 0);
	job->rc = plan_make(&job->plan, &job->spec, &job->site, &job->diag);
}

static inline void job_clear(struct job *job)
{
	plan_clear(&job->plan);
	spec_clear(&job->spec);
	spec_site_clear(&job->site);
	diag_clear(&job->diag);
}

/* Fails with the first message when the plan was refused. */
static inline void job_fits(const struct job *job)
{
	if (job->rc != 0)
		fail_msg("refused: %s",
			 job->diag.count ? job->diag.items[0].message : "no message");
}

static inline void assert_text(const char *got, const char *expected)
{
	if (!got || !expected) {
		if (got != expected)
			fail_msg("%s, expected %s", got ? got : "NULL",
				 expected ? expected : "NULL");
		return;
	}
	assert_string_equal(got, expected);
}
