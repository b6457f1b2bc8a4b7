/* trust.c - whether what a repository wants to run here was allowed. */
/* SPDX-License-Identifier: MIT */
#include "trust/trust.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trust/trust_impl.h"

enum { FILES_MAX = 1 << 20 };

struct answer { /* of this run */
	char hex[TRUST_HEX];
	bool allowed;
};

struct trust {
	char *path;             /* owned */
	unsigned allowed_kinds; /* by flags */
	struct trust_ui ui;
	pthread_mutex_t lock; /* guards what follows */
	bool loaded;
	struct answer *answers; /* owned; the stored ones too */
	size_t n;
};

struct trust *trust_new(const char *store, unsigned allowed,
			const struct trust_ui *ui)
{
	struct trust *t = xcalloc(1, sizeof(*t));

	t->path = xstrdup(store);
	t->allowed_kinds = allowed;
	t->ui = *ui;
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void trust_free(struct trust *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->answers);
	free(t->path);
	free(t);
}

const char *trust_kind_name(enum trust_kind kind)
{
	if (kind == TRUST_MCP)
		return "MCP server";
	return kind == TRUST_HOOK ? "hook" : "subagent";
}

static const char *flag_of(enum trust_kind kind)
{
	if (kind == TRUST_MCP)
		return "--trust-project-mcp";
	return kind == TRUST_HOOK ? "--trust-project-hooks" : "--trust-project";
}

static const struct answer *find_answer(const struct trust *t, const char *hex)
{
	for (size_t i = t->n; i > 0; i--)
		if (!strcmp(t->answers[i - 1].hex, hex))
			return &t->answers[i - 1];
	return NULL;
}

static void add_answer(struct trust *t, const char *hex, bool allowed)
{
	struct answer a = { .allowed = allowed };

	if (strlen(hex) != TRUST_HEX - 1)
		return;
	memcpy(a.hex, hex, TRUST_HEX);
	t->answers = xrealloc(t->answers, t->n + 1, sizeof(*t->answers));
	t->answers[t->n++] = a;
}

static void load_store(struct trust *t)
{
	struct error err = { 0 };
	const cJSON *record;
	cJSON *store;

	if (t->loaded)
		return;
	t->loaded = true;
	store = trust_store_read(t->path, &err);
	if (!store && t->ui.warn)
		t->ui.warn(err.message);
	cJSON_ArrayForEach (record, json_get(store, "allowed"))
		add_answer(t, json_string(record, "sha256", ""), true);
	cJSON_Delete(store);
}

static bool can_ask(const struct trust *t)
{
	return t->ui.ask && (!t->ui.can_ask || t->ui.can_ask(t->ui.arg));
}

static enum trust_verdict look_up(struct trust *t, const char *hex)
{
	const struct answer *a;
	enum trust_verdict verdict;

	pthread_mutex_lock(&t->lock);
	load_store(t);
	a = find_answer(t, hex);
	if (a)
		verdict = a->allowed ? TRUST_ALLOWED : TRUST_REFUSED;
	else
		verdict = can_ask(t) ? TRUST_ASK : TRUST_REFUSED;
	pthread_mutex_unlock(&t->lock);
	return verdict;
}

enum trust_verdict trust_check(struct trust *t, const struct trust_entry *e)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error err = { 0 };
	enum trust_verdict verdict = TRUST_REFUSED;
	char hex[TRUST_HEX];

	if (t->allowed_kinds & e->kind)
		return TRUST_ALLOWED;
	if (trust_fingerprint(e, hex, &files, &err) == 0)
		verdict = look_up(t, hex);
	buf_release(&files);
	return verdict;
}

static void remember(struct trust *t, const struct trust_entry *e,
		     const char *hex, bool allowed)
{
	struct error err = { 0 };

	pthread_mutex_lock(&t->lock);
	add_answer(t, hex, allowed);
	pthread_mutex_unlock(&t->lock);
	if (allowed && trust_store_add(t->path, e, hex, &err) < 0 && t->ui.warn)
		t->ui.warn(err.message);
}

int trust_ask(struct trust *t, const struct trust_entry *e,
	      enum trust_verdict *verdict, struct error *err)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error why = { 0 };
	char hex[TRUST_HEX];
	int rc = 0;

	*verdict = TRUST_REFUSED;
	if (t->allowed_kinds & e->kind)
		*verdict = TRUST_ALLOWED;
	else if (trust_fingerprint(e, hex, &files, &why) == 0)
		*verdict = look_up(t, hex);
	if (*verdict == TRUST_ASK) {
		rc = t->ui.ask(t->ui.arg, e, files.len ? files.ptr : "", err);
		*verdict = rc > 0 ? TRUST_ALLOWED : TRUST_REFUSED;
		if (rc >= 0)
			remember(t, e, hex, rc > 0);
	}
	buf_release(&files);
	return rc < 0 ? -1 : 0;
}

bool trust_names_file(const struct trust_entry *e)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error why = { 0 };
	char hex[TRUST_HEX];
	bool names = trust_fingerprint(e, hex, &files, &why) < 0 || files.len;

	buf_release(&files);
	return names;
}

void trust_explain(struct trust *t, const struct trust_entry *e,
		   struct buf *out)
{
	struct buf files = BUF_INIT(FILES_MAX);
	struct error why = { 0 };
	char hex[TRUST_HEX];
	bool denied = false;

	buf_addf(out,
		 "%s \"%s\" of %s does not run: ", trust_kind_name(e->kind),
		 e->name, e->file);
	if (trust_fingerprint(e, hex, &files, &why) == 0) {
		pthread_mutex_lock(&t->lock);
		denied = find_answer(t, hex) != NULL;
		pthread_mutex_unlock(&t->lock);
	}
	if (why.code)
		buf_addf(out, "%s; %s allows it", why.message,
			 flag_of(e->kind));
	else if (denied)
		buf_adds(out,
			 "you said no; dcode asks again at the next start");
	else
		buf_addf(out,
			 "it comes with the project, and this version was not "
			 "allowed; start a chat in %s to be asked, or pass %s",
			 e->root, flag_of(e->kind));
	buf_release(&files);
}

int trust_list(struct trust *t,
	       bool (*each)(void *arg, const struct trust_record *r), void *arg,
	       struct error *err)
{
	cJSON *store = trust_store_read(t->path, err);
	const cJSON *record;

	if (!store)
		return -1;
	cJSON_ArrayForEach (record, json_get(store, "allowed")) {
		struct trust_record r = {
			.kind = json_string(record, "kind", ""),
			.root = json_string(record, "root", ""),
			.file = json_string(record, "file", ""),
			.name = json_string(record, "name", ""),
			.when = json_int(record, "when", 0),
		};

		if (!each(arg, &r))
			break;
	}
	cJSON_Delete(store);
	return 0;
}

struct root_search {
	const char *kind, *root;
	bool found;
};

static bool match_root(void *arg, const struct trust_record *r)
{
	struct root_search *s = arg;

	s->found = !strcmp(r->kind, s->kind) && !strcmp(r->root, s->root);
	return !s->found;
}

bool trust_is_known(struct trust *t, enum trust_kind kind, const char *root)
{
	char *real = root ? realpath(root, NULL) : NULL;
	struct root_search s = { trust_kind_name(kind), real ? real : "",
				 false };
	struct error ignored = { 0 };

	if (t->allowed_kinds & kind)
		s.found = true;
	else if (real)
		(void)trust_list(t, match_root, &s, &ignored);
	free(real);
	return s.found;
}

int trust_forget(struct trust *t, const char *root, struct error *err)
{
	return trust_store_remove(t->path, root, err);
}
