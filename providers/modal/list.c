/* list.c - Modal's sandboxes: ours among them, and one of them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "providers/modal/modal.h"

enum { PAGES_MAX = 1000 };

static const char *tag_of(Modal__SandboxTag *const *tags, size_t n,
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

/* A time of the server's in Unix seconds; 0 for what is none. */
static int64_t seconds(double at)
{
	return at > 0 && at < 1e11 ? (int64_t)at : 0;
}

/* The tags of one sandbox; modal_free() them. */
static int get_tags(struct modal *m, const char *id, ProtobufCMessage **tags,
		    const struct stop *stop, struct error *err)
{
	Modal__SandboxTagsGetRequest request =
		MODAL__SANDBOX_TAGS_GET_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "SandboxTagsGet",
		.what = "asking for the sandbox",
		.request = &request.base,
		.answer = &modal__sandbox_tags_get_response__descriptor,
		.flags = modal_flags(id),
	};

	request.sandbox_id = (char *)id;
	return modal_ask(m, &ask, tags, stop, err);
}

struct listing {
	struct modal *m;
	const struct stop *stop;
	const char *owner; /* or NULL */
	const struct info_sink *sink;
};

static void tell(const struct listing *l, const Modal__SandboxInfo *item,
		 Modal__SandboxTag *const *tags, size_t n_tags)
{
	const char *label = tag_of(tags, n_tags, "dcode.label");
	const char *owner = tag_of(tags, n_tags, "dcode.owner");
	struct sandbox_info info = {
		.id = item->id,
		.label = label[0] ? label : item->name,
		.owner = owner[0] || !l->owner ? owner : l->owner,
		.state = state_of(item),
		.image = item->image_id,
		.created = seconds(item->created_at),
	};

	if (!str_starts(str_of(info.label), "dcode-"))
		return;
	if (l->owner && strcmp(info.owner, l->owner) != 0)
		return;
	if (info.created && item->timeout_secs)
		info.ends = info.created + item->timeout_secs;
	info_emit(l->sink, &info);
}

/* A list may leave the tags out: the label is the name too, and who asked for
 * an owner's got those. Nor need there be another way to them. */
static void look(const struct listing *l, const Modal__SandboxInfo *item)
{
	bool named = str_starts(str_of(item->name), "dcode-");
	ProtobufCMessage *answer = NULL;
	struct error ignored = { 0 };
	const Modal__SandboxTagsGetResponse *r;

	if (!modal_id_ok(item->id))
		return;
	if (item->n_tags || (named ? l->owner != NULL : !l->owner)) {
		tell(l, item, item->tags, item->n_tags);
		return;
	}
	if (get_tags(l->m, item->id, &answer, l->stop, &ignored) < 0) {
		tell(l, item, NULL, 0);
		return;
	}
	r = (const Modal__SandboxTagsGetResponse *)answer;
	tell(l, item, r->tags, r->n_tags);
	modal_free(answer);
}

int modal_list(struct sandbox_client *host, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct modal *m = modal_of(host);
	struct listing l = { m, stop, owner, sink };
	Modal__SandboxListRequest request = MODAL__SANDBOX_LIST_REQUEST__INIT;
	Modal__SandboxTag tag = MODAL__SANDBOX_TAG__INIT;
	Modal__SandboxTag *tags[] = { &tag };
	struct modal_ask ask = {
		.method = "SandboxList",
		.what = "listing sandboxes",
		.request = &request.base,
		.answer = &modal__sandbox_list_response__descriptor,
	};
	struct error why = { 0 };

	/* Without the app there are none; nothing is made to see that. */
	if (modal_app(m, false, stop, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		*err = why;
		return -1;
	}
	request.app_id = m->app;
	request.environment_name = m->environment;
	tag.tag_name = (char *)"dcode.owner";
	tag.tag_value = (char *)owner;
	request.tags = tags;
	request.n_tags = owner ? 1 : 0;
	for (int page = 0; page < PAGES_MAX; page++) {
		ProtobufCMessage *answer = NULL;
		const Modal__SandboxListResponse *r;
		double before = request.before_timestamp;
		size_t n;

		if (modal_ask(m, &ask, &answer, stop, err) < 0)
			return -1;
		r = (Modal__SandboxListResponse *)answer;
		n = r->n_sandboxes;
		for (size_t i = 0; i < n; i++)
			look(&l, r->sandboxes[i]);
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

struct wanted {
	const char *id;
	const struct info_sink *sink;
	bool found;
};

static void on_listed(void *arg, const struct sandbox_info *info)
{
	struct wanted *w = arg;

	if (w->found || strcmp(info->id, w->id) != 0)
		return;
	w->found = true;
	info_emit(w->sink, info);
}

/* Of ours the list knows the name. */
static int by_list(struct sandbox_client *host, struct wanted *w, bool runs,
		   const struct stop *stop, struct error *err)
{
	struct sandbox_info info = {
		.id = w->id,
		.label = "",
		.owner = "",
		.image = "",
		.state = runs ? STATE_RUNNING : STATE_GONE,
	};

	if (modal_list(host, NULL, &(struct info_sink){ on_listed, w }, stop,
		       err) < 0)
		return -1;
	if (!w->found)
		info_emit(w->sink, &info);
	return 0;
}

int modal_info(struct sandbox_client *host, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err)
{
	struct modal *m = modal_of(host);
	ProtobufCMessage *answer = NULL;
	const Modal__SandboxTagsGetResponse *r;
	struct sandbox_info info = { .id = id, .image = "" };
	struct wanted w = { .id = id, .sink = sink };
	struct error why = { 0 };
	int state;

	if (!modal_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	state = modal_running(m, id, 0, stop, err);
	if (state < 0)
		return -1;
	if (get_tags(m, id, &answer, stop, &why) < 0) {
		if (why.code == ERR_REMOTE)
			return by_list(host, &w, state, stop, err);
		*err = why;
		return -1;
	}
	r = (Modal__SandboxTagsGetResponse *)answer;
	info.label = tag_of(r->tags, r->n_tags, "dcode.label");
	info.owner = tag_of(r->tags, r->n_tags, "dcode.owner");
	info.state = state ? STATE_RUNNING : STATE_GONE;
	info_emit(sink, &info);
	modal_free(answer);
	return 0;
}
