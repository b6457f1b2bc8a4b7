/* suggest.c - the name of a model that was probably meant. */
/* SPDX-License-Identifier: MIT */
#include "model/server/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/model_state.h"
#include "model/server/query.h"

enum {
	LIST_MS = 5000,
	FEW = 4, /* so many are all named */
	MAX_NAME = 80,
};

struct candidates {
	struct str wanted;
	size_t n, distance;
	bool listed;         /* the wanted name itself is in the list */
	char best[MAX_NAME]; /* the nearest, or "" */
	struct buf few;      /* the first ones, with commas */
};

/* A router's "openai/gpt-5.5" may be wanted as "gpt-5.5". */
static size_t distance_to(struct str wanted, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t whole = nearest_distance(wanted, str_of(name));
	size_t part = slash && str_find(wanted, '/') == wanted.len
			      ? nearest_distance(wanted, str_of(slash + 1))
			      : whole;

	return part < whole ? part : whole;
}

static void compare_name(void *arg, const char *name)
{
	struct candidates *c = arg;
	struct buf clean = BUF_INIT(MAX_NAME - 1);
	size_t distance = distance_to(c->wanted, name);

	if (!name[0] || strlen(name) >= MAX_NAME)
		return;
	sanitize_line(str_of(name), &clean);
	c->listed |= str_is(c->wanted, name);
	if (c->n++ < FEW && clean.len)
		buf_addf(&c->few, "%s%s", c->few.len ? ", " : "", clean.ptr);
	if (distance < c->distance && clean.len) {
		c->distance = distance;
		snprintf(c->best, sizeof(c->best), "%s", clean.ptr);
	}
	buf_release(&clean);
}

static void write_hint(const struct model_choice *m, const struct candidates *c,
		       struct error *err)
{
	if (c->listed)
		error_hint(err,
			   "The server lists \"%.60s\": the key may have no "
			   "access to it, or it is not for conversations.",
			   m->model);
	else if (c->best[0])
		error_hint(err,
			   "No model \"%.60s\" on this server. Did you mean -M "
			   "%.40s:%.80s?",
			   m->model, m->provider, c->best);
	else if (c->n && c->n <= FEW)
		error_hint(
			err,
			"The server offers %.160s. Choose with -M %.40s:NAME",
			c->few.ptr ? c->few.ptr : "", m->provider);
}

void server_suggest(const struct model *m, const struct stop *stop,
		    struct error *err)
{
	struct server_query *q = server_query_new(m);
	struct stop within = stop_within(stop, LIST_MS);
	struct error ignored = { 0 };
	struct candidates c = {
		.wanted = str_of(m->choice.model),
		.distance = strlen(m->choice.model) / 3 + 1,
		.few = BUF_INIT(FEW * (MAX_NAME + 2)),
	};

	/* an answer that breaks off has named some all the same */
	(void)server_query_names(q, compare_name, &c, &within, &ignored);
	write_hint(&m->choice, &c, err);
	buf_release(&c.few);
	server_query_free(q);
}
