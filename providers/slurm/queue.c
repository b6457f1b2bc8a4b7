/* queue.c - runs Slurm's programs and reads their output. */
/* SPDX-License-Identifier: MIT */
/*
 * slurm_command() runs a line of sh where Slurm's programs are: on this
 * machine, or on the login node of "via". The other functions use it:
 * slurm_queue() reads squeue, slurm_remove() uses scancel. The scripts that run
 * in a job are built at the top of the file.
 *
 * The output of programs is not trusted. A job is dcode's only if its comment
 * has dcode's label, and only jobs of the owner are listed.
 */
#include <stdio.h>
#include <string.h>

#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/held/held.h"
#include "providers/slurm/slurm.h"
#include "sandbox/quote.h"

enum {
	SCRIPT_MAX = 256 << 10,
	LINE_BYTES = 1 << 20,
	QUEUE_MAX = 16 << 20,
	POLL_MS = 30, /* first pause after scancel, doubled up to POLL_MAX_MS */
	POLL_MAX_MS = 1000,
};

static const unsigned char batch_sh[] = {
#include "scripts/sandbox/slurm_batch.sh.inc"
};

static const unsigned char remove_sh[] = {
#include "scripts/sandbox/private_remove.sh.inc"
};

static const unsigned char lib_sh[] = {
#include "scripts/sandbox/supervise_lib.sh.inc"
};

static const unsigned char kill_sh[] = {
#include "scripts/sandbox/supervise_kill.sh.inc"
};

void slurm_batch_script(const struct slurm *s, const char *label,
			struct buf *out)
{
	struct buf text = BUF_INIT(SCRIPT_MAX);

	buf_adds(out, "#!/bin/sh\n");
	quote_assign(out, "b_label", str_of(label));
	quote_assign(out, "b_root", str_of(s->root));
	quote_assign(out, "b_image", str_of(s->image));
	buf_adds(&text, "held_nonce=$1\n");
	held_add_loop(&text);
	buf_adds(&text, "held_loop\n");
	quote_assign(out, "b_loop", buf_str(&text));
	buf_clear(&text);
	quote_script(&text, SCRIPT(lib_sh));
	quote_script(&text, SCRIPT(kill_sh));
	quote_assign(out, "s_lib", buf_str(&text));
	buf_release(&text);
	quote_script(out, SCRIPT(remove_sh));
	quote_script(out, SCRIPT(batch_sh));
}

void slurm_program(struct buf *line, const char *name)
{
	static const char *const unset[] = {
		"SLURM_CLUSTERS",    "SBATCH_CLUSTERS",     "SQUEUE_ACCOUNT",
		"SQUEUE_LICENSES",   "SQUEUE_NAMES",        "SQUEUE_PARTITION",
		"SQUEUE_QOS",        "SQUEUE_SORT",         "SCANCEL_ACCOUNT",
		"SCANCEL_BATCH",     "SCANCEL_INTERACTIVE", "SCANCEL_NAME",
		"SCANCEL_PARTITION", "SCANCEL_QOS",         "SCANCEL_STATE",
		"SCANCEL_USER",      "SCANCEL_WCKEY",
	};

	buf_adds(line, "env");
	for (size_t i = 0; i < sizeof(unset) / sizeof(*unset); i++)
		buf_addf(line, " -u %s", unset[i]);
	buf_addf(line, " %s", name);
}

/*
 * Runs the line on this machine. Its output and error output are merged, as on
 * the login node.
 */
static int run_locally(struct slurm *s, struct str line, struct buf *out,
		       const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(LINE_BYTES);
	char *argv[] = { "sh", "-c", NULL, NULL };
	int status;

	buf_adds(&text, "exec 2>&1\n");
	buf_addstr(&text, line);
	argv[2] = text.ptr;
	status = buf_check(&text, "the command", err);
	if (status == 0)
		status = proc_output("/bin/sh", argv, s->env, out, stop, err);
	buf_release(&text);
	return status;
}

/*
 * Moves the line's output from said to out and returns its exit status, which
 * the shell printed at the end.
 */
static int remove_status(struct buf *said, struct buf *out, struct error *err)
{
	static const char mark[] = "\n@status:";
	struct str text = buf_str(said);
	int64_t status = 0;

	for (size_t i = text.len; i-- > 0;) {
		struct str end = str_skip(text, i);

		if (!str_starts(end, mark))
			continue;
		if (!str_to_int(str_skip(end, sizeof(mark) - 1), &status) ||
		    status < 0 || status > 255)
			break;
		buf_add(out, text.ptr, i);
		return (int)status;
	}
	return error_set(err, ERR_PROTOCOL,
			 "the login node's answer is incomplete");
}

/* Runs the line on the login node. */
static int run_on_login_node(struct slurm *s, struct str line, struct buf *out,
			     const struct stop *stop, struct error *err)
{
	struct held *login = ssh_held(s->login.priv, s->via, err);
	struct buf text = BUF_INIT(LINE_BYTES);
	struct buf said = BUF_INIT(out->max + 64);
	int status = login ? 0 : -1;

	buf_adds(&text, "(\n");
	buf_addstr(&text, line);
	buf_adds(&text, "\n) 2>&1\nprintf '\\n@status:%d\\n' $?\n");
	if (status == 0)
		status = buf_check(&text, "the command", err);
	if (status == 0)
		status = held_call(login, buf_str(&text), 0, &said, stop, err);
	if (status == 0)
		status = remove_status(&said, out, err);
	buf_release(&text);
	buf_release(&said);
	return status;
}

int slurm_command(struct slurm *s, struct str line, struct buf *out,
		  const struct stop *stop, struct error *err)
{
	return s->via ? run_on_login_node(s, line, out, stop, err)
		      : run_locally(s, line, out, stop, err);
}

/* The full path of sh is needed, since --export=NONE leaves PATH unset. */
void slurm_add_step(const struct slurm *s, const char *job, const char *option,
		    struct buf *line)
{
	buf_adds(line, "exec ");
	slurm_program(line, "srun");
	buf_addf(line,
		 " --jobid=%s --overlap --export=NONE --quiet --nodes=1 "
		 "--ntasks=1 --chdir=/ --mpi=none%s",
		 job, option);
	if (s->container) {
		buf_adds(line, " --container=");
		quote_word(line, str_of(s->container));
	}
	buf_adds(line, " /bin/sh");
}

int slurm_refused(const char *what, int status, struct str printed,
		  struct error *err)
{
	struct buf clean = BUF_INIT(512);
	struct str line = { 0 };
	struct str item;

	while (str_split(&printed, '\n', &item))
		if (str_trim(item).len)
			line = str_trim(item);
	if (line.len > 300)
		line.len = 300;
	sanitize_line(line, &clean);
	if (status == 127)
		error_set(err, ERR_CONFIG, "%s: not found", what);
	else
		error_set(err, ERR_REMOTE, "%s: %s", what,
			  clean.len ? clean.ptr : "failed without a message");
	if (status == 127)
		error_hint(err, "Run dcode where Slurm's programs are, or set "
				"via = \"user@login\" in "
				"[sandboxes.providers.slurm.params].");
	buf_release(&clean);
	return -1;
}

/*
 * Columns of squeue. --json is not used: in 22.05 it ignores --jobs, --name and
 * --me, and prints some kilobytes for each job of every user. The comment is
 * last, since it may contain any text.
 */
static const char fields[] = "JobID:|,State:|,RestartCnt:|,SubmitTime:|,"
			     "StartTime:|,EndTime:|,Reason:|,NodeList:|,"
			     "Comment:|";

static const char marker[] = "dcode label=";

struct job_search {
	const char *id;
	struct slurm_job job;
	bool found;
};

struct job_listing {
	const char *owner;
	const struct info_sink *sink;
};

/* Copies a field into room. Text that does not fit into size bytes is cut
 * off. */
static void copy_field(char *room, size_t size, struct str s)
{
	snprintf(room, size, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

/* Parses a time. Returns Unix time in seconds; 0 for "N/A". */
static int64_t seconds_of(struct str s)
{
	int64_t n = 0;

	return str_to_int(s, &n) && n > 0 ? n : 0;
}

/*
 * True for a label of dcode. No other character is allowed, because a label
 * becomes part of paths that a shell reads.
 */
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

/* Parses "dcode label=LABEL owner=OWNER", as slurm_submit() writes it. */
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
	copy_field(job->label, sizeof(job->label), label);
	copy_field(job->owner, sizeof(job->owner),
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
	copy_field(job->id, sizeof(job->id), f[0]);
	copy_field(job->state, sizeof(job->state), f[1]);
	(void)str_to_int(f[2], &job->restarts);
	job->submitted = seconds_of(f[3]);
	job->start = seconds_of(f[4]);
	job->end = seconds_of(f[5]);
	copy_field(job->reason, sizeof(job->reason), f[6]);
	copy_field(job->nodes, sizeof(job->nodes), f[7]);
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
		/* squeue failed: the controller could not be reached, as it
		 * never refuses a query */
		err->code = ERR_NETWORK;
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

/* Callback of slurm_queue(): stores dcode's job with this id. */
static void store_found(void *arg, const struct slurm_job *job)
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

	if (slurm_queue(s, NULL, store_found, &search, stop, err) < 0)
		return -1;
	if (!search.found)
		return error_set(err, ERR_NOT_FOUND,
				 "unknown job %s, or dcode did not create it",
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
		{ "COMPLETING", STATE_UNKNOWN }, /* the job is about to end */
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

/*
 * Returns why the sandbox of a job is lost: either the job has ended, or Slurm
 * has started it again.
 */
static const char *describe_loss(const struct slurm_job *job)
{
	static const struct {
		const char *word, *text;
	} words[] = {
		{ "BOOT_FAIL", "its node did not boot" },
		{ "CANCELLED", "it was cancelled from outside dcode" },
		{ "COMPLETED", "its batch script has ended" },
		{ "COMPLETING", "another program is ending it" },
		{ "DEADLINE", "its deadline passed" },
		{ "FAILED", "its batch script failed" },
		{ "NODE_FAIL", "its node failed" },
		{ "OUT_OF_MEMORY", "it used more memory than allowed" },
		{ "PREEMPTED", "a job of higher priority preempted it" },
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
	const char *text = describe_loss(job);
	const char *word = job->state;

	if (slurm_state(job) == STATE_STARTING ||
	    (slurm_state(job) == STATE_RUNNING && job->restarts))
		word = "REQUEUED";
	error_set(err, ERR_GONE, "the sandbox is lost: job %s is %s%s%s",
		  job->id, word, *text ? ", " : "", text);
	if (!strcmp(job->state, "NODE_FAIL"))
		error_hint(err,
			   "The job's directory %s stays on the failed node. "
			   "dcode deletes it when you next start a sandbox on "
			   "that node.",
			   job->label);
	return -1;
}

static void emit_job(const struct slurm_job *job, const struct info_sink *sink)
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
		emit_job(job, l->sink);
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
	emit_job(&job, sink);
	return 0;
}

/*
 * Cancels a job that dcode created. The id may belong to another cluster, or
 * Slurm may have used it again for another job, so the job's comment is checked
 * first.
 */
int slurm_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err)
{
	struct slurm *s = client->priv;
	struct slurm_job job;
	struct buf line = BUF_INIT(4096);
	struct buf out = BUF_INIT(1 << 16);
	int64_t pause = POLL_MS;
	bool was_there = false;
	/* exit status of scancel; after success it is not run again */
	int status = -1;
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
