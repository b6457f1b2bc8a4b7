/* message_mask.h - a message without the secrets that are known here. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MESSAGE_MASK_H
#define MODEL_MESSAGE_MASK_H

#include "base/mask/mask.h"
#include "model/message.h"

/*
 * Fills *out with a copy of m, secrets masked; arguments of calls stay valid
 * JSON. What only the vendor can read (struct part: replay) is left out, for
 * nobody can tell what it holds, and so is the vendor. The caller releases it.
 */
void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out);

#endif
