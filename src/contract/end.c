/* end.c - checks how commands end, and several commands at once. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"

enum {
	LIVE_S = 3,
	TIMEOUT_MS = 2000,
	SLACK_MS = 20000, /* time for the vendor to end a command */
	THREADS = 8,
	CALM_TRIES = 8,
	CALM_MS = 250,
	FAMILY = 3, /* sleeping processes */
};

/* Counts processes with "9" and this as an argument, without grep itself. */
#define COUNT                                                                  \
	"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' |"              \
	" grep -c -x '[9]%s'"

enum contract_verdict check_live(struct contract *c)
{
	struct exec_request req = { .command = STR("echo now; sleep 3; "
						   "echo end") };
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (!contract_can(c, SANDBOX_LIVE))
		return contract_na(c, "output comes when a command has ended");
	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (strcmp(r.out.ptr, "now\nend\n") != 0)
		verdict = contract_fail(c, "printed '%.100s'", r.out.ptr);
	else if (r.ms - r.first_ms < LIVE_S * 1000 / 2)
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

/* Returns a command that starts several sleeping processes, one of them in its
 * own session, and prints how many it sees. mark is part of their sleep time,
 * which no other process uses. */
static char *family(char mark[16])
{
	snprintf(mark, 16, "97.%06u", (unsigned)ids_below(1000000));
	return xasprintf("sleep %s & setsid sleep %s & (sleep %s &); sleep 1;"
			 " echo begun $(" COUNT "); sleep %s",
			 mark, mark, mark, mark + 1, mark);
}

static enum contract_verdict left_running(struct contract *c, const char *mark)
{
	char *command = xasprintf(COUNT " || true", mark + 1);
	enum contract_verdict verdict = CONTRACT_FAIL;
	struct error ignored = { 0 };

	for (int i = 0; i < CALM_TRIES; i++) {
		if (i && stop_sleep(&c->stop, CALM_MS, &ignored) < 0)
			break;
		verdict = contract_expect(c, command, 0, "0\n", "");
		c->reason[0] = '\0';
		if (verdict == CONTRACT_OK)
			break;
	}
	if (verdict == CONTRACT_FAIL)
		(void)contract_fail(c, "its processes are left running");
	free(command);
	return verdict;
}

/* Checks the first output of a family. */
static enum contract_verdict began(struct contract *c, const struct ran *r)
{
	struct str rest = str_skip(buf_str(&r->out), sizeof("begun ") - 1);
	int64_t n = 0;

	if (!str_starts(buf_str(&r->out), "begun "))
		return contract_fail(c, "its output is lost: '%.100s'",
				     r->out.ptr);
	if (!str_to_int(str_trim(rest), &n) || n < FAMILY - 1)
		return contract_fail(c, "it did not start: '%.100s'",
				     r->out.ptr);
	return CONTRACT_OK;
}

enum contract_verdict check_timeout(struct contract *c)
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
	else if (r.ms > TIMEOUT_MS + SLACK_MS)
		verdict = contract_fail(c, "%lld ms late",
					(long long)r.ms - TIMEOUT_MS);
	else
		verdict = began(c, &r);
	ran_release(&r);
	free(command);
	return verdict == CONTRACT_OK ? left_running(c, mark) : verdict;
}

enum contract_verdict check_cancel(struct contract *c)
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
		/* No output is seen before the end: cancel after a time. */
		r.trigger = NULL;
		stop = stop_within(&stop, TIMEOUT_MS);
	}
	if (contract_exec(c, &req, &r, &stop) == 0)
		verdict = contract_fail(c, "it ended by itself: exit status %d",
					r.res.exit_code);
	else if (r.error.code != ERR_CANCELLED && r.error.code != ERR_TIMEOUT)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (r.ms > SLACK_MS)
		verdict = contract_fail(c, "after %lld ms", (long long)r.ms);
	else
		verdict = r.trigger ? began(c, &r) : CONTRACT_OK;
	ran_release(&r);
	cancel_release(&cancel);
	free(command);
	return verdict == CONTRACT_OK ? left_running(c, mark) : verdict;
}

struct one { /* one of several parallel commands */
	struct contract *c;
	char *command;
	pthread_t thread;
	struct ran r;
	int number;
	bool started;
};

static void *run_one(void *arg)
{
	struct one *o = arg;
	struct exec_request req = { .command = str_of(o->command),
				    .cwd = o->c->dir };

	(void)contract_exec(o->c, &req, &o->r, NULL);
	return NULL;
}

static enum contract_verdict check_one(struct contract *c, struct one *o)
{
	char want[32];

	snprintf(want, sizeof(want), "one %d of 8\n", o->number);
	if (!o->started)
		return contract_fail(c, "no thread");
	if (o->r.rc < 0)
		return contract_fail(c, "%s", o->r.error.message);
	if (o->r.res.exit_code == 99)
		return contract_fail(c, "they wait for each other");
	if (o->r.res.exit_code != o->number)
		return contract_fail(c, "exit status %d, not %d",
				     o->r.res.exit_code, o->number);
	if (strcmp(o->r.out.ptr, want) != 0)
		return contract_fail(c, "output mixed up: '%.100s'",
				     o->r.out.ptr);
	return CONTRACT_OK;
}

/* Starts several commands at once. Each waits until it has seen all others. */
enum contract_verdict check_parallel(struct contract *c)
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
			" done; echo one %d of 8; exit %d",
			i + 1, i + 1, i + 1);
		o->started = pthread_create(&o->thread, NULL, run_one, o) == 0;
	}
	for (int i = 0; i < THREADS; i++)
		if (all[i].started)
			pthread_join(all[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		if (verdict == CONTRACT_OK)
			verdict = check_one(c, &all[i]);
		ran_release(&all[i].r);
		free(all[i].command);
	}
	return verdict;
}
