/* redact_screen.c - a command's output, both streams in one, as people and
 * models may see it. */
/* SPDX-License-Identifier: MIT */
#include "base/mask/redact_screen.h"

#include <stdint.h>

#include "base/str.h"

static void begin(struct redact_screen *s)
{
	s->masked.max = s->text.max = SIZE_MAX / 2;
	buf_clear(&s->masked);
	buf_clear(&s->text);
}

void redact_screen_feed(struct redact_screen *s, const struct mask *mask,
			struct str chunk, struct buf *out)
{
	begin(s);
	mask_feed(mask, &s->before, chunk, &s->masked);
	screen_text_feed(&s->screen, buf_str(&s->masked), &s->text);
	mask_feed(mask, &s->after, buf_str(&s->text), out);
}

void redact_screen_rest(struct redact_screen *s, const struct mask *mask,
			struct buf *out)
{
	begin(s);
	buf_addstr(&s->text, buf_str(&s->after.held));
	screen_text_rest(&s->screen, &s->text);
	mask_text(mask, buf_str(&s->text), out);
}

void redact_screen_give(struct redact_screen *s, const struct mask *mask,
			struct buf *out)
{
	begin(s);
	screen_text_give(&s->screen, &s->text);
	mask_feed(mask, &s->after, buf_str(&s->text), out);
}

void redact_screen_end(struct redact_screen *s, const struct mask *mask,
		       struct buf *out)
{
	begin(s);
	mask_end(mask, &s->before, &s->masked);
	screen_text_feed(&s->screen, buf_str(&s->masked), &s->text);
	screen_text_end(&s->screen, &s->text);
	mask_feed(mask, &s->after, buf_str(&s->text), out);
	mask_end(mask, &s->after, out);
	buf_wipe(&s->masked);
	buf_wipe(&s->text);
}
