/* facts.c - which shell, system and user a sandbox's commands have. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/aside.h"

enum { RELEASE_MAX = 16 << 10 };

/* PRETTY_NAME of os-release(5): a word as sh has it, mostly in quotes. */
static bool read_release(struct sandbox_facts *f)
{
	struct buf text = BUF_INIT(RELEASE_MAX);
	struct error ignored = { 0 };
	struct str line = { 0 };
	struct str rest;
	bool found = false;

	if (path_read("/etc/os-release", &text, &ignored) < 0)
		(void)path_read("/usr/lib/os-release", &text, &ignored);
	rest = buf_str(&text);
	while (!found && str_split(&rest, '\n', &line))
		found = str_starts(line, "PRETTY_NAME=");
	if (found) {
		line = str_skip(line, strlen("PRETTY_NAME="));
		if (line.len > 1 && (*line.ptr == '"' || *line.ptr == '\'')) {
			line = str_skip(line, 1);
			line.len -= str_ends(line, "\"") || str_ends(line, "'");
		}
		snprintf(f->system, sizeof(f->system), "%.*s", (int)line.len,
			 line.ptr);
	}
	buf_release(&text);
	return found && line.len;
}

void facts_here(struct sandbox_facts *f, const char *user)
{
	const char *own = geteuid() == 0 ? "root" : getenv("USER");
	struct utsname name;

	snprintf(f->user, sizeof(f->user), "%s", user ? user : own ? own : "");
	if (!read_release(f) && uname(&name) == 0)
		snprintf(f->system, sizeof(f->system), "%s", name.sysname);
}

void facts_add_script(struct buf *out, const char *nonce)
{
	buf_addf(out,
		 "(s=sh;command -v bash >/dev/null&&s=bash;"
		 "o=$(. /etc/os-release&&printf %%s \"$PRETTY_NAME\");"
		 "printf '\\036dcode-%s %%s|%%s|%%s\\036' $s "
		 "\"$(id -un||id -u)\" \"${o:-$(uname -s)}\") 2>/dev/null\n",
		 nonce);
}

static void copy(struct str text, char *room, size_t size)
{
	struct buf clean = BUF_INIT(ASIDE_MAX);
	struct str s;

	sanitize_line(text, &clean);
	s = str_trim(buf_str(&clean));
	if (s.len >= size) {
		s.len = size - 1;
		s.len = str_utf8_prefix(s);
	}
	snprintf(room, size, "%.*s", (int)s.len, s.len ? s.ptr : "");
	buf_release(&clean);
}

void facts_read(struct sandbox_facts *f, struct str aside)
{
	struct str shell = { 0 };
	struct str user = { 0 };

	*f = (struct sandbox_facts){ 0 };
	if (!str_split(&aside, '|', &shell) || !str_split(&aside, '|', &user))
		return;
	copy(shell, f->shell, sizeof(f->shell));
	copy(user, f->user, sizeof(f->user));
	copy(aside, f->system, sizeof(f->system));
}

void facts_describe(const struct sandbox_facts *f, struct buf *out)
{
	buf_addf(out, "Commands run in %s", f->shell[0] ? f->shell : "sh");
	if (f->system[0])
		buf_addf(out, " on %s", f->system);
	if (f->user[0])
		buf_addf(out, ", as the user %s", f->user);
	buf_addc(out, '.');
}
