/* docker_bind_test.c - whose the files are that a container makes in a bound
 * directory, and which directories are bound. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "providers/docker/docker.h"
#include "unit.h"

static const char *user_of(const char *info)
{
	static char user[48];
	cJSON *parsed = cJSON_Parse(info);

	docker_bind_user(parsed, user, sizeof(user));
	cJSON_Delete(parsed);
	return user;
}

static void test_files_belong_to_the_user_whatever_the_engine_maps(void **arg)
{
	char *mine = xasprintf("%lu:%lu", (unsigned long)geteuid(),
			       (unsigned long)getegid());

	(void)arg;
	assert_string_equal(user_of("{\"SecurityOptions\":[\"name=seccomp,"
				    "profile=default\",\"name=rootless\"]}"),
			    "0:0");
	assert_string_equal(user_of("{\"Rootless\":true}"), "0:0");
	assert_string_equal(user_of("{\"SecurityOptions\":[\"name=seccomp\"]}"),
			    mine);
	assert_string_equal(user_of("{\"SecurityOptions\":[7,null]}"), mine);
	assert_string_equal(user_of("no answer"), mine);
	free(mine);
}

static void test_a_mount_at_or_above_the_working_directory_is_kept(void **arg)
{
	static const struct {
		const char *inside;
		bool bound;
	} cases[] = { { "/work/tree", true },
		      { "/work", true },
		      { "/work/tree/below", false },
		      { "/work/tr", false },
		      { "/data", false } };

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sandbox sb = { .workdir = "/work/tree" };

		assert_false(docker_is_bound(&sb));
		mounts_add(&sb.mounts, cases[i].inside, "/home/ann/x");
		assert_int_equal(docker_is_bound(&sb), cases[i].bound);
		mounts_release(&sb.mounts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_files_belong_to_the_user_whatever_the_engine_maps),
		cmocka_unit_test(
			test_a_mount_at_or_above_the_working_directory_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
