/* mask_json.h - masks secrets in JSON, which stays JSON. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_MASK_JSON_H
#define BASE_MASK_MASK_JSON_H

#include "base/mask/mask.h"

/*
 * Appends a valid JSON document with each string masked as it reads, however
 * it was escaped; a number that is a secret becomes a string. What has nothing
 * to hide is copied byte for byte. Where a secret goes across several strings
 * the result is {"masked":"..."}, with the text of the document.
 */
void mask_json(const struct mask *m, struct str json, struct buf *out);

#endif
