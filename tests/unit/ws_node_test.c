/* ws_node_test.c - the WebSocket client against npm's ws, TLS and proxies. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/ws.h"
#include "tests/unit/relay.h"
#include "tests/unit/tiny_server.h"
#include "tests/unit/unit.h"

#define SDK "tests/sdk"

enum { MIB = 1 << 20 };

extern char **environ;

/* ws.js with and without TLS. */
struct node {
	pid_t pid;
	int port;
	int in; /* its standard input: closed, it ends */
};

static struct node plain, tls;
static struct tiny_server proxy;
static const char *host = "127.0.0.1"; /* which is never asked by proxy */
static struct http *http;
static char folder[] = "/tmp/ws_node_XXXXXX";
static char *key_file, *cert_file;
static atomic_int tunnels;
static atomic_int leaks; /* our header, seen by the proxy */

static int run(const char *const *argv)
{
	pid_t pid;
	int status = -1;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv,
			 environ) != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int node_start(struct node *n, const char *const *argv)
{
	posix_spawn_file_actions_t fa;
	int in[2];
	int out[2];
	char line[32] = "";

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	if (posix_spawnp(&n->pid, "node", &fa, NULL, (char *const *)argv,
			 environ) != 0)
		return -1;
	posix_spawn_file_actions_destroy(&fa);
	close(in[0]);
	close(out[1]);
	n->in = in[1];
	for (size_t len = 0; len < sizeof(line) - 1; len++)
		if (read(out[0], line + len, 1) != 1 || line[len] == '\n')
			break;
	close(out[0]);
	n->port = (int)strtol(line, NULL, 10);
	return n->port > 0 ? 0 : -1;
}

static void node_end(struct node *n)
{
	close(n->in);
	waitpid(n->pid, NULL, 0);
}

/* An HTTP proxy that knows CONNECT alone, for those who have a password. */
static bool proxy_answer(struct tiny_server *s, struct tiny_request *r)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct relay_way up = { .from = r->fd };
	const char *port = strchr(r->path, ':');
	pthread_t thread;

	(void)s;
	if (strcasestr(r->head, "X-Api-Key"))
		atomic_fetch_add(&leaks, 1);
	if (strncmp(r->head, "CONNECT ", 8) != 0 || !port) {
		tiny_reply(r->fd, "405 Tunnels only", "", 0);
		return false;
	}
	if (!strstr(r->head, "\r\nProxy-Authorization: Basic bWU6cHc=\r\n")) {
		tiny_reply(r->fd, "407 Who are you", "", 0);
		return false;
	}
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((uint16_t)strtol(port + 1, NULL, 10));
	up.to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(up.to, (struct sockaddr *)&a, sizeof(a)) < 0)
		abort();
	atomic_fetch_add(&tunnels, 1);
	tiny_say(r->fd, "HTTP/1.1 200 Connected\r\n\r\n");
	pthread_create(&thread, NULL, relay_way, &up);
	relay_way(&(struct relay_way){ .from = up.to, .to = r->fd });
	shutdown(r->fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(up.to);
	return false;
}

static int start(void **state)
{
	/* Its lock keeps apart all who install there at the same time. */
	static const char install[] =
		"import pathlib, sys; sys.path.insert(0, 'tests/e2e'); "
		"import sdk; sdk.install(pathlib.Path('" SDK "'))";
	static const char *const packages[] = { "/usr/bin/python3", "-c",
						install, NULL };
	static const char server[] = SDK "/ws_server.mjs";

	(void)state;
	ids_init();
	signal(SIGPIPE, SIG_IGN);
	if (run(packages) != 0) {
		print_message("no npm, or the packages of " SDK
			      " could not be installed\n");
		return -1;
	}
	if (!mkdtemp(folder))
		return -1;
	key_file = xasprintf("%s/key.pem", folder);
	cert_file = xasprintf("%s/cert.pem", folder);
	const char *const openssl[] = { "openssl",
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
					"subjectAltName=IP:127.0.0.1,"
					"DNS:box.invalid",
					"-batch",
					"-keyout",
					key_file,
					"-out",
					cert_file,
					NULL };

	if (run(openssl) != 0 ||
	    node_start(&plain, (const char *[]){ "node", server, NULL }) < 0 ||
	    node_start(&tls, (const char *[]){ "node", server, key_file,
					       cert_file, NULL }) < 0)
		return -1;
	tiny_start(&proxy, proxy_answer);
	http = http_new(cert_file);
	return 0;
}

static int end(void **state)
{
	(void)state;
	http_free(http);
	tiny_stop(&proxy);
	node_end(&plain);
	node_end(&tls);
	unlink(key_file);
	unlink(cert_file);
	rmdir(folder);
	free(key_file);
	free(cert_file);
	return 0;
}

static int open_at(struct ws **ws, bool secure, const char *path,
		   struct ws_request req, struct error *err)
{
	struct stop stop = stop_cleanup(20000);
	char *url = xasprintf("%s://%s:%d%s", secure ? "wss" : "ws", host,
			      secure ? tls.port : plain.port, path);
	int rc;

	req.url = url;
	rc = ws_open(ws, http, &req, &stop, err);
	free(url);
	return rc;
}

static struct ws *opened(bool secure, const char *path, struct ws_request req)
{
	struct error err = { 0 };
	struct ws *ws = NULL;

	if (open_at(&ws, secure, path, req, &err) < 0)
		print_message("%s: %s\n", path, err.message);
	assert_non_null(ws);
	return ws;
}

static int receive(struct ws *ws, struct buf *message, struct error *err)
{
	struct stop stop = stop_cleanup(30000);
	enum ws_kind kind = 0;
	int rc = ws_receive(ws, message, &kind, &stop, err);

	return rc == 1 ? (int)kind : rc;
}

static void expect_message(struct ws *ws, const char *text)
{
	struct buf message = BUF_INIT(100);
	struct error err = { 0 };

	assert_int_equal(receive(ws, &message, &err), WS_TEXT);
	assert_string_equal(message.ptr, text);
	buf_release(&message);
}

static void expect_end(struct ws *ws, int code, const char *reason)
{
	struct buf message = BUF_INIT(100);
	struct error err = { 0 };

	assert_int_equal(receive(ws, &message, &err),
			 code == WS_CODE_ABNORMAL ? -1 : 0);
	assert_int_equal(ws_code(ws), code);
	assert_string_equal(ws_reason(ws), reason);
	buf_release(&message);
	ws_free(ws);
}

static void echo(bool secure)
{
	static const size_t sizes[] = {
		0, 1, 125, 126, 65535, 65536, 20 * MIB
	};
	struct ws_request req = { .message_max = 20 * MIB };
	struct ws *ws = opened(secure, "/echo", req);
	struct stop stop = stop_cleanup(60000);
	struct buf message = BUF_INIT(1);
	struct error err = { 0 };
	char *data = malloc(20 * MIB);
	int64_t began = clock_ms();

	for (size_t i = 0; i < 20 * MIB; i++)
		data[i] = (char)(i * 31 >> 7);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct str s = { data, sizes[i] };

		assert_int_equal(ws_send(ws, WS_BINARY, s, &stop, &err), 0);
		assert_int_equal(receive(ws, &message, &err), WS_BINARY);
		assert_true(str_eq(buf_str(&message), s));
	}
	print_message("%s: 20 MiB there and back in %d ms\n",
		      secure ? "wss" : "ws", (int)(clock_ms() - began));
	assert_int_equal(ws_send(ws, WS_TEXT, STR("h\xc3\xa9"), &stop, &err),
			 0);
	expect_message(ws, "h\xc3\xa9");
	assert_int_equal(ws_close(ws, 1000, "bye", &stop, &err), 0);
	assert_int_equal(ws_code(ws), 1000);
	ws_free(ws);
	buf_release(&message);
	free(data);
}

static void test_echo(void **state)
{
	(void)state;
	echo(false);
	echo(true);
}

static void test_frames(void **state)
{
	(void)state;
	for (int secure = 0; secure < 2; secure++) {
		struct stop brief = stop_cleanup(300);
		struct buf message = BUF_INIT(1);
		struct error err = { 0 };
		enum ws_kind kind;
		struct ws *ws =
			opened(secure, "/fragments", (struct ws_request){ 0 });

		expect_message(ws, "h\xc3\xa9llo");
		ws_free(ws);
		ws = opened(secure, "/ping", (struct ws_request){ 0 });
		expect_message(ws, "are you there");
		ws_free(ws);
		/* It answers our pings, as it must. */
		ws = opened(
			secure, "/echo",
			(struct ws_request){ .ping_ms = 30, .pong_ms = 100 });
		assert_int_equal(ws_receive(ws, &message, &kind, &brief, &err),
				 -1);
		assert_int_equal(err.code, ERR_TIMEOUT);
		ws_free(ws);
	}
}

static void test_ends(void **state)
{
	(void)state;
	for (int secure = 0; secure < 2; secure++) {
		struct buf message = BUF_INIT(1);
		struct error err = { 0 };
		struct ws *ws = opened(secure, "/count?n=3000000",
				       (struct ws_request){ 0 });

		assert_int_equal(receive(ws, &message, &err), WS_BINARY);
		assert_int_equal(message.len, 3000000);
		expect_end(ws, 1000, "done");
		ws = opened(secure, "/bye", (struct ws_request){ 0 });
		expect_end(ws, 4001, "enough");
		ws = opened(secure, "/drop", (struct ws_request){ 0 });
		expect_end(ws, WS_CODE_ABNORMAL, "");
		ws = opened(secure, "/count?n=3001",
			    (struct ws_request){ .message_max = 3000 });
		assert_int_equal(receive(ws, &message, &err), -1);
		assert_int_equal(err.code, ERR_LIMIT);
		ws_free(ws);
		buf_release(&message);
	}
}

static void test_handshake(void **state)
{
	const char *headers[] = { "X-Api-Key: k", NULL };
	struct ws_request with = { .headers = headers, .protocols = "a, b" };

	(void)state;
	for (int secure = 0; secure < 2; secure++) {
		struct buf message = BUF_INIT(1);
		struct error err = { 0 };
		struct ws *ws = opened(secure, "/about?x=%2F", with);
		cJSON *about;

		assert_int_equal(receive(ws, &message, &err), WS_TEXT);
		about = json_parse(buf_str(&message));
		assert_string_equal(json_string(about, "path", ""),
				    "/about?x=%2F");
		assert_string_equal(json_string(about, "protocol", ""), "b");
		assert_string_equal(ws_protocol(ws), "b");
		/* A server that has both is never asked for h2. */
		assert_string_equal(json_string(about, "alpn", "none"),
				    secure ? "http/1.1" : "none");
		cJSON_Delete(about);
		ws_free(ws);
		buf_release(&message);
		ws = opened(secure, "/auth", with);
		expect_message(ws, "welcome");
		ws_free(ws);
		ws = NULL;
		assert_int_equal(open_at(&ws, secure, "/auth",
					 (struct ws_request){ 0 }, &err),
				 -1);
		assert_int_equal(err.code, ERR_AUTH);
		assert_non_null(strstr(err.message, "HTTP 401: bad key"));
		assert_int_equal(open_at(&ws, secure, "/x", with, &err), -1);
		assert_int_equal(err.code, ERR_NOT_FOUND);
	}
}

/* A certificate that nobody vouches for. */
static void test_untrusted(void **state)
{
	struct http *mine = http;
	struct error err = { 0 };
	struct ws *ws = NULL;

	(void)state;
	http = http_new(NULL);
	assert_int_equal(
		open_at(&ws, true, "/echo", (struct ws_request){ 0 }, &err),
		-1);
	assert_int_equal(err.code, ERR_CONFIG);
	http_free(http);
	http = mine;
	ws_free(opened(true, "/echo", (struct ws_request){ 0 }));
}

static void use_proxy(const char *user)
{
	char *url = xasprintf("http://%s127.0.0.1:%d", user, proxy.port);

	setenv("http_proxy", url, 1);
	setenv("https_proxy", url, 1);
	unsetenv("no_proxy");
	unsetenv("NO_PROXY");
	free(url);
}

/* A tunnel for ws:// as well; what is ours does not reach the proxy. */
static void test_proxy(void **state)
{
	const char *headers[] = { "X-Api-Key: k", NULL };
	struct ws_request req = { .headers = headers };

	(void)state;
	for (int secure = 0; secure < 2; secure++) {
		struct error err = { 0 };
		struct ws *ws = NULL;
		int before = tunnels;

		host = "box.invalid";
		use_proxy("me:pw@");
		echo(secure);
		ws = opened(secure, "/auth", req);
		expect_message(ws, "welcome");
		ws_free(ws);
		assert_int_equal(tunnels, before + 2);
		host = "127.0.0.1";
		ws_free(opened(secure, "/auth", req));
		assert_int_equal(tunnels, before + 2);
		host = "box.invalid";
		use_proxy("");
		ws = NULL;
		assert_int_equal(open_at(&ws, secure, "/auth", req, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_non_null(strstr(err.message, "407"));
	}
	assert_int_equal(leaks, 0);
	unsetenv("http_proxy");
	unsetenv("https_proxy");
	host = "127.0.0.1";
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_handshake),
		cmocka_unit_test(test_untrusted),
		cmocka_unit_test(test_proxy),
	};

	return cmocka_run_group_tests(tests, start, end);
}
