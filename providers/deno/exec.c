/* exec.c - commands as supervised jobs, each request one process. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/deno/deno.h"
#include "providers/kit/env_list.h"
#include "providers/kit/lease.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"

/*
 * A stream of output ends with its socket, and nothing repeats what was lost;
 * so the vendor's processes carry only the requests about a job, which lives
 * by itself. One "spawn" is one round trip: its output comes without being
 * asked for, and its end is the answer.
 */
enum {
	PARAMS_MAX = 4 << 20,
	COMMAND_MAX = 120000, /* an argument; Linux takes 128 KiB */
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
	EXTEND_MS = 5000,
	EXTEND_PAUSE_MS = 60000,
	PATH_MAX_BYTES = 4096,
	WORKDIR_MS = 60000,
	TRIES = 4,
	PAUSE_MS = 300,
};

static int add_env(struct sandbox *sb, struct buf *out, struct error *err)
{
	cJSON *env = cJSON_CreateObject();
	int rc = env_list_add(deno_of(sb->host)->settings, "deno", "env", env,
			      err);

	if (rc == 0 && env->child) {
		buf_adds(out, ",\"env\":");
		json_print(out, env);
	}
	cJSON_Delete(env);
	return rc;
}

/* sh's output to its end; what it says on its error output goes nowhere. */
static int run(struct sandbox *sb, struct str command, struct buf *out,
	       const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct deno_call c = { .method = "spawn", .out = out };
	int rc;

	buf_adds(&params, "{\"command\":\"/bin/sh\",\"args\":[\"-c\",");
	json_quote(&params, command);
	buf_addc(&params, ']');
	rc = add_env(sb, &params, err);
	buf_adds(&params, ",\"stdout\":\"piped\",\"stderr\":\"null\"}");
	c.params = buf_str(&params);
	if (rc == 0)
		rc = buf_check(&params, "the command", err);
	if (rc == 0)
		rc = deno_call(sb, &c, "running the command", stop, err);
	cJSON_Delete(c.ok);
	buf_release(&params);
	return rc;
}

/* Extends the life when half of it has passed. A failure of that is no failure
 * of the command. */
static void keep(struct sandbox *sb, const struct stop *stop)
{
	struct deno_box *b = deno_box(sb);
	struct stop within = stop_within(stop, EXTEND_MS);
	struct error ignored = { 0 };
	int64_t lifetime;
	bool due;

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	due = lease_due(b->ends, lifetime, EXTEND_PAUSE_MS, &b->asked);
	pthread_mutex_unlock(&b->lock);
	if (due)
		(void)deno_extend(sb, lifetime, &within, &ignored);
}

/* struct supervisor.call */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;

	(void)wait_ms;
	keep(sb, stop);
	return run(sb, command, out, stop, err);
}

int deno_execute(struct sandbox *sb, const struct exec_request *req,
		 struct exec_result *res, const struct stop *stop,
		 struct error *err)
{
	const struct supervisor s = { .call = call,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };

	return supervise_execute(sb, req, res, &s, stop, err);
}

/* "cwd:/home/sandbox" */
static int take_workdir(struct sandbox *sb, struct str said, struct error *err)
{
	said = str_trim(said);
	if (!str_starts(said, "cwd:/") || memchr(said.ptr, '\n', said.len))
		return error_set(err, ERR_REMOTE,
				 "the working directory cannot be entered");
	said = str_skip(said, 4);
	free(sb->workdir);
	sb->workdir = xstrndup(said.ptr, said.len);
	return 0;
}

int deno_workdir(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, WORKDIR_MS);
	struct buf command = BUF_INIT(PATH_MAX_BYTES * 16);
	const char *dir = NULL;
	int rc = settings_string(deno_of(sb->host)->settings, "deno", "workdir",
				 &dir, err);

	if (rc == 0 && dir && dir[0] != '/')
		rc = error_set(err, ERR_CONFIG,
			       "workdir must be an absolute path");
	if (rc == 0 && dir) {
		buf_adds(&command, "mkdir -p -- ");
		quote_word(&command, str_of(dir));
		buf_adds(&command, " && cd -- ");
		quote_word(&command, str_of(dir));
		buf_adds(&command, " && ");
	}
	buf_adds(&command, "printf 'cwd:%s' \"$(pwd)\"");
	for (int i = 1; rc == 0; i++) {
		struct buf out = BUF_INIT(PATH_MAX_BYTES);
		struct error why = { 0 };

		rc = run(sb, buf_str(&command), &out, &within, &why);
		if (rc == 0)
			rc = take_workdir(sb, buf_str(&out), &why);
		buf_release(&out);
		if (rc == 0)
			break;
		if (i < TRIES &&
		    (why.code == ERR_NETWORK || why.code == ERR_PROTOCOL))
			rc = retry_sleep(&why, i * PAUSE_MS, &within, err);
		else
			*err = why;
	}
	buf_release(&command);
	return rc;
}
