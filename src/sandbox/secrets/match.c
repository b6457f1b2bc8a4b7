/* match.c - which hosts and requests a secret is for, and how it is sent. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "sandbox/secrets/secrets.h"

static const char basic[] = "Basic ";

bool secret_has_host(const struct secret *s, const char *host)
{
	const struct network_rule target = { .host = (char *)host,
					     .port = 443 };
	const struct network_rule *ignored;

	return network_allows(&s->hosts, &target, &ignored);
}

/* True if servers may disagree on which path this is. Attack:
 * "/repos/me/../you" begins like an allowed path. */
static bool is_ambiguous(struct str path)
{
	for (size_t i = 0; i + 1 < path.len; i++)
		if (path.ptr[i] == '/' &&
		    (path.ptr[i + 1] == '/' || path.ptr[i + 1] == '.'))
			return true;
	return str_find(path, '%') < path.len ||
	       str_find(path, '\\') < path.len ||
	       str_find(path, ';') < path.len || str_find(path, '#') < path.len;
}

static bool matches_path(const char *pattern, struct str path)
{
	size_t len = strcspn(pattern, "*");

	return pattern[len]
		       ? path.len >= len && !strncmp(path.ptr, pattern, len)
		       : str_is(path, pattern);
}

bool secret_has_request(const struct secret *s, struct str method,
			struct str target)
{
	bool found = !s->methods;

	for (size_t i = 0; !found && s->methods[i]; i++)
		found = str_is(method, s->methods[i]);
	if (!found || !s->paths)
		return found;
	target.len = str_find(target, '?');
	if (is_ambiguous(target))
		return false;
	for (size_t i = 0; s->paths[i]; i++)
		if (matches_path(s->paths[i], target))
			return true;
	return false;
}

void secret_print_value(const struct secret *s, struct str value,
			struct buf *out)
{
	struct str format = str_of(s->format);
	struct buf inner = BUF_INIT(out->max);
	bool encodes = str_starts(format, basic);
	size_t hole;

	if (encodes)
		format = str_skip(format, sizeof(basic) - 1);
	hole = str_search(format, STR("{}"));
	buf_add(&inner, format.ptr, hole);
	buf_addstr(&inner, value);
	buf_addstr(&inner, str_skip(format, hole + 2));
	if (encodes) {
		buf_adds(out, basic);
		json_base64(out, buf_str(&inner));
	} else {
		buf_addstr(out, buf_str(&inner));
	}
	buf_wipe(&inner);
}
