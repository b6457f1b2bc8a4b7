/* kept.c - commands in a sandbox that outlive the process that started them. */
/* SPDX-License-Identifier: MIT */

/*
 * A job's requests are those of supervise.c, but each is sent as a separate
 * sandbox_execute() command, and no thread follows the job. The functions of
 * kept.h fill in a request, request_answer() sends it and repeats it for a
 * minute, and then they read the answer.
 */
#include "sandbox/supervise/kept.h"

#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "net/retry.h"
#include "sandbox/supervise/request.h"

enum {
	REQUEST_MS = 20000,  /* time limit of one request */
	PATIENCE_MS = 60000, /* time limit of all attempts together */
	/* pause before the first repetition; doubled for each further one */
	PAUSE_MS = 200,
	PAUSE_MAX_MS = 5000,
	ANSWER_MAX = 1 << 20,
	PIECES_MAX = 128,
	BRIEF_MAX = 2048, /* maximum bytes of an answer that has no output */
	FRAMING = 1024,
	/* maximum bytes of an answer and the noise around it (frame.h) */
	NOISE_MAX = 2 << 20,
	COMMAND_MAX = 1 << 20,
};

bool sandbox_keeps_processes(const struct sandbox *sb)
{
	unsigned flags = sb->client->provider->flags & ~sb->client->lacks;

	return flags & SANDBOX_LIVE && !(sb->client->lacks & SANDBOX_LEAVES) &&
	       !(flags & (SANDBOX_UNISOLATED | SANDBOX_BOUND));
}

void kept_name(char job[SUPERVISE_JOB + 1])
{
	ids_random(job, SUPERVISE_JOB);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct buf *raw = arg;

	(void)reply;
	if (stream == EXEC_STDERR)
		return 0;
	buf_addstr(raw, chunk);
	return buf_check(raw, "the answer", err);
}

/* Sends a request once and parses its answer. */
static int request_once(struct sandbox *sb, struct job_request *ask,
			struct supervise_answer *a, const struct stop *stop,
			struct error *err)
{
	size_t most = sb->client->provider->max_command;
	struct stop within = stop_within(stop, REQUEST_MS + PAUSE_MAX_MS);
	struct buf command = BUF_INIT(most ? most : COMMAND_MAX);
	struct buf raw = BUF_INIT(NOISE_MAX);
	char nonce[SUPERVISE_JOB + 1];
	struct exec_request req = { .cwd = "/",
				    .plain = true,
				    .timeout_ms = REQUEST_MS,
				    .output = on_output,
				    .arg = &raw };
	struct exec_result res;
	int rc;

	ids_random(nonce, SUPERVISE_JOB);
	ask->nonce = nonce;
	rc = supervise_compose(ask, &command, err);
	req.command = buf_str(&command);
	if (rc == 0)
		rc = sandbox_execute(sb, &req, &res, &within, err);
	if (rc == 0)
		rc = supervise_parse(buf_str(&raw), nonce, a, err);
	ask->nonce = NULL;
	buf_release(&command);
	buf_release(&raw);
	return rc;
}

/* Makes the next answer smaller: a smaller one may arrive complete. False if it
 * cannot be made smaller. */
static bool shrink_answer(struct job_request *request)
{
	struct answer_piece *p = request->piece;

	if (!p)
		return false;
	if (p->max > request->max)
		p->max = request->max;
	if (!piece_shrink(p, true))
		return false;
	request->max = p->max;
	return true;
}

/* Repeats the request until an answer arrives or PATIENCE_MS are over. */
static int request_answer(struct sandbox *sb, struct job_request *request,
			  struct supervise_answer *a, const struct stop *stop,
			  struct error *err)
{
	struct stop limit = stop_within(stop, PATIENCE_MS);
	int64_t pause = PAUSE_MS;

	request->kept = true;
	for (;;) {
		struct error why = { 0 };
		struct error over = { 0 };
		bool cut;

		if (request_once(sb, request, a, &limit, &why) == 0)
			return 0;
		cut = retry_is_transient(&why) || why.code == ERR_NETWORK ||
		      why.code == ERR_TIMEOUT || why.code == ERR_UNREACHABLE ||
		      why.code == ERR_PROTOCOL;
		if (!cut || stop_check(&limit, &over) < 0 ||
		    retry_sleep(&why, pause, &limit, &over) < 0) {
			*err = why;
			return -1;
		}
		if (!shrink_answer(request))
			pause = pause * 2 < PAUSE_MAX_MS ? pause * 2
							 : PAUSE_MAX_MS;
	}
}

/* Sends a request whose answer is only a word (enum job_word). */
static int request_word(struct sandbox *sb, struct job_request *request,
			const struct stop *stop, struct error *err)
{
	struct supervise_answer a = { .body = BUF_INIT(BRIEF_MAX) };
	int rc;

	request->max = BRIEF_MAX - FRAMING;
	rc = request_answer(sb, request, &a, stop, err);
	if (rc == 0 && a.word == WORD_NOWHERE)
		rc = error_set(err, ERR_REMOTE,
			       "no directory in the sandbox is writable");
	buf_release(&a.body);
	return rc;
}

int kept_start(struct sandbox *sb, const char *job,
	       const struct exec_request *req, const char *forget,
	       const struct stop *stop, struct error *err)
{
	struct job_request request = { .op = JOB_START,
				       .job = job,
				       .req = req,
				       .cwd = sb->workdir,
				       .forget = forget };

	return request_word(sb, &request, stop, err);
}

int kept_kill(struct sandbox *sb, const char *job, const struct stop *stop,
	      struct error *err)
{
	struct job_request request = { .op = JOB_KILL, .job = job };

	return request_word(sb, &request, stop, err);
}

int kept_claim(struct sandbox *sb, const char *job, const struct stop *stop,
	       struct error *err)
{
	struct job_request request = { .op = JOB_CLAIM, .job = job };

	return request_word(sb, &request, stop, err);
}

int kept_remove(struct sandbox *sb, const char *jobs, const struct stop *stop,
		struct error *err)
{
	struct job_request request = { .op = JOB_LEAVE,
				       .job = "0", /* begins no name */
				       .jobs = jobs };

	return request_word(sb, &request, stop, err);
}

static enum kept_state state_of(enum job_word word)
{
	switch (word) {
	case WORD_RUN:
		return KEPT_RUNS;
	case WORD_END:
		return KEPT_ENDED;
	case WORD_LATE:
		return KEPT_LATE;
	case WORD_KILLED:
		return KEPT_KILLED;
	case WORD_FULL:
		return KEPT_FULL;
	case WORD_NOCWD:
		return KEPT_NOCWD;
	case WORD_NEVER:
		return KEPT_NEVER;
	default:
		return KEPT_GONE;
	}
}

/* Parses the next status line of *rest. */
static bool parse_line(struct str *rest, struct kept_status *s)
{
	const int64_t most = INT64_MAX / 4;
	enum job_word word;
	struct str line;
	struct str part;
	int64_t code;

	if (!str_split(rest, '\n', &line) || !str_split(&line, ' ', &part) ||
	    part.len != SUPERVISE_JOB)
		return false;
	memcpy(s->job, part.ptr, SUPERVISE_JOB);
	s->job[SUPERVISE_JOB] = '\0';
	if (!str_split(&line, ' ', &part) || !supervise_word(part, &word) ||
	    !supervise_number(&line, -1, 255, &code) ||
	    !supervise_number(&line, 0, most, &s->total) ||
	    !supervise_number(&line, 0, s->total, &s->first) ||
	    !supervise_number(&line, 0, s->total, &s->from) ||
	    !supervise_number(&line, 0, most, &s->seconds) || line.len)
		return false;
	s->state = state_of(word);
	s->code = (int)code;
	return true;
}

static int set_contradiction(struct error *err)
{
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: contradictory");
}

int kept_list(struct sandbox *sb, const char *jobs,
	      void (*each)(void *arg, const struct kept_status *s), void *arg,
	      const struct stop *stop, struct error *err)
{
	struct supervise_answer a = { .body = BUF_INIT(ANSWER_MAX) };
	struct job_request request = { .op = JOB_LIST,
				       .job = "list",
				       .jobs = jobs,
				       .out_at = -1,
				       .max = ANSWER_MAX - FRAMING };
	int rc = request_answer(sb, &request, &a, stop, err);
	struct str rest = buf_str(&a.body);
	struct kept_status s;

	while (rc == 0 && rest.len) {
		if (parse_line(&rest, &s))
			each(arg, &s);
		else
			rc = set_contradiction(err);
	}
	buf_release(&a.body);
	return rc;
}

/* Requests one piece of the output and appends it to r->out. Skips output that
 * the sandbox has discarded. *n: number of bytes in the piece. */
static int read_piece(struct sandbox *sb, struct job_request *request,
		      struct kept_reading *r, size_t *n,
		      const struct stop *stop, struct error *err)
{
	struct supervise_answer a = { .body = BUF_INIT(ANSWER_MAX) };
	struct kept_status s = { 0 };
	int rc = request_answer(sb, request, &a, stop, err);
	struct str rest = buf_str(&a.body);

	if (rc == 0 && (!parse_line(&rest, &s) ||
			strncmp(s.job, request->jobs, SUPERVISE_JOB) != 0 ||
			s.from + (int64_t)rest.len > s.total))
		rc = set_contradiction(err);
	*n = rest.len;
	if (rc == 0 && r->out.len && s.from == request->out_at)
		s.from = r->status.from;
	else
		buf_clear(&r->out);
	r->status = s;
	if (rc == 0)
		buf_addstr(&r->out, rest);
	buf_release(&a.body);
	return rc;
}

int kept_read(struct sandbox *sb, const char *job, struct kept_reading *r,
	      const struct stop *stop, struct error *err)
{
	const size_t all = ANSWER_MAX - FRAMING;
	const size_t need = r->most + r->most / 2 + FRAMING;
	char jobs[SUPERVISE_JOB + 2];
	struct job_request request = {
		.op = JOB_LIST,
		.job = "list",
		.jobs = jobs,
		.out_at = r->from,
		.piece = r->piece,
	};
	int pieces = PIECES_MAX;
	size_t n = 0;
	int rc;

	snprintf(jobs, sizeof(jobs), "%s ", job);
	if (!r->piece->limit)
		*r->piece = (struct answer_piece){ all, all };
	do {
		request.max = need < r->piece->max ? need : r->piece->max;
		rc = read_piece(sb, &request, r, &n, stop, err);
		piece_grow(r->piece);
		request.out_at = r->status.from + (int64_t)r->out.len;
	} while (rc == 0 && n && --pieces && r->out.len < r->most &&
		 request.out_at < r->status.total);
	return rc;
}
