/* usage.c - counting tokens. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "model/model.h"

void usage_to_json(const struct usage *u, struct buf *out)
{
	buf_addf(out,
		 "{\"input_tokens\":%" PRId64 ",\"output_tokens\":%" PRId64
		 ",\"cache_read_tokens\":%" PRId64
		 ",\"cache_write_tokens\":%" PRId64,
		 u->input, u->output, u->cache_read, u->cache_write);
	if (u->reasoning)
		buf_addf(out, ",\"reasoning_tokens\":%" PRId64, u->reasoning);
	buf_addc(out, '}');
}

/* Counts come from servers: a sum that would overflow stays where it is. */
static void add(int64_t *total, int64_t n)
{
	if (n > 0 && *total <= INT64_MAX - n)
		*total += n;
}

void usage_sum(struct usage *total, const struct usage *u)
{
	add(&total->input, u->input);
	add(&total->output, u->output);
	add(&total->cache_read, u->cache_read);
	add(&total->cache_write, u->cache_write);
	add(&total->reasoning, u->reasoning);
}
