/* exec.c - checks of commands: exit status, bytes, environment. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "sandbox/quote.h"

enum { LINES = 150000, FIRST_LINE = 100000 }; /* 7 bytes each */

enum contract_verdict check_exit(struct contract *c)
{
	char command[32];

	snprintf(command, sizeof(command), "exit %s", c->check->arg);
	return contract_expect(c, command, c->check->arg[0] - '0', "", "");
}

enum contract_verdict check_not_executable(struct contract *c)
{
	char *command =
		xasprintf("echo x >'%s/plain' && '%s/plain'", c->dir, c->dir);
	enum contract_verdict verdict =
		contract_expect(c, command, 126, NULL, NULL);

	free(command);
	return verdict;
}

enum contract_verdict check_missing_program(struct contract *c)
{
	return contract_expect(c, "no-such-program-at-all", 127, NULL, NULL);
}

enum contract_verdict check_killed(struct contract *c)
{
	enum contract_verdict verdict =
		contract_expect(c, "kill -9 $$", 137, NULL, NULL);

	if (verdict == CONTRACT_OK)
		verdict = contract_expect(c, "kill -TERM $$", 143, NULL, NULL);
	return verdict;
}

enum contract_verdict check_streams(struct contract *c)
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
		snprintf(c->reason, sizeof(c->reason),
			 "stderr is merged into stdout");
	} else {
		verdict = contract_fail(c, "lost: '%.40s' and '%.40s'",
					r.out.ptr, r.err.ptr);
	}
	ran_release(&r);
	return verdict;
}

enum contract_verdict check_order(struct contract *c)
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

enum contract_verdict check_megabyte(struct contract *c)
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

enum contract_verdict check_flood(struct contract *c)
{
	struct flood f = { .line = "10000000\n" };
	char *command =
		xasprintf("seq 10000000 99999999 | head -c %s", c->check->arg);
	struct exec_request req = { .command = str_of(command),
				    .timeout_ms = 10 * CONTRACT_COMMAND_MS,
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

enum contract_verdict check_bytes(struct contract *c)
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
	return verdict;
}

enum contract_verdict check_here_document(struct contract *c)
{
	return contract_expect(c,
			       "cat <<'EOF'\n$HOME `x` \\ \"'\n\n  end\nEOF\n",
			       0, "$HOME `x` \\ \"'\n\n  end\n", "");
}

enum contract_verdict check_arguments(struct contract *c)
{
	struct buf command = BUF_INIT(1 << 14);
	struct buf want = BUF_INIT(1 << 14);
	char bytes[255];
	enum contract_verdict verdict;

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
	buf_release(&command);
	buf_release(&want);
	return verdict;
}

enum contract_verdict check_stdin(struct contract *c)
{
	struct exec_request req = { .command = STR("cat; echo end"),
				    .timeout_ms = 20000 };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.res.timed_out)
		verdict = contract_fail(c, "a command that reads it waits");
	else if (strcmp(r.out.ptr, "end\n") != 0)
		verdict = contract_fail(c, "it holds '%.100s'", r.out.ptr);
	ran_release(&r);
	return verdict;
}

enum contract_verdict check_env_cwd(struct contract *c)
{
	static const char *const env[] = { "A_B=c d'\"$", NULL };
	struct exec_request req = {
		.command = STR("printf '%s|' \"$A_B\"; cat here"),
		.cwd = c->dir,
		.env = env,
	};
	char *command = xasprintf("echo this >'%s/here'", c->dir);
	enum contract_verdict verdict = contract_expect(c, command, 0, "", "");
	struct ran r = { 0 };

	free(command);
	if (verdict != CONTRACT_OK)
		return verdict;
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (!str_starts(buf_str(&r.out), "c d'\"$|"))
		verdict =
			contract_fail(c, "variable lost: '%.100s'", r.out.ptr);
	else if (!str_ends(buf_str(&r.out), "|this\n"))
		verdict = contract_fail(c, "not in that directory: '%.100s'",
					r.out.ptr);
	ran_release(&r);
	if (verdict != CONTRACT_OK)
		return verdict;
	req.cwd = "/no/such/place";
	req.command = STR("echo ran");
	if (contract_exec(c, &req, &r, NULL) == 0 &&
	    (r.res.exit_code == 0 || str_starts(buf_str(&r.out), "ran")))
		verdict = contract_fail(c, "runs although cwd is missing");
	ran_release(&r);
	return verdict;
}
