/* oauth_net_test.c - which addresses a server may name for its login. */
/* SPDX-License-Identifier: MIT */
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "oauth/grant.h"
#include "unit.h"
#include "web/url.h"

/* In place of the C library's. */
static const struct {
	const char *host;
	const char *addresses[2];
} hosts[] = {
	{ "localhost", { "127.0.0.1", "::1" } },
	{ "mixed.example", { "1.1.1.1", "127.0.0.1" } },
	{ "mixed2.example", { "127.0.0.1", "1.1.1.1" } },
	{ "private.example", { "1.1.1.1", "10.0.0.1" } },
};

static void add_address(const char *text, struct addrinfo **list)
{
	struct sockaddr_storage *a = xcalloc(1, sizeof(*a));
	struct addrinfo *i = xcalloc(1, sizeof(*i));

	assert_true(address_parse(str_of(text), a));
	i->ai_family = a->ss_family;
	i->ai_addr = (struct sockaddr *)a;
	i->ai_addrlen = a->ss_family == AF_INET ? sizeof(struct sockaddr_in)
						: sizeof(struct sockaddr_in6);
	i->ai_next = *list;
	*list = i;
}

int getaddrinfo(const char *host, const char *service,
		const struct addrinfo *hints, struct addrinfo **list)
{
	(void)service;
	(void)hints;
	*list = NULL;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		for (size_t k = 0; !strcmp(hosts[i].host, host) && k < 2; k++)
			add_address(hosts[i].addresses[k], list);
	return *list ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list)
{
	while (list) {
		struct addrinfo *next = list->ai_next;

		free(list->ai_addr);
		free(list);
		list = next;
	}
}

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
	{ "http://localhost:9/mcp", "https://localhost:1/x", ERR_UNREACHABLE },
	/* a server of the Internet names this machine, or a private network */
	{ "https://1.1.1.1/mcp", "https://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "http://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://[::1]:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://[::ffff:127.0.0.1]:1/",
	  ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://10.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://1.1.1.1/mcp", "https://192.168.1.1:1/x", ERR_PROTOCOL },
	/* the same where one of its addresses is near */
	{ "https://mixed.example/mcp", "https://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://mixed2.example/mcp", "https://127.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://mixed.example/mcp", "https://10.0.0.1:1/x", ERR_PROTOCOL },
	{ "https://private.example/mcp", "https://10.0.0.1:1/x", ERR_PROTOCOL },
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
