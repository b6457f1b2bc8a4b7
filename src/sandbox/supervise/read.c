/* read.c - jobs whose output was read and shall not stay there. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/supervise/read.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"

enum { MAX = SUPERVISE_READ_MAX };

struct supervise_read {
	pthread_mutex_t lock;
	char prefix[SUPERVISE_PREFIX + 1];
	bool used; /* a job was named */
	char ids[MAX][SUPERVISE_JOB + 1];
	size_t n;
};

struct supervise_read *supervise_read_new(void)
{
	struct supervise_read *r = xcalloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	ids_random(r->prefix, SUPERVISE_PREFIX);
	return r;
}

void supervise_read_name(struct supervise_read *r, char *id)
{
	ids_random(id, SUPERVISE_JOB);
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	memcpy(id, r->prefix, SUPERVISE_PREFIX);
	r->used = true;
	pthread_mutex_unlock(&r->lock);
}

bool supervise_read_prefix(struct supervise_read *r, char *prefix)
{
	bool used;

	if (!r)
		return false;
	pthread_mutex_lock(&r->lock);
	memcpy(prefix, r->prefix, sizeof(r->prefix));
	used = r->used;
	pthread_mutex_unlock(&r->lock);
	return used;
}

void supervise_read_free(struct supervise_read *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void remove_at(struct supervise_read *r, size_t i)
{
	memmove(r->ids[i], r->ids[i + 1], (--r->n - i) * sizeof(r->ids[0]));
}

/* The oldest gives way: the sandbox removes its output by itself later. */
void supervise_read_add(struct supervise_read *r, const char *id)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	if (r->n == MAX)
		remove_at(r, 0);
	memcpy(r->ids[r->n++], id, SUPERVISE_JOB + 1);
	pthread_mutex_unlock(&r->lock);
}

void supervise_read_list(struct supervise_read *r, char *ids)
{
	*ids = '\0';
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++, ids += SUPERVISE_JOB + 1) {
		memcpy(ids, r->ids[i], SUPERVISE_JOB);
		memcpy(ids + SUPERVISE_JOB, " ", sizeof(" "));
	}
	pthread_mutex_unlock(&r->lock);
}

void supervise_read_forgot(struct supervise_read *r, const char *ids)
{
	struct str all = str_of(ids);

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = r->n; i-- > 0;)
		if (str_search(all, str_of(r->ids[i])) < all.len)
			remove_at(r, i);
	pthread_mutex_unlock(&r->lock);
}
