/* slurm.c - the provider "slurm": sandboxes are jobs of a cluster. */
/* SPDX-License-Identifier: MIT */
/*
 * slurm.h describes what a job does, and its directories. Begin with
 * slurm_create(): it submits the job once (slurm_submit()), waits in the queue
 * (slurm_wait()), and opens the stream over which all commands are sent
 * (open_stream()). Settings that become options of sbatch have a field in
 * slurm_settings.
 *
 * queue.c runs Slurm's programs and reads their output.
 */
#include "providers/slurm/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/held/held.h"
#include "providers/kit/lease.h"
#include "sandbox/quote.h"
#include "sandbox/shell.h"

enum {
	SCRIPT_FAILED = 3, /* exit status of slurm_step.sh */
	SCRIPT_MAX = 256 << 10,
	LINE_BYTES = 512 << 10,
	SBATCH_MAX = 1 << 20,
	DELIMITER = 16,
	FIND_MS = 3000, /* ms to find a job if the answer of sbatch was lost */
	FIND_POLL_MS = 200,
	/* first pause between two polls, doubled up to POLL_SOON_MS */
	QUEUE_POLL_MS = 40,
	POLL_SOON_MS = 2000,
	/* ms; later the pause is doubled up to POLL_LATE_MS */
	SOON_MS = 60000,
	POLL_LATE_MS = 10000,
	CANCEL_MS = 10000,
	/* ms in which the controller may fail to answer */
	PATIENCE_MS = 120000,
	COMMAND_MAX = 1 << 20,
	LIFETIME_S = 4 * 3600,
	ANSWER_MAX = 64 << 10,
	/* ms from the job's start to the first line of its shell loop */
	READY_MS = 60000,
	ENDING_MS = 40000, /* for a job to end; Slurm's KillWait is 30 s */
	POLL_MS = 50,
	POLL_MAX_MS = 1000,
};

static const struct setting slurm_settings[] = {
	{ .key = "via",
	  .example = "\"me@login.example.org\"",
	  .type = SETTING_STRING,
	  .help = "\"user@login\": login node with Slurm's programs, used over "
		  "ssh; not set: this machine" },
	{ .key = "partition",
	  .example = "\"short\"",
	  .type = SETTING_STRING,
	  .field = "--partition=",
	  .help = "partition of the job" },
	{ .key = "account",
	  .example = "\"proj42\"",
	  .type = SETTING_STRING,
	  .field = "--account=",
	  .help = "account that the job is charged to" },
	{ .key = "qos",
	  .example = "\"normal\"",
	  .type = SETTING_STRING,
	  .field = "--qos=",
	  .help = "quality of service of the job" },
	{ .key = "cpus",
	  .unit = "CPUs",
	  .example = "4",
	  .type = SETTING_INT,
	  .field = "--cpus-per-task=",
	  .help = "processors" },
	{ .key = "memory",
	  .unit = "size",
	  .example = "\"8G\"",
	  .type = SETTING_STRING,
	  .field = "--mem=",
	  .help = "memory, as for sbatch: \"8G\"" },
	{ .key = "gpus",
	  .example = "\"a100:2\"",
	  .type = SETTING_STRING,
	  .field = "--gres=gpu:",
	  .help = "GPUs: \"1\" or \"a100:2\"" },
	{ .key = "time",
	  .example = "\"8:00:00\"",
	  .type = SETTING_STRING,
	  .field = "--time=",
	  .help = "time limit, as for sbatch: \"8:00:00\"; not set: four "
		  "hours" },
	{ .key = "constraint",
	  .example = "\"avx512\"",
	  .type = SETTING_STRING,
	  .field = "--constraint=",
	  .help = "features that the node must have" },
	{ .key = "container",
	  .example = "\"/shared/images/base\"",
	  .type = SETTING_STRING,
	  .field = "--container=",
	  .help = "directory of an OCI bundle that the job runs in" },
	{ .key = "apptainer",
	  .example = "\"docker://python:3\"",
	  .type = SETTING_STRING,
	  .help = "Apptainer image that commands run in, if the node has "
		  "Apptainer: a file, or \"docker://...\"" },
	{ .key = "options",
	  .example = "[\"--reservation=course\"]",
	  .type = SETTING_LIST,
	  .help = "more options of sbatch: [\"--reservation=x\"]" },
	{ .key = "requeue",
	  .type = SETTING_BOOL,
	  .fallback = "false",
	  .help = "true: Slurm may restart the job on another node, but the "
		  "work in the sandbox is lost" },
	{ .key = "root",
	  .type = SETTING_STRING,
	  .fallback = "\"~/dcode\"",
	  .help = "directory on the node in which each sandbox gets its "
		  "directory" },
	{ .key = "wait",
	  .unit = "seconds",
	  .type = SETTING_INT,
	  .fallback = "3600",
	  .help = "seconds that the job may wait in the queue (0: no limit)" },
	{ 0 },
};

/* Checks that a value for sbatch is a single line. Other characters are
 * allowed: the value is quoted wherever a shell reads it. */
static int check_text(const char *key, const char *value, struct error *err)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 0x7f)
			return error_set(
				err, ERR_CONFIG,
				"%s of [sandboxes.providers.slurm.params] "
				"contains a control character",
				key);
	return 0;
}

/* Reads a text. *value is NULL if the setting is missing or empty. */
static int read_text(const struct settings *set, const char *key,
		     const char **value, struct error *err)
{
	*value = NULL;
	if (settings_string(set, "slurm", key, value, err) < 0)
		return -1;
	if (*value && !**value)
		*value = NULL;
	return *value ? check_text(key, *value, err) : 0;
}

/* Refuses a login node like "-oProxyCommand=...", which ssh would treat as an
 * option and run. */
static int check_login(const char *via, struct error *err)
{
	if (via && via[0] == '-')
		return error_set(err, ERR_CONFIG,
				 "via = \"%.100s\" is not a login node: it "
				 "begins with a \"-\"",
				 via);
	return 0;
}

static int check_root(const char *root, struct error *err)
{
	if (root &&
	    (root[0] == '/' || !strcmp(root, "~") || !strncmp(root, "~/", 2)))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "root = \"%.100s\" is not an absolute path: "
			 "\"/scratch/me\" or \"~/dcode\"",
			 root ? root : "");
}

/* Reads and checks the settings that open() needs. */
static int slurm_settings_read(struct slurm *s, const struct settings *set,
			       struct error *err)
{
	s->settings = set;
	if (read_text(set, "via", &s->via, err) < 0 ||
	    check_login(s->via, err) < 0 ||
	    read_text(set, "root", &s->root, err) < 0 ||
	    check_root(s->root, err) < 0 ||
	    read_text(set, "container", &s->container, err) < 0 ||
	    read_text(set, "apptainer", &s->image, err) < 0 ||
	    settings_int(set, "slurm", "wait", &s->wait_s, err) < 0)
		return -1;
	if (s->wait_s < 0)
		return error_set(err, ERR_CONFIG, "wait = %lld is below zero",
				 (long long)s->wait_s);
	return 0;
}

/* Appends a space and one option, quoted. */
static void add_word(struct buf *words, const char *option, struct str value)
{
	struct buf word = BUF_INIT(1 << 16);

	buf_adds(&word, option);
	buf_addstr(&word, value);
	buf_addc(words, ' ');
	quote_word(words, buf_str(&word));
	buf_release(&word);
}

/* Appends the sbatch option that the setting's row names in .field, if the
 * setting is set. */
static int add_row(const struct settings *set, const struct setting *row,
		   struct buf *words, struct error *err)
{
	const char *text = NULL;
	char number[24];
	int64_t n = 0;

	if (row->type == SETTING_STRING) {
		if (read_text(set, row->key, &text, err) < 0)
			return -1;
	} else {
		if (settings_int(set, "slurm", row->key, &n, err) < 0)
			return -1;
		snprintf(number, sizeof(number), "%lld", (long long)n);
		text = n > 0 ? number : NULL;
	}
	if (text)
		add_word(words, row->field, str_of(text));
	return 0;
}

/* True for options that send the job to a cluster other than the one that
 * squeue, scancel and srun use. */
static bool names_cluster(const char *option)
{
	static const char constraint[] = "--cluster-constraint";

	return !strncmp(option, "-M", 2) ||
	       (!strncmp(option, "--cluster", strlen("--cluster")) &&
		strncmp(option, constraint, sizeof(constraint) - 1) != 0);
}

static int refuse_cluster(const char *option, struct error *err)
{
	error_set(err, ERR_CONFIG,
		  "options: \"%.100s\" would send the job to another cluster",
		  option);
	return error_hint(err, SLURM_OTHER_CLUSTER);
}

static int add_options(const struct settings *set, struct buf *words,
		       struct error *err)
{
	const char *const *list = NULL;
	size_t n = 0;

	if (settings_list(set, "slurm", "options", &list, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (list[i][0] != '-')
			return error_set(
				err, ERR_CONFIG,
				"options: not an option of sbatch: \"%.100s\"",
				list[i]);
		if (names_cluster(list[i]))
			return refuse_cluster(list[i], err);
		if (check_text("options", list[i], err) < 0)
			return -1;
		add_word(words, "", str_of(list[i]));
	}
	return 0;
}

/* Appends the options of sbatch that come from the provider's settings. Each is
 * quoted and follows a space. */
static int append_options(const struct slurm *s,
			  const struct sandbox_spec *spec, struct buf *words,
			  struct error *err)
{
	const struct setting *row;
	const char *time = NULL;
	bool requeue = false;

	if (read_text(s->settings, "time", &time, err) < 0 ||
	    settings_bool(s->settings, "slurm", "requeue", &requeue, err) < 0)
		return -1;
	buf_adds(words, requeue ? " --requeue" : " --no-requeue");
	if (!time) /* Slurm's time limit is in minutes: rounded up */
		buf_addf(words, " --time=%lld",
			 (long long)((spec->lifetime_s + 59) / 60));
	for (row = slurm_settings; row->key; row++)
		if (row->field && add_row(s->settings, row, words, err) < 0)
			return -1;
	return add_options(s->settings, words, err);
}

struct label_match {
	const char *label;
	struct slurm_job job;
	bool found;
};

struct poll_pace { /* how often the queue is polled */
	int64_t ms;
	int64_t answered; /* clock_ms() of the controller's last answer */
};

/* Builds the shell line: sbatch with its options and the batch script. */
static int describe_job(const struct slurm *s, const struct sandbox_spec *spec,
			struct buf *line, struct error *err)
{
	struct buf script = BUF_INIT(SCRIPT_MAX);
	char end[DELIMITER + 1];

	ids_random(end, DELIMITER);
	/* --export=NONE: the job gets the login environment of its user, not
	 * dcode's environment. */
	slurm_program(line, "sbatch");
	buf_adds(line, " --parsable --export=NONE --nodes=1 --ntasks=1 "
		       "--chdir=/ --input=/dev/null --output=/dev/null "
		       "--error=/dev/null");
	if (append_options(s, spec, line, err) < 0)
		return -1;
	/* These options come last, so that they override those of the user. */
	buf_addf(line, " --job-name=%s --comment='dcode label=%s owner=%s'",
		 spec->label, spec->label, spec->owner ? spec->owner : "");
	slurm_batch_script(s, spec->label, &script);
	buf_addf(line, " <<'%s'\n", end);
	buf_addstr(line, buf_str(&script));
	buf_addf(line, "%s\n", end);
	buf_release(&script);
	return buf_check(line, "the batch script", err);
}

/* Returns the job's id from a line "7" or "7;CLUSTER", owned by the caller.
 * Other lines are skipped: a plugin of the site may print some. *cluster points
 * into printed. */
static char *parse_submitted(struct str printed, struct str *cluster)
{
	struct str line;
	char *id = NULL;

	/* Use only complete lines: an id that was cut off is another job's
	 * id. */
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

/* Callback of slurm_queue(): stores the first job with the label. */
static void store_labelled(void *arg, const struct slurm_job *job)
{
	struct label_match *n = arg;

	if (n->found || strcmp(job->label, n->label) != 0)
		return;
	n->job = *job;
	n->found = true;
}

/* Searches for a job with this label, since sbatch may have worked although its
 * answer was lost. squeue may show the job only after some time. */
static bool find_submitted(struct slurm *s, const char *label,
			   struct slurm_job *job, const struct stop *stop)
{
	struct stop within = stop_within(stop, FIND_MS);
	struct label_match n = { .label = label };
	struct error ignored = { 0 };

	do {
		if (slurm_queue(s, label, store_labelled, &n, &within,
				&ignored) == 0 &&
		    n.found) {
			*job = n.job;
			return true;
		}
		ignored = (struct error){ 0 };
	} while (stop_sleep(&within, FIND_POLL_MS, &ignored) == 0);
	return false;
}

/* Checks a job that the site sent to another cluster. If squeue shows it,
 * because the clusters form a federation, it can be used. Otherwise it is
 * cancelled. */
static int check_cluster(struct sandbox *sb, struct str cluster,
			 const struct stop *stop, struct error *err)
{
	struct slurm *s = sb->client->priv;
	struct stop cleanup = stop_cleanup(CANCEL_MS);
	struct buf line = BUF_INIT(4096);
	struct buf out = BUF_INIT(SBATCH_MAX);
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
		  "job %s was submitted to cluster %s, but squeue queries "
		  "another one; %s",
		  sb->id, name.ptr ? name.ptr : "?",
		  status == 0 ? "it has been cancelled"
			      : "dcode could not cancel it; cancel it on that "
				"cluster");
	error_hint(err, SLURM_OTHER_CLUSTER);
	buf_release(&line);
	buf_release(&out);
	buf_release(&name);
	free(sb->id);
	sb->id = NULL;
	return -1;
}

/* Runs sbatch once. It is not retried: even after an error or a broken
 * connection the controller may have made the job. */
static int submit_once(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	struct slurm *s = sb->client->priv;
	struct buf line = BUF_INIT(ANSWER_MAX);
	struct buf out = BUF_INIT(SBATCH_MAX);
	struct str cluster = { 0 };
	int status = describe_job(s, spec, &line, err);

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

/* Submits the job, or finds the one that an earlier request for this label
 * submitted, then waits until it runs. sb->id is set as soon as it is known. */
static int slurm_submit(struct sandbox *sb, const struct sandbox_spec *spec,
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

/* Reports "job 7 is pending: Resources; it may start at 14:05 (in 20 min)". */
static void report_pending(const struct slurm_job *job,
			   const struct sandbox_spec *spec,
			   char last[SLURM_WORD * 2])
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

/* True if the job can never start for this reason (squeue(1), JOB REASON
 * CODES). */
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

/* Reports that the job cannot start. Always -1. */
static int fail_cannot_start(const struct slurm_job *job, struct error *err)
{
	error_set(err, ERR_CONFIG, "job %s cannot start: %s", job->id,
		  job->reason);
	return error_hint(
		err, "Change params in [sandboxes.providers.slurm.params], for "
		     "example time = \"1:00:00\" if the partition has a lower "
		     "limit.");
}

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

/* Polls the job. Returns 1 if it runs, else 0 after a pause. A controller that
 * does not answer may be starting, so it is polled again for a while. */
static int wait_once(struct slurm *s, struct slurm_job *job,
		     struct poll_pace *p, const struct stop *stop,
		     struct error *err)
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
	/* do not wait for Slurm: it ends only some of these jobs itself */
	if (is_hopeless(job))
		return fail_cannot_start(job, err);
	if (state == STATE_GONE || !strcmp(job->state, "COMPLETING"))
		return slurm_ended(job, err);
	return stop_sleep(stop, p->ms, err);
}

/* Waits until the job runs. spec is set for a new job: it receives messages
 * about why the job waits. Else it is NULL. */
static int slurm_wait(struct slurm *s, struct slurm_job *job,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err)
{
	struct stop within =
		s->wait_s ? stop_within(stop, s->wait_s * 1000) : *stop;
	char last[SLURM_WORD * 2] = "";
	int64_t began = clock_ms();
	struct poll_pace p = { QUEUE_POLL_MS, began };
	int rc = 0;

	while (rc == 0) {
		int64_t most = clock_ms() - began < SOON_MS ? POLL_SOON_MS
							    : POLL_LATE_MS;

		rc = wait_once(s, job, &p, &within, err);
		/* Print nothing about a job that starts at once. */
		if (rc == 0 && p.ms > QUEUE_POLL_MS * 8)
			report_pending(job, spec, last);
		p.ms = p.ms * 2 < most ? p.ms * 2 : most;
	}
	if (rc < 0 && err->code == ERR_TIMEOUT &&
	    within.deadline < stop->deadline)
		return waited_too_long(s, job, err);
	return rc < 0 ? -1 : 0;
}

static const unsigned char step_sh[] = {
#include "scripts/sandbox/slurm_step.sh.inc"
};

/*
 * Implements held_program.failed: srun ended before the shell loop in the job
 * printed anything.
 */
static void explain_step(void *arg, int status, struct str said,
			 struct error *err)
{
	(void)arg;
	if (!said.len)
		said = STR("failed without a message");
	if (status == SCRIPT_FAILED)
		error_set(err, ERR_REMOTE, "the job: %.*s", (int)said.len,
			  said.ptr);
	else
		error_set(err, ERR_NETWORK, "srun: %.*s", (int)said.len,
			  said.ptr);
}

static void add_step_script(const char *label, struct buf *out)
{
	buf_addf(out, "b_control=/tmp/.%s\n", label);
	quote_script(out, SCRIPT(step_sh));
}

/* Runs req->command, a text of sh, on the job's node: with a terminal, or as
 * ports_run_program() does. */
static int run_step(struct slurm *s, const char *job,
		    const struct exec_request *req, struct exec_result *res,
		    const struct stop *stop, struct error *err)
{
	struct buf line = BUF_INIT(ANSWER_MAX);
	struct exec_request own = *req;
	char *argv[] = { "sh", "-c", NULL, NULL };
	struct proc_spec sh = { .path = "/bin/sh",
				.argv = argv,
				.env = s->env };
	int rc;

	/* srun holds back output that does not end in a line feed (22.05.8) */
	slurm_add_step(s, job, req->terminal ? " --pty" : " --unbuffered",
		       &line);
	buf_adds(&line, " -c ");
	quote_word(&line, req->command);
	argv[2] = line.ptr;
	own.command = buf_str(&line);
	if (s->via)
		rc = ssh_run(s->login.priv, s->via, &own, res, stop, err);
	else if (req->terminal)
		rc = shell_run_program(&sh, req, res, stop, err);
	else
		rc = ports_run_program(&sh, req, stop, err);
	buf_release(&line);
	return rc;
}

/* Returns the stream to a job's shell loop, owned by the caller. Nothing is
 * started before the first request. */
static struct held *make_stream(struct slurm *s, const struct slurm_job *job,
				struct error *err)
{
	struct buf line = BUF_INIT(4096);
	struct buf script = BUF_INIT(ANSWER_MAX);
	char *argv[] = { "sh", "-c", NULL, NULL };
	struct held_program program = { .path = "/bin/sh",
					.argv = argv,
					.env = s->env,
					.name = "the job",
					.start_ms = s->ready_ms,
					.failed = explain_step };
	struct held *h;

	slurm_add_step(s, job->id, "", &line);
	argv[2] = line.ptr;
	add_step_script(job->label, &script);
	program.script = script.ptr;
	h = s->via ? ssh_stream(s->login.priv, s->via, line.ptr, &program, err)
		   : held_new(&program);
	buf_release(&line);
	buf_release(&script);
	return h;
}

/* A job and the stream to it. */
struct slurm_box {
	struct sandbox *sb;
	struct slurm *slurm;
	struct held *stream;
	/* how often the job had been restarted when dcode opened the stream */
	int64_t restarts;
	char label[16];
};

/* Builds the environment of Slurm's programs: the variables about the cluster
 * and the user's account. Others are not passed: the cluster does not need
 * keys, and if dcode itself runs in a job, the SLURM_* variables of that job
 * would change srun's options. */
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
	/* Job ids are unique only within a cluster. */
	client->endpoint =
		s->via ? s->via : settings_exported(set, "SLURM_CONF");
	return 0;
}

/* Reads the job's state. If the job is about to end, waits until it has ended,
 * because only then does the state say why. */
static int read_job(struct slurm_box *b, struct slurm_job *job,
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

/* Call after a failure. -1 with ERR_GONE if the job has ended, or if Slurm has
 * started it again. */
static int check_job(struct slurm_box *b, const struct stop *stop,
		     struct error *err)
{
	struct error why = { 0 };
	struct slurm_job job;

	if (read_job(b, &job, stop, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return error_set(
				err, ERR_GONE,
				"the sandbox is lost: job %s has ended, and "
				"the controller no longer knows it",
				b->sb->id);
		return -1; /* err is still that of the failed request */
	}
	if (slurm_state(&job) != STATE_RUNNING || job.restarts != b->restarts)
		return slurm_ended(&job, err);
	return -1;
}

/* Call after a request over the stream. If it failed (rc < 0), checks whether
 * the reason is that the job has ended, and then reports that. */
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

/* Implements supervisor.call over the job's stream. */
static int call_job(void *arg, struct str text, int64_t wait_ms,
		    struct buf *out, const struct stop *stop, struct error *err)
{
	struct slurm_box *b = arg;

	return check_call(
		b, held_call_job(b->stream, text, wait_ms, out, stop, err),
		stop, err);
}

/* Starts the stream and sets the working directory from the job's answer. */
static int open_stream(struct sandbox *sb, const struct slurm_job *job,
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
	b->stream = make_stream(b->slurm, job, err);
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
	return open_stream(sb, &job, stop, err);
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
	return open_stream(sb, &job, stop, err);
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

/* Implements sandbox_ops.shell. The variables are those of the job's loop, as
 * of other commands. */
static int slurm_shell(struct sandbox *sb, const struct exec_request *req,
		       struct exec_result *res, const struct stop *stop,
		       struct error *err)
{
	struct slurm_box *b = sb->priv;
	struct exec_request wrapped = *req;
	struct buf own = BUF_INIT(ANSWER_MAX);
	struct buf text = BUF_INIT(ANSWER_MAX);
	char name[SUPERVISE_JOB + 1];
	int rc = check_call(
		b, held_call(b->stream, STR("export -p"), 0, &own, stop, err),
		stop, err);

	ids_random(name, SUPERVISE_JOB);
	buf_addstr(&text, buf_str(&own));
	buf_adds(&text, "\ncd -- ");
	quote_word(&text, str_of(sb->workdir));
	buf_addf(&text, " || exit; export DCODE_EXEC=%s.%s", name, b->label);
	for (const char *const *e = req->env; e && *e; e++) {
		buf_addc(&text, ' ');
		quote_word(&text, str_of(*e));
	}
	if (b->slurm->image) {
		buf_addf(&text, "\nexec apptainer exec --bind /tmp/.%s --bind ",
			 b->label);
		buf_adds(&text, "\"$PWD\" --pwd \"$PWD\" ");
		quote_word(&text, str_of(b->slurm->image));
		buf_adds(&text, " sh -c ");
		quote_word(&text, req->command);
	} else {
		buf_addc(&text, '\n');
		buf_addstr(&text, req->command);
	}
	wrapped.command = buf_str(&text);
	if (rc == 0)
		rc = buf_check(&text, "the job's variables", err);
	if (rc == 0)
		rc = run_step(b->slurm, sb->id, &wrapped, res, stop, err);
	buf_release(&own);
	buf_release(&text);
	return rc;
}

/* For ports_dial_by_command(): runs the relay in a step of its own, which has
 * no PATH because of --export=NONE. */
static int run_relay(struct sandbox *sb, const struct exec_request *req,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err)
{
	const struct slurm_box *b = sb->priv;
	struct exec_request own = *req;
	struct buf text = BUF_INIT(ANSWER_MAX);
	int rc;

	buf_adds(&text, "PATH=/usr/local/bin:/usr/bin:/bin\nexport PATH\n");
	buf_addstr(&text, req->command);
	own.command = buf_str(&text);
	rc = run_step(b->slurm, sb->id, &own, res, stop, err);
	buf_release(&text);
	return rc;
}

static int dial_node(struct sandbox *sb, unsigned port, struct port_link *link,
		     const struct stop *stop, struct error *err)
{
	return ports_dial_by_command(sb, run_relay, port, link, stop, err);
}

static const struct port_ops port_ops = { .dial = dial_node };

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
	.shell = slurm_shell,
	.ports = &port_ops,
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
