/* frame.c - messages about a command over the WebSocket: pure. */
/* SPDX-License-Identifier: MIT */
#include "providers/langsmith/frame.h"

#include <string.h>

#include "base/str.h"

static enum langsmith_kind kind_of_error(const char *type)
{
	if (strcmp(type, "CommandTimeout") == 0)
		return LANGSMITH_TIMEOUT;
	if (strcmp(type, "SessionExpired") == 0 ||
	    strcmp(type, "CommandNotFound") == 0)
		return LANGSMITH_UNKNOWN;
	return LANGSMITH_FAILED;
}

static int parse_output(struct langsmith_frame *f, enum exec_stream stream,
			struct error *err)
{
	const char *data = json_string(f->tree, "data", NULL);

	f->kind = LANGSMITH_OUTPUT;
	f->stream = stream;
	f->offset = json_int(f->tree, "offset", -1);
	if (!data || f->offset < -1 || f->offset > INT64_MAX / 2)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no output");
	f->data = str_of(data);
	return 0;
}

static int parse_exit(struct langsmith_frame *f, struct error *err)
{
	const cJSON *code = json_get(f->tree, "exit_code");
	int64_t n = json_int(f->tree, "exit_code", -1);

	if (!cJSON_IsNumber(code) || n < -64 || n > 255)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no exit code");
	f->kind = LANGSMITH_EXIT;
	f->exit_code = (int)(n < 0 ? 128 - n : n);
	return 0;
}

int langsmith_frame_parse(struct langsmith_frame *f, struct str text,
			  struct error *err)
{
	const char *type;

	*f = (struct langsmith_frame){ .offset = -1, .message = "" };
	f->tree = json_parse(text);
	type = json_string(f->tree, "type", NULL);
	if (!type)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no message");
	if (strcmp(type, "started") == 0)
		f->kind = LANGSMITH_STARTED;
	else if (strcmp(type, "stdout") == 0)
		return parse_output(f, EXEC_STDOUT, err);
	else if (strcmp(type, "stderr") == 0)
		return parse_output(f, EXEC_STDERR, err);
	else if (strcmp(type, "exit") == 0)
		return parse_exit(f, err);
	if (strcmp(type, "error") == 0) {
		f->kind = kind_of_error(json_string(f->tree, "error_type", ""));
		f->message = json_string(f->tree, "error", "");
	}
	return 0;
}

void langsmith_frame_release(struct langsmith_frame *f)
{
	cJSON_Delete(f->tree);
	*f = (struct langsmith_frame){ 0 };
}

int langsmith_stream_advance(struct langsmith_stream *s,
			     const struct langsmith_frame *f, struct str *part)
{
	int64_t len = (int64_t)f->data.len;
	int64_t skip = f->offset < 0 ? 0 : s->at - f->offset;

	/* Where a byte became U+FFFD, counts of bytes mean nothing. */
	if (s->replaced)
		skip = 0;
	if (skip < 0)
		return -1;
	*part = str_skip(f->data, skip < len ? (size_t)skip : f->data.len);
	if (s->replaced && f->offset >= 0)
		s->at = f->offset + len;
	else
		s->at += (int64_t)part->len;
	if (str_search(*part, STR("\xEF\xBF\xBD")) < part->len)
		s->replaced = true;
	return 0;
}
