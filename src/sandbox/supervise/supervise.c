/* supervise.c - live output and killing for vendors that only run a command. */
/* SPDX-License-Identifier: MIT */

/*
 * A command becomes a job. One request starts it, more requests follow it until
 * it ends, and another kills it if its caller stops. Every request may be
 * repeated. After an answer that was cut off or damaged, the request is
 * repeated and asks for a smaller answer (decide_retry()). request.c encodes
 * the requests; scripts/sandbox/supervise*.sh execute them. Begin reading at
 * supervise_execute(), then run_job().
 */
#include "sandbox/supervise/supervise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "sandbox/supervise/request.h"

enum {
	MAX_COMMAND = 120000,
	MAX_ANSWER = 1 << 20,
	LONGEST_MS = 20000,
	FIRST_MS = 5000,
	PATIENCE_MS = 60000,
	/* time limit of a held command (supervisor.held) that was given none */
	HELD_MS = 24 * 3600 * 1000,
	LEAVE_MS = 5000,
	/* how long to repeat if the server was never reached */
	NOBODY_MS = 5000,
	/* a request may take this longer than the sandbox waits for output */
	SLACK_MS = 10000,
	/* a command may take this longer than its time limit */
	GRACE_MS = 10000,
	/* shortest time for which the sandbox waits for output */
	SHORTEST_MS = 100,
	/* job_request.gather_ms at first; later a twentieth of the run time */
	GATHER_MS = 80,
	GATHER_MAX_MS = 1000,
	PAUSE_MS = 100, /* between two kill requests */
	/* a start is not repeated when it is older than this */
	START_MS = 300000,
	KILL_MS = 2000, /* time that killing (s_kill()) needs in the sandbox */
	KILLED_MS = 6000, /* ms for a whole kill, including the requests */
	/* ms of that which remain after waiting for earlier kills, at least */
	KILLED_MIN_MS = 3000,
	/* total of the pauses that the server asked for */
	WAITED_MAX_MS = 600000,
	DAMAGED_MAX = 8, /* maximum number of damaged answers in a row */
	/* after so many requests of the full length without output, hold_ms
	 * grows */
	CALM = 8,
	FRAMING = 1024, /* bytes of an answer apart from the output */
};

struct job {
	struct kill kill;
	/*
	 * What the next request says. out_at and err_at: how many bytes were
	 * delivered. req, cwd and input are owned by the caller of execute, so
	 * a kill must not use them.
	 */
	struct job_request ask;
	struct supervisor s;
	void *arg;         /* owned copy for s.arg, or NULL */
	bool live;         /* output is delivered as it arrives */
	int64_t waited_ms; /* pauses that the server asked for */
	char id[SUPERVISE_JOB + 1];
	bool sent;
	bool ended; /* the sandbox has reported the end */
	/* a request's connection was cut: the vendor may limit long requests */
	bool cut;
	int64_t began;             /* clock_ms() at the start */
	int64_t began_at;          /* Unix ms at the start */
	int64_t failed_ms;         /* clock_ms() when the kill was ordered */
	struct answer_piece piece; /* size of the next answer */
	int64_t answered;          /* clock_ms() of the last answer */
	unsigned failures;         /* failed requests in a row */
	unsigned damaged;          /* damaged answers in a row */
	/* requests in a row that lasted the full hold_ms without output */
	unsigned calm;
	struct supervise_answer answer;
	struct supervise_read *read; /* owned by the sandbox; or NULL */
	/* jobs whose output start and kill requests remove */
	char forget[SUPERVISE_READ_IDS];
};

static int64_t or_default(int64_t n, int64_t standard)
{
	return n > 0 ? n : standard;
}

static int64_t longest_hold(const struct job *j)
{
	return or_default(j->s.longest_ms, LONGEST_MS);
}

static size_t most_answer(const struct job *j)
{
	return j->s.max_answer ? j->s.max_answer : MAX_ANSWER;
}

static size_t room_of(const struct supervisor *s)
{
	return s->max_command ? s->max_command : MAX_COMMAND;
}

/* True if output is to be delivered as it arrives. That of dcode's own helpers
 * is delivered at the end. */
static bool is_live(const struct exec_request *req)
{
	return req->output && (!req->plain || req->live);
}

/* Returns how long the sandbox waits for more output once it has some. */
static int64_t gather_ms(const struct job *j)
{
	int64_t ms = (clock_ms() - j->began) / 20;

	if (!j->live || j->s.held)
		return j->ask.hold_ms;
	if (ms < GATHER_MS)
		return GATHER_MS;
	return ms < GATHER_MAX_MS ? ms : GATHER_MAX_MS;
}

/* True if the answer's output begins at the offsets that were asked for. */
static bool is_where_asked(const struct job *j)
{
	const struct supervise_answer *a = &j->answer;

	if (!a->body.len && a->word >= WORD_LOST)
		return true;
	return (j->ask.out_at < 0 || a->out_at == j->ask.out_at) &&
	       (j->ask.err_at < 0 || a->err_at == j->ask.err_at) &&
	       a->out_at >= 0 && a->err_at >= 0;
}

/* Sends one request about the job and parses its answer. */
static int request_once(struct job *j, enum supervise_op op,
			const struct stop *stop, struct error *err)
{
	struct buf command = BUF_INIT(room_of(&j->s));
	struct buf raw = BUF_INIT(most_answer(j) + FRAMING);
	struct stop within = stop_within(stop, j->ask.hold_ms + SLACK_MS);
	char nonce[SUPERVISE_JOB + 1];
	struct job_request now = j->ask;
	int rc;

	now.op = op;
	now.nonce = nonce;
	now.gather_ms = gather_ms(j);
	now.max = j->piece.max - FRAMING;
	/* A kill sends the list again: the start with it may never have
	 * arrived. */
	now.forget = op == JOB_FOLLOW ? "" : j->forget;
	/* If this machine slept, the sandbox may have forgotten that the job
	 * has run, and a repeated start would run it again: only ask about
	 * it. */
	if (op == JOB_START && clock_unix_ms() - j->began_at > START_MS)
		now.op = JOB_FOLLOW;
	ids_random(nonce, SUPERVISE_JOB);
	rc = supervise_compose(&now, &command, err);
	if (rc == 0) {
		j->sent = true;
		within.held = clock_ms() + j->ask.hold_ms;
		rc = j->s.call(j->s.arg, buf_str(&command), j->ask.hold_ms,
			       &raw, &within, err);
	}
	if (rc == 0)
		rc = supervise_parse(buf_str(&raw), nonce, &j->answer, err);
	if (rc == 0)
		supervise_read_forgot(j->read, j->forget);
	if (rc == 0 && !is_where_asked(j))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: other output than "
			       "requested");
	buf_release(&raw);
	buf_release(&command);
	return rc;
}

/* Decides whether to repeat a request that failed after ms. 0: repeat. -1: give
 * up, with the reason in err. */
static int decide_retry(struct job *j, int64_t ms, const struct error *why,
			const struct stop *stop, struct error *err)
{
	int64_t patience = or_default(j->s.patience_ms, PATIENCE_MS);
	int64_t pause;
	bool nobody = why->code == ERR_UNREACHABLE;
	bool smaller;
	bool cut =
		nobody || why->code == ERR_NETWORK || why->code == ERR_TIMEOUT;

	if (!j->sent || stop_check(stop, err) < 0)
		goto no;
	/* A held start is not repeated: the command may have run, and its
	 * container, with the record of that, may be gone. */
	if (j->s.held && j->ask.op == JOB_START && !nobody)
		goto no;
	if (nobody && patience > NOBODY_MS)
		patience = NOBODY_MS;
	if (cut && clock_ms() - j->answered > patience)
		goto no;
	if (!cut && (why->code != ERR_PROTOCOL || ++j->damaged > DAMAGED_MAX))
		goto no;
	j->calm = 0;
	j->failures++;
	smaller = !nobody && piece_shrink(&j->piece, cut);
	if (cut && ms >= SHORTEST_MS) {
		j->cut = true;
		j->ask.hold_ms =
			ms / 2 < j->ask.hold_ms ? ms / 2 : j->ask.hold_ms;
		if (j->ask.hold_ms < SHORTEST_MS)
			j->ask.hold_ms = SHORTEST_MS;
	}
	pause = piece_pause_ms(j->failures, why, cut && smaller);
	if (j->failures == 1 && !why->retry_after_ms)
		return 0;
	/* A pause that the server asked for does not count towards
	 * patience_ms. */
	if (why->retry_after_ms > pause && j->waited_ms < WAITED_MAX_MS) {
		j->waited_ms += why->retry_after_ms;
		j->answered += why->retry_after_ms;
	}
	return retry_sleep(why, pause, stop, err);
no:
	if (!err->code)
		*err = *why;
	return -1;
}

static void grow_request(struct job *j, int64_t ms)
{
	j->answered = clock_ms();
	j->failures = 0;
	j->damaged = 0;
	piece_grow(&j->piece);
	if (j->answer.body.len || ms < j->ask.hold_ms)
		return;
	if (j->cut && ++j->calm < CALM)
		return;
	j->calm = 0;
	j->ask.hold_ms = j->cut ? j->ask.hold_ms * 3 / 2 : longest_hold(j);
	if (j->ask.hold_ms > longest_hold(j))
		j->ask.hold_ms = longest_hold(j);
}

/* Repeats the request until an answer arrives or decide_retry() gives up. */
static int request_until_answered(struct job *j, const struct stop *stop,
				  struct error *err)
{
	for (;;) {
		struct error why = { 0 };
		int64_t start = clock_ms();
		int64_t ms;
		int rc = request_once(j, j->ask.op, stop, &why);

		ms = clock_ms() - start;
		if (rc == 0) {
			grow_request(j, ms);
			return 0;
		}
		if (decide_retry(j, ms, &why, stop, err) < 0)
			return -1;
	}
}

static int deliver_output(struct job *j, struct error *err)
{
	const struct supervise_answer *a = &j->answer;
	struct str all = buf_str(&a->body);
	struct str parts[] = { { all.ptr, a->out_len },
			       { a->body.len > a->out_len ? all.ptr + a->out_len
							  : NULL,
				 all.len - a->out_len } };

	if (a->word >= WORD_LOST)
		return 0;
	j->ask.out_at = a->out_at + (int64_t)parts[0].len;
	j->ask.err_at = a->err_at + (int64_t)parts[1].len;
	for (int i = 0; i < 2 && j->ask.req->output; i++) {
		if (parts[i].len &&
		    j->ask.req->output(j->ask.req->arg,
				       i ? EXEC_STDERR : EXEC_STDOUT, parts[i],
				       NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* Evaluates an answer. 1: continue; 0: the job has ended; -1: failed. */
static int evaluate_answer(struct job *j, struct exec_result *res,
			   struct error *err)
{
	static const char *const texts[] = {
		[WORD_FULL] = "the sandbox's disk is full",
		[WORD_LOST] = "the command's output was lost in the sandbox",
		[WORD_GONE] = "the sandbox has no record of the command",
		[WORD_NOWHERE] = "no directory in the sandbox is writable",
	};
	enum supervise_op op = j->ask.op;

	res->exit_code = j->answer.code;
	j->ask.op = JOB_FOLLOW;
	j->ended =
		j->answer.word != WORD_RUN && j->answer.word != WORD_NOBASE64;
	switch (j->answer.word) {
	case WORD_RUN:
		return 1;
	case WORD_LATE:
		res->timed_out = true;
		res->exit_code = 124;
		return 0;
	case WORD_END:
	case WORD_KILLED:
		/* The process that ran it has died: the machine was stopped, or
		 * something killed the process. */
		if (j->answer.code < 0)
			return error_set(err, ERR_REMOTE,
					 "the command was interrupted; how it "
					 "ended is unknown");
		return 0;
	case WORD_NOBASE64:
		if (!j->ask.base64 || op != JOB_START)
			break;
		j->ask.base64 = false;
		j->ask.op = JOB_START;
		return 1;
	case WORD_NOCWD:
		return error_set(err, ERR_NOT_FOUND,
				 "cannot enter the directory %s", j->ask.cwd);
	case WORD_GONE:
		return error_set(err, ERR_NOT_FOUND, "%s", texts[WORD_GONE]);
	default:
		return error_set(err, ERR_REMOTE, "%s", texts[j->answer.word]);
	}
	return error_set(err, ERR_PROTOCOL, "unexpected server response");
}

/* Kills the job. If its start request is still in transit, the sandbox will not
 * run the command when it arrives. */
static void kill_job(struct kill *k)
{
	struct job *j = (struct job *)k;
	struct error ignored = { 0 };
	struct stop stop;
	int64_t left;

	if (j->s.ends)
		j->s.ends(j->s.arg);
	left = j->failed_ms + KILLED_MS - clock_ms();
	stop = stop_cleanup(left > KILLED_MIN_MS ? left : KILLED_MIN_MS);
	j->ask.hold_ms = SHORTEST_MS;
	while (!j->ended && stop_check(&stop, &ignored) == 0) {
		struct error why = { 0 };

		j->ended = request_once(j, JOB_KILL, &stop, &why) == 0;
		if (!j->ended && why.code != ERR_NETWORK &&
		    why.code != ERR_TIMEOUT && why.code != ERR_PROTOCOL)
			break;
		if (!j->ended &&
		    retry_sleep(&why, PAUSE_MS, &stop, &ignored) < 0)
			break;
	}
	if (j->ended)
		supervise_read_add(j->read, j->id);
}

/* Starts the job and follows it to its end. Kills it if something fails, the
 * caller cancels or the time limit is exceeded. sb may be NULL. */
static int run_job(struct job *j, struct sandbox *sb, struct exec_result *res,
		   const struct stop *stop, struct error *err)
{
	int64_t limit = j->ask.req->timeout_ms;
	struct stop within =
		limit > 0 ? stop_within(stop, limit + GRACE_MS) : *stop;
	struct error why = { 0 };
	bool own_time = within.deadline < stop->deadline;
	int rc;

	/* Each round is one request: the first starts the job, the others get
	 * its next output. */
	do {
		rc = request_until_answered(j, &within, &why);
		if (rc == 0)
			rc = deliver_output(j, &why);
		if (rc == 0)
			rc = evaluate_answer(j, res, &why);
	} while (rc > 0);
	/* Nothing to kill: the job has ended, was never sent, or is out of
	 * reach. */
	if (rc == 0 || !j->sent || j->ended || why.code == ERR_GONE ||
	    why.code == ERR_UNREACHABLE) {
		if (j->ended)
			supervise_read_add(j->read, j->id);
	} else {
		res->exit_code = -1;
		j->failed_ms = clock_ms();
		if (sandbox_kill(sb, &j->kill, stop, err) < 0)
			return -1;
		/* The command's own time limit is an outcome, not an error: the
		 * kill has returned the rest of its output. */
		if (j->ended && own_time && why.code == ERR_TIMEOUT)
			rc = deliver_output(j, &why);
		res->timed_out = rc == 0;
		res->exit_code = rc == 0 ? 124 : -1;
	}
	if (rc < 0)
		*err = why;
	return rc;
}

static void free_job(struct kill *k)
{
	struct job *j = (struct job *)k;

	buf_release(&j->answer.body);
	free(j->arg);
	free(j);
}

/* Returns a job, to be freed by kill_drop(). */
static struct job *new_job(const struct exec_request *req,
			   const struct supervisor *s)
{
	struct job *j = xcalloc(1, sizeof(*j));

	*j = (struct job){
		.kill = { .run = kill_job, .release = free_job },
		.ask = { .job = j->id,
			 .req = req,
			 .cwd = req->cwd ? req->cwd : "the command began in",
			 .input = req->input,
			 .base64 = true,
			 .held = s->held,
			 .preloaded = s->preloaded,
			 .owner = s->owner },
		.s = *s,
		.live = is_live(req),
		.began = clock_ms(),
		.began_at = clock_unix_ms(),
		.answered = clock_ms(),
	};
	if (s->arg_size) {
		j->arg = xcalloc(1, s->arg_size);
		memcpy(j->arg, s->arg, s->arg_size);
		j->s.arg = j->arg;
	}
	j->piece = (struct answer_piece){ most_answer(j), most_answer(j) };
	j->ask.hold_ms = or_default(s->first_ms, FIRST_MS);
	if ((req->plain && !req->live) || j->ask.hold_ms > longest_hold(j))
		j->ask.hold_ms = longest_hold(j);
	if (s->held)
		j->ask.hold_ms = or_default(req->timeout_ms, HELD_MS) + KILL_MS;
	j->answer.body.max = j->piece.max;
	return j;
}

/* Reads all input from the request's source. */
static int read_input(const struct exec_request *req, size_t room,
		      struct buf *all, struct error *err)
{
	char chunk[4096];
	int64_t n = 1;

	all->max = room;
	while (n > 0 && !all->over) {
		n = req->source(req->source_arg, chunk, sizeof(chunk), err);
		if (n > 0)
			buf_add(all, chunk, (size_t)n);
	}
	return n < 0 ? -1 : buf_check(all, "the command's input", err);
}

static int send_leave(const struct sandbox *sb, struct job *j,
		      const struct stop *stop, struct error *err)
{
	int rc = 0;

	j->ask.op = JOB_LEAVE;
	if (supervise_read_prefix(sb->read, j->id))
		rc = request_until_answered(j, stop, err);
	return rc;
}

int supervise_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct supervisor *s,
		      const struct stop *stop, struct error *err)
{
	struct buf input = { 0 };
	struct job *j;
	int rc = 0;

	*res = (struct exec_result){ .exit_code = -1 };
	if (req->dialog)
		return error_set(err, ERR_USAGE,
				 "a command cannot be answered here");
	if (req->command.len && memchr(req->command.ptr, 0, req->command.len))
		return error_set(err, ERR_USAGE,
				 "the command contains a NUL byte");
	j = new_job(req, s);
	if (req->leaves) {
		rc = send_leave(sb, j, stop, err);
		goto out;
	}
	if (req->source) {
		rc = read_input(req, room_of(s), &input, err);
		j->ask.input = buf_str(&input);
	}
	if (!req->cwd)
		j->ask.cwd = sb->workdir;
	j->ask.op = JOB_START;
	j->read = sb->read;
	supervise_read_list(j->read, j->forget);
	supervise_read_name(j->read, j->id);
	if (rc == 0 && s->began)
		s->began(s->arg, j->id);
	if (rc == 0)
		rc = run_job(j, sb, res, stop, err);
out:
	kill_drop(&j->kill);
	buf_release(&input);
	return rc;
}

int supervise_follow(const char *job, const struct exec_request *req,
		     struct exec_result *res, const struct supervisor *s,
		     const struct stop *stop, struct error *err)
{
	struct job *j;
	int rc;

	*res = (struct exec_result){ .exit_code = -1 };
	if (strlen(job) != SUPERVISE_JOB ||
	    strspn(job, "abcdefghijklmnopqrstuvwxyz234567") != SUPERVISE_JOB)
		return error_set(err, ERR_USAGE,
				 "not a valid command name: %.40s", job);
	j = new_job(req, s);
	snprintf(j->id, sizeof(j->id), "%s", job);
	j->ask.op = JOB_FOLLOW;
	j->ask.out_at = -1;
	j->ask.err_at = -1;
	rc = run_job(j, NULL, res, stop, err);
	kill_drop(&j->kill);
	return rc;
}

void supervise_leave(struct sandbox *sb)
{
	struct stop stop = stop_cleanup(LEAVE_MS);
	struct exec_request req = { .cwd = "/",
				    .plain = true,
				    .leaves = true,
				    .timeout_ms = LEAVE_MS };
	char prefix[SUPERVISE_PREFIX + 1];
	struct error ignored = { 0 };
	struct exec_result res;

	if (supervise_read_prefix(sb->read, prefix))
		(void)sandbox_execute(sb, &req, &res, &stop, &ignored);
}

enum { PROBE_MS = 10000, ANSWER_MAX = 64 << 10, COMMAND_MAX = 2048 };

/* Starts a process in the background in the same way as a job's keeper. Prints
 * "left" only if /proc exists, which the second script needs. */
static const char probe_leave_sh[] =
	"( DCODE_PROBE=%s; export DCODE_PROBE\n"
	"if command -v setsid >/dev/null; then exec setsid sleep 60; fi\n"
	"exec sleep 60 ) </dev/null >/dev/null 2>&1 &\n"
	"[ -r /proc/self/environ ] && echo '@dcode-probe:''%s:left@'\n";

static const char probe_look_sh[] =
	"p=$(grep -ls DCODE_PROBE=%s /proc/[0-9]*/environ)\n"
	"for f in $p; do f=${f#/proc/}; kill \"${f%%/environ}\"; done\n"
	"[ -n \"$p\" ] || echo '@dcode-probe:''%s:dead@'\n";

/* Runs the command. True if its answer contains the line that ends in word. */
static bool answers_word(const struct supervisor *s, struct buf *command,
			 const char *token, const char *word,
			 const struct stop *stop)
{
	struct stop limit = stop_within(stop, PROBE_MS);
	struct buf want = BUF_INIT(COMMAND_MAX);
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct error ignored = { 0 };
	bool found = false;

	buf_addf(&want, "@dcode-probe:%s:%s@", token, word);
	if (s->call(s->arg, buf_str(command), PROBE_MS / 2, &out, &limit,
		    &ignored) == 0)
		found = str_search(buf_str(&out), buf_str(&want)) < out.len;
	buf_release(&want);
	buf_release(&out);
	return found;
}

bool supervise_probe(const struct supervisor *s, const struct stop *stop)
{
	struct buf first = BUF_INIT(COMMAND_MAX);
	struct buf second = BUF_INIT(COMMAND_MAX);
	char token[SUPERVISE_JOB + 1];
	bool dead;

	ids_random(token, SUPERVISE_JOB);
	buf_addf(&first, probe_leave_sh, token, token);
	buf_addf(&second, probe_look_sh, token, token);
	dead = answers_word(s, &first, token, "left", stop) &&
	       answers_word(s, &second, token, "dead", stop);
	buf_release(&first);
	buf_release(&second);
	return dead;
}
