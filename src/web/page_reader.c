/* page_reader.c - reads a page in a separate process that can be killed. */
/* SPDX-License-Identifier: MIT */
#include "web/page_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "web/page.h"

enum {
	TYPE_BYTES = 4096,
	/* bytes of a page; fetch.c stops earlier, at FETCH_BYTES */
	BODY_BYTES = 8 << 20,
	TEXT_BYTES = 40 << 20, /* bytes of the page as text */
	/* limit in case dcode is gone and cannot kill the process */
	CPU_SECONDS = 60,
	FAILED = 3, /* exit status: the reason is on standard error */
};

/* Writes the process's input: the URL and the type, each on a line, then the
 * body. */
static void write_input(const struct web_url *url, const char *type,
			struct str body, struct buf *input)
{
	struct str t = str_of(type);

	buf_addf(input, "%s\n", url->text);
	t.len = t.len < TYPE_BYTES ? t.len : TYPE_BYTES;
	for (size_t i = 0; i < t.len; i++)
		buf_addc(input, (char)(t.ptr[i] == '\n' ? ' ' : t.ptr[i]));
	buf_addc(input, '\n');
	buf_addstr(input, body);
}

/* Turns the process's output and exit status into the result. */
static int read_answer(const struct proc_run *run, const struct web_url *url,
		       struct buf *out, struct error *err)
{
	struct str said = str_trim(buf_str(&run->err));

	if (run->failed.code) {
		*err = run->failed;
		return -1;
	}
	if (run->timed_out)
		return error_set(err, ERR_LIMIT,
				 "cannot read %.300s: parsing its HTML takes "
				 "longer than %d s",
				 url->text, PAGE_READER_MS / 1000);
	if (run->status == FAILED && said.len)
		return error_set(err, ERR_USAGE, "%.*s", (int)said.len,
				 said.ptr);
	if (run->status)
		return error_set(err, ERR_PROTOCOL,
				 "cannot read %.300s: the HTML parser ended "
				 "with status %d",
				 url->text, run->status);
	buf_addstr(out, buf_str(&run->out));
	return 0;
}

int page_reader_read(const struct web_url *url, const char *type,
		     struct str body, struct buf *out, const struct stop *stop,
		     struct error *err)
{
	char *const argv[] = { (char *)"dcode", (char *)PAGE_READER_ARGUMENT,
			       NULL };
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char *path =
		xasprintf("LD_LIBRARY_PATH=%s", libraries ? libraries : "");
	/* The process parses untrusted input, so of the user's variables it
	 * gets only LD_LIBRARY_PATH. */
	char *const env[] = { (char *)"PATH=/usr/bin:/bin",
			      libraries ? path : NULL, NULL };
	struct buf input = BUF_INIT(body.len + URL_BYTES + TYPE_BYTES + 2);
	struct proc_run run = { .program = "/proc/self/exe",
				.argv = argv,
				.env = env,
				.ms = PAGE_READER_MS,
				.ends_over = true,
				.out = BUF_INIT(TEXT_BYTES),
				.err = BUF_INIT(1000) };
	struct proc_run *const all[] = { &run };
	int rc;

	if (!page_is_html(type, body)) {
		rc = page_read(url, type, body, out, err);
		goto out;
	}
	write_input(url, type, body, &input);
	run.input = buf_str(&input);
	rc = proc_run_all(all, 1, stop, err);
	if (rc == 0)
		rc = read_answer(&run, url, out, err);
	buf_release(&run.out);
	buf_release(&run.err);
out:
	buf_release(&input);
	free(path);
	return rc;
}

static int read_input(struct buf *in, struct error *err)
{
	char room[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, room, sizeof(room))) > 0)
		buf_add(in, room, (size_t)n);
	if (n < 0)
		return error_errno(err, "reading the page");
	return buf_check(in, "the page", err);
}

/* Splits the input into URL, type and body, and converts the body. */
static int read_page(struct str input, struct buf *out, struct error *err)
{
	struct web_url url;
	struct str text;
	struct str line;
	char *type;
	int rc;

	if (!str_split(&input, '\n', &text) || !str_split(&input, '\n', &line))
		return error_set(err, ERR_PROTOCOL, "no page to read");
	if (web_url_parse(&url, text, err) < 0)
		return -1;
	type = xstrndup(line.len ? line.ptr : "", line.len);
	rc = page_read(&url, type, input, out, err);
	free(type);
	return rc;
}

/* Limits its own CPU time first: dcode may be gone and unable to kill it. */
int page_reader_main(void)
{
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	struct buf input = BUF_INIT(BODY_BYTES + URL_BYTES + TYPE_BYTES);
	struct buf out = BUF_INIT(TEXT_BYTES);
	struct error err = { 0 };
	int rc;

	(void)setrlimit(RLIMIT_CPU, &cpu);
	rc = read_input(&input, &err);
	if (rc == 0)
		rc = read_page(buf_str(&input), &out, &err);
	if (rc < 0)
		fprintf(stderr, "%s%s%s\n", err.message,
			err.hint[0] ? ". " : "", err.hint);
	else if (out.len && fwrite(out.ptr, 1, out.len, stdout) != out.len)
		rc = -1;
	if (fflush(stdout))
		rc = -1;
	buf_release(&input);
	buf_release(&out);
	return rc < 0 ? FAILED : 0;
}
