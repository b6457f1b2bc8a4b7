/* langsmith_frame_fuzz.c - whatever comes over the WebSocket is told apart. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "providers/langsmith/plane.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct langsmith_stream *s, struct str text)
{
	struct langsmith_frame f;
	struct error err = { 0 };
	struct str part = { 0 };
	int64_t before = s->at;

	if (parse_frame(&f, text, &err) < 0) {
		if (err.code != ERR_PROTOCOL)
			abort();
	} else if (f.kind == LANGSMITH_OUTPUT) {
		bool replaced = s->replaced;
		int rc = advance_stream(s, &f, &part);

		if (rc < 0 && s->at != before)
			abort();
		if (part.len > f.data.len)
			abort();
		if (rc == 0 && !replaced && s->at != before + (int64_t)part.len)
			abort();
	} else if (f.exit_code < 0 || f.exit_code > 255) {
		abort();
	}
	release_frame(&f);
}

/* One message a line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct langsmith_stream s = { 0 };
	struct str rest = { (const char *)data, size };
	struct str line;

	while (str_split(&rest, '\n', &line))
		parse(&s, line);
	return 0;
}
