/* match.c - which tools and causes a hook waits for. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hooks/hooks_impl.h"

enum { LONGEST_VALUE = 1024 /* bytes that a pattern is tried on */ };

static bool is_list_of_names(const char *matcher)
{
	for (; *matcher; matcher++)
		if (!isalnum((unsigned char)*matcher) &&
		    !strchr("_-|,", *matcher))
			return false;
	return true;
}

/* POSIX knows neither \d nor (?:...), which patterns for Python have. */
static char *to_posix(const char *pattern)
{
	struct buf out = BUF_INIT(1 << 16);
	bool in_set = false;

	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1] == 'd') {
			buf_adds(&out, in_set ? "0-9" : "[0-9]");
			pattern++;
		} else if (*pattern == '\\' && pattern[1]) {
			buf_addc(&out, *pattern++);
			buf_addc(&out, *pattern);
		} else if (!in_set && !strncmp(pattern, "(?:", 3)) {
			buf_addc(&out, '(');
			pattern += 2;
		} else {
			in_set = in_set ? *pattern != ']' : *pattern == '[';
			buf_addc(&out, *pattern);
		}
	}
	return buf_detach(&out);
}

bool hook_match_parse(struct hook_handler *h, const char *matcher,
		      const char **why)
{
	bool any = !matcher || !matcher[0] || !strcmp(matcher, "*");

	if (any)
		return true;
	if (h->event == HOOK_USER_PROMPT_SUBMIT || h->event == HOOK_STOP) {
		*why = "this event has nothing for a matcher to match";
		return false;
	}
	if (is_list_of_names(matcher))
		h->names = xstrdup(matcher);
	else
		h->pattern = to_posix(matcher);
	return true;
}

bool hook_match_compile(struct hook_handler *h)
{
	if (h->pattern && !h->has_regex)
		h->has_regex = !regcomp(&h->regex, h->pattern,
					REG_EXTENDED | REG_NOSUB);
	return !h->pattern || h->has_regex;
}

bool hook_matches(const struct hook_handler *h, const char *value)
{
	struct str rest = str_of(h->names);

	if (!h->names && !h->pattern)
		return true;
	if (h->pattern && !h->has_regex)
		return h->broken != NULL; /* a guard: of everything */
	if (!value)
		return false;
	/* Attack: an MCP server gives a tool a name that is so long that the
	 * hook which was to refuse it does not see it. */
	if (h->has_regex)
		return strlen(value) > LONGEST_VALUE ||
		       regexec(&h->regex, value, 0, NULL, 0) == 0;
	while (rest.len) {
		size_t len = 0;

		while (len < rest.len && !strchr("|,", rest.ptr[len]))
			len++;
		if (len && str_is((struct str){ rest.ptr, len }, value))
			return true;
		rest = str_skip(rest, len + 1);
	}
	return false;
}
