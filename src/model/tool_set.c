/* tool_set.c - a conversation's tools, adapted to its vendor. */
/* SPDX-License-Identifier: MIT */
/* dcode's own tools work with every vendor, but tools of MCP servers may not.
 * This file gives each MCP tool a name and a schema for requests
 * (tool_set_new(), with tool_fit.c). It leaves out tools that the vendor would
 * refuse or has refused (tool_set_refuse()): otherwise one such tool would make
 * every turn fail. It translates calls in both directions
 * (tool_set_translate(), tool_set_restore()). The first part stores notes for
 * the user about tools that are left out: one list for all conversations of a
 * run. */
#include "model/tool_set.h"

#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/tool_fit.h"

enum { MOST_NOTES = 2000 };

struct note {
	char *key;
	char *line; /* NULL after tool_notes_take() returned it */
};

struct tool_notes {
	pthread_mutex_t lock;
	struct note *list;
	size_t n;
	size_t told; /* number of lines that tool_notes_take() has returned */
};

struct tool_notes *tool_notes_new(void)
{
	struct tool_notes *n = xcalloc(1, sizeof(*n));

	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void tool_notes_free(struct tool_notes *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n; i++) {
		free(n->list[i].key);
		free(n->list[i].line);
	}
	free(n->list);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static bool has_key(const struct tool_notes *n, const char *key)
{
	for (size_t i = 0; i < n->n; i++)
		if (strcmp(n->list[i].key, key) == 0)
			return true;
	return false;
}

void tool_notes_add(struct tool_notes *n, const char *key, const char *line)
{
	pthread_mutex_lock(&n->lock);
	if (n->n < MOST_NOTES && !has_key(n, key)) {
		n->list = xrealloc(n->list, n->n + 1, sizeof(*n->list));
		n->list[n->n++] = (struct note){ xstrdup(key), xstrdup(line) };
	}
	pthread_mutex_unlock(&n->lock);
}

static bool has_note(struct tool_notes *n, const char *key)
{
	bool found;

	pthread_mutex_lock(&n->lock);
	found = has_key(n, key);
	pthread_mutex_unlock(&n->lock);
	return found;
}

char *tool_notes_take(struct tool_notes *n)
{
	char *line = NULL;

	pthread_mutex_lock(&n->lock);
	if (n->told < n->n) {
		line = n->list[n->told].line;
		n->list[n->told++].line = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	return line;
}

enum {
	/* after more refused requests than this, all MCP tools are left out */
	MOST_REFUSALS = 12,
	MOST_NAMES = 5,   /* tools named in one note */
	MOST_LINE = 2000, /* bytes of one note */
	MOST_WHY = 300,   /* bytes quoted of the vendor's message */
	/* a lower number in a refusal is not taken for a limit of tools */
	LEAST_TOOLS = 16,
};

struct offered_tool {
	struct tool_spec own; /* strings are owned if own.server is set */
	struct tool_fit fit;
	char *sent; /* its name in requests, if that is another; owned */
	char *server;
	bool out;
};

struct tool_set {
	const struct tool_rules *rules;
	char *origin;
	struct tool_notes *notes; /* borrowed */
	struct offered_tool *rows;
	size_t n;
	size_t most; /* maximum tools in a request; 0: no limit */
	struct tool_spec *list;
	size_t *index; /* for each entry of list, its index in rows */
	size_t n_list;
	size_t refusals;
};

struct surplus { /* tools of one server that exceed the vendor's limit */
	const char *server;
	size_t n;
	struct buf names;
};

/* In refusals, vendors name a tool by its position in the request:
 * "tools.14.custom" and "tools.15.member" (Anthropic; Bedrock, whose "member"
 * counts from 1), "tools[14].function" (OpenAI),
 * "tools[0].function_declarations[14]" (Gemini), ["body", "tools", 14] (servers
 * written with FastAPI, such as Mistral's and vLLM). */
static const char *const places[] = { "function_declarations",
				      "functionDeclarations", "tools", NULL };

static bool is_foreign(const struct offered_tool *r)
{
	return r->own.server != NULL;
}

/* Returns the key of the note about a refusal, owned. It includes a hash of the
 * schema, so a tool that has changed is tried again. */
static char *refusal_key(const struct tool_set *s, const struct offered_tool *r)
{
	uint32_t hash = 0x811C9DC5u; /* FNV-1a */

	for (const char *c = r->own.schema; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x01000193u;
	return xasprintf("refused %s\n%s\n%08x", s->origin, r->own.name, hash);
}

static void add_note(const struct tool_set *s, const char *key, struct str line)
{
	struct buf clean = BUF_INIT(MOST_LINE);

	sanitize_line(line, &clean);
	clean.len = str_utf8_prefix(buf_str(&clean));
	if (clean.len)
		clean.ptr[clean.len] = '\0';
	tool_notes_add(s->notes, key, clean.ptr ? clean.ptr : "");
	buf_release(&clean);
}

/* Leaves a tool out and adds a note with the reason. Later tool sets find the
 * refusal by the note's key. */
static void omit_tool(struct tool_set *s, struct offered_tool *r,
		      const char *why)
{
	char *key = refusal_key(s, r);
	char *line = xasprintf("MCP server %s: its tool %s is left out: %.*s",
			       r->server, r->own.name, MOST_WHY, why);

	r->out = true;
	add_note(s, key, str_of(line));
	free(line);
	free(key);
}

static bool has_name(const struct tool_set *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct offered_tool *r = &s->rows[i];

		if (!strcmp(r->own.name, name) ||
		    (r->sent && !strcmp(r->sent, name)))
			return true;
	}
	return false;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_name(const struct tool_rules *r, const char *name)
{
	size_t n = 0;

	while (name[n] && is_name_char(name[n]))
		n++;
	return n && !name[n] && n <= r->name &&
	       (!r->name_letter || isalpha((unsigned char)name[0]) ||
		name[0] == '_');
}

/* Gives the tool a name that the vendor accepts: "3d_cube" becomes "_3d_cube"
 * if a name must begin with a letter. */
static void fit_name(struct tool_set *s, struct offered_tool *r)
{
	struct buf name = BUF_INIT(s->rules->name);
	size_t whole;

	if (is_name(s->rules, r->own.name))
		return;
	if (s->rules->name_letter && !isalpha((unsigned char)r->own.name[0]) &&
	    r->own.name[0] != '_')
		buf_addc(&name, '_');
	for (const char *c = r->own.name; *c && !name.over; c++)
		buf_addc(&name, is_name_char(*c) ? *c : '_');
	whole = name.len;
	for (unsigned i = 2; has_name(s, name.ptr); i++) {
		name.len =
			whole < s->rules->name - 5 ? whole : s->rules->name - 5;
		name.over = false;
		buf_addf(&name, "_%u", i);
	}
	r->sent = buf_detach(&name);
}

/* Adds a note about the tools of one server that exceed the vendor's limit. */
static void note_surplus(const struct tool_set *s, struct surplus *x)
{
	struct buf line = BUF_INIT(MOST_LINE);
	char *key =
		xasprintf("surplus %s\n%s\n%zu", s->origin, x->server, x->n);

	buf_addf(&line,
		 "MCP server %s: %zu tool%s not offered, because the model "
		 "accepts at most %zu tools: %s",
		 x->server, x->n, x->n == 1 ? "" : "s", s->most,
		 x->names.ptr ? x->names.ptr : "");
	if (x->n > MOST_NAMES)
		buf_addf(&line, " and %zu more", x->n - MOST_NAMES);
	add_note(s, key, buf_str(&line));
	buf_release(&line);
	buf_release(&x->names);
	free(key);
}

static void add_surplus(const struct tool_set *s, struct surplus *x,
			const struct offered_tool *r)
{
	if (x->n && strcmp(x->server, r->server) != 0) {
		note_surplus(s, x);
		*x = (struct surplus){ 0 };
	}
	if (!x->n)
		*x = (struct surplus){ r->server, 0, BUF_INIT(MOST_LINE) };
	if (x->n++ < MOST_NAMES)
		buf_addf(&x->names, "%s%s", x->names.len ? ", " : "",
			 r->own.name);
}

/* Makes the list of tools for requests. dcode's own tools are always in it. MCP
 * tools are added up to the vendor's limit. */
static void make_list(struct tool_set *s)
{
	struct surplus surplus = { 0 };
	size_t own = 0;
	size_t room;

	for (size_t i = 0; i < s->n; i++)
		own += !is_foreign(&s->rows[i]);
	room = !s->most ? s->n : own < s->most ? s->most - own : 0;
	s->n_list = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct offered_tool *r = &s->rows[i];
		struct tool_spec *to = &s->list[s->n_list];

		if (r->out)
			continue;
		if (is_foreign(r) && !room) {
			add_surplus(s, &surplus, r);
			continue;
		}
		*to = r->own;
		s->index[s->n_list++] = i;
		if (!is_foreign(r))
			continue;
		room--;
		to->name = r->sent ? r->sent : r->own.name;
		to->description = r->fit.description;
		to->schema = r->fit.schema;
	}
	if (surplus.n)
		note_surplus(s, &surplus);
}

/* Adapts one MCP tool to the vendor, or leaves it out. */
static void fit_row(struct tool_set *s, struct offered_tool *r)
{
	char *key;

	if (!is_foreign(r))
		return;
	key = refusal_key(s, r);
	r->out = has_note(s->notes, key);
	if (tool_fit(s->rules, &r->own, &r->fit) < 0 && !r->out)
		omit_tool(s, r,
			  "its arguments cannot be described to this "
			  "model");
	if (!r->out)
		fit_name(s, r);
	free(key);
}

struct tool_set *tool_set_new(const struct model_choice *choice,
			      const char *origin, const struct tool_spec *tools,
			      size_t n)
{
	const struct tool_server *first = NULL;
	struct tool_set *s;

	for (size_t i = 0; i < n && !first; i++)
		first = tools[i].server;
	if (!first)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->rules = tool_rules_find(choice);
	s->origin = xstrdup(origin);
	s->notes = first->notes;
	s->most = s->rules->tools;
	s->rows = xcalloc(n, sizeof(*s->rows));
	s->list = xcalloc(n, sizeof(*s->list));
	s->index = xcalloc(n, sizeof(*s->index));
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		s->rows[i].own = (struct tool_spec){
			.name = xstrdup(tools[i].name),
			.description = xstrdup(tools[i].description),
			.schema = xstrdup(tools[i].schema),
			.server = tools[i].server,
		};
		if (tools[i].server)
			s->rows[i].server = xstrdup(tools[i].server->name);
	}
	for (size_t i = 0; i < n; i++)
		fit_row(s, &s->rows[i]);
	make_list(s);
	return s;
}

void tool_set_free(struct tool_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct offered_tool *r = &s->rows[i];

		free((char *)r->own.name);
		free((char *)r->own.description);
		free((char *)r->own.schema);
		free(r->server);
		free(r->sent);
		tool_fit_release(&r->fit);
	}
	free(s->rows);
	free(s->list);
	free(s->index);
	free(s->origin);
	free(s);
}

const struct tool_spec *tool_set_list(const struct tool_set *s, size_t *n)
{
	*n = s->n_list;
	return s->list;
}

char *tool_set_take_note(struct tool_set *s)
{
	return tool_notes_take(s->notes);
}

/* Parses a number of at most five digits at the start of *s and skips it. -1 if
 * there is none. */
static int64_t read_number(struct str *s)
{
	int64_t number = -1;
	size_t n = 0;

	for (; n < 5 && n < s->len && isdigit((unsigned char)s->ptr[n]); n++)
		number = (number < 0 ? 0 : number) * 10 + (s->ptr[n] - '0');
	*s = str_skip(*s, n);
	return number;
}

/* Parses a tool's position (".14", "[14]", "\", 14") at the start of rest. -1
 * if there is none. */
static int64_t index_after(struct str rest)
{
	int64_t index;

	if (str_starts(rest, "\",")) {
		rest = str_trim(str_skip(rest, 2));
	} else {
		if (!rest.len || (rest.ptr[0] != '.' && rest.ptr[0] != '['))
			return -1;
		rest = str_skip(rest, 1);
	}
	index = read_number(&rest);
	if (str_starts(rest, ".member"))
		index--;
	return index;
}

/* Leaves out the tools whose positions are in the refusal's body. */
static bool refuse_places(struct tool_set *s, struct str body, const char *why)
{
	bool any = false;

	for (size_t p = 0; places[p] && !any; p++) {
		struct str place = str_of(places[p]);
		struct str rest = body;

		for (;;) {
			size_t at = str_search(rest, place);
			int64_t index;
			struct offered_tool *r;

			if (at == rest.len)
				break;
			rest = str_skip(rest, at + place.len);
			index = index_after(rest);
			if (index < 0 || (size_t)index >= s->n_list)
				continue;
			r = &s->rows[s->index[index]];
			if (!is_foreign(r) || r->out)
				continue;
			omit_tool(s, r, why);
			any = true;
		}
	}
	return any;
}

/* True if the body contains the tool's name as a whole word. */
static bool names_tool(struct str body, const char *name)
{
	struct str word = str_of(name);
	size_t at = 0;

	while (at < body.len) {
		struct str rest = str_skip(body, at);
		size_t found = str_search(rest, word);
		size_t end = at + found + word.len;

		if (found == rest.len)
			return false;
		if ((!(at + found) ||
		     !is_name_char(body.ptr[at + found - 1])) &&
		    (end >= body.len || !is_name_char(body.ptr[end])))
			return true;
		at += found + 1;
	}
	return false;
}

/* Leaves out the tools whose names are in the refusal's body. */
static bool refuse_names(struct tool_set *s, struct str body, const char *why)
{
	static const char *const about[] = { "tool", "function", "schema" };
	bool is_about = false;
	bool any = false;

	/* Only if the refusal is about tools: a tool may have the same name as
	 * another member of the request, such as "messages". */
	for (size_t i = 0; i < sizeof(about) / sizeof(*about); i++)
		is_about |= str_search(body, str_of(about[i])) < body.len;
	for (size_t i = 0; is_about && i < s->n_list; i++) {
		struct offered_tool *r = &s->rows[s->index[i]];

		if (!is_foreign(r) || !names_tool(body, s->list[i].name))
			continue;
		omit_tool(s, r, why);
		any = true;
	}
	return any;
}

/* Lowers the limit of tools to the one that the refusal names, if any:
 * "Expected an array with maximum length 128" (OpenAI), "maximum number of
 * items is 128" (Groq), "At most 512 function declarations" (Gemini). */
static bool refuse_number(struct tool_set *s, struct str body)
{
	static const char *const leads[] = {
		"maximum length ", "maximum number of items is ",
		"At most ",        "at most ",
		"maximum of ",     NULL
	};

	if (str_search(body, STR("tools")) == body.len &&
	    str_search(body, STR("declarations")) == body.len)
		return false;
	for (size_t i = 0; leads[i]; i++) {
		struct str rest =
			str_skip(body, str_search(body, str_of(leads[i])) +
					       strlen(leads[i]));
		int64_t most = read_number(&rest);

		if (most < LEAST_TOOLS || (size_t)most >= s->n_list)
			continue;
		s->most = (size_t)most;
		return true;
	}
	return false;
}

/* Leaves out all MCP tools. */
static void refuse_rest(struct tool_set *s, const char *why)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_foreign(&s->rows[i]) && !s->rows[i].out)
			omit_tool(s, &s->rows[i], why);
}

bool tool_set_refuse(struct tool_set *s, struct str body, const char *why)
{
	size_t before = s->n_list;

	if (!refuse_places(s, body, why) && !refuse_number(s, body) &&
	    !refuse_names(s, body, why))
		return false;
	if (++s->refusals > MOST_REFUSALS)
		refuse_rest(s, why);
	make_list(s);
	return s->n_list < before;
}

static const struct offered_tool *find_row(const struct tool_set *s,
					   const char *name, bool sent)
{
	for (size_t i = 0; name && i < s->n; i++) {
		const struct offered_tool *r = &s->rows[i];
		const char *own = sent && r->sent ? r->sent : r->own.name;

		if (is_foreign(r) && strcmp(own, name) == 0)
			return r;
	}
	return NULL;
}

const char *tool_set_sent_name(const struct tool_set *s, const char *name)
{
	const struct offered_tool *r = find_row(s, name, false);

	return r && r->sent ? r->sent : name;
}

/* Translates the name and arguments of a call, or the name in a result.
 * restore: from the names in requests to the tools' own. */
static void rename_part(const struct tool_set *s, struct part *p, bool restore)
{
	const struct offered_tool *r = find_row(s, p->name, restore);
	char *args;

	if (!r)
		return;
	if (r->sent) {
		free(p->name);
		p->name = xstrdup(restore ? r->own.name : r->sent);
	}
	if (p->kind != PART_TOOL_CALL || p->bad_args)
		return;
	args = tool_keys_args(&r->fit.keys, r->fit.tree, p->args, restore);
	if (!args)
		return;
	free(p->args);
	p->args = args;
}

void tool_set_restore(const struct tool_set *s, struct message *answer)
{
	for (size_t i = 0; i < answer->n; i++)
		if (answer->parts[i].kind == PART_TOOL_CALL)
			rename_part(s, &answer->parts[i], true);
}

bool tool_set_translate(const struct tool_set *s, const struct message *m,
			struct message *copy)
{
	bool any = false;

	for (size_t i = 0; i < m->n && !any; i++) {
		const struct offered_tool *r =
			find_row(s, m->parts[i].name, false);

		any = r && (r->sent || r->fit.keys.n);
	}
	if (!any)
		return false;
	*copy = message_copy(m);
	for (size_t i = 0; i < copy->n; i++)
		rename_part(s, &copy->parts[i], false);
	return true;
}
