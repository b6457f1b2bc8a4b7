/* create.c - a job submitted once per label, and the wait until it runs. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/slurm/slurm.h"
#include "sandbox/quote.h"

enum {
	SCRIPT_MAX = 256 << 10,
	LINE_BYTES = 512 << 10,
	ANSWER_MAX = 1 << 20,
	DELIMITER = 16,
	FIND_MS = 3000, /* for a job whose sbatch did not tell its id */
	FIND_POLL_MS = 200,
	POLL_MS = 40, /* of the queue, doubled up to */
	POLL_SOON_MS = 2000,
	SOON_MS = 60000, /* which after so long is */
	POLL_LATE_MS = 10000,
	CANCEL_MS = 10000,
	PATIENCE_MS = 120000, /* with a controller that does not answer */
};

static int compose(const struct slurm *s, const struct sandbox_spec *spec,
		   struct buf *line, struct error *err)
{
	struct buf script = BUF_INIT(SCRIPT_MAX);
	char end[DELIMITER + 1];

	ids_random(end, DELIMITER);
	/* --export=NONE: the job gets its user's login environment, nothing
	 * of ours. */
	slurm_program(line, "sbatch");
	buf_adds(line, " --parsable --export=NONE --nodes=1 --ntasks=1 "
		       "--chdir=/ --input=/dev/null --output=/dev/null "
		       "--error=/dev/null");
	if (slurm_settings_words(s, spec, line, err) < 0)
		return -1;
	/* The last ones count: no option of the user's replaces the label. */
	buf_addf(line, " --job-name=%s --comment='dcode label=%s owner=%s'",
		 spec->label, spec->label, spec->owner ? spec->owner : "");
	slurm_batch_script(s, spec->label, &script);
	buf_addf(line, " <<'%s'\n", end);
	buf_addstr(line, buf_str(&script));
	buf_addf(line, "%s\n", end);
	buf_release(&script);
	return buf_check(line, "the batch script", err);
}

/* "7" or "7;cluster" on a line of its own; others are a plugin's words. The
 * cluster is a part of printed, empty unless named. */
static char *parse_submitted(struct str printed, struct str *cluster)
{
	struct str line;
	char *id = NULL;

	/* Half a number is another job's. */
	while (str_find(printed, '\n') < printed.len &&
	       str_split(&printed, '\n', &line)) {
		struct str number = { line.ptr, str_find(line, ';') };
		int64_t n;

		if (str_to_int(number, &n) && n > 0) {
			free(id);
			id = xasprintf("%lld", (long long)n);
			*cluster = str_trim(str_skip(line, number.len + 1));
		}
	}
	return id;
}

struct named {
	const char *label;
	struct slurm_job job;
	bool found;
};

static void match(void *arg, const struct slurm_job *job)
{
	struct named *n = arg;

	if (n->found || strcmp(job->label, n->label) != 0)
		return;
	n->job = *job;
	n->found = true;
}

/* The job of our label, which an sbatch made whose answer was lost: it may
 * take a while to be seen. True when it is there. */
static bool find_submitted(struct slurm *s, const char *label,
			   struct slurm_job *job, const struct stop *stop)
{
	struct stop within = stop_within(stop, FIND_MS);
	struct named n = { .label = label };
	struct error ignored = { 0 };

	do {
		if (slurm_queue(s, label, match, &n, &within, &ignored) == 0 &&
		    n.found) {
			*job = n.job;
			return true;
		}
		ignored = (struct error){ 0 };
	} while (stop_sleep(&within, FIND_POLL_MS, &ignored) == 0);
	return false;
}

/* Something at the site has sent the job to a cluster of another name: good
 * where squeue knows it all the same, as in a federation. Else it is ended. */
static int check_cluster(struct sandbox *sb, struct str cluster,
			 const struct stop *stop, struct error *err)
{
	struct slurm *s = sb->client->priv;
	struct stop cleanup = stop_cleanup(CANCEL_MS);
	struct buf line = BUF_INIT(4096);
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct buf name = BUF_INIT(256);
	struct error why = { 0 };
	struct slurm_job job;
	int status;

	if (!cluster.len || slurm_find(s, sb->id, &job, stop, &why) == 0)
		return 0;
	sanitize_line(cluster, &name);
	slurm_program(&line, "scancel");
	buf_adds(&line, " --clusters=");
	quote_word(&line, cluster);
	buf_addf(&line, " %s", sb->id);
	why = (struct error){ 0 };
	status = slurm_command(s, buf_str(&line), &out, &cleanup, &why);
	error_set(err, ERR_CONFIG,
		  "job %s was made in the cluster %s, but squeue asks another "
		  "one: %s",
		  sb->id, name.ptr ? name.ptr : "?",
		  status == 0 ? "it has been cancelled"
			      : "it could not be cancelled: cancel it there");
	error_hint(err, SLURM_OTHER_CLUSTER);
	buf_release(&line);
	buf_release(&out);
	buf_release(&name);
	free(sb->id);
	sb->id = NULL;
	return -1;
}

/* Runs sbatch. A second time is never tried: neither a refusal nor a cut says
 * for sure that the controller has not made the job. */
static int submit_once(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	struct slurm *s = sb->client->priv;
	struct buf line = BUF_INIT(LINE_BYTES);
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct str cluster = { 0 };
	int status = compose(s, spec, &line, err);

	if (status < 0) {
		err->nothing_made = true;
	} else {
		status = slurm_command(s, buf_str(&line), &out, stop, err);
		if (status == 0)
			sb->id = parse_submitted(buf_str(&out), &cluster);
		if (status > 0)
			status = slurm_refused("sbatch", status, buf_str(&out),
					       err);
		else if (status == 0 && !sb->id)
			status = error_set(err, ERR_PROTOCOL,
					   "sbatch reported no job");
		else if (status == 0)
			status = check_cluster(sb, cluster, stop, err);
	}
	buf_release(&line);
	buf_release(&out);
	return status;
}

int slurm_submit(struct sandbox *sb, const struct sandbox_spec *spec,
		 struct slurm_job *job, const struct stop *stop,
		 struct error *err)
{
	struct slurm *s = sb->client->priv;
	struct error why = { 0 };

	if (create_log_add(&s->sent, spec->label)) {
		error_set(&why, ERR_REMOTE, "its sbatch was interrupted");
	} else if (submit_once(sb, spec, stop, &why) == 0) {
		*job = (struct slurm_job){ .state = "PENDING" };
		snprintf(job->id, sizeof(job->id), "%s", sb->id);
		return 0;
	}
	if (!why.nothing_made && why.code != ERR_CANCELLED &&
	    find_submitted(s, spec->label, job, stop)) {
		sb->id = xstrdup(job->id);
		return 0;
	}
	*err = why;
	err->exhausted = true;
	return -1;
}

/* "job 7 is pending: Resources; it may start at 14:05 (in 20 min)". */
static void announce(const struct slurm_job *job,
		     const struct sandbox_spec *spec, char last[SLURM_WORD * 2])
{
	char now[SLURM_WORD * 2];
	int64_t in = job->start - (int64_t)time(NULL);
	time_t start = (time_t)job->start;
	char at[32] = "";
	struct tm tm;
	char *line;

	snprintf(now, sizeof(now), "%s %s %lld", job->state, job->reason,
		 (long long)job->start / 60);
	if (!strcmp(now, last) || !spec || !spec->progress)
		return;
	memcpy(last, now, sizeof(now));
	if (job->start > 0 && in > 0 && localtime_r(&start, &tm))
		(void)strftime(at, sizeof(at),
			       in < 86400 / 2 ? "%H:%M" : "%F %H:%M", &tm);
	line = xasprintf("job %s is %s: %s%s%s%s", job->id, job->state,
			 job->reason, at[0] ? "; estimated start " : "", at,
			 at[0] ? "" : "; no start is estimated yet");
	spec->progress(spec->arg, line);
	free(line);
}

/* Reasons that no wait ends (squeue(1), JOB REASON CODES). */
static bool is_hopeless(const struct slurm_job *job)
{
	static const char *const reasons[] = {
		"AccountNotAllowed",  "AssociationJobLimit",
		"BadConstraints",     "InvalidAccount",
		"InvalidQOS",         "PartitionNodeLimit",
		"PartitionTimeLimit", "QOSNotAllowed",
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(reasons[i], job->reason))
			return true;
	return str_ends(str_of(job->reason), "MaxWallDurationPerJobLimit");
}

static int cannot_start(const struct slurm_job *job, struct error *err)
{
	error_set(err, ERR_CONFIG, "job %s cannot start: %s", job->id,
		  job->reason);
	return error_hint(
		err, "Change params in [sandboxes.providers.slurm.params], for "
		     "example time = \"1:00:00\" if the partition has a lower "
		     "limit.");
}

struct pace { /* of the questions after a job */
	int64_t ms;
	int64_t answered; /* clock_ms() */
};

static int waited_too_long(const struct slurm *s, const struct slurm_job *job,
			   struct error *err)
{
	error_set(err, ERR_TIMEOUT,
		  "job %s has been %s (%s) for more than %lld s", job->id,
		  job->state, job->reason, (long long)s->wait_s);
	err->exhausted = true;
	return error_hint(
		err,
		"To wait longer, set wait = %lld in "
		"[sandboxes.providers.slurm.params]; 0 waits without a limit.",
		(long long)s->wait_s * 4);
}

/* One look, and a pause unless it runs: 1 when it does. A controller that is
 * being started again is asked again. */
static int wait_once(struct slurm *s, struct slurm_job *job, struct pace *p,
		     const struct stop *stop, struct error *err)
{
	enum sandbox_state state;

	if (slurm_find(s, job->id, job, stop, err) < 0) {
		if (err->code != ERR_NETWORK ||
		    clock_ms() - p->answered > PATIENCE_MS)
			return -1;
		*err = (struct error){ 0 };
		return stop_sleep(stop, p->ms, err);
	}
	p->answered = clock_ms();
	state = slurm_state(job);
	if (state == STATE_RUNNING)
		return 1;
	if (is_hopeless(job)) /* Slurm ends some of these by itself */
		return cannot_start(job, err);
	if (state == STATE_GONE || !strcmp(job->state, "COMPLETING"))
		return slurm_ended(job, err);
	return stop_sleep(stop, p->ms, err);
}

int slurm_wait(struct slurm *s, struct slurm_job *job,
	       const struct sandbox_spec *spec, const struct stop *stop,
	       struct error *err)
{
	struct stop within =
		s->wait_s ? stop_within(stop, s->wait_s * 1000) : *stop;
	char last[SLURM_WORD * 2] = "";
	int64_t began = clock_ms();
	struct pace p = { POLL_MS, began };
	int rc = 0;

	while (rc == 0) {
		int64_t most = clock_ms() - began < SOON_MS ? POLL_SOON_MS
							    : POLL_LATE_MS;

		rc = wait_once(s, job, &p, &within, err);
		/* What is scheduled at once needs no line. */
		if (rc == 0 && p.ms > POLL_MS * 8)
			announce(job, spec, last);
		p.ms = p.ms * 2 < most ? p.ms * 2 : most;
	}
	if (rc < 0 && err->code == ERR_TIMEOUT &&
	    within.deadline < stop->deadline)
		return waited_too_long(s, job, err);
	return rc < 0 ? -1 : 0;
}
