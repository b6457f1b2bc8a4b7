/* batch.c - many objects of a repository, read by one git. */
/* SPDX-License-Identifier: MIT */
#include "git/batch.h"

#include <stdio.h>

#include "base/str.h"

enum { LINE_MAX_BYTES = 4096, BATCH_MS = 3600000, TYPE_MAX = 16 };

static int begin_object(struct object_batch *b, struct error *err)
{
	struct str line = buf_str(&b->line);
	struct str oid = { NULL, 0 };
	struct str type = { NULL, 0 };
	struct batch_object o = { .i = b->next++, .oid = "", .type = "" };
	char oid_text[GIT_OID] = "";
	char type_text[TYPE_MAX] = "";

	if (o.i == b->asked)
		return error_set(err, ERR_PROTOCOL,
				 "git cat-file: more objects than asked for");
	if (str_ends(line, " missing")) {
		o.size = -1;
		return b->begin(b->arg, &o, err);
	}
	if (!str_split(&line, ' ', &oid) || !str_split(&line, ' ', &type) ||
	    !str_to_int(line, &o.size) || o.size < 0 || oid.len >= GIT_OID ||
	    type.len >= TYPE_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "git cat-file: a broken answer");
	snprintf(oid_text, sizeof(oid_text), "%.*s", (int)oid.len, oid.ptr);
	snprintf(type_text, sizeof(type_text), "%.*s", (int)type.len, type.ptr);
	o.oid = oid_text;
	o.type = type_text;
	b->left = b->data ? o.size + 1 : 0;
	return b->begin(b->arg, &o, err);
}

/* The bytes of the object at hand; its line end is none of them. */
static int take_data(struct object_batch *b, struct str *chunk,
		     struct error *err)
{
	struct str bytes = *chunk;
	bool ends;

	if ((int64_t)bytes.len > b->left)
		bytes.len = (size_t)b->left;
	*chunk = str_skip(*chunk, bytes.len);
	b->left -= (int64_t)bytes.len;
	ends = b->left == 0;
	bytes.len -= ends;
	return bytes.len ? b->data(b->arg, bytes, err) : 0;
}

static int on_chunk(void *arg, struct str chunk, struct error *err)
{
	struct object_batch *b = arg;
	int rc = 0;

	while (rc == 0 && chunk.len) {
		size_t n = str_find(chunk, '\n');

		if (b->left) {
			rc = take_data(b, &chunk, err);
			continue;
		}
		buf_add(&b->line, chunk.ptr, n);
		if (n == chunk.len)
			return buf_check(&b->line, "an object's name", err);
		chunk = str_skip(chunk, n + 1);
		rc = begin_object(b, err);
		buf_clear(&b->line);
	}
	return rc;
}

int batch_read(const struct git *g, struct str names, struct object_batch *b,
	       const struct stop *stop, struct error *err)
{
	const char *bytes[] = { "cat-file", "--batch", "--buffer", NULL };
	const char *sizes[] = { "cat-file", "--batch-check", "--buffer", NULL };
	struct git_request r = { .argv = b->data ? bytes : sizes,
				 .input = names,
				 .sink = on_chunk,
				 .sink_arg = b,
				 .timeout_ms = BATCH_MS };
	int rc;

	b->line = BUF_INIT(LINE_MAX_BYTES);
	b->next = 0;
	b->left = 0;
	b->asked = 0;
	for (size_t i = 0; i < names.len; i++)
		b->asked += names.ptr[i] == '\n';
	rc = git_run(g, &r, stop, err);
	if (rc == 0 && (b->next < b->asked || b->left || b->line.len))
		rc = error_set(err, ERR_PROTOCOL,
			       "git cat-file: fewer objects than asked for");
	buf_release(&b->line);
	return rc;
}
