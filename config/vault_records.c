/* vault_records.c - the list inside the sealed file, and auth.json. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/vault_impl.h"

enum { FIELDS = 4 };

bool vault_key_ok(struct str key)
{
	if (!key.len || key.len > VAULT_KEY_MAX)
		return false;
	for (size_t i = 0; i < key.len; i++)
		if (key.ptr[i] <= ' ' || key.ptr[i] >= 0x7F)
			return false;
	return true;
}

static void add(struct vault *v, const char *const *field, bool plain)
{
	v->entries = xrealloc(v->entries, v->n + 1, sizeof(*v->entries));
	v->entries[v->n++] = (struct vault_entry){
		.name = field[0],
		.key = field[1],
		.url = field[2],
		.when = field[3],
		.plain = plain,
	};
}

int vault_records_read(struct vault *v, char *text, size_t len, bool plain)
{
	struct str rest = { text, len };

	if (plain)
		v->plain = text;
	else
		v->text = text;
	v->text_len = plain ? v->text_len : len;
	while (rest.len) {
		const char *field[FIELDS];

		for (int i = 0; i < FIELDS; i++) {
			size_t end = str_find(rest, '\0');

			if (end == rest.len)
				return -1;
			field[i] = rest.ptr;
			rest = str_skip(rest, end + 1);
		}
		if (v->n >= VAULT_MOST)
			return -1;
		add(v, field, plain);
	}
	return 0;
}

/* Locked memory of a size known before: adds never overrun it. */
struct text {
	char *ptr;
	size_t len;
	size_t size;
};

static void put(struct text *t, const char *s, size_t len)
{
	if (len + 1 > t->size - t->len)
		abort();
	if (len)
		memcpy(t->ptr + t->len, s, len);
	t->len += len;
	t->ptr[t->len++] = '\0';
}

static void put_entry(struct text *t, const struct vault_entry *e)
{
	put(t, e->name, strlen(e->name));
	put(t, e->key, strlen(e->key));
	put(t, e->url, strlen(e->url));
	put(t, e->when, strlen(e->when));
}

char *vault_records_write(const struct vault *v, const struct vault_change *c,
			  size_t *len, bool *changed)
{
	const char *url = c->url ? c->url : "";
	struct text t = { 0 };
	char when[24];

	snprintf(when, sizeof(when), "%lld", (long long)time(NULL));
	t.size = v->text_len + strlen(c->name) + c->key.len + strlen(url) +
		 sizeof(when) + FIELDS;
	t.ptr = vault_memory(t.size);
	*changed = false;
	for (size_t i = 0; i < v->n; i++) {
		if (v->entries[i].plain)
			continue;
		if (!strcmp(v->entries[i].name, c->name))
			*changed = true;
		else
			put_entry(&t, &v->entries[i]);
	}
	if (c->key.len) {
		put(&t, c->name, strlen(c->name));
		put(&t, c->key.ptr, c->key.len);
		put(&t, url, strlen(url));
		put(&t, when, strlen(when));
	}
	*len = t.len;
	return t.ptr;
}

static void wipe(cJSON *tree)
{
	for (; tree; tree = tree->next) {
		if (tree->valuestring)
			sodium_memzero(tree->valuestring,
				       strlen(tree->valuestring));
		wipe(tree->child);
	}
}

/* "added_at" is text there, and only shown. */
static bool usable(const cJSON *item)
{
	const char *key = json_string(item, "key", "");

	return item->string && item->string[0] &&
	       strlen(item->string) <= VAULT_NAME_MAX &&
	       !strcmp(json_string(item, "type", ""), "api_key") &&
	       vault_key_ok(str_trim(str_of(key))) &&
	       strlen(json_string(item, "base_url", "")) <= VAULT_KEY_MAX;
}

static void read_tree(struct vault *v, const cJSON *all, size_t size)
{
	struct text t = { vault_memory(size), 0, size };
	const cJSON *item;
	size_t n = 0;

	cJSON_ArrayForEach (item, all) {
		const char *url = json_string(item, "base_url", "");
		struct str key;

		if (!usable(item) || n++ >= VAULT_MOST)
			continue;
		key = str_trim(str_of(json_string(item, "key", "")));
		put(&t, item->string, strlen(item->string));
		put(&t, key.ptr, key.len);
		put(&t, url, strlen(url));
		put(&t, "", 0);
	}
	(void)vault_records_read(v, t.ptr, t.len, true);
}

void vault_records_legacy(struct vault *v, const char *path)
{
	struct buf text = BUF_INIT(VAULT_FILE_MAX);
	struct error ignored = { 0 };
	const cJSON *all;
	cJSON *tree = NULL;

	if (path_read(path, &text, &ignored) == 0)
		tree = json_parse(buf_str(&text));
	all = json_get(tree, "credentials");
	/* Escapes only shorten: what is parsed fits in the file's size. */
	if (cJSON_IsObject(all))
		read_tree(v, all, text.len + 1);
	wipe(tree);
	cJSON_Delete(tree);
	buf_wipe(&text);
}
