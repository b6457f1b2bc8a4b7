/* find.c - what the account has: its app, images and sandboxes. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

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

/* What the field holds. The first value that is given for it stays: value is
 * owned, and may be NULL. */
static const char *keep_first(struct modal *m, char **field, char *value)
{
	pthread_mutex_lock(&m->lock);
	if (*field)
		free(value);
	else
		*field = value;
	value = *field;
	pthread_mutex_unlock(&m->lock);
	return value;
}

int modal_find_app(struct modal *m, bool create, const struct stop *stop,
		   struct error *err)
{
	Modal__AppGetOrCreateRequest request =
		MODAL__APP_GET_OR_CREATE_REQUEST__INIT;
	const struct modal_ask ask = { "AppGetOrCreate", "finding the app",
				       .request = &request.base };
	const char *name = NULL;
	char *id = NULL;

	if (keep_first(m, &m->app, NULL))
		return 0;
	if (settings_string(m->settings, "modal", "app", &name, err) < 0)
		return -1;
	request.app_name = (char *)name;
	request.environment_name = m->environment;
	request.object_creation_type = create ? CREATE_IF_MISSING : 0;
	if (modal_ask_id(m, &ask, "app_id", &id, stop, err) < 0)
		return -1;
	(void)keep_first(m, &m->app, id);
	return 0;
}

/* The version of Modal's image builder, which the recipe depends on. */
static int find_builder(struct modal *m, const struct stop *stop,
			struct error *err)
{
	Modal__EnvironmentGetOrCreateRequest request =
		MODAL__ENVIRONMENT_GET_OR_CREATE_REQUEST__INIT;
	const struct modal_ask ask = { "EnvironmentGetOrCreate",
				       "asking for the environment",
				       .request = &request.base };
	ProtobufCMessage *answer;
	const Modal__EnvironmentMetadata *metadata;

	if (keep_first(m, &m->builder, NULL))
		return 0;
	request.deployment_name = m->environment;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	metadata = ((Modal__EnvironmentGetOrCreateResponse *)answer)->metadata;
	(void)keep_first(
		m, &m->builder,
		xstrdup(metadata && metadata->settings
				? metadata->settings->image_builder_version
				: ""));
	modal_free(answer);
	return 0;
}

struct image_build {
	const struct sandbox_spec *spec; /* for progress */
	char **commands;                 /* of its Dockerfile */
	size_t n_commands;
	const char *secret; /* of a private registry, or NULL */
	bool modals;        /* one of Modal's own images */
	char *entry;        /* owned: the last log entry seen */
	int status;         /* GenericStatus; 0: goes on */
	char *why;          /* owned */
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
	Modal__ImageJoinStreamingRequest request =
		MODAL__IMAGE_JOIN_STREAMING_REQUEST__INIT;
	enum grpc_code code = GRPC_NONE;
	const struct modal_ask ask = {
		.method = "ImageJoinStreaming",
		.what = "waiting for the image",
		.request = &request.base,
		.each = on_log,
		.arg = b,
		.timeout_ms = (JOIN_S + 10) * 1000,
		.code = &code,
	};
	int failures = 0;

	request.image_id = id;
	request.timeout = JOIN_S;
	while (!b->status) {
		struct error why = { 0 };

		if (b->entry)
			request.last_entry_id = b->entry;
		if (modal_ask(m, &ask, NULL, stop, &why) == 0) {
			failures = 0;
			if (stop_sleep(stop, b->status ? 0 : 50, err) < 0)
				return -1;
		} else if (!b->status && (!modal_is_passing(code, &why) ||
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

/* Finds the image of these commands, or has it built. */
static int get_image(struct modal *m, struct image_build *b, char **id,
		     const struct stop *stop, struct error *err)
{
	Modal__ImageGetOrCreateRequest request =
		MODAL__IMAGE_GET_OR_CREATE_REQUEST__INIT;
	Modal__Image image = MODAL__IMAGE__INIT;
	Modal__GPUConfig gpu = MODAL__GPUCONFIG__INIT;
	Modal__ImageRegistryConfig registry =
		MODAL__IMAGE_REGISTRY_CONFIG__INIT;
	const struct modal_ask ask = { "ImageGetOrCreate", "finding the image",
				       .request = &request.base };
	ProtobufCMessage *answer;
	int rc;

	image.n_dockerfile_commands = b->n_commands;
	image.dockerfile_commands = b->commands;
	if (b->modals) {
		image.gpu_config = &gpu;
		request.namespace_ = GLOBAL;
	}
	if (b->secret) {
		registry.registry_auth_type = STATIC_CREDS;
		registry.secret_id = (char *)b->secret;
	}
	if (b->modals || b->secret)
		image.image_registry_config = &registry;
	request.image = &image;
	request.app_id = m->app;
	request.builder_version = m->builder;
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	set_result(b, ((Modal__ImageGetOrCreateResponse *)answer)->result);
	rc = modal_answer_id(answer, "image_id", id, err);
	if (rc == 0)
		rc = wait_build(m, *id, b, stop, err);
	free(b->entry);
	free(b->why);
	return rc;
}

/*
 * Modal's own images are found by their recipe, which must be the same to the
 * byte as the Python SDK's debian_slim() with that builder. Of older ones it
 * is longer and comes with a file: an image of the registry does for them.
 */
static int get_debian_slim(struct modal *m, const struct sandbox_spec *spec,
			   char **id, const struct stop *stop,
			   struct error *err)
{
	static const char *const recipe[] = {
		"FROM python:3.13.3-slim-bookworm",
		"RUN apt-get update",
		"RUN apt-get install -y gcc gfortran build-essential",
		"RUN pip install --upgrade pip wheel uv",
		("RUN echo 'debconf debconf/frontend select Noninteractive' | "
		 "debconf-set-selections"),
		"CMD [\"sleep\", \"172800\"]",
	};
	struct image_build b = { .spec = spec,
				 .commands = (char **)recipe,
				 .n_commands = sizeof(recipe) / sizeof(*recipe),
				 .modals = true };

	return get_image(m, &b, id, stop, err);
}

static int get_from_registry(struct modal *m, const char *name,
			     const struct sandbox_spec *spec, char **id,
			     const struct stop *stop, struct error *err)
{
	char *from;
	struct image_build b = { .spec = spec,
				 .commands = &from,
				 .n_commands = 1 };
	int rc;

	if (settings_string(m->settings, "modal", "registry_secret", &b.secret,
			    err) < 0)
		return -1;
	if (strpbrk(name, " \t\r\n\\"))
		return error_set(err, ERR_CONFIG, "'%.200s' is no image", name);
	from = xasprintf("FROM %s", name);
	rc = get_image(m, &b, id, stop, err);
	free(from);
	return rc;
}

char *modal_tag(const struct modal *m, const char *name, char **environment)
{
	*environment = strchr(name, '/') ? (char *)"" : m->environment;
	return strchr(name, ':') ? xstrdup(name) : xasprintf("%s:latest", name);
}

int modal_find_published(struct modal *m, const char *name, char **id,
			 const struct stop *stop, struct error *err)
{
	Modal__ImageGetByTagRequest request =
		MODAL__IMAGE_GET_BY_TAG_REQUEST__INIT;
	const struct modal_ask ask = { "ImageGetByTag",
				       "finding the named image",
				       .request = &request.base };
	int rc;

	request.tag = modal_tag(m, name, &request.environment_name);
	rc = modal_ask_id(m, &ask, "image_id", id, stop, err);
	free(request.tag);
	return rc;
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
		return get_debian_slim(m, spec, id, stop, err);
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

/* The tags of one sandbox; modal_free() them. */
static int get_tags(struct modal *m, const char *id, ProtobufCMessage **tags,
		    const struct stop *stop, struct error *err)
{
	Modal__SandboxTagsGetRequest request =
		MODAL__SANDBOX_TAGS_GET_REQUEST__INIT;
	const struct modal_ask ask = { "SandboxTagsGet",
				       "asking for the sandbox",
				       .request = &request.base,
				       .flags = modal_flags(id) };

	request.sandbox_id = (char *)id;
	return modal_ask(m, &ask, tags, stop, err);
}

struct selection { /* which sandboxes of the app go to sink */
	struct modal *m;
	const struct stop *stop;
	const char *owner; /* or NULL */
	const char *id;    /* this one alone, or NULL */
	const struct info_sink *sink;
	bool found;
};

static void emit_info(struct selection *s, const Modal__SandboxInfo *item,
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
static void emit_item(struct selection *s, const Modal__SandboxInfo *item)
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
	modal_free(answer);
}

static int list_pages(struct selection *s, struct error *err)
{
	struct modal *m = s->m;
	Modal__SandboxListRequest request = MODAL__SANDBOX_LIST_REQUEST__INIT;
	Modal__SandboxTag tag = MODAL__SANDBOX_TAG__INIT;
	Modal__SandboxTag *tags[] = { &tag };
	const struct modal_ask ask = { "SandboxList", "listing sandboxes",
				       .request = &request.base };

	/* Without the app there are none; nothing is made to see that. */
	if (modal_find_app(m, false, s->stop, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	request.app_id = m->app;
	request.environment_name = m->environment;
	tag.tag_name = (char *)"dcode.owner";
	tag.tag_value = (char *)s->owner;
	request.tags = tags;
	request.n_tags = s->owner ? 1 : 0;
	for (int page = 0; page < PAGES_MAX; page++) {
		ProtobufCMessage *answer;
		const Modal__SandboxListResponse *r;
		double before = request.before_timestamp;
		size_t n;

		if (modal_ask(m, &ask, &answer, s->stop, err) < 0)
			return -1;
		r = (Modal__SandboxListResponse *)answer;
		n = r->n_sandboxes;
		for (size_t i = 0; i < n; i++)
			emit_item(s, r->sandboxes[i]);
		if (n)
			request.before_timestamp =
				r->sandboxes[n - 1]->created_at;
		modal_free(answer);
		if (!n)
			return 0;
		/* Newest first: each page is older than the one before. */
		if (before > 0 && !(request.before_timestamp < before))
			break;
	}
	return error_set(err, ERR_PROTOCOL,
			 "the list of sandboxes does not end");
}

int modal_list(struct sandbox_client *host, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct selection s = { modal_of(host), stop, owner, NULL, sink, false };

	return list_pages(&s, err);
}

/* Where the tags cannot be asked for, the list may have the sandbox: it
 * reports our label as its name. */
int modal_info(struct sandbox_client *host, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct modal *m = modal_of(host);
	struct selection s = { .m = m, .stop = stop, .id = id, .sink = sink };
	struct sandbox_info info = {
		.id = id, .label = "", .owner = "", .image = ""
	};
	ProtobufCMessage *answer = NULL;
	const Modal__SandboxTagsGetResponse *r;
	struct error why = { 0 };
	int state;

	if (!modal_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
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
	modal_free(answer);
	return 0;
}
