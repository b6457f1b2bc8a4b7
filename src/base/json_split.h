/* json_split.h - reads one large JSON object piece by piece. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_SPLIT_H
#define BASE_JSON_SPLIT_H

#include "base/json.h"

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
