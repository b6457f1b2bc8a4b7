/* change.c - what a call does to a text file, as the sandbox has it. */
/* SPDX-License-Identifier: MIT */
#include "tool/change.h"

#include "base/mask/mask.h"
#include "base/str.h"

static bool is_text(struct str s)
{
	return s.len <= TOOL_CHANGE_BYTES && str_is_utf8(s) &&
	       str_find(s, '\0') == s.len;
}

void tool_change_set(struct tool_change *c, struct str before, struct str after)
{
	tool_change_release(c);
	if (!is_text(before) || !is_text(after))
		return;
	c->before = BUF_INIT(TOOL_CHANGE_BYTES);
	c->after = BUF_INIT(TOOL_CHANGE_BYTES);
	buf_addstr(&c->before, before);
	buf_addstr(&c->after, after);
	c->known = true;
}

void tool_change_release(struct tool_change *c)
{
	buf_release(&c->before);
	buf_release(&c->after);
	*c = (struct tool_change){ 0 };
}

void tool_change_mask(struct tool_change *c, const struct mask *m)
{
	struct buf *texts[] = { &c->before, &c->after };

	for (size_t i = 0; c->known && i < 2; i++) {
		struct buf masked = BUF_INIT(2 * TOOL_CHANGE_BYTES);

		mask_text(m, buf_str(texts[i]), &masked);
		buf_release(texts[i]);
		*texts[i] = masked;
	}
}
