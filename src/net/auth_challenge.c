/* auth_challenge.c - the parameters of WWW-Authenticate. */
/* SPDX-License-Identifier: MIT */
#include "net/auth_challenge.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

enum { VALUE_MAX = 4096 }; /* bytes */

char *auth_challenge_value(struct str challenge, const char *name)
{
	size_t n = strlen(name);
	bool quoted = false;

	for (size_t i = 0; i + n < challenge.len; i++) {
		struct str rest = str_skip(challenge, i);
		bool begins = !i || strchr(" ,\t", challenge.ptr[i - 1]);
		size_t end;

		if (rest.ptr[0] == '"')
			quoted = !quoted;
		if (quoted || !begins || strncasecmp(rest.ptr, name, n) != 0 ||
		    rest.ptr[n] != '=')
			continue;
		rest = str_skip(rest, n + 1);
		if (str_starts(rest, "\"")) {
			rest = str_skip(rest, 1);
			end = str_find(rest, '"');
		} else {
			for (end = 0; end < rest.len; end++)
				if (strchr(" ,\t", rest.ptr[end]))
					break;
		}
		return end <= VALUE_MAX ? xstrndup(rest.ptr, end) : NULL;
	}
	return NULL;
}
