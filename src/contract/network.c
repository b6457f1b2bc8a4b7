/* network.c - checks that --sandbox-network none denies what full allows. */
/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net/if.h>

#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "contract/listener.h"
#include "sandbox/quote.h"

enum { TARGETS = 8, REACH_MS = 25000, NO_CLIENT = 127 };

struct reach_target { /* a listening server */
	char host[254];
	unsigned port;
	char *url; /* owned */
	bool ours; /* dcode's test server, which answers the token */
};

struct reach {
	struct listener listener;
	struct reach_target targets[TARGETS];
	size_t n;
	const struct reach_target *reached; /* the target reached with full */
};

/* Prints "tried", the server's answer, and "reached". Uses the first program
 * that exists, so none uses the same one as full. */
static const char script[] =
	"echo tried\n"
	"if command -v curl >/dev/null; then"
	" curl -sk -m 8 --noproxy '*' \"$u\" && echo && echo reached\n"
	"elif command -v python3 >/dev/null; then python3 -c '"
	"import socket, sys\n"
	"s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 8)\n"
	"s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\")\n"
	"print(s.makefile(\"rb\").read(4096).decode(\"latin-1\"))'"
	" \"$h\" \"$p\" && echo reached\n"
	"elif command -v bash >/dev/null; then bash -c '"
	"exec 3<>/dev/tcp/$1/$2 && printf \"GET / HTTP/1.0\\r\\n\\r\\n\" >&3 &&"
	" head -c 4096 <&3' x \"$h\" \"$p\" && echo && echo reached\n"
	"elif command -v nc >/dev/null; then"
	" printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 8 \"$h\" \"$p\" &&"
	" echo && echo reached\n"
	"elif command -v wget >/dev/null; then"
	" wget -q -T 8 -O - \"$u\" && echo && echo reached\n"
	"else exit 127; fi 2>/dev/null\n"
	"exit 0";

static void add_target(struct reach *r, const char *host, unsigned port,
		       const char *url)
{
	struct reach_target *t = &r->targets[r->n];

	if (r->n == TARGETS)
		return;
	snprintf(t->host, sizeof(t->host), "%s", host);
	t->port = port;
	t->ours = !url;
	t->url = url ? xstrdup(url) : xasprintf("http://%s:%u/", host, port);
	r->n++;
}

/* Adds this machine's own addresses, for sandboxes on this machine. The
 * loopback address is first, for a sandbox that shares its network. */
static void add_own(struct reach *r)
{
	struct ifaddrs *all = NULL;
	char text[INET_ADDRSTRLEN];

	add_target(r, "127.0.0.1", r->listener.port, NULL);
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i && r->n + 1 < TARGETS;
	     i = i->ifa_next) {
		const struct sockaddr_in *at = (const void *)i->ifa_addr;

		if (at && at->sin_family == AF_INET && i->ifa_flags & IFF_UP &&
		    !(i->ifa_flags & IFF_LOOPBACK) &&
		    inet_ntop(AF_INET, &at->sin_addr, text, sizeof(text)))
			add_target(r, text, r->listener.port, NULL);
	}
	freeifaddrs(all);
}

/* Adds the vendor's API, for sandboxes on other machines. */
static bool add_endpoint(struct reach *r, const struct sandbox_client *client)
{
	struct str s = str_of(client->endpoint ? client->endpoint : "");
	bool tls = str_starts(s, "https://");
	int64_t port = tls ? 443 : 80;
	char name[254];
	size_t len;

	if (!tls && !str_starts(s, "http://"))
		return false;
	s = str_skip(s, tls ? 8 : 7);
	s.len = strcspn(s.ptr, "/");
	len = str_find(s, ':');
	if (len < s.len &&
	    (!str_to_int(str_skip(s, len + 1), &port) || port > 65535))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, s.ptr);
	add_target(r, name, (unsigned)port, client->endpoint);
	return true;
}

/* Returns 1 if reached, 0 if not, -1 with the verdict. */
static int try_target(struct contract *c, const struct reach *r,
		      const struct reach_target *t,
		      enum contract_verdict *verdict)
{
	struct buf command = BUF_INIT(1 << 14);
	struct exec_request req = { .timeout_ms = REACH_MS };
	struct ran ran = { 0 };
	int rc = -1;

	buf_adds(&command, "u=");
	quote_word(&command, str_of(t->url));
	buf_adds(&command, " h=");
	quote_word(&command, str_of(t->host));
	buf_addf(&command, " p=%u\n%s", t->port, script);
	req.command = buf_str(&command);
	if (contract_exec(c, &req, &ran, NULL) < 0)
		*verdict = contract_fail(c, "%s", ran.error.message);
	else if (!str_starts(buf_str(&ran.out), "tried"))
		*verdict = contract_fail(c, "the command did not run: '%.100s'",
					 ran.out.ptr);
	else if (ran.res.exit_code == NO_CLIENT)
		*verdict =
			contract_na(c, "it has no curl, python3, bash, nc or "
				       "wget to connect with");
	else
		rc = strstr(ran.out.ptr,
			    t->ours ? r->listener.token : "\nreached") != NULL;
	ran_release(&ran);
	buf_release(&command);
	return rc;
}

static enum contract_verdict with_full(struct contract *c, void *arg)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct reach *r = arg;
	int rc = 0;

	for (size_t i = 0; i < r->n && rc == 0; i++) {
		rc = try_target(c, r, &r->targets[i], &verdict);
		if (rc == 1)
			r->reached = &r->targets[i];
	}
	return verdict;
}

/* With none, no listening target may be reached. */
static enum contract_verdict with_none(struct contract *c, void *arg)
{
	enum contract_verdict verdict = CONTRACT_OK;
	struct reach *r = arg;
	int rc = try_target(c, r, r->reached, &verdict);

	if (rc < 0)
		return verdict;
	if (rc == 1)
		return contract_fail(
			c, "with network none it reaches %.200s, as with full",
			r->reached->url);
	snprintf(c->reason, sizeof(c->reason), "with full it reaches %.200s",
		 r->reached->url);
	return CONTRACT_OK;
}

/* With network full tests the targets until one is reached. Then tests that one
 * with network none. */
static enum contract_verdict compare(struct contract *c, struct reach *r)
{
	bool elsewhere;
	enum contract_verdict verdict;

	add_own(r);
	elsewhere = add_endpoint(r, c->request->client);
	verdict = contract_with_another(
		c, &(struct contract_another){ .network = NETWORK_FULL },
		with_full, r);
	if (verdict != CONTRACT_OK)
		return verdict;
	/* A firewall may separate an engine's network from its own machine. */
	if (!r->reached && !elsewhere)
		return contract_na(c, "with full it does not reach this "
				      "machine: is a firewall in the way?");
	if (!r->reached)
		return contract_fail(
			c,
			"with full it reaches neither this machine nor %.200s",
			c->request->client->endpoint);
	return contract_with_another(
		c, &(struct contract_another){ .network = NETWORK_NONE },
		with_none, r);
}

enum contract_verdict check_network(struct contract *c)
{
	struct reach r = { 0 };
	struct error err = { 0 };
	enum contract_verdict verdict;

	if (contract_can(c, SANDBOX_UNISOLATED))
		return contract_na(c, "its network is this machine's");
	if (!contract_can(c, SANDBOX_NETWORK))
		return contract_na(c, "--sandbox-network is not supported");
	if (listener_start(&r.listener, &err) < 0)
		return contract_fail(c, "%s", err.message);
	verdict = compare(c, &r);
	listener_stop(&r.listener);
	for (size_t i = 0; i < r.n; i++)
		free(r.targets[i].url);
	return verdict;
}
