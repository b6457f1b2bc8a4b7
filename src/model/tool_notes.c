/* tool_notes.c - which tools of servers are not offered, and who was told. */
/* SPDX-License-Identifier: MIT */
#include "model/tool_notes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_NOTES = 2000 };

struct note {
	char *key;
	char *line; /* NULL once it was told */
};

struct tool_notes {
	pthread_mutex_t lock;
	struct note *list;
	size_t n;
	size_t told; /* all before are */
};

struct tool_notes *tool_notes_new(void)
{
	struct tool_notes *n = xcalloc(1, sizeof(*n));

	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void tool_notes_free(struct tool_notes *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n; i++) {
		free(n->list[i].key);
		free(n->list[i].line);
	}
	free(n->list);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static bool has_key(const struct tool_notes *n, const char *key)
{
	for (size_t i = 0; i < n->n; i++)
		if (strcmp(n->list[i].key, key) == 0)
			return true;
	return false;
}

void tool_notes_add(struct tool_notes *n, const char *key, const char *line)
{
	pthread_mutex_lock(&n->lock);
	if (n->n < MOST_NOTES && !has_key(n, key)) {
		n->list = xrealloc(n->list, n->n + 1, sizeof(*n->list));
		n->list[n->n++] = (struct note){ xstrdup(key), xstrdup(line) };
	}
	pthread_mutex_unlock(&n->lock);
}

bool tool_notes_has(struct tool_notes *n, const char *key)
{
	bool found;

	pthread_mutex_lock(&n->lock);
	found = has_key(n, key);
	pthread_mutex_unlock(&n->lock);
	return found;
}

char *tool_notes_take(struct tool_notes *n)
{
	char *line = NULL;

	pthread_mutex_lock(&n->lock);
	if (n->told < n->n) {
		line = n->list[n->told].line;
		n->list[n->told++].line = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	return line;
}
