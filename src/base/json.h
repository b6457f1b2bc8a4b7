/* json.h - typed reading of cJSON trees, and writing JSON straight to bytes. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/buf.h"

/* Parses exactly one document; NULL on garbage, trailing bytes or nesting
 * beyond cJSON's limit. The caller frees it with cJSON_Delete(). */
cJSON *json_parse(struct str text);
/* The same of what programs write that cut text by UTF-16 units: half a
 * surrogate pair in a string is U+FFFD, and so is NUL. */
cJSON *json_parse_repaired(struct str text);
/* The number of the line where text ceases to be JSON. */
size_t json_error_line(struct str text);
/* Members; a missing or mistyped one gives the fallback. Borrowed. */
const cJSON *json_get(const cJSON *object, const char *key);
const char *json_string(const cJSON *object, const char *key,
			const char *fallback);
int64_t json_int(const cJSON *object, const char *key, int64_t fallback);
bool json_bool(const cJSON *object, const char *key, bool fallback);
/* "2026-11-20T11:17:55.123Z", or with an offset, in Unix seconds; 0 when it is
 * not like that. */
int64_t json_time(const cJSON *object, const char *key);

/* Writes s as a JSON string. Bytes that are no UTF-8 become U+FFFD, so the
 * result is always valid; controls (C1, too) are escaped, and so are Unicode's
 * line ends and what reorders text. */
void json_quote(struct buf *out, struct str s);
/* "key":"value" without a comma. */
void json_member(struct buf *out, const char *key, struct str value);
/* The same of a name that may be any bytes: where it is no UTF-8,
 * "key_base64" follows with the bytes. */
void json_member_bytes(struct buf *out, const char *key, struct str value);
/* Appends the bytes as base64, without quotes. */
void json_base64(struct buf *out, struct str bytes);
/* Appends the bytes that base64 with padding stands for; spaces and line ends
 * are skipped. False: it is none, or, with out->over, there is no room. */
bool json_decode_base64(struct buf *out, struct str text);
/* Prints a tree without white space, on one line for every reader. */
void json_print(struct buf *out, const cJSON *tree);

#endif
