/* task.c - a command by the task calls: started, then asked for. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "providers/agentcore/agentcore.h"

enum {
	ARGUMENTS_MAX = 1 << 20,
	ID_MAX = 128,
	CALL_MS = 30000,
	FIRST_MS = 250, /* between two questions, half as much more each time */
	LAST_MS = 2000,
};

struct task {
	char id[ID_MAX + 1];
	char status[32];
	struct buf *out; /* NULL while it is started */
};

static int on_result(void *arg, const cJSON *result, struct str raw,
		     struct error *err)
{
	struct task *t = arg;
	const cJSON *content = json_get(result, "structuredContent");

	(void)raw;
	if (!t->id[0])
		snprintf(t->id, sizeof(t->id), "%s",
			 json_string(content, "taskId", ""));
	snprintf(t->status, sizeof(t->status), "%s",
		 json_string(content, "taskStatus", ""));
	if (t->out)
		agentcore_output(result, t->out);
	return t->out ? buf_check(t->out, "the answer", err) : 0;
}

/* NOLINTNEXTLINE(readability-function-size): parameters to be gathered */
static int ask(struct sandbox *sb, struct task *t, const char *tool,
	       const char *key, struct str value, const struct stop *stop,
	       struct error *err)
{
	struct buf arguments = BUF_INIT(ARGUMENTS_MAX);
	struct agentcore_invoke call = { .tool = tool,
					 .what = "waiting for the command",
					 .timeout_ms = CALL_MS,
					 .result = on_result,
					 .arg = t };
	int rc;

	t->status[0] = '\0';
	buf_addc(&arguments, '{');
	json_member(&arguments, key, value);
	buf_addc(&arguments, '}');
	call.arguments = buf_str(&arguments);
	rc = buf_check(&arguments, "the command", err);
	if (rc == 0)
		rc = agentcore_invoke(sb, &call, stop, err);
	buf_release(&arguments);
	return rc;
}

/* From now on it is executeCommand alone. */
static int unknown(struct sandbox *sb, struct error *err)
{
	struct agentcore_box *b = sb->priv;

	pthread_mutex_lock(&b->lock);
	b->no_tasks = true;
	pthread_mutex_unlock(&b->lock);
	return error_set(err, ERR_USAGE, "there are no tasks here");
}

static bool goes_on(const struct task *t)
{
	return strcmp(t->status, "submitted") == 0 ||
	       strcmp(t->status, "working") == 0;
}

int agentcore_task(struct sandbox *sb, struct str command, struct buf *out,
		   const struct stop *stop, struct error *err)
{
	struct task t = { .out = NULL };
	struct error why = { 0 };
	int64_t pause = FIRST_MS;
	int rc = ask(sb, &t, "startCommandExecution", "command", command, stop,
		     &why);

	if (rc < 0 && why.code == ERR_REMOTE)
		return unknown(sb, err);
	if (rc == 0 && !t.id[0])
		return unknown(sb, err);
	if (rc < 0)
		*err = why;
	t.out = out;
	do {
		if (rc == 0)
			rc = stop_sleep(stop, pause, err);
		pause = pause * 3 / 2 < LAST_MS ? pause * 3 / 2 : LAST_MS;
		buf_clear(out);
		if (rc == 0)
			rc = ask(sb, &t, "getTask", "taskId", str_of(t.id),
				 stop, err);
	} while (rc == 0 && goes_on(&t));
	if (rc < 0)
		return -1;
	if (strcmp(t.status, "completed") != 0 || !out->len)
		return unknown(sb, err);
	return 0;
}
