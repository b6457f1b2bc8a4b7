/* name.c - which host, and which sandbox of it, an id means. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "providers/ssh/ssh.h"

/* A host that begins with "-" would be an option of ssh (-oProxyCommand=...
 * runs a program here); "%h" in the user's ProxyCommand goes to a shell, so
 * that a host may hold none of its characters (CVE-2023-51385). */
int ssh_check_host(const char *host, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-:@[]+";
	const char *user = host;
	const char *name;

	if (!strncmp(host, "ssh://", 6))
		user += 6;
	name = strrchr(user, '@');
	name = name ? name + 1 : user;
	if (*user && *user != '@' && *name && *user != '-' && *name != '-' &&
	    !user[strspn(user, allowed)] && strlen(host) < SSH_HOST)
		return 0;
	error_set(err, ERR_USAGE, "not a host for ssh: '%.100s'", host);
	return error_hint(err, "Use user@host, or a Host of ~/.ssh/config.");
}

static bool is_label(const char *s)
{
	return !strncmp(s, "dcode-", 6) && strlen(s) < SSH_LABEL && s[6] &&
	       !s[6 + strspn(s + 6, "abcdefghijklmnopqrstuvwxyz0123456789")];
}

int ssh_parse_id(const struct ssh_client *c, const char *id,
		 struct ssh_name *name, struct error *err)
{
	const char *slash = strrchr(id, '/');
	const char *label = slash ? slash + 1 : id;
	size_t len = slash ? (size_t)(slash - id) : 0;

	*name = (struct ssh_name){ 0 };
	if (!is_label(label)) {
		snprintf(name->host, sizeof(name->host), "%s", id);
		return ssh_check_host(id, err);
	}
	snprintf(name->label, sizeof(name->label), "%s", label);
	if (slash)
		snprintf(name->host, sizeof(name->host), "%.*s",
			 (int)(len < SSH_HOST ? len : SSH_HOST), id);
	else if (c->host)
		snprintf(name->host, sizeof(name->host), "%s", c->host);
	else
		return error_set(err, ERR_USAGE,
				 "%s names no host; HOST/%s would", id, id);
	return ssh_check_host(name->host, err);
}
