/* history.c - rebuilds a conversation from stored messages, for any vendor. */
/* SPDX-License-Identifier: MIT */

/*
 * A stored thread may end in the middle of a turn. This turns it into a history
 * that every vendor accepts: calls without a result get one that says so, and
 * messages that a compaction has replaced are left out.
 */
#include "session/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/draft.h"
#include "session/thread.h"

/* characters of a new call id, as many as call_id() of model/draft.c makes */
enum { NEW_ID = 9 };

#define UNKNOWN_OUTCOME                                                        \
	"The outcome of this call is unknown: dcode ended before its result "  \
	"was stored. It may have run in part or in full."

struct open_call {
	const char *stored; /* id in the database; owned by repair.ids */
	const char *id; /* id in the repaired history; owned by repair.ids */
	const char *name;
	bool answered;
};

/* State of the repair while it walks through the messages. */
struct repair {
	struct conversation out;
	/* owned: every id of a call in use, before and after the repair */
	char **ids;
	size_t n_ids;
	struct call_ids used; /* the same ids */
	/* owned: calls of the last answer, answered or not */
	struct open_call *calls;
	size_t n_calls;
};

void history_release(struct conversation *c)
{
	for (size_t i = 0; i < c->n; i++)
		message_release(&c->list[i]);
	free(c->list);
	*c = (struct conversation){ 0 };
}

void history_add(struct conversation *c, struct message *m)
{
	/* The array is doubled when n is a power of two, so that no capacity
	 * has to be stored. */
	if (!(c->n & (c->n - 1)))
		c->list = xrealloc(c->list, c->n ? c->n * 2 : 1,
				   sizeof(*c->list));
	c->list[c->n++] = *m;
	*m = (struct message){ 0 };
}

static void add_text(struct conversation *c, enum role role, const char *text)
{
	struct message m = { .role = role };

	message_add(&m, PART_TEXT)->text = xstrdup(text);
	history_add(c, &m);
}

static enum role last_role(const struct conversation *c)
{
	return c->n ? c->list[c->n - 1].role : 0;
}

static bool fits_role(enum role role, enum part_kind kind)
{
	if (role == ROLE_USER)
		return kind == PART_TEXT || kind == PART_MEDIA;
	if (role == ROLE_TOOL)
		return kind == PART_TOOL_RESULT || kind == PART_MEDIA;
	return kind != PART_TOOL_RESULT && kind != PART_MEDIA;
}

/* Drops the vendor's replay if it is not a JSON object. Repairs the arguments
 * of a call, or marks them as bad. Requests contain both unchanged, so both
 * must be valid JSON. */
static void check_json(struct part *p)
{
	struct buf args = BUF_INIT(SIZE_MAX / 2);
	cJSON *tree = p->replay && args_strict(str_of(p->replay))
			      ? json_parse(str_of(p->replay))
			      : NULL;

	if (p->replay && !cJSON_IsObject(tree)) {
		free(p->replay);
		p->replay = NULL;
	}
	cJSON_Delete(tree);
	if (p->kind != PART_TOOL_CALL || p->bad_args)
		return;
	buf_adds(&args, p->args ? p->args : "");
	p->bad_args = !args_repair(&args);
	free(p->args);
	p->args = buf_detach(&args);
}

static void part_drop(struct part *p)
{
	struct message gone = { .parts = NULL };
	struct part *slot = message_add(&gone, p->kind);

	*slot = *p;
	message_release(&gone);
}

/* Drops the parts that a message of this role cannot have and repairs the
 * rest. */
static void clean_parts(struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (!fits_role(m->role, m->parts[i].kind)) {
			part_drop(&m->parts[i]);
			continue;
		}
		m->parts[n] = m->parts[i];
		check_json(&m->parts[n++]);
	}
	m->n = n;
}

static const char *remember_id(struct repair *r, const char *id)
{
	if (!(r->n_ids & (r->n_ids - 1)))
		r->ids = xrealloc(r->ids, r->n_ids ? r->n_ids * 2 : 1,
				  sizeof(*r->ids));
	(void)call_ids_add(&r->used, id);
	return r->ids[r->n_ids++] = xstrdup(id);
}

/* Records a call whose result has not been found yet. It gets a new id if its
 * own is missing or already used, because results refer to calls by id. */
static void open_call(struct repair *r, struct part *p)
{
	struct open_call *call;
	const char *stored = p->id ? p->id : "";
	bool taken = !stored[0] || call_ids_has(&r->used, stored);

	if (!(r->n_calls & (r->n_calls - 1)))
		r->calls = xrealloc(r->calls, r->n_calls ? r->n_calls * 2 : 1,
				    sizeof(*r->calls));
	call = &r->calls[r->n_calls++];
	call->stored = remember_id(r, stored);
	call->id = call->stored;
	call->name = p->name;
	call->answered = false;
	if (!taken)
		return;
	free(p->id);
	p->id = xcalloc(NEW_ID + 1, 1);
	ids_random(p->id, NEW_ID);
	call->id = remember_id(r, p->id);
}

/* Adds a failed result for each call without one. No call is open
 * afterwards. */
static void close_calls(struct repair *r)
{
	struct message none = { .role = ROLE_TOOL };

	for (size_t i = 0; i < r->n_calls; i++) {
		struct part *p;

		if (r->calls[i].answered)
			continue;
		if (last_role(&r->out) != ROLE_TOOL)
			history_add(&r->out, &none);
		p = message_add(&r->out.list[r->out.n - 1], PART_TOOL_RESULT);
		p->id = xstrdup(r->calls[i].id);
		p->name = xstrdup(r->calls[i].name);
		p->text = xstrdup(UNKNOWN_OUTCOME);
		p->failed = true;
	}
	r->n_calls = 0;
}

static struct open_call *find_call(struct repair *r, const char *id)
{
	for (size_t i = 0; i < r->n_calls; i++)
		if (!r->calls[i].answered &&
		    strcmp(r->calls[i].stored, id ? id : "") == 0)
			return &r->calls[i];
	return NULL;
}

/* Adds the results of open calls; a result without a call is dropped, together
 * with its files. */
static void add_results(struct repair *r, struct message *m)
{
	bool kept = false; /* the last result was kept; its files follow it */
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct part *p = &m->parts[i];
		struct open_call *call = NULL;

		if (p->kind == PART_MEDIA && kept) {
			m->parts[n++] = *p;
			continue;
		}
		if (p->kind == PART_TOOL_RESULT)
			call = find_call(r, p->id);
		kept = call != NULL;
		if (!call) {
			part_drop(p);
			continue;
		}
		call->answered = true;
		free(p->id);
		p->id = xstrdup(call->id);
		m->parts[n++] = *p;
	}
	m->n = n;
	if (n)
		history_add(&r->out, m);
	else
		message_release(m);
}

/* Removes the last prompt and everything after it, like
 * model_forget_prompt(). */
static void forget_prompt(struct repair *r)
{
	struct conversation *c = &r->out;
	bool found = false;

	while (c->n && !found) {
		found = c->list[c->n - 1].role == ROLE_USER;
		message_release(&c->list[--c->n]);
	}
	r->n_calls = 0;
}

/* Keeps only the text: no vendor accepts incomplete calls, or thinking without
 * its signature. */
bool history_trim_cut(struct message *m)
{
	struct buf text = BUF_INIT(SIZE_MAX / 2);
	char *all = message_text(m);
	struct str said = str_of(all);

	while (said.len && strchr(" \t\r\n", said.ptr[said.len - 1]))
		said.len--;
	buf_addstr(&text, said);
	buf_adds(&text, "\n\n(interrupted)");
	for (size_t i = 0; i < m->n; i++)
		part_drop(&m->parts[i]);
	m->n = 0;
	free(m->parts);
	m->parts = NULL;
	if (said.len)
		message_add(m, PART_TEXT)->text = buf_detach(&text);
	buf_release(&text);
	free(all);
	m->cut = false;
	return m->n > 0;
}

static void add_answer(struct repair *r, struct message *m)
{
	struct conversation *c = &r->out;

	close_calls(r);
	if (m->cut && !history_trim_cut(m)) {
		message_release(m);
		return;
	}
	if (m->refused) {
		forget_prompt(r);
		message_release(m);
		return;
	}
	if (!c->n)
		add_text(c, ROLE_USER,
			 "(the beginning of this conversation is missing)");
	else if (last_role(c) == ROLE_ASSISTANT)
		add_text(c, ROLE_USER, "(a message is missing here)");
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL)
			open_call(r, &m->parts[i]);
	history_add(c, m);
}

void history_repair(struct conversation *c)
{
	struct repair r = { .ids = NULL };

	for (size_t i = 0; i < c->n; i++) {
		struct message *m = &c->list[i];

		clean_parts(m);
		if (m->role == ROLE_ASSISTANT) {
			add_answer(&r, m);
		} else if (m->role == ROLE_TOOL) {
			add_results(&r, m);
		} else {
			close_calls(&r);
			history_add(&r.out, m);
		}
	}
	close_calls(&r);
	for (size_t i = 0; i < r.n_ids; i++)
		free(r.ids[i]);
	free(r.ids);
	call_ids_release(&r.used);
	free(r.calls);
	free(c->list);
	c->list = r.out.list;
	c->n = r.out.n;
}

void history_to_json(const struct conversation *c, struct buf *out)
{
	buf_addf(out, "{\"results\":%zu,\"messages\":[", c->results);
	for (size_t i = 0; i < c->n; i++) {
		if (i)
			buf_addc(out, ',');
		message_to_json(&c->list[i], out);
	}
	buf_adds(out, "]}");
}

static bool add_item(struct conversation *c, const cJSON *item)
{
	struct buf text = BUF_INIT(SIZE_MAX / 2);
	struct error ignored = { 0 };
	struct message m;
	bool ok;

	json_print(&text, item);
	ok = message_from_json(&m, buf_str(&text), &ignored) == 0;
	if (ok)
		history_add(c, &m);
	buf_release(&text);
	return ok;
}

/* Loads a compaction. If any part is invalid, nothing is loaded: the messages
 * that it replaces are still stored. */
static void from_json(void *arg, struct str json, int64_t after)
{
	struct conversation *c = arg;
	cJSON *tree = json_parse(json);
	const cJSON *list = json_get(tree, "messages");
	const cJSON *item;
	bool ok = cJSON_IsArray(list) && after > 0;

	if (ok)
		cJSON_ArrayForEach (item, list)
			ok = ok && add_item(c, item);
	if (ok) {
		c->after = c->stored = (size_t)after;
		c->results = (size_t)json_int(tree, "results", 0);
	} else {
		history_release(c);
	}
	cJSON_Delete(tree);
}

static bool add_stored(void *arg, struct thread_message *m)
{
	struct conversation *c = arg;

	const struct usage *u = &m->usage;
	int64_t tokens = u->input + u->output + u->cache_read + u->cache_write;

	c->stored++;
	c->damaged += m->damaged;
	if (m->message.role == ROLE_TOOL)
		c->results += m->message.n;
	if (tokens)
		c->tokens = tokens;
	if (!m->damaged)
		history_add(c, &m->message);
	return true;
}

int history_load(struct conversation *c, struct store *s, int64_t no,
		 struct error *err)
{
	*c = (struct conversation){ 0 };
	if (compaction_find(s, no, from_json, c, err) < 0 ||
	    thread_each_message_from(s, no, (int64_t)c->after, add_stored, c,
				     err) < 0) {
		history_release(c);
		return -1;
	}
	history_repair(c);
	return 0;
}

void history_send(const struct conversation *c, const char *origin,
		  void (*push)(void *arg, const struct message *m), void *arg)
{
	bool foreign = false; /* the last answer came from another vendor */

	for (size_t i = 0; i < c->n; i++) {
		const struct message *m = &c->list[i];
		const struct message *next = i + 1 < c->n ? m + 1 : NULL;

		if (m->role == ROLE_ASSISTANT)
			foreign = m->origin && strcmp(m->origin, origin) != 0;
		push(arg, m);
		if (foreign && m->role == ROLE_TOOL &&
		    (!next || next->role == ROLE_USER)) {
			struct conversation bridge = { 0 };

			add_text(&bridge, ROLE_ASSISTANT, message_bridge(next));
			push(arg, bridge.list);
			history_release(&bridge);
		}
	}
}

static void push_one(void *arg, const struct message *m)
{
	model_push(arg, m);
}

void history_push(const struct conversation *c, struct model *m)
{
	history_send(c, model_origin(m), push_one, m);
}

static size_t size_of(const struct stored_call *c)
{
	const char *args = c->call.args;
	const char *text = c->result.text;
	const char *change = c->result.change;

	return (args ? strlen(args) : 0) + (text ? strlen(text) : 0) +
	       (change ? strlen(change) : 0);
}

static void release_call(struct stored_call *c)
{
	free(c->call.id);
	free(c->call.name);
	free(c->call.args);
	free(c->result.text);
	free(c->result.change);
}

static void drop_oldest(struct stored_calls *c)
{
	c->bytes -= size_of(c->list);
	release_call(c->list);
	memmove(c->list, c->list + 1, --c->n * sizeof(*c->list));
}

static char *take(char **text)
{
	char *taken = *text;

	*text = NULL;
	return taken;
}

static void add_call(struct stored_calls *c, struct part *p)
{
	struct stored_call *added;

	if (!c->list)
		c->list = xcalloc(STORED_CALLS_MOST, sizeof(*c->list));
	if (c->n == STORED_CALLS_MOST)
		drop_oldest(c);
	added = &c->list[c->n++];
	*added = (struct stored_call){ .call = { .kind = PART_TOOL_CALL,
						 .id = take(&p->id),
						 .name = take(&p->name),
						 .args = take(&p->args),
						 .bad_args = p->bad_args } };
	c->bytes += size_of(added);
}

/* Gives a result to the newest call of its id. */
static void add_result(struct stored_calls *c, struct part *p)
{
	for (size_t i = c->n; i && p->id; i--) {
		struct stored_call *call = &c->list[i - 1];

		if (call->result.text || !call->call.id ||
		    strcmp(call->call.id, p->id) != 0)
			continue;
		c->bytes -= size_of(call);
		call->result.failed = p->failed;
		call->result.text = take(&p->text);
		call->result.change = take(&p->change);
		c->bytes += size_of(call);
		break;
	}
	while (c->n > 1 && c->bytes > STORED_CALLS_BYTES)
		drop_oldest(c);
}

static bool add_message(void *arg, struct thread_message *m)
{
	struct stored_calls *c = arg;

	for (size_t i = 0; !m->damaged && i < m->message.n; i++) {
		struct part *p = &m->message.parts[i];

		if (p->kind == PART_TOOL_CALL)
			add_call(c, p);
		else if (p->kind == PART_TOOL_RESULT)
			add_result(c, p);
	}
	return true;
}

int stored_calls_load(struct stored_calls *c, struct store *s, int64_t no,
		      const struct mask *mask, struct error *err)
{
	const struct thread_export of = {
		.no = no, .mask = mask, .each = add_message, .arg = c
	};

	return thread_export(s, &of, err);
}

void stored_calls_release(struct stored_calls *c)
{
	for (size_t i = 0; i < c->n; i++)
		release_call(&c->list[i]);
	free(c->list);
	*c = (struct stored_calls){ 0 };
}
