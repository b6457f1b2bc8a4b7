/* files.c - checks of uploads and downloads, and of the tools. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "tool/tool.h"

enum { NAME_MAX_BYTES = 4096 };

/* Pseudorandom bytes, and the hashes of what was uploaded and downloaded. */
struct stuff {
	uint64_t state;
	int64_t left, got;
	crypto_hash_sha256_state up, down;
};

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct stuff *s = arg;
	size_t n = (int64_t)len > s->left ? (size_t)s->left : len;

	(void)err;
	for (size_t i = 0; i < n; i++) {
		s->state ^= s->state << 13;
		s->state ^= s->state >> 7;
		s->state ^= s->state << 17;
		room[i] = (char)(s->state >> 24);
	}
	crypto_hash_sha256_update(&s->up, (unsigned char *)room, n);
	s->left -= (int64_t)n;
	return (int64_t)n;
}

static int keep_hash(void *arg, struct str chunk, struct error *err)
{
	struct stuff *s = arg;

	(void)err;
	s->got += (int64_t)chunk.len;
	crypto_hash_sha256_update(&s->down, (const unsigned char *)chunk.ptr,
				  chunk.len);
	return 0;
}

static enum contract_verdict file_failed(struct contract *c, const char *way,
					 int rc, const struct transfer *t,
					 const struct error *err)
{
	return contract_fail(c, "%s: %s%s%s", way,
			     rc < 0 ? err->message : file_error_name(t->error),
			     rc == 0 && t->detail[0] ? ": " : "",
			     rc == 0 ? t->detail : "");
}

/* Uploads and downloads a file. Its size is also checked in the sandbox. */
static enum contract_verdict round_trip(struct contract *c, const char *path,
					int64_t size)
{
	struct stuff s = { .state = 88172645463325252u, .left = size };
	struct transfer t = {
		.path = path, .size = size, .read = give, .arg = &s
	};
	unsigned char up[crypto_hash_sha256_BYTES];
	unsigned char down[crypto_hash_sha256_BYTES];
	struct error err = { 0 };
	int64_t began = clock_ms();
	int rc;

	crypto_hash_sha256_init(&s.up);
	crypto_hash_sha256_init(&s.down);
	rc = sandbox_upload(c->sb, &t, 1, &c->stop, &err);
	if (rc < 0 || t.error != FILE_OK)
		return file_failed(c, "up", rc, &t, &err);
	c->summary->upload_kib_s = contract_speed(size, began);
	began = clock_ms();
	t = (struct transfer){ .path = path, .write = keep_hash, .arg = &s };
	rc = sandbox_download(c->sb, &t, 1, &c->stop, &err);
	if (rc < 0 || t.error != FILE_OK)
		return file_failed(c, "down", rc, &t, &err);
	c->summary->download_kib_s = contract_speed(size, began);
	crypto_hash_sha256_final(&s.up, up);
	crypto_hash_sha256_final(&s.down, down);
	if (s.got != size)
		return contract_fail(c, "%lld bytes came back",
				     (long long)s.got);
	if (memcmp(up, down, sizeof(up)) != 0)
		return contract_fail(c, "other bytes came back");
	return CONTRACT_OK;
}

enum contract_verdict check_file(struct contract *c)
{
	char *name = xasprintf("new/size-%s", c->check->arg);
	char *path = contract_path(c, name);
	char *command = xasprintf("wc -c <'%s' | tr -d ' '", path);
	char *want = xasprintf("%s\n", c->check->arg);
	int64_t size = 0;
	enum contract_verdict verdict;

	(void)str_to_int(str_of(c->check->arg), &size);
	verdict = round_trip(c, path, size);
	if (verdict == CONTRACT_OK)
		verdict = contract_expect(c, command, 0, want, "");
	free(name);
	free(path);
	free(command);
	free(want);
	return verdict;
}

static int64_t give_text(void *arg, char *room, size_t len, struct error *err)
{
	struct str *rest = arg;
	size_t n = rest->len < len ? rest->len : len;

	(void)err;
	memcpy(room, rest->ptr, n);
	*rest = str_skip(*rest, n);
	return (int64_t)n;
}

static int keep_text(void *arg, struct str chunk, struct error *err)
{
	struct buf *b = arg;

	buf_addstr(b, chunk);
	return buf_check(b, "the file", err);
}

static const char *const names[] = {
	"with space",
	"quote'\"",
	"$HOME $(x)`y`",
	"star*?[a]",
	"-dash",
	"new\nline",
	"\303\274ml",
	"back\\slash",
	"%2e%2f+&#",
	"tab\tx",
	"\377 is no UTF-8",
	" spaces ",
	"line end\r",
	"a;b&c|d<e>",
	"~",
	"a name as long as a name may be ------------------------------------"
	"----------------------------------------------------------------------"
	"-"
	"----------------------------------------------------------------------"
	"-"
	"------------------------------------------xx",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* Transfers all files in one call each way: errors and order are per file. */
enum contract_verdict check_names(struct contract *c)
{
	struct transfer t[NAMES];
	struct str text[NAMES];
	struct buf got[NAMES];
	char *path[NAMES];
	struct error err = { 0 };
	enum contract_verdict verdict = CONTRACT_OK;
	int rc;

	for (size_t i = 0; i < NAMES; i++) {
		path[i] = contract_path(c, names[i]);
		text[i] = str_of(names[i]);
		got[i] = BUF_INIT(NAME_MAX_BYTES);
		t[i] = (struct transfer){ .path = path[i],
					  .size = (int64_t)text[i].len,
					  .read = give_text,
					  .arg = &text[i] };
	}
	rc = sandbox_upload(c->sb, t, NAMES, &c->stop, &err);
	for (size_t i = 0; i < NAMES && verdict == CONTRACT_OK; i++)
		if (rc < 0 || t[i].error != FILE_OK)
			verdict = file_failed(c, names[i], rc, &t[i], &err);
	for (size_t i = 0; i < NAMES; i++)
		t[i] = (struct transfer){ .path = path[i],
					  .write = keep_text,
					  .arg = &got[i] };
	if (verdict == CONTRACT_OK)
		rc = sandbox_download(c->sb, t, NAMES, &c->stop, &err);
	for (size_t i = 0; i < NAMES && verdict == CONTRACT_OK; i++) {
		if (rc < 0 || t[i].error != FILE_OK)
			verdict = file_failed(c, names[i], rc, &t[i], &err);
		else if (!str_is(buf_str(&got[i]), names[i]))
			verdict =
				contract_fail(c, "'%s' holds '%.40s'", names[i],
					      got[i].ptr ? got[i].ptr : "");
	}
	for (size_t i = 0; i < NAMES; i++) {
		free(path[i]);
		buf_release(&got[i]);
	}
	return verdict;
}

static enum contract_verdict fails_with(struct contract *c, const char *path,
					enum file_error want)
{
	struct buf got = BUF_INIT(NAME_MAX_BYTES);
	struct transfer t = { .path = path, .write = keep_text, .arg = &got };
	struct error err = { 0 };
	int rc = sandbox_download(c->sb, &t, 1, &c->stop, &err);

	buf_release(&got);
	if (rc == 0 && t.error == want)
		return CONTRACT_OK;
	return contract_fail(c, "%s gives %s, not %s", path,
			     rc < 0 ? err.message : file_error_name(t.error),
			     file_error_name(want));
}

/* Checks that an upload to this path fails with this error. */
static enum contract_verdict refuses(struct contract *c, const char *path,
				     enum file_error want)
{
	struct str text = STR("x");
	struct transfer t = {
		.path = path, .size = 1, .read = give_text, .arg = &text
	};
	struct error err = { 0 };
	int rc = sandbox_upload(c->sb, &t, 1, &c->stop, &err);

	if (rc == 0 && t.error == want)
		return CONTRACT_OK;
	return contract_fail(c, "writing %s gives %s, not %s", path,
			     rc < 0 ? err.message : file_error_name(t.error),
			     file_error_name(want));
}

/* Checks that errors are per file: a valid file between invalid ones
 * arrives. */
static enum contract_verdict good_among_bad(struct contract *c,
					    const char *missing)
{
	char *good = contract_path(c, "good");
	struct buf got = BUF_INIT(NAME_MAX_BYTES);
	struct str text = STR("it is\n");
	struct transfer up = { .path = good,
			       .size = (int64_t)text.len,
			       .read = give_text,
			       .arg = &text };
	struct transfer t[] = {
		{ .path = missing, .write = keep_text, .arg = &got },
		{ .path = good, .write = keep_text, .arg = &got },
		{ .path = c->dir, .write = keep_text, .arg = &got },
	};
	enum contract_verdict verdict = CONTRACT_OK;
	struct error err = { 0 };

	if (sandbox_upload(c->sb, &up, 1, &c->stop, &err) < 0 ||
	    sandbox_download(c->sb, t, 3, &c->stop, &err) < 0)
		verdict = contract_fail(c, "%s", err.message);
	else if (t[0].error != FILE_NOT_FOUND || t[1].error != FILE_OK ||
		 t[2].error != FILE_IS_DIRECTORY ||
		 !str_is(buf_str(&got), "it is\n"))
		verdict = contract_fail(c, "in one call they mix: %s, %s, %s",
					file_error_name(t[0].error),
					file_error_name(t[1].error),
					file_error_name(t[2].error));
	buf_release(&got);
	free(good);
	return verdict;
}

enum contract_verdict check_file_errors(struct contract *c)
{
	char *missing = contract_path(c, "is/missing");
	char *locked = contract_path(c, "locked");
	char *command = xasprintf("echo x >'%s'; chmod 0 '%s';"
				  " cat '%s' 2>/dev/null; echo end",
				  locked, locked, locked);
	struct exec_request req = { .command = str_of(command) };
	enum contract_verdict verdict;
	struct ran r = { 0 };

	verdict = fails_with(c, missing, FILE_NOT_FOUND);
	if (verdict == CONTRACT_OK)
		verdict = fails_with(c, c->dir, FILE_IS_DIRECTORY);
	if (verdict == CONTRACT_OK)
		verdict = fails_with(c, "relative/path", FILE_INVALID_PATH);
	if (verdict == CONTRACT_OK)
		verdict = refuses(c, c->dir, FILE_IS_DIRECTORY);
	if (verdict == CONTRACT_OK)
		verdict = refuses(c, "relative/path", FILE_INVALID_PATH);
	if (verdict == CONTRACT_OK)
		verdict = good_among_bad(c, missing);
	if (verdict != CONTRACT_OK)
		;
	else if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (strcmp(r.out.ptr, "end\n") != 0)
		snprintf(c->reason, sizeof(c->reason),
			 "permission_denied not tried: its user reads all");
	else
		verdict = fails_with(c, locked, FILE_PERMISSION_DENIED);
	ran_release(&r);
	req.command = STR("rm -f locked"); /* a snapshot could not read it */
	req.cwd = c->dir;
	(void)contract_exec(c, &req, &r, NULL);
	ran_release(&r);
	free(missing);
	free(locked);
	free(command);
	return verdict;
}

/* In the order of the checks; @ is replaced by the directory. */
static const struct {
	const char *tool, *args, *want;
} calls[] = {
	{ "write_file",
	  "{\"file_path\":\"@/t.txt\",\"content\":\"one\\ntwo\\nthree\\n\"}",
	  "t.txt" },
	{ "read_file", "{\"file_path\":\"@/t.txt\"}", "two" },
	{ "edit_file",
	  "{\"file_path\":\"@/t.txt\",\"old_string\":\"two\","
	  "\"new_string\":\"zwei\"}",
	  "t.txt" },
	{ "grep",
	  "{\"pattern\":\"zwei\",\"path\":\"@\",\"output_mode\":\"content\"}",
	  "t.txt" },
	{ "glob", "{\"pattern\":\"t.*\",\"path\":\"@\"}", "/t.txt" },
	{ "ls", "{\"path\":\"@\"}", "/t.txt" },
	{ "execute", "{\"command\":\"cat '@/t.txt'\"}", "one\nzwei\nthree" },
	{ "delete", "{\"file_path\":\"@/t.txt\"}", "t.txt" },
};

static char *with_dir(const struct contract *c, const char *args)
{
	struct buf quoted = BUF_INIT(1 << 16);
	struct buf out = BUF_INIT(1 << 18);

	json_quote(&quoted, str_of(c->dir));
	for (; *args; args++) {
		if (*args == '@') /* without the quotes */
			buf_add(&out, quoted.ptr + 1, quoted.len - 2);
		else
			buf_addc(&out, *args);
	}
	buf_release(&quoted);
	return buf_detach(&out);
}

enum contract_verdict check_tool(struct contract *c)
{
	struct tool_env env = { .sandbox = c->sb,
				.stop = &c->stop,
				.mask = c->request->mask };
	struct buf out = BUF_INIT(TOOL_RESULT_BYTES);
	struct error err = { 0 };
	char id[] = "contract";
	char *name = xstrdup(c->check->arg);
	struct part part = { .kind = PART_TOOL_CALL, .id = id, .name = name };
	enum contract_verdict verdict = CONTRACT_OK;
	bool failed = false;
	size_t i = 0;

	while (strcmp(calls[i].tool, name) != 0)
		i++;
	part.args = with_dir(c, calls[i].args);
	if (tool_call(&env, &part, &out, &failed, &err) < 0)
		verdict = contract_fail(c, "%s", err.message);
	else if (failed ||
		 str_search(buf_str(&out), str_of(calls[i].want)) == out.len)
		verdict = contract_fail(c, "%.300s", out.ptr);
	free(part.args);
	free(name);
	buf_release(&out);
	return verdict;
}
