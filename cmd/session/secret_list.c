/* secret_list.c - dcode sandbox secrets: what is bound to which hosts. */
/* SPDX-License-Identifier: MIT */
/*
 * Reads the settings only: it starts no program, opens no stored key and shows
 * no value.
 */
#include "cmd/session/secret_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/session/options.h"
#include "providers/registry.h"
#include "sandbox/sandbox.h"

enum { DATA_BYTES = 1 << 20 };

static void add_hosts(const struct secret *s, struct buf *out)
{
	network_print(&s->hosts, out);
}

static void secret_json(const struct secret *s, struct buf *out)
{
	struct buf hosts = BUF_INIT(DATA_BYTES);
	char *origin = secret_print_origin(s);

	buf_addc(out, '{');
	json_member(out, "name", str_of(s->name));
	buf_addc(out, ',');
	json_member(out, "env", str_of(s->env));
	buf_addc(out, ',');
	add_hosts(s, &hosts);
	json_member(out, "hosts", buf_str(&hosts));
	buf_addc(out, ',');
	json_member(out, "header", str_of(s->header));
	buf_addc(out, ',');
	json_member(out, "value", str_of(origin));
	buf_addc(out, ',');
	json_member(out, "source", str_of(s->source));
	buf_addc(out, '}');
	buf_release(&hosts);
	free(origin);
}

static void print_secret(const struct secret *s)
{
	struct buf hosts = BUF_INIT(DATA_BYTES);
	char *origin = secret_print_origin(s);

	add_hosts(s, &hosts);
	printf("%s\n", s->name);
	if (s->env)
		printf("  placeholder in %s\n", s->env);
	if (s->header)
		printf("  sets %s: %s\n", s->header, s->format);
	printf("  for %s\n", hosts.ptr);
	for (size_t i = 0; s->paths && s->paths[i]; i++)
		printf("  %s%s\n", i ? "           " : "only paths ",
		       s->paths[i]);
	for (size_t i = 0; s->methods && s->methods[i]; i++)
		printf("%s%s%s", i ? ", " : "  only ", s->methods[i],
		       s->methods[i + 1] ? "" : "\n");
	printf("  value: %s\n", origin);
	buf_release(&hosts);
	free(origin);
}

static void print_all(const struct app *app, const struct secrets *all)
{
	struct buf data = BUF_INIT(DATA_BYTES);

	buf_addc(&data, '[');
	for (size_t i = 0; i < all->n; i++) {
		buf_adds(&data, i ? "," : "");
		secret_json(&all->list[i], &data);
		if (!app->json)
			print_secret(&all->list[i]);
	}
	buf_addc(&data, ']');
	if (app->json)
		app_envelope("sandbox secrets", &data);
	else if (!all->n)
		puts("No secrets: `dcode help secrets` shows how to add one.");
	buf_release(&data);
}

/* Checks whether the provider can hold the secrets. */
static int check_provider(struct app *app, const char *type,
			  const struct secrets *all, const char **note,
			  struct error *err)
{
	struct run_options options = { 0 };
	struct registry *registry = NULL;
	const struct sandbox_provider *p = NULL;
	int rc = run_sandbox_resolve(&options, app, type, err);

	if (rc == 0)
		rc = app_providers(app, &registry, err);
	if (rc == 0 && !sandbox_is_none(options.sandbox))
		p = registry_find(registry, options.sandbox);
	if (rc == 0)
		rc = secrets_check(all, p ? p->secrets : NULL, options.sandbox,
				   err);
	if (rc == 0 && all->n && p && p->secrets)
		*note = p->secrets->note;
	run_options_release(&options);
	return rc;
}

int secret_list_print(struct app *app, const char *type)
{
	const char *note = NULL;
	struct secrets all = { 0 };
	struct settings *set;
	struct error err = { 0 };
	int rc = app_settings(app, &set, &err);

	if (rc == 0)
		rc = secrets_read(&all, set, &err);
	if (rc == 0 && type)
		rc = check_provider(app, type, &all, &note, &err);
	if (rc == 0)
		print_all(app, &all);
	if (note && !app->json)
		printf("%s\n", note);
	secrets_release(&all);
	return rc < 0 ? app_fail(app, &err) : 0;
}
