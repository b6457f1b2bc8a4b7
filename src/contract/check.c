/* check.c - what the checks of the contract share: a command, a verdict. */
/* SPDX-License-Identifier: MIT */

/*
 * A check runs commands in the sandbox, compares what came of them and returns
 * a verdict with its reason. checks.c has the list of the checks and runs
 * them; exec.c, files.c, life.c, end.c and network.c have the checks. Begin
 * reading at contract_expect().
 */
#include "contract/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"

enum { OUTPUT_MAX = 4 << 20 };

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

char *contract_path(const struct contract *c, const char *name)
{
	return xasprintf("%s/%s", c->dir, name);
}

int64_t contract_speed(int64_t bytes, int64_t began)
{
	int64_t ms = clock_ms() - began;

	return bytes * 1000 / 1024 / (ms > 0 ? ms : 1);
}

static int take(void *arg, enum exec_stream stream, struct str chunk,
		struct buf *reply, struct error *err)
{
	struct ran *r = arg;

	(void)reply;
	(void)err;
	if (r->first_ms < 0)
		r->first_ms = clock_ms() - r->began;
	if (r->trigger)
		cancel_trigger(r->trigger);
	buf_addstr(stream == EXEC_STDERR ? &r->err : &r->out, chunk);
	return 0;
}

int contract_exec(struct contract *c, const struct exec_request *req,
		  struct ran *r, const struct stop *stop)
{
	const struct cancel *trigger = r->trigger;
	struct exec_request mine = *req;

	*r = (struct ran){ .trigger = trigger,
			   .out = BUF_INIT(OUTPUT_MAX),
			   .err = BUF_INIT(OUTPUT_MAX),
			   .first_ms = -1,
			   .began = clock_ms() };
	mine.output = take;
	mine.arg = r;
	if (!mine.timeout_ms)
		mine.timeout_ms = CONTRACT_COMMAND_MS;
	r->rc = sandbox_execute(c->sb, &mine, &r->res, stop ? stop : &c->stop,
				&r->error);
	r->ms = clock_ms() - r->began;
	/* Terminates both with NUL. */
	buf_adds(&r->out, "");
	buf_adds(&r->err, "");
	return r->rc;
}

void ran_release(struct ran *r)
{
	buf_release(&r->out);
	buf_release(&r->err);
}

static bool same(const struct buf *got, const char *want)
{
	return !want || str_is(buf_str(got), want);
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
	else if (!same(&r.out, out))
		verdict = contract_fail(c, "`%.100s` printed '%.100s'", command,
					r.out.ptr);
	else if (!same(&r.err, err))
		verdict =
			contract_fail(c, "`%.100s`: '%.100s' on standard error",
				      command, r.err.ptr);
	else if (c->n_commands < CONTRACT_COMMANDS)
		c->commands[c->n_commands++] = r.ms;
	ran_release(&r);
	return verdict;
}

enum contract_verdict contract_with_another(
	struct contract *c, const struct contract_another *other,
	enum contract_verdict (*run)(struct contract *c, void *arg), void *arg)
{
	const struct contract_request *r = c->request;
	struct lifecycle_request request = { .client = r->client,
					     .store = r->store,
					     .mask = r->mask,
					     .snapshot = other->snapshot,
					     .network = other->network,
					     .ui = r->ui };
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };
	struct sandbox *mine = c->sb;
	enum contract_verdict verdict;

	if (lifecycle_open(&box, &request, &c->stop, &err) < 0)
		return contract_fail(c, "a second one: %s", err.message);
	c->sb = &box.sandbox;
	verdict = run(c, arg);
	c->sb = mine;
	if (lifecycle_close(&box, &err) < 0 && verdict == CONTRACT_OK)
		verdict = contract_fail(c, "%s", err.message);
	return verdict;
}
