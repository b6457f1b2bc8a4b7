/* fake_box.h - a provider that counts, fails at a step, and runs sh here. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_FAKE_BOX_H
#define UNIT_FAKE_BOX_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/sandbox.h"

enum { FAKE_MACHINES = 16, FAKE_CALLS = 64 };

/* Include once per program: the state of the pretended vendor. */
static struct fake {
	struct {
		char id[32], label[16], owner[40];
		bool stopped;
	} machines[FAKE_MACHINES];
	int made;  /* machines ever made */
	int calls; /* of any kind */
	char trace[FAKE_CALLS][16];
	int fail_at;  /* this call fails; 0: none */
	int fail_for; /* and so many after it */
	enum err fail_with;
	bool fail_after; /* the vendor does it, the answer is lost */
	bool forgets_id; /* create fails without telling the id */
	char workdir[64];
	/* The last execute. */
	char command[65536];
	size_t input_len;
	char *uploaded;                /* path of the last upload */
	struct cancel *cancel_at_call; /* triggered when call fail_at begins */
	struct cancel *removal_waits;  /* until it is triggered; or NULL */
} fake;

static void fake_reset(void)
{
	free(fake.uploaded);
	memset(&fake, 0, sizeof(fake));
}

/* 1: fail now, 0: go on. */
static int fake_step(const char *name, struct error *err)
{
	int n = ++fake.calls;

	if (n <= FAKE_CALLS)
		snprintf(fake.trace[n - 1], sizeof(fake.trace[0]), "%s", name);
	if (!fake.fail_at || n < fake.fail_at ||
	    n > fake.fail_at + fake.fail_for)
		return 0;
	if (fake.cancel_at_call)
		cancel_trigger(fake.cancel_at_call);
	error_set(err, fake.fail_with, "made to fail at call %d, %s", n, name);
	return 1;
}

static int fake_find(const char *id)
{
	for (int i = 0; i < FAKE_MACHINES; i++)
		if (fake.machines[i].id[0] && !strcmp(fake.machines[i].id, id))
			return i;
	return -1;
}

__attribute__((unused)) static int fake_alive(void)
{
	int n = 0;

	for (int i = 0; i < FAKE_MACHINES; i++)
		n += fake.machines[i].id[0] != '\0';
	return n;
}

static void fake_add(const char *label, const char *owner, char id[32])
{
	int i = 0;

	for (int k = 0; k < FAKE_MACHINES; k++)
		if (fake.machines[k].id[0] &&
		    !strcmp(fake.machines[k].label, label)) {
			snprintf(id, 32, "%s", fake.machines[k].id);
			return; /* idempotent by label */
		}
	while (fake.machines[i].id[0])
		i++;
	fake.machines[i].stopped = false;
	snprintf(id, 32, "machine-%d", ++fake.made);
	snprintf(fake.machines[i].id, 32, "%s", id);
	snprintf(fake.machines[i].label, 16, "%s", label);
	snprintf(fake.machines[i].owner, 40, "%s", owner);
}

static int fake_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	int fails = fake_step("create", err);
	char id[32];

	(void)stop;
	if (fails && !fake.fail_after)
		return -1;
	fake_add(spec->label, spec->owner, id);
	if (!fails || !fake.forgets_id)
		sb->id = xstrdup(id);
	sb->workdir = xstrdup(fake.workdir);
	return fails ? -1 : 0;
}

static int fake_attach(struct sandbox *sb, const char *id,
		       const struct stop *stop, struct error *err)
{
	(void)stop;
	if (fake_step("attach", err))
		return -1;
	if (fake_find(id) < 0)
		return error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	sb->id = xstrdup(id);
	sb->workdir = xstrdup(fake.workdir);
	fake.machines[fake_find(id)].stopped = false;
	return 0;
}

static int fake_stop(struct sandbox_client *client, const char *id,
		     int64_t *keep_s, const struct stop *stop,
		     struct error *err)
{
	int fails = fake_step("stop", err);
	int at = fake_find(id);

	(void)client;
	(void)stop;
	*keep_s = 0;
	if (fails && !fake.fail_after)
		return -1;
	if (at >= 0)
		fake.machines[at].stopped = true;
	return fails ? -1 : at < 0;
}

static int fake_list(struct sandbox_client *client, const char *owner,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err)
{
	(void)client;
	(void)stop;
	if (fake_step("list", err))
		return -1;
	for (int i = 0; i < FAKE_MACHINES; i++) {
		if (!fake.machines[i].id[0] ||
		    (owner && strcmp(owner, fake.machines[i].owner)))
			continue;
		info_emit(sink, &(struct sandbox_info){
					.id = fake.machines[i].id,
					.label = fake.machines[i].label,
					.owner = fake.machines[i].owner,
					.state = STATE_RUNNING,
					.image = "",
				});
	}
	return 0;
}

static int fake_remove(struct sandbox_client *client, const char *id,
		       const struct stop *stop, struct error *err)
{
	int fails = fake_step("remove", err);
	int at = fake_find(id);
	struct pollfd p = { .fd = -1, .events = POLLIN };
	char byte;

	(void)client;
	(void)stop;
	if (fake.removal_waits) {
		p.fd = fake.removal_waits->fd[0];
		(void)poll(&p, 1, 60000);
		/* ThreadSanitizer orders what is before a write and after a
		 * read, but not after a poll. */
		if (read(p.fd, &byte, 1) == 1)
			cancel_trigger(fake.removal_waits);
	}
	if (fails && !fake.fail_after)
		return -1;
	if (at >= 0)
		fake.machines[at].id[0] = '\0';
	return fails ? -1 : 0;
}

/* Runs the command by sh in the work directory, input from a file. */
static int fake_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	FILE *input;
	char chunk[4096];
	int fds[2];
	int status;
	ssize_t n;
	pid_t pid;
	int rc = 0;

	(void)stop;
	if (fake_step("execute", err))
		return -1;
	snprintf(fake.command, sizeof(fake.command), "%.*s",
		 (int)req->command.len, req->command.ptr);
	fake.input_len = req->input.len;
	input = tmpfile();
	if (!input || pipe(fds) < 0)
		return error_errno(err, "fake");
	if (req->input.len)
		fwrite(req->input.ptr, 1, req->input.len, input);
	rewind(input);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(input), 0);
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		if (chdir(sb->workdir) == 0)
			execl("/bin/sh", "sh", "-c", fake.command,
			      (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	fclose(input);
	while (rc == 0 && (n = read(fds[0], chunk, sizeof(chunk))) > 0)
		rc = req->output(req->arg, EXEC_STDOUT,
				 (struct str){ chunk, (size_t)n }, NULL, err);
	close(fds[0]);
	waitpid(pid, &status, 0);
	res->exit_code = WIFEXITED(status) ? WEXITSTATUS(status)
					   : 128 + WTERMSIG(status);
	return rc;
}

static int fake_upload(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err)
{
	(void)sb;
	(void)stop;
	if (fake_step("upload", err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		char chunk[1000];
		int64_t len;
		int fd = open(files[i].path, O_WRONLY | O_CREAT | O_EXCL,
			      (mode_t)files[i].mode);

		if (fd < 0) {
			files[i].error = FILE_PERMISSION_DENIED;
			continue;
		}
		while ((len = files[i].read(files[i].arg, chunk, sizeof(chunk),
					    err)) > 0)
			if (write(fd, chunk, (size_t)len) != len)
				files[i].error = FILE_OTHER;
		close(fd);
		free(fake.uploaded);
		fake.uploaded = xstrdup(files[i].path);
	}
	return 0;
}

static void fake_discard(struct sandbox *sb)
{
	(void)sb;
}

static const struct sandbox_ops fake_ops = {
	.create = fake_create,
	.attach = fake_attach,
	.list = fake_list,
	.execute = fake_execute,
	.upload = fake_upload,
	.stop = fake_stop,
	.remove = fake_remove,
	.discard = fake_discard,
};
static const struct sandbox_provider fake_provider = {
	.name = "fake",
	.summary = "a fake",
	.workdir = "/",
	.flags = SANDBOX_ATTACH | SANDBOX_LIVE | SANDBOX_STDIN | SANDBOX_LIST,
	.lifetime_s = 3600,
	.ops = &fake_ops,
};
static const struct sandbox_provider poor_provider = {
	/* no input, no list */
	.name = "poor",          .summary = "a fake", .workdir = "/",
	.flags = SANDBOX_ATTACH, .lifetime_s = 3600,  .ops = &fake_ops,
};
/* All that lifecycle_gc() may look at. */
static const struct sandbox_provider *const fake_providers[] = { &fake_provider,
								 &poor_provider,
								 NULL };

#endif
