/* net.c - requests to addresses that a server named. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at oauth_ask(); its comment in net.h has the attack and the
 * rules. check_reach() applies them: nearness_of() says how near an address is
 * (this machine, a private network, the Internet), and a named address may not
 * be nearer than the server's farthest one.
 */
#include "oauth/net.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "net/http.h"
#include "net/loopback.h"
#include "net/resolve.h"
#include "web/url.h"

enum { CONNECT_TO = URL_HOST + 96, HEADERS_MAX = 4 };

struct oauth_visit { /* one request in progress */
	const struct oauth_net *net;
	const struct oauth_request *request;
	struct web_url url;
	struct http_response *res;
};

enum nearness { /* an address's distance, the farthest first */
		FAR_AWAY,
		PRIVATE_NETWORK,
		THIS_MACHINE,
		FORBIDDEN,
};

static bool is_loopback(const struct sockaddr *a)
{
	char text[64];

	address_print(a, text);
	return str_starts(str_of(text), "127.") || !strcmp(text, "[::1]") ||
	       str_starts(str_of(text), "[::ffff:127.");
}

static enum nearness nearness_of(const struct sockaddr *a)
{
	switch (address_reach(a)) {
	case ADDRESS_PUBLIC:
		return FAR_AWAY;
	case ADDRESS_PRIVATE:
		return is_loopback(a) ? THIS_MACHINE : PRIVATE_NETWORK;
	case ADDRESS_NEVER:
		break;
	}
	return FORBIDDEN;
}

static int resolve_url(const struct web_url *url, struct resolved *found,
		       const struct stop *stop, struct error *err)
{
	if (!url->literal)
		return resolve_host(url->host, found, stop, err);
	found->n = 1;
	(void)address_parse(str_of(url->host), &found->list[0]);
	return 0;
}

static enum nearness nearness_at(const struct resolved *found, size_t i)
{
	return nearness_of((const struct sockaddr *)&found->list[i]);
}

/* Returns the distance of the server's farthest address. Addresses that the
 * server names in metadata must not be nearer. Attack: a public server's host
 * name also resolves to this machine. If its nearest address counted, it could
 * name local services. */
static enum nearness find_farthest(const struct resolved *found)
{
	enum nearness farthest = FORBIDDEN;

	for (size_t i = 0; i < found->n; i++)
		if (nearness_at(found, i) < farthest)
			farthest = nearness_at(found, i);
	return farthest;
}

/* Removes the addresses that are nearer than `most` or forbidden. Returns the
 * distance of the nearest removed one. */
static enum nearness drop_near(struct resolved *found, enum nearness most)
{
	enum nearness nearest = FAR_AWAY;
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++) {
		enum nearness one = nearness_at(found, i);

		if (one <= most && one != FORBIDDEN)
			found->list[n++] = found->list[i];
		else if (one > nearest)
			nearest = one;
	}
	found->n = n;
	return nearest;
}

/* Parses an address from metadata. Refuses unusual characters, and plain http
 * except to this machine. */
static int parse_url(const char *text, struct web_url *url, struct error *err)
{
	struct str s = str_of(text);

	if (s.len > OAUTH_URL_MAX || !str_is_visible(s))
		return error_set(err, ERR_PROTOCOL,
				 "the server sent an address that is too long "
				 "or has invalid characters");
	if (web_url_parse(url, s, err) < 0) {
		err->code = ERR_PROTOCOL;
		error_set(err, ERR_PROTOCOL,
			  "not an http or https address: %.200s", text);
		return -1;
	}
	if (!url->tls && !loopback_url(str_of(url->text)))
		return error_set(err, ERR_PROTOCOL,
				 "refusing %.200s: https is required", text);
	return 0;
}

int oauth_check_url(const char *what, const char *text, struct error *err)
{
	struct web_url url;

	if (parse_url(text, &url, err) == 0)
		return 0;
	return error_wrap(err, "%s", what);
}

/* Resolves the host of an address and keeps the IPs that the server may
 * name. */
static int check_reach(const struct oauth_net *n, const struct web_url *url,
		       struct resolved *found, const struct stop *stop,
		       struct error *err)
{
	struct web_url server;
	struct resolved own;
	enum nearness reach;

	if (web_url_parse(&server, str_of(n->server), err) < 0 ||
	    resolve_url(&server, &own, stop, err) < 0 ||
	    resolve_url(url, found, stop, err) < 0)
		return -1;
	reach = drop_near(found, find_farthest(&own));
	if (found->n)
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "refusing %s, named by %s: it is an address of %s",
			 url->host, server.host,
			 reach == THIS_MACHINE ? "this machine"
			 : reach == PRIVATE_NETWORK
				 ? "a private network"
				 : "a link-local, metadata or reserved range");
}

/* Sends the request to the checked address. TLS still verifies the host
 * name. */
static int send_to(const struct oauth_visit *v, const struct sockaddr *a,
		   const struct stop *stop, struct error *err)
{
	const struct oauth_request *q = v->request;
	const char *headers[HEADERS_MAX] = { "Accept: application/json" };
	char address[64];
	char connect_to[CONNECT_TO];
	char type[96];
	struct http_request req = {
		.method = q->type ? "POST" : "GET",
		.url = v->url.text,
		.headers = headers,
		.body = q->body,
		.connect_ms = v->net->ms,
		.connect_to = v->url.literal ? NULL : connect_to,
		.flags = HTTP_ONCE | HTTP_PROBE,
	};
	size_t n = 1;

	if (q->type) {
		snprintf(type, sizeof(type), "Content-Type: %s", q->type);
		headers[n++] = type;
	}
	if (q->secret)
		headers[n++] = q->secret;
	address_print(a, address);
	snprintf(connect_to, sizeof(connect_to), "%s:%u:%s:%u", v->url.host,
		 v->url.port, address, v->url.port);
	return http_do(v->net->http, &req, v->res, stop, err);
}

/* Checks the host's addresses and tries them in turn until one answers. */
static int send_once(struct oauth_visit *v, const struct stop *stop,
		     struct error *err)
{
	struct resolved found = { .n = 0 };
	int rc = -1;

	if (parse_url(v->request->url, &v->url, err) < 0 ||
	    check_reach(v->net, &v->url, &found, stop, err) < 0)
		return -1;
	for (size_t i = 0; rc < 0 && i < found.n; i++) {
		http_response_release(v->res);
		*v->res =
			(struct http_response){ .body.max = OAUTH_ANSWER_MAX };
		rc = send_to(v, (const struct sockaddr *)&found.list[i], stop,
			     err);
		if (rc < 0 && err->code != ERR_UNREACHABLE)
			break;
	}
	return rc;
}

int oauth_ask(const struct oauth_net *n, const struct oauth_request *q,
	      int *status, cJSON **tree, const struct stop *stop,
	      struct error *err)
{
	struct http_response res = { 0 };
	struct oauth_visit v = { .net = n, .request = q, .res = &res };
	struct stop limit = stop_within(stop, n->ms);
	struct error outer = { 0 };
	int rc = send_once(&v, &limit, err);

	*tree = NULL;
	if (rc < 0 && err->code == ERR_TIMEOUT && stop_check(stop, &outer) == 0)
		error_set(err, ERR_NETWORK,
			  "%.200s gave no answer within "
			  "%lld s",
			  q->url, (long long)(n->ms + 999) / 1000);
	if (rc == 0) {
		*status = res.status;
		*tree = json_parse(buf_str(&res.body));
		if (!cJSON_IsObject(*tree)) {
			cJSON_Delete(*tree);
			*tree = NULL;
		}
	}
	http_response_release(&res);
	return rc < 0 && err->code != ERR_CANCELLED
		       ? error_wrap(err, "%s", q->what)
		       : rc;
}

void oauth_add_field(struct buf *out, const char *name, struct str value)
{
	buf_addf(out, "%s%s=", out->len ? "&" : "", name);
	percent_encode(out, value, "");
}
