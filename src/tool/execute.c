/* execute.c - the tool that runs a shell command. */
/* SPDX-License-Identifier: MIT */
/*
 * A command's output goes to the user as it arrives, up to LIVE_MAX bytes, and
 * into a capture for the model, which stores the first and the last
 * CAPTURE_HALF bytes. Both are masked, and both have the text that a terminal
 * would show in the end (base/mask/mask.h). A result of more than RESULT_CHARS
 * becomes a file in the sandbox (tool/result.c). Begin reading at
 * receive_chunk().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox/reach.h"
#include "sandbox/supervise/kept.h"
#include "sandbox/tree_changes.h"
#include "tool/result.h"

/* bytes stored of the beginning and of the end */
enum { CAPTURE_HALF = 5 << 20 };

struct capture {
	struct buf head;
	char *ring;   /* owned; the newest bytes after head is full */
	size_t half;  /* maximum bytes of head and of ring */
	size_t at;    /* position of the next byte in ring */
	int64_t past; /* bytes received after head was full */
};

/* half is CAPTURE_HALF, or smaller in tests; at least 8. */
static void capture_init(struct capture *c, size_t half)
{
	*c = (struct capture){ .head = BUF_INIT(half), .half = half };
}

static void capture_release(struct capture *c)
{
	buf_release(&c->head);
	free(c->ring);
	c->ring = NULL;
	c->at = 0;
	c->past = 0;
}

/* Adds output: to head until it is full, then to the ring. */
static void capture_add(struct capture *c, struct str chunk)
{
	size_t room = c->half - c->head.len;
	size_t len = chunk.len < room ? chunk.len : room;

	buf_add(&c->head, chunk.ptr, len);
	chunk = str_skip(chunk, len);
	if (!chunk.len)
		return;
	if (!c->ring)
		c->ring = xcalloc(c->half, 1);
	c->past += (int64_t)chunk.len;
	if (chunk.len > c->half)
		chunk = str_skip(chunk, chunk.len - c->half);
	while (chunk.len) {
		len = c->half - c->at;
		if (len > chunk.len)
			len = chunk.len;
		memcpy(c->ring + c->at, chunk.ptr, len);
		c->at = (c->at + len) % c->half;
		chunk = str_skip(chunk, len);
	}
}

/* Returns the ring's bytes from the oldest to the newest, as two slices. */
static void unroll_ring(const struct capture *c, struct str *first,
			struct str *second)
{
	bool full = c->past >= (int64_t)c->half;

	*first = (struct str){ 0 };
	if (full)
		*first = (struct str){ c->ring + c->at, c->half - c->at };
	*second = (struct str){ c->ring, c->at };
	if (!first->len) {
		*first = *second;
		*second = (struct str){ 0 };
	}
}

/* Skips the rest of a UTF-8 character whose first bytes were discarded. */
static struct str skip_partial(struct str s)
{
	for (int i = 0; i < 3 && s.len; i++) {
		if (((unsigned char)s.ptr[0] & 0xC0) != 0x80)
			break;
		s = str_skip(s, 1);
	}
	return s;
}

/* Moves the head's first len bytes to out. If out is empty, its buffer is
 * replaced instead of copying what may be megabytes. */
static void move_head(struct capture *c, size_t len, struct buf *out)
{
	size_t max = out->max;

	if (out->len || !len || max < c->head.len) {
		buf_add(out, c->head.ptr, len);
		return;
	}
	buf_release(out);
	*out = c->head;
	out->max = max;
	out->len = len;
	out->ptr[len] = '\0';
	c->head = BUF_INIT(c->half);
}

/* Reduces the capture to `half` bytes at each end. */
static void capture_shrink(struct capture *c, size_t half)
{
	struct capture small;
	struct str first = { 0 };
	struct str second = { 0 };

	if ((int64_t)c->head.len + c->past <= (int64_t)(2 * half))
		return;
	capture_init(&small, half);
	if (c->past)
		unroll_ring(c, &first, &second);
	capture_add(&small, buf_str(&c->head));
	capture_add(&small, first);
	capture_add(&small, second);
	small.past += c->past - (int64_t)(first.len + second.len);
	capture_release(c);
	*c = small;
}

/* Appends the captured output to out, with a line in place of the bytes that
 * were discarded in the middle. Does not split UTF-8 characters. True if bytes
 * were discarded. Empties c. */
static bool capture_finish(struct capture *c, struct buf *out)
{
	int64_t total = (int64_t)c->head.len + c->past;
	bool cut = c->past > (int64_t)c->half;
	struct str head = buf_str(&c->head);
	struct str first = { 0 };
	struct str second = { 0 };

	if (c->past)
		unroll_ring(c, &first, &second);
	if (cut) {
		head.len = str_utf8_prefix(head);
		first = skip_partial(first);
		total -= (int64_t)(head.len + first.len + second.len);
	}
	move_head(c, head.len, out);
	if (cut)
		buf_addf(out,
			 "\n\n... [%" PRId64 " bytes of output were dropped "
			 "here] ...\n\n",
			 total);
	buf_addstr(out, first);
	buf_addstr(out, second);
	capture_release(c);
	return cut;
}

enum {
	MAX_TIMEOUT_S = 3600,
	SANDBOX_TIMEOUT_S = 1800, /* default timeout in a sandbox */
	HOST_TIMEOUT_S = 120,
	NO_LIMIT_S = 24 * 3600, /* what a timeout of 0 (no limit) means */
	LIVE_MAX = 1 << 20,     /* bytes of a command's output shown live */
	/* limit of tool_env.redraw's rest: the newest rows, which may still
	 * change */
	REST_MAX = 16 << 10,
	SLICE = 64 << 10, /* bytes filtered at a time */
	/* bytes stored at each end if the command is cancelled */
	CANCELLED_HALF = RESULT_CHARS / 2 - 1000
};

struct running {
	const struct tool_env *env;
	/* filter of the output for the model; feeds capture */
	struct redact_screen kept;
	/* The same for tool_env.output, which only appends. Not used if
	 * env->redraw is set. */
	struct redact_screen shown;
	/* output of `kept`: both streams, in order of arrival */
	struct capture capture;
	struct buf text; /* temporary, for filtered text */
	struct buf rest; /* temporary, for the newest rows */
	/* bytes of live output so far, including those not shown */
	int64_t live;
};

/* The path of a program that does not exist. A command that starts an editor,
 * with or without a shell, fails at once and prints this name. */
#define NO_EDITOR                                                              \
	"No-editor-can-be-opened-here,give-the-text-as-an-argument-as-in-git-" \
	"commit--m-TEXT"

/* Vim and Neovim run this at their start. Without a terminal Vim waits for keys
 * for ever. With a command in its arguments, it does not. */
#define END_VIM                                                                \
	"if index(v:argv,'-c')<0&&match(v:argv,'^+')<0&&index(v:argv,'-S')<0"  \
	"&&index(v:argv,'-s')<0|call writefile(['vim: there is no terminal; "  \
	"change the file with a tool, or use vim -es -c COMMAND'],"            \
	"'/dev/stderr')|cquit|endif"

/* In the sandbox nobody can use an editor or a pager or answer a password
 * prompt: a command that starts one would wait until its time limit. These
 * values override the user's own and those that a setup script exports
 * (setup_env.sh skips them). */
static const char *const environment[] = {
	"TERM=dumb",
	"EDITOR=" NO_EDITOR,
	"VISUAL=" NO_EDITOR,
	"GIT_EDITOR=" NO_EDITOR,
	"GIT_SEQUENCE_EDITOR=" NO_EDITOR,
	"VIMINIT=" END_VIM,
	"GIT_TERMINAL_PROMPT=0",
	"PAGER=cat",
	"GIT_PAGER=cat",
	"MANPAGER=cat",
	"SYSTEMD_PAGER=cat",
	NULL,
};

static void emit_live(const struct running *r, struct str text, struct str rest)
{
	if (r->env->redraw)
		r->env->redraw(r->env->arg, text, rest);
	else if (r->env->output && text.len)
		r->env->output(r->env->arg, text);
}

/* Shows at most LIVE_MAX bytes of live output: people do not read more, and
 * "yes" prints 90 MB a second. Output for the model has its own limit. */
static void show_live(struct running *r, struct str text, struct str rest)
{
	static const char note[] =
		"\n[more output follows that is not shown here]\n";
	int64_t left = LIVE_MAX - r->live;

	r->live += (int64_t)text.len;
	if (left < 0)
		return;
	if ((int64_t)text.len <= left) {
		emit_live(r, text, rest);
		return;
	}
	text.len = (size_t)left;
	text.len = str_utf8_prefix(text);
	emit_live(r, text, (struct str){ 0 });
	emit_live(r, str_of(note), (struct str){ 0 });
}

static void show_end(struct running *r)
{
	char note[64];

	if (r->live <= LIVE_MAX)
		return;
	snprintf(note, sizeof(note), "[%" PRId64 " bytes were not shown]\n",
		 r->live - LIVE_MAX);
	emit_live(r, str_of(note), (struct str){ 0 });
}

/* Returns the newest rows of the screen, which may still change. Of more than
 * REST_MAX bytes, only the end. */
static struct str find_rest(struct running *r)
{
	struct str rest;

	buf_clear(&r->rest);
	redact_screen_rest(&r->kept, r->env->mask, &r->rest);
	rest = buf_str(&r->rest);
	if (rest.len <= REST_MAX)
		return rest;
	rest = str_skip(rest, rest.len - REST_MAX);
	while (rest.len && ((unsigned char)*rest.ptr & 0xC0) == 0x80)
		rest = str_skip(rest, 1);
	return rest;
}

/* The door of a command's output: sets r->text to what passes the filter,
 * masked. */
static void filter_output(struct running *r, struct redact_screen *screen,
			  struct str chunk, enum redact_until until)
{
	buf_clear(&r->text);
	redact_screen_pass(screen, r->env->mask, chunk, until, &r->text);
}

/* For a UI that cannot redraw: shows only text that will not change any
 * more. */
static void show_appended(struct running *r, struct str slice)
{
	if (!r->env->output || r->env->redraw)
		return;
	if (r->live > LIVE_MAX) {
		r->live += (int64_t)slice.len;
		return;
	}
	filter_output(r, &r->shown, slice, REDACT_FINAL);
	show_live(r, buf_str(&r->text), (struct str){ 0 });
}

/* Receives output of the command: shows it and adds it to the capture. */
static int receive_chunk(void *arg, enum exec_stream stream, struct str chunk,
			 struct buf *reply, struct error *err)
{
	struct running *r = arg;

	(void)stream; /* both streams arrive as stdout */
	(void)reply;
	(void)err;
	while (chunk.len) {
		struct str slice = { chunk.ptr, chunk.len };

		if (slice.len > SLICE)
			slice.len = SLICE;
		show_appended(r, slice);
		filter_output(r, &r->kept, slice, REDACT_FINAL);
		if (r->env->redraw)
			show_live(r, buf_str(&r->text), find_rest(r));
		capture_add(&r->capture, buf_str(&r->text));
		chunk = str_skip(chunk, slice.len);
	}
	return 0;
}

static void finish_output(struct running *r)
{
	filter_output(r, &r->shown, STR(""), REDACT_END);
	if (!r->env->redraw)
		show_live(r, buf_str(&r->text), (struct str){ 0 });
	filter_output(r, &r->kept, STR(""), REDACT_END);
	if (r->env->redraw)
		show_live(r, buf_str(&r->text), (struct str){ 0 });
	capture_add(&r->capture, buf_str(&r->text));
	show_end(r);
}

static void add_timeout(const cJSON *args, int64_t timeout_s, struct buf *out)
{
	buf_addf(out, "\nError: Command timed out after %" PRId64 " seconds",
		 timeout_s);
	if (json_get(args, "timeout"))
		buf_adds(out, " (custom timeout). The command may be stuck or "
			      "require more time.");
	else
		buf_adds(out, ". For long-running commands, re-run using the "
			      "timeout parameter.");
}

static void add_status(const struct exec_result *res, bool cut, struct buf *out)
{
	if (res->exit_code == 0)
		buf_adds(out, "\n[Command succeeded with exit code 0]");
	else if (res->exit_code > 0)
		buf_addf(out, "\n[Command failed with exit code %d]",
			 res->exit_code);
	if (cut)
		buf_adds(out, "\n[Output was truncated due to size limits]");
}

/* Appends a notice from the sandbox. It may contain names of processes, which
 * the sandbox chose, so it is filtered like output. */
static void add_notice(struct running *r, const char *notice, struct buf *out)
{
	struct buf line = BUF_INIT(2 * SANDBOX_NOTICE);

	if (!*notice)
		return;
	buf_addf(&line, "\n[%s]", notice);
	buf_clear(&r->text);
	mask_clean(r->env->mask, CLEAN_TEXT, buf_str(&line), &r->text);
	buf_addstr(out, buf_str(&r->text));
	emit_live(r, buf_str(&r->text), (struct str){ 0 });
	buf_release(&line);
}

static void add_failure(const struct error *err, struct buf *out)
{
	if (out->len)
		buf_addc(out, '\n');
	if (err->code == ERR_CANCELLED)
		buf_adds(out, RESULT_CANCELLED);
	else
		buf_addf(out, "Error: %s", err->message);
}

static int64_t default_timeout_s(const struct sandbox *sb)
{
	if (sb->client->provider->flags & SANDBOX_UNISOLATED)
		return HOST_TIMEOUT_S;
	return SANDBOX_TIMEOUT_S;
}

/* Refuses invalid time limits, and commands that are longer than the provider
 * allows. */
static int check_request(const struct sandbox *sb, struct str command,
			 int64_t timeout_s, struct error *err)
{
	size_t most = sb->client->provider->max_command;

	if (timeout_s < 0)
		return error_set(err, ERR_USAGE,
				 "Error: timeout must be non-negative, got "
				 "%" PRId64 ".",
				 timeout_s);
	if (timeout_s > MAX_TIMEOUT_S)
		return error_set(err, ERR_USAGE,
				 "Error: timeout %" PRId64 "s exceeds maximum "
				 "allowed (%ds).",
				 timeout_s, MAX_TIMEOUT_S);
	if (most && command.len > most)
		return error_set(err, ERR_USAGE,
				 "Error: the command has %zu bytes, more than "
				 "the %zu that this sandbox accepts. Write it "
				 "to a file with write_file and run that.",
				 command.len, most);
	return 0;
}

static void add_output(struct running *r, bool *cut, struct buf *out)
{
	*cut = capture_finish(&r->capture, out);
	if (out->len && out->ptr[out->len - 1] == '\n')
		out->ptr[--out->len] = '\0';
}

/* Starts the command as a background job. job_output reads its output. */
static int run_background(const struct tool_env *env,
			  const struct exec_request *req, struct buf *out,
			  struct error *err)
{
	struct job_order order = { .req = *req, .mask = env->mask };
	unsigned number;

	if (jobs_start(env->sandbox, &order, &number, env->stop, err))
		return -1;
	buf_addf(
		out,
		"Started as job %u. It runs in the background; job_output with "
		"job %u gives its output and state, job_kill ends it. %s%s",
		number, number,
		env->shares_sandbox
			? "Your caller is notified when the job ends, you are "
			  "not. Use job_output with wait."
			: "You are notified when it ends.",
		sandbox_keeps_processes(env->sandbox)
			? ""
			: " It ends with this session.");
	return 0;
}

/* Runs the command while its hosts are open. typed: the command as the model
 * wrote it, for questions about hosts. */
static int execute_reaching(const struct tool_env *env, struct str typed,
			    struct exec_request *req, struct exec_result *res,
			    struct error *err)
{
	struct error unclosed = { 0 };
	const struct reach_command command = { typed, env->caller, env->opens };
	unsigned number;
	int rc = reach_begin(env->sandbox, &command, &number, env->stop, err);

	if (rc < 0)
		return -1;
	rc = sandbox_execute(env->sandbox, req, res, env->stop, err);
	if (reach_end(env->sandbox, number, &unclosed) < 0)
		snprintf(res->notice, sizeof(res->notice),
			 "the hosts of this call are still open: %s",
			 unclosed.message);
	return rc;
}

/* Runs the command, and names the files that it changed. */
static int execute_watched(const struct tool_env *env, struct exec_request *req,
			   struct exec_result *res, struct error *err)
{
	struct str typed = req->command;
	struct tree_changes changes;
	int rc;

	if (!env->changed)
		return execute_reaching(env, typed, req, res, err);
	tree_changes_begin(&changes, env->sandbox, env->listens, req);
	rc = execute_reaching(env, typed, req, res, err);
	return tree_changes_end(&changes, rc, env->changed, env->push,
				env->listens, err);
}

/* Runs the command and adds its output, and how it ended, to the result. A
 * cancelled call stores less output: see below. */
static int execute_command(const struct tool_env *env, const cJSON *args,
			   struct buf *out, struct error *err)
{
	bool background = json_bool(args, "background", false);
	int64_t timeout_s =
		json_int(args, "timeout",
			 background ? 0 : default_timeout_s(env->sandbox));
	struct running r = { .env = env,
			     .shown.screen.eager = true,
			     .text = BUF_INIT(RESULT_RAW_BYTES),
			     .rest = BUF_INIT(RESULT_RAW_BYTES) };
	struct exec_request req = {
		.command = str_of(json_string(args, "command", "")),
		.env = environment,
		.merged = true,
		.facts = true,
		.timeout_ms =
			(timeout_s || background ? timeout_s : NO_LIMIT_S) *
			1000,
		.output = receive_chunk,
		.arg = &r,
	};
	struct exec_result res = { .exit_code = -1 };
	/* length of out before the text about the command's end */
	size_t output;
	bool cut;
	int rc;

	if (check_request(env->sandbox, req.command, timeout_s, err))
		return -1;
	if (background)
		return run_background(env, &req, out, err);
	capture_init(&r.capture, CAPTURE_HALF);
	rc = execute_watched(env, &req, &res, err);
	if (env->exit_code)
		*env->exit_code = rc ? 0 : res.exit_code;
	finish_output(&r);
	/* After a cancel the prompt appears only when this call returns. So
	 * there is no time to save a long result to a file, and the result must
	 * fit as it is. */
	if (rc && err->code == ERR_CANCELLED)
		capture_shrink(&r.capture, CANCELLED_HALF);
	add_output(&r, &cut, out);
	if (!rc && !out->len)
		buf_adds(out, "<no output>");
	output = out->len;
	if (rc)
		add_failure(err, out);
	else if (res.timed_out)
		add_timeout(args, req.timeout_ms / 1000, out);
	if (!rc)
		add_status(&res, cut, out);
	if (env->end)
		buf_addstr(env->end, str_skip(buf_str(out), output));
	add_notice(&r, res.notice, out);
	capture_release(&r.capture);
	buf_release(&r.text);
	buf_release(&r.rest);
	return rc;
}

/* Each element must be a string. */
static void check_hosts(const cJSON *value, struct buf *wrong)
{
	const cJSON *item;
	int n = 0;

	cJSON_ArrayForEach (item, value) {
		if (!cJSON_IsString(item))
			buf_addf(wrong,
				 " " TOOL_HOSTS ".%d: Input should be a valid "
				 "string\n",
				 n);
		n++;
	}
}

static const struct tool_arg args[] = {
	{ .name = "command",
	  .type = ARG_STRING,
	  .description = "The command line.",
	  .required = true },
	{ .name = "timeout",
	  .type = ARG_INT,
	  .description = "Timeout in seconds, at most 3600; 0 means 24 hours. "
			 "Set it for slow commands." },
	{ .name = "background",
	  .type = ARG_BOOL,
	  .fallback = "false",
	  .description = "true: for servers, watchers and long builds. Returns "
			 "a job number at once, and the command runs while you "
			 "do something else. No timeout unless you set one." },
	{ .name = TOOL_HOSTS,
	  .type = ARG_LIST,
	  .items = "{\"type\":\"string\"}",
	  .check = check_hosts,
	  .for_hosts = true,
	  .description = "Hosts that the command needs and the network list "
			 "lacks, each \"host\" or \"host:port\". The user is "
			 "asked, and they are open only while the command "
			 "runs. Not with background." },
	{ 0 },
};

const struct tool tool_execute = {
	.spec = {
		.name = "execute",
		.description =
			"Runs a command in the shell, in the working "
			"directory, with an empty standard input; each call is "
			"a new shell, so cd and variables do not last. Returns "
			"standard output and standard error together, in the "
			"order in which they arrived, and the exit code. Quote "
			"paths that have spaces; join commands with && or ;. "
			"To read, search or edit files prefer read_file, grep, "
			"glob and edit_file over cat, grep, find and sed. A "
			"command that runs longer than its timeout is killed "
			"with every process it started; its output so far is "
			"kept.",
	},
	.args = args,
	.summary = "{command}[ (in the background){background}]",
	.flags = TOOL_ASKS | TOOL_EVICTS | TOOL_RUNS,
	.run = execute_command,
};
