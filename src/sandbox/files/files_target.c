/* files_target.c - where an operation on a path acts, links resolved. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/files/files_impl.h"

enum { BELOW_BYTES = 8 << 20 };

void files_target_release(struct files_target *target)
{
	free(target->real);
	free(target->workdir);
	buf_release(&target->below);
	*target = (struct files_target){ 0 };
}

/* Takes "/a//b/./c" off the body; NULL for what is no such path. A part that
 * does not exist yet may come from a link and hold "..": nothing can be said
 * of where that leads. */
static char *take_path(struct str *body)
{
	struct buf path = BUF_INIT(1 << 16);
	struct str part;
	struct str all;

	if (!str_split(body, '\0', &all) || !str_starts(all, "/"))
		return NULL;
	while (str_split(&all, '/', &part)) {
		if (str_is(part, "..")) {
			buf_release(&path);
			return NULL;
		}
		if (!part.len || str_is(part, "."))
			continue;
		buf_addc(&path, '/');
		buf_addstr(&path, part);
	}
	if (!path.len)
		buf_addc(&path, '/');
	return buf_detach(&path);
}

static int parse(const struct helper *h, struct files_target *target,
		 struct error *err)
{
	static const char *const kinds[] = {
		[TARGET_NONE] = "none",   [TARGET_FILE] = "file",
		[TARGET_DIR] = "dir",     [TARGET_LINK] = "link",
		[TARGET_OTHER] = "other",
	};
	struct str body = buf_str(&h->out);
	struct str words = str_skip(str_of(h->status), strlen("ok "));
	const char *numbers;
	struct str kind;

	if (!str_split(&words, ' ', &kind))
		kind = (struct str){ 0 };
	for (size_t i = TARGET_NONE; i <= TARGET_OTHER; i++)
		if (str_is(kind, kinds[i]))
			target->kind = i;
	numbers = words.ptr ? words.ptr : "";
	target->names = helper_number(&numbers);
	target->git = helper_number(&numbers) != 0;
	target->real = take_path(&body);
	target->workdir = take_path(&body);
	buf_addstr(&target->below, body);
	if (!target->kind || target->names < 1 || !target->workdir)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: %s", h->status);
	if (!target->real)
		return error_set(err, ERR_REMOTE, "path_not_found");
	if (target->below.len >= BELOW_BYTES)
		return error_set(err, ERR_LIMIT,
				 "the directory holds too many files");
	return 0;
}

int files_resolve(struct sandbox *sb, const char *path, unsigned how,
		  struct files_target *target, const struct stop *stop,
		  struct error *err)
{
	char number[24];
	struct helper h = { .script = HELPER_RESOLVE,
			    .args = { str_of(path), str_of(sb->workdir),
				      how & RESOLVE_SELF ? STR("self")
							 : STR("") },
			    .n_args = 4,
			    .source = "none",
			    .timeout_ms = FILES_HELPER_MS,
			    .out = BUF_INIT(BELOW_BYTES + (1 << 17)) };
	int rc = -1;

	h.args[3] =
		helper_decimal(how & RESOLVE_BELOW ? BELOW_BYTES : 0, number);
	*target = (struct files_target){ .below = BUF_INIT(BELOW_BYTES) };
	if (helper_run(sb, &h, stop, err) == 0 && files_answered(&h, err) == 0)
		rc = parse(&h, target, err);
	buf_release(&h.out);
	return rc;
}
