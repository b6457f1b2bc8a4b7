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

/* A member that is wanted; an array of these ends in { 0 }. */
struct json_split_key {
	const char *name;
	bool elements; /* an array whose elements come one by one */
	size_t max;    /* bytes of the value, or of one element */
};

struct json_split;
struct json_split_sink {
	/* A value that is complete. line is where it began. -1 ends it all. */
	int (*value)(void *arg, const struct json_split_key *key,
		     struct str text, const cJSON *tree, int64_t line,
		     struct error *err);
	void *arg;
};

/*
 * Bytes that nobody vouches for are fed as they come, cut anywhere; the memory
 * it takes is that of one value. Members that are not wanted are skipped.
 * Values nested deeper than 16 or with more than 100,000 members are refused,
 * and so is a wanted array that is there twice. Errors name the line.
 */
struct json_split *json_split_new(const struct json_split_key *keys,
				  const struct json_split_sink *sink);
void json_split_free(struct json_split *s);
/* ERR_USAGE for what is no such JSON, ERR_LIMIT for what is too large. */
int json_split_feed(struct json_split *s, struct str bytes, struct error *err);
int json_split_end(const struct json_split *s, struct error *err);
/* Whether text is an object that takes little memory to parse: nested no deeper
 * than 64, with the members that a value may have. */
bool json_split_is_object(struct str text);

#endif
