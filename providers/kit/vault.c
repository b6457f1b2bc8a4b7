/* vault.c - the secrets of a sandbox in the form of a vendor. */
/* SPDX-License-Identifier: MIT */
/*
 * First the store of secrets of an account: an object is named after the
 * sandbox's label, so vault_clean() finds and deletes it even if dcode was
 * killed before it knew the sandbox's id. Then the vendors who put secrets into
 * requests host by host: begin reading at vault_hosts() and
 * vault_check_rules().
 */
#include "providers/kit/vault.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"

enum { TEXT_MAX = 16 << 10 };

char *vault_object_name(const char *label, const struct secret *s)
{
	return xasprintf("%s-%s", label, s->name);
}

int vault_create_object(struct vendor_client *c, const struct vendor_objects *o,
			cJSON *body, const struct stop *stop, struct error *err)
{
	const struct http_request ask = { .method = "POST",
					  .path = o->path,
					  .what = "storing a secret",
					  .flags = REST_AGAIN };
	struct error why = { 0 };
	int rc = vendor_post(c, &ask, body, NULL, stop, &why);

	body_wipe(body);
	if (rc < 0 && why.http_status != 409)
		*err = why;
	return rc < 0 && why.http_status != 409 ? -1 : 0;
}

struct own_objects { /* the objects of one sandbox */
	const struct vendor_objects *o;
	const char *label;
	char **ids; /* owned, with their texts */
	size_t n;
};

static bool note_object(void *arg, const cJSON *item)
{
	struct own_objects *f = arg;
	const char *name = json_string(item, f->o->name, "");
	const char *id = json_string(item, f->o->id, "");
	size_t len = strlen(f->label);

	if (strncmp(name, f->label, len) != 0 ||
	    (name[len] && name[len] != '-') || !vendor_id_ok(id))
		return true;
	f->ids = xrealloc(f->ids, f->n + 1, sizeof(*f->ids));
	f->ids[f->n++] = xstrdup(id);
	return f->n < SECRETS_MAX;
}

static int delete_object(struct vendor_client *c,
			 const struct vendor_objects *o, const char *id,
			 const struct stop *stop, struct error *err)
{
	char *path = xasprintf("%s/%s%s", o->path, id, o->end ? o->end : "");
	const struct http_request ask = { .method = o->end ? "POST" : "DELETE",
					  .path = path,
					  .what = "deleting a secret",
					  .flags = REST_AGAIN |
						   REST_MISSING_OK };
	cJSON *body = cJSON_CreateObject();
	int rc = o->end ? vendor_post(c, &ask, body, NULL, stop, err)
			: vendor_api(c, &ask, NULL, stop, err);

	cJSON_Delete(body);
	free(path);
	return rc < 0 ? -1 : 0;
}

static int delete_objects(struct vendor_client *c,
			  const struct vendor_objects *o, const char *label,
			  const struct stop *stop, struct error *err)
{
	struct own_objects f = { .o = o, .label = label };
	const struct vendor_query q = { o->pages, o->list, note_object, &f };
	int rc = vendor_pages(c, &q, stop, err);

	for (size_t i = 0; i < f.n; i++) {
		if (rc == 0)
			rc = delete_object(c, o, f.ids[i], stop, err);
		free(f.ids[i]);
	}
	free(f.ids);
	return rc;
}

int vault_clean(struct sandbox_client *client, const char *label,
		const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(client);
	const struct vendor_objects *const *kind = c->vendor->vault->objects;

	for (; *kind; kind++)
		if (delete_objects(c, *kind, label, stop, err) < 0)
			return -1;
	return 0;
}

char *vault_host_text(const struct network_rule *host)
{
	return xasprintf("%s%s", host->wild ? "*." : "", host->host);
}

/* Adds the entry, without its port, unless it is there. */
static void add_host(struct network *hosts, const struct network_rule *host)
{
	char *text = vault_host_text(host);
	struct error ignored = { 0 };

	for (size_t i = 0; i < hosts->n; i++)
		if (hosts->rules[i].wild == host->wild &&
		    !strcmp(hosts->rules[i].host, host->host)) {
			free(text);
			return;
		}
	(void)network_add(hosts, str_of(text), &ignored);
	free(text);
}

/* Orders names before "*.x", and longer ones first. */
static int compare_hosts(const void *a, const void *b)
{
	const struct network_rule *x = a;
	const struct network_rule *y = b;
	size_t long_x = strlen(x->host);
	size_t long_y = strlen(y->host);

	if (x->wild != y->wild)
		return x->wild ? 1 : -1;
	if (long_x != long_y)
		return long_x < long_y ? 1 : -1;
	return strcmp(x->host, y->host);
}

struct network vault_hosts(const struct secrets *all,
			   const struct network *list)
{
	struct network hosts = { .mode = NETWORK_LIST };

	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < all->list[i].hosts.n; k++)
			add_host(&hosts, &all->list[i].hosts.rules[k]);
	for (size_t i = 0; list && i < list->n; i++)
		if (!list->rules[i].denies && !list->rules[i].family)
			add_host(&hosts, &list->rules[i]);
	if (hosts.n)
		qsort(hosts.rules, hosts.n, sizeof(*hosts.rules),
		      compare_hosts);
	return hosts;
}

bool vault_covers(const struct secret *s, const struct network_rule *host)
{
	struct network_rule secure = *host;
	const struct network_rule *ignored;

	secure.port = 443;
	return network_allows(&s->hosts, &secure, &ignored);
}

bool vault_is_limited(const struct secret *s)
{
	return s->paths || s->methods || !s->header;
}

/* Checks the secrets of one host. */
static int check_host(const struct secrets *all,
		      const struct network_rule *host, const char *vendor,
		      struct error *err)
{
	const struct secret *first = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct secret *s = &all->list[i];

		if (!vault_covers(s, host))
			continue;
		if (first && (vault_is_limited(first) || vault_is_limited(s))) {
			error_set(err, ERR_CONFIG,
				  "%s: %s applies one secret to a request, and "
				  "secrets.%s is for %.100s too",
				  s->source, vendor, first->name, host->host);
			return error_hint(err, "Give both a header, and "
					       "neither paths nor methods.");
		}
		first = s;
	}
	return 0;
}

int vault_check_rules(const struct secrets *all, const struct network *list,
		      const char *vendor, struct error *err)
{
	struct network hosts = vault_hosts(all, list);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < hosts.n; i++)
		rc = check_host(all, &hosts.rules[i], vendor, err);
	network_release(&hosts);
	return rc;
}

void vault_add_header(cJSON *object, const char *key, const struct secret *s,
		      bool placeholder)
{
	struct buf text = BUF_INIT(TEXT_MAX);

	secret_print_value(s, str_of(placeholder ? s->placeholder : s->value),
			   &text);
	cJSON_AddStringToObject(object, key, text.ptr);
	buf_wipe(&text);
}

void vault_add_hosts(cJSON *object, const char *key, const struct secret *s)
{
	cJSON *hosts = cJSON_AddArrayToObject(object, key);

	for (size_t i = 0; i < s->hosts.n; i++) {
		char *text = vault_host_text(&s->hosts.rules[i]);

		cJSON_AddItemToArray(hosts, cJSON_CreateString(text));
		free(text);
	}
}

void vault_add_variables(cJSON *object, const struct secrets *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct secret *s = &all->list[i];

		if (!s->env)
			continue;
		cJSON_DeleteItemFromObjectCaseSensitive(object, s->env);
		cJSON_AddStringToObject(object, s->env, s->placeholder);
	}
}
