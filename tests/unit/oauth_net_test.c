/* oauth_net_test.c - which addresses a server may name for its login. */
/* SPDX-License-Identifier: MIT */
#include "oauth/net.h"
#include "unit.h"

/* Nothing listens at port 1, so what may be asked ends as one that cannot be
 * reached. */
static const struct {
	const char *server;
	const char *named;
	enum err code;
} rows[] = {
	/* positive controls */
	{ "http://127.0.0.1:9/mcp", "http://127.0.0.1:1/x", ERR_UNREACHABLE },
	{ "http://127.0.0.1:9/mcp", "https://127.0.0.1:1/x", ERR_UNREACHABLE },
	{ "http://[::1]:9/mcp", "http://127.0.0.1:1/x", ERR_UNREACHABLE },
	/* a server of the Internet names this machine, or a private network */
	{ "https://1.1.1.1/mcp", "https://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "http://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://[::1]:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://[::ffff:127.0.0.1]:1/",
	  ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://10.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://192.168.1.1:1/x", ERR_PROTOCOL },
	/* one of a private network names this machine */
	{ "https://10.0.0.1/mcp", "https://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://10.0.0.1/mcp", "https://localhost:1/x", ERR_PROTOCOL },
	/* what nobody may name */
	{ "http://127.0.0.1:9/mcp", "https://169.254.169.254/", ERR_PROTOCOL },
	{ "http://127.0.0.1:9/mcp", "https://[fe80::1]/", ERR_PROTOCOL },
	{ "http://127.0.0.1:9/mcp", "https://0.0.0.0/", ERR_PROTOCOL },
	/* plain http that leaves this machine */
	{ "http://127.0.0.1:9/mcp", "http://10.0.0.1/", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "http://1.1.1.1/", ERR_PROTOCOL },
	/* what two programs could read differently */
	{ "http://127.0.0.1:9/mcp", "http://127.1:1/", ERR_PROTOCOL },
	{ "http://127.0.0.1:9/mcp", "http://127.0.0.1:1@1.1.1.1/",
	  ERR_PROTOCOL },
	{ "http://127.0.0.1:9/mcp", "file:///etc/passwd", ERR_PROTOCOL },
	{ "http://127.0.0.1:9/mcp", "http://127.0.0.1:1/\r\nX: y",
	  ERR_PROTOCOL },
	{ "http://127.0.0.1:9/mcp", "", ERR_PROTOCOL },
};

static void a_server_names_nothing_nearer_than_itself(void **state)
{
	struct http *http = http_new(NULL);
	struct stop stop = stop_cleanup(30000);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct oauth_net net = { http, rows[i].server, 20000 };
		const struct oauth_request q = { .what = "it",
						 .url = rows[i].named };
		struct error err = { 0 };
		cJSON *tree = NULL;
		int status = 0;

		assert_int_equal(
			oauth_ask(&net, &q, &status, &tree, &stop, &err), -1);
		if (err.code != rows[i].code)
			fail_msg("%s of %s: %s", rows[i].named, rows[i].server,
				 err.message);
		cJSON_Delete(tree);
	}
	http_free(http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_names_nothing_nearer_than_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
