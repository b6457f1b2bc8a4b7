/* none_test.c - commands on this machine: the contract, and nothing left. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include "base/ids.h"
#include "base/proc.h"
#include "contract_run.h"
#include "exec_run.h"
#include "providers/local/local.h"
#include "settings_fake.h"

static struct settings set = { .home = "/", .cwd = "/", .dir = "/nowhere" };

static const char *const not_here[] = {
	"id",     "attach by id",          "list by label", "info", "lifetime",
	"extend", "network none and full", "snapshot",      NULL
};

static int setup(void **state)
{
	static struct sandbox_client client;
	static struct sandbox sb;
	struct error err = { 0 };
	struct stop stop = { .deadline = INT64_MAX };

	client = (struct sandbox_client){ .provider = &none_provider,
					  .settings = &set };
	sb = (struct sandbox){ .client = &client };
	if (none_provider.ops->open(&client, &set, &err) < 0)
		return -1;
	*state = &sb;
	promised.sandbox = &sb;
	promised_absent = not_here;
	return none_provider.ops->create(
		&sb,
		&(struct sandbox_spec){ .network = &(struct network){ 0 } },
		&stop, &err);
}

static int teardown(void **state)
{
	struct sandbox *sb = *state;

	none_provider.ops->discard(sb);
	free(sb->id);
	free(sb->workdir);
	none_provider.ops->close(sb->client);
	return 0;
}

static void test_credentials(void **state)
{
	expect(*state,
	       "echo \"$ACME_API_KEY$MODAL_TOKEN_SECRET$ANTHROPIC_AUTH_TOKEN"
	       "$DEEPAGENTS_CODE_X\" $GITHUB_TOKEN $ACME_API_KEYS",
	       0, " users-own not-one\n", "");
}

static void test_no_terminal(void **state)
{
	expect(*state, "(: </dev/tty) 2>/dev/null || echo none", 0, "none\n",
	       "");
	expect(*state, "readlink /proc/self/fd/0; ls /proc/$$/fd; true", 0,
	       "/dev/null\n0\n1\n2\n", "");
}

/* 1,000 commands against the same loop in bare C. */
static int64_t bare_us(int n)
{
	struct timespec a;
	struct timespec b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < n; i++) {
		char *argv[] = { "sh", "-c", "true", NULL };
		posix_spawn_file_actions_t acts;
		char room[4096];
		int fd[2];
		pid_t pid;

		assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
		posix_spawn_file_actions_init(&acts);
		posix_spawn_file_actions_adddup2(&acts, fd[1], 1);
		posix_spawn_file_actions_adddup2(&acts, fd[1], 2);
		assert_int_equal(posix_spawn(&pid, "/bin/sh", &acts, NULL, argv,
					     environ),
				 0);
		posix_spawn_file_actions_destroy(&acts);
		close(fd[1]);
		while (read(fd[0], room, sizeof(room)) > 0)
			;
		close(fd[0]);
		waitpid(pid, NULL, 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec) /
	       1000 / n;
}

static void test_cost(void **state)
{
	enum { N = 1000 };
	int64_t bare = bare_us(N);
	int64_t start = clock_ms();
	int64_t ours;

	for (int i = 0; i < N; i++) {
		struct ran r = run(*state, "true");

		assert_int_equal(r.rc, 0);
		ran_release(&r);
	}
	ours = (clock_ms() - start) * 1000 / N;
	print_message("true: %d us, bare %d us\n", (int)ours, (int)bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTRACT_ROWS,
		cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_no_terminal),
		cmocka_unit_test(test_cost),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as dcode does */
	ids_init();
	setenv("ACME_API_KEY", "secret", 1);
	setenv("MODAL_TOKEN_SECRET", "secret", 1);
	setenv("ANTHROPIC_AUTH_TOKEN", "secret", 1);
	setenv("DEEPAGENTS_CODE_X", "secret", 1);
	setenv("GITHUB_TOKEN", "users-own", 1);
	setenv("ACME_API_KEYS", "not-one", 1);
	return cmocka_run_group_tests(tests, setup, teardown);
}
