/* http_error.c - what a user should read of a refused request. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/http.h"

enum {
	MESSAGE_MAX = 320,  /* bytes quoted of a server's words, */
	LOCATION_MAX = 200, /* of the address that it points to */
};

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
 * {"detail":{"message":M}}, {"detail":{"error":M}}, {"detail":[{"msg":M}]},
 * [{"error":{"message":M}}].
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
	if (!found)
		found = json_string(detail, "error", NULL);
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

	sanitize_text(text, &whole);
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

/* {"error":{"code":C}}, {"code":C}, {"error_code":C}, {"__type":C}. */
static const char *json_reason(const cJSON *tree)
{
	const char *found = json_string(json_get(tree, "error"), "code", NULL);

	if (!found)
		found = json_string(tree, "code", NULL);
	if (!found)
		found = json_string(tree, "error_code", NULL);
	return found ? found : json_string(tree, "__type", "");
}

/* Attack: a proxy, or a server that was taken over, points elsewhere. Whoever
 * follows sends the key there; whoever takes it for success forgets a sandbox
 * that lives on. */
static void name_redirect(const struct http_response *res, struct error *err)
{
	struct buf address = BUF_INIT(LOCATION_MAX);

	sanitize_line(str_of(res->location), &address);
	address.len = str_utf8_prefix(buf_str(&address));
	if (address.len)
		error_set(err, ERR_REMOTE,
			  "HTTP %d: the server redirects to %.*s, and "
			  "redirects are not followed",
			  res->status, (int)address.len, address.ptr);
	else
		error_set(err, ERR_REMOTE,
			  "HTTP %d: the server redirects to another address, "
			  "and redirects are not followed",
			  res->status);
	buf_release(&address);
}

static void quote_body(const struct http_response *res, const cJSON *tree,
		       struct error *err)
{
	struct str body = buf_str(&res->body);
	const char *found = json_message(tree);
	struct buf line = BUF_INIT(MESSAGE_MAX);

	if (found)
		first_line(str_of(found), &line);
	else if (!tree)
		first_line(body, &line);
	error_set(err, code_of(res->status), "HTTP %d%s%.*s", res->status,
		  line.len ? ": " : "", (int)line.len,
		  line.len ? line.ptr : "");
	buf_release(&line);
}

int http_status_error(const struct http_response *res, const char *what,
		      struct error *err)
{
	bool redirect = res->status >= 300 && res->status < 400;
	cJSON *tree = redirect ? NULL : json_parse(buf_str(&res->body));

	if (redirect)
		name_redirect(res, err);
	else
		quote_body(res, tree, err);
	if (what)
		error_wrap(err, "%s", what);
	err->http_status = res->status;
	err->retry_after_ms = res->retry_after_ms > 0 ? res->retry_after_ms : 0;
	snprintf(err->reason, sizeof(err->reason), "%s", json_reason(tree));
	cJSON_Delete(tree);
	return -1;
}
