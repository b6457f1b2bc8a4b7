/* cloud_box.h - a sandbox at a vendor's emulator, for the contract's tests. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_CLOUD_BOX_H
#define UNIT_CLOUD_BOX_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/settings.h"
#include "contract_run.h"
#include "exec_run.h"
#include "net/http.h"
#include "sandbox/sandbox.h"
#include "store_open.h"
#include "unit.h"

/*
 * Set before cloud_setup(): the program in tests/emulators, the provider, and
 * the environment: "NAME=%s" gets the emulator's address. config: the text of
 * config.toml, or NULL.
 */
struct cloud_case {
	const char *emulator;
	const struct sandbox_provider *provider;
	const char *env[8];
	const char *config;
	const char *const *not_here; /* checks that do not apply, or NULL */
};

static struct cloud {
	pid_t pid;
	char home[40];
	char url[64];
	struct settings *set;
	struct http *http;
	struct sandbox_client client;
	struct sandbox sandbox;
} cloud;

static int cloud_start(const char *emulator)
{
	char *script = xasprintf("tests/emulators/%s", emulator);
	char *file = path_join(cloud.home, "port");
	const char *argv[] = { "/usr/bin/python3", script, "--port-file", file,
			       NULL };
	FILE *f = NULL;
	int port = 0;

	cloud.pid = fork();
	if (cloud.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	for (int i = 0; i < 1000 && !f; i++) {
		usleep(10000);
		f = fopen(file, "r");
	}
	if (f && fscanf(f, "%d", &port) != 1)
		port = 0;
	if (f)
		fclose(f);
	snprintf(cloud.url, sizeof(cloud.url), "http://127.0.0.1:%d", port);
	free(file);
	free(script);
	return port ? 0 : -1;
}

static int cloud_settings(const struct cloud_case *c, struct error *err)
{
	static struct setting_group groups[2];
	struct settings_input in = { .home = cloud.home,
				     .cwd = cloud.home,
				     .groups = groups };
	char *env[9] = { NULL };
	char *dir = path_join(cloud.home, ".deepagents");
	char *file = path_join(dir, "config.toml");
	int rc = path_mkdirs(dir, 0700, err);

	groups[0] = (struct setting_group){ .name = c->provider->name,
					    .rows = c->provider->settings };
	for (int i = 0; i < 8 && c->env[i]; i++) {
		const char *mark = strstr(c->env[i], "%s");

		env[i] = mark ? xasprintf("%.*s%s%s", (int)(mark - c->env[i]),
					  c->env[i], cloud.url, mark + 2)
			      : xstrdup(c->env[i]);
	}
	in.environ = env;
	if (rc == 0 && c->config)
		rc = path_write(file, str_of(c->config), 0600, err);
	if (rc == 0)
		rc = settings_load(&cloud.set, &in, err);
	for (int i = 0; env[i]; i++)
		free(env[i]);
	free(file);
	free(dir);
	return rc;
}

static int cloud_setup(void **state, const struct cloud_case *c)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox_spec spec = { .label = "dcode-abcdefgh",
				     .owner = "tester",
				     .lifetime_s = 600 };

	ids_init();
	snprintf(cloud.home, sizeof(cloud.home), "/tmp/dcode-unit-XXXXXX");
	if (!mkdtemp(cloud.home) || cloud_start(c->emulator))
		return -1;
	cloud.http = http_new(NULL);
	if (cloud_settings(c, &err) < 0 ||
	    sandbox_client_open(&cloud.client, c->provider, cloud.set,
				cloud.http, &err) < 0 ||
	    sandbox_create(&cloud.sandbox, &cloud.client, &spec, &stop, &err) <
		    0) {
		fprintf(stderr, "%s (%s)\n", err.message, err.hint);
		return -1;
	}
	promised = (struct contract_request){ .sandbox = &cloud.sandbox,
					      .label = spec.label,
					      .owner = spec.owner };
	promised_absent = c->not_here;
	*state = &cloud.sandbox;
	return 0;
}

static int cloud_teardown(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	int rc = 0;

	(void)state;
	if (cloud.sandbox.id)
		rc = sandbox_remove(&cloud.client, cloud.sandbox.id, &stop,
				    &err);
	sandbox_release(&cloud.sandbox);
	sandbox_client_close(&cloud.client);
	http_free(cloud.http);
	settings_free(cloud.set);
	if (cloud.pid > 0) {
		kill(cloud.pid, SIGTERM);
		waitpid(cloud.pid, NULL, 0);
	}
	return path_remove_tree(cloud.home, &err) < 0 ? -1 : rc;
}

/* All that was put together has gone from /tmp. */
static inline void test_no_parts_are_left(void **state)
{
	expect(*state, "ls -A /tmp | grep -c dcode-[^e]", 1, "0\n", "");
}

static inline void keep_info(void *arg, const struct sandbox_info *info)
{
	struct sandbox_info *copy = arg;

	*copy = *info;
	copy->id = copy->label = copy->owner = copy->image = NULL;
}

/* Returns what the vendor says of the sandbox. */
static inline struct sandbox_info cloud_info(void)
{
	struct sandbox_info info = { 0 };
	const struct info_sink sink = { keep_info, &info };
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	int64_t now = clock_unix_ms() / 1000;

	assert_int_equal(sandbox_get(&cloud.client, cloud.sandbox.id, &sink,
				     &stop, &err),
			 0);
	assert_in_range(info.created, now - 600, now + 2);
	return info;
}

/* ghost: an id as this vendor's are, of no sandbox. */
static inline void cloud_ghost(const char *ghost)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox other;

	assert_int_equal(
		sandbox_attach(&other, &cloud.client, ghost, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(cloud.client.provider->ops->remove(&cloud.client,
							    ghost, &stop, &err),
			 1);
}

/* Extends it, and returns what is said of its end. */
static inline int64_t cloud_extended(int64_t seconds)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	assert_int_equal(sandbox_extend(&cloud.sandbox, seconds, &stop, &err),
			 0);
	return cloud_info().ends;
}

/* The check of a snapshot, which needs a ledger: another sandbox is made. */
static inline void test_snapshot(void **state)
{
	char *path = path_join(cloud.home, "dcode.db");
	struct error err = { 0 };

	(void)state;
	assert_int_equal(store_open(&promised.store, path, NULL, &err), 0);
	promised.snapshot = "saved";
	keeps("snapshot");
	promised.snapshot = NULL;
	store_close(promised.store);
	promised.store = NULL;
	free(path);
}

#endif
