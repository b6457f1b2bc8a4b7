/* openai_cache.h - OpenAI's cache of prompts. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRES_OPENAI_CACHE_H
#define MODEL_WIRES_OPENAI_CACHE_H

#include "model/wire.h"

/* Adds prompt_cache_key and a comma where OpenAI itself is asked, which finds
 * what it cached sooner by a key per conversation, and the user's params have
 * none. */
void openai_cache_put_key(const struct wire_head *in, struct buf *out);

#endif
