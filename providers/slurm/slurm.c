/* slurm.c - sandboxes as held jobs of a Slurm cluster. */
/* SPDX-License-Identifier: MIT */
#include "providers/slurm/slurm.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/held/held.h"
#include "providers/kit/lease.h"

enum {
	COMMAND_MAX = 1 << 20,
	LIFETIME_S = 4 * 3600,
	ANSWER_MAX = 64 << 10,
	READY_MS = 60000,  /* from a running job to its first word */
	ENDING_MS = 40000, /* of a job; Slurm's KillWait is 30 s */
	POLL_MS = 50,
	POLL_MAX_MS = 1000,
};

/* One job and the stream to it. */
struct slurm_box {
	struct sandbox *sb;
	struct slurm *slurm;
	struct held *stream;
	int64_t restarts; /* of the job, when we came */
	char label[16];
};

/* Of what was exported: where the cluster is, and the account that the user
 * works on. The rest, keys and all, is no business of the cluster's, and what
 * an outer job left in SLURM_* would change what srun asks for. */
static char **make_environ(const struct settings *set)
{
	static const char *const names[] = {
		"SLURM_CONF",    "SBATCH_ACCOUNT",    "SBATCH_PARTITION",
		"SBATCH_QOS",    "SBATCH_CONSTRAINT", "SBATCH_RESERVATION",
		"SSH_AUTH_SOCK", "KRB5CCNAME",        "LD_LIBRARY_PATH",
	};
	const size_t more = sizeof(names) / sizeof(*names);
	char **env = settings_environ_project(set);
	size_t n = 0;

	while (env[n])
		n++;
	env = xrealloc(env, n + more + 1, sizeof(*env));
	for (size_t i = 0; i < more; i++) {
		const char *value = settings_exported(set, names[i]);

		if (value)
			env[n++] = xasprintf("%s=%s", names[i], value);
	}
	env[n] = NULL;
	return env;
}

static void slurm_close(struct sandbox_client *client)
{
	struct slurm *s = client->priv;

	if (!s)
		return;
	sandbox_client_close(&s->login);
	settings_environ_free(s->env);
	create_log_release(&s->sent);
	free(s);
	client->priv = NULL;
	client->endpoint = NULL;
}

static int slurm_open(struct sandbox_client *client, const struct settings *set,
		      struct error *err)
{
	struct slurm *s = xcalloc(1, sizeof(*s));

	create_log_init(&s->sent);
	s->ready_ms = sandbox_start_ms(client, READY_MS);
	client->priv = s;
	if (slurm_settings_read(s, set, err) < 0 ||
	    (s->via && sandbox_client_open(&s->login, &ssh_provider, set,
					   client->http, err) < 0)) {
		slurm_close(client);
		return -1;
	}
	if (s->container)
		client->isolation = ISOLATION_CONTAINER;
	s->env = make_environ(set);
	/* Job ids are a cluster's own. */
	client->endpoint =
		s->via ? s->via : settings_exported(set, "SLURM_CONF");
	return 0;
}

/* The job as it is, or once its end is over: only then its state says why it
 * ended. */
static int look_up(struct slurm_box *b, struct slurm_job *job,
		   const struct stop *stop, struct error *err)
{
	int64_t pause = POLL_MS;

	while (slurm_find(b->slurm, b->sb->id, job, stop, err) == 0) {
		struct error over = { 0 };

		if (strcmp(job->state, "COMPLETING") != 0 ||
		    stop_sleep(stop, pause, &over) < 0)
			return 0;
		pause = pause * 2 < POLL_MAX_MS ? pause * 2 : POLL_MAX_MS;
	}
	return -1;
}

/* After a failure: ERR_GONE when the job has ended, or was started again. */
static int check_job(struct slurm_box *b, const struct stop *stop,
		     struct error *err)
{
	struct error why = { 0 };
	struct slurm_job job;

	if (look_up(b, &job, stop, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return error_set(
				err, ERR_GONE,
				"the sandbox is lost: job %s has ended, and "
				"the controller no longer knows it",
				b->sb->id);
		return -1; /* as it failed */
	}
	if (slurm_state(&job) != STATE_RUNNING || job.restarts != b->restarts)
		return slurm_ended(&job, err);
	return -1;
}

/* A request over the stream has ended with rc. */
static int check_call(struct slurm_box *b, int rc, const struct stop *stop,
		      struct error *err)
{
	if (rc < 0 && (err->code == ERR_NETWORK || err->code == ERR_TIMEOUT ||
		       err->code == ERR_REMOTE)) {
		struct stop own = stop_cleanup(ENDING_MS);

		own.cancel = stop->cancel;
		return check_job(b, &own, err);
	}
	return rc;
}

/* struct supervisor.call */
static int call_job(void *arg, struct str text, int64_t wait_ms,
		    struct buf *out, const struct stop *stop, struct error *err)
{
	struct slurm_box *b = arg;

	return check_call(
		b, held_call_job(b->stream, text, wait_ms, out, stop, err),
		stop, err);
}

/* Begins the stream; where the sandbox works is told by the job. */
static int enter(struct sandbox *sb, const struct slurm_job *job,
		 const struct stop *stop, struct error *err)
{
	struct slurm_box *b = xcalloc(1, sizeof(*b));
	struct stop within;
	struct buf line = BUF_INIT(256);
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct str dir;
	int rc;

	*b = (struct slurm_box){ sb, sb->client->priv, NULL, job->restarts,
				 "" };
	memcpy(b->label, job->label, sizeof(b->label));
	sb->priv = b;
	within = stop_within(stop, b->slurm->ready_ms);
	b->stream = slurm_stream(b->slurm, job, err);
	buf_addf(&line, "cat /tmp/.%s/work", job->label);
	rc = b->stream ? held_call(b->stream, buf_str(&line), 0, &out, &within,
				   err)
		       : -1;
	if (b->stream)
		rc = check_call(b, rc, &within, err);
	dir = str_trim(buf_str(&out));
	if (rc == 0 &&
	    (!dir.len || dir.ptr[0] != '/' || str_find(dir, '\n') < dir.len))
		rc = error_set(err, ERR_PROTOCOL,
			       "the job does not report its directory");
	if (rc == 0) {
		free(sb->workdir);
		sb->workdir = xstrndup(dir.ptr, dir.len);
	}
	buf_release(&line);
	buf_release(&out);
	return rc;
}

static int slurm_create(struct sandbox *sb, const struct sandbox_spec *spec,
			const struct stop *stop, struct error *err)
{
	struct slurm_job job;

	if (slurm_submit(sb, spec, &job, stop, err) < 0 ||
	    slurm_wait(sb->client->priv, &job, spec, stop, err) < 0)
		return -1;
	return enter(sb, &job, stop, err);
}

static int slurm_attach(struct sandbox *sb, const char *id,
			const struct stop *stop, struct error *err)
{
	struct slurm *s = sb->client->priv;
	struct slurm_job job;

	if (slurm_find(s, id, &job, stop, err) < 0)
		return -1;
	sb->id = xstrdup(job.id);
	if (slurm_state(&job) == STATE_GONE)
		return slurm_ended(&job, err);
	if (slurm_wait(s, &job, NULL, stop, err) < 0)
		return -1;
	return enter(sb, &job, stop, err);
}

static int slurm_execute(struct sandbox *sb, const struct exec_request *req,
			 struct exec_result *res, const struct stop *stop,
			 struct error *err)
{
	struct slurm_box *b = sb->priv;
	struct supervisor s = held_supervisor(b->stream);

	s.call = call_job;
	s.arg = b;
	s.owner = b->label;
	s.max_command = COMMAND_MAX * 2;
	return supervise_execute(sb, req, res, &s, stop, err);
}

static void slurm_discard(struct sandbox *sb)
{
	struct slurm_box *b = sb->priv;

	if (b)
		held_free(b->stream);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = slurm_open,
	.close = slurm_close,
	.create = slurm_create,
	.attach = slurm_attach,
	.list = slurm_list,
	.info = slurm_info,
	.execute = slurm_execute,
	.remove = slurm_remove,
	.discard = slurm_discard,
};

const struct sandbox_provider slurm_provider = {
	.name = "slurm",
	.summary = "jobs of a Slurm cluster, one node each",
	.noun = "job",
	.flags = SANDBOX_ATTACH | SANDBOX_LIVE | SANDBOX_LIST | SANDBOX_SHARED |
		 SANDBOX_UNNAMED,
	.url_key = "via",
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = slurm_settings,
	.ops = &ops,
	.isolation = ISOLATION_NONE,
	.price = rates_nothing,
	.topic = "slurm",
};
