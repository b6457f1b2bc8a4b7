/* slash_agents.c - /agents: subagents that work, live; and ending one. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/subagents/run_subagents.h"

static void cancel(struct run *r, const char *word, struct buf *out)
{
	int64_t number = 0;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    number > UINT32_MAX || !run_subagents_cancel(r, (unsigned)number))
		buf_addf(out,
			 "Unknown subagent %.40s, or it has ended. /agents "
			 "lists them.\n",
			 word);
	else
		buf_addf(out, "Stopping subagent %lld.\n", (long long)number);
}

void slash_cmd_agents(struct run *r, int n, char **words, size_t columns,
		      struct buf *out)
{
	(void)columns;
	if (n == 2 && !strcmp(words[0], "cancel"))
		cancel(r, words[1], out);
	else if (n)
		buf_adds(out, "Usage: /agents, or /agents cancel NUMBER\n");
	else
		run_subagents_list(r, out);
}
