/* kept_place.h - a sandbox for tests where jobs stay, as a shell here. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_KEPT_PLACE_H
#define TESTS_UNIT_KEPT_PLACE_H

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox/supervise/kept.h"
#include "unit.h"

/* A sandbox is a shell on this machine; some of its answers are lost. */
static atomic_int lost;
static atomic_int requests;
static atomic_int starts;
static atomic_bool gated;   /* the next request waits */
static atomic_size_t whole; /* an answer of more bytes is cut off; 0: none is */

static int shell_attach(struct sandbox *sb, const char *id,
			const struct stop *stop, struct error *err)
{
	(void)stop;
	(void)err;
	sb->id = xstrdup(id);
	return 0;
}

static int shell_execute(struct sandbox *sb, const struct exec_request *req,
			 struct exec_result *res, const struct stop *stop,
			 struct error *err)
{
	const char *argv[] = { "sh", "-c", req->command.ptr, NULL };
	char room[65536];
	size_t bytes = 0;
	int fds[2];
	ssize_t n;
	pid_t pid;

	(void)sb;
	(void)stop;
	requests++;
	while (gated)
		usleep(1000);
	starts += strstr(req->command.ptr, "s_op=start") != NULL;
	if (pipe2(fds, O_CLOEXEC))
		abort();
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execv("/bin/sh", (char *const *)argv);
		_exit(98);
	}
	close(fds[1]);
	while ((n = read(fds[0], room, sizeof(room))) > 0) {
		bytes += (size_t)n;
		if (lost <= 0)
			(void)req->output(req->arg, EXEC_STDOUT,
					  (struct str){ room, (size_t)n }, NULL,
					  err);
	}
	close(fds[0]);
	waitpid(pid, NULL, 0);
	if (lost > 0 || (whole && bytes > whole)) {
		lost -= lost > 0;
		return error_set(err, ERR_NETWORK, "the connection was cut");
	}
	res->exit_code = 0;
	return 0;
}

static const struct sandbox_ops shell_ops = { .attach = shell_attach,
					      .execute = shell_execute };
static const struct sandbox_provider shell = { .name = "shell",
					       .workdir = "/",
					       .flags = SANDBOX_ATTACH |
							SANDBOX_LIVE,
					       .ops = &shell_ops };
struct place {
	struct sandbox_client client;
	struct sandbox sb;
	struct mask *mask;
	struct buf out;
	struct job_state state;
	struct job_record record; /* as the log has it */
	char job[SUPERVISE_JOB + 1];
	char dir[40]; /* for the jobs' files */
};

static int log_add(void *arg, struct job_record *r, struct error *err)
{
	struct place *p = arg;

	(void)err;
	p->record = *r;
	p->record.command = "stored";
	p->record.job = p->job;
	snprintf(p->job, sizeof(p->job), "%s", r->job);
	return 0;
}

static void log_update(void *arg, const struct job_record *r)
{
	struct place *p = arg;

	p->record.read = r->read;
	p->record.started = r->started;
	p->record.told = r->told;
}

static void attach(struct place *p)
{
	const struct jobs_log log = { log_add, log_update, p };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	p->client.provider = &shell;
	assert_int_equal(sandbox_attach(&p->sb, &p->client, "x", &ever, &err),
			 0);
	jobs_set_log(&p->sb, &log);
}

static void open_place(struct place *p)
{
	*p = (struct place){ .out = BUF_INIT(64 << 20) };
	snprintf(p->dir, sizeof(p->dir), "/tmp/dcode-kept-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	lost = 0;
	p->mask = mask_new();
	attach(p);
}

static void shell_line(char *line)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(98);
	}
	waitpid(pid, NULL, 0);
	free(line);
}

/* This dcode ends; its jobs stay. */
static void leave(struct place *p)
{
	(void)jobs_end(&p->sb.jobs);
	sandbox_release(&p->sb);
}

static void close_place(struct place *p)
{
	leave(p);
	shell_line(xasprintf("rm -rf %s /tmp/.dcode-jobs*/%s", p->dir,
			     p->job[0] ? p->job : "none"));
	buf_release(&p->out);
	mask_free(p->mask);
}

static unsigned begin(struct place *p, char *command)
{
	const struct job_order order = { .req.command = str_of(command),
					 .mask = p->mask };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	unsigned number = 0;

	assert_int_equal(jobs_start(&p->sb, &order, &number, &ever, &err), 0);
	free(command);
	return number;
}

/* What a new dcode finds. */
static void find_again(struct place *p)
{
	attach(p);
	jobs_adopt(&p->sb, &p->record, p->mask);
	jobs_refresh(p->sb.jobs, 60000);
}

static void see(struct place *p, int64_t from, size_t most, int64_t wait_ms)
{
	const struct job_read what = { 1, from, most, wait_ms };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	buf_clear(&p->out);
	assert_int_equal(
		jobs_read(p->sb.jobs, &what, &ever, &p->out, &p->state, &err),
		0);
	buf_adds(&p->out, "");
}

/* Begins one; returns once it has output: before, it may have no keeper yet. */
static void begin_seen(struct place *p, char *command)
{
	(void)begin(p, command);
	do
		see(p, 0, 100, 0);
	while (!p->out.len);
}

#endif
