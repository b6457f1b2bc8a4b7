/* exec.c - commands as supervised jobs over process/execute. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/daytona/daytona.h"

enum {
	BODY_MAX = 4 << 20,
	ARGUMENT_MAX = 120000, /* of one; Linux takes 128 KiB */
	SLACK_MS = 8000,       /* beyond the time that a request is held */
};

/*
 * Daemons from 0.160 on feed the text to a shell's input, older ones split it
 * into words and run them without a shell; base64 in the form that SDKs up to
 * 0.155 sent works on both. What is too long for one word needs the first
 * kind. The braces make the inner shell read all before it runs any, so that
 * nothing that reads its input takes the rest of the script.
 */
static void wrap(struct buf *out, struct str command)
{
	struct buf script = BUF_INIT(BODY_MAX);
	size_t room;
	char *code;
	bool word;

	buf_adds(&script, "{\n");
	buf_addstr(&script, command);
	buf_adds(&script, "\n} </dev/null\n");
	room = sodium_base64_encoded_len(script.len,
					 sodium_base64_VARIANT_ORIGINAL);
	code = xcalloc(1, room);
	sodium_bin2base64(code, room, (const unsigned char *)script.ptr,
			  script.len, sodium_base64_VARIANT_ORIGINAL);
	word = room < ARGUMENT_MAX;
	buf_adds(out, word ? "sh -c \"echo '" : "echo '");
	buf_adds(out, code);
	buf_adds(out, word ? "' | base64 -d | sh\"" : "' | base64 -d | sh");
	free(code);
	buf_release(&script);
}

static int compose(struct str command, int64_t wait_ms, struct buf *body,
		   struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	int rc;

	wrap(&text, command);
	buf_addc(body, '{');
	json_member(body, "command", buf_str(&text));
	buf_addf(body, ",\"cwd\":\"/\",\"timeout\":%lld}",
		 (long long)(wait_ms + SLACK_MS / 2 + 999) / 1000);
	rc = buf_check(&text, "the command", err);
	buf_release(&text);
	return rc < 0 ? -1 : buf_check(body, "the command", err);
}

/* {"exitCode":0,"result":"..."} */
static int parse_result(const struct http_response *res, struct buf *out,
			struct error *err)
{
	cJSON *tree = json_parse(buf_str(&res->body));
	const char *result = json_string(tree, "result", NULL);
	int rc = 0;

	if (!result)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no result of the "
			       "command");
	else
		buf_adds(out, result);
	cJSON_Delete(tree);
	return rc;
}

/* struct supervisor.call */
int daytona_call(void *arg, struct str command, int64_t wait_ms,
		 struct buf *out, const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	struct buf body = BUF_INIT(BODY_MAX);
	struct http_response res = { .retry_after_ms = -1 };
	struct rest_ask ask = {
		.method = "POST",
		.path = "/process/execute",
		.what = "running the command",
		.timeout_ms = wait_ms + SLACK_MS,
	};
	int rc;

	vendor_touch(sb, stop);
	rc = compose(command, wait_ms, &body, err);
	ask.body = buf_str(&body);
	if (rc == 0) {
		rc = vendor_send(sb, &ask, &res, stop, err);
		rc = rc < 0 ? vendor_exec_failed(sb, res.status, false, stop,
						 err)
			    : parse_result(&res, out, err);
	}
	http_response_release(&res);
	buf_release(&body);
	return rc;
}
