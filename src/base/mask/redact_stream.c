/* redact_stream.c - a command's two streams as people and models may see them.
 */
/* SPDX-License-Identifier: MIT */
#include "base/mask/redact_stream.h"

#include "base/str.h"

enum { NO_LIMIT = 1 << 30 }; /* never more than a few chunks */

static void begin(struct redact_stream *s)
{
	s->masked.max = s->text.max = NO_LIMIT;
	buf_clear(&s->masked);
	buf_clear(&s->text);
}

void redact_stream_feed(struct redact_stream *s, const struct mask *mask,
			size_t stream, struct str chunk, struct buf *out)
{
	begin(s);
	mask_feed(mask, &s->before[stream], chunk, &s->masked);
	sanitize_feed(&s->clean[stream], buf_str(&s->masked), &s->text);
	mask_feed(mask, &s->after, buf_str(&s->text), out);
}

void redact_stream_end(struct redact_stream *s, const struct mask *mask,
		       struct buf *out)
{
	for (size_t i = 0; i < REDACT_STREAMS; i++) {
		begin(s);
		mask_end(mask, &s->before[i], &s->masked);
		sanitize_feed(&s->clean[i], buf_str(&s->masked), &s->text);
		sanitize_end(&s->clean[i], &s->text);
		mask_feed(mask, &s->after, buf_str(&s->text), out);
	}
	mask_end(mask, &s->after, out);
	buf_wipe(&s->masked);
	buf_wipe(&s->text);
}
