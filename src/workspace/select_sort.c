/* select_sort.c - the files of a selection by path, each once. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "workspace/select.h"

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

/* Unmerged paths are in the index three times. */
void select_sort(struct selection *s)
{
	size_t kept = 0;
	size_t left = 0;

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
	if (s->n_left)
		qsort(s->left, s->n_left, sizeof(*s->left), left_by_path);
	for (size_t i = 0; i < s->n_left; i++) {
		if (left && !strcmp(s->left[left - 1].path, s->left[i].path))
			free(s->left[i].path);
		else
			s->left[left++] = s->left[i];
	}
	s->n_left = left;
}
