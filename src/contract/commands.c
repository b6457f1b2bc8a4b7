/* commands.c - checks of commands: bytes, status, input, time, how they end. */
/* SPDX-License-Identifier: MIT */

/*
 * A check runs commands in the sandbox, compares their results and returns a
 * verdict with its reason. The first part is shared by all checks. The table at
 * the end lists those of this file. Begin reading at contract_expect().
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "sandbox/quote.h"

enum {
	OUTPUT_MAX = 4 << 20,
	COMMAND_MS = 60000,
	LINES = 150000, /* lines of output, of 7 bytes each */
	FIRST_LINE = 100000,
	ZEROS = 1000000,
	/* bytes of a command if the provider has no limit */
	LONG_COMMAND = 64 << 10,
	INPUT = 3 << 20, /* bytes of standard input */
	LIVE_MS = 2000,
	LIVE_SLACK_MS = 1100, /* the first output comes within this time */
	TIMEOUT_MS = 2000,
	CANCEL_MS = 5000, /* a cancelled command returns within this time */
	CLOCK_MS = 10,    /* rounding of sleep(1) and of our clock */
	/* time for the vendor to end a command after its limit */
	SLACK_MS = 20000,
	BACKGROUND_MS = 3000,
	THREADS = 8,
	ROUNDS = 5, /* each thread runs its command this many times */
	FAMILY = 4, /* sleeping processes that the command of family() starts */
	REFUSE_AT = 100000,
};

enum contract_verdict contract_fail(struct contract *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
	return CONTRACT_FAIL;
}

enum contract_verdict contract_na(struct contract *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
	return CONTRACT_NA;
}

bool contract_can(const struct contract *c, unsigned flag)
{
	const struct sandbox_client *client = c->request->client;

	return client->provider->flags & ~client->lacks & flag;
}

int64_t contract_speed(int64_t bytes, int64_t began)
{
	int64_t ms = clock_ms() - began;

	return bytes * 1000 / 1024 / (ms > 0 ? ms : 1);
}

/* struct exec_request.output: stores the output, answers and refuses. */
static int take(void *arg, enum exec_stream stream, struct str chunk,
		struct buf *reply, struct error *err)
{
	struct ran *r = arg;

	if (r->first_ms < 0)
		r->first_ms = clock_ms() - r->began;
	if (r->trigger)
		cancel_trigger(r->trigger);
	buf_addstr(stream == EXEC_STDERR ? &r->err : &r->out, chunk);
	if (r->reply_to && !r->replied &&
	    str_search(buf_str(&r->out), str_of(r->reply_to)) < r->out.len) {
		r->replied = true;
		buf_adds(reply, "42\n");
	}
	if (r->refuse_at && r->out.len >= r->refuse_at)
		return error_set(err, ERR_LIMIT, "enough");
	return 0;
}

int contract_exec(struct contract *c, const struct exec_request *req,
		  struct ran *r, const struct stop *stop)
{
	struct exec_request mine = *req;

	*r = (struct ran){ .trigger = r->trigger,
			   .reply_to = r->reply_to,
			   .refuse_at = r->refuse_at,
			   .out = BUF_INIT(OUTPUT_MAX),
			   .err = BUF_INIT(OUTPUT_MAX),
			   .first_ms = -1,
			   .began = clock_ms() };
	mine.output = take;
	mine.arg = r;
	if (!mine.timeout_ms)
		mine.timeout_ms = COMMAND_MS;
	r->rc = sandbox_execute(c->sb, &mine, &r->res, stop ? stop : &c->stop,
				&r->error);
	r->ms = clock_ms() - r->began;
	/* Adds a terminating NUL to both. */
	buf_adds(&r->out, "");
	buf_adds(&r->err, "");
	return r->rc;
}

void ran_release(struct ran *r)
{
	buf_release(&r->out);
	buf_release(&r->err);
}

/* True if a command printed these texts; NULL: any. Without SANDBOX_STDIN both
 * streams may arrive as one. */
static bool printed(const struct contract *c, const struct ran *r,
		    const char *out, const char *err)
{
	struct str got = buf_str(&r->out);

	if ((!out || str_is(got, out)) &&
	    (!err || str_is(buf_str(&r->err), err)))
		return true;
	return out && err && !contract_can(c, SANDBOX_STDIN) && !r->err.len &&
	       got.len == strlen(out) + strlen(err) && str_starts(got, out) &&
	       str_ends(got, err);
}

enum contract_verdict contract_expect(struct contract *c, const char *command,
				      int code, const char *out,
				      const char *err)
{
	struct exec_request req = { .command = str_of(command) };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "`%.100s`: %s", command,
					r.error.message);
	else if (r.res.timed_out)
		verdict = contract_fail(c, "`%.100s` hangs", command);
	else if (r.res.exit_code != code)
		verdict = contract_fail(c, "`%.100s`: exit status %d, not %d",
					command, r.res.exit_code, code);
	else if (!printed(c, &r, out, err))
		verdict = contract_fail(c,
					"`%.100s` printed '%.100s', and "
					"'%.100s' on standard error",
					command, r.out.ptr, r.err.ptr);
	else if (c->n_commands < CONTRACT_COMMANDS)
		c->commands[c->n_commands++] = r.ms;
	ran_release(&r);
	return verdict;
}

static const struct {
	const char *check, *command;
	int code;
	const char *out, *err;
} cases[] = {
	{ "exit status 0", "exit 0", 0, "", "" },
	{ "exit status 0", "true", 0, "", "" },
	{ "exit status 0", "", 0, "", "" },
	{ "exit status 1", "exit 1", 1, "", "" },
	{ "exit status 1", "false", 1, "", "" },
	{ "exit status 3", "exit 3", 3, "", "" },
	{ "killed by a signal", "kill -9 $$", 137, "", "" },
	{ "killed by a signal", "kill -TERM $$", 143, "", "" },
	{ "here-document", "cat <<'EOF'\n$HOME `x` \\ \"'\n\n  end\nEOF\n", 0,
	  "$HOME `x` \\ \"'\n\n  end\n", "" },
	{ "stdin at its end", "cat; echo end", 0, "end\n", "" },
	{ "stdin at its end", "cat; pwd | head -c 1", 0, "/", "" },
};

static enum contract_verdict check_cases(struct contract *c)
{
	enum contract_verdict verdict = CONTRACT_OK;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (verdict == CONTRACT_OK &&
		    !strcmp(cases[i].check, c->check->name))
			verdict = contract_expect(c, cases[i].command,
						  cases[i].code, cases[i].out,
						  cases[i].err);
	return verdict;
}

static enum contract_verdict check_not_executable(struct contract *c)
{
	char *command =
		xasprintf("echo x >'%s/plain' && '%s/plain'", c->dir, c->dir);
	enum contract_verdict verdict =
		contract_expect(c, command, 126, NULL, NULL);

	free(command);
	return verdict;
}

static enum contract_verdict check_missing_program(struct contract *c)
{
	struct exec_request req = { .command = STR("no-such-program-at-all") };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.res.exit_code != 127)
		verdict = contract_fail(c, "exit status %d", r.res.exit_code);
	else if (!r.err.len && (contract_can(c, SANDBOX_STDIN) || !r.out.len))
		verdict = contract_fail(c, "nothing on standard error");
	ran_release(&r);
	return verdict;
}

static enum contract_verdict check_streams(struct contract *c)
{
	struct exec_request req = { .command = STR("echo a; echo b >&2") };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0) {
		verdict = contract_fail(c, "%s", r.error.message);
	} else if (!strcmp(r.out.ptr, "a\n") && !strcmp(r.err.ptr, "b\n")) {
		;
	} else if (contract_can(c, SANDBOX_STDIN)) {
		verdict = contract_fail(c, "not separate: '%.40s' and '%.40s'",
					r.out.ptr, r.err.ptr);
	} else if (!strcmp(r.out.ptr, "a\nb\n") && !r.err.len) {
		verdict = contract_na(c, "stderr is merged into stdout");
	} else {
		verdict = contract_fail(c, "lost: '%.40s' and '%.40s'",
					r.out.ptr, r.err.ptr);
	}
	ran_release(&r);
	return verdict;
}

static enum contract_verdict check_order(struct contract *c)
{
	static const char want[] = "a1\nb1\na2\nb2\na3\nb3\n";
	struct exec_request req = {
		.command = STR("for i in 1 2 3; do echo a$i; echo b$i >&2; "
			       "done"),
		.merged = true,
	};
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (strcmp(r.out.ptr, want) != 0 || r.err.len)
		verdict = contract_fail(c, "not in order: '%.40s' and '%.40s'",
					r.out.ptr, r.err.ptr);
	ran_release(&r);
	return verdict;
}

static enum contract_verdict check_megabyte(struct contract *c)
{
	struct exec_request req = {
		.command = STR("seq 100000 249999 2>/dev/null || { i=100000;"
			       " while [ $i -lt 250000 ]; do echo $i;"
			       " i=$((i+1)); done; }"),
	};
	struct buf want = BUF_INIT(2 << 20);
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	for (int i = 0; i < LINES; i++)
		buf_addf(&want, "%d\n", FIRST_LINE + i);
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.out.len != want.len)
		verdict = contract_fail(c, "%zu bytes of %zu", r.out.len,
					want.len);
	else if (!str_eq(buf_str(&r.out), buf_str(&want)))
		verdict = contract_fail(c, "other bytes than were printed");
	ran_release(&r);
	buf_release(&want);
	return verdict;
}

/* The expected output: numbers of eight digits, one per line. It is compared as
 * it arrives and not stored. */
struct flood {
	char line[10];
	size_t at; /* offset in line */
	int64_t got, wanted;
	bool wrong;
};

static void next_line(struct flood *f)
{
	int digit = (int)sizeof(f->line) - 3;

	while (f->line[digit] == '9')
		f->line[digit--] = '0';
	f->line[digit]++;
	f->at = 0;
}

static int compare(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	const size_t len = sizeof(((struct flood *)arg)->line) - 1;
	struct flood *f = arg;

	(void)reply;
	(void)err;
	f->got += (int64_t)chunk.len;
	f->wrong = f->wrong || stream == EXEC_STDERR;
	while (chunk.len && !f->wrong) {
		size_t n = len - f->at < chunk.len ? len - f->at : chunk.len;

		f->wrong = memcmp(f->line + f->at, chunk.ptr, n) != 0;
		f->at += n;
		chunk = str_skip(chunk, n);
		if (f->at == len)
			next_line(f);
	}
	return 0;
}

static enum contract_verdict check_flood(struct contract *c)
{
	struct flood f = { .line = "10000000\n" };
	char *command =
		xasprintf("seq 10000000 99999999 | head -c %s", c->check->arg);
	struct exec_request req = { .command = str_of(command),
				    .timeout_ms = 10 * COMMAND_MS,
				    .output = compare,
				    .arg = &f };
	enum contract_verdict verdict = CONTRACT_OK;
	struct exec_result res = { 0 };
	struct error err = { 0 };
	int64_t began = clock_ms();

	(void)str_to_int(str_of(c->check->arg), &f.wanted);
	if (sandbox_execute(c->sb, &req, &res, &c->stop, &err) < 0)
		verdict = contract_fail(c, "after %lld bytes: %s",
					(long long)f.got, err.message);
	else if (f.wrong)
		verdict = contract_fail(c,
					"other bytes than were printed, in "
					"the first %lld",
					(long long)f.got);
	else if (f.got != f.wanted || res.timed_out)
		verdict =
			contract_fail(c, "%lld bytes of %lld%s",
				      (long long)f.got, (long long)f.wanted,
				      res.timed_out ? ", then a timeout" : "");
	else
		snprintf(c->reason, sizeof(c->reason), "%lld KiB/s",
			 (long long)contract_speed(f.got, began));
	free(command);
	return verdict;
}

/* Checks that a million NULs arrive unchanged, as in the output of a large
 * binary, followed by nothing. */
static enum contract_verdict zeros(struct contract *c)
{
	struct exec_request req = {
		.command = STR("head -c 1000000 /dev/zero; echo end >&2"),
	};
	enum contract_verdict verdict = CONTRACT_OK;
	char *want = xcalloc(1, ZEROS + sizeof("end\n"));
	struct ran r = { 0 };
	struct str got;

	if (contract_exec(c, &req, &r, NULL) < 0) {
		verdict = contract_fail(c, "%s", r.error.message);
	} else {
		memcpy(want + ZEROS, "end\n", sizeof("end\n"));
		got = buf_str(r.err.len ? &r.err : &r.out);
		if (r.out.len < ZEROS || memcmp(r.out.ptr, want, ZEROS) != 0 ||
		    r.out.len + r.err.len != ZEROS + sizeof("end\n") - 1 ||
		    !str_ends(got, "end\n"))
			verdict = contract_fail(
				c, "%zu and %zu bytes, not %d NULs and 4",
				r.out.len, r.err.len, ZEROS);
	}
	ran_release(&r);
	free(want);
	return verdict;
}

static enum contract_verdict check_bytes(struct contract *c)
{
	static const char want[] = "a\0b\377\303(";
	struct exec_request req = {
		.command = STR("printf 'a\\000b\\377\\303('"),
	};
	struct str whole = { want, sizeof(want) - 1 };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };
	struct str got;

	if (contract_exec(c, &req, &r, NULL) < 0) {
		verdict = contract_fail(c, "%s", r.error.message);
		ran_release(&r);
		return verdict;
	}
	got = buf_str(&r.out);
	if (!str_eq(got, whole) && !contract_can(c, SANDBOX_STDIN) &&
	    str_starts(got, "a") && str_ends(got, "("))
		verdict = contract_na(c, "output is text here, not bytes");
	else if (!str_eq(got, whole))
		verdict = contract_fail(c, "%zu bytes, not the %zu printed",
					got.len, whole.len);
	ran_release(&r);
	if (verdict == CONTRACT_OK)
		verdict = contract_expect(c, "printf '\\377'", 0, "\377", "");
	return verdict == CONTRACT_OK ? zeros(c) : verdict;
}

static enum contract_verdict check_arguments(struct contract *c)
{
	struct exec_request nul = { .command = { "echo a\0b", 8 } };
	struct buf command = BUF_INIT(1 << 14);
	struct buf want = BUF_INIT(1 << 14);
	char bytes[255];
	enum contract_verdict verdict;
	struct ran r = { 0 };

	for (int i = 0; i < 255; i++) {
		bytes[i] = (char)(i + 1);
		buf_addf(&want, "%02x", (unsigned)i + 1);
	}
	buf_adds(&command, "printf %s ");
	quote_word(&command, (struct str){ bytes, sizeof(bytes) });
	buf_adds(&command, " | od -An -v -tx1 | tr -d ' \\n'");
	verdict = contract_expect(c, command.ptr, 0, want.ptr, "");
	if (verdict == CONTRACT_FAIL)
		(void)contract_fail(c, "the bytes 1 to 255 in an argument did "
				       "not arrive as they were");
	else if (contract_exec(c, &nul, &r, NULL) == 0 ||
		 r.error.code != ERR_USAGE)
		verdict = contract_fail(c, "a NUL in a command is not refused");
	ran_release(&r);
	buf_release(&command);
	buf_release(&want);
	return verdict;
}

/* Checks a command of the greatest length that the provider accepts. */
static enum contract_verdict check_long_command(struct contract *c)
{
	static const char head[] = "printf %s '";
	static const char tail[] = "' | wc -c | tr -d ' '; IFS=:; set -- a b; "
				   "echo \"$*\"";
	size_t most = c->request->client->provider->max_command;
	size_t n = (most ? most : LONG_COMMAND) - sizeof(head) - sizeof(tail);
	struct buf command = BUF_INIT(SIZE_MAX / 2);
	char want[32];
	enum contract_verdict verdict;

	buf_adds(&command, head);
	for (size_t i = 0; i < n; i++)
		buf_addc(&command, (char)('a' + i % 26));
	buf_adds(&command, tail);
	snprintf(want, sizeof(want), "%zu\na:b\n", n);
	verdict = contract_expect(c, command.ptr, 0, want, "");
	buf_release(&command);
	return verdict;
}

/* Runs a command with input and compares what it returns and prints. */
static enum contract_verdict with_input(struct contract *c,
					const struct exec_request *req,
					int code, const char *out)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.res.exit_code != code || strcmp(r.out.ptr, out) != 0)
		verdict = contract_fail(
			c, "`%.60s`: exit status %d and '%.100s'",
			req->command.ptr, r.res.exit_code, r.out.ptr);
	ran_release(&r);
	return verdict;
}

/* Checks that input arrives whole, and that a command may leave it unread.
 * Without SANDBOX_STDIN input must cause an error: it must not be dropped
 * silently. */
static enum contract_verdict check_input(struct contract *c)
{
	struct exec_request req = { .command = STR("cat"), .input = STR("x") };
	enum contract_verdict verdict = CONTRACT_OK;
	struct buf input = BUF_INIT(INPUT);
	struct ran r = { 0 };

	if (!contract_can(c, SANDBOX_STDIN)) {
		if (contract_exec(c, &req, &r, NULL) == 0 ||
		    r.error.code != ERR_USAGE)
			verdict = contract_fail(c, "it is not refused");
		ran_release(&r);
		return verdict;
	}
	while (input.len < INPUT)
		buf_adds(&input, "0123456789abcdef");
	req.input = buf_str(&input);
	req.command = STR("wc -c | tr -d ' '");
	verdict = with_input(c, &req, 0, "3145728\n");
	req.command = STR("exec <&-; sleep 0.1; echo done");
	if (verdict == CONTRACT_OK)
		verdict = with_input(c, &req, 0, "done\n");
	buf_release(&input);
	return verdict;
}

static enum contract_verdict check_dialog(struct contract *c)
{
	struct exec_request req = {
		.command =
			STR("read a; echo \"ask $a\"; read b; echo \"got $b\""),
		.input = STR("first\n"),
		.dialog = true,
	};
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { .reply_to = "ask first" };

	if (!contract_can(c, SANDBOX_STDIN))
		return contract_na(c, "input is not supported");
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.res.exit_code != 0 ||
		 strcmp(r.out.ptr, "ask first\ngot 42\n") != 0)
		verdict = contract_fail(c, "exit status %d and '%.100s'",
					r.res.exit_code, r.out.ptr);
	ran_release(&r);
	return verdict;
}

/* A source of input: returns this many bytes, in chunks of different sizes. */
struct spring {
	int64_t left;
	int64_t fail_at; /* fails when this many bytes are left; 0: never */
	int calls;
};

static int64_t pull(void *arg, char *room, size_t len, struct error *err)
{
	struct spring *s = arg;
	size_t n = 1 + (size_t)s->calls++ * 7919 % 65536;

	if (n > len)
		n = len;
	if ((int64_t)n > s->left)
		n = (size_t)s->left;
	if (s->fail_at && s->left <= s->fail_at)
		return error_set(err, ERR_LIMIT, "run dry");
	memset(room, 'x', n);
	s->left -= (int64_t)n;
	return (int64_t)n;
}

/* True if the error's message contains this name. */
static bool says(const struct ran *r, const char *name)
{
	struct str said = str_of(r->error.message);

	return str_search(said, str_of(name)) < said.len;
}

/* Checks that a missing working directory is an error that names it. Some
 * engines report it only as an exit status. The command must not run in any
 * case. */
static enum contract_verdict check_missing_cwd(struct contract *c)
{
	static const char cwd[] = "/no/such/place";
	struct exec_request req = { .command = STR("echo ran"), .cwd = cwd };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0 && !says(&r, cwd))
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.rc < 0)
		;
	else if (r.res.exit_code == 0 || str_starts(buf_str(&r.out), "ran"))
		verdict = contract_fail(c, "runs although cwd is missing");
	else
		verdict = contract_na(c, "reported as exit status %d",
				      r.res.exit_code);
	ran_release(&r);
	return verdict;
}

static enum contract_verdict check_env_cwd(struct contract *c)
{
	static const char *const env[] = { "A_B=c d'\"$", "HOME=/nowhere",
					   NULL };
	struct exec_request req = {
		.command = STR("printf '%s|%s|%s\\n' \"$A_B\" \"$HOME\" "
			       "\"$PWD\""),
		.cwd = "/",
		.env = env,
	};
	char *command = xasprintf("echo this >'%s/here'", c->dir);
	enum contract_verdict verdict = contract_expect(c, command, 0, "", "");

	free(command);
	for (int plain = 0; plain < 2 && verdict == CONTRACT_OK; plain++) {
		req.plain = plain;
		verdict = with_input(c, &req, 0, "c d'\"$|/nowhere|/\n");
	}
	req = (struct exec_request){ .command = STR("cat here"),
				     .cwd = c->dir };
	if (verdict == CONTRACT_OK)
		verdict = with_input(c, &req, 0, "this\n");
	return verdict;
}

/* A command that counts the processes with "9%s" as an argument. The pattern
 * begins with [9], so that grep does not find itself. */
#define COUNT                                                                  \
	"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' |"              \
	" grep -c -x '[9]%s'"

static enum contract_verdict check_live(struct contract *c)
{
	struct exec_request req = { .command = STR("echo now; sleep 2; "
						   "echo end") };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (!contract_can(c, SANDBOX_LIVE))
		return contract_na(c, "output comes when a command has ended");
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (strcmp(r.out.ptr, "now\nend\n") != 0)
		verdict = contract_fail(c, "printed '%.100s'", r.out.ptr);
	else if (r.ms < LIVE_MS - CLOCK_MS)
		verdict = contract_fail(c, "it ended after %lld ms",
					(long long)r.ms);
	else if (r.ms - r.first_ms < LIVE_MS - LIVE_SLACK_MS)
		verdict = contract_fail(c,
					"the first byte came after %lld ms of "
					"%lld",
					(long long)r.first_ms, (long long)r.ms);
	else
		snprintf(c->reason, sizeof(c->reason),
			 "first byte after %lld ms", (long long)r.first_ms);
	ran_release(&r);
	return verdict;
}

/* Checks that a command ends at once if its output is refused, with the error
 * of the function that refused it. */
static enum contract_verdict check_refused(struct contract *c)
{
	struct exec_request req = {
		.command = STR("while :; do echo aaaaaaaaaaaaaaaa; done"),
	};
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { .refuse_at = REFUSE_AT };

	if (!contract_can(c, SANDBOX_LIVE))
		return contract_na(c, "output comes when a command has ended");
	if (contract_exec(c, &req, &r, NULL) == 0)
		verdict = contract_fail(c, "no error, but exit status %d",
					r.res.exit_code);
	else if (r.error.code != ERR_LIMIT || !says(&r, "enough"))
		verdict =
			contract_fail(c, "another error: %s", r.error.message);
	else if (r.ms > SLACK_MS)
		verdict = contract_fail(c, "after %lld ms", (long long)r.ms);
	ran_release(&r);
	return verdict;
}

/* Returns a command that starts several sleeping processes, some of them in
 * sessions of their own, waits until it sees them, and prints how many. mark is
 * part of their sleep time, which no other process uses. */
static char *family(char mark[16])
{
	snprintf(mark, 16, "97.%06u", (unsigned)ids_below(1000000));
	return xasprintf("sleep %s & setsid sleep %s & "
			 "(setsid sh -c 'setsid sleep %s & sleep %s' &); "
			 "seen() { " COUNT "; }; i=0; "
			 "until [ $(seen) -ge 4 ] || [ $i -ge 40 ]; do"
			 " sleep 0.1; i=$((i+1)); done; "
			 "echo begun $(seen); sleep %s",
			 mark, mark, mark, mark, mark + 1, mark);
}

/* Checks that no process with this mark is left when the next command
 * starts. */
static enum contract_verdict none_left(struct contract *c, const char *mark)
{
	char *command = xasprintf(COUNT " || true", mark + 1);
	enum contract_verdict verdict =
		contract_expect(c, command, 0, "0\n", "");

	if (verdict == CONTRACT_FAIL)
		(void)contract_fail(c, "its processes are left running");
	free(command);
	return verdict;
}

/* Checks a source of input that ends, one that fails, and one that is not
 * read. */
static enum contract_verdict check_source(struct contract *c)
{
	struct spring s = { .left = 50000001 };
	struct exec_request req = { .command = STR("wc -c | tr -d ' '"),
				    .source = pull,
				    .source_arg = &s };
	char mark[16];
	enum contract_verdict verdict;
	char *command;
	struct ran r = { 0 };

	if (!contract_can(c, SANDBOX_STDIN))
		return contract_na(c, "input is not supported");
	verdict = with_input(c, &req, 0, "50000001\n");
	s = (struct spring){ 0 };
	if (verdict == CONTRACT_OK)
		verdict = with_input(c, &req, 0, "0\n");
	s = (struct spring){ .left = 3000000 };
	req.command = STR("head -c 10; exec <&-; sleep 0.1; exit 4");
	if (verdict == CONTRACT_OK)
		verdict = with_input(c, &req, 4, "xxxxxxxxxx");
	if (verdict != CONTRACT_OK)
		return verdict;
	snprintf(mark, sizeof(mark), "97.%06u", (unsigned)ids_below(1000000));
	command = xasprintf("sleep %s & wc -c; sleep %s", mark, mark);
	s = (struct spring){ .left = 3000000, .fail_at = 1000000 };
	req.command = str_of(command);
	if (contract_exec(c, &req, &r, NULL) == 0 || r.error.code != ERR_LIMIT)
		verdict = contract_fail(c, "its failure is not reported");
	else
		verdict = none_left(c, mark);
	ran_release(&r);
	s = (struct spring){ .left = 1000000000 };
	req.command = STR("sleep 945.7");
	req.timeout_ms = 300;
	if (verdict != CONTRACT_OK)
		;
	else if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (!r.res.timed_out || s.left <= 900000000)
		verdict = contract_fail(c, "unread, %lld bytes were taken",
					1000000000 - (long long)s.left);
	ran_release(&r);
	free(command);
	return verdict;
}

/* Checks the first output of a command of family(): all its processes run. */
static enum contract_verdict began(struct contract *c, const struct ran *r)
{
	struct str rest = str_skip(buf_str(&r->out), sizeof("begun ") - 1);
	int64_t n = 0;

	if (!str_starts(buf_str(&r->out), "begun "))
		return contract_fail(c, "its output is lost: '%.100s'",
				     r->out.ptr);
	if (!str_to_int(str_trim(rest), &n) || n < FAMILY)
		return contract_fail(c, "it did not start: '%.100s'",
				     r->out.ptr);
	return CONTRACT_OK;
}

static enum contract_verdict check_timeout(struct contract *c)
{
	char mark[16];
	char *command = family(mark);
	struct exec_request req = { .command = str_of(command),
				    .timeout_ms = TIMEOUT_MS };
	enum contract_verdict verdict;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (!r.res.timed_out || r.res.exit_code != 124)
		verdict = contract_fail(c, "not reported: exit status %d",
					r.res.exit_code);
	else if (r.ms < TIMEOUT_MS - CLOCK_MS)
		verdict = contract_fail(c, "%lld ms early",
					TIMEOUT_MS - (long long)r.ms);
	else if (r.ms > TIMEOUT_MS + SLACK_MS)
		verdict = contract_fail(c, "%lld ms late",
					(long long)r.ms - TIMEOUT_MS);
	else
		verdict = began(c, &r);
	ran_release(&r);
	free(command);
	return verdict == CONTRACT_OK ? none_left(c, mark) : verdict;
}

static enum contract_verdict check_cancel(struct contract *c)
{
	char mark[16];
	char *command = family(mark);
	struct exec_request req = { .command = str_of(command),
				    .timeout_ms = SLACK_MS };
	enum contract_verdict verdict;
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	struct ran r = { .trigger = &cancel };

	if (cancel_init(&cancel, &err) < 0) {
		free(command);
		return contract_fail(c, "%s", err.message);
	}
	stop = stop_on(&cancel);
	if (!contract_can(c, SANDBOX_LIVE)) {
		/* This provider shows no output before the end: cancel after a
		 * fixed time, not at the first output. */
		r.trigger = NULL;
		stop = stop_within(&stop, TIMEOUT_MS);
	}
	if (contract_exec(c, &req, &r, &stop) == 0)
		verdict = contract_fail(c, "it ended by itself: exit status %d",
					r.res.exit_code);
	else if (r.error.code != (r.trigger ? ERR_CANCELLED : ERR_TIMEOUT))
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.ms - (r.trigger ? r.first_ms : TIMEOUT_MS) > CANCEL_MS)
		verdict = contract_fail(c, "after %lld ms", (long long)r.ms);
	else
		verdict = r.trigger ? began(c, &r) : CONTRACT_OK;
	ran_release(&r);
	cancel_release(&cancel);
	free(command);
	return verdict == CONTRACT_OK ? none_left(c, mark) : verdict;
}

/* Checks that a background process neither delays the end of its command nor is
 * ended with it. Some engines end it if it writes output after that end. */
static enum contract_verdict check_background(struct contract *c)
{
	struct exec_request req = {
		.command = STR("(sleep 3; echo alive >background; dd "
			       "if=/dev/zero bs=1000 count=300 &&"
			       " echo ok >>background) & echo begun"),
		.cwd = c->dir,
	};
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (c->request->client->lacks & SANDBOX_LEAVES)
		return contract_na(c, "no process outlives its command");
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.ms > BACKGROUND_MS - 100)
		verdict = contract_fail(c, "the command takes %lld ms",
					(long long)r.ms);
	ran_release(&r);
	if (verdict != CONTRACT_OK)
		return verdict;
	req.command = STR("i=0; until grep -q ok background || [ $i -ge 8 ]; do"
			  " sleep 1; i=$((i+1)); done; cat background");
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (!strcmp(r.out.ptr, "alive\n"))
		verdict = contract_na(c, "one that still prints is ended");
	else if (strcmp(r.out.ptr, "alive\nok\n") != 0)
		verdict = contract_fail(c, "it did not come to its end");
	ran_release(&r);
	return verdict;
}

struct one { /* one of several parallel commands */
	struct contract *c;
	char *command;
	pthread_t thread;
	int number;
	bool started;
	char why[256]; /* why it failed; "": it did not */
};

/* Sets o->why if the command did not do what it should. */
static void judge(struct one *o, const struct ran *r)
{
	char out[32];
	char err[32];

	snprintf(out, sizeof(out), "one %d of 8\n", o->number);
	snprintf(err, sizeof(err), "two %d\n", o->number);
	if (r->rc < 0)
		snprintf(o->why, sizeof(o->why), "%s", r->error.message);
	else if (r->res.exit_code == 99)
		snprintf(o->why, sizeof(o->why), "they wait for each other");
	else if (r->res.exit_code != o->number)
		snprintf(o->why, sizeof(o->why), "exit status %d, not %d",
			 r->res.exit_code, o->number);
	else if (!printed(o->c, r, out, err))
		snprintf(o->why, sizeof(o->why), "output mixed up: '%.100s'",
			 r->out.ptr);
}

/* A thread: runs its command ROUNDS times. The first run waits until the
 * commands of all threads have started. */
static void *run_one(void *arg)
{
	struct one *o = arg;
	struct exec_request req = { .command = str_of(o->command),
				    .cwd = o->c->dir };

	for (int i = 0; i < ROUNDS && !o->why[0]; i++) {
		struct ran r = { 0 };

		(void)contract_exec(o->c, &req, &r, NULL);
		judge(o, &r);
		ran_release(&r);
	}
	return NULL;
}

/* Starts several commands at once. Each waits until it has seen all others. */
static enum contract_verdict check_parallel(struct contract *c)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct one all[THREADS];

	for (int i = 0; i < THREADS; i++) {
		struct one *o = &all[i];

		*o = (struct one){ .c = c, .number = i + 1 };
		o->command = xasprintf(
			": >p%d; n=0; while [ ! -e p1 ] || [ ! -e p2 ] ||"
			" [ ! -e p3 ] || [ ! -e p4 ] || [ ! -e p5 ] ||"
			" [ ! -e p6 ] || [ ! -e p7 ] || [ ! -e p8 ]; do"
			" n=$((n+1)); [ $n -lt 20 ] || exit 99; sleep 1;"
			" done; echo one %d of 8; echo two %d >&2; exit %d",
			i + 1, i + 1, i + 1, i + 1);
		o->started = pthread_create(&o->thread, NULL, run_one, o) == 0;
	}
	for (int i = 0; i < THREADS; i++)
		if (all[i].started)
			pthread_join(all[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		if (verdict == CONTRACT_OK && !all[i].started)
			verdict = contract_fail(c, "no thread");
		else if (verdict == CONTRACT_OK && all[i].why[0])
			verdict = contract_fail(c, "%s", all[i].why);
		free(all[i].command);
	}
	return verdict;
}

const struct contract_check contract_commands[] = {
	{ "exit status 0", CHECK_BOX, check_cases, NULL },
	{ "exit status 1", CHECK_BOX, check_cases, NULL },
	{ "exit status 3", CHECK_BOX, check_cases, NULL },
	{ "exit status 126", CHECK_BOX, check_not_executable, NULL },
	{ "exit status 127", CHECK_BOX, check_missing_program, NULL },
	{ "killed by a signal", CHECK_BOX, check_cases, NULL },
	{ "stdout and stderr", CHECK_BOX, check_streams, NULL },
	{ "both in order", CHECK_BOX, check_order, NULL },
	{ "1 MB of output", CHECK_BOX, check_megabyte, NULL },
	{ "12 MiB of output", CHECK_BOX | CHECK_SLOW | CHECK_LONG, check_flood,
	  "12582912" },
	{ "64 MiB of output", CHECK_BOX | CHECK_SLOW | CHECK_LONG, check_flood,
	  "67108864" },
	{ "100 MB of output", CHECK_BOX | CHECK_LARGE | CHECK_LONG, check_flood,
	  "100000000" },
	{ "NUL and no UTF-8", CHECK_BOX, check_bytes, NULL },
	{ "here-document", CHECK_BOX, check_cases, NULL },
	{ "every byte in argument", CHECK_BOX, check_arguments, NULL },
	{ "longest command", CHECK_BOX, check_long_command, NULL },
	{ "stdin at its end", CHECK_BOX, check_cases, NULL },
	{ "input", CHECK_BOX, check_input, NULL },
	{ "dialog", CHECK_BOX, check_dialog, NULL },
	{ "source of input", CHECK_BOX | CHECK_SLOW, check_source, NULL },
	{ "env and cwd", CHECK_BOX, check_env_cwd, NULL },
	{ "missing cwd", CHECK_BOX, check_missing_cwd, NULL },
	{ "live output", CHECK_BOX | CHECK_SLOW, check_live, NULL },
	{ "output refused", CHECK_BOX, check_refused, NULL },
	{ "timeout", CHECK_BOX | CHECK_SLOW, check_timeout, NULL },
	{ "cancel", CHECK_BOX | CHECK_SLOW, check_cancel, NULL },
	{ "background process", CHECK_BOX | CHECK_SLOW, check_background,
	  NULL },
	{ "8 in parallel", CHECK_BOX, check_parallel, NULL },
	{ 0 },
};
