/* openai_cache.c - OpenAI's cache of prompts. */
/* SPDX-License-Identifier: MIT */
#include "model/wires/openai_cache.h"

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"

void openai_cache_put_key(const struct wire_head *in, struct buf *out)
{
	const char *given = in->brief->cache_key;
	char key[17];

	if (!str_starts(str_of(in->choice->base_url),
			"https://api.openai.com/") ||
	    json_get(in->params, "prompt_cache_key"))
		return;
	ids_random(key, sizeof(key) - 1);
	json_member(out, "prompt_cache_key", str_of(given ? given : key));
	buf_addc(out, ',');
}
