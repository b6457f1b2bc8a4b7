/* thread_file_fuzz.c - what is read of a thread's file reads the same again. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "session/thread_file.h"
#include "ui/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	struct buf file; /* what was read, written anew */
	struct buf patch;
	struct html page;
	bool any;
};

static int take_piece(void *arg, struct str piece, struct error *err)
{
	static const char *const never[] = { "<script", "<img",  "<iframe",
					     "<svg",    "<base", NULL };

	(void)arg, (void)err;
	for (size_t i = 0; never[i]; i++)
		if (str_search(piece, str_of(never[i])) < piece.len)
			abort();
	return 0;
}

static int take_message(void *arg, struct message *m, int64_t created,
			struct error *err)
{
	struct reading *r = arg;

	(void)err;
	thread_file_message(m, created, !r->any, &r->file);
	html_page_message(&r->page, m);
	r->any = true;
	return 0;
}

static int take_patch(void *arg, struct str bytes, struct error *err)
{
	struct reading *r = arg;

	(void)err;
	buf_addstr(&r->patch, bytes);
	return 0;
}

static int read_file(struct reading *r, struct str file, size_t step)
{
	const struct thread_reader_sink sink = { take_message, take_patch, r };
	struct thread_reader *reader = thread_reader_new(&sink);
	struct thread_file head;
	struct error err = { 0 };
	int rc = 0;

	r->page = HTML_INIT(NULL, take_piece, NULL);
	if (html_markdown_load(&r->page, &err) < 0)
		abort();
	while (file.len && rc == 0) {
		size_t n = file.len < step ? file.len : step;

		rc = thread_reader_feed(reader, (struct str){ file.ptr, n },
					&err);
		file = str_skip(file, n);
	}
	if (rc == 0)
		rc = thread_reader_end(reader, &head, &err);
	if (rc < 0 && !err.message[0])
		abort();
	thread_file_end(&r->file);
	html_end(&r->page, &err);
	thread_reader_free(reader);
	return rc;
}

/* First byte: how many bytes are fed at a time. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading one = { .file = BUF_INIT(16 << 20),
			       .patch = BUF_INIT(1 << 20) };
	struct reading two = one;
	struct thread_file head = { .title = "t" };

	if (!size)
		return 0;
	thread_file_begin(&head, &one.file);
	thread_file_begin(&head, &two.file);
	if (read_file(&one, (struct str){ (const char *)data + 1, size - 1 },
		      data[0] % 61 + 1) == 0 &&
	    one.any) {
		if (read_file(&two, buf_str(&one.file), 8192) < 0 ||
		    !str_eq(buf_str(&one.file), buf_str(&two.file)))
			abort();
	}
	buf_release(&one.file);
	buf_release(&one.patch);
	buf_release(&two.file);
	buf_release(&two.patch);
	return 0;
}
