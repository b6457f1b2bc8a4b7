/* files.c - checks of uploads and downloads, and of the tools. */
/* SPDX-License-Identifier: MIT */

/*
 * Files of many sizes and names are uploaded and downloaded and must come back
 * unchanged. An invalid file must not make other files fail. Then each tool
 * that works with files is called once. The table at the end lists the checks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "contract/check.h"
#include "tool/tool.h"

enum { NAME_MAX_BYTES = 4096, ODD_BYTES = 70000 };

/* Returns "DIR/NAME", owned. */
static char *inside(const struct contract *c, const char *name)
{
	return xasprintf("%s/%s", c->dir, name);
}

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

/* Uploads and downloads a file. mode: see struct transfer. */
static enum contract_verdict round_trip(struct contract *c, const char *path,
					int64_t size, int mode)
{
	struct stuff s = { .state = 88172645463325252u, .left = size };
	struct transfer t = { .path = path,
			      .size = size,
			      .mode = mode,
			      .read = give,
			      .arg = &s };
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

/* Transfers a file whose size is check->arg; compares the size in the sandbox
 * too. */
static enum contract_verdict check_file(struct contract *c)
{
	char *name = xasprintf("new/size-%s", c->check->arg);
	char *path = inside(c, name);
	char *command = xasprintf("wc -c <'%s' | tr -d ' '", path);
	char *want = xasprintf("%s\n", c->check->arg);
	int64_t size = 0;
	enum contract_verdict verdict;

	(void)str_to_int(str_of(c->check->arg), &size);
	verdict = round_trip(c, path, size, 0);
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

/* Transfers a file with an unusual name that is too large for a command. */
static enum contract_verdict odd_file(struct contract *c)
{
	char *path = inside(c, "a b'c\"d?e&f%g\\h\377\n");
	enum contract_verdict verdict = round_trip(c, path, ODD_BYTES, 0);

	free(path);
	return verdict;
}

/* Transfers all files in one call each way. The results must have the order of
 * the requests, and each file its own error. */
static enum contract_verdict check_names(struct contract *c)
{
	struct transfer t[NAMES];
	struct str text[NAMES];
	struct buf got[NAMES];
	char *path[NAMES];
	struct error err = { 0 };
	enum contract_verdict verdict = CONTRACT_OK;
	int rc;

	for (size_t i = 0; i < NAMES; i++) {
		path[i] = inside(c, names[i]);
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
	return verdict == CONTRACT_OK ? odd_file(c) : verdict;
}

/* Checks that the mode of an upload is set, and that the directory contains
 * only the uploaded files: no part of a file that was uploaded in parts. */
static enum contract_verdict check_modes(struct contract *c)
{
	char *one = inside(c, "modes/one");
	char *two = inside(c, "modes/two");
	char *command = xasprintf(
		"cd '%s/modes' && stat -c %%a one two && ls -A", c->dir);
	enum contract_verdict verdict = round_trip(c, two, 1 << 20, 0755);

	if (verdict == CONTRACT_OK)
		verdict = round_trip(c, one, 1, 0755);
	if (verdict == CONTRACT_OK)
		verdict = contract_expect(c, command, 0, "755\n755\none\ntwo\n",
					  "");
	free(one);
	free(two);
	free(command);
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

/* Checks that an upload of size bytes to path fails with the error want;
 * FILE_OK: that it succeeds. */
static enum contract_verdict refuses(struct contract *c, const char *path,
				     enum file_error want, int64_t size)
{
	struct stuff s = { .state = 88172645463325252u, .left = size };
	struct transfer t = {
		.path = path, .size = size, .read = give, .arg = &s
	};
	struct error err = { 0 };
	int rc;

	crypto_hash_sha256_init(&s.up);
	rc = sandbox_upload(c->sb, &t, 1, &c->stop, &err);
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
	char *good = inside(c, "good");
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

/* Checks that a download of a path fails with the error down, and an upload
 * with up. name: a name in the test directory; "": that directory; NULL: a
 * relative path. */
static enum contract_verdict both_fail(struct contract *c, const char *name,
				       enum file_error down, enum file_error up)
{
	char *path = !name     ? xstrdup("relative/path")
		     : name[0] ? inside(c, name)
			       : xstrdup(c->dir);
	enum contract_verdict verdict = fails_with(c, path, down);
	int64_t size = 1;

	(void)str_to_int(str_of(c->check->arg), &size);
	if (verdict == CONTRACT_OK)
		verdict = refuses(c, path, up, size);
	free(path);
	return verdict;
}

/* Checks a file that its owner may not read. Not possible if the sandbox's user
 * can read every file, like root. */
static enum contract_verdict locked_file(struct contract *c)
{
	struct exec_request req = {
		.command = STR("echo x >locked; chmod 0 locked;"
			       " cat locked 2>/dev/null; echo end"),
		.cwd = c->dir,
	};
	enum contract_verdict verdict = CONTRACT_OK;
	struct ran r = { 0 };

	if (contract_exec(c, &req, &r, NULL) < 0)
		verdict = contract_fail(c, "%s", r.error.message);
	else if (strcmp(r.out.ptr, "end\n") != 0)
		snprintf(c->reason, sizeof(c->reason),
			 "permission_denied not tested: this user can read "
			 "every file");
	else
		verdict = both_fail(c, "locked", FILE_PERMISSION_DENIED,
				    FILE_PERMISSION_DENIED);
	ran_release(&r);
	/* a snapshot of the sandbox could fail on an unreadable file */
	req.command = STR("rm -f locked");
	(void)contract_exec(c, &req, &r, NULL);
	ran_release(&r);
	return verdict;
}

/* Checks the errors for a missing file, a directory, a relative path and a file
 * without permission, and that a valid file among invalid ones arrives. */
static enum contract_verdict check_file_errors(struct contract *c)
{
	char *missing = inside(c, "is/missing");
	enum contract_verdict verdict = fails_with(c, missing, FILE_NOT_FOUND);

	if (verdict == CONTRACT_OK)
		verdict =
			both_fail(c, "", FILE_IS_DIRECTORY, FILE_IS_DIRECTORY);
	if (verdict == CONTRACT_OK)
		verdict = both_fail(c, NULL, FILE_INVALID_PATH,
				    FILE_INVALID_PATH);
	if (verdict == CONTRACT_OK)
		verdict = good_among_bad(c, missing);
	free(missing);
	return verdict == CONTRACT_OK ? locked_file(c) : verdict;
}

/* Checks a path whose parent is a file, so that there is nothing to read and
 * nowhere to write. Some providers use another error for it. */
static enum contract_verdict check_below_file(struct contract *c)
{
	static const int64_t sizes[] = { 1, 3 << 20 };
	char *plain = inside(c, "plain-file");
	char *below = inside(c, "plain-file/x");
	enum contract_verdict verdict = refuses(c, plain, FILE_OK, 1);

	if (verdict == CONTRACT_OK &&
	    (refuses(c, below, FILE_OK, 1) == CONTRACT_OK ||
	     fails_with(c, below, FILE_OK) == CONTRACT_OK))
		verdict = contract_fail(c, "a file can be below a file");
	else if (verdict == CONTRACT_OK &&
		 fails_with(c, below, FILE_NOT_FOUND) != CONTRACT_OK)
		verdict = CONTRACT_NA;
	for (size_t i = 0; i < 2 && verdict == CONTRACT_OK; i++)
		if (refuses(c, below, FILE_INVALID_PATH, sizes[i]) !=
		    CONTRACT_OK)
			verdict = CONTRACT_NA;
	if (verdict == CONTRACT_OK)
		c->reason[0] = '\0';
	free(plain);
	free(below);
	return verdict;
}

/* The tool calls, in the order of their checks. @ is replaced by the test
 * directory; the result must contain want. */
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
		/* inserts the JSON string without its quotes */
		if (*args == '@')
			buf_add(&out, quoted.ptr + 1, quoted.len - 2);
		else
			buf_addc(&out, *args);
	}
	buf_release(&quoted);
	return buf_detach(&out);
}

static enum contract_verdict check_tool(struct contract *c)
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

const struct contract_check contract_files[] = {
	{ "file of 0 B", CHECK_BOX, check_file, "0" },
	{ "file of 1 B", CHECK_BOX, check_file, "1" },
	{ "file of 100 kB", CHECK_BOX, check_file, "100000" },
	{ "file of 10 MB", CHECK_BOX | CHECK_SLOW, check_file, "10000000" },
	{ "file of 1 GiB", CHECK_BOX | CHECK_LARGE | CHECK_LONG, check_file,
	  "1073741824" },
	{ "file modes", CHECK_BOX, check_modes, NULL },
	{ "odd file names", CHECK_BOX, check_names, NULL },
	{ "path below a file", CHECK_BOX, check_below_file, NULL },
	{ "file errors", CHECK_BOX, check_file_errors, "1" },
	{ "file errors of 3 MiB", CHECK_BOX | CHECK_SLOW, check_file_errors,
	  "3145728" },
	{ "tool write_file", CHECK_BOX, check_tool, "write_file" },
	{ "tool read_file", CHECK_BOX, check_tool, "read_file" },
	{ "tool edit_file", CHECK_BOX, check_tool, "edit_file" },
	{ "tool grep", CHECK_BOX, check_tool, "grep" },
	{ "tool glob", CHECK_BOX, check_tool, "glob" },
	{ "tool ls", CHECK_BOX, check_tool, "ls" },
	{ "tool execute", CHECK_BOX, check_tool, "execute" },
	{ "tool delete", CHECK_BOX, check_tool, "delete" },
	{ 0 },
};
