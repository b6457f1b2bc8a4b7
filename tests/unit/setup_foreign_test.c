/* setup_foreign_test.c - a project's values in a setup script are data. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "fake_box.h"
#include "sandbox/setup/setup.h"
#include "setup_values.h"
#include "unit.h"

/* Of a project's file. */
static const char *foreign(const char *name)
{
	static const char *const rows[] = {
		"SAFE",       "v1.2-x_/:@%+=,", "RUN",   "$(cat \"$0\" >/x)",
		"QUOTE",      "it's; rm -rf /", "TWO",   "one\ntwo\n",
		"LD_PRELOAD", "/x.so",          "EMPTY", "",
		"src",        "/no such",       "dir",   "no such",
		NULL
	};

	for (size_t i = 0; rows[i]; i += 2)
		if (!strcmp(rows[i], name))
			return rows[i + 1];
	return NULL;
}

static struct setup_value value(void *arg, const char *name)
{
	(void)arg;
	return (struct setup_value){ foreign(name), true };
}

static void they_are_no_program_text(void **state)
{
	struct script_env env;
	struct setup_script out;

	(void)state;
	expand("a ${SAFE} $SAFE $<SAFE> <${EMPTY}> ${LD_PRELOAD}", &env, &out);
	assert_string_equal(out.text.ptr,
			    "a v1.2-x_/:@%+=, v1.2-x_/:@%+=, v1.2-x_/:@%+=, <> "
			    "${LD_PRELOAD}");
	assert_int_equal(out.exports.len, 0);
	setup_script_release(&out);
	expand("${RUN} '$RUN' $<RUN> ${QUOTE}", &env, &out);
	assert_string_equal(out.text.ptr, "${RUN} '${RUN}' ${RUN} ${QUOTE}");
	assert_string_equal(out.exports.ptr,
			    "export RUN='$(cat \"$0\" >/x)'\n"
			    "export QUOTE='it'\\''s; rm -rf /'\n");
	assert_int_equal(env.used, 2);
	assert_int_equal(env.notes, 2);
	assert_non_null(
		strstr(env.last, "the value of QUOTE in the project's"));
	setup_script_release(&out);
}

static void take(void *arg, enum exec_stream stream, struct str chunk)
{
	(void)stream;
	buf_addstr(arg, chunk);
}

static int run_script(const struct sandbox_provider *p,
		      const struct setup_script *script, struct buf *out,
		      struct error *err)
{
	struct sandbox_client client = { .provider = p };
	struct sandbox sb = { .client = &client,
			      .id = (char *)"x",
			      .workdir = (char *)"/tmp" };
	struct exec_result res = { 0 };
	struct stop stop = stop_cleanup(20000);
	struct setup_sink sink = { take, out };

	if (setup_run(&sb, script, &sink, &res, &stop, err) < 0)
		return -1;
	return res.exit_code;
}

/* Whatever its name and bytes, the script finds it in its environment, and its
 * own text starts at its first line. */
static void foreign_values_reach_the_script(const struct sandbox_provider *p)
{
	static const char script[] =
		"#!/bin/sh -e\n"
		"printf '<%s>' \"${RUN}\" \"${QUOTE}\" \"${TWO}\""
		" \"${src}\" \"${dir}\"; cat";
	struct buf shown = BUF_INIT(1 << 20);
	struct error err = { 0 };
	struct setup_script out;
	struct script_env env;

	expand(script, &env, &out);
	fake_reset();
	assert_int_equal(run_script(p, &out, &shown, &err), 0);
	assert_string_equal(shown.ptr,
			    "<$(cat \"$0\" >/x)><it's; rm -rf /><one\ntwo\n>"
			    "</no such><no such>");
	assert_null(strstr(fake.command, "rm -rf /"));
	setup_script_release(&out);
	buf_release(&shown);
}

static void they_reach_the_script(void **state)
{
	(void)state;
	foreign_values_reach_the_script(&fake_provider);
	foreign_values_reach_the_script(&poor_provider);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_no_program_text),
		cmocka_unit_test(they_reach_the_script),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
