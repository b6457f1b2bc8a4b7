/* slash_go_on.c - whether the model may go on that repeats a call that fails.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "cmd/chat/slash_cmd.h"

bool slash_go_on(void *arg, const struct error *why)
{
	struct run *r = arg;
	struct buf title = BUF_INIT(1 << 12);
	const struct fuzzy_item shown[] = {
		{ .name = STR("stop here") },
		{ .name = STR("let it go on") },
	};
	struct pick pick = { .items = shown, .n = 2 };
	int chosen;

	if (!r->pick)
		return false;
	mask_text(r->app->mask, str_of(why->message), &title);
	pick.title = title.ptr ? title.ptr : "";
	chosen = r->pick(r->ui.arg, &pick);
	buf_release(&title);
	return chosen == 1;
}
