/* http_error.c - what a user should read of a refused request. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clean.h"
#include "base/json.h"
#include "base/str.h"
#include "net/http.h"

enum { MESSAGE_MAX = 320 }; /* bytes quoted of a server's words */

static enum err code_of(int status)
{
	switch (status) {
	case 401:
	case 403:
		return ERR_AUTH;
	case 404:
		return ERR_NOT_FOUND;
	case 429:
		return ERR_LIMIT;
	default:
		return ERR_REMOTE;
	}
}

/* {"error":{"message":M}}, {"message":M}, {"error":M}, {"detail":M},
 * {"detail":{"message":M}}, {"detail":[{"msg":M}]}, [{"error":{"message":M}}].
 */
static const char *json_message(const cJSON *tree)
{
	const cJSON *error = json_get(tree, "error");
	const cJSON *detail = json_get(tree, "detail");
	const char *found = json_string(error, "message", NULL);

	if (!found)
		found = json_string(tree, "message", NULL);
	if (!found && cJSON_IsString(error))
		found = error->valuestring;
	if (!found)
		found = json_string(tree, "detail", NULL);
	if (!found)
		found = json_string(detail, "message", NULL);
	if (!found && cJSON_IsArray(detail) && detail->child)
		found = json_string(detail->child, "msg", NULL);
	if (!found && cJSON_IsArray(tree) && tree->child)
		found = json_string(json_get(tree->child, "error"), "message",
				    NULL);
	return found;
}

/* The first line that is not empty, cleaned; nothing for markup. */
static void first_line(struct str text, struct buf *out)
{
	struct buf whole = BUF_INIT((size_t)16 << 10);
	struct str rest;
	struct str line;

	clean_text(text, &whole);
	rest = buf_str(&whole);
	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		if (line.len && line.ptr[0] != '<') {
			buf_addstr(out, line);
			break;
		}
		if (line.len)
			break;
	}
	out->len = str_utf8_prefix(buf_str(out));
	buf_release(&whole);
}

int http_status_error(const struct http_response *res, const char *what,
		      struct error *err)
{
	struct str body = buf_str(&res->body);
	cJSON *tree = json_parse(body);
	const char *found = json_message(tree);
	struct buf line = BUF_INIT(MESSAGE_MAX);

	if (found)
		first_line((struct str){ found, strlen(found) }, &line);
	else if (!tree)
		first_line(body, &line);
	if (line.len)
		error_set(err, code_of(res->status), "%s: HTTP %d: %.*s", what,
			  res->status, (int)line.len, line.ptr);
	else
		error_set(err, code_of(res->status), "%s: HTTP %d", what,
			  res->status);
	buf_release(&line);
	cJSON_Delete(tree);
	return -1;
}
