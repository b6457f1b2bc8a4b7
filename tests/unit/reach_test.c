/* reach_test.c - which hosts a running sandbox may reach, from several
 * threads. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "sandbox/reach.h"
#include "unit.h"

enum { TIMES = 200 };

/* What the provider enforces, and what it has stored for the next start. */
static struct network enforced;
static struct network stored;

static int widen(struct sandbox *sb, const struct network *n,
		 const struct stop *stop, struct error *err)
{
	(void)sb, (void)stop, (void)err;
	network_copy(&enforced, n);
	return 0;
}

static int set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	network_copy(&stored, n);
	return widen(sb, n, stop, err);
}

static const struct reach_ops proxy_ops = { .widen = widen };
static const struct sandbox_ops ops = { .set_network = set_network,
					.proxy = &proxy_ops };
static const struct network_limits limits = { .can = NETWORK_CAN_PORTS };
static const struct sandbox_provider provider = { .name = "fake",
						  .flags = SANDBOX_NETWORK,
						  .ops = &ops,
						  .network = &limits };

static struct settings *load_settings(void)
{
	static const struct setting_group groups[] = {
		{ .rows = settings_core }, { 0 }
	};
	static char *environ[] = { NULL };
	char home[] = "/tmp/dcode-reach-XXXXXX";
	const struct settings_input in = {
		.environ = environ, .groups = groups, .home = home, .cwd = home
	};
	struct settings *set = NULL;
	struct error err = { 0 };

	assert_non_null(mkdtemp(home));
	if (settings_load(&set, &in, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(path_remove_tree(home, &err), 0);
	return set;
}

struct world {
	struct sandbox_client client;
	struct sandbox sandbox;
	struct stop stop;
};

static void open_world(struct world *w)
{
	struct error err = { 0 };
	const char *list[] = { "a.example" };

	*w = (struct world){ .stop = stop_cleanup(10000) };
	w->client = (struct sandbox_client){ .provider = &provider,
					     .settings = load_settings() };
	w->sandbox.client = &w->client;
	assert_int_equal(network_parse(&w->sandbox.network, list, 1, &err), 0);
	network_copy(&enforced, &w->sandbox.network);
	network_copy(&stored, &w->sandbox.network);
}

static void close_world(struct world *w)
{
	network_release(&w->sandbox.network);
	free(w->sandbox.opened);
	settings_free((struct settings *)w->client.settings);
	network_release(&enforced);
	network_release(&stored);
}

static void expect(const struct network *n, const char *text)
{
	struct buf out = BUF_INIT(1 << 16);

	network_print(n, &out);
	assert_string_equal(out.ptr, text);
	buf_release(&out);
}

/* Fails with the message unless rc is 0. */
static void expect_done(int rc, const struct error *err)
{
	if (rc < 0)
		fail_msg("%s", err->message);
}

static unsigned begin(struct world *w, const char *text)
{
	const struct reach_command c = { .text = str_of(text) };
	struct error err = { 0 };
	unsigned number = 0;

	expect_done(reach_begin(&w->sandbox, &c, &number, &w->stop, &err),
		    &err);
	assert_int_not_equal(number, 0);
	return number;
}

static void test_once_is_for_the_command_that_was_shown(void **state)
{
	struct world w;
	struct error err = { 0 };
	struct buf shown = BUF_INIT(1 << 13);
	unsigned first;
	unsigned second;
	unsigned asked;

	(void)state;
	open_world(&w);
	first = begin(&w, "first");
	asked = reach_describe_command(&w.sandbox, &shown);
	assert_int_equal(asked, first);
	assert_string_equal(shown.ptr, "first");
	/* while the user thinks, another begins and the shown one ends */
	second = begin(&w, "second");
	assert_int_equal(reach_end(&w.sandbox, first, &err), 0);
	assert_false(reach_is_running(&w.sandbox, asked));
	assert_int_equal(reach_open_host(&w.sandbox, "b.example:80", asked,
					 &w.stop, &err),
			 -1);
	assert_string_equal(err.message, "the command has ended");
	expect(&enforced, "a.example");
	/* the control: the one that runs gets the host, and loses it */
	err = (struct error){ 0 };
	expect_done(reach_open_host(&w.sandbox, "b.example:80", second, &w.stop,
				    &err),
		    &err);
	expect(&enforced, "a.example, b.example:80");
	assert_int_equal(reach_end(&w.sandbox, second, &err), 0);
	expect(&enforced, "a.example");
	buf_release(&shown);
	close_world(&w);
}

static void test_a_host_for_the_session_is_not_stored(void **state)
{
	struct world w;
	struct error err = { 0 };
	struct network has = { 0 };
	unsigned number;

	(void)state;
	open_world(&w);
	number = begin(&w, "one");
	expect_done(reach_allow_now(&w.sandbox, "b.example:80", &w.stop, &err),
		    &err);
	assert_int_equal(reach_end(&w.sandbox, number, &err), 0);
	expect(&enforced, "a.example, b.example:80");
	expect(&stored, "a.example");
	reach_copy_network(&w.sandbox, &has);
	expect(&has, "a.example, b.example:80");
	/* the control: a host of the user's own list is stored, alone */
	expect_done(
		reach_allow_host(&w.sandbox, STR("c.example"), &w.stop, &err),
		&err);
	expect(&stored, "a.example, c.example");
	expect(&enforced, "a.example, c.example, b.example:80");
	network_release(&has);
	close_world(&w);
}

/* Changes the list, as /network does. */
static void *change_list(void *arg)
{
	struct world *w = arg;
	struct error err = { 0 };

	for (int i = 0; i < TIMES; i++) {
		char host[32];

		snprintf(host, sizeof(host), "h%d.example", i);
		if (reach_allow_host(&w->sandbox, str_of(host), &w->stop,
				     &err) < 0)
			return w; /* only the main thread may fail */
	}
	return NULL;
}

/* ThreadSanitizer sees a reader without the lock. */
static void test_a_reader_never_sees_a_list_that_changes(void **state)
{
	struct world w;
	pthread_t changer;
	struct network has = { 0 };
	struct error err = { 0 };
	size_t most = 0;

	(void)state;
	open_world(&w);
	assert_int_equal(pthread_create(&changer, NULL, change_list, &w), 0);
	while (most <= TIMES && stop_check(&w.stop, &err) == 0) {
		assert_int_equal(reach_read(&w.sandbox, &has, &w.stop, &err),
				 0);
		assert_true(has.n >= most);
		most = has.n;
		for (size_t i = 0; i < has.n; i++)
			assert_non_null(strstr(has.rules[i].host, ".example"));
		assert_true(reach_can_open(&w.sandbox));
		(void)reach_may_allow(&w.sandbox, "x.example", &err);
		assert_int_equal(reach_end(&w.sandbox, begin(&w, "x"), &err),
				 0);
	}
	assert_int_equal(most, TIMES + 1);
	pthread_join(changer, NULL);
	network_release(&has);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_is_for_the_command_that_was_shown),
		cmocka_unit_test(test_a_host_for_the_session_is_not_stored),
		cmocka_unit_test(test_a_reader_never_sees_a_list_that_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
