/* vendor_create.c - a sandbox created once, whatever gets lost; attach. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/retry.h"
#include "providers/kit/env_list.h"
#include "providers/kit/vendor.h"

/* The user's working directory, for the sandbox to come. */
static int set_workdir(struct sandbox *sb, struct error *err)
{
	const char *dir = NULL;

	if (settings_directory(sb->client->settings, sb->client->provider->name,
			       "workdir", &dir, err) < 0)
		return -1;
	if (dir && !sb->workdir)
		sb->workdir = xstrdup(dir);
	return 0;
}

/* Errors that can be found before the vendor is asked to make anything. */
static int describe(struct sandbox *sb, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	const char *field = c->vendor->fields.labels;
	cJSON *labels = cJSON_CreateObject();

	if (spec->lifetime_s <= 0)
		error_set(err, ERR_CONFIG, "the lifetime must be above zero");
	else if (set_workdir(sb, err) == 0 &&
		 env_list_labels(sb->client->settings,
				 sb->client->provider->name, spec, labels,
				 err) == 0 &&
		 c->vendor->describe(c, spec, body, stop, err) == 0) {
		if (!field)
			cJSON_Delete(labels);
		else if (!cJSON_ReplaceItemInObjectCaseSensitive(body, field,
								 labels))
			cJSON_AddItemToObject(body, field, labels);
		return 0;
	}
	cJSON_Delete(labels);
	return -1;
}

/*
 * With unique names: after a failure a GET by the name tells whether something
 * was made all the same; a refusal can leave one that failed to start, whose
 * id the caller needs to delete it.
 */
static int find_by_name(struct sandbox *sb, const char *label, cJSON **answer,
			const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	const struct vendor_fields *f = &c->vendor->fields;
	struct error other = { 0 };
	const char *ours;
	const char *id;
	int rc;

	if (err->code == ERR_AUTH || err->http_status == 429)
		return -1;
	rc = vendor_get(c, label, answer, stop, &other);
	if (rc < 0 && err->http_status == 409) {
		/* Something has the name: this is no refusal of the create. */
		*err = other;
		err->http_status = 0;
	}
	if (rc != 0)
		return -1;
	id = json_string(*answer, f->id, "");
	ours = c->vendor->name_is_id ? id
				     : json_string(json_get(*answer, f->labels),
						   "dcode.label", "");
	if (strcmp(ours, label) == 0) {
		if (err->http_status == 409 || retry_is_transient(err))
			return 0;
		if (vendor_id_ok(id))
			sb->id = xstrdup(id);
	}
	cJSON_Delete(*answer);
	*answer = NULL;
	return -1;
}

static int list_label(struct sandbox_client *client, const char *label,
		      const struct info_sink *sink, const struct stop *stop,
		      struct error *err)
{
	return vendor_search(vendor_of(client), "dcode.label", label, sink,
			     stop, err);
}

/* Starts what an earlier request for this label has made, deletes the others;
 * 0 when there is none. */
static int find_by_label(struct sandbox *sb,
			 const struct duplicate_query *query, cJSON **answer,
			 const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	char *id = NULL;
	int rc = duplicate_create_resolve(sb->client, query, &id, stop, err);

	if (rc == 0 && id) {
		rc = c->vendor->attach_starts
			     ? c->vendor->start(sb, id, answer, stop, err)
			     : vendor_get(c, id, answer, stop, err);
		rc = rc < 0 ? -1 : rc == 0;
	}
	free(id);
	return rc;
}

/* Where the name is the id: an answer about another id is worth less than one
 * about our name, unless the vendor has none and gives names of its own. */
static int check_name(struct sandbox *sb, const char *label, cJSON **answer,
		      const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	cJSON *named = NULL;
	int rc;

	if (!c->vendor->name_is_id || sb->id ||
	    strcmp(json_string(*answer, c->vendor->fields.id, ""), label) == 0)
		return 0;
	rc = vendor_get(c, label, &named, stop, err);
	if (rc == 0)
		sb->id = xstrdup(label);
	if (rc <= 0) {
		cJSON_Delete(*answer);
		*answer = named;
	}
	return rc < 0 ? -1 : 0;
}

static int post(struct sandbox *sb, const struct sandbox_spec *spec,
		cJSON *body, cJSON **answer, const struct stop *stop,
		struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct error why = { 0 };

	if (v->post(sb, spec, body, answer, stop, &why) == 0 && *answer) {
		if (check_name(sb, spec->label, answer, stop, err) < 0) {
			/* It was made: a refusal now is none of the create. */
			sb->id = xstrdup(spec->label);
			return -1;
		}
		vendor_set_lease(sb, spec->lifetime_s);
		return 0;
	}
	if (!why.code) {
		error_set(&why, ERR_PROTOCOL, "an empty answer");
		why.http_status = 200;
	}
	*err = why;
	return v->unique_names
		       ? find_by_name(sb, spec->label, answer, stop, err)
		       : -1;
}

int vendor_create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	cJSON *body = cJSON_CreateObject();
	cJSON *answer = NULL;
	const struct duplicate_query labelled = { spec->label, list_label,
						  spec->label };
	struct error ignored = { 0 };
	bool again = false;
	int rc = describe(sb, spec, body, stop, err);

	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0 && !c->vendor->unique_names)
		again = create_log_add(&c->created, spec->label);
	if (rc == 0)
		vendor_set_lease(sb, spec->lifetime_s);
	if (rc == 0 && again)
		rc = find_by_label(sb, &labelled, &answer, stop, err);
	if (rc > 0)
		again = false;
	if (rc == 0)
		rc = post(sb, spec, body, &answer, stop, err);
	cJSON_Delete(body);
	if (rc < 0)
		return -1;
	rc = vendor_wait(sb, answer, NULL, spec, stop, err);
	if (rc < 0 && err->code == ERR_GONE) {
		err->code = ERR_REMOTE;
		error_wrap(err, "it did not boot");
	}
	/* A second request was sent; the first may have been done late. */
	if (rc == 0 && again)
		(void)duplicate_create_resolve(sb->client, &labelled, &sb->id,
					       stop, &ignored);
	if (rc == 0 && c->vendor->prepare)
		rc = c->vendor->prepare(sb, stop, err);
	return rc;
}

static bool is_uuid(const char *id)
{
	return strlen(id) == 36 && strspn(id, "0123456789abcdefABCDEF-") == 36;
}

/* It was asked for by its alias, a name for a UUID or the reverse. A UUID for
 * another is no alias but a wrong answer. */
static void set_id_of_alias(struct sandbox *sb, const char *asked,
			    const cJSON *answer)
{
	const struct vendor_fields *f = &vendor_of(sb->client)->vendor->fields;
	const char *id = json_string(answer, f->id, "");

	if (f->alias && !sb->id && is_uuid(asked) != is_uuid(id) &&
	    strcmp(json_string(answer, f->alias, ""), asked) == 0)
		sb->id = xstrdup(id);
}

int vendor_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err)
{
	struct vendor_client *c = vendor_of(sb->client);
	const struct sandbox_provider *p = sb->client->provider;
	const struct vendor *v = c->vendor;
	int64_t lifetime = 0;
	cJSON *answer = NULL;
	int rc;

	if (vendor_check_id(v, id, err) < 0 || set_workdir(sb, err) < 0 ||
	    settings_int(sb->client->settings, p->name, "lifetime", &lifetime,
			 err) < 0)
		return -1;
	vendor_set_lease(sb, lifetime > 0 ? lifetime : p->lifetime_s);
	if (v->attach_starts)
		rc = v->start(sb, id, &answer, stop, err);
	else
		rc = vendor_get(c, id, &answer, stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_NOT_FOUND, "no %s %s", v->noun, id);
	if (rc == 0) {
		set_id_of_alias(sb, id, answer);
		rc = vendor_wait(sb, answer, id, NULL, stop, err);
	}
	if (rc < 0 && err->code == ERR_GONE)
		err->code = ERR_NOT_FOUND;
	if (rc == 0 && v->prepare)
		rc = v->prepare(sb, stop, err);
	return rc;
}
