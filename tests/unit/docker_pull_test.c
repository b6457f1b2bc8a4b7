/* docker_pull_test.c - an engine of canned answers: pulls, names, refusals. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/docker/docker.h"
#include "tests/unit/tiny_server.h"

static struct tiny_server server;
static struct http *http;
static struct settings *settings;
static struct sandbox_client client;
static char home[] = "/tmp/dcode-pull-XXXXXX";
static atomic_bool pulled;
static atomic_int creates;
static atomic_int removals;

static void json(int fd, const char *status, const char *text)
{
	tiny_reply(fd, status, text, strlen(text));
}

static bool answer_create(struct tiny_request *r)
{
	creates++;
	if (strstr(r->path, "dcode-taken"))
		json(r->fd, "409 Conflict", "{\"message\":\"in use\"}");
	else if (!pulled)
		json(r->fd, "404 Not Found", "{\"message\":\"no image\"}");
	else
		json(r->fd, "201 Created", "{\"Id\":\"abc123\"}");
	return true;
}

static bool answer(struct tiny_server *s, struct tiny_request *r)
{
	static const char progress[] =
		"{\"status\":\"Pulling from x\",\"id\":\"3\"}\r\n"
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":"
		"{\"current\":10,\"total\":100}}\r\n"
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":"
		"{\"current\":11,\"total\":100}}\r\n"
		"{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":"
		"{\"current\":100,\"total\":100}}\r\n"
		"{\"status\":\"Download complete\",\"id\":\"a\"}";

	(void)s;
	if (str_starts(str_of(r->path), "/containers/create")) {
		return answer_create(r);
	} else if (strstr(r->path, "fromImage=registry.example%2Fgood&tag=7")) {
		pulled = true;
		json(r->fd, "200 OK", progress);
	} else if (str_starts(str_of(r->path), "/images/create")) {
		json(r->fd, "200 OK",
		     "{\"status\":\"Pulling\"}\n{\"errorDetail\":{\"message\":"
		     "\"manifest \\u001b[1munknown\"},\"error\":\"x\"}\n");
	} else if (str_starts(str_of(r->path), "/containers/dcode-taken1/")) {
		json(r->fd, "200 OK",
		     "{\"Id\":\"fff\",\"Config\":{\"Labels\":{"
		     "\"dcode.label\":\"dcode-taken1\"}}}");
	} else if (str_starts(str_of(r->path), "/containers/dcode-taken2/")) {
		json(r->fd, "200 OK", "{\"Id\":\"eee\",\"Config\":{}}");
	} else if (strncmp(r->head, "DELETE", 6) == 0) {
		json(r->fd, removals++ < 2 ? "409 Conflict" : "404 Not Found",
		     "{\"message\":\"removal already in progress\"}");
	} else if (strstr(r->path, "/start")) {
		tiny_say(r->fd, "HTTP/1.1 204 No Content\r\n\r\n");
	} else {
		json(r->fd, "200 OK",
		     "{\"Id\":\"abc123\",\"Config\":{\"Labels\":{"
		     "\"dcode.workdir\":\"/w\"}}}");
	}
	return true;
}

static void on_progress(void *arg, const char *line)
{
	struct buf *all = arg;

	buf_adds(all, line);
	buf_addc(all, '\n');
}

static int create(const char *label, const char *image, struct buf *lines,
		  struct sandbox *sb, struct error *err)
{
	struct sandbox_spec spec = { .label = label,
				     .owner = "me",
				     .lifetime_s = 60,
				     .progress = on_progress,
				     .arg = lines };
	struct stop stop = stop_cleanup(10000);

	*lines = BUF_INIT(4096);
	if (settings_set_flag(settings,
			      "sandboxes.providers.docker.params."
			      "image",
			      image, err) < 0)
		return -1;
	return sandbox_create(sb, &client, &spec, &stop, err);
}

static void test_pull_with_progress(void **state)
{
	struct sandbox sb = { 0 };
	struct error err = { 0 };
	struct buf lines;

	(void)state;
	pulled = false;
	creates = 0;
	if (create("dcode-one", "registry.example/good:7", &lines, &sb, &err) <
	    0)
		fail_msg("%s", err.message);
	assert_string_equal(sb.id, "abc123");
	assert_string_equal(sb.workdir, "/w");
	assert_int_equal(creates, 2);
	assert_string_equal(lines.ptr,
			    "pulling registry.example/good:7\n"
			    "pulling registry.example/good:7 10%\n"
			    "pulling registry.example/good:7 100%\n");
	sandbox_release(&sb);
	buf_release(&lines);
}

static void test_refused_pull(void **state)
{
	struct sandbox sb = { 0 };
	struct error err = { 0 };
	struct buf lines;

	(void)state;
	pulled = false;
	assert_int_equal(create("dcode-two", "bad", &lines, &sb, &err), -1);
	assert_string_equal(err.message, "docker: pulling bad: x");
	assert_non_null(strstr(err.hint, "image = \"...\" in [sandboxes."));
	assert_string_equal(err.topic, "docker");
	assert_null(sb.id);
	sandbox_release(&sb);
	buf_release(&lines);
}

static void test_label_in_use(void **state)
{
	struct sandbox sb = { 0 };
	struct error err = { 0 };
	struct buf lines;

	(void)state;
	pulled = true;
	assert_int_equal(create("dcode-taken1", "good", &lines, &sb, &err), 0);
	assert_string_equal(sb.id, "fff");
	sandbox_release(&sb);
	buf_release(&lines);
	assert_int_equal(create("dcode-taken2", "good", &lines, &sb, &err), -1);
	assert_null(sb.id);
	sandbox_release(&sb);
	buf_release(&lines);
}

static void test_removal_in_progress(void **state)
{
	struct stop stop = stop_cleanup(10000);
	struct error err = { 0 };

	(void)state;
	removals = 0;
	assert_int_equal(sandbox_remove(&client, "abc123", &stop, &err), 0);
	assert_int_equal(removals, 3);
	assert_int_equal(sandbox_remove(&client, "../images/x", &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static struct setting_group groups[2];

static int load(const char *docker_host, struct error *err)
{
	char *line = xasprintf("DOCKER_HOST=%s", docker_host);
	char *env[2] = { line, NULL };
	struct settings_input in = {
		.home = home, .cwd = home, .environ = env, .groups = groups
	};
	int rc;

	groups[0] = (struct setting_group){ .name = "docker",
					    .rows = docker_provider.settings };
	rc = settings_load(&settings, &in, err);
	free(line);
	if (rc == 0)
		rc = sandbox_client_open(&client, &docker_provider, settings,
					 http, err);
	return rc;
}

static void unload(void)
{
	sandbox_client_close(&client);
	settings_free(settings);
	settings = NULL;
}

static void test_addresses(void **state)
{
	static const char *const bad[] = { "ssh://user@host", "tcp://",
					   "unix://relative", "localhost:2375",
					   "tcp://a/b" };
	struct stop stop = stop_cleanup(10000);
	struct error err = { 0 };

	(void)state;
	unload();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(load(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
		unload();
	}
	assert_int_equal(load("unix:///no/such/socket", &err), -1);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_non_null(strstr(err.message, "/no/such/socket"));
	assert_non_null(strstr(err.hint, "DOCKER_HOST"));
	unload();
	/* It exists, but nobody listens there. */
	assert_int_equal(load("unix:///dev/null", &err), 0);
	assert_int_equal(sandbox_remove(&client, "x", &stop, &err), -1);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_non_null(strstr(err.message, "/dev/null"));
}

static int start(void **state)
{
	struct error err = { 0 };
	char *address;
	int rc;

	(void)state;
	ids_init();
	if (!mkdtemp(home))
		return -1;
	tiny_start(&server, answer);
	http = http_new(NULL);
	address = xasprintf("tcp://127.0.0.1:%d", server.port);
	rc = load(address, &err);
	free(address);
	return rc;
}

static int end(void **state)
{
	struct error err = { 0 };

	(void)state;
	unload();
	http_free(http);
	tiny_stop(&server);
	return path_remove_tree(home, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pull_with_progress),
		cmocka_unit_test(test_refused_pull),
		cmocka_unit_test(test_label_in_use),
		cmocka_unit_test(test_removal_in_progress),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, start, end);
}
