/* message_mask.c - a message without the secrets that are known here. */
/* SPDX-License-Identifier: MIT */
#include "model/message_mask.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/mask/mask_json.h"
#include "base/str.h"

static char *masked_text(const struct mask *mask, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (!text)
		return NULL;
	mask_text(mask, str_of(text), &out);
	return buf_detach(&out);
}

static char *masked_args(const struct mask *mask, const struct part *call)
{
	cJSON *tree = call->args && !call->bad_args
			      ? json_parse(str_of(call->args))
			      : NULL;
	struct buf out = BUF_INIT(SIZE_MAX / 4);

	if (!tree)
		return masked_text(mask, call->args);
	cJSON_Delete(tree);
	mask_json(mask, str_of(call->args), &out);
	return buf_detach(&out);
}

/* Only its name: a file of bytes is what it is, or broken. */
static void mask_media(const struct mask *mask, const struct part *from,
		       struct message *out)
{
	char *name = masked_text(mask, from->name);
	struct buf bytes = BUF_INIT(SIZE_MAX / 4);

	buf_add(&bytes, from->bytes, from->n_bytes);
	(void)message_add_media(out, name, &bytes);
	buf_release(&bytes);
	free(name);
}

void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out)
{
	*out = (struct message){ .role = m->role,
				 .refused = m->refused,
				 .cut = m->cut };
	for (size_t i = 0; i < m->n; i++) {
		const struct part *from = &m->parts[i];
		struct part *to;

		if (from->kind == PART_MEDIA) {
			mask_media(mask, from, out);
			continue;
		}
		to = message_add(out, from->kind);
		to->text = masked_text(mask, from->text);
		to->id = masked_text(mask, from->id);
		to->name = masked_text(mask, from->name);
		to->args = masked_args(mask, from);
		to->bad_args = from->bad_args;
		to->failed = from->failed;
	}
}
