/* vendor_list.c - which of a vendor's sandboxes are ours, what they are. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "providers/kit/vendor_pages.h"

enum { PATH_ROOM = 64 << 10 };

static int64_t time_of(const cJSON *item, const char *field)
{
	const cJSON *value = json_get(item, field);

	return cJSON_IsNumber(value) ? json_int(item, field, 0) / 1000
				     : json_time(item, field);
}

struct vendor_search {     /* arg of an info_sink that filters */
	const char *owner; /* NULL: any */
	const char *label; /* the same */
	const struct info_sink *sink;
};

static void emit_ours(void *arg, const struct sandbox_info *info)
{
	const struct vendor_search *s = arg;

	if (info->label[0] && info->state != STATE_GONE &&
	    (!s->owner || strcmp(info->owner, s->owner) == 0) &&
	    (!s->label || strcmp(info->label, s->label) == 0))
		info_emit(s->sink, info);
}

/* One item of the vendor's, whoever's it is. */
static void emit_item(const struct vendor *v, const cJSON *item,
		      const struct info_sink *sink)
{
	const struct vendor_fields *f = &v->fields;
	const cJSON *labels = json_get(item, f->labels);
	struct sandbox_info info = {
		.id = json_string(item, f->id, ""),
		.label = json_string(labels, "dcode.label", ""),
		.owner = json_string(labels, "dcode.owner", ""),
		.state = vendor_state(v, item)->state,
		.image = "",
		.created = time_of(item, f->created),
	};

	for (size_t i = 0; i < 2 && f->image[i] && !*info.image; i++)
		info.image = json_string(item, f->image[i], "");
	if (v->info)
		v->info(item, &info);
	if (vendor_id_ok(info.id))
		info_emit(sink, &info);
}

struct items {
	const struct vendor *v;
	struct info_sink sink;
};

static bool on_item(void *arg, const cJSON *item)
{
	const struct items *all = arg;

	emit_item(all->v, item, &all->sink);
	return true;
}

int vendor_search(struct vendor_client *c, const char *label, const char *value,
		  const struct info_sink *sink, const struct stop *stop,
		  struct error *err)
{
	bool owner = label && strcmp(label, "dcode.owner") == 0;
	struct vendor_search s = { .owner = owner ? value : NULL,
				   .label = owner ? NULL : value,
				   .sink = sink };
	struct items all = { c->vendor, { emit_ours, &s } };
	struct buf path = BUF_INIT(PATH_ROOM);
	struct vendor_query q = { .pages = c->vendor->pages,
				  .each = on_item,
				  .arg = &all };
	int rc;

	if (c->vendor->items)
		return c->vendor->items(c, on_item, &all, stop, err);
	c->vendor->list_path(c, &path, label, value);
	q.path = path.ptr;
	rc = buf_check(&path, "the request", err);
	if (rc == 0)
		rc = vendor_pages(c, &q, stop, err);
	buf_release(&path);
	return rc;
}

int vendor_list(struct sandbox_client *client, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	return vendor_search(vendor_of(client), owner ? "dcode.owner" : NULL,
			     owner, sink, stop, err);
}

int vendor_info(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct vendor_client *c = vendor_of(client);
	const struct vendor *v = c->vendor;
	cJSON *tree = NULL;
	const char *got;
	int rc;

	if (vendor_check_id(v, id, err) < 0)
		return -1;
	rc = vendor_get(c, id, &tree, stop, err);
	got = json_string(tree, v->fields.id, "nothing");
	if (rc > 0)
		rc = error_set(err, ERR_NOT_FOUND, "no %s %s", v->noun, id);
	else if (rc == 0 && strcmp(got, id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "%s %s, got %.100s",
			       v->noun, id, got);
	else if (rc == 0)
		emit_item(v, tree, sink);
	cJSON_Delete(tree);
	return rc;
}
