/* mode.c - the approval modes: manual, auto-edit, plan, yolo. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/mode.h"

const char *mode_name(enum run_mode mode)
{
	static const char *const names[] = {
		[RUN_MANUAL] = "manual",
		[RUN_AUTO_EDIT] = "auto-edit",
		[RUN_PLAN] = "plan",
		[RUN_YOLO] = "yolo",
	};

	return names[mode];
}

bool mode_allows_more(enum run_mode a, enum run_mode b)
{
	static const int ranks[] = { [RUN_PLAN] = 0,
				     [RUN_MANUAL] = 1,
				     [RUN_AUTO_EDIT] = 2,
				     [RUN_YOLO] = 3 };

	return ranks[a] > ranks[b];
}
