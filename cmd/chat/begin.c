/* begin.c - what both kinds of chat do before their first prompt. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/begin.h"

#include "cmd/chat/slash.h"
#include "cmd/session/hooks.h"
#include "cmd/session/open.h"

int chat_open(struct run *r, bool again, const struct stop *stop,
	      struct error *err)
{
	if (lifecycle_await_ending(&r->box, stop, err) < 0)
		return -1;
	if (again)
		run_undo(r);
	if (run_hooks_open(r, err) < 0 || run_open(r, stop, err) < 0 ||
	    run_hooks_start(r, run_hooks_cause(r), stop, err) < 0)
		return -1;
	slash_enter(r);
	return 0;
}
