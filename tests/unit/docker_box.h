/* docker_box.h - one container of a real engine, for tests. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_DOCKER_BOX_H
#define TESTS_UNIT_DOCKER_BOX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/docker/docker.h"
#include "tests/unit/relay.h"

/*
 * A test run by itself starts itself again inside tests/podman_rig.py, which
 * sets DOCKER_HOST and DCODE_TEST_IMAGE; where no engine can run, one line
 * says so.
 */

static struct http *http;
static struct settings *settings;
static struct sandbox_client client;
static struct sandbox box;
static struct relay relay; /* between the provider and the engine: counts */
static char home[] = "/tmp/dcode-test-XXXXXX";
static char label[] = "dcode-aaaaaaaa";

struct seen {
	struct buf out, err;
	const char *answer; /* a dialog: sent once when the output is there */
	const char *when;
	int refuse_after; /* bytes; 0: never */
	struct cancel *cancel;
	int64_t first_ms;
};

static inline int on_output(void *arg, enum exec_stream stream,
			    struct str chunk, struct buf *reply,
			    struct error *err)
{
	struct seen *s = arg;

	if (!s->first_ms)
		s->first_ms = clock_ms();
	buf_addstr(stream == EXEC_STDOUT ? &s->out : &s->err, chunk);
	if (reply && s->answer && strstr(s->out.ptr, s->when)) {
		buf_adds(reply, s->answer);
		s->answer = NULL;
	}
	if (s->refuse_after && s->out.len >= (size_t)s->refuse_after)
		return error_set(err, ERR_PROTOCOL, "enough");
	if (s->cancel)
		cancel_trigger(s->cancel);
	return 0;
}

static inline void seen_init(struct seen *s)
{
	*s = (struct seen){ .out = BUF_INIT(64 << 20),
			    .err = BUF_INIT(64 << 20) };
	buf_adds(&s->out, "");
	buf_adds(&s->err, "");
}

static inline void seen_release(struct seen *s)
{
	buf_release(&s->out);
	buf_release(&s->err);
}

static inline int run_request(struct sandbox *sb, struct exec_request req,
			      struct seen *s, struct exec_result *res,
			      const struct stop *stop, struct error *err)
{
	struct stop within = stop_cleanup(60000);

	req.output = on_output;
	req.arg = s;
	return sandbox_execute(sb, &req, res, stop ? stop : &within, err);
}

/* The exit status; output in s. */
static inline int run(const char *command, struct seen *s)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };

	seen_init(s);
	if (run_request(&box,
			(struct exec_request){ .command = str_of(command) }, s,
			&res, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return res.exit_code;
}

static inline struct sandbox_spec spec_of(const char *name)
{
	return (struct sandbox_spec){ .label = name,
				      .owner = "owner-1",
				      .lifetime_s = 600 };
}

static inline void write_config(void)
{
	char *dir = path_join(home, ".deepagents");
	char *file = path_join(dir, "config.toml");
	char *text = xasprintf("[sandboxes.providers.docker.params]\n"
			       "image = \"%s\"\n"
			       "network = \"none\"\n",
			       getenv("DCODE_TEST_IMAGE"));
	struct error err = { 0 };

	if (path_mkdirs(dir, 0700, &err) < 0 ||
	    path_write(file, str_of(text), 0600, &err) < 0)
		abort();
	free(text);
	free(file);
	free(dir);
}

static inline int box_start(void **state)
{
	static struct setting_group groups[2];
	struct settings_input in = { .home = home, .cwd = home };
	struct sandbox_spec spec = spec_of(label);
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	char *docker_host;
	char *env[2] = { NULL, NULL };

	(void)state;
	ids_init();
	if (!mkdtemp(home))
		return -1;
	write_config();
	relay_start(&relay, home, getenv("DOCKER_HOST") + 7);
	docker_host = xasprintf("DOCKER_HOST=unix://%s", relay.path);
	env[0] = docker_host;
	groups[0] = (struct setting_group){ .name = "docker",
					    .rows = docker_provider.settings };
	in.groups = groups;
	in.environ = env;
	http = http_new(NULL);
	if (settings_load(&settings, &in, &err) < 0 ||
	    sandbox_client_open(&client, &docker_provider, settings, http,
				&err) < 0 ||
	    sandbox_create(&box, &client, &spec, &stop, &err) < 0) {
		print_message("%s\n", err.message);
		return -1;
	}
	free(docker_host);
	return 0;
}

static inline int box_end(void **state)
{
	struct error err = { 0 };

	(void)state;
	sandbox_release(&box);
	sandbox_client_close(&client);
	http_free(http);
	settings_free(settings);
	relay_stop(&relay);
	return path_remove_tree(home, &err);
}

static inline void test_no_engine(void **state)
{
	(void)state;
	print_message("docker: no engine can run here, see the line above\n");
}

static inline int run_in_rig(char **argv)
{
	static const char rig[] = "tests/podman_rig.py";
	int status = system("/usr/bin/python3 tests/podman_rig.py missing >&2");
	const struct CMUnitTest none[] = { cmocka_unit_test(test_no_engine) };

	if (status != 0)
		return cmocka_run_group_tests(none, NULL, NULL);
	execl("/usr/bin/python3", "python3", rig, "run", argv[0],
	      argv[1] ? argv[1] : NULL, (char *)NULL);
	return 1;
}

static inline int box_main(char **argv, int (*run_all)(void))
{
	const char *engine = getenv("DOCKER_HOST");

	if (!getenv("DCODE_TEST_IMAGE") || !engine ||
	    strncmp(engine, "unix://", 7) != 0)
		return run_in_rig(argv);
	if (argv[1])
		cmocka_set_test_filter(argv[1]);
	return run_all();
}

#endif
