/* mounts.c - which files of the user's machine a sandbox can write. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/mounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void mounts_add(struct sandbox_mounts *m, const char *inside, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->list[i].inside, inside))
			return; /* attached again */
	m->list = xrealloc(m->list, m->n + 1, sizeof(*m->list));
	m->list[m->n++] =
		(struct sandbox_mount){ xstrdup(inside), xstrdup(path) };
}

void mounts_release(struct sandbox_mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->list[i].inside);
		free(m->list[i].path);
	}
	free(m->list);
	*m = (struct sandbox_mounts){ 0 };
}
