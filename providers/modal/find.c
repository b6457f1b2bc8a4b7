/* find.c - what the account has: its app, images and sandboxes. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/modal/modal.h"

enum {
	CREATE_IF_MISSING = 1, /* ObjectCreationType */
	GLOBAL = 3,            /* DeploymentNamespace: Modal's own images */
	STATIC_CREDS = 4,      /* RegistryAuthType */
	SUCCESS = 1,           /* GenericStatus */
	JOIN_S = 55,           /* for which the server holds a stream */
	JOIN_FAILURES = 3,
	LOG_MAX = 200,
	PAGES_MAX = 1000, /* of a list */
};

int modal_find_app(struct modal *m, bool create, const struct stop *stop,
		   struct error *err)
{
	struct protobuf_ask ask = { .method = "AppGetOrCreate",
				    .what = "finding the app" };
	const char *name = NULL;
	char *id = NULL;

	if (modal_keep_first(&m->lock, &m->app, NULL))
		return 0;
	if (settings_string(m->settings, "modal", "app", &name, err) < 0)
		return -1;
	ask.request = protobuf_texts("app_name", name, "environment_name",
				     m->environment, NULL);
	cJSON_AddNumberToObject(ask.request, "object_creation_type",
				create ? CREATE_IF_MISSING : 0);
	if (modal_ask_id(m, &ask, "app_id", &id, stop, err) < 0)
		return -1;
	(void)modal_keep_first(&m->lock, &m->app, id);
	return 0;
}

/* The version of Modal's image builder, which the recipe depends on. */
static int find_builder(struct modal *m, const struct stop *stop,
			struct error *err)
{
	struct protobuf_ask ask = { .method = "EnvironmentGetOrCreate",
				    .what = "asking for the environment" };
	ProtobufCMessage *answer;
	const Modal__EnvironmentMetadata *metadata;

	if (modal_keep_first(&m->lock, &m->builder, NULL))
		return 0;
	ask.request = protobuf_texts("deployment_name", m->environment, NULL);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	metadata = ((Modal__EnvironmentGetOrCreateResponse *)answer)->metadata;
	(void)modal_keep_first(
		&m->lock, &m->builder,
		xstrdup(metadata && metadata->settings
				? metadata->settings->image_builder_version
				: ""));
	protobuf_free(answer);
	return 0;
}

struct image_build {
	const struct sandbox_spec *spec; /* for progress */
	char *entry;                     /* owned: the last log entry seen */
	int status;                      /* GenericStatus; 0: goes on */
	char *why;                       /* owned */
};

static void set_result(struct image_build *b,
		       const Modal__GenericResult *result)
{
	if (!result || !result->status)
		return;
	b->status = result->status;
	free(b->why);
	b->why = xstrdup(result->exception);
}

static int on_log(void *arg, const ProtobufCMessage *message, struct error *err)
{
	const Modal__ImageJoinStreamingResponse *r =
		(const Modal__ImageJoinStreamingResponse *)message;
	struct image_build *b = arg;

	(void)err;
	if (r->entry_id[0]) {
		free(b->entry);
		b->entry = xstrdup(r->entry_id);
	}
	for (size_t i = 0; i < r->n_task_logs && b->spec->progress; i++) {
		struct buf line = BUF_INIT(LOG_MAX);

		sanitize_line(str_trim(str_of(r->task_logs[i]->data)), &line);
		if (line.len)
			b->spec->progress(b->spec->arg, line.ptr);
		buf_release(&line);
	}
	set_result(b, r->result);
	return 0;
}

/* Follows the build to its end. */
static int wait_build(struct modal *m, char *id, struct image_build *b,
		      const struct stop *stop, struct error *err)
{
	int failures = 0;

	while (!b->status) {
		const struct protobuf_ask ask = {
			"ImageJoinStreaming",
			"waiting for the image",
			.request =
				protobuf_texts("image_id", id, "last_entry_id",
					       b->entry, NULL),
			.each = on_log,
			.arg = b,
			.timeout_ms = (JOIN_S + 10) * 1000,
		};
		struct error why = { 0 };

		cJSON_AddNumberToObject(ask.request, "timeout", JOIN_S);
		if (modal_ask(m, &ask, NULL, stop, &why) == 0) {
			failures = 0;
			if (stop_sleep(stop, b->status ? 0 : 50, err) < 0)
				return -1;
		} else if (!b->status && (!modal_is_passing(&why) ||
					  ++failures == JOIN_FAILURES)) {
			*err = why;
			return -1;
		}
	}
	if (b->status == SUCCESS)
		return 0;
	return error_set(err, ERR_REMOTE, "building the image failed: %.300s",
			 b->why && b->why[0] ? b->why : "no reason");
}

/* Finds the image, or has it built; takes its description over. */
static int get_image(struct modal *m, const struct sandbox_spec *spec,
		     cJSON *image, char **id, const struct stop *stop,
		     struct error *err)
{
	const struct protobuf_ask ask = {
		"ImageGetOrCreate", "finding the image",
		.request = protobuf_texts("app_id", m->app, "builder_version",
					  m->builder, NULL)
	};
	struct image_build b = { .spec = spec };
	ProtobufCMessage *answer;
	int rc;

	cJSON_AddNumberToObject(ask.request, "namespace",
				json_get(image, "gpu_config") ? GLOBAL : 0);
	cJSON_AddItemToObject(ask.request, "image", image);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	set_result(&b, ((Modal__ImageGetOrCreateResponse *)answer)->result);
	rc = modal_answer_id(answer, "image_id", id, err);
	if (rc == 0)
		rc = wait_build(m, *id, &b, stop, err);
	free(b.entry);
	free(b.why);
	return rc;
}

/*
 * Modal's own images are found by their recipe, which must be the same to the
 * byte as the Python SDK's debian_slim() with that builder. Of older ones it
 * is longer and comes with a file: an image of the registry does for them.
 */
static const char debian_slim[] =
	"{\"dockerfile_commands\":["
	"\"FROM python:3.13.3-slim-bookworm\","
	"\"RUN apt-get update\","
	"\"RUN apt-get install -y gcc gfortran build-essential\","
	"\"RUN pip install --upgrade pip wheel uv\","
	"\"RUN echo 'debconf debconf/frontend select Noninteractive' | "
	"debconf-set-selections\","
	"\"CMD [\\\"sleep\\\", \\\"172800\\\"]\"],"
	"\"gpu_config\":{},\"image_registry_config\":{}}";

static int get_from_registry(struct modal *m, const char *name,
			     const struct sandbox_spec *spec, char **id,
			     const struct stop *stop, struct error *err)
{
	cJSON *image = cJSON_CreateObject();
	const char *secret = NULL;
	char *from = xasprintf("FROM %s", name);
	int rc = settings_string(m->settings, "modal", "registry_secret",
				 &secret, err);

	cJSON_AddItemToObject(
		image, "dockerfile_commands",
		cJSON_CreateStringArray((const char *const *)&from, 1));
	if (secret) {
		cJSON *registry = protobuf_texts("secret_id", secret, NULL);

		cJSON_AddNumberToObject(registry, "registry_auth_type",
					STATIC_CREDS);
		cJSON_AddItemToObject(image, "image_registry_config", registry);
	}
	free(from);
	if (rc == 0 && strpbrk(name, " \t\r\n\\"))
		rc = error_set(err, ERR_CONFIG, "not an image: '%.200s'", name);
	if (rc == 0)
		return get_image(m, spec, image, id, stop, err);
	cJSON_Delete(image);
	return -1;
}

cJSON *modal_tag(const struct modal *m, const char *name)
{
	char *tag = xasprintf("%s%s", name, strchr(name, ':') ? "" : ":latest");
	cJSON *request =
		protobuf_texts("tag", tag, "environment_name",
			       strchr(name, '/') ? NULL : m->environment, NULL);

	free(tag);
	return request;
}

int modal_find_published(struct modal *m, const char *name, char **id,
			 const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = { "ImageGetByTag",
					  "finding the named image",
					  .request = modal_tag(m, name) };

	return modal_ask_id(m, &ask, "image_id", id, stop, err);
}

int modal_find_image(struct modal *m, const struct sandbox_spec *spec,
		     char **id, bool *bare, const struct stop *stop,
		     struct error *err)
{
	const char *image = NULL;
	const char *named = NULL;
	bool slim;

	*id = NULL;
	*bare = true;
	if (settings_string(m->settings, "modal", "image", &image, err) < 0 ||
	    settings_string(m->settings, "modal", "named_image", &named, err) <
		    0)
		return -1;
	if (spec->snapshot)
		named = spec->snapshot;
	if (named && str_starts(str_of(named), "im-"))
		image = named;
	else if (named)
		return modal_find_published(m, named, id, stop, err);
	if (str_starts(str_of(image), "im-") && modal_id_ok(image)) {
		*id = xstrdup(image);
		return 0;
	}
	if (find_builder(m, stop, err) < 0)
		return -1;
	slim = strcmp(image, "debian_slim") == 0;
	*bare = !slim || (strcmp(m->builder, "PREVIEW") != 0 &&
			  strcmp(m->builder, "2025.06") < 0);
	if (!*bare)
		return get_image(m, spec, json_parse(str_of(debian_slim)), id,
				 stop, err);
	return get_from_registry(m, slim ? "python:3.13-slim-bookworm" : image,
				 spec, id, stop, err);
}

static const char *get_tag(Modal__SandboxTag *const *tags, size_t n,
			   const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(tags[i]->tag_name, name) == 0)
			return tags[i]->tag_value;
	return "";
}

static enum sandbox_state state_of(const Modal__SandboxInfo *info)
{
	const Modal__TaskInfo *task = info->task_info;

	if (task &&
	    (task->finished_at > 0 || (task->result && task->result->status)))
		return STATE_GONE;
	return task && task->started_at > 0 ? STATE_RUNNING : STATE_STARTING;
}

/* The tags of one sandbox; protobuf_free() them. */
static int get_tags(struct modal *m, const char *id, ProtobufCMessage **tags,
		    const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxTagsGet", "asking for the sandbox",
		.request = protobuf_texts("sandbox_id", id, NULL),
		.flags = modal_flags(id)
	};

	return modal_ask(m, &ask, tags, stop, err);
}

struct sandbox_choice { /* which sandboxes of the app go to sink */
	struct modal *m;
	const struct stop *stop;
	const char *owner; /* or NULL */
	const char *id;    /* this one alone, or NULL */
	const struct info_sink *sink;
	bool found;
};

static void emit_info(struct sandbox_choice *s, const Modal__SandboxInfo *item,
		      Modal__SandboxTag *const *tags, size_t n_tags)
{
	const char *label = get_tag(tags, n_tags, "dcode.label");
	const char *owner = get_tag(tags, n_tags, "dcode.owner");
	double created = item->created_at; /* Unix seconds, of any value */
	struct sandbox_info info = {
		.id = item->id,
		.label = label[0] ? label : item->name,
		.owner = owner[0] || !s->owner ? owner : s->owner,
		.state = state_of(item),
		.image = item->image_id,
		.created = created > 0 && created < 1e11 ? (int64_t)created : 0,
	};

	if (!str_starts(str_of(info.label), "dcode-") ||
	    (s->owner && strcmp(info.owner, s->owner) != 0) ||
	    (s->id && (s->found || strcmp(info.id, s->id) != 0)))
		return;
	if (info.created && item->timeout_secs)
		info.ends = info.created + item->timeout_secs;
	s->found = true;
	info_emit(s->sink, &info);
}

/* A list may leave the tags out: our label is the name, too, and who asked for
 * an owner's sandboxes got only those. Others are asked for their tags, which
 * not every server can tell. */
static void emit_item(struct sandbox_choice *s, const Modal__SandboxInfo *item)
{
	bool named = str_starts(str_of(item->name), "dcode-");
	ProtobufCMessage *answer = NULL;
	struct error ignored = { 0 };
	const Modal__SandboxTagsGetResponse *r;

	if (!modal_id_ok(item->id))
		return;
	if (item->n_tags || (named ? s->owner != NULL : !s->owner)) {
		emit_info(s, item, item->tags, item->n_tags);
		return;
	}
	(void)get_tags(s->m, item->id, &answer, s->stop, &ignored);
	r = (const Modal__SandboxTagsGetResponse *)answer;
	emit_info(s, item, r ? r->tags : NULL, r ? r->n_tags : 0);
	protobuf_free(answer);
}

/* The request for a page: sandboxes made before that time, 0: the newest. */
static cJSON *list_request(const struct sandbox_choice *s, double before)
{
	cJSON *request = protobuf_texts("app_id", s->m->app, "environment_name",
					s->m->environment, NULL);

	cJSON_AddNumberToObject(request, "before_timestamp", before);
	if (s->owner)
		cJSON_AddItemToArray(cJSON_AddArrayToObject(request, "tags"),
				     protobuf_texts("tag_name", "dcode.owner",
						    "tag_value", s->owner,
						    NULL));
	return request;
}

static int list_pages(struct sandbox_choice *s, struct error *err)
{
	double before = 0;

	/* Without the app there are none; nothing is made to see that. */
	if (modal_find_app(s->m, false, s->stop, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	for (int page = 0; page < PAGES_MAX; page++) {
		const struct protobuf_ask ask = {
			"SandboxList", "listing sandboxes",
			.request = list_request(s, before)
		};
		double last = before;
		ProtobufCMessage *answer;
		const Modal__SandboxListResponse *r;
		size_t n;

		if (modal_ask(s->m, &ask, &answer, s->stop, err) < 0)
			return -1;
		r = (Modal__SandboxListResponse *)answer;
		n = r->n_sandboxes;
		for (size_t i = 0; i < n; i++)
			emit_item(s, r->sandboxes[i]);
		if (n)
			before = r->sandboxes[n - 1]->created_at;
		protobuf_free(answer);
		if (!n)
			return 0;
		/* Newest first: each page is older than the one before. */
		if (last > 0 && !(before < last))
			break;
	}
	return error_set(err, ERR_PROTOCOL,
			 "the list of sandboxes does not end");
}

int modal_list(struct sandbox_client *host, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct sandbox_choice s = { modal_of(host), stop, owner,
				    NULL,           sink, false };

	return list_pages(&s, err);
}

/* Where the tags cannot be asked for, the list may have the sandbox: it
 * reports our label as its name. */
int modal_info(struct sandbox_client *host, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct modal *m = modal_of(host);
	struct sandbox_choice s = {
		.m = m, .stop = stop, .id = id, .sink = sink
	};
	struct sandbox_info info = {
		.id = id, .label = "", .owner = "", .image = ""
	};
	ProtobufCMessage *answer = NULL;
	const Modal__SandboxTagsGetResponse *r;
	struct error why = { 0 };
	int state;

	if (modal_check_id(id, err) < 0)
		return -1;
	state = modal_is_running(m, id, 0, stop, err);
	if (state < 0)
		return -1;
	info.state = state ? STATE_RUNNING : STATE_GONE;
	if (get_tags(m, id, &answer, stop, &why) == 0) {
		r = (Modal__SandboxTagsGetResponse *)answer;
		info.label = get_tag(r->tags, r->n_tags, "dcode.label");
		info.owner = get_tag(r->tags, r->n_tags, "dcode.owner");
	} else if (why.code != ERR_REMOTE) {
		*err = why;
		return -1;
	} else if (list_pages(&s, err) < 0) {
		return -1;
	}
	if (!s.found)
		info_emit(sink, &info);
	protobuf_free(answer);
	return 0;
}
