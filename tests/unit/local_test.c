/* local_test.c - the bubblewrap sandbox: contract, files, lifecycle. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "contract_run.h"
#include "exec_run.h"
#include "local_sandbox.h"
#include "providers/local/jail.h"

static int setup(void **state)
{
	int rc = box_setup(state);

	promised = (struct contract_request){ .sandbox = *state,
					      .label = "dcode-test2345",
					      .owner = "tester" };
	return rc;
}

static void test_shells(void **state)
{
	struct exec_request req = { .command = STR("echo ${BASH_VERSION:+b}") };
	struct ran r = run_request(*state, req, NULL, (struct seen){ 0 });

	assert_string_equal(out_of(&r), "b\n");
	ran_release(&r);
	req.plain = true;
	r = run_request(*state, req, NULL, (struct seen){ 0 });
	assert_string_equal(out_of(&r), "\n");
	ran_release(&r);
	expect(*state, "pwd; id -u; echo ~; hostname; whoami", 0,
	       "/workspace\n1000\n/home/user\nsandbox\nuser\n", "");
	expect(*state, "echo kept >f; cd /tmp", 0, "", "");
	expect(*state, "cat f; rm f", 0, "kept\n", "");
}

struct blob {
	int64_t left;
	uint32_t sum;
	uint32_t next;
	int64_t fail_at;
};

static char byte_of(uint32_t *state)
{
	*state = *state * 1664525U + 1013904223U;
	return (char)(*state >> 24);
}

static int64_t blob_read(void *arg, char *room, size_t len, struct error *err)
{
	struct blob *b = arg;
	int64_t n = 0;

	if (b->fail_at && b->left < b->fail_at)
		return error_set(err, ERR_SYSTEM, "the source broke");
	for (; n < (int64_t)len && b->left > 0; n++, b->left--) {
		room[n] = byte_of(&b->next);
		b->sum = b->sum * 31 + (unsigned char)room[n];
	}
	return n;
}

static int blob_write(void *arg, struct str chunk, struct error *err)
{
	struct blob *b = arg;

	for (size_t i = 0; i < chunk.len; i++)
		b->sum = b->sum * 31 + (unsigned char)chunk.ptr[i];
	b->left += (int64_t)chunk.len;
	if (b->fail_at && b->left >= b->fail_at)
		return error_set(err, ERR_SYSTEM, "the sink broke");
	return 0;
}

static int move(struct sandbox *sb, bool up, struct transfer *t, size_t n)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	return (up ? sandbox_upload : sandbox_download)(sb, t, n, &stop, &err);
}

static void test_files(void **state)
{
	static const int64_t sizes[] = { 0, 1, 65536, 10 << 20 };

	for (size_t i = 0; i < 4; i++) {
		struct blob in = { .left = sizes[i], .next = 7 };
		struct blob out = { 0 };
		struct transfer t = { .path = "/workspace/a/b c/\377x",
				      .size = sizes[i],
				      .read = blob_read,
				      .arg = &in };

		assert_int_equal(move(*state, true, &t, 1), 0);
		assert_int_equal(t.error, FILE_OK);
		t.write = blob_write;
		t.arg = &out;
		assert_int_equal(move(*state, false, &t, 1), 0);
		assert_int_equal(t.error, FILE_OK);
		assert_int_equal(out.left, sizes[i]);
		assert_int_equal(out.sum, in.sum);
	}
	expect(*state, "stat -c %a a/*/*; chmod 751 a/*/*", 0, "644\n", "");
	{
		struct blob in = { .left = 3 };
		struct transfer t = { .path = "/workspace/a/b c/\377x",
				      .size = 3,
				      .mode = 0600,
				      .read = blob_read,
				      .arg = &in };

		assert_int_equal(move(*state, true, &t, 1), 0);
	}
	expect(*state, "stat -c '%a %s' a/*/*; rm -r a", 0, "751 3\n", "");
}

static void test_file_errors(void **state)
{
	struct blob blob[9] = { 0 };
	struct transfer t[9] = {
		{ .path = "/workspace/none" }, { .path = "/usr" },
		{ .path = "/workspace/shut" }, { .path = "relative" },
		{ .path = "/etc/passwd/x" },   { .path = "/workspace/fifo" },
		{ .path = "/workspace/link" }, /* leads out: to nothing here */
		{ .path = "/workspace/loop" }, { .path = "/etc/passwd" },
	};
	static const enum file_error want[9] = {
		FILE_NOT_FOUND,    FILE_IS_DIRECTORY, FILE_PERMISSION_DENIED,
		FILE_INVALID_PATH, FILE_NOT_FOUND,    FILE_OTHER,
		FILE_NOT_FOUND,    FILE_NOT_FOUND,    FILE_OK,
	};
	char command[1200];

	snprintf(
		command, sizeof(command),
		"echo x >shut; chmod 0 shut; mkfifo fifo; ln -s %s/secret link;"
		"ln -s loop loop",
		box_home());
	expect(*state, command, 0, "", "");
	for (int i = 0; i < 9; i++) {
		t[i].write = blob_write;
		t[i].arg = &blob[i];
	}
	assert_int_equal(move(*state, false, t, 9), 0);
	for (int i = 0; i < 9; i++)
		assert_int_equal(t[i].error, want[i]);
	assert_true(blob[8].left > 20);
	for (int i = 0; i < 9; i++) {
		blob[i] = (struct blob){ .left = 5 };
		t[i].size = 5;
		t[i].read = blob_read;
	}
	t[0].path = "/usr/x";
	t[1].path = "/workspace/";
	assert_int_equal(move(*state, true, t, 5), 0);
	assert_int_equal(t[0].error, FILE_PERMISSION_DENIED);
	assert_int_equal(t[1].error, FILE_INVALID_PATH);
	assert_int_equal(t[2].error, FILE_PERMISSION_DENIED);
	assert_int_equal(t[3].error, FILE_INVALID_PATH);
	assert_int_equal(t[4].error, FILE_INVALID_PATH);
	expect(*state, "rm -f shut fifo link loop; ls -A", 0, "", "");
}

/* A side of ours that gives up leaves no half file and no hanging runner. */
static void test_file_aborts(void **state)
{
	struct blob in = { .left = 4 << 20, .fail_at = 1 << 20 };
	struct blob out = { .fail_at = 100000 };
	struct transfer t = { .path = "/workspace/half",
			      .size = 4 << 20,
			      .read = blob_read,
			      .write = blob_write,
			      .arg = &in };

	assert_int_equal(move(*state, true, &t, 1), 0);
	assert_int_equal(t.error, FILE_OTHER);
	assert_string_equal(t.detail, "the source broke");
	expect(*state, "ls -A; head -c 9000000 /dev/zero >half", 0, "", "");
	t.arg = &out;
	assert_int_equal(move(*state, false, &t, 1), 0);
	assert_int_equal(t.error, FILE_OTHER);
	assert_string_equal(t.detail, "local: the sink broke");
	/* Process 1 and the runner of this very command. */
	expect(*state, "rm half; sleep 0.1; ps -e | grep -c supervisor", 0,
	       "2\n", "");
}

static void count_info(void *arg, const struct sandbox_info *info)
{
	int *states = arg;

	assert_true(!strncmp(info->id, "dcode-", 6));
	states[info->state]++;
}

static void test_lifecycle(void **state)
{
	struct sandbox *first = *state;
	struct sandbox_client *client = first->client;
	const struct sandbox_ops *ops = local_provider.ops;
	struct stop stop = stop_cleanup(30000);
	struct error err = { 0 };
	struct sandbox a = { .client = client };
	struct sandbox b = { .client = client };
	struct sandbox_spec spec = { .network = &(struct network){ 0 },
				     .label = "dcode-abcd2345",
				     .owner = "somebody" };
	int n[STATE_GONE + 1] = { 0 };
	const struct info_sink sink = { count_info, n };

	assert_int_equal(ops->create(&a, &spec, &stop, &err), 0);
	assert_string_equal(a.id, spec.label);
	expect(&a, "echo here >f; mkdir -p d/e; chmod 0 d", 0, "", "");
	expect(first, "cat f", 1, "", "cat: f: No such file or directory\n");
	assert_int_equal(ops->list(client, "somebody", &sink, &stop, &err), 0);
	assert_int_equal(n[STATE_RUNNING], 1);
	assert_int_equal(ops->list(client, NULL, &sink, &stop, &err), 0);
	assert_int_equal(n[STATE_RUNNING], 3);
	/* The processes end, the files stay. */
	ops->discard(&a);
	usleep(100000);
	memset(n, 0, sizeof(n));
	assert_int_equal(ops->info(client, a.id, &sink, &stop, &err), 0);
	assert_int_equal(n[STATE_STOPPED], 1);
	assert_int_equal(ops->attach(&b, a.id, &stop, &err), 0);
	expect(&b, "cat f", 0, "here\n", "");
	assert_int_equal(ops->attach(&a, "dcode-none", &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(ops->attach(&a, "../sandboxes", &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	/* Gone for good, and gone already is fine. */
	assert_int_equal(ops->remove(client, a.id, &stop, &err), 0);
	assert_int_equal(ops->remove(client, a.id, &stop, &err), 0);
	{
		struct ran r = run(&b, "true");

		assert_int_equal(r.rc, -1);
		assert_int_equal(r.err.code, ERR_GONE);
		ran_release(&r);
	}
	assert_int_equal(ops->info(client, a.id, &sink, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	free_box(&a);
	free_box(&b);
}

static void test_snapshot(void **state)
{
	struct sandbox *first = *state;
	const struct sandbox_ops *ops = local_provider.ops;
	struct stop stop = stop_cleanup(30000);
	struct error err = { 0 };
	struct sandbox a = { .client = first->client };
	struct sandbox_spec spec = { .network = &(struct network){ 0 },
				     .label = "dcode-snap2345",
				     .snapshot = "base-1" };
	char *name = NULL;

	assert_int_equal(ops->create(&a, &spec, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(ops->remove(a.client, a.id, &stop, &err), 0);
	free_box(&a);
	a = (struct sandbox){ .client = first->client };
	expect(first,
	       "mkdir p; echo one >p/q; chmod 750 p/q; ln -s /etc/passwd l; "
	       "ln p/q h; echo two >~/r",
	       0, "", "");
	expect(first, "echo older >older", 0, "", "");
	assert_int_equal(
		ops->find_snapshot(a.client, "base-1", &name, &stop, &err), 0);
	assert_int_equal(ops->snapshot(first, "base-1", false, &stop, &err), 0);
	expect(first, "rm older", 0, "", "");
	assert_int_equal(
		ops->find_snapshot(a.client, "base-1", &name, &stop, &err), 1);
	free(name);
	assert_int_equal(ops->snapshot(first, "base-1", false, &stop, &err),
			 -1);
	assert_int_equal(ops->snapshot(first, "base-1", true, &stop, &err), 0);
	assert_int_equal(ops->snapshot(first, "../x", true, &stop, &err), -1);
	expect(first, "rm -r p l h ~/r", 0, "", "");
	assert_int_equal(ops->create(&a, &spec, &stop, &err), 0);
	expect(&a,
	       "cat p/q ~/r; ls older 2>/dev/null; stat -c '%a %h' p/q; "
	       "readlink l",
	       0, "one\ntwo\n750 2\n/etc/passwd\n", "");
	assert_int_equal(ops->remove(a.client, a.id, &stop, &err), 0);
	free_box(&a);
}

static void test_lifetime(void **state)
{
	struct sandbox *first = *state;
	struct stop stop = stop_cleanup(30000);
	struct error err = { 0 };
	struct sandbox a = { .client = first->client };
	struct sandbox_spec spec = { .network = &(struct network){ 0 },
				     .label = "dcode-short234",
				     .lifetime_s = 1 };
	struct ran r;

	assert_int_equal(local_provider.ops->create(&a, &spec, &stop, &err), 0);
	r = run(&a, "sleep 30");
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_GONE);
	assert_true(r.ms < 20000);
	ran_release(&r);
	assert_int_equal(
		local_provider.ops->remove(a.client, a.id, &stop, &err), 0);
	free_box(&a);
}

static void test_cost(void **state)
{
	enum { N = 300 };
	int64_t start = clock_ms();

	for (int i = 0; i < N; i++) {
		struct ran r = run(*state, "true");

		assert_int_equal(r.rc, 0);
		ran_release(&r);
	}
	print_message("true in the sandbox: %d us\n",
		      (int)(since(start) * 1000 / N));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CONTRACT_ROWS,
		cmocka_unit_test(test_shells),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_file_aborts),
		cmocka_unit_test(test_lifecycle),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_cost),
	};

	if (argc > 1 && !strcmp(argv[1], JAIL_ARGUMENT))
		return jail_main(argc, argv);
	(void)signal(SIGPIPE, SIG_IGN); /* as dcode does */
	ids_init();
	return cmocka_run_group_tests(tests, setup, box_teardown);
}
