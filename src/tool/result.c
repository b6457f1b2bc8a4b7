/* result.c - limits and words that the results of several tools share. */
/* SPDX-License-Identifier: MIT */
#include "tool/result.h"

#include "base/mem.h"
#include "base/str.h"
#include "tool/paths.h"

const char result_truncated[] =
	"... [results truncated, try being more specific with your parameters]";

bool result_clip(struct str text, size_t chars, struct buf *out)
{
	size_t len = str_char_offset(text, chars);

	buf_add(out, text.ptr, len);
	return len == text.len;
}

void result_add_limited(struct str text, struct buf *out)
{
	if (!result_clip(text, RESULT_CHARS, out))
		buf_addf(out, "\n%s", result_truncated);
}

bool result_is_file_error(const struct error *err)
{
	return err->code != ERR_NETWORK && err->code != ERR_UNREACHABLE &&
	       err->code != ERR_TIMEOUT && err->code != ERR_CANCELLED &&
	       err->code != ERR_GONE && err->code != ERR_PROTOCOL &&
	       err->code != ERR_AUTH;
}

int result_file_failed(struct buf *out, const char *noun, const char *path,
		       const struct error *err)
{
	if (!result_is_file_error(err))
		buf_addf(out, "Error: %s", err->message);
	else
		buf_addf(out, "Error: %s '%s': %s", noun, path, err->message);
	return -1;
}

void result_mask_lines(const struct mask *m, struct buf *text)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct str rest = buf_str(text);

	if (!m)
		return;
	while (rest.len) {
		struct str line = { rest.ptr, str_find(rest, '\n') };

		mask_text(m, line, &out);
		if (line.len < rest.len)
			buf_addc(&out, '\n');
		rest = str_skip(rest, line.len + 1);
	}
	buf_release(text);
	*text = out;
}

int result_path(const struct tool_env *env, const cJSON *args, const char *name,
		char **path, struct error *err)
{
	if (env->real_path) {
		*path = xstrdup(env->real_path);
		return 0;
	}
	return paths_resolve(env->sandbox->workdir,
			     json_string(args, name, "."), path, err);
}

bool result_holds_secret(const struct mask *m, const char *text)
{
	struct buf masked = BUF_INIT(RESULT_RAW_BYTES);
	bool holds;

	mask_text(m, str_of(text), &masked);
	holds = !str_eq(buf_str(&masked), str_of(text));
	buf_release(&masked);
	return holds;
}
