/* url.c - parses and joins web addresses, and decides which are public. */
/* SPDX-License-Identifier: MIT */
/* The first half classifies host addresses; the second parses URLs and resolves
 * the links of a page. */
#include "web/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* Classifies an IPv4 address by IANA's registry. */
static enum address_reach classify_ipv4(uint32_t a)
{
	static const struct {
		uint32_t net;
		unsigned bits;
		enum address_reach reach;
	} rows[] = {
		{ 0x00000000, 8, ADDRESS_NEVER },             /* this network */
		{ 0x0A000000, 8, ADDRESS_PRIVATE },           /* 10/8 */
		{ 0x6464 << 16 | 0x64C8, 32, ADDRESS_NEVER }, /* Alibaba */
		{ 0x64400000, 10, ADDRESS_PRIVATE },          /* 100.64/10 */
		{ 0x7F000000, 8, ADDRESS_PRIVATE },           /* loopback */
		{ 0xA83F8110, 32, ADDRESS_NEVER },   /* Azure's agent */
		{ 0xA9FE0000, 16, ADDRESS_NEVER },   /* link-local, metadata */
		{ 0xAC100000, 12, ADDRESS_PRIVATE }, /* 172.16/12 */
		{ 0xC0000000, 24, ADDRESS_NEVER },   /* protocols, Oracle */
		{ 0xC0000200, 24, ADDRESS_NEVER },   /* documentation */
		{ 0xC0586300, 24, ADDRESS_NEVER },   /* 6to4 relays */
		{ 0xC0A80000, 16, ADDRESS_PRIVATE }, /* 192.168/16 */
		{ 0xC6120000, 15, ADDRESS_PRIVATE }, /* benchmarks */
		{ 0xC6336400, 24, ADDRESS_NEVER },   /* documentation */
		{ 0xCB007100, 24, ADDRESS_NEVER },   /* documentation */
		{ 0xE0000000, 3, ADDRESS_NEVER },    /* multicast, reserved */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((a ^ rows[i].net) >> (32 - rows[i].bits) == 0)
			return rows[i].reach;
	return ADDRESS_PUBLIC;
}

static uint32_t read_word(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Classifies an IPv6 address. If it embeds an IPv4 address, that one is
 * classified. */
static enum address_reach classify_ipv6(const unsigned char *a)
{
	static const unsigned char mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	static const unsigned char nat64[12] = { 0, 0x64, 0xFF, 0x9B };
	static const unsigned char loopback[16] = { [15] = 1 };
	static const unsigned char aws[16] = { 0xFD, 0,           0x0E,
					       0xC2, [14] = 0x02, [15] = 0x54 };

	if (!memcmp(a, mapped, 12) || !memcmp(a, nat64, 12))
		return classify_ipv4(read_word(a + 12));
	if (a[0] == 0x20 && a[1] == 0x02)
		return classify_ipv4(read_word(a + 2));
	if (!memcmp(a, loopback, 16))
		return ADDRESS_PRIVATE;
	if ((a[0] & 0xFE) == 0xFC) /* unique local */
		return memcmp(a, aws, 16) ? ADDRESS_PRIVATE : ADDRESS_NEVER;
	if ((a[0] & 0xE0) != 0x20)
		return ADDRESS_NEVER;
	/* 2001::/23 (includes Teredo), 2001:db8::/32, 3fff::/20 */
	if (a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xFE) == 0)
		return ADDRESS_NEVER;
	if (read_word(a) == 0x20010DB8)
		return ADDRESS_NEVER;
	if (a[0] == 0x3F && a[1] == 0xFF && (a[2] & 0xF0) == 0)
		return ADDRESS_NEVER;
	return ADDRESS_PUBLIC;
}

enum address_reach address_reach(const struct sockaddr *a)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (a->sa_family == AF_INET) {
		memcpy(&in4, a, sizeof(in4));
		return classify_ipv4(ntohl(in4.sin_addr.s_addr));
	}
	if (a->sa_family != AF_INET6)
		return ADDRESS_NEVER;
	memcpy(&in6, a, sizeof(in6));
	return classify_ipv6(in6.sin6_addr.s6_addr);
}

bool address_parse(struct str text, struct sockaddr_storage *a)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char room[64];

	memset(a, 0, sizeof(*a));
	if (!text.len || text.len >= sizeof(room))
		return false;
	memcpy(room, text.ptr, text.len);
	room[text.len] = '\0';
	if (inet_pton(AF_INET, room, &in4.sin_addr) == 1) {
		memcpy(a, &in4, sizeof(in4));
		return true;
	}
	if (inet_pton(AF_INET6, room, &in6.sin6_addr) != 1)
		return false;
	memcpy(a, &in6, sizeof(in6));
	return true;
}

bool address_is_numeric(struct str host)
{
	struct str label;
	struct str last = { NULL, 0 };
	size_t i = 0;

	while (str_split(&host, '.', &label))
		if (label.len)
			last = label;
	if (last.len >= 2 && last.ptr[0] == '0' && (last.ptr[1] | 32) == 'x')
		i = 2;
	for (; i < last.len; i++)
		if (!(last.ptr[i] >= '0' && last.ptr[i] <= '9') &&
		    !(last.ptr[0] == '0' && last.len > 1 &&
		      (last.ptr[1] | 32) == 'x' && (last.ptr[i] | 32) >= 'a' &&
		      (last.ptr[i] | 32) <= 'f'))
			return false;
	return last.len > 0;
}

void address_print(const struct sockaddr *a, char room[64])
{
	char text[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (a->sa_family == AF_INET) {
		memcpy(&in4, a, sizeof(in4));
		inet_ntop(AF_INET, &in4.sin_addr, text, sizeof(text));
		snprintf(room, 64, "%s", text);
		return;
	}
	memcpy(&in6, a, sizeof(in6));
	inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
	snprintf(room, 64, "[%s]", text);
}

/* Reads ":port" or nothing; the default depends on the scheme. */
static int parse_port(struct web_url *url, struct str port, struct error *err)
{
	int64_t number;

	url->port = url->tls ? 443 : 80;
	if (!port.len)
		return 0;
	port = str_skip(port, 1);
	if (!port.len)
		return 0;
	if (!isdigit((unsigned char)port.ptr[0]) || port.len > 5 ||
	    !str_to_int(port, &number) || number < 1 || number > 65535)
		return error_set(
			err, ERR_USAGE,
			"the URL's port is not a number from 1 to 65535");
	url->port = (unsigned)number;
	return 0;
}

/* Refuses a host that other programs could parse differently. */
static int check_host(struct web_url *url, bool brackets, struct error *err)
{
	struct sockaddr_storage a;
	struct str host = str_of(url->host);

	url->literal = address_parse(host, &a);
	if (brackets != (url->literal && a.ss_family == AF_INET6))
		return error_set(err, ERR_USAGE,
				 "the URL's host is not a name or an address");
	if (!url->literal && address_is_numeric(host))
		return error_set(err, ERR_USAGE,
				 "the URL's host is an unusual spelling of an "
				 "address: write it in full, like 192.0.2.1");
	return 0;
}

static char to_lower(unsigned char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Stores the host in lower case and checks its characters. */
static int parse_host(struct web_url *url, struct str host, struct error *err)
{
	bool brackets = str_starts(host, "[") && str_ends(host, "]");

	if (brackets)
		host = (struct str){ host.ptr + 1, host.len - 2 };
	else if (host.len > 1 && str_ends(host, "."))
		host.len--;
	if (!host.len || host.len >= URL_HOST)
		return error_set(err, ERR_USAGE,
				 "the URL has no host, or one "
				 "that is too long");
	for (size_t i = 0; i < host.len; i++) {
		unsigned char c = (unsigned char)host.ptr[i];

		if (c >= 0x80)
			return error_set(err, ERR_USAGE,
					 "the URL's host has non-ASCII "
					 "characters: write its xn-- form");
		if (!isalnum(c) && !strchr(brackets ? ":." : "-._", c))
			return error_set(err, ERR_USAGE,
					 "the URL's host has a character that "
					 "is not allowed in hosts");
		/* an empty label: "a..b", ".a", "a.." */
		if (c == '.' &&
		    (i == 0 || i + 1 == host.len || host.ptr[i + 1] == '.'))
			return error_set(err, ERR_USAGE,
					 "the URL's host has an empty part "
					 "between its dots");
		url->host[i] = to_lower(c);
	}
	url->host[host.len] = '\0';
	return check_host(url, brackets, err);
}

/* Appends the path. Spaces and non-ASCII bytes are escaped, as browsers do. */
static int add_path(struct buf *out, struct str path, struct error *err)
{
	path.len = str_find(path, '#');
	if (!str_starts(path, "/"))
		buf_addc(out, '/');
	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = (unsigned char)path.ptr[i];

		if (c < ' ' || c == 0x7F)
			return error_set(err, ERR_USAGE,
					 "the URL has a control character");
		if (c == ' ' || c >= 0x80)
			buf_addf(out, "%%%02X", c);
		else
			buf_addc(out, (char)c);
	}
	return 0;
}

/* Writes the normalized address to url->text. */
static int build_text(struct web_url *url, struct str path, struct error *err)
{
	struct buf out = BUF_INIT(URL_BYTES - 1);
	bool six = strchr(url->host, ':') != NULL;
	int rc;

	buf_addf(&out, "http%s://%s%s%s", url->tls ? "s" : "", six ? "[" : "",
		 url->host, six ? "]" : "");
	if (url->port != (url->tls ? 443u : 80u))
		buf_addf(&out, ":%u", url->port);
	rc = add_path(&out, path, err);
	if (rc == 0)
		rc = buf_check(&out, "the URL", err);
	if (rc == 0)
		memcpy(url->text, out.ptr, out.len + 1);
	buf_release(&out);
	return rc;
}

int web_url_parse(struct web_url *url, struct str text, struct error *err)
{
	struct str rest = str_trim(text);
	struct str host;
	size_t end;

	url->tls = rest.len >= 8 && !strncasecmp(rest.ptr, "https://", 8);
	if (!url->tls && (rest.len < 7 || strncasecmp(rest.ptr, "http://", 7)))
		return error_set(
			err, ERR_USAGE,
			"only http:// and https:// URLs are supported");
	rest = str_skip(rest, url->tls ? 8 : 7);
	host = rest;
	host.len = 0;
	/* Browsers end the host at a backslash as well, other programs do not:
	 * such a URL is refused below, since it can name two hosts. */
	while (host.len < rest.len && rest.ptr[host.len] &&
	       !strchr("/?#\\", rest.ptr[host.len]))
		host.len++;
	rest = str_skip(rest, host.len);
	if (str_find(host, '@') < host.len)
		return error_set(
			err, ERR_USAGE,
			"URLs with a user or a password are not supported");
	/* the port's colon; those inside an IPv6 address come before "]" */
	end = str_starts(host, "[") ? str_find(host, ']') : 0;
	end += str_find(str_skip(host, end), ':');
	if (rest.len && rest.ptr[0] == '\\')
		return error_set(err, ERR_USAGE,
				 "the URL has a backslash after its host");
	if (parse_port(url, str_skip(host, end), err) < 0)
		return -1;
	host.len = end < host.len ? end : host.len;
	if (parse_host(url, host, err) < 0)
		return -1;
	return build_text(url, rest, err);
}

static bool has_scheme(struct str s)
{
	size_t i = 0;

	while (i < s.len &&
	       (isalnum((unsigned char)s.ptr[i]) || strchr("+-.", s.ptr[i])) &&
	       s.ptr[i])
		i++;
	return i > 0 && i < s.len && s.ptr[i] == ':' &&
	       isalpha((unsigned char)s.ptr[0]);
}

bool web_url_join(const struct web_url *base, struct str reference,
		  struct buf *out)
{
	struct str all = str_of(base->text);
	size_t authority = (base->tls ? 8 : 7);
	size_t path;
	size_t query;

	reference = str_trim(reference);
	path = authority + str_find(str_skip(all, authority), '/');
	query = path + str_find(str_skip(all, path), '?');
	if (has_scheme(reference)) {
		all.len = 0;
	} else if (str_starts(reference, "//")) {
		all.len = authority - 2;
	} else if (str_starts(reference, "/")) {
		all.len = path;
	} else if (!reference.len || reference.ptr[0] == '#') {
		reference.len = 0;
	} else if (reference.ptr[0] == '?') {
		all.len = query;
	} else {
		all.len = query;
		while (all.len > path && all.ptr[all.len - 1] != '/')
			all.len--;
	}
	buf_addstr(out, all);
	buf_addstr(out, reference);
	return !out->over;
}

bool web_url_matches(const char *host, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(patterns[i], host, FNM_CASEFOLD) == 0)
			return true;
	return false;
}
