/* kills_test.c - a cancelled command is killed behind its caller's back. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/exec.h"
#include "sandbox_fake.h"

enum { SHORT_MS = 50, LONG_MS = 150, TRIES = 50 };

/* A command that cancels its caller's run, and how its kill goes. */
struct command {
	struct cancel *cancels; /* NULL: it ends at once */
	bool slow;              /* it passes its time limit first */
	struct cancel go;       /* the kill lasts until then */
	int64_t kill_ms;        /* or for so long */
	atomic_int begun;
	atomic_int killed;
	atomic_int kills_at_once;
	atomic_int released;
	pthread_t ran_on;    /* the thread of the last command, */
	pthread_t killed_on; /* and of the last kill */
	int chunks;
};

static struct command command;

/* What the provider keeps for a command. */
struct fake_run {
	struct kill kill;
	int number;
};

static void fake_kill(struct kill *k)
{
	struct stop kill = stop_cleanup(command.kill_ms);
	struct error ignored = { 0 };

	assert_int_equal(command.kills_at_once++, 0);
	assert_int_equal(((struct fake_run *)k)->number, command.killed + 1);
	command.killed_on = pthread_self();
	while (!cancel_triggered(&command.go) &&
	       stop_check(&kill, &ignored) == 0)
		(void)stop_sleep(&kill, 1, &ignored);
	command.kills_at_once--;
	command.killed++;
}

static void fake_release(struct kill *k)
{
	command.released++;
	free(k);
}

static int fake_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	struct fake_run *run;
	int rc;

	command.ran_on = pthread_self();
	res->exit_code = 0;
	if (!command.cancels) {
		command.begun++;
		return 0;
	}
	run = xcalloc(1, sizeof(*run));
	*run = (struct fake_run){
		.kill = { .run = fake_kill, .release = fake_release },
		.number = ++command.begun,
	};
	(void)req->output(req->arg, EXEC_STDOUT, STR("early"), NULL, err);
	if (!command.slow)
		cancel_trigger(command.cancels);
	rc = sandbox_kill(sb, &run->kill, stop, err);
	kill_drop(&run->kill);
	if (rc < 0)
		return -1;
	if (command.slow)
		return 0;
	return error_set(err, ERR_CANCELLED, "cancelled by the command");
}

struct place {
	struct sandbox_client client;
	struct sandbox sb;
	struct cancel cancel;
};

static void open_place(struct place *p)
{
	struct error err = { 0 };

	*p = (struct place){ 0 };
	assert_int_equal(cancel_init(&p->cancel, &err), 0);
	command = (struct command){ .cancels = &p->cancel, .kill_ms = 60000 };
	assert_int_equal(cancel_init(&command.go, &err), 0);
	fake_open(&p->sb, &p->client);
}

static void close_place(struct place *p)
{
	sandbox_release(&p->sb);
	cancel_release(&p->cancel);
	cancel_release(&command.go);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	(void)arg;
	(void)stream;
	(void)chunk;
	(void)reply;
	(void)err;
	command.chunks++;
	return 0;
}

static int execute(struct place *p, const struct stop *stop, struct error *err)
{
	char cwd[] = "/here";
	struct exec_request req = { .command = STR("true"),
				    .cwd = cwd,
				    .output = on_output };
	struct exec_result res;
	int rc;

	*err = (struct error){ 0 };
	rc = sandbox_execute(&p->sb, &req, &res, stop, err);
	cwd[1] = 'X'; /* the caller's memory is the caller's again */
	return rc;
}

static void test_a_cancelled_command_returns_before_its_kill(void **s)
{
	struct stop soon;
	struct stop ever = stop_on(NULL);
	struct stop stop;
	struct error err;
	struct place p;

	(void)s;
	open_place(&p);
	stop = stop_on(&p.cancel);
	assert_int_equal(execute(&p, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_false(command.killed);
	assert_int_equal(command.chunks, 1);
	cancel_reset(&p.cancel); /* as the chat does for its next turn */
	command.cancels = NULL;
	soon = stop_cleanup(SHORT_MS);
	assert_int_equal(execute(&p, &soon, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(command.begun, 1); /* the next one has waited */
	cancel_trigger(&command.go);
	assert_int_equal(execute(&p, &ever, &err), 0);
	assert_true(command.killed);
	assert_int_equal(command.begun, 2);
	assert_int_equal(command.chunks, 1);
	close_place(&p);
	assert_int_equal(command.released, 1);
}

static void test_a_command_runs_on_its_callers_thread(void **s)
{
	struct stop stop;
	struct error err;
	struct place p;

	(void)s;
	open_place(&p);
	stop = stop_on(&p.cancel); /* it could be cancelled */
	command.cancels = NULL;
	assert_int_equal(execute(&p, &stop, &err), 0);
	assert_true(pthread_equal(command.ran_on, pthread_self()));
	close_place(&p);
}

static void *cancel_soon(void *arg)
{
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };

	(void)stop_sleep(&ever, SHORT_MS, &ignored);
	cancel_trigger(arg);
	return NULL;
}

/* A command that passed its time limit is killed, too. */
static void test_a_cancel_ends_the_wait_for_a_kill(void **s)
{
	struct stop ever = stop_on(NULL);
	struct stop stop;
	struct error err;
	struct place p;
	pthread_t thread;

	(void)s;
	open_place(&p);
	stop = stop_on(&p.cancel);
	command.slow = true;
	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &p.cancel),
			 0);
	assert_int_equal(execute(&p, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_false(command.killed);
	pthread_join(thread, NULL);
	cancel_trigger(&command.go);
	assert_int_equal(sandbox_await_kills(&p.sb, &ever, &err), 0);
	assert_true(command.killed);
	close_place(&p);
}

/* Commands that run at once, and are cancelled at once. */
static void test_one_thread_runs_all_kills(void **s)
{
	enum { N = 4 };
	struct exec_request req = { .cwd = "/", .output = on_output };
	struct exec_result res;
	pthread_t first;
	struct error err;
	struct stop stop;
	struct place p;

	(void)s;
	open_place(&p);
	stop = stop_on(&p.cancel);
	command.kill_ms = SHORT_MS;
	/* Past sandbox_execute(), which would wait for the kills. */
	assert_int_equal(fake_execute(&p.sb, &req, &res, &stop, &err), -1);
	assert_int_equal(
		sandbox_await_kills(
			&p.sb, &(struct stop){ .deadline = INT64_MAX }, &err),
		0);
	first = command.killed_on;
	for (int i = 1; i < N; i++)
		assert_int_equal(fake_execute(&p.sb, &req, &res, &stop, &err),
				 -1);
	close_place(&p);
	assert_int_equal(command.killed, N);
	assert_int_equal(command.released, N);
	assert_true(pthread_equal(first, command.killed_on));
	assert_false(pthread_equal(first, pthread_self()));
}

/* Where a flood of output and hundreds of processes make a kill slow. */
static void test_on_this_machine_it_returns_before_its_kill_too(void **s)
{
	static const unsigned kinds[] = { SANDBOX_UNISOLATED, SANDBOX_BOUND };

	(void)s;
	for (size_t i = 0; i < 2; i++) {
		struct sandbox_provider here = fake;
		struct stop ever = stop_on(NULL);
		struct error err = { 0 };
		struct stop stop;
		struct place p;

		open_place(&p);
		sandbox_release(&p.sb);
		here.flags |= kinds[i];
		p.client.provider = &here;
		assert_int_equal(
			sandbox_attach(&p.sb, &p.client, "x", &ever, &err), 0);
		stop = stop_on(&p.cancel);
		assert_int_equal(execute(&p, &stop, &err), -1);
		assert_false(command.killed);
		cancel_trigger(&command.go);
		assert_int_equal(sandbox_await_kills(&p.sb, &ever, &err), 0);
		assert_true(command.killed);
		close_place(&p);
	}
}

static void test_a_command_that_dies_at_once_gives_its_own_error(void **s)
{
	bool own = false;

	(void)s;
	/* A busy machine may take longer than the caller waits. */
	for (int i = 0; i < TRIES && !own; i++) {
		struct error err;
		struct place p;
		struct stop stop;

		open_place(&p);
		stop = stop_on(&p.cancel);
		cancel_trigger(&command.go);
		assert_int_equal(execute(&p, &stop, &err), -1);
		assert_int_equal(err.code, ERR_CANCELLED);
		own = strstr(err.message, "by the command") && command.killed;
		close_place(&p);
	}
	assert_true(own);
}

static void test_a_sandbox_is_released_after_its_commands_are_dead(void **s)
{
	struct stop stop;
	struct error err;
	struct place p;

	(void)s;
	open_place(&p);
	stop = stop_on(&p.cancel);
	command.kill_ms = LONG_MS;
	assert_int_equal(execute(&p, &stop, &err), -1);
	close_place(&p);
	assert_true(command.killed);
}

static void test_with_a_mount_of_the_users_the_kill_is_waited_for(void **s)
{
	struct stop stop;
	struct error err;
	struct place p;

	(void)s;
	open_place(&p);
	stop = stop_on(&p.cancel);
	command.kill_ms = LONG_MS;
	mounts_add(&p.sb.mounts, "/work", "/home/u/work");
	assert_int_equal(execute(&p, &stop, &err), -1);
	assert_true(command.killed);
	close_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_cancelled_command_returns_before_its_kill),
		cmocka_unit_test(test_a_command_runs_on_its_callers_thread),
		cmocka_unit_test(test_a_cancel_ends_the_wait_for_a_kill),
		cmocka_unit_test(test_one_thread_runs_all_kills),
		cmocka_unit_test(
			test_on_this_machine_it_returns_before_its_kill_too),
		cmocka_unit_test(
			test_a_command_that_dies_at_once_gives_its_own_error),
		cmocka_unit_test(
			test_a_sandbox_is_released_after_its_commands_are_dead),
		cmocka_unit_test(
			test_with_a_mount_of_the_users_the_kill_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
