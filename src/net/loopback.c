/* loopback.c - recognizes addresses of this machine. */
/* SPDX-License-Identifier: MIT */
#include "net/loopback.h"

#include <string.h>

#include "base/str.h"

/* True for a complete address 127.x.y.z. "127.evil.com" is an ordinary name. */
static bool is_number(struct str host)
{
	struct str part;
	int64_t number;
	int n = 0;

	if (!str_starts(host, "127."))
		return false;
	for (; str_split(&host, '.', &part); n++)
		if (!part.len || part.len > 3 || !str_to_int(part, &number) ||
		    number < 0 || number > 255)
			return false;
	return n == 4;
}

static bool ends_host(char c)
{
	return c == '/' || c == '?' || c == '#' || !c;
}

bool loopback_url(struct str url)
{
	struct str rest = str_skip(url, str_search(url, STR("://")) + 3);
	struct str host = rest;
	struct str port;

	host.len = 0;
	while (host.len < rest.len && !ends_host(rest.ptr[host.len]))
		host.len++;
	if (str_starts(host, "[::1]")) {
		port = str_skip(host, 5);
		host.len = 5;
	} else {
		host.len = str_find(host, ':');
		port = (struct str){ host.ptr + host.len, 0 };
		while (host.len + port.len < rest.len &&
		       !ends_host(port.ptr[port.len]))
			port.len++;
	}
	for (size_t i = 0; i < port.len; i++)
		if (i ? port.ptr[i] < '0' || port.ptr[i] > '9'
		      : port.ptr[i] != ':')
			return false;
	return str_is_nocase(host, "localhost") || str_is(host, "[::1]") ||
	       is_number(host);
}

/* Returns the host of an authority, without port and brackets. Does not skip
 * "user@": the caller refuses such an authority. */
static struct str host_of(struct str authority)
{
	struct str host = authority;
	size_t end;

	if (str_starts(host, "[")) {
		end = str_find(host, ']');
		return (struct str){ host.ptr + 1, end ? end - 1 : 0 };
	}
	host.len = str_find(host, ':');
	return host;
}

bool loopback_or_https(struct str url)
{
	bool secure = str_starts(url, "https://");
	struct str rest = str_skip(url, secure ? 8 : 7);
	struct str authority = { rest.ptr, str_find(rest, '/') };

	if (!secure && !str_starts(url, "http://"))
		return false;
	for (size_t i = 0; i < url.len; i++)
		if (url.ptr[i] <= ' ' || url.ptr[i] == 0x7F ||
		    strchr("?#\\\"<>", url.ptr[i]))
			return false;
	if (!host_of(authority).len || memchr(rest.ptr, '@', rest.len))
		return false;
	return secure || loopback_url(url);
}
