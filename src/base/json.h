/* json.h - typed access to cJSON trees, and JSON output to buffers. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/json_parse.h"

/* Read members. A missing member or one of another type gives the fallback. The
 * results are borrowed. json_get() without an object or a key returns NULL. */
const cJSON *json_get(const cJSON *object, const char *key);
const char *json_string(const cJSON *object, const char *key,
			const char *fallback);
int64_t json_int(const cJSON *object, const char *key, int64_t fallback);
bool json_bool(const cJSON *object, const char *key, bool fallback);
/* Reads a time like "2026-11-20T11:17:55.123Z", or with an offset. Returns Unix
 * seconds, or 0 if the member is not such a time. */
int64_t json_time(const cJSON *object, const char *key);

/* Appends s as a JSON string. U+FFFD replaces invalid UTF-8, so the result is
 * always valid. Control characters (including C1), Unicode line ends and
 * characters that reorder text are escaped. */
void json_quote(struct buf *out, struct str s);
/* Appends "key":"value" without a comma. */
void json_member(struct buf *out, const char *key, struct str value);
/* Like json_member(), with a comma before it unless it is the object's first
 * member. value NULL: appends nothing. */
void json_add_member(struct buf *out, const char *key, const char *value);
/* Like json_member(), for a value that may contain any bytes. If it is not
 * UTF-8, invalid bytes become U+FFFD in it, and a second member "key_base64"
 * has the exact bytes. */
void json_member_bytes(struct buf *out, const char *key, struct str value);
/* Appends the bytes as base64, without quotes. */
void json_base64(struct buf *out, struct str bytes);
/* Decodes padded base64 and appends the bytes. Spaces and line ends are
 * skipped. False if text is not base64, or, with out->over set, if out is
 * full. */
bool json_decode_base64(struct buf *out, struct str text);
/* Appends a tree as one line without white space. */
void json_print(struct buf *out, const cJSON *tree);

/* A member that the caller wants from the document. A list of these ends with {
 * 0 }. */
struct json_split_key {
	const char *name;
	/* the value is an array, and each of its elements is reported
	 * separately */
	bool elements;
	size_t max; /* maximum bytes of the value, or of one element */
};

struct json_split;
struct json_split_sink {
	/* Called for each complete value, or element. line: the line of the
	 * document where it began. -1 stops the parsing. */
	int (*value)(void *arg, const struct json_split_key *key,
		     struct str text, const cJSON *tree, int64_t line,
		     struct error *err);
	void *arg;
};

/*
 * Parses untrusted JSON from chunks of any size, and needs memory for only one
 * value at a time. Members that are not wanted are skipped. Refuses values
 * nested deeper than 16 levels or with more than 100,000 members, and a second
 * occurrence of a wanted array. Errors name the line.
 */
struct json_split *json_split_new(const struct json_split_key *keys,
				  const struct json_split_sink *sink);
void json_split_free(struct json_split *s);
/* Return -1 with ERR_USAGE if the JSON is not valid or not of the expected
 * form, with ERR_LIMIT if a value is too large. */
int json_split_feed(struct json_split *s, struct str bytes, struct error *err);
int json_split_end(const struct json_split *s, struct error *err);
/* True if text is an object that can be parsed in little memory: at most 64
 * levels deep, with at most 100,000 members. */
bool json_split_is_object(struct str text);

#endif
