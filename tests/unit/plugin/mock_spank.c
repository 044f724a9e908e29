/* SPDX-License-Identifier: MIT */
/* Slurm for the unit tests: the functions that the plugin calls, with Slurm's own habits.
 */
#include "tests/unit/plugin/mock_spank.h"

#include "spank/plugin/compat.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct mock *mock;
int mock_inside;

static struct {
	char *name;
	char *value;
} variables[MOCK_VARIABLES];

void mock_reset(void)
{
	for (size_t i = 0; i < MOCK_VARIABLES; i++) {
		free(variables[i].name);
		free(variables[i].value);
	}
	memset(variables, 0, sizeof(variables));
	if (!mock)
		mock = mmap(NULL, sizeof(*mock), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mock == MAP_FAILED)
		abort();
	*mock = (struct mock){
		.context = S_CTX_REMOTE, .job_id = 1, .local_tasks = 1, .nnodes = 1};
}

static int find(const char *name)
{
	for (int i = 0; i < MOCK_VARIABLES; i++) {
		if (variables[i].name && strcmp(variables[i].name, name) == 0)
			return i;
	}
	return -1;
}

const char *mock_getenv(const char *name)
{
	int i = find(name);

	return i < 0 ? NULL : variables[i].value;
}

void mock_setenv(const char *name, const char *value)
{
	int i = find(name);

	mock_inside++;
	for (int j = 0; i < 0; j++) {
		if (j == MOCK_VARIABLES)
			abort();
		if (!variables[j].name) {
			variables[j].name = strdup(name);
			i = j;
		}
	}
	free(variables[i].value);
	variables[i].value = strdup(value);
	mock_inside--;
}

void mock_unsetenv(const char *name)
{
	int i = find(name);

	if (i < 0)
		return;
	free(variables[i].name);
	free(variables[i].value);
	variables[i].name = variables[i].value = NULL;
}

char *mock_environment(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < MOCK_VARIABLES; i++) {
		if (variables[i].name)
			fprintf(out, "%s=%s\n", variables[i].name, variables[i].value);
	}
	fclose(out);
	return text;
}

static bool fails(void)
{
	return ++mock->calls == mock->fail;
}

spank_context_t spank_context(void)
{
	return mock->context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	if (fails() || !option || !option->name || !option->usage)
		return ESPANK_BAD_ARG;
	mock->option = *option;
	mock->registered++;
	return ESPANK_SUCCESS;
}

static spank_err_t get_task_item(spank_item_t item, va_list arguments)
{
	if (!mock->in_task)
		return ESPANK_NOT_TASK;
	if (item == S_TASK_ID)
		*va_arg(arguments, int *) = mock->task;
	else
		*va_arg(arguments, pid_t *) =
			mock->pids[mock->task] ? mock->pids[mock->task] : getpid();
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	spank_err_t r = ESPANK_SUCCESS;
	va_list arguments;

	if (fails())
		return ESPANK_ERROR;
	/* In srun, once the step is made. */
	if (mock->context != S_CTX_REMOTE &&
	    (mock->context != S_CTX_LOCAL || item == S_JOB_LOCAL_TASK_COUNT))
		return ESPANK_NOT_REMOTE;
	va_start(arguments, item);
	switch (item) {
	case S_JOB_ID:
		*va_arg(arguments, uint32_t *) = mock->job_id;
		break;
	case S_JOB_STEPID:
		*va_arg(arguments, uint32_t *) = mock->step_id;
		break;
	case S_JOB_NODEID:
		*va_arg(arguments, uint32_t *) = mock->node_id;
		break;
	case S_JOB_NNODES:
		*va_arg(arguments, uint32_t *) = mock->nnodes;
		break;
	case S_JOB_LOCAL_TASK_COUNT:
		*va_arg(arguments, uint32_t *) = mock->local_tasks;
		break;
	case S_TASK_ID:
	case S_TASK_PID:
		r = get_task_item(item, arguments);
		break;
	default:
		r = ESPANK_BAD_ARG;
		break;
	}
	va_end(arguments);
	return r;
}

/* As Slurm does, it leaves the cut value when the buffer is too small. */
spank_err_t spank_getenv(spank_t spank, const char *name, char *value, int size)
{
	const char *found = mock_getenv(name);

	if (fails())
		return ESPANK_ERROR;
	if (mock->context != S_CTX_REMOTE)
		return ESPANK_NOT_REMOTE;
	if (size <= 0)
		return ESPANK_BAD_ARG;
	if (!found)
		return ESPANK_ENV_NOEXIST;
	snprintf(value, size, "%s", found);
	return strlen(found) >= (size_t)size ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

/* As Slurm does, it drops what is too long and calls it a success. */
spank_err_t spank_setenv(spank_t spank, const char *name, const char *value,
			 int overwrite)
{
	if (fails())
		return ESPANK_ERROR;
	if (mock->context != S_CTX_REMOTE)
		return ESPANK_NOT_REMOTE;
	if (!name || !value || !overwrite)
		return ESPANK_BAD_ARG;
	mock->set++;
	if (strlen(name) + strlen(value) + 2 < 32 * 4096)
		mock_setenv(name, value);
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	if (fails())
		return ESPANK_ERROR;
	if (mock->context != S_CTX_REMOTE)
		return ESPANK_NOT_REMOTE;
	mock->unset++;
	mock_unsetenv(name);
	return ESPANK_SUCCESS;
}

const char *spank_strerror(spank_err_t error)
{
	return error == ESPANK_ERROR ? "Generic error" : "Other error";
}

__attribute__((format(printf, 2, 0))) static void
add_log(const char *prefix, const char *format, va_list arguments)
{
	size_t used = strlen(mock->log);

	used += snprintf(mock->log + used, sizeof(mock->log) - used, "%s", prefix);
	used += vsnprintf(mock->log + used, sizeof(mock->log) - used, format, arguments);
	snprintf(mock->log + used, sizeof(mock->log) - used, "\n");
}

void slurm_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_log("error: ", format, arguments);
	va_end(arguments);
}

void slurm_spank_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_log("", format, arguments);
	va_end(arguments);
}

void slurm_verbose(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_log("verbose: ", format, arguments);
	va_end(arguments);
}

static int kill_step(uint32_t job_id, uint32_t step_id, uint16_t signal)
{
	mock->killed += signal == SIGKILL;
	mock->killed_job = job_id;
	mock->killed_step = step_id;
	return 0;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
int slurm_kill_job_step(slurm_step_id_t *step_id, uint16_t signal, uint16_t flags)
{
	return kill_step(step_id->job_id, step_id->step_id, signal);
}
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
int slurm_kill_job_step(uint32_t job_id, uint32_t step_id, uint16_t signal,
			uint16_t flags)
{
	return kill_step(job_id, step_id, signal);
}
#else
int slurm_kill_job_step(uint32_t job_id, uint32_t step_id, uint16_t signal)
{
	return kill_step(job_id, step_id, signal);
}
#endif

/* Behind one another, so that one free() does it. */
slurm_step_layout_t *slurm_job_step_layout_get(slurm_step_id_t *step_id)
{
	struct {
		slurm_step_layout_t layout;
		uint16_t tasks[8];
		uint32_t *tids[8], ids[8][8];
	} * all;

	mock->layouts++;
	mock->layout_job = step_id->job_id;
	mock->layout_step = step_id->step_id;
	if (fails() || !mock->nodes || step_id->step_het_comp != NO_VAL)
		return NULL;
	mock_inside++;
	all = calloc(1, sizeof(*all));
	all->layout.node_list = strdup(mock->nodes);
	mock_inside--;
	all->layout.tasks = all->tasks;
	all->layout.tids = all->tids;
	all->layout.task_cnt = mock->layout_tasks;
	for (uint32_t i = 0; i < mock->layout_tasks; i++) {
		uint32_t node = mock->layout[i];

		if (all->layout.node_cnt <= node)
			all->layout.node_cnt = node + 1;
		all->ids[node][all->tasks[node]++] =
			mock->layout_ids ? mock->layout_ids[i] : i;
	}
	for (int i = 0; i < 8; i++)
		all->tids[i] = all->ids[i];
	return &all->layout;
}

void slurm_job_step_layout_free(slurm_step_layout_t *layout)
{
	free(layout->node_list);
	free(layout);
}

static int load_job(job_info_msg_t **answer, uint32_t job_id)
{
	static slurm_job_info_t jobs[2];
	static job_info_msg_t message = {.job_array = jobs, .record_count = 2};

	mock->jobs++;
	if (fails() || !mock->leader)
		return SLURM_ERROR;
	/* Of another job that goes by the same number, as array tasks do. */
	jobs[0].job_id = job_id + 1;
	jobs[0].het_job_id = job_id + 1;
	jobs[1].job_id = job_id;
	jobs[1].het_job_id = mock->leader;
	*answer = &message;
	return SLURM_SUCCESS;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#undef slurm_load_job
int slurm_load_job(job_info_msg_t **answer, slurm_step_id_t id, uint16_t flags)
{
	return load_job(answer, id.job_id);
}
#else
int slurm_load_job(job_info_msg_t **answer, uint32_t job_id, uint16_t flags)
{
	return load_job(answer, job_id);
}
#endif

void slurm_free_job_info_msg(job_info_msg_t *answer)
{
}

char *slurm_conf_get_address(const char *node_name)
{
	char *copy;

	mock_inside++;
	copy = mock->node_addr ? strdup(mock->node_addr) : NULL;
	mock_inside--;
	return copy;
}

void slurm_xfree(void **item)
{
	free(*item);
	*item = NULL;
}

/* In place of the C library's. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **result)
{
	const struct mock_address *row = mock->addresses;
	struct addrinfo **end = result;

	mock->lookups++;
	*result = NULL;
	if (fails())
		return EAI_AGAIN;
	for (; row && row->name; row++) {
		struct {
			struct addrinfo info;
			struct sockaddr_in6 address;
		} * entry;

		if (strcmp(row->name, name) != 0)
			continue;
		if (row->error)
			return row->error;
		mock_inside++;
		entry = calloc(1, sizeof(*entry));
		mock_inside--;
		entry->info.ai_addr = (struct sockaddr *)&entry->address;
		entry->info.ai_family = strchr(row->address, ':') ? AF_INET6 : AF_INET;
		if (entry->info.ai_family == AF_INET)
			inet_pton(AF_INET, row->address,
				  &((struct sockaddr_in *)&entry->address)->sin_addr);
		else
			inet_pton(AF_INET6, row->address, &entry->address.sin6_addr);
		*end = &entry->info;
		end = &entry->info.ai_next;
	}
	return *result ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *info)
{
	while (info) {
		struct addrinfo *next = info->ai_next;

		free(info);
		info = next;
	}
}

/* No srun waits for the messages of these tasks, and no slurmctld for their turn. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	mock->slept += time->tv_sec * 1000 + time->tv_nsec / 1000000;
	if (mock->kill_after && mock->slept > mock->kill_after)
		raise(SIGKILL);
	return 0;
}
