/* probe.c - finds out whether processes outlive a request. */
/* SPDX-License-Identifier: MIT */
#include "base/ids.h"
#include "base/str.h"
#include "sandbox/supervise/supervise.h"

enum { PROBE_MS = 10000, ANSWER_MAX = 64 << 10, COMMAND_MAX = 2048 };

/* A process in the background, as the keeper of a command is one. Without
 * /proc nobody can say whether it lives. */
static const char leave[] =
	"( DCODE_PROBE=%s; export DCODE_PROBE\n"
	"if command -v setsid >/dev/null; then exec setsid sleep 60; fi\n"
	"exec sleep 60 ) </dev/null >/dev/null 2>&1 &\n"
	"[ -r /proc/self/environ ] && echo '@dcode-probe:''%s:left@'\n";
static const char look[] =
	"p=$(grep -ls DCODE_PROBE=%s /proc/[0-9]*/environ)\n"
	"for f in $p; do f=${f#/proc/}; kill \"${f%%/environ}\"; done\n"
	"[ -n \"$p\" ] || echo '@dcode-probe:''%s:dead@'\n";

/* Whether the answer has the line that ends in word. */
static bool says(const struct supervisor *s, struct buf *command,
		 const char *token, const char *word, const struct stop *stop)
{
	struct stop limit = stop_within(stop, PROBE_MS);
	struct buf want = BUF_INIT(COMMAND_MAX);
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct error ignored = { 0 };
	bool found = false;

	buf_addf(&want, "@dcode-probe:%s:%s@", token, word);
	if (s->call(s->arg, buf_str(command), PROBE_MS / 2, &out, &limit,
		    &ignored) == 0)
		found = str_search(buf_str(&out), buf_str(&want)) < out.len;
	buf_release(&want);
	buf_release(&out);
	return found;
}

bool supervise_probe(const struct supervisor *s, const struct stop *stop)
{
	struct buf first = BUF_INIT(COMMAND_MAX);
	struct buf second = BUF_INIT(COMMAND_MAX);
	char token[SUPERVISE_JOB + 1];
	bool dead;

	ids_random(token, SUPERVISE_JOB);
	buf_addf(&first, leave, token, token);
	buf_addf(&second, look, token, token);
	dead = says(s, &first, token, "left", stop) &&
	       says(s, &second, token, "dead", stop);
	buf_release(&first);
	buf_release(&second);
	return dead;
}
