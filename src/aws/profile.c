/* profile.c - one profile of AWS's credentials and config files. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "aws/credentials.h"
#include "base/mem.h"
#include "base/str.h"

/* Those that need STS, a login or a browser. */
static const char *const unsupported[] = {
	"role_arn",          "sso_session",   "sso_start_url",
	"sso_account_id",    "login_session", "web_identity_token_file",
	"credential_source",
};

static struct str unquote(struct str s)
{
	if (s.len >= 2 && (s.ptr[0] == '"' || s.ptr[0] == '\'') &&
	    s.ptr[s.len - 1] == s.ptr[0])
		return (struct str){ s.ptr + 1, s.len - 2 };
	return s;
}

/* "[profile name]" in a config file, "[name]" in the other; "[default]" in
 * both. */
static bool is_section(struct str line, const char *name, bool config)
{
	struct str inner = str_skip(line, 1);

	inner.len = str_find(inner, ']');
	inner = str_trim(inner);
	if (config && !str_is(inner, "default")) {
		if (!str_starts(inner, "profile") || inner.len < 8 ||
		    (inner.ptr[7] != ' ' && inner.ptr[7] != '\t'))
			return false;
		inner = str_trim(str_skip(inner, 7));
	}
	return str_is(unquote(inner), name);
}

static void set(char **member, struct str value)
{
	if (*member)
		explicit_bzero(*member, strlen(*member));
	free(*member);
	*member = value.len && !memchr(value.ptr, 0, value.len)
			  ? xstrndup(value.ptr, value.len)
			  : NULL;
}

static void keep(struct aws_profile *p, struct str key, struct str value)
{
	const struct {
		const char *key;
		char **member;
	} known[] = {
		{ "aws_access_key_id", &p->id },
		{ "aws_secret_access_key", &p->secret },
		{ "aws_session_token", &p->token },
		{ "credential_process", &p->process },
		{ "region", &p->region },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_is_nocase(key, known[i].key))
			set(known[i].member, value);
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(*unsupported); i++)
		if (str_is_nocase(key, unsupported[i]))
			set(&p->unsupported, str_of(unsupported[i]));
}

void aws_profile_read(struct str text, const char *name, bool config,
		      struct aws_profile *p)
{
	bool ours = false;
	struct str line;

	if (str_starts(text, "\xef\xbb\xbf"))
		text = str_skip(text, 3);
	while (str_split(&text, '\n', &line)) {
		/* An indented line belongs to the key above it. */
		bool nested =
			line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
		size_t eq;

		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#' || line.ptr[0] == ';')
			continue;
		if (!nested && line.ptr[0] == '[') {
			ours = is_section(line, name, config);
			p->found = p->found || ours;
			continue;
		}
		eq = str_find(line, '=');
		if (!ours || nested || eq == line.len)
			continue;
		keep(p, str_trim((struct str){ line.ptr, eq }),
		     str_trim(str_skip(line, eq + 1)));
	}
}

void aws_profile_release(struct aws_profile *p)
{
	set(&p->id, STR(""));
	set(&p->secret, STR(""));
	set(&p->token, STR(""));
	set(&p->process, STR(""));
	set(&p->region, STR(""));
	set(&p->unsupported, STR(""));
	*p = (struct aws_profile){ 0 };
}
