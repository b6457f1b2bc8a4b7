/* choose.c - decides which network a new sandbox gets. */
/* SPDX-License-Identifier: MIT */
/*
 * The command line comes first, then the provider's setting, then [network].
 * The machine's policy is not one of them but an upper limit of whatever was
 * chosen; it is used itself only if nothing was. Begin reading at
 * network_choose().
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/toml.h"
#include "sandbox/network/network.h"
#include "sandbox/sandbox.h"

#define ALLOW_KEY "network.allow"

enum { POLICY, CONFIG }; /* places in settings_files() */

/* A value of a file: where it is, for messages. */
struct written {
	const struct toml_value *value;
	const struct settings *settings;
	int file; /* POLICY or CONFIG */
	const char *key;
};

static char *print_place(const struct written *w)
{
	const struct settings_file *files = NULL;
	size_t n = settings_files(w->settings, &files);

	return xasprintf("%s:%d:%d: %s",
			 (size_t)w->file < n ? files[w->file].path : "",
			 w->value->line, w->value->column, w->key);
}

/* Adds the parts of a text that are separated by commas, or the whole text, to
 * the NULL-terminated list. Returns it. */
static char **add_parts(char **list, size_t *n, const char *text)
{
	struct str rest = str_of(text);
	struct str part;

	while (str_split(&rest, ',', &part)) {
		part = str_trim(part);
		list = xrealloc(list, *n + 1, sizeof(*list));
		list[(*n)++] = xstrndup(part.ptr, part.len);
	}
	return list;
}

static bool is_text(const struct toml_value *v)
{
	return v->kind == TOML_STRING && strlen(v->text) == v->text_len;
}

/* Reads "none", "a, b" or ["a", "b"]. */
static int parse_value(struct network *n, const struct toml_value *v,
		       struct error *err)
{
	size_t count = 0;
	char **list = NULL;
	bool good = is_text(v) || v->kind == TOML_ARRAY;
	int rc;

	for (size_t i = 0; good && i < v->n_items; i++)
		good = is_text(&v->items[i]);
	if (!good)
		return error_set(err, ERR_CONFIG,
				 "must be \"none\", \"full\" or a list of "
				 "hosts");
	if (v->kind == TOML_STRING)
		list = add_parts(list, &count, v->text);
	for (size_t i = 0; i < v->n_items; i++) {
		list = xrealloc(list, count + 1, sizeof(*list));
		list[count++] = xstrdup(v->items[i].text);
	}
	rc = network_parse(n, (const char *const *)list, count, err);
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
	return rc;
}

static int read_written(struct network *n, const struct written *w,
			struct error *err)
{
	char *place = print_place(w);
	int rc = parse_value(n, w->value, err);

	if (rc < 0) {
		error_wrap(err, "%s", place);
		err->code = w->file == POLICY ? ERR_POLICY : ERR_CONFIG;
		free(place);
		return -1;
	}
	free(n->source);
	n->source = place;
	return 0;
}

/* Returns the provider's row for its network, or NULL. */
static const struct setting *find_row(const struct sandbox_provider *p)
{
	const struct setting *row = p->settings;

	while (row && row->key && strcmp(row->key, "network") != 0)
		row++;
	return row && row->key ? row : NULL;
}

/* Sets *w to the value of the key in the user's file or in the policy. False if
 * it has none. */
static bool find_written(struct written *w, const struct settings *set,
			 int file, const char *key)
{
	*w = (struct written){
		.value = file == POLICY ? settings_policy(set, key)
					: settings_toml(set, key),
		.settings = set,
		.file = file,
		.key = key,
	};
	/* as elsewhere in settings, an empty string sets nothing */
	if (w->value && w->value->kind == TOML_STRING && !w->value->text_len)
		w->value = NULL;
	return w->value;
}

/* What limits the choice: the policy's values for this provider and for all. */
struct ceilings {
	struct network list[2];
	size_t n;
};

static int read_ceilings(struct ceilings *c, const struct settings *set,
			 const char *own_key, struct error *err)
{
	const char *const keys[] = { own_key, ALLOW_KEY };
	struct written w;

	for (size_t i = 0; i < 2; i++)
		if (keys[i] && find_written(&w, set, POLICY, keys[i]) &&
		    read_written(&c->list[c->n++], &w, err) < 0)
			return -1;
	return 0;
}

static int check_ceiling(const struct network *n, const struct network *ceiling,
			 struct error *err)
{
	const struct network_rule *beyond;
	struct buf text = BUF_INIT(512);

	if (network_within(n, ceiling, &beyond))
		return 0;
	if (beyond)
		network_print_rule(beyond, &text);
	else
		buf_adds(&text, "\"full\"");
	error_set(err, ERR_POLICY, "%s: %s exceeds the machine's policy (%s)",
		  n->source ? n->source : "network", text.ptr, ceiling->source);
	buf_release(&text);
	return -1;
}

/* Sets *n to the first of the places that has a value. *own: it is a value of
 * the provider's own meaning, such as the name of an engine's network. */
static int choose_written(struct network *n, const struct settings *set,
			  const struct setting *row, const char *own_key,
			  bool *own, struct error *err)
{
	bool is_list = row && row->type == SETTING_LIST;
	struct written w;

	if (row && find_written(&w, set, CONFIG, own_key)) {
		*own = !is_list &&
		       !(is_text(w.value) && !strcmp(w.value->text, "none"));
		return *own ? 0 : read_written(n, &w, err);
	}
	if (find_written(&w, set, CONFIG, ALLOW_KEY) ||
	    (is_list && find_written(&w, set, POLICY, own_key)) ||
	    find_written(&w, set, POLICY, ALLOW_KEY))
		return read_written(n, &w, err);
	/* the default of a row, if it has one, is "none" */
	if (is_list && row->fallback)
		n->mode = NETWORK_NONE;
	return 0;
}

static int check_ceilings(const struct network *n, const struct settings *set,
			  const struct setting *row, const char *own_key,
			  bool own, struct error *err)
{
	bool is_list = row && row->type == SETTING_LIST;
	struct network full = { .mode = NETWORK_FULL, .source = n->source };
	struct ceilings c = { 0 };
	int rc = read_ceilings(&c, set, is_list ? own_key : NULL, err);

	for (size_t i = 0; rc == 0 && i < c.n; i++)
		if (own || n->mode != NETWORK_DEFAULT)
			rc = check_ceiling(own ? &full : n, &c.list[i], err);
	for (size_t i = 0; i < c.n; i++)
		network_release(&c.list[i]);
	return rc;
}

/* For a provider that runs commands on this machine, whose network dcode does
 * not limit: a list of the settings is for sandboxes, but the policy's is for
 * everything. */
static int check_unisolated(const struct settings *set, struct error *err)
{
	struct network limit = { 0 };
	struct written w;
	int rc = 0;

	if (set && find_written(&w, set, POLICY, ALLOW_KEY))
		rc = read_written(&limit, &w, err);
	if (rc == 0 && limit.mode != NETWORK_DEFAULT &&
	    limit.mode != NETWORK_FULL) {
		rc = error_set(err, ERR_POLICY,
			       "%s limits the network, and dcode cannot limit "
			       "the network of this machine",
			       limit.source);
		error_hint(err, "Use a sandbox: --sandbox NAME.");
	}
	network_release(&limit);
	return rc;
}

/* Adds the hosts that the user always allows in this directory: "crates.io:443
 * /home/ann/app". One that the policy forbids or the provider cannot enforce is
 * left out: the list is then the narrower one. */
static int add_project_hosts(struct network *n,
			     const struct sandbox_client *client,
			     const struct setting *row, const char *own_key,
			     struct error *err)
{
	const struct settings *set = client->settings;
	const char *const *list = NULL;
	size_t count = 0;

	if (settings_list(set, NULL, "network.project_hosts", &list, &count,
			  err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct str host = str_of(list[i]);
		size_t end = str_find(host, ' ');
		struct network wider = { 0 };
		struct error ignored = { 0 };

		if (end == host.len ||
		    !str_is(str_skip(host, end + 1), settings_cwd(set)))
			continue;
		host.len = end;
		network_copy(&wider, n);
		if (network_add(&wider, host, &ignored) == 0 &&
		    network_check(&wider, client->provider->network,
				  client->provider->name, &ignored) == 0 &&
		    check_ceilings(&wider, set, row, own_key, false,
				   &ignored) == 0)
			network_copy(n, &wider);
		network_release(&wider);
	}
	return 0;
}

int network_choose(struct network *out, const struct sandbox_client *client,
		   const struct network *flag, struct error *err)
{
	const struct settings *set = client->settings;
	const struct sandbox_provider *p = client->provider;
	const struct setting *row = find_row(p);
	bool flagged = flag && flag->mode != NETWORK_DEFAULT;
	bool own = false;
	char *own_key;
	int rc = 0;

	network_release(out);
	if (p->flags & SANDBOX_UNISOLATED)
		return check_unisolated(set, err);
	own_key = xasprintf("sandboxes.providers.%s.params.network", p->name);
	if (flagged)
		network_copy(out, flag);
	else if (set)
		rc = choose_written(out, set, row, own_key, &own, err);
	if (rc == 0 && set)
		rc = check_ceilings(out, set, row, own_key, own, err);
	if (rc == 0 && set && out->mode == NETWORK_LIST)
		rc = add_project_hosts(out, client, row, own_key, err);
	free(own_key);
	/* Nothing restricts a sandbox whose network is not controlled, and that
	 * is what "full" in the settings asks for. */
	if (!flagged && out->mode == NETWORK_FULL &&
	    !(p->flags & ~client->lacks & SANDBOX_NETWORK))
		out->mode = NETWORK_DEFAULT;
	if (rc < 0)
		network_release(out);
	return rc;
}

int network_require(struct network *out, const struct sandbox_client *client,
		    struct error *err)
{
	const struct settings *set = client->settings;
	char *own_key = xasprintf("sandboxes.providers.%s.params.network",
				  client->provider->name);
	bool limited = set && (settings_policy(set, own_key) ||
			       settings_policy(set, ALLOW_KEY));

	free(own_key);
	if (network_choose(out, client, NULL, err) < 0)
		return -1;
	if (out->mode != NETWORK_LIST &&
	    (!limited || out->mode == NETWORK_FULL))
		network_release(out);
	if (out->mode != NETWORK_DEFAULT && !out->source)
		out->source = xstrdup("the machine's policy");
	return 0;
}
