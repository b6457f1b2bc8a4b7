/* media_fuzz.c - whatever a file's bytes say: read within them, and bounded. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tokens(const char *wire, const char *model, struct str bytes)
{
	int64_t most = media_max_tokens(wire, model, bytes);
	int64_t usual = media_usual_tokens(wire, model, bytes);

	if (usual < 0 || usual > most || (usual == 0) != !media_type(bytes))
		abort();
}

/* A file stays what it is when it is stored and read again. */
static void check_stored(const struct message *m, const char *type)
{
	struct buf json = BUF_INIT(1 << 26);
	struct message again;
	struct error err = { 0 };

	message_to_json(m, &json);
	if (message_from_json(&again, buf_str(&json), &err) != 0 ||
	    again.n != 1 || again.parts[0].type != type ||
	    strcmp(again.parts[0].text, m->parts[0].text) != 0 ||
	    again.parts[0].n_bytes != m->parts[0].n_bytes)
		abort();
	message_release(&again);
	buf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = { (const char *)data, size };
	const char *type = media_type(bytes);
	struct message m = { .role = ROLE_USER };
	struct buf own = BUF_INIT(1 << 24);
	uint32_t width = 0;
	uint32_t height = 0;

	if (media_dimensions(bytes, &width, &height) &&
	    (!type || media_is_pdf(type) || !width || !height))
		abort();
	check_tokens("anthropic", "claude", bytes);
	check_tokens("openai-chat", "gpt-4o-mini", bytes);
	check_tokens("openai-responses", "gpt", bytes);
	check_tokens("gemini", "gemini", bytes);
	buf_addstr(&own, bytes);
	if (!message_add_media(&m, "a\x1b[1m\n.png", &own) != !type)
		abort();
	if (type)
		check_stored(&m, type);
	message_release(&m);
	buf_release(&own);
	return 0;
}
