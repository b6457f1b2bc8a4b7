/* price_test.c - what a sandbox costs, as far as its vendor has said it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/registry.h"
#include "unit.h"

/* Settings with this config.toml and a project that says the same. */
static struct settings *load(const char *config, const char *home_of)
{
	static struct setting_group groups[32] = { { .rows = settings_core } };
	static char *environ[] = { NULL };
	char home[] = "/tmp/dcode-price-XXXXXX";
	char *project;
	char *file;
	struct settings *set = NULL;
	struct error err = { 0 };
	struct settings_input in = { .environ = environ, .groups = groups };

	for (size_t i = 0; sandbox_providers[i]; i++)
		groups[i + 1] = (struct setting_group){
			.name = sandbox_providers[i]->name,
			.rows = sandbox_providers[i]->settings
		};
	assert_non_null(mkdtemp(home));
	project = path_join(home, "project/.deepagents");
	file = path_join(home, home_of);
	*strrchr(file, '/') = '\0';
	assert_int_equal(path_mkdirs(file, 0700, &err), 0);
	assert_int_equal(path_mkdirs(project, 0700, &err), 0);
	free(file);
	file = path_join(home, home_of);
	assert_int_equal(path_write(file, str_of(config), 0600, &err), 0);
	in.home = home;
	in.cwd = project;
	if (settings_load(&set, &in, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(path_remove_tree(home, &err), 0);
	free(file);
	free(project);
	return set;
}

static struct sandbox_price price(const char *provider, const char *config,
				  const char *snapshot)
{
	struct settings *set = load(config, ".deepagents/config.toml");
	struct sandbox_price p;
	struct error err = { 0 };

	if (price_of_sandbox(set, sandbox_provider_find(provider), snapshot, &p,
			     &err) < 0)
		fail_msg("%s: %s", provider, err.message);
	settings_free(set);
	return p;
}

/* Dollars an hour, to four digits: what a price list says. */
static void expect(const char *provider, const char *params,
		   const char *snapshot, double usd, bool at_most)
{
	char *config = xasprintf("[sandboxes.providers.%s.params]\n%s\n",
				 provider, params);
	struct sandbox_price p = price(provider, config, snapshot);
	double hour = p.usd_s < 0 ? -1 : (double)p.usd_s * 3600 / 1e12;

	if (hour < usd - 5e-5 || hour > usd + 5e-5 || p.at_most != at_most)
		fail_msg("%s %s: %f, not %f", provider, params, hour, usd);
	free(config);
}

static void test_own_machines_cost_nothing(void **state)
{
	(void)state;
	expect("docker", "", NULL, 0, false);
	expect("local", "", "x", 0, false);
}

static void test_sizes_of_vendors_that_bill_what_was_given(void **state)
{
	(void)state;
	expect("e2b", "", NULL, 0.1089, false);
	expect("daytona", "", NULL, 0.0504 + 0.0162 + 0.0003, false);
	expect("daytona", "image = 'a:1'\ncpu = 4\nmemory = 8\ndisk = 10", NULL,
	       4 * 0.0504 + 8 * 0.0162 + 0.0011, false);
	expect("runloop", "", NULL, 0.1598, false);
	expect("runloop", "size = 'X_LARGE'", NULL, 0.8407, false);
	expect("runloop", "cpu = 4\nmemory = 8", NULL, 0.6391, false);
	expect("runloop", "size = 'SMALL'", "snap", 0.1598, false);
}

static void test_vendors_that_bill_use_cost_that_at_most(void **state)
{
	(void)state;
	expect("vercel", "vcpus = 4", NULL, 4 * 0.128 + 8 * 0.0212, true);
	expect("deno", "", NULL, 2 * 0.10 + 1.25 * 0.025, true);
	expect("deno", "memory = 4096", NULL, 0.30, true);
	expect("agentcore", "", NULL, 2 * 0.0895 + 8 * 0.00945, true);
	expect("langsmith", "cpu = 2\nmemory = 8", NULL,
	       2 * 0.0576 + 8 * 0.01845 + 16 * 0.000123, true);
	expect("langsmith", "cpu = 1", NULL,
	       0.0576 + 6 * 0.01845 + 16 * 0.000123, true);
}

static void test_a_size_that_nobody_knows_has_no_price(void **state)
{
	(void)state;
	expect("modal", "cpu = '1'\nmemory = 1024", NULL, -1, false);
	expect("vercel", "", NULL, -1, false);
	expect("langsmith", "", NULL, -1, false);
	expect("e2b", "", "mine", -1, false);
	expect("e2b", "template = 'big'", NULL, -1, false);
	expect("daytona", "snapshot = 'big'", NULL, -1, false);
	expect("daytona", "", "big", -1, false);
	expect("daytona", "image = 'a:1'\ngpu = 1", NULL, -1, false);
	expect("runloop", "blueprint = 'mine'", NULL, -1, false);
	expect("runloop", "", "snap", -1, false);
	expect("runloop", "size = 'HUGE'", NULL, -1, false);
}

static void test_absurd_sizes_do_not_overflow(void **state)
{
	struct sandbox_price p;

	(void)state;
	p = price("daytona",
		  "[sandboxes.providers.daytona.params]\nimage = 'a:1'\n"
		  "cpu = 9000000000000000\nmemory = 9000000000000000\n",
		  NULL);
	assert_true(p.usd_s > 0);
}

static void test_the_users_price_comes_first(void **state)
{
	(void)state;
	assert_int_equal(price("e2b",
			       "[sandboxes.providers.e2b]\n"
			       "usd_per_hour = 0.36\n",
			       NULL)
				 .usd_s,
			 100000000);
}

/* Attack: a repository that names its sandbox free, so that no cap ends it. */
static void test_a_repository_sets_no_price(void **state)
{
	static const char *const files[] = { "project/.deepagents/config.toml",
					     "project/config.toml",
					     "project/.env" };
	static const char config[] = "[sandboxes.providers.e2b]\n"
				     "usd_per_hour = 0\n";
	struct sandbox_price p;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct settings *set = load(config, files[i]);

		assert_int_equal(price_of_sandbox(set,
						  sandbox_provider_find("e2b"),
						  NULL, &p, &err),
				 0);
		assert_int_equal(p.usd_s, 30250000);
		settings_free(set);
	}
	assert_int_equal(price("e2b", config, NULL).usd_s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_machines_cost_nothing),
		cmocka_unit_test(
			test_sizes_of_vendors_that_bill_what_was_given),
		cmocka_unit_test(test_vendors_that_bill_use_cost_that_at_most),
		cmocka_unit_test(test_a_size_that_nobody_knows_has_no_price),
		cmocka_unit_test(test_absurd_sizes_do_not_overflow),
		cmocka_unit_test(test_the_users_price_comes_first),
		cmocka_unit_test(test_a_repository_sets_no_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
