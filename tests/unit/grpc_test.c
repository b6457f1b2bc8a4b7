/* grpc_test.c - gRPC calls against a real server, cleartext and TLS. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "net/grpc.h"
#include "unit.h"

enum { LARGE = 20 << 20 };

static struct http *http;
static char folder[40];
static char *files[4]; /* certificate, key, port files */
static char *base[2];  /* cleartext, TLS */
static pid_t servers[2];

static pid_t begin(const char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (strcmp(argv[0], "openssl") == 0)
			fclose(stderr);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static int port_in(const char *path)
{
	FILE *f = NULL;
	int port = 0;

	for (int i = 0; i < 3000 && !f; i++) {
		usleep(10000);
		f = fopen(path, "r");
	}
	if (f && fscanf(f, "%d", &port) != 1)
		port = 0;
	if (f)
		fclose(f);
	return port;
}

static int setup(void **state)
{
	static const char *const names[] = { "cert.pem", "key.pem", "port",
					     "tls" };
	static const char cases[] = "tests/emulators/grpc_cases.py";
	int status = 0;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	snprintf(folder, sizeof(folder), "/tmp/dcode-unit-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	for (int i = 0; i < 4; i++)
		files[i] = path_join(folder, names[i]);
	waitpid(begin((const char *[]){ "openssl",
					"req",
					"-x509",
					"-newkey",
					"ec",
					"-pkeyopt",
					"ec_paramgen_curve:P-256",
					"-nodes",
					"-days",
					"2",
					"-subj",
					"/CN=x",
					"-addext",
					"subjectAltName=IP:127.0.0.1",
					"-batch",
					"-keyout",
					files[1],
					"-out",
					files[0],
					NULL }),
		&status, 0);
	servers[0] = begin((const char *[]){ "/usr/bin/python3", cases,
					     "--port-file", files[2], NULL });
	servers[1] = begin((const char *[]){ "/usr/bin/python3", cases,
					     "--port-file", files[3], "--tls",
					     files[0], files[1], NULL });
	for (int i = 0; i < 2; i++)
		base[i] = xasprintf("%s://127.0.0.1:%d", i ? "https" : "http",
				    port_in(files[2 + i]));
	http = http_new(files[0]);
	return status;
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	http_free(http);
	for (int i = 0; i < 2; i++) {
		kill(servers[i], SIGTERM);
		waitpid(servers[i], NULL, 0);
		free(base[i]);
	}
	for (int i = 0; i < 4; i++)
		free(files[i]);
	return path_remove_tree(folder, &err);
}

struct made { /* one call and what became of it */
	int rc;
	struct grpc_outcome outcome;
	struct error err;
	struct buf last; /* message */
	size_t bytes;    /* of all messages */
	bool refuse;     /* by the callback */
};

static int keep(void *arg, struct str message, struct error *err)
{
	struct made *m = arg;

	buf_clear(&m->last);
	buf_addstr(&m->last, message);
	m->bytes += message.len;
	return m->refuse ? error_set(err, ERR_SYSTEM, "no room") : 0;
}

static void make(struct made *m, int tls, const char *method,
		 struct grpc_call call)
{
	struct stop stop = stop_cleanup(60000);
	char *path = xasprintf("/cases.Cases/%s", method);

	m->last = BUF_INIT(LARGE);
	call.base = base[tls];
	call.path = path;
	call.reply = keep;
	call.arg = m;
	m->rc = grpc_do(http, &call, &m->outcome, &stop, &m->err);
	buf_adds(&m->last, "");
	free(path);
}

static void made_release(struct made *m)
{
	grpc_outcome_release(&m->outcome);
	buf_release(&m->last);
}

/* Both ways of getting there. */
static void expect(const char *method, const char *message, int code,
		   enum err err, const char *text)
{
	for (int tls = 0; tls < 2; tls++) {
		struct made m = { 0 };

		make(&m, tls, method,
		     (struct grpc_call){ .message = str_of(message) });
		if (m.err.code != err)
			print_error("%s: %s\n", method, m.err.message);
		assert_int_equal(m.rc, err ? -1 : 0);
		assert_int_equal(m.err.code, err);
		assert_int_equal(m.outcome.code, code);
		if (!err)
			assert_string_equal(m.last.ptr, text);
		else if (!strstr(m.err.message, text))
			fail_msg("%s: %s", method, m.err.message);
		made_release(&m);
	}
}

static void test_answers(void **state)
{
	(void)state;
	expect("Echo", "hello", GRPC_OK, ERR_NONE, "hello");
	expect("Echo", "", GRPC_OK, ERR_NONE, "");
	expect("Split", "in single bytes", GRPC_OK, ERR_NONE,
	       "in single bytes");
	expect("Count", "2000", GRPC_OK, ERR_NONE, "1999");
	expect("Count", "0", GRPC_OK, ERR_NONE, "");
}

static void test_outcomes(void **state)
{
	(void)state;
	expect("Refuse", "x", GRPC_NOT_FOUND, ERR_NOT_FOUND,
	       "NOT_FOUND: n\xC3\xB6 such thing: 100% red");
	expect("Early", "x", GRPC_UNAUTHENTICATED, ERR_AUTH, "who are you");
	expect("Half", "x", GRPC_UNAVAILABLE, ERR_REMOTE, "later");
	expect("Odd", "x", GRPC_UNKNOWN, ERR_REMOTE, "UNKNOWN");
	expect("Http", "x", GRPC_UNAVAILABLE, ERR_REMOTE, "HTTP 503");
	expect("Html", "x", GRPC_NONE, ERR_PROTOCOL, "not gRPC");
}

static void test_broken_answers(void **state)
{
	(void)state;
	expect("Silent", "x", GRPC_NONE, ERR_NETWORK, "no grpc-status");
	expect("Middle", "x", GRPC_OK, ERR_PROTOCOL, "middle of a message");
	expect("Flags", "x", GRPC_NONE, ERR_PROTOCOL, "flags 1");
	expect("Huge", "x", GRPC_NONE, ERR_PROTOCOL, "1073741824 bytes");
	for (int tls = 0; tls < 2; tls++) {
		struct made m = { 0 };

		make(&m, tls, "Cut",
		     (struct grpc_call){ .message = STR("abcdef") });
		assert_int_equal(m.rc, -1);
		assert_int_equal(m.err.code, ERR_NETWORK);
		assert_int_equal(m.outcome.replies, 0);
		made_release(&m);
	}
}

/* Several times: libcurl 7.88 stalls in one call of five. */
static void test_an_answer_amid_the_request_ends_the_call(void **state)
{
	char *request = xcalloc(1, LARGE);

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct made m = { 0 };

		make(&m, 1, "Middle",
		     (struct grpc_call){ .message = { request, LARGE } });
		assert_int_equal(m.err.code, ERR_PROTOCOL);
		assert_int_equal(m.outcome.code, GRPC_OK);
		made_release(&m);
	}
	free(request);
}

static void test_details(void **state)
{
	struct made m = { 0 };

	(void)state;
	make(&m, 1, "Refuse", (struct grpc_call){ 0 });
	assert_int_equal(m.outcome.details.len, 2);
	assert_memory_equal(m.outcome.details.ptr, "\x08\x05", 2);
	made_release(&m);
}

/* Larger than any window; and one that is too large for the caller. */
static void test_large(void **state)
{
	(void)state;
	for (int tls = 0; tls < 2; tls++) {
		struct made m = { 0 };

		make(&m, tls, "Large", (struct grpc_call){ 0 });
		assert_int_equal(m.rc, 0);
		assert_int_equal(m.bytes, LARGE);
		made_release(&m);
		m = (struct made){ 0 };
		make(&m, tls, "Large", (struct grpc_call){ .largest = 1000 });
		assert_int_equal(m.err.code, ERR_PROTOCOL);
		made_release(&m);
	}
}

static void test_callback_refuses(void **state)
{
	struct made m = { .refuse = true };

	(void)state;
	make(&m, 1, "Count", (struct grpc_call){ .message = STR("9") });
	assert_int_equal(m.err.code, ERR_SYSTEM);
	assert_int_equal(m.outcome.replies, 1);
	made_release(&m);
}

/* The server is told, and does not obey. */
static void test_deadline(void **state)
{
	int64_t began = clock_ms();
	struct made m = { 0 };

	(void)state;
	make(&m, 0, "Slow", (struct grpc_call){ .timeout_ms = 100 });
	assert_int_equal(m.err.code, ERR_NETWORK);
	assert_true(clock_ms() - began < 28000);
	made_release(&m);
}

static int64_t breaks(void *arg, char *room, size_t len, struct error *err)
{
	(void)arg;
	(void)room;
	(void)len;
	return error_set(err, ERR_SYSTEM, "the file is gone");
}

static void test_source_fails(void **state)
{
	struct made m = { 0 };

	(void)state;
	make(&m, 1, "Sum",
	     (struct grpc_call){ .source = breaks, .source_size = -1 });
	assert_int_equal(m.err.code, ERR_SYSTEM);
	made_release(&m);
}

static size_t streamed;

static int64_t messages(void *arg, char *room, size_t len, struct error *err)
{
	static struct buf out;
	size_t n;

	(void)arg;
	(void)err;
	out.max = 1 << 20;
	if (!out.len && streamed < 66) {
		char block[65536];

		memset(block, 'x', sizeof(block));
		envelope_add(&out, (struct str){ block, sizeof(block) });
		streamed++;
	}
	n = out.len < len ? out.len : len;
	if (n)
		memcpy(room, out.ptr, n);
	buf_consume(&out, n);
	if (!n)
		buf_release(&out);
	return (int64_t)n;
}

static void test_streaming_request(void **state)
{
	(void)state;
	for (int tls = 0; tls < 2; tls++) {
		struct made m = { 0 };

		streamed = 0;
		make(&m, tls, "Sum",
		     (struct grpc_call){ .source = messages,
					 .source_size = -1 });
		assert_int_equal(m.rc, 0);
		assert_string_equal(m.last.ptr, "66 4325376");
		made_release(&m);
	}
}

/* A warm connection that dies with the call: once more on a new one, but for
 * what must not be made twice. */
static void test_replay(void **state)
{
	struct made m[3] = { { 0 } };

	(void)state;
	make(&m[0], 1, "Dies", (struct grpc_call){ 0 });
	make(&m[1], 1, "Dies", (struct grpc_call){ 0 });
	assert_int_equal(m[0].rc, 0);
	assert_int_equal(m[1].rc, 0);
	assert_string_not_equal(m[0].last.ptr, m[1].last.ptr);
	for (int i = 0; i < 2; i++)
		made_release(&m[i]);
	streamed = 0;
	make(&m[2], 1, "Dies",
	     (struct grpc_call){ .source = messages, .source_size = -1 });
	assert_int_equal(m[2].err.code, ERR_NETWORK);
	assert_false(m[2].outcome.began);
	made_release(&m[2]);
}

static int count(void *arg, struct str message, bool last, struct error *err)
{
	struct buf *all = arg;

	(void)last;
	(void)err;
	buf_addf(all, "%zu:", message.len);
	buf_addstr(all, message);
	return 0;
}

static void test_envelopes_split_anywhere(void **state)
{
	struct buf wire = BUF_INIT(4096);
	struct error err = { 0 };

	(void)state;
	envelope_add(&wire, STR("one"));
	envelope_add(&wire, STR(""));
	envelope_add(&wire, STR("three"));
	for (size_t cut = 0; cut <= wire.len; cut++) {
		struct envelope e = { 0 };
		struct buf all = BUF_INIT(4096);
		struct str first = { wire.ptr, cut };

		assert_int_equal(envelope_feed(&e, first, count, &all, &err),
				 0);
		assert_int_equal(envelope_feed(&e,
					       str_skip(buf_str(&wire), cut),
					       count, &all, &err),
				 0);
		assert_string_equal(all.ptr, "3:one0:5:three");
		assert_int_equal(e.have, 0);
		envelope_release(&e);
		buf_release(&all);
	}
	buf_release(&wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_broken_answers),
		cmocka_unit_test(test_an_answer_amid_the_request_ends_the_call),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_callback_refuses),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_source_fails),
		cmocka_unit_test(test_streaming_request),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_envelopes_split_anywhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
