/* checks.c - tests one by one that a provider does what it promises. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "contract/contract.h"

enum {
	CHECK_MS = 180000, /* a check that takes longer has failed */
	LONG_MS = 900000,  /* create, and the largest sizes */
};

/* Makes a new directory in the sandbox. On failure the sandbox is unusable. */
static enum contract_verdict make_dir(struct contract *c)
{
	bool host = contract_can(c, SANDBOX_UNISOLATED);
	char random[9];
	char *command;
	enum contract_verdict verdict;

	ids_random(random, 8);
	c->dir = xasprintf("%s/dcode-contract-%s",
			   host ? "/tmp" : c->sb->workdir, random);
	command = xasprintf("mkdir -m 700 '%s'", c->dir);
	verdict = contract_expect(c, command, 0, "", "");
	c->n_commands = 0; /* not counted: the first command may be slower */
	free(command);
	return verdict;
}

static enum contract_verdict check_create(struct contract *c)
{
	const struct contract_request *r = c->request;
	struct lifecycle_request request = { .client = r->client,
					     .store = r->store,
					     .mask = r->mask,
					     .ui = r->ui };
	struct error err = { 0 };
	int64_t began = clock_ms();

	if (lifecycle_open(&c->box, &request, &c->stop, &err) < 0)
		return contract_fail(c, "%s", err.message);
	c->summary->create_ms = clock_ms() - began;
	c->sb = &c->box.sandbox;
	c->id = xstrdup(c->sb->id);
	snprintf(c->label, sizeof(c->label), "%s", c->box.label);
	return make_dir(c);
}

/* Removes the directory. On the user's own machine nothing else was created. */
static void tidy(struct contract *c)
{
	struct stop limit = stop_cleanup(LIFECYCLE_CLEANUP_MS);
	char *command = xasprintf("rm -rf '%s'", c->dir);
	struct exec_request req = { .command = str_of(command) };
	struct ran r = { 0 };

	(void)contract_exec(c, &req, &r, &limit);
	ran_release(&r);
	free(command);
}

static enum contract_verdict check_remove(struct contract *c)
{
	struct error err = { 0 };
	int64_t began = clock_ms();
	bool host = contract_can(c, SANDBOX_UNISOLATED);
	int rc;

	if (c->dir && host)
		tidy(c);
	c->sb = NULL;
	rc = lifecycle_close(&c->box, &err);
	if (host)
		return contract_na(c, "this machine stays");
	if (rc < 0)
		return contract_fail(c, "%s", err.message);
	c->summary->remove_ms = clock_ms() - began;
	return CONTRACT_OK;
}

static const struct contract_check checks[] = {
	{ "create", CHECK_SURE, check_create, NULL },
	{ "id", CHECK_BOX, check_id, NULL },
	{ "exit status 0", CHECK_BOX, check_exit, "0" },
	{ "exit status 1", CHECK_BOX, check_exit, "1" },
	{ "exit status 3", CHECK_BOX, check_exit, "3" },
	{ "exit status 126", CHECK_BOX, check_not_executable, NULL },
	{ "exit status 127", CHECK_BOX, check_missing_program, NULL },
	{ "killed by a signal", CHECK_BOX, check_killed, NULL },
	{ "stdout and stderr", CHECK_BOX, check_streams, NULL },
	{ "both in order", CHECK_BOX, check_order, NULL },
	{ "1 MB of output", CHECK_BOX, check_megabyte, NULL },
	{ "64 MiB of output", CHECK_BOX | CHECK_SLOW, check_flood, "67108864" },
	{ "100 MB of output", CHECK_BOX | CHECK_LARGE, check_flood,
	  "100000000" },
	{ "NUL and no UTF-8", CHECK_BOX, check_bytes, NULL },
	{ "here-document", CHECK_BOX, check_here_document, NULL },
	{ "every byte in argument", CHECK_BOX, check_arguments, NULL },
	{ "stdin at its end", CHECK_BOX, check_stdin, NULL },
	{ "env and cwd", CHECK_BOX, check_env_cwd, NULL },
	{ "live output", CHECK_BOX | CHECK_SLOW, check_live, NULL },
	{ "timeout", CHECK_BOX | CHECK_SLOW, check_timeout, NULL },
	{ "cancel", CHECK_BOX | CHECK_SLOW, check_cancel, NULL },
	{ "8 in parallel", CHECK_BOX, check_parallel, NULL },
	{ "file of 0 B", CHECK_BOX, check_file, "0" },
	{ "file of 1 B", CHECK_BOX, check_file, "1" },
	{ "file of 100 kB", CHECK_BOX, check_file, "100000" },
	{ "file of 10 MB", CHECK_BOX | CHECK_SLOW, check_file, "10000000" },
	{ "file of 1 GiB", CHECK_BOX | CHECK_LARGE, check_file, "1073741824" },
	{ "odd file names", CHECK_BOX, check_names, NULL },
	{ "file errors", CHECK_BOX, check_file_errors, NULL },
	{ "tool write_file", CHECK_BOX, check_tool, "write_file" },
	{ "tool read_file", CHECK_BOX, check_tool, "read_file" },
	{ "tool edit_file", CHECK_BOX, check_tool, "edit_file" },
	{ "tool grep", CHECK_BOX, check_tool, "grep" },
	{ "tool glob", CHECK_BOX, check_tool, "glob" },
	{ "tool ls", CHECK_BOX, check_tool, "ls" },
	{ "tool execute", CHECK_BOX, check_tool, "execute" },
	{ "tool delete", CHECK_BOX, check_tool, "delete" },
	{ "attach by id", CHECK_BOX, check_attach, NULL },
	{ "list by label", CHECK_BOX, check_list, NULL },
	{ "info", CHECK_BOX, check_info, NULL },
	{ "lifetime", CHECK_BOX, check_lifetime, NULL },
	{ "extend", CHECK_BOX, check_extend, NULL },
	{ "network none and full", CHECK_BOX | CHECK_SLOW, check_network,
	  NULL },
	{ "snapshot", CHECK_BOX | CHECK_SLOW, check_snapshot, NULL },
	{ "stop and start", CHECK_BOX | CHECK_SLOW, check_stop, NULL },
	{ "remove", CHECK_BOX | CHECK_SURE, check_remove, NULL },
	{ "remove again", CHECK_AFTER | CHECK_SURE, check_remove_again, NULL },
	{ "nothing left", CHECK_AFTER | CHECK_SURE, check_nothing_left, NULL },
};

static enum contract_verdict run_check(struct contract *c,
				       const struct stop *stop)
{
	const struct contract_check *check = c->check;
	bool may_last = check->run == check_create ||
			check->run == check_network ||
			check->run == check_flood || check->flags & CHECK_LARGE;

	c->reason[0] = '\0';
	if (check->flags & CHECK_SLOW && c->request->quick)
		return contract_na(c, "skipped by --quick");
	if ((check->flags & CHECK_BOX && !c->sb) ||
	    (check->flags & CHECK_AFTER && !c->id))
		return contract_na(c, "no sandbox");
	if (check->flags & CHECK_AFTER && contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "this machine stays");
	if (check->flags & CHECK_BOX && !c->dir)
		return contract_na(c, "no directory to work in");
	c->stop = stop_within(stop, may_last ? LONG_MS : CHECK_MS);
	return check->run(c);
}

/* True if the request selects this check. */
static bool wanted(const struct contract_request *r,
		   const struct contract_check *check)
{
	if (check->flags & CHECK_LARGE && !r->large)
		return false;
	return !r->only || check->flags & CHECK_SURE ||
	       strstr(check->name, r->only);
}

bool contract_knows(const char *only)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (!(checks[i].flags & CHECK_SURE) &&
		    strstr(checks[i].name, only))
			return true;
	return false;
}

static void tell(struct contract *c, enum contract_verdict verdict, int64_t ms)
{
	struct contract_summary *s = c->summary;

	s->passed += verdict == CONTRACT_OK;
	s->failed += verdict == CONTRACT_FAIL;
	s->absent += verdict == CONTRACT_NA;
	c->request->each(c->request->arg,
			 &(struct contract_result){ .name = c->check->name,
						    .verdict = verdict,
						    .ms = ms,
						    .reason = c->reason });
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void end(struct contract *c)
{
	struct error ignored = { 0 };

	if (c->sb && contract_can(c, SANDBOX_UNISOLATED) && c->dir)
		tidy(c);
	(void)lifecycle_close(&c->box, &ignored); /* it has printed a warning */
	if (c->n_commands) {
		qsort(c->commands, c->n_commands, sizeof(*c->commands),
		      by_size);
		c->summary->command_ms = c->commands[c->n_commands / 2];
	}
	free(c->id);
	free(c->dir);
}

int contract_run(const struct contract_request *request,
		 struct contract_summary *summary, const struct stop *stop,
		 struct error *err)
{
	struct contract c = { .request = request, .summary = summary };
	int rc = 0;

	*summary = (struct contract_summary){ .create_ms = -1,
					      .command_ms = -1,
					      .remove_ms = -1,
					      .upload_kib_s = -1,
					      .download_kib_s = -1 };
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		int64_t began = clock_ms();
		enum contract_verdict verdict;

		if (!wanted(request, &checks[i]))
			continue;
		rc = stop_check(stop, err);
		if (rc < 0)
			break;
		c.check = &checks[i];
		verdict = run_check(&c, stop);
		rc = stop_check(stop, err);
		if (rc < 0)
			break;
		tell(&c, verdict, clock_ms() - began);
	}
	end(&c);
	return rc;
}
