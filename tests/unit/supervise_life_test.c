/* supervise_life_test.c - jobs that are left, lost, refused, or asked twice. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/ids.h"
#include "exec_run.h"
#include "sandbox/supervise/request.h"
#include "vendor.h"

static int64_t number_from(char *command)
{
	FILE *f = popen(command, "r");
	int64_t n = -1;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%" SCNd64, &n), 1);
	pclose(f);
	free(command);
	return n;
}

/* Runs the command in a process that is killed after ms; its job. */
static void abandon(struct vendor *v, const char *command, int ms,
		    char job[SUPERVISE_JOB + 1])
{
	struct sandbox sb = box_of(v);
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		v->tell = fds[1];
		run(&sb, command);
		_exit(0);
	}
	assert_int_equal(read(fds[0], job, SUPERVISE_JOB + 1),
			 SUPERVISE_JOB + 1);
	usleep((unsigned)ms * 1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	vendor_began(v, job);
}

static struct ran follow(struct vendor *v, const char *job, struct seen seen)
{
	struct ran r = { .seen = seen };
	struct exec_request req = { .output = see, .arg = &r.seen };
	struct stop never = { .deadline = INT64_MAX };
	int64_t start = clock_ms();

	r.seen.out = BUF_INIT((size_t)128 << 20);
	r.seen.err = BUF_INIT((size_t)128 << 20);
	v->supervisor.call = vendor_call;
	v->supervisor.arg = v;
	r.rc = supervise_follow(job, &req, &r.res, &v->supervisor, &never,
				&r.err);
	r.ms = clock_ms() - start;
	return r;
}

/* The one who began it went away without a word; another one follows. */
static void test_follow(void **state)
{
	struct vendor v = plain_vendor();
	char job[SUPERVISE_JOB + 1];
	struct ran r;

	(void)state;
	abandon(&v, "echo one; sleep 1.5; echo two; echo three >&2; exit 5",
		300, job);
	r = follow(&v, job, (struct seen){ 0 });
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.res.exit_code, 5);
	/* Whether the first line was confirmed is not known. */
	assert_non_null(strstr(out_of(&r), "two\n"));
	assert_string_equal(r.seen.err.ptr, "three\n");
	ran_release(&r);
	r = follow(&v, "aaaaaaaaaaaaaaaa", (struct seen){ 0 });
	assert_int_equal(r.err.code, ERR_NOT_FOUND);
	ran_release(&r);
	r = follow(&v, "../../../etc/abc", (struct seen){ 0 });
	assert_int_equal(r.err.code, ERR_USAGE);
	ran_release(&r);
	vendor_clean(&v);
}

/* A reader that stops reading stops the command; the disk stays bounded. */
static void test_flood(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct exec_request req = { 0 };
	char command[32];
	char job[SUPERVISE_JOB + 1];
	struct ran r;
	int64_t kib;

	(void)state;
	snprintf(command, sizeof(command), "yes dcode-%d", (int)getpid());
	req.command = str_of(command);
	r = run_request(&sb, req, NULL, (struct seen){ .refuse_at = 3000000 });
	assert_int_equal(r.rc, -1);
	assert_string_equal(r.err.message, "enough");
	assert_true(r.ms < 20000);
	assert_int_equal(count_running(command), 0);
	ran_release(&r);
	abandon(&v, command, 300, job);
	usleep(3000000);
	kib = number_from(
		xasprintf("du -sk /tmp/.dcode-exec/%s | cut -f1", job));
	print_message("unread flood: %d KiB on disk\n", (int)kib);
	/* 64 MiB may wait; what is over is found after 4 MiB more, and a piece
	 * of up to 5 MiB goes once all of it was read. */
	assert_true(kib > 1024 && kib < 74 << 10);
	assert_int_equal(count_running(command), 1);
	r = follow(&v, job, (struct seen){ .refuse_at = 3000000 });
	assert_int_equal(r.rc, -1);
	assert_string_equal(r.err.message, "enough");
	assert_int_equal(count_running(command), 0);
	ran_release(&r);
	vendor_clean(&v);
}

/* Rewrites when it was last asked for the job, on the job's own clock. */
static void set_asked(const char *job, const char *minus)
{
	char *command = xasprintf(
		"read -r a b </proc/uptime; cd /tmp/.dcode-exec/%s && "
		"echo $((${a%%%%.*} * 100 - %s)) >asked && echo 0",
		job, minus);

	assert_int_equal(number_from(command), 0);
}

static bool has_file(const char *job, const char *name)
{
	char *path = xasprintf("/tmp/.dcode-exec/%s/%s", job, name);
	bool found = access(path, F_OK) == 0;

	free(path);
	return found;
}

/* Waits up to a minute for the file of the job; whether it came. */
static bool wait_file(const char *job, const char *name)
{
	bool found = false;

	for (int i = 0; i < 600 && !found; i++) {
		found = has_file(job, name);
		if (!found)
			usleep(100000);
	}
	return found;
}

/* The request that was given up may say until its end that it still asks. */
static bool end_unasked(const char *job)
{
	bool ended = false;

	for (int i = 0; i < 60 && !ended; i++) {
		set_asked(job, "360000");
		for (int k = 0; k < 10 && !ended; k++) {
			usleep(100000);
			ended = has_file(job, "done");
		}
	}
	return ended;
}

/* A command that waits for its output to be read, that is. */
static void test_an_hour_without_a_reader_ends_the_command(void **state)
{
	struct vendor v = plain_vendor();
	char command[40];
	char job[SUPERVISE_JOB + 1];
	struct ran r;

	(void)state;
	snprintf(command, sizeof(command), "yes dcode-hour-%d", (int)getpid());
	abandon(&v, command, 300, job);
	assert_true(wait_file(job, "o.wait"));
	set_asked(job, "350000");
	usleep(500000);
	assert_int_equal(count_running(command), 1); /* control */
	assert_true(end_unasked(job));
	assert_int_equal(count_running(command), 0);
	assert_int_equal(number_from(xasprintf("cut -d' ' -f1 /tmp/.dcode-exec/"
					       "%s/done",
					       job)),
			 137);
	r = follow(&v, job, (struct seen){ .refuse_at = 3000000 });
	assert_string_equal(r.err.message, "enough"); /* it was kept */
	ran_release(&r);
	vendor_clean(&v);
}

static void test_refusals(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct exec_request req = { .command = STR("echo"), .dialog = true };
	struct ran r = run_request(&sb, req, NULL, (struct seen){ 0 });

	(void)state;
	assert_int_equal(r.err.code, ERR_USAGE);
	ran_release(&r);
	v.fail = ERR_GONE;
	r = run(&sb, "echo");
	assert_int_equal(r.err.code, ERR_GONE);
	assert_int_equal(v.calls, 1);
	ran_release(&r);
	v.fail = ERR_NETWORK;
	v.supervisor.patience_ms = 500;
	r = run(&sb, "echo");
	assert_int_equal(r.err.code, ERR_NETWORK);
	ran_release(&r);
	v.fail = 0;
	v.supervisor.max_command = 16 << 10;
	expect(&sb, "echo fits", 0, "fits\n", "");
	req = (struct exec_request){ .command = STR("wc -c"),
				     .input = STR("12345") };
	r = run_request(&sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, 0);
	assert_int_equal(strtol(out_of(&r), NULL, 10), 5);
	ran_release(&r);
	vendor_clean(&v);
}

static int64_t pull(void *arg, char *room, size_t len, struct error *err)
{
	size_t *left = arg;
	size_t n = *left < len ? *left : len;

	(void)err;
	memset(room, 'x', n);
	*left -= n;
	return (int64_t)n;
}

/* A command too long for one argument, and input that is no text. */
static void test_long(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct buf command = BUF_INIT(1 << 20);
	struct exec_request req = { 0 };
	size_t left = 3000;
	struct ran r;

	(void)state;
	v.supervisor.max_command = 128000;
	buf_adds(&command, "echo $# ");
	while (command.len < 105000)
		buf_adds(&command, "aaaaaaaaaaaaaaa ");
	buf_adds(&command, " | wc -c");
	r = run(&sb, command.ptr);
	assert_int_equal(r.rc, 0);
	assert_true(strtol(out_of(&r), NULL, 10) > 104000);
	ran_release(&r);
	buf_release(&command);
	req.source = pull;
	req.source_arg = &left;
	req.command = STR("wc -c");
	r = run_request(&sb, req, NULL, (struct seen){ 0 });
	assert_string_equal(out_of(&r), "3000\n");
	ran_release(&r);
	left = 1 << 20;
	r = run_request(&sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.err.code, ERR_LIMIT);
	ran_release(&r);
	req.source = NULL;
	req.command = STR("cat; echo \"$#\"");
	req.input = (struct str){ "a\0\377\n%s\\", 7 };
	r = run_request(&sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.seen.out.len, 9);
	assert_memory_equal(r.seen.out.ptr, "a\0\377\n%s\\0\n", 9);
	ran_release(&r);
	vendor_clean(&v);
}

static void request_and(struct vendor *v, enum supervise_op op, const char *job,
			const char *forget, struct supervise_answer *a)
{
	struct exec_request req = { .command = STR("echo ran") };
	struct job_request ask = { .op = op,
				   .job = job,
				   .req = &req,
				   .nonce = "aaaabbbbccccdddd",
				   .hold_ms = 30000,
				   .max = 60000,
				   .forget = forget,
				   .held = true, /* a start: its end */
				   .cwd = "/" };
	struct stop never = { .deadline = INT64_MAX };
	struct buf command = BUF_INIT(100000);
	struct buf raw = BUF_INIT(100000);
	struct error err = { 0 };

	assert_int_equal(supervise_compose(&ask, &command, &err), 0);
	assert_int_equal(
		vendor_call(v, buf_str(&command), 0, &raw, &never, &err), 0);
	assert_int_equal(supervise_parse(buf_str(&raw), ask.nonce, a, &err), 0);
	buf_release(&command);
	buf_release(&raw);
}

static void request(struct vendor *v, enum supervise_op op, const char *job,
		    struct supervise_answer *a)
{
	request_and(v, op, job, "", a);
}

/* A start that arrives after its command was cancelled, or was forgotten. */
static void test_late_start(void **state)
{
	struct vendor v = plain_vendor();
	struct supervise_answer a = { .body = BUF_INIT(1000) };
	char late[SUPERVISE_JOB + 1];
	char lost[SUPERVISE_JOB + 1];

	(void)state;
	ids_random(late, SUPERVISE_JOB);
	ids_random(lost, SUPERVISE_JOB);
	vendor_began(&v, late);
	vendor_began(&v, lost);
	vendor_clean(&v);
	request(&v, JOB_FOLLOW, late, &a);
	assert_int_equal(a.word, WORD_GONE);
	request(&v, JOB_KILL, late, &a);
	assert_int_equal(a.word, WORD_KILLED);
	request(&v, JOB_START, late, &a);
	assert_int_equal(a.word, WORD_KILLED);
	assert_int_equal(a.body.len, 0);
	request(&v, JOB_START, lost, &a);
	assert_int_equal(a.word, WORD_END);
	assert_int_equal(a.code, 0);
	assert_string_equal(a.body.ptr, "ran\n");
	request_and(&v, JOB_START, late, lost, &a);
	request(&v, JOB_START, lost, &a); /* it is not run again */
	assert_int_equal(a.word, WORD_LOST);
	buf_release(&a.body);
	vendor_clean(&v);
}

static int64_t bytes_kept(const char *job)
{
	return number_from(
		xasprintf("cat /tmp/.dcode-exec/%s/[oe].[0-9]* | wc -c", job));
}

/* The output of the command before is removed by the next request, be it the
 * kill of a command whose start did not arrive. */
static void test_a_kill_removes_output_as_its_start_would_have(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct exec_request req = { .command = STR("echo not run") };
	struct stop soon;
	struct ran r;

	(void)state;
	sb.read = supervise_read_new();
	expect(&sb, "echo printed", 0, "printed\n", "");
	assert_int_equal(bytes_kept(v.jobs[0]), 8); /* control */
	v.mute_at = atomic_load(&v.calls) + 1;
	soon = (struct stop){ .deadline = clock_ms() + 100 };
	r = run_request(&sb, req, &soon, (struct seen){ 0 });
	assert_int_equal(r.err.code, ERR_TIMEOUT);
	assert_int_equal(bytes_kept(v.jobs[0]), 0);
	ran_release(&r);
	supervise_read_free(sb.read);
	vendor_clean(&v);
}

/* What is not read any more does not hold up the end of the command. */
static void test_a_kill_ends_a_command_whose_output_waits(void **state)
{
	struct vendor v = plain_vendor();
	struct supervise_answer a = { .body = BUF_INIT(100000) };
	char command[40];
	char job[SUPERVISE_JOB + 1];

	(void)state;
	snprintf(command, sizeof(command), "yes dcode-kill-%d", (int)getpid());
	abandon(&v, command, 300, job);
	assert_true(wait_file(job, "o.wait"));
	request(&v, JOB_KILL, job, &a);
	assert_int_equal(count_running(command), 0);
	assert_true(wait_file(job, "done"));
	buf_release(&a.body);
	vendor_clean(&v);
}

/* The keepalive was killed: that is an end, too, and what came is kept. */
static void test_orphan(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct ran r = run(&sb, "echo begun; kill -9 $(cat /tmp/.dcode-exec/"
				"$DCODE_EXEC/pid); sleep 60");

	(void)state;
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_REMOTE);
	assert_int_equal(r.res.exit_code, -1);
	assert_string_equal(out_of(&r), "begun\n");
	ran_release(&r);
	vendor_clean(&v);
}

/* What a command leaves behind writes on, whatever becomes of the job. */
static void test_daemon(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	char file[] = "/tmp/dcode-daemon.XXXXXX";
	int fd = mkstemp(file);
	char *command = xasprintf("(i=0; while [ $i -lt 150 ]; do echo $i; "
				  "sleep 0.01; i=$((i+1)); done; "
				  "echo ok >%s) & echo begun",
				  file);
	struct ran r = run(&sb, command);
	char word[8] = "";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(r.rc, 0);
	assert_non_null(strstr(out_of(&r), "begun\n")); /* or 0 before it */
	ran_release(&r);
	vendor_clean(&v); /* as if it had been swept */
	for (int i = 0; i < 100 && read(fd, word, 3) <= 0; i++)
		usleep(100000);
	assert_string_equal(word, "ok\n");
	close(fd);
	unlink(file);
	free(command);
}

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"",
		"hello",
		"\n@dcode:n:b\naGkK\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=end 0 0 4 0 0\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=end 0 0 3 0 0 0\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=end 0 0 3 0\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=end 256 0 3 0 0\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=end 0 -1 3 0 0\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=end 0 0 -3 0 6\n",
		"\n@dcode:n:b\naGkK\n\n@dcode:n=what 0 0 3 0 0\n",
		"\n@dcode:m:b\naGkK\n\n@dcode:m=end 0 0 3 0 0\n",
	};
	struct supervise_answer a = { .body = BUF_INIT(100) };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(supervise_parse(str_of(bad[i]), "n", &a, &err),
				 -1);
		assert_int_equal(err.code, ERR_PROTOCOL);
	}
	assert_int_equal(supervise_parse(STR("\n@dcode:n:b\naGkK\n\n@dcode:n="
					     "end 7 10 2 20 1\n"),
					 "n", &a, &err),
			 0);
	assert_int_equal(a.code, 7);
	assert_int_equal(a.out_at, 10);
	assert_int_equal(a.out_len, 2);
	assert_int_equal(a.err_at, 20);
	assert_string_equal(a.body.ptr, "hi\n");
	buf_release(&a.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_late_start),
		cmocka_unit_test(
			test_a_kill_removes_output_as_its_start_would_have),
		cmocka_unit_test(test_orphan),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(
			test_an_hour_without_a_reader_ends_the_command),
		cmocka_unit_test(test_a_kill_ends_a_command_whose_output_waits),
		cmocka_unit_test(test_daemon),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
