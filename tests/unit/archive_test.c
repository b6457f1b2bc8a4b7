/* archive_test.c - trees out as tar, and hostile tar streams in. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"

struct room { /* a directory with in/ and outside/, which has a secret */
	char top[200];
	int in;
	struct buf told; /* "name: why\n" */
	struct archive_counts counts;
	struct error err;
};

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
	char *line = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	assert_true(n > 0);
	n = system(line);
	if (n)
		print_error("%s: %d\n", line, n);
	assert_int_equal(n, 0);
	free(line);
}

static void enter(struct room *r)
{
	char *path;

	*r = (struct room){ .told = BUF_INIT(1 << 20) };
	snprintf(r->top, sizeof(r->top), "/tmp/dcode-archive.XXXXXX");
	assert_non_null(mkdtemp(r->top));
	shell("cd %s && mkdir in outside && echo secret >outside/secret &&"
	      " ln -s ../outside in/planted &&"
	      " ln -s ../outside/secret in/linked",
	      r->top);
	path = xasprintf("%s/in", r->top);
	r->in = open(path, O_RDONLY | O_DIRECTORY);
	free(path);
	assert_true(r->in >= 0);
}

static void leave(struct room *r)
{
	struct error err = { 0 };

	close(r->in);
	buf_release(&r->told);
	shell("chmod -R u+rwx %s", r->top);
	assert_int_equal(path_remove_tree(r->top, &err), 0);
}

static void told(void *arg, struct str name, const char *why)
{
	struct room *r = arg;

	buf_addstr(&r->told, name);
	buf_addf(&r->told, ": %s\n", why);
}

static int64_t from_file(void *arg, char *room, size_t len, struct error *err)
{
	size_t n = fread(room, 1, len < 777 ? len : 777, arg);

	(void)err;
	return (int64_t)n;
}

static int unpack(struct room *r, const char *name, const char *how)
{
	struct archive_log log = { .skipped = told, .arg = r };
	struct archive_input from = { from_file, NULL, NULL };
	char *command =
		xasprintf("/usr/bin/python3 tests/emulators/hostile_tar.py"
			  " %s %s/outside %s",
			  name, r->top, how);
	int rc;

	from.arg = popen(command, "r");
	assert_non_null(from.arg);
	r->err = (struct error){ 0 };
	rc = archive_extract(&from, r->in, &log, &r->counts, &r->err);
	pclose(from.arg);
	free(command);
	return rc;
}

static bool there(const struct room *r, const char *name)
{
	struct stat st;

	return fstatat(r->in, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void untouched(const struct room *r)
{
	shell("cd %s && [ \"$(ls -A)\" = \"$(printf 'in\\noutside')\" ] &&"
	      " [ \"$(ls -A outside)\" = secret ] &&"
	      " [ \"$(cat outside/secret)\" = secret ] &&"
	      " [ \"$(stat -c %%h outside/secret)\" = 1 ] &&"
	      " [ -z \"$(find in -name '.dcode-*')\" ]",
	      r->top);
}

static const struct hostile {
	const char *name;
	int skipped;
	const char *why;  /* in what was told */
	const char *made; /* what is all right in it */
} hostile[] = {
	{ "absolute", 1, "absolute", NULL },
	{ "dotdot", 3, "\"..\"", NULL },
	{ "dotdot-inside", 2, "\"..\"", NULL },
	{ "dotdot-far", 1, "\"..\"", NULL },
	{ "link-absolute", 1, "l: the link leads out", "l/x" },
	{ "link-up", 1, "l: the link leads out", "l/x" },
	{ "link-to-file", 1, "leads out", "l" },
	{ "link-chain", 1, "a/b/c/m: the link leads out", "a/b/c/l" },
	{ "link-through-good", 1, "l/x: a link or a file exists", "l" },
	{ "link-over-dir", 1, "d: a directory with its name exists", "d/in" },
	{ "hard-absolute", 1, "a link to a file outside", "h" },
	{ "hard-dotdot", 1, "a link to a file outside", NULL },
	{ "hard-far", 1, "a link to a file outside", NULL },
	{ "hard-to-link", 1,
	  "m: it is a link to something that is "
	  "not",
	  "m/x" },
	{ "hard-to-itself", 0, NULL, "f" },
	{ "planted", 4, "planted/x: a link or a file exists", "planted" },
	{ "planted-file", 0, NULL, "linked" },
	{ "case", 1, "L: the link leads out", "l/x" },
	{ "device", 2, "neither a file", NULL },
	{ "pipe", 1, "neither a file", NULL },
	{ "setuid", 0, NULL, "s" },
	{ "names", 0, NULL, "new\nline" },
	{ "names", 0, NULL, "\377\376" },
	{ "names", 0, NULL, "a\\..\\b" },
	{ "names", 0, NULL, "dot/x" },
	{ "long", 2, "too long", NULL },
	{ "plain", 0, NULL, "a/l" },
};

static void hostile_streams(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		const struct hostile *h = &hostile[i];
		struct room r;

		enter(&r);
		if (unpack(&r, h->name, "gnu") < 0)
			fail_msg("%s: %s", h->name, r.err.message);
		untouched(&r);
		if (r.counts.skipped != h->skipped ||
		    (h->why && !strstr(r.told.ptr, h->why)))
			fail_msg("%s: %d: %s", h->name, (int)r.counts.skipped,
				 r.told.ptr ? r.told.ptr : "");
		if (h->made && !there(&r, h->made))
			fail_msg("%s: no %s", h->name, h->made);
		assert_true(there(&r, "good"));
		leave(&r);
	}
}

static void other_formats(void **arg)
{
	struct room r;

	(void)arg;
	enter(&r);
	assert_int_equal(unpack(&r, "names", "pax"), 0);
	assert_int_equal(unpack(&r, "link-absolute", "pax"), 0);
	assert_int_equal(unpack(&r, "planted", "pax"), 0);
	untouched(&r);
	assert_true(there(&r, "good") && there(&r, "new\nline") &&
		    there(&r, "l/x"));
	assert_int_equal(r.counts.skipped, 4);
	leave(&r);
}

static void bits_and_times(void **arg)
{
	struct stat st;
	struct room r;

	(void)arg;
	enter(&r);
	umask(027);
	assert_int_equal(unpack(&r, "setuid", "gnu"), 0);
	umask(022);
	assert_int_equal(fstatat(r.in, "s", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(st.st_mtime, 1000000000);
	assert_int_equal(fstatat(r.in, "t", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	leave(&r);
}

static void broken_streams(void **arg)
{
	static const char *const names[] = { "truncated", "garbage",
					     "bad-checksum", "empty" };

	(void)arg;
	for (size_t i = 0; i < 4; i++) {
		struct room r;

		enter(&r);
		if (unpack(&r, names[i], "gnu") == 0)
			fail_msg("%s passed", names[i]);
		assert_int_equal(r.err.code, ERR_PROTOCOL);
		assert_non_null(strstr(r.err.message, "archive is broken"));
		untouched(&r);
		assert_false(there(&r, "big"));
		leave(&r);
	}
}

/* Writes r/src as a stream into a tar command, in pulls of odd sizes. */
static int pack(struct room *r, const char *command)
{
	struct archive_log log = { .skipped = told, .arg = r };
	struct archive_writer *w = NULL;
	char *line = xasprintf("cd %s && %s", r->top, command);
	char *src = xasprintf("%s/src", r->top);
	char chunk[3333];
	int64_t n;
	FILE *f;

	assert_int_equal(archive_writer_open(&w,
					     open(src, O_RDONLY | O_DIRECTORY),
					     &log, &r->err),
			 0);
	f = popen(line, "w");
	assert_non_null(f);
	while ((n = archive_writer_pull(w, chunk, sizeof(chunk), &r->err)) > 0)
		assert_int_equal(fwrite(chunk, 1, (size_t)n, f), n);
	assert_int_equal(archive_writer_pull(w, chunk, 10, &r->err), n);
	r->counts = archive_writer_counts(w);
	archive_writer_close(w);
	free(line);
	free(src);
	assert_int_equal(pclose(f), 0);
	return (int)n;
}

static void make_source(const struct room *r)
{
	shell("cd %s && mkdir -p src/a/empty 'src/a b' src/locked && cd src &&"
	      " printf x >\"$(printf 'new\\nline')\" &&"
	      " printf x >\"$(printf '\\377\\376')\" &&"
	      " head -c 200001 /dev/urandom >'a b/big' && : >a/none &&"
	      " n=$(printf '%%0200d' 1) && mkdir -p $n/$n &&"
	      " echo deep >$n/$n/$n && ln -s a/none link &&"
	      " ln -s ../.. out && ln -s /nowhere/$n/$n abs &&"
	      " echo '#!/bin/sh' >run && chmod 4755 run && mkfifo pipe &&"
	      " echo in >locked/f && chmod 444 locked/f &&"
	      " chmod 555 locked && touch -d @1234567890 a/none",
	      r->top);
}

/* busybox's tar, 1.35, when it is not root's, leaves a directory that is in
 * the archive twice with its first bits. */
static void trees_to_tar(void **arg)
{
	static const char *const commands[] = {
		"mkdir to && tar -xpof - -C to",
		"mkdir to && busybox tar -xpof - -C to",
	};

	(void)arg;
	for (size_t i = 0; i < 2; i++) {
		struct room r;

		enter(&r);
		make_source(&r);
		assert_int_equal(pack(&r, commands[i]), 0);
		assert_string_equal(r.told.ptr,
				    "pipe: it is neither a file, a link nor a "
				    "directory\n");
		assert_int_equal(r.counts.files, 7);
		assert_int_equal(r.counts.links, 3);
		assert_int_equal(r.counts.directories, 6);
		shell("cd %s && rm src/pipe && chmod 755 src/run &&"
		      " diff -r --no-dereference src to &&"
		      " [ $(stat -c %%a to/run) = 755 ] &&"
		      " [ $(stat -c %%a to/locked) = %d ] &&"
		      " [ $(stat -c %%Y to/a/none) = 1234567890 ]",
		      r.top, i == 1 && geteuid() ? 755 : 555);
		leave(&r);
	}
}

/* What is written can be read again. */
static void there_and_back(void **arg)
{
	struct archive_input from = { from_file, NULL, NULL };
	struct archive_log log;
	struct room r;
	char *path;

	(void)arg;
	enter(&r);
	log = (struct archive_log){ .skipped = told, .arg = &r };
	make_source(&r);
	assert_int_equal(pack(&r, "cat >t.tar"), 0);
	path = xasprintf("%s/t.tar", r.top);
	from.arg = fopen(path, "r");
	free(path);
	assert_int_equal(archive_extract(&from, r.in, &log, &r.counts, &r.err),
			 0);
	fclose(from.arg);
	assert_int_equal(r.counts.skipped, 2); /* the links out and abs */
	assert_int_equal(r.counts.files, 7);
	assert_int_equal(r.counts.links, 1);
	shell("cd %s && rm src/pipe src/out src/abs in/planted in/linked &&"
	      " diff -r --no-dereference src in",
	      r.top);
	leave(&r);
}

/* What a stream's user writes, entry by entry, is what tar unpacks. */
static void put(struct room *r, struct archive_stream *s, FILE *f,
		struct archive_header item, const char *bytes)
{
	struct buf *out = archive_stream_out(s);

	item.size = bytes ? (int64_t)strlen(bytes) : 4711;
	assert_int_equal(archive_stream_entry(s, &item, &r->err), 0);
	if (bytes)
		assert_int_equal(archive_stream_data(s, str_of(bytes), &r->err),
				 0);
	assert_int_equal(fwrite(out->ptr, 1, out->len, f), out->len);
	buf_clear(out);
}

static void streams_of_every_kind(void **arg)
{
	static const char *const commands[] = { "tar", "busybox tar" };

	(void)arg;
	for (size_t i = 0; i < 2; i++) {
		struct archive_stream *s;
		struct room r;
		char *deep;
		char *line;
		FILE *f;

		enter(&r);
		deep = xasprintf("./d/%0200d/%0200d", 1, 2);
		line = xasprintf("%s -xpof - -C %s/in", commands[i], r.top);
		s = archive_stream_open(false, &r.err);
		f = popen(line, "w");
		assert_non_null(s);
		assert_non_null(f);
		put(&r, s, f,
		    (struct archive_header){ .path = "./d",
					     .directory = true,
					     .mode = 0750,
					     .mtime = 1234567890 },
		    NULL);
		put(&r, s, f,
		    (struct archive_header){
			    .path = deep, .mode = 0640, .mtime = 1234567891 },
		    "deep");
		put(&r, s, f,
		    (struct archive_header){ .path = "./hard",
					     .original = deep },
		    NULL);
		put(&r, s, f,
		    (struct archive_header){ .path = "./soft", .link = deep },
		    NULL);
		assert_int_equal(archive_stream_end(s, &r.err), 0);
		assert_int_equal(fwrite(archive_stream_out(s)->ptr, 1,
					archive_stream_out(s)->len, f),
				 archive_stream_out(s)->len);
		archive_stream_close(s);
		assert_int_equal(pclose(f), 0);
		shell("cd %s/in && [ \"$(cat hard soft)\" = deepdeep ] &&"
		      " [ \"$(stat -c %%h:%%a:%%Y hard)\" ="
		      " 2:640:1234567891 ] &&"
		      " [ \"$(readlink soft)\" = %s ] &&"
		      " [ \"$(stat -c %%a d)\" = 750 ] && [ -d d ]",
		      r.top, deep);
		free(deep);
		free(line);
		leave(&r);
	}
}

static void names_in_an_archive(void **arg)
{
	static const struct {
		const char *name, *path, *why;
	} cases[] = {
		{ "./a//b/./c/", "a/b/c", NULL },
		{ ".", "", NULL },
		{ "./", "", NULL },
		{ "..a/b..", "..a/b..", NULL },
		{ NULL, "", "its name cannot be used" },
		{ "", "", "its name cannot be used" },
		{ "/a", "", "absolute" },
		{ "a/../b", NULL, "\"..\"" },
		{ "..", NULL, "\"..\"" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf out = BUF_INIT(100);
		const char *why = archive_plain_path(cases[i].name, &out);

		assert_true(!why == !cases[i].why);
		if (why)
			assert_non_null(strstr(why, cases[i].why));
		else
			assert_true(str_is(buf_str(&out), cases[i].path));
		buf_release(&out);
	}
	for (int how = 0; how < 2; how++) { /* a name, and a path */
		struct buf out = BUF_INIT(100);
		char *name =
			xasprintf(how ? "%0128d/%0128d" : "%0256d%.0d", 1, 1);

		assert_non_null(archive_plain_path(name, &out));
		free(name);
		buf_release(&out);
	}
}

struct visited {
	FILE *f;
	struct buf told;
};

static int64_t visit_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct visited *v = arg;

	return from_file(v->f, room, len, err);
}

static int visit_entry(void *arg, const struct archive_item *item,
		       struct error *err)
{
	struct visited *v = arg;

	(void)err;
	buf_addf(&v->told, "%.*s %o %d %d %s\n", (int)item->path.len,
		 item->path.ptr, item->mode, (int)item->size, (int)item->mtime,
		 item->target     ? item->target
		 : item->original ? item->original
				  : "-");
	return 0;
}

static void a_visitor_hears_of_all(void **arg)
{
	struct archive_visitor v = { visit_pull, visit_entry, NULL, NULL };
	struct visited to = { .told = BUF_INIT(1 << 12) };
	struct room r;
	char *line;

	(void)arg;
	enter(&r);
	shell("cd %s && mkdir -m 750 src && cd src && echo x >f && ln f g &&"
	      " ln -s f l && chmod 640 f &&"
	      " touch -hd @1234567890 f g l && touch -d @1234567891 .",
	      r.top);
	line = xasprintf("cd %s/src && tar -c --no-recursion . f l g", r.top);
	to.f = popen(line, "r");
	v.arg = &to;
	assert_int_equal(archive_visit(&v, &r.err), 0);
	pclose(to.f);
	assert_string_equal(to.told.ptr, "./ 40750 0 1234567891 -\n"
					 "f 100640 2 1234567890 -\n"
					 "l 120777 0 1234567890 f\n"
					 "g 640 0 1234567890 f\n");
	buf_release(&to.told);
	free(line);
	leave(&r);
}

/* A few kilobytes that would become gigabytes. */
static void compressed_streams_are_refused(void **arg)
{
	static const char *const filters[] = { "gzip -c", "bzip2 -c", "xz -c" };

	(void)arg;
	for (size_t i = 0; i < 3; i++) {
		struct archive_input from = { from_file, NULL, NULL };
		struct archive_log log;
		struct room r;
		char *line;

		enter(&r);
		log = (struct archive_log){ .skipped = told, .arg = &r };
		shell("mkdir %s/src && echo x >%s/src/f", r.top, r.top);
		line = xasprintf("tar -cf - -C %s/src . | %s", r.top,
				 filters[i]);
		from.arg = popen(line, "r");
		free(line);
		assert_int_equal(
			archive_extract(&from, r.in, &log, &r.counts, &r.err),
			-1);
		pclose(from.arg);
		assert_int_equal(r.err.code, ERR_PROTOCOL);
		assert_false(there(&r, "f"));
		leave(&r);
	}
}

static int up_to_a_million(void *arg, int64_t bytes, struct error *err)
{
	int64_t *left = arg;

	*left -= bytes;
	return *left < 0 ? error_set(err, ERR_LIMIT, "full") : 0;
}

struct limited {
	int64_t left; /* first: archive_input has one arg */
	FILE *f;
};

static int64_t from_limited(void *arg, char *room, size_t len,
			    struct error *err)
{
	struct limited *l = arg;

	return from_file(l->f, room, len, err);
}

static void a_ceiling_ends_the_copy(void **arg)
{
	/* an honest one; a sparse file of 8 TB; more names than content */
	static const char *const sources[] = {
		"head -c 900000 /dev/zero >a",
		"head -c 1000000 /dev/zero >a",
		"truncate -s 8T a",
		"touch $(seq 300)",
	};

	(void)arg;
	for (size_t i = 0; i < 4; i++) {
		struct limited l = { .left = 1000000 };
		struct archive_input from = { from_limited, up_to_a_million,
					      &l };
		struct archive_log log;
		struct room r;
		char *line;
		int rc;

		enter(&r);
		log = (struct archive_log){ .skipped = told, .arg = &r };
		shell("mkdir %s/src && cd %s/src && %s", r.top, r.top,
		      sources[i]);
		line = xasprintf("tar -cSf - -C %s/src .", r.top);
		l.f = popen(line, "r");
		free(line);
		rc = archive_extract(&from, r.in, &log, &r.counts, &r.err);
		pclose(l.f);
		assert_int_equal(rc, i ? -1 : 0);
		if (i)
			assert_int_equal(r.err.code, ERR_LIMIT);
		assert_int_equal(there(&r, "a"), i == 0);
		leave(&r);
	}
}

/* A file that becomes shorter is told, and what follows it is whole. */
static void shrinking(void **arg)
{
	struct archive_log log;
	struct archive_writer *w = NULL;
	char chunk[1024];
	struct room r;
	int64_t total = 0;
	int64_t n;
	char *src;

	(void)arg;
	enter(&r);
	log = (struct archive_log){ .skipped = told, .arg = &r };
	shell("mkdir %s/src && truncate -s 1000000 %s/src/f", r.top, r.top);
	src = xasprintf("%s/src", r.top);
	assert_int_equal(archive_writer_open(&w,
					     open(src, O_RDONLY | O_DIRECTORY),
					     &log, &r.err),
			 0);
	free(src);
	while ((n = archive_writer_pull(w, chunk, 1024, &r.err)) > 0) {
		if (total == 0)
			shell("truncate -s 10 %s/src/f", r.top);
		total += n;
	}
	assert_int_equal(n, 0);
	assert_true(total >= 1000000);
	assert_string_equal(r.told.ptr,
			    "f: it became shorter while it was read\n");
	assert_int_equal(archive_writer_counts(w).files, 0);
	assert_int_equal(archive_writer_counts(w).skipped, 1);
	archive_writer_close(w);
	leave(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_streams),
		cmocka_unit_test(other_formats),
		cmocka_unit_test(bits_and_times),
		cmocka_unit_test(broken_streams),
		cmocka_unit_test(trees_to_tar),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(streams_of_every_kind),
		cmocka_unit_test(names_in_an_archive),
		cmocka_unit_test(a_visitor_hears_of_all),
		cmocka_unit_test(compressed_streams_are_refused),
		cmocka_unit_test(a_ceiling_ends_the_copy),
		cmocka_unit_test(shrinking),
	};

	ids_init();
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
