/* url.c - addresses of pages, read strictly. */
/* SPDX-License-Identifier: MIT */
#include "web/url.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "web/address.h"

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

static char lower(unsigned char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

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
		/* "a..b", ".a", "a.." */
		if (c == '.' &&
		    (i == 0 || i + 1 == host.len || host.ptr[i + 1] == '.'))
			return error_set(err, ERR_USAGE,
					 "the URL's host has an empty part "
					 "between its dots");
		url->host[i] = lower(c);
	}
	url->host[host.len] = '\0';
	return check_host(url, brackets, err);
}

/* Spaces and what is no ASCII are escaped, as browsers do. */
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

static int build(struct web_url *url, struct str path, struct error *err)
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
		return error_set(err, ERR_USAGE,
				 "only http:// and https:// URLs are fetched");
	rest = str_skip(rest, url->tls ? 8 : 7);
	host = rest;
	host.len = 0;
	while (host.len < rest.len && rest.ptr[host.len] &&
	       !strchr("/?#\\", rest.ptr[host.len]))
		host.len++;
	rest = str_skip(rest, host.len);
	if (str_find(host, '@') < host.len)
		return error_set(err, ERR_USAGE,
				 "a URL with a user or a password is not "
				 "fetched");
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
	return build(url, rest, err);
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
