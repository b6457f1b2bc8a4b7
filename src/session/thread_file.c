/* thread_file.c - writes a thread as one file. */
/* SPDX-License-Identifier: MIT */
#include "session/thread_file.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/str.h"

static bool given(const char *text)
{
	return text && text[0];
}

void thread_file_begin(const struct thread_file *head, struct buf *out)
{
	buf_addf(out,
		 "{\"format\":\"dcode-thread\",\"version\":%d,\n"
		 "\"thread\":{",
		 THREAD_FILE_VERSION);
	json_member(out, "id", str_of(head->id));
	buf_addc(out, ',');
	json_member(out, "title", str_of(head->title));
	buf_addf(out, ",\"created\":%" PRId64 "},\n", head->created);
	if (given(head->provider) && given(head->sandbox)) {
		buf_adds(out, "\"sandbox\":{");
		json_member(out, "provider", str_of(head->provider));
		buf_addc(out, ',');
		json_member(out, "id", str_of(head->sandbox));
		buf_adds(out, "},\n");
	}
	if (given(head->patch)) {
		buf_adds(out, "\"patch\":{");
		json_member(out, "name", str_of(head->patch));
		buf_adds(out, "},\n");
	}
	if (head->compactions && head->compactions->n) {
		buf_adds(out, "\"compactions\":");
		compaction_marks_json(head->compactions, out);
		buf_adds(out, ",\n");
	}
	buf_adds(out, "\"messages\":[");
}

void thread_file_message(const struct message *m, int64_t created, bool first,
			 struct buf *out)
{
	struct buf json = BUF_INIT(SIZE_MAX / 4);

	message_to_json(m, &json);
	buf_addf(out, "%s\n{\"created\":%" PRId64 ",", first ? "" : ",",
		 created);
	buf_addstr(out, str_skip(buf_str(&json), 1));
	buf_release(&json);
}

void thread_file_patch(struct str chunk, bool first, struct buf *out)
{
	buf_adds(out, first ? "\n],\n\"patch_base64\":[\n\"" : ",\n\"");
	json_base64(out, chunk);
	buf_addc(out, '"');
}

void thread_file_end(struct buf *out)
{
	buf_adds(out, "\n]}\n");
}
