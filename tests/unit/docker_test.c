/* docker_test.c - the docker provider against a real engine. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/table.h"
#include "tests/unit/relay.h"

/*
 * Run by itself it starts itself again inside tests/podman_rig.py, which sets
 * DOCKER_HOST and DCODE_TEST_IMAGE; where no engine can run, one line says so.
 */

static struct http *http;
static struct settings *settings;
static struct sandbox_host host;
static struct sandbox box;
static struct relay relay; /* between the provider and the engine: counts */
static char home[] = "/tmp/dcode-test-XXXXXX";
static char label[] = "dcode-aaaaaaaa";

struct seen {
	struct buf out, err;
	const char *answer; /* a dialog: sent once when the output is there */
	const char *when;
	int refuse_after; /* bytes; 0: never */
	struct cancel *cancel;
	int64_t first_ms;
};

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct seen *s = arg;

	if (!s->first_ms)
		s->first_ms = clock_ms();
	buf_addstr(stream == EXEC_STDOUT ? &s->out : &s->err, chunk);
	if (reply && s->answer && strstr(s->out.ptr, s->when)) {
		buf_adds(reply, s->answer);
		s->answer = NULL;
	}
	if (s->refuse_after && s->out.len >= (size_t)s->refuse_after)
		return error_set(err, ERR_PROTOCOL, "enough");
	if (s->cancel)
		cancel_trigger(s->cancel);
	return 0;
}

static void seen_init(struct seen *s)
{
	*s = (struct seen){ .out = BUF_INIT(64 << 20),
			    .err = BUF_INIT(64 << 20) };
	buf_adds(&s->out, "");
	buf_adds(&s->err, "");
}

static void seen_release(struct seen *s)
{
	buf_release(&s->out);
	buf_release(&s->err);
}

static int run_request(struct sandbox *sb, struct exec_request req,
		       struct seen *s, struct exec_result *res,
		       const struct stop *stop, struct error *err)
{
	struct stop within = stop_cleanup(60000);

	req.output = on_output;
	req.arg = s;
	return sandbox_execute(sb, &req, res, stop ? stop : &within, err);
}

/* The exit status; output in s. */
static int run(const char *command, struct seen *s)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };

	seen_init(s);
	if (run_request(&box,
			(struct exec_request){ .command = str_of(command) }, s,
			&res, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return res.exit_code;
}

/* Processes of the container whose command line has this word. */
static int processes(const char *word)
{
	struct seen s;
	char *command = xasprintf("for f in /proc/[0-9]*/cmdline; do "
				  "tr '\\0' ' ' <$f; echo; done 2>/dev/null | "
				  "grep -c '^sleep %s'",
				  word);
	int n;

	run(command, &s);
	n = (int)strtol(s.out.ptr, NULL, 10);
	seen_release(&s);
	free(command);
	return n;
}

static void test_exit_codes(void **state)
{
	static const struct {
		const char *command;
		int code;
	} cases[] = {
		{ "true", 0 },
		{ "false", 1 },
		{ "exit 3", 3 },
		{ "/etc/passwd", 126 },
		{ "no-such-command", 127 },
		{ "kill -9 $$", 137 },
		{ "kill -TERM $$", 143 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seen s;

		assert_int_equal(run(cases[i].command, &s), cases[i].code);
		seen_release(&s);
	}
}

static void test_streams(void **state)
{
	struct seen s;

	(void)state;
	assert_int_equal(run("echo out; echo err >&2; pwd; echo \"$0 $#\"", &s),
			 0);
	assert_string_equal(s.out.ptr, "out\n/workspace\nsh 0\n");
	assert_string_equal(s.err.ptr, "err\n");
	seen_release(&s);
	run("head -c 1000000 /dev/zero | tr '\\0' x", &s);
	assert_int_equal(s.out.len, 1000000);
	seen_release(&s);
	run("printf 'a\\000b\\377\\n'", &s);
	assert_int_equal(s.out.len, 5);
	assert_memory_equal(s.out.ptr, "a\0b\377\n", 5);
	seen_release(&s);
	/* Bytes of the command that are no UTF-8, quotes, backslashes. */
	run("printf %s '\xff\\n\"$x\xc3\xa4' | od -An -tx1", &s);
	assert_string_equal(s.out.ptr, " ff 5c 6e 22 24 78 c3 a4\n");
	seen_release(&s);
}

static void test_is_live(void **state)
{
	int64_t begun = clock_ms();
	struct seen s;

	(void)state;
	run("echo now; sleep 1.5; echo later", &s);
	assert_string_equal(s.out.ptr, "now\nlater\n");
	assert_in_range(s.first_ms - begun, 0, 1200);
	seen_release(&s);
}

static void test_long_command(void **state)
{
	struct buf command = BUF_INIT(2 << 20);
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	buf_adds(&command, "x='");
	while (command.len < 1000000)
		buf_adds(&command, "0123456789\xc3\xa4\xe2\x82\xac");
	buf_adds(&command, "'; echo ${#x} $0 $#; exit 9");
	for (int plain = 0; plain < 2; plain++) {
		seen_init(&s);
		assert_int_equal(
			run_request(&box,
				    (struct exec_request){
					    .command = buf_str(&command),
					    .plain = plain },
				    &s, &res, NULL, &err),
			0);
		assert_int_equal(res.exit_code, 9);
		assert_non_null(strstr(s.out.ptr, " sh 0\n"));
		seen_release(&s);
	}
	buf_adds(&command, "\n\xff");
	seen_init(&s);
	assert_int_equal(run_request(&box,
				     (struct exec_request){
					     .command = buf_str(&command) },
				     &s, &res, NULL, &err),
			 0);
	assert_int_equal(res.exit_code, 9);
	seen_release(&s);
	buf_release(&command);
}

static void test_directory_and_variables(void **state)
{
	static const char *const env[] = { "ONE=1 \"x\"", "TWO=\n", NULL };
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){
				    .command = STR("pwd; echo \"$ONE$TWO\""),
				    .cwd = "/tmp",
				    .env = env },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "/tmp\n1 \"x\"\n\n");
	seen_release(&s);
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("echo no"),
						   .cwd = "/nowhere" },
			    &s, &res, NULL, &err),
		0);
	assert_int_equal(res.exit_code, 126);
	assert_string_equal(s.out.ptr, "");
	seen_release(&s);
}

static void test_input(void **state)
{
	struct buf big = BUF_INIT(8 << 20);
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	run("cat | wc -c", &s);
	assert_string_equal(str_trim(buf_str(&s.out)).ptr, "0\n");
	seen_release(&s);
	while (big.len < 4 << 20)
		buf_adds(&big, "line of input\n");
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("cat"),
						   .input = buf_str(&big) },
			    &s, &res, NULL, &err),
		0);
	assert_int_equal(s.out.len, big.len);
	assert_memory_equal(s.out.ptr, big.ptr, big.len);
	seen_release(&s);
	/* Input that nobody reads. */
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("echo hi"),
						   .input = buf_str(&big) },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "hi\n");
	seen_release(&s);
	seen_init(&s);
	s.answer = "blue\n";
	s.when = "colour?";
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){
				    .command = STR("read -r name; echo colour?;"
						   "read -r c; echo $name $c"),
				    .input = STR("bob\n"),
				    .dialog = true },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "colour?\nbob blue\n");
	seen_release(&s);
	buf_release(&big);
}

/* What hides from a kill of the group: sessions, lost parents, an emptied
 * environment. */
static const char tree[] =
	"sleep 7711 & setsid sleep 7711 & (setsid sh -c 'sleep 7711' &) ;"
	"env -i setsid sleep 7711 & env -i sleep 7711 &"
	"sh -c 'trap \"\" TERM HUP INT; sleep 7711; sleep 7711' & "
	"echo started; sleep 7711";

static void test_timeout_kills_the_tree(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	int64_t begun = clock_ms();
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = str_of(tree),
						   .timeout_ms = 1000 },
			    &s, &res, NULL, &err),
		0);
	assert_true(res.timed_out);
	assert_int_equal(res.exit_code, 124);
	assert_string_equal(s.out.ptr, "started\n");
	assert_in_range(clock_ms() - begun, 1000, 4000);
	assert_int_equal(processes("7711"), 0);
	seen_release(&s);
}

static void test_cancel_kills_the_tree(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	struct seen s;

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	stop = stop_on(&cancel);
	seen_init(&s);
	s.cancel = &cancel; /* as soon as it prints */
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = str_of(tree) },
			    &s, &res, &stop, &err),
		-1);
	assert_int_equal(err.code, ERR_CANCELLED);
	print_message("cancel: back after %lld ms\n",
		      (long long)(clock_ms() - s.first_ms));
	assert_in_range(clock_ms() - s.first_ms, 0, 100);
	assert_int_equal(processes("7711"), 0);
	seen_release(&s);
	cancel_release(&cancel);
}

static void test_refused_output_kills(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	seen_init(&s);
	s.refuse_after = 5;
	assert_int_equal(
		run_request(
			&box,
			(struct exec_request){
				.command = STR("echo started; sleep 7722") },
			&s, &res, NULL, &err),
		-1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_int_equal(processes("7722"), 0);
	seen_release(&s);
}

static void test_background_child(void **state)
{
	int64_t begun = clock_ms();
	struct seen s;

	(void)state;
	assert_int_equal(run("sleep 7733 & echo begun", &s), 0);
	assert_string_equal(s.out.ptr, "begun\n");
	assert_in_range(clock_ms() - begun, 0, 4000);
	seen_release(&s);
	assert_int_equal(processes("7733"), 1);
	run("pkill -f 'sleep 7733'", &s);
	seen_release(&s);
	assert_int_equal(run("exec >&- 2>&-; sleep 1; exit 5", &s), 5);
	seen_release(&s);
}

static void test_three_requests(void **state)
{
	struct seen s;
	int requests;
	int connections;

	(void)state;
	run("true", &s);
	seen_release(&s);
	requests = relay.requests;
	connections = relay.connections;
	for (int i = 0; i < 5; i++) {
		run("true", &s);
		seen_release(&s);
	}
	assert_int_equal(relay.requests - requests, 15);
	assert_int_equal(relay.connections - connections, 5);
}

static void *worker(void *arg)
{
	int *bad = arg;

	for (int i = 0; i < 3; i++) {
		struct exec_result res = { 0 };
		struct error err = { 0 };
		struct seen s;

		seen_init(&s);
		if (run_request(&box,
				(struct exec_request){
					.command = STR("echo in; sleep 0.2; "
						       "echo out; exit 4") },
				&s, &res, NULL, &err) < 0 ||
		    res.exit_code != 4 || strcmp(s.out.ptr, "in\nout\n") != 0) {
			print_message("%s: %s\n", err.message, s.out.ptr);
			++*bad;
		}
		seen_release(&s);
	}
	return NULL;
}

static void test_eight_at_once(void **state)
{
	pthread_t threads[8];
	int bad[8] = { 0 };

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, worker, &bad[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(bad[i], 0);
	}
}

struct pattern {
	int64_t left;
	int64_t at;
	bool wrong;
};

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct pattern *p = arg;
	int64_t n = p->left < (int64_t)len ? p->left : (int64_t)len;

	(void)err;
	for (int64_t i = 0; i < n; i++)
		room[i] = (char)((p->at + i) * 7 >> 3);
	p->at += n;
	p->left -= n;
	return n;
}

static int check(void *arg, struct str chunk, struct error *err)
{
	struct pattern *p = arg;

	(void)err;
	for (size_t i = 0; i < chunk.len; i++)
		if (chunk.ptr[i] != (char)((p->at + (int64_t)i) * 7 >> 3))
			p->wrong = true;
	p->at += (int64_t)chunk.len;
	return 0;
}

static void test_files(void **state)
{
	static const int64_t sizes[] = { 0, 1, 511, 512, 513, 10 << 20 };
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct pattern in = { .left = sizes[i] };
		struct pattern out = { 0 };
		struct transfer up = { .path = "/workspace/a b/\xc3\xa4/file",
				       .size = sizes[i],
				       .read = give,
				       .arg = &in };
		struct transfer down = { .path = up.path,
					 .write = check,
					 .arg = &out };

		assert_int_equal(sandbox_upload(&box, &up, 1, &stop, &err), 0);
		assert_int_equal(up.error, FILE_OK);
		assert_int_equal(sandbox_download(&box, &down, 1, &stop, &err),
				 0);
		assert_int_equal(down.error, FILE_OK);
		assert_int_equal(out.at, sizes[i]);
		assert_false(out.wrong);
	}
}

static void test_file_errors(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct pattern in[4] = {
		{ .left = 2 }, { .left = 2 }, { .left = 2 }, { .left = 2 }
	};
	struct transfer up[4] = {
		{ .path = "/workspace",
		  .size = 2,
		  .read = give,
		  .arg = &in[0] },
		{ .path = "/workspace/script",
		  .size = 2,
		  .mode = 0755,
		  .read = give,
		  .arg = &in[1] },
		{ .path = "/etc/passwd/x",
		  .size = 2,
		  .read = give,
		  .arg = &in[2] },
		{ .path = "/workspace/last",
		  .size = 2,
		  .read = give,
		  .arg = &in[3] },
	};
	struct pattern out[3] = { 0 };
	struct transfer down[3] = {
		{ .path = "/workspace/none", .write = check, .arg = &out[0] },
		{ .path = "/workspace", .write = check, .arg = &out[1] },
		{ .path = "/workspace/last", .write = check, .arg = &out[2] },
	};
	struct error err = { 0 };
	struct seen s;

	(void)state;
	assert_int_equal(sandbox_upload(&box, up, 4, &stop, &err), 0);
	assert_int_equal(up[0].error, FILE_IS_DIRECTORY);
	assert_int_equal(up[1].error, FILE_OK);
	assert_int_not_equal(up[2].error, FILE_OK);
	assert_int_equal(up[3].error, FILE_OK);
	assert_int_equal(sandbox_download(&box, down, 3, &stop, &err), 0);
	assert_int_equal(down[0].error, FILE_NOT_FOUND);
	assert_int_equal(down[1].error, FILE_IS_DIRECTORY);
	assert_int_equal(down[2].error, FILE_OK);
	assert_int_equal(out[2].at, 2);
	run("stat -c %a /workspace/script; stat -c %a /workspace/last", &s);
	assert_string_equal(s.out.ptr, "755\n644\n");
	seen_release(&s);
}

struct listed {
	int n;
	char id[80];
	enum sandbox_state state;
	int64_t created, ends;
};

static void on_listed(void *arg, const struct sandbox_info *info)
{
	struct listed *l = arg;

	if (strcmp(info->label, label) != 0)
		return;
	l->n++;
	snprintf(l->id, sizeof(l->id), "%s", info->id);
	l->state = info->state;
	l->created = info->created;
	l->ends = info->ends;
}

static void test_list_and_info(void **state)
{
	const struct sandbox_ops *o = docker_provider.ops;
	struct stop stop = stop_cleanup(20000);
	struct listed l = { 0 };
	struct error err = { 0 };
	int64_t now = clock_unix_ms() / 1000;

	(void)state;
	assert_int_equal(o->list(&host, "owner-1", on_listed, &l, &stop, &err),
			 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.id, box.id);
	assert_int_equal(l.state, STATE_RUNNING);
	assert_in_range(l.created, now - 600, now + 5);
	assert_int_equal(l.ends - l.created, 600);
	l.n = 0;
	assert_int_equal(o->list(&host, "owner-2", on_listed, &l, &stop, &err),
			 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(o->list(&host, NULL, on_listed, &l, &stop, &err), 0);
	assert_int_equal(l.n, 1);
	l = (struct listed){ 0 };
	assert_int_equal(o->info(&host, label, on_listed, &l, &stop, &err), 0);
	assert_int_equal(l.n, 1);
	assert_in_range(l.created, now - 600, now + 5);
	assert_int_equal(o->info(&host, "nobody", on_listed, &l, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(o->info(&host, "../x", on_listed, &l, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static struct sandbox_spec spec_of(const char *name)
{
	return (struct sandbox_spec){ .label = name,
				      .owner = "owner-1",
				      .network = NETWORK_DEFAULT,
				      .lifetime_s = 600 };
}

static void test_create_again(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of(label);
	struct sandbox again = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sandbox_create(&again, &host, &spec, &stop, &err), 0);
	assert_string_equal(again.id, box.id);
	sandbox_release(&again);
}

static void test_attach(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox other = { 0 };
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;
	char *path = xasprintf("/containers/%s/stop?t=2", label);
	char *url = xasprintf("http://d%s", path);
	struct http_request req = { .method = "POST",
				    .url = url,
				    .unix_socket = relay.path };
	struct http_response answer = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			sandbox_attach(&other, &host, label, &stop, &err), 0);
		assert_string_equal(other.id, box.id);
		assert_string_equal(other.workdir, "/workspace");
		seen_init(&s);
		assert_int_equal(
			run_request(&other,
				    (struct exec_request){
					    .command = STR("cat last") },
				    &s, &res, NULL, &err),
			0);
		assert_int_equal(s.out.len, 2);
		seen_release(&s);
		sandbox_release(&other);
		assert_int_equal(http_do(http, &req, &answer, &stop, &err), 0);
		assert_int_equal(answer.status, 204);
	}
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("true") }, &s,
			    &res, NULL, &err),
		-1);
	assert_int_equal(err.code, ERR_GONE);
	seen_release(&s);
	assert_int_equal(sandbox_attach(&other, &host, "no-such", &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(sandbox_attach(&other, &host, label, &stop, &err), 0);
	sandbox_release(&other);
	http_response_release(&answer);
	free(path);
	free(url);
}

static void test_snapshot(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of("dcode-bbbbbbbb");
	struct sandbox copy = { 0 };
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	spec.snapshot = "missing-one";
	assert_int_equal(sandbox_create(&copy, &host, &spec, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.hint, "dcode sandbox snapshot"));
	sandbox_release(&copy);
	assert_int_equal(
		docker_provider.ops->snapshot(&box, "state-1", &stop, &err), 0);
	spec.snapshot = "state-1";
	assert_int_equal(sandbox_create(&copy, &host, &spec, &stop, &err), 0);
	seen_init(&s);
	assert_int_equal(
		run_request(&copy,
			    (struct exec_request){ .command = STR("cat last") },
			    &s, &res, NULL, &err),
		0);
	assert_int_equal(s.out.len, 2);
	seen_release(&s);
	assert_int_equal(sandbox_remove(&host, copy.id, &stop, &err), 0);
	sandbox_release(&copy);
}

static void test_lifetime(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of("dcode-cccccccc");
	struct sandbox brief = { 0 };
	struct listed l = { 0 };
	struct error err = { 0 };

	(void)state;
	spec.lifetime_s = 1;
	spec.network = NETWORK_NONE;
	assert_int_equal(sandbox_create(&brief, &host, &spec, &stop, &err), 0);
	memcpy(label, "dcode-cccccccc", sizeof(label));
	for (int i = 0; i < 40 && l.state != STATE_STOPPED; i++) {
		usleep(100000);
		assert_int_equal(docker_provider.ops->info(&host, brief.id,
							   on_listed, &l, &stop,
							   &err),
				 0);
	}
	memcpy(label, "dcode-aaaaaaaa", sizeof(label));
	assert_int_equal(l.state, STATE_STOPPED);
	assert_int_equal(sandbox_remove(&host, brief.id, &stop, &err), 0);
	sandbox_release(&brief);
}

static void test_remove_twice(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct listed l = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sandbox_remove(&host, box.id, &stop, &err), 0);
	assert_int_equal(sandbox_remove(&host, box.id, &stop, &err), 0);
	assert_int_equal(docker_provider.ops->list(&host, NULL, on_listed, &l,
						   &stop, &err),
			 0);
	assert_int_equal(l.n, 0);
}

static void write_config(void)
{
	char *dir = path_join(home, ".deepagents");
	char *file = path_join(dir, "config.toml");
	char *text = xasprintf("[sandboxes.providers.docker.params]\n"
			       "image = \"%s\"\n",
			       getenv("DCODE_TEST_IMAGE"));
	struct error err = { 0 };

	if (path_mkdirs(dir, 0700, &err) < 0 ||
	    path_write(file, str_of(text), 0600, &err) < 0)
		abort();
	free(text);
	free(file);
	free(dir);
}

static int start(void **state)
{
	static struct setting_group groups[2];
	struct settings_input in = { .home = home, .cwd = home };
	struct sandbox_spec spec = spec_of(label);
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	char *docker_host;
	char *env[2] = { NULL, NULL };

	(void)state;
	ids_init();
	if (!mkdtemp(home))
		return -1;
	write_config();
	relay_start(&relay, home, getenv("DOCKER_HOST") + 7);
	docker_host = xasprintf("DOCKER_HOST=unix://%s", relay.path);
	env[0] = docker_host;
	groups[0] =
		(struct setting_group){ "docker", docker_provider.settings };
	in.groups = groups;
	in.environ = env;
	http = http_new(NULL);
	if (settings_load(&settings, &in, &err) < 0 ||
	    sandbox_host_open(&host, &docker_provider, settings, http, &err) <
		    0 ||
	    sandbox_create(&box, &host, &spec, &stop, &err) < 0) {
		print_message("%s\n", err.message);
		return -1;
	}
	free(docker_host);
	return 0;
}

static int end(void **state)
{
	struct error err = { 0 };

	(void)state;
	sandbox_release(&box);
	sandbox_host_close(&host);
	http_free(http);
	settings_free(settings);
	relay_stop(&relay);
	return path_remove_tree(home, &err);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_exit_codes),
	cmocka_unit_test(test_streams),
	cmocka_unit_test(test_is_live),
	cmocka_unit_test(test_long_command),
	cmocka_unit_test(test_directory_and_variables),
	cmocka_unit_test(test_input),
	cmocka_unit_test(test_timeout_kills_the_tree),
	cmocka_unit_test(test_cancel_kills_the_tree),
	cmocka_unit_test(test_refused_output_kills),
	cmocka_unit_test(test_background_child),
	cmocka_unit_test(test_three_requests),
	cmocka_unit_test(test_eight_at_once),
	cmocka_unit_test(test_files),
	cmocka_unit_test(test_file_errors),
	cmocka_unit_test(test_list_and_info),
	cmocka_unit_test(test_create_again),
	cmocka_unit_test(test_attach),
	cmocka_unit_test(test_snapshot),
	cmocka_unit_test(test_lifetime),
	cmocka_unit_test(test_remove_twice),
};

static void test_no_engine(void **state)
{
	(void)state;
	print_message("docker: no engine can run here, see the line above\n");
}

static int run_in_rig(char **argv)
{
	static const char rig[] = "tests/podman_rig.py";
	int status = system("/usr/bin/python3 tests/podman_rig.py missing >&2");
	const struct CMUnitTest none[] = { cmocka_unit_test(test_no_engine) };

	if (status != 0)
		return cmocka_run_group_tests(none, NULL, NULL);
	execl("/usr/bin/python3", "python3", rig, "run", argv[0],
	      argv[1] ? argv[1] : NULL, (char *)NULL);
	return 1;
}

int main(int argc, char **argv)
{
	const char *engine = getenv("DOCKER_HOST");

	if (!getenv("DCODE_TEST_IMAGE") || !engine ||
	    strncmp(engine, "unix://", 7) != 0)
		return run_in_rig(argv);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, start, end);
}
