/* output.c - all output of an execution, from its event stream. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/sse.h"
#include "providers/runloop/runloop.h"

enum { STREAM_MS = 60000, TRIES = 4 };

struct stream {
	struct sse sse;
	struct buf *out;
	size_t start; /* of this stream in out */
};

/* {"offset":N,"output":"..."}: what we have already is left out. */
static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	struct stream *s = arg;
	cJSON *tree = json_parse(data);
	struct str text = str_of(json_string(tree, "output", ""));
	int64_t have = (int64_t)(s->out->len - s->start);
	int64_t at = json_int(tree, "offset", have);
	int rc = 0;

	if (str_is(event, "error")) {
		/* 408: it was silent for too long. */
		rc = error_set(err,
			       json_int(tree, "code", 0) == 408 ? ERR_NETWORK
								: ERR_REMOTE,
			       "%.200s",
			       json_string(tree, "message", "(no message)"));
	} else if (!tree || at < 0 || at > have) {
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: a part of the "
			       "output is missing");
	} else if (at + (int64_t)text.len > have) {
		buf_addstr(s->out, str_skip(text, (size_t)(have - at)));
		rc = buf_check(s->out, "the answer", err);
	}
	cJSON_Delete(tree);
	return rc;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct stream *s = arg;

	return sse_feed(&s->sse, chunk, on_event, s, err);
}

static int read_once(struct sandbox *sb, const char *execution,
		     struct stream *s, const struct stop *stop,
		     struct error *err)
{
	static const char *const headers[] = { "Accept: text/event-stream",
					       NULL };
	char *path = xasprintf("/v1/devboxes/%s/executions/%s/"
			       "stream_stdout_updates?offset=%zu",
			       sb->id, execution, s->out->len - s->start);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "reading the output",
				.timeout_ms = STREAM_MS,
				.data = on_data,
				.arg = s,
				.headers = headers };
	int rc;

	sse_init(&s->sse);
	rc = runloop_api(runloop_of(sb->host), &ask, NULL, NULL, stop, err);
	sse_release(&s->sse);
	free(path);
	return rc;
}

int runloop_output(struct sandbox *sb, const char *execution, struct buf *out,
		   const struct stop *stop, struct error *err)
{
	struct stream s = { .out = out, .start = out->len };

	for (int i = 1;; i++) {
		struct error why = { 0 };

		if (read_once(sb, execution, &s, stop, &why) == 0)
			return 0;
		if (why.code != ERR_NETWORK || i == TRIES) {
			*err = why;
			return -1;
		}
		if (stop_check(stop, err) < 0)
			return -1;
	}
}
