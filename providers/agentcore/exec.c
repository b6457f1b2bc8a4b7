/* exec.c - commands as supervised jobs over AgentCore's tools. */
/* SPDX-License-Identifier: MIT */
#include "providers/agentcore/agentcore.h"
#include "sandbox/supervise/supervise.h"

enum {
	COMMAND_MAX = 120000, /* Linux takes 128 KiB in one argument */
	ANSWER_MAX = 4 << 20,
	LONGEST_MS = 30000,
	BRIEF_MS = 10000, /* a follower's executeCommand is held no longer */
	SLACK_MS = 8000,
};

struct running {
	struct sandbox *sb;
	bool silent; /* the last request was held to its end, for nothing */
};

static bool takes_tasks(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;
	bool takes;

	pthread_mutex_lock(&b->lock);
	takes = !b->no_tasks;
	pthread_mutex_unlock(&b->lock);
	return takes;
}

/* executeCommand; the first one also tells us the interpreter's directory,
 * which the file tools need: what stands around the answer does no harm. */
static int run(struct sandbox *sb, struct str command, int64_t wait_ms,
	       struct buf *out, const struct stop *stop, struct error *err)
{
	struct buf both = BUF_INIT(COMMAND_MAX + 16);
	bool known = agentcore_cwd_known(sb);
	int rc;

	buf_adds(&both, known ? "" : "pwd\n");
	buf_addstr(&both, command);
	rc = agentcore_run(sb, buf_str(&both), wait_ms + SLACK_MS, out, stop,
			   err);
	if (rc == 0 && !known)
		(void)agentcore_cwd_learn(sb, buf_str(out));
	buf_release(&both);
	return rc;
}

/*
 * struct supervisor.call. The first request is executeCommand: one round trip
 * for what ends soon. A command that then stays silent is waited for by the
 * task calls, so that no request is open for long.
 */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct running *r = arg;
	struct error why = { 0 };
	bool silent = r->silent;
	int64_t began = clock_ms();
	int rc;

	r->silent = false;
	if (silent && wait_ms > BRIEF_MS && takes_tasks(r->sb)) {
		rc = agentcore_task(r->sb, command, out, stop, &why);
		if (rc == 0 || why.code != ERR_USAGE) {
			if (rc < 0)
				*err = why;
			r->silent = rc == 0;
			return rc;
		}
	}
	rc = run(r->sb, command, wait_ms, out, stop, err);
	r->silent = rc == 0 && clock_ms() - began >= wait_ms;
	return rc;
}

int agentcore_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err)
{
	struct running r = { .sb = sb };
	const struct supervisor s = { .call = call,
				      .arg = &r,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX,
				      .longest_ms = LONGEST_MS };

	return supervise_execute(sb, req, res, &s, stop, err);
}
