/* queue.c - what the controller knows of jobs, and their end. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "providers/slurm/slurm.h"
#include "sandbox/quote.h"

enum {
	QUEUE_MAX = 16 << 20,
	POLL_MS = 30, /* after a scancel; doubled up to */
	POLL_MAX_MS = 1000,
};

/*
 * squeue --json of 22.05 ignores --jobs, --name and --me: on a large cluster it
 * prints the jobs of all users, some kilobytes each. So the fields are named.
 * The comment is the last, since it may hold anything.
 */
static const char fields[] = "JobID:|,State:|,RestartCnt:|,SubmitTime:|,"
			     "StartTime:|,EndTime:|,Reason:|,NodeList:|,"
			     "Comment:|";
static const char marker[] = "dcode label=";

static void copy(char *room, size_t size, struct str s)
{
	snprintf(room, size, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

/* Unix seconds; 0 for "N/A". */
static int64_t seconds_of(struct str s)
{
	int64_t n = 0;

	return str_to_int(s, &n) && n > 0 ? n : 0;
}

/* It becomes part of paths that a shell reads. */
static bool is_label(struct str s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	if (!str_starts(s, "dcode-") ||
	    s.len >= sizeof(((struct slurm_job *)0)->label))
		return false;
	s = str_skip(s, strlen("dcode-"));
	for (size_t i = 0; i < s.len; i++)
		if (!memchr(letters, s.ptr[i], sizeof(letters) - 1))
			return false;
	return s.len > 0;
}

/* "dcode label=LABEL owner=OWNER", as slurm_submit() writes it. */
static void parse_comment(struct str comment, struct slurm_job *job)
{
	struct str label;
	struct str rest = comment;

	if (!str_starts(comment, marker))
		return;
	rest = str_skip(comment, sizeof(marker) - 1);
	if (!str_split(&rest, ' ', &label) || !is_label(label) ||
	    !str_starts(rest, "owner="))
		return;
	copy(job->label, sizeof(job->label), label);
	copy(job->owner, sizeof(job->owner),
	     str_trim(str_skip(rest, sizeof("owner=") - 1)));
}

bool slurm_job_parse(struct str line, struct slurm_job *job)
{
	struct str f[8];
	int64_t id;

	*job = (struct slurm_job){ 0 };
	for (size_t i = 0; i < sizeof(f) / sizeof(*f); i++)
		if (!str_split(&line, '|', &f[i]))
			return false;
	if (!str_to_int(f[0], &id) || id <= 0 || f[0].len >= sizeof(job->id) ||
	    !f[1].len)
		return false;
	copy(job->id, sizeof(job->id), f[0]);
	copy(job->state, sizeof(job->state), f[1]);
	(void)str_to_int(f[2], &job->restarts);
	job->submitted = seconds_of(f[3]);
	job->start = seconds_of(f[4]);
	job->end = seconds_of(f[5]);
	copy(job->reason, sizeof(job->reason), f[6]);
	copy(job->nodes, sizeof(job->nodes), f[7]);
	line = str_trim(line);
	if (str_ends(line, "|"))
		line.len--;
	parse_comment(line, job);
	return true;
}

int slurm_queue(struct slurm *s, const char *name,
		void (*each)(void *arg, const struct slurm_job *job), void *arg,
		const struct stop *stop, struct error *err)
{
	struct buf line = BUF_INIT(4096);
	struct buf out = BUF_INIT(QUEUE_MAX);
	struct str rest;
	struct str item;
	int status;

	buf_adds(&line, "SLURM_TIME_FORMAT=%s ");
	slurm_program(&line, "squeue");
	buf_addf(&line, " -h --me -t all -O '%s'", fields);
	if (name) {
		buf_adds(&line, " --name=");
		quote_word(&line, str_of(name));
	}
	status = slurm_command(s, buf_str(&line), &out, stop, err);
	if (status > 0) {
		status = slurm_refused("squeue", status, buf_str(&out), err);
		err->code = ERR_NETWORK; /* it asks for nothing to decline */
	}
	rest = buf_str(&out);
	while (status == 0 && str_split(&rest, '\n', &item)) {
		struct slurm_job job;

		if (slurm_job_parse(item, &job))
			each(arg, &job);
	}
	buf_release(&line);
	buf_release(&out);
	return status;
}

struct job_search {
	const char *id;
	struct slurm_job job;
	bool found;
};

static void match(void *arg, const struct slurm_job *job)
{
	struct job_search *search = arg;

	if (strcmp(job->id, search->id) != 0 || !job->label[0])
		return;
	search->job = *job;
	search->found = true;
}

int slurm_find(struct slurm *s, const char *id, struct slurm_job *job,
	       const struct stop *stop, struct error *err)
{
	struct job_search search = { .id = id };

	if (slurm_queue(s, NULL, match, &search, stop, err) < 0)
		return -1;
	if (!search.found)
		return error_set(err, ERR_NOT_FOUND,
				 "unknown job %s, or dcode did not make it",
				 id);
	*job = search.job;
	return 0;
}

enum sandbox_state slurm_state(const struct slurm_job *job)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} words[] = {
		{ "PENDING", STATE_STARTING },
		{ "CONFIGURING", STATE_STARTING },
		{ "REQUEUED", STATE_STARTING },
		{ "REQUEUE_HOLD", STATE_STARTING },
		{ "REQUEUE_FED", STATE_STARTING },
		{ "SPECIAL_EXIT", STATE_STARTING },
		{ "RESV_DEL_HOLD", STATE_STARTING },
		{ "RUNNING", STATE_RUNNING },
		{ "SIGNALING", STATE_RUNNING },
		{ "RESIZING", STATE_RUNNING },
		{ "STAGE_OUT", STATE_RUNNING },
		{ "SUSPENDED", STATE_STOPPED },
		{ "STOPPED", STATE_STOPPED },
		{ "COMPLETING", STATE_UNKNOWN }, /* its end is near */
		{ "BOOT_FAIL", STATE_GONE },
		{ "CANCELLED", STATE_GONE },
		{ "COMPLETED", STATE_GONE },
		{ "DEADLINE", STATE_GONE },
		{ "FAILED", STATE_GONE },
		{ "LAUNCH_FAILED", STATE_GONE },
		{ "NODE_FAIL", STATE_GONE },
		{ "OUT_OF_MEMORY", STATE_GONE },
		{ "PREEMPTED", STATE_GONE },
		{ "RECONFIG_FAIL", STATE_GONE },
		{ "REVOKED", STATE_GONE },
		{ "TIMEOUT", STATE_GONE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, job->state) == 0)
			return words[i].state;
	return STATE_UNKNOWN;
}

/* Why a job has ended, or runs no more what it did, for a user. */
static const char *explain(const struct slurm_job *job)
{
	static const struct {
		const char *word, *text;
	} words[] = {
		{ "BOOT_FAIL", "its node did not boot" },
		{ "CANCELLED", "it was cancelled from outside dcode" },
		{ "COMPLETED", "its batch script has ended" },
		{ "COMPLETING", "it is being ended from outside dcode" },
		{ "DEADLINE", "its deadline passed" },
		{ "FAILED", "its batch script failed" },
		{ "NODE_FAIL", "its node failed" },
		{ "OUT_OF_MEMORY", "it used more memory than allowed" },
		{ "PREEMPTED", "a job of higher priority took its place" },
		{ "REVOKED", "another cluster took it over" },
		{ "SUSPENDED", "it is suspended" },
		{ "TIMEOUT", "its time limit passed" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, job->state) == 0)
			return words[i].text;
	if (slurm_state(job) == STATE_STARTING)
		return "Slurm took it off its node and has queued it again";
	return job->restarts ? "Slurm has started it again" : "";
}

int slurm_ended(const struct slurm_job *job, struct error *err)
{
	const char *text = explain(job);
	const char *word = job->state;

	if (slurm_state(job) == STATE_STARTING ||
	    (slurm_state(job) == STATE_RUNNING && job->restarts))
		word = "REQUEUED";
	error_set(err, ERR_GONE, "the sandbox is lost: job %s is %s%s%s",
		  job->id, word, *text ? ", " : "", text);
	if (!strcmp(job->state, "NODE_FAIL"))
		error_hint(err,
			   "Its directory %s stays on the node until your next "
			   "sandbox there.",
			   job->label);
	return -1;
}

struct job_listing {
	const char *owner;
	const struct info_sink *sink;
};

static void emit(const struct slurm_job *job, const struct info_sink *sink)
{
	const struct sandbox_info info = {
		.id = job->id,
		.label = job->label,
		.owner = job->owner,
		.state = slurm_state(job),
		.image = "",
		.created = job->submitted,
		.ends = slurm_state(job) == STATE_RUNNING ? job->end : 0,
	};

	info_emit(sink, &info);
}

static void list_one(void *arg, const struct slurm_job *job)
{
	struct job_listing *l = arg;

	if (job->label[0] && slurm_state(job) != STATE_GONE &&
	    (!l->owner || !strcmp(l->owner, job->owner)))
		emit(job, l->sink);
}

int slurm_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct job_listing l = { owner, sink };

	return slurm_queue(client->priv, NULL, list_one, &l, stop, err);
}

int slurm_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct slurm_job job;

	if (slurm_find(client->priv, id, &job, stop, err) < 0)
		return -1;
	if (slurm_state(&job) == STATE_GONE)
		return error_set(err, ERR_NOT_FOUND, "job %s has ended: %s", id,
				 job.state);
	emit(&job, sink);
	return 0;
}

/* Jobs of others and jobs that dcode has not made are out of reach: an id may
 * be another cluster's, or long reused. */
int slurm_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err)
{
	struct slurm *s = client->priv;
	struct slurm_job job;
	struct buf line = BUF_INIT(4096);
	struct buf out = BUF_INIT(1 << 16);
	int64_t pause = POLL_MS;
	bool was_there = false;
	int status = -1; /* of scancel: once it took the request, no more */
	int rc = slurm_find(s, id, &job, stop, err);

	if (rc < 0 && err->code == ERR_NOT_FOUND)
		rc = 1;
	slurm_program(&line, "scancel");
	buf_adds(&line, " --quiet ");
	quote_word(&line, str_of(rc == 0 ? job.id : "0"));
	while (rc == 0 && slurm_state(&job) != STATE_GONE) {
		buf_clear(&out);
		if (status != 0)
			status = slurm_command(s, buf_str(&line), &out, stop,
					       err);
		rc = status < 0 ? -1 : stop_sleep(stop, pause, err);
		was_there = true;
		pause = pause * 2 < POLL_MAX_MS ? pause * 2 : POLL_MAX_MS;
		if (rc == 0)
			rc = slurm_find(s, id, &job, stop, err);
		if (rc < 0 && err->code == ERR_NOT_FOUND)
			rc = 1;
	}
	buf_release(&line);
	buf_release(&out);
	if (rc < 0)
		return -1;
	return was_there ? 0 : 1;
}
