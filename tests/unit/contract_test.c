/* contract_test.c - each broken promise is found by the check that is for it.
 */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/path.h"
#include "contract/contract.h"
#include "contract_broken.h"
#include "session/session.h"
#include "session/sql.h"
#include "store_open.h"
#include "unit.h"

/* ABSENT: of --quick; the slow ones, and that of [secrets], which it lacks. */
enum { AT_ONCE = 5, ABSENT = 13 };

static struct scene {
	char first_failed[32];
	char last[32];
	char reason[256];
	const char *cancel_after; /* a check */
	struct cancel cancel;
	char dir[64];
	struct store *store;
	struct settings *settings;
} scene;

static void on_check(void *arg, const struct contract_result *r)
{
	const char *begins = broken.mutant->after;

	(void)arg;
	snprintf(scene.last, sizeof(scene.last), "%s", r->name);
	if (begins && !strcmp(begins, r->name))
		broken.active = true;
	if (scene.cancel_after && !strcmp(scene.cancel_after, r->name))
		cancel_trigger(&scene.cancel);
	if (r->verdict != CONTRACT_FAIL || scene.first_failed[0])
		return;
	snprintf(scene.first_failed, sizeof(scene.first_failed), "%s", r->name);
	snprintf(scene.reason, sizeof(scene.reason), "%s", r->reason);
}

static int begin(void)
{
	struct settings_input in = { .home = scene.dir,
				     .cwd = "/",
				     .environ = environ };
	struct error err = { 0 };
	char *path;
	int rc;

	fake_reset();
	memset(&scene, 0, sizeof(scene));
	memset(&broken, 0, sizeof(broken));
	snprintf(scene.dir, sizeof(scene.dir), "/tmp/dcode-unit-XXXXXX");
	if (!mkdtemp(scene.dir))
		return -1;
	snprintf(fake.workdir, sizeof(fake.workdir), "%s", scene.dir);
	path = path_join(scene.dir, "dcode.db");
	rc = store_open(&scene.store, path, NULL, &err);
	free(path);
	if (rc == 0)
		rc = settings_load(&scene.settings, &in, &err);
	broken.none.provider = &none_provider;
	broken.none.settings = scene.settings;
	if (rc == 0)
		rc = none_provider.ops->open(&broken.none, scene.settings,
					     &err);
	return rc == 0 ? cancel_init(&scene.cancel, &err) : rc;
}

static void end(void)
{
	struct error err = { 0 };

	none_provider.ops->close(&broken.none);
	settings_free(scene.settings);
	store_close(scene.store);
	cancel_release(&scene.cancel);
	path_remove_tree(scene.dir, &err);
	fake_reset();
}

static int run(const struct mutant *mutant, struct contract_summary *summary,
	       struct error *err)
{
	/* Nobody listens there: with a network that is dead this is said. */
	struct sandbox_client client = { .provider = &broken_provider,
					 .endpoint = "http://127.0.0.1:9" };
	struct contract_request request = {
		.client = &client,
		.store = scene.store,
		.snapshot = "kept",
		.quick = mutant->breach == KEEPS_ALL && mutant->a,
		.only = mutant->only ? mutant->only : mutant->found,
		.each = on_check,
	};
	struct stop stop = stop_on(&scene.cancel);

	broken.mutant = mutant;
	broken.active = !mutant->after;
	return contract_run(&request, summary, &stop, err);
}

/* A user that reads all sees no permission_denied: that check cannot fail. */
static bool not_tried(const struct mutant *m)
{
	return m->breach == FILE_ERROR && m->a == FILE_PERMISSION_DENIED &&
	       geteuid() == 0;
}

static const char *judge(const struct mutant *m,
			 const struct contract_summary *s)
{
	bool kept = m->breach == KEEPS_ALL;
	bool quick = kept && m->a;

	if (strcmp(scene.first_failed, m->found) != 0)
		return "another check found it";
	if (kept ? s->failed || s->absent != (quick ? ABSENT : 0) : !s->failed)
		return "wrong count";
	if (quick && (s->passed < 35 || s->command_ms < 0 || s->create_ms < 0 ||
		      s->remove_ms < 0 || s->upload_kib_s < 0))
		return "no latencies";
	if (!kept && !scene.reason[0])
		return "no reason";
	if (fake_alive() && m->breach != REMOVE_FAILS &&
	    m->breach != REMOVE_LIES)
		return "a sandbox is left";
	return NULL;
}

/* In a process of its own: they are run side by side. */
static int one(const struct mutant *m)
{
	struct contract_summary summary;
	struct error err = { 0 };
	const char *wrong = "it cannot begin";

	if (begin() == 0)
		wrong = run(m, &summary, &err) < 0 ? err.message
						   : judge(m, &summary);
	if (wrong)
		fprintf(stderr, "mutant %d: %s; for '%s', by '%s': %s\n",
			(int)(m - mutants), wrong, m->found, scene.first_failed,
			scene.reason);
	end();
	return wrong ? 1 : 0;
}

static int await(void)
{
	int status = 1;

	if (wait(&status) < 0)
		return 1;
	return status != 0;
}

static void test_mutants(void **state)
{
	int running = 0;
	int missed = 0;

	(void)state;
	for (size_t i = 0; i < MUTANTS; i++) {
		pid_t pid;

		if (not_tried(&mutants[i]))
			continue;
		if (running == AT_ONCE) {
			missed += await();
			running--;
		}
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			exit(one(&mutants[i]));
		assert_true(pid > 0);
		running++;
	}
	while (running-- > 0)
		missed += await();
	assert_int_equal(missed, 0);
}

/* A signal in the middle: no more checks, nothing left. */
static void test_cancelled(void **state)
{
	const struct mutant none = { .breach = KEEPS_ALL, .only = "" };
	struct contract_summary summary;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(begin(), 0);
	scene.cancel_after = "exit status 3";
	assert_int_equal(run(&none, &summary, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_string_equal(scene.last, "exit status 3");
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(fake.made, 1);
	end();
}

static void test_only(void **state)
{
	const struct mutant none = { .breach = KEEPS_ALL,
				     .only = "here-document" };
	struct contract_summary summary;
	struct error err = { 0 };

	(void)state;
	assert_true(contract_knows("here"));
	assert_false(contract_knows("elsewhere"));
	assert_int_equal(begin(), 0);
	assert_int_equal(run(&none, &summary, &err), 0);
	assert_int_equal(summary.passed, 5);
	assert_int_equal(summary.failed + summary.absent, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_only),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as dcode does */
	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
