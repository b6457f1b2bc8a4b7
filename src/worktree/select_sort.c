/* select_sort.c - a selection by path, each path once, and its end. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "worktree/select.h"

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct selected *)a)->path,
		      ((const struct selected *)b)->path);
}

static int left_by_path(const void *a, const void *b)
{
	return strcmp(((const struct select_left *)a)->path,
		      ((const struct select_left *)b)->path);
}

/* Each path once. */
static size_t sort_left(struct select_left *list, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(list, n, sizeof(*list), left_by_path);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(list[kept - 1].path, list[i].path))
			free(list[i].path);
		else
			list[kept++] = list[i];
	}
	return kept;
}

/* Unmerged paths are in the index three times. */
void select_sort(struct selection *s)
{
	size_t kept = 0;

	if (s->n)
		qsort(s->files, s->n, sizeof(*s->files), by_path);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && !strcmp(s->files[kept - 1].path, s->files[i].path))
			free(s->files[i].path);
		else
			s->files[kept++] = s->files[i];
	}
	s->n = kept;
	s->bytes = 0;
	for (size_t i = 0; i < s->n; i++)
		s->bytes += s->files[i].size;
	s->n_left = sort_left(s->left, s->n_left);
	s->n_asked = sort_left(s->asked, s->n_asked);
}

void select_release(struct selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->files[i].path);
	for (size_t i = 0; i < s->n_left; i++)
		free(s->left[i].path);
	for (size_t i = 0; i < s->n_asked; i++)
		free(s->asked[i].path);
	free(s->files);
	free(s->left);
	free(s->asked);
	*s = (struct selection){ 0 };
}
