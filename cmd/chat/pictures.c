/* pictures.c - image files whose paths were pasted or dragged into the chat. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/pictures.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/words.h"
#include "model/media.h"

enum {
	MOST_AT_ONCE = 20,
	MOST_PATH = 4096, /* bytes */
	FIRST_BYTES = 64,
	MARK_SIZE = 32,
};

struct pictures {
	pthread_mutex_t lock;
	char *home;   /* owned, or NULL */
	char **paths; /* owned */
	size_t n;
};

struct pictures *pictures_new(const char *home)
{
	struct pictures *p = xcalloc(1, sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	p->home = xstrdup(home);
	return p;
}

void pictures_free(struct pictures *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->paths[i]);
	free(p->paths);
	free(p->home);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void write_mark(size_t i, char mark[MARK_SIZE])
{
	snprintf(mark, MARK_SIZE, "[image %zu]", i + 1);
}

/* Nothing that waits is opened, as a pipe would. */
static bool is_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char bytes[FIRST_BYTES];
	const char *type = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		n = io_read(fd, bytes, sizeof(bytes));
		if (n > 0)
			type = media_type((struct str){ bytes, (size_t)n });
	}
	close(fd);
	return type && !media_is_pdf(type);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;
	int n = at ? (int)(at - digits) : -1;

	return n > 15 ? n - 6 : n;
}

/* "/a b.png" of "file:///a%20b.png"; NULL for another machine's. Owned. */
static char *path_of_url(struct str url)
{
	struct buf path = BUF_INIT(MOST_PATH);

	url = str_skip(url, strlen("file://"));
	if (str_starts(url, "localhost/"))
		url = str_skip(url, strlen("localhost"));
	for (size_t i = 0; str_starts(url, "/") && i < url.len; i++) {
		int high = url.len - i > 2 && url.ptr[i] == '%'
				   ? hex_digit(url.ptr[i + 1])
				   : -1;
		int low = high >= 0 ? hex_digit(url.ptr[i + 2]) : -1;

		buf_addc(&path, low < 0 ? url.ptr[i] : (char)(high << 4 | low));
		i += low < 0 ? 0 : 2;
	}
	if (path.len && !path.over && !memchr(path.ptr, '\0', path.len))
		return buf_detach(&path);
	buf_release(&path);
	return NULL;
}

/* The path of an image that this is, or NULL. Owned. */
static char *find_image(struct str text, const char *home)
{
	char *path = NULL;
	char *whole;

	if (text.len >= MOST_PATH || memchr(text.ptr, '\0', text.len))
		return NULL;
	if (str_starts(text, "file://")) {
		path = path_of_url(text);
	} else {
		whole = xstrndup(text.ptr, text.len);
		path = home ? path_expand(whole, home) : xstrdup(whole);
		free(whole);
	}
	if (path && is_image(path))
		return path;
	free(path);
	return NULL;
}

static size_t find_images(struct str text, const char *home,
			  char *found[MOST_AT_ONCE])
{
	size_t n = 0;
	char *word;

	found[0] = find_image(text, home); /* one with blanks as they are */
	if (found[0])
		return 1;
	while ((word = words_take(&text))) {
		char *path = n < MOST_AT_ONCE ? find_image(str_of(word), home)
					      : NULL;

		free(word);
		if (path) {
			found[n++] = path;
			continue;
		}
		while (n)
			free(found[--n]);
		return 0;
	}
	return n;
}

bool pictures_take(struct pictures *p, struct str text, struct buf *out)
{
	char *found[MOST_AT_ONCE];
	char mark[MARK_SIZE];
	size_t n = 0;

	text = str_trim(text);
	if (p && text.len && text.len <= MOST_AT_ONCE * MOST_PATH)
		n = find_images(text, p->home, found);
	if (!n)
		return false;
	pthread_mutex_lock(&p->lock);
	p->paths = xrealloc(p->paths, p->n + n, sizeof(*p->paths));
	for (size_t i = 0; i < n; i++) {
		write_mark(p->n, mark);
		buf_adds(out, i ? " " : "");
		buf_adds(out, mark);
		p->paths[p->n++] = found[i];
	}
	pthread_mutex_unlock(&p->lock);
	return true;
}

void pictures_each(struct pictures *p, struct str text,
		   void (*each)(void *arg, const char *path), void *arg)
{
	char mark[MARK_SIZE];

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n; i++) {
		write_mark(i, mark);
		if (str_search(text, str_of(mark)) < text.len)
			each(arg, p->paths[i]);
	}
	pthread_mutex_unlock(&p->lock);
}
