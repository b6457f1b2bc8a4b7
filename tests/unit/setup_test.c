/* setup_test.c - what a setup script receives, and how it runs. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/path.h"
#include "fake_box.h"
#include "sandbox/setup/setup.h"
#include "sandbox/setup/shell_assignments.h"
#include "setup_values.h"
#include "unit.h"

static const char *own(const char *name)
{
	static const char *const rows[] = {
		"T",    "val",        "TOKEN", "s3cret-token", "HOME", "/root",
		"LC_X", "no",         "i",     "local-i",      "_x1",  "under",
		"NL",   "two\nlines", "D",     "${T} $T",      NULL
	};

	for (size_t i = 0; rows[i]; i += 2)
		if (!strcmp(rows[i], name))
			return rows[i + 1];
	return NULL;
}

static struct setup_value value(void *arg, const char *name)
{
	(void)arg;
	return (struct setup_value){ own(name), false };
}

static void gives(const char *script, const char *want)
{
	struct script_env env;
	struct setup_script out;

	expand(script, &env, &out);
	assert_string_equal(out.text.ptr ? out.text.ptr : "", want);
	assert_int_equal(out.exports.len, 0);
	setup_script_release(&out);
}

static void forms(void **state)
{
	(void)state;
	gives("", "");
	gives("a $T b", "a val b");
	gives("a ${T} b $<T>", "a val b val");
	gives("'$T' '${T}' '$<T>'", "'val' 'val' 'val'");
	gives("\"$T\" \\\"${T}\\\"", "\"val\" \\\"val\\\"");
	gives("# ${T}\ncat <<'E'\n${T} $T\nE\n",
	      "# val\ncat <<'E'\nval val\nE\n");
	gives("$T$T${T}x$T.y", "valvalvalxval.y");
	gives("$TX ${TX} $<TX> $Tx", "$TX ${TX} $<TX> $Tx");
	gives("${_x1} $_x1", "under under");
	gives("$NL", "two\nlines");
	gives("$D ${D}", "${T} $T ${T} $T"); /* not looked at again */
	gives("$(curl $T) `x ${T}`", "$(curl val) `x val`");
	gives("${MISSING:-${T}}", "${MISSING:-val}");
	gives("$", "$");
	gives("x$", "x$");
	gives("${", "${");
	gives("${T", "${T");
	gives("$<T", "$<T");
}

static void kept(void **state)
{
	(void)state;
	gives("$(T) ${T:-d} ${T#x} ${#T} $1 ${1} $$ $? $! $# $@ $* $-",
	      "$(T) ${T:-d} ${T#x} ${#T} $1 ${1} $$ $? $! $# $@ $* $-");
	gives("$$T $$${T}", "$$T $$val");
	gives("$$$T", "$$val");
	gives("$((1+T)) $[T]", "$((1+T)) $[T]");
	gives("${ T} ${T } $< T>", "${ T} ${T } $< T>");
	gives("${T}}", "val}");
	gives("$HOME ${HOME} $<HOME> ${LC_X} $LC_X",
	      "$HOME ${HOME} $<HOME> ${LC_X} $LC_X");
	assert_true(setup_machine_name(str_of("PATH")));
	assert_true(setup_machine_name(str_of("LC_ALL")));
	assert_false(setup_machine_name(str_of("LC_")));
	assert_false(setup_machine_name(str_of("PATHS")));
	assert_false(setup_machine_name(str_of("HOM")));
}

/* $T stays after script, ${T} does not; and the other way round. */
static void assigns(const char *script, bool yes)
{
	struct assigned a = { 0 };

	assigned_find(&a, str_of(script));
	if (assigned_has(&a, str_of("T")) != yes)
		fail_msg("%s: T is %sassigned", script, yes ? "not " : "");
	assigned_release(&a);
}

static const char *const assigning[] = {
	"T=1",
	"  T=1",
	"x; T=1",
	"A=1 T=2 cmd",
	"A=\"a b\" T=2",
	"T+=x",
	"T[1]=x",
	"T=(a b)",
	"export T=1",
	"export A=1 T=2",
	"readonly T=1",
	"f() { local T; }",
	"f() { local a=1 T=2; }",
	"declare -x T=1",
	"typeset T",
	"for T in a b; do :; done",
	"for T\ndo :; done",
	"select T in a; do :; done",
	"read T",
	"read -r T",
	"read -rp 'x' T",
	"read -p prompt T < file",
	"IFS= read -r A T",
	"while read -r T; do :; done",
	"while IFS= read -r T; do :; done",
	"if x; then T=1; fi",
	"x && T=1",
	"x || T=1",
	"{ T=1; }",
	"(T=1)",
	"! T=1",
	"a=$(T=1)",
	"echo \"$(T=1; echo $T)\"",
	"echo `T=1`",
	"case x in a) T=1 ;; esac",
	"$(case x in a) T=1 ;; esac)",
	"echo \"$(case x in a) : ;; esac)\"; T=1",
	": ${T:=1}",
	": \"${T=1}\"",
	"((T=1))",
	"((T++))",
	"((++T))",
	"x=$((T += 1))",
	"for ((T=0; T<3; T++)); do :; done",
	"getopts ab T",
	"printf -v T x",
	"mapfile -t T",
	"echo don\\'t; T=1",
	"# don't\nT=1",
	"cat <<E\ndon't\nE\nT=1",
	"cat <<-'E E'\nx\n\tE E\nT=1",
	"cat <<'E'\ndon't \"\nE\nT=1",
	"cat <<A <<B\n'\nA\n\"\nB\nT=1",
	"x=$((1<<2))\nT=1",
	"cat <<NEVER\nT=1",
	"x=\"a'b\"\nT=1",
	"x=$'a\\'b'\nT=1",
	"echo ${x#\"}\"} ; T=1",
	"a=(1 2)\nT=1",
	"cat <<< \"x\"\nT=1",
	"x > f; T=1",
	"x &\nT=1",
	"x 2>&1 | T=1",
	"a \\\n b\nT=1",
	"command read T",
	"echo ${#a[@]}; T=1",
};

static const char *const innocent[] = {
	"echo T=1",
	"echo \"T=$T\" >> .env",
	"env T=1 cmd",
	"docker run -e T=$T x",
	"curl -d T=x",
	"'T=1'",
	"\"T=1\"",
	"# T=1",
	"cat <<E\nT=1\nexport T=1\nE\n",
	"cat <<-E\n\tT=1\n\tE\n",
	"XT=1",
	"T1=1",
	"T =1",
	"[ $T = 1 ]",
	"[ T = 1 ]",
	"export T",
	"echo for T in x",
	"echo read T",
	"read -p T x",
	"read x < T",
	"printf T",
	"printf %s T",
	"x=$((T + 1))",
	"((T == 1))",
	"echo ${T:-1} ${T}",
	"a=(T=1)",
	"grep 'T=1' f",
	"for x in T; do :; done",
	"x='a\nT=1\n'",
	"x=\"a\nT=1\n\"",
};

static void assignments(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(assigning) / sizeof(*assigning); i++)
		assigns(assigning[i], true);
	for (size_t i = 0; i < sizeof(innocent) / sizeof(*innocent); i++)
		assigns(innocent[i], false);
}

static void own_variables(void **state)
{
	struct script_env env;
	struct setup_script out;

	(void)state;
	gives("for i in 1 2; do echo $i ${i} $<i>; done",
	      "for i in 1 2; do echo $i local-i local-i; done");
	gives("echo \"T=$T\" >> .env", "echo \"T=val\" >> .env");
	gives("T=1; echo $T ${T}", "T=1; echo $T val");
	expand("export TOKEN=$TOKEN\n", &env, &out);
	assert_string_equal(out.text.ptr, "export TOKEN=$TOKEN\n");
	assert_int_equal(env.notes, 1);
	assert_non_null(strstr(env.last, "${TOKEN}"));
	setup_script_release(&out);
	expand("export TOKEN=\"${TOKEN}\"\necho $TOKEN\n", &env, &out);
	assert_string_equal(out.text.ptr,
			    "export TOKEN=\"s3cret-token\"\necho $TOKEN\n");
	assert_int_equal(env.notes, 0);
	setup_script_release(&out);
}

static void reports_what_went_in(void **state)
{
	struct script_env env;
	struct setup_script out;

	(void)state;
	expand("$T ${T} $TOKEN ${HOME} ${NONE} $<TOKEN>", &env, &out);
	assert_int_equal(env.used, 2);
	setup_script_release(&out);
	expand("${HOME} ${NONE}", &env, &out);
	assert_int_equal(env.used, 0);
	setup_script_release(&out);
}

static void line_ends(void **state)
{
	struct script_env env;
	struct setup_script out;

	(void)state;
	expand("#!/bin/sh\r\necho $T\r\n", &env, &out);
	assert_string_equal(out.text.ptr, "#!/bin/sh\necho val\n");
	assert_int_equal(env.notes, 1);
	setup_script_release(&out);
	expand("#!/bin/sh\necho $T\r\n", &env, &out);
	assert_string_equal(out.text.ptr, "#!/bin/sh\necho val\r\n");
	assert_int_equal(env.notes, 0);
	setup_script_release(&out);
}

static void limits(void **state)
{
	struct setup_values values = { .value = value };
	struct setup_script out = { BUF_INIT(5), BUF_INIT(5) };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(setup_expand(str_of("$T$T"), &values, &out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	buf_clear(&out.text);
	assert_int_equal(setup_expand(str_of("$T++"), &values, &out, &err), 0);
	setup_script_release(&out);
}

static void reading(void **state)
{
	struct buf text = BUF_INIT(SIZE_MAX);
	struct error err = { 0 };
	char path[] = "/tmp/dcode-unit-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(setup_read("/no/such/file.sh", &text, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.message,
			    "Setup script not found: /no/such/file.sh");
	assert_int_equal(setup_read("/tmp", &text, &err), -1);
	assert_int_equal(write(fd, "echo", 4), 4);
	assert_int_equal(setup_read(path, &text, &err), 0);
	assert_string_equal(text.ptr, "echo");
	buf_clear(&text);
	assert_int_equal(ftruncate(fd, SETUP_MAX + 1), 0);
	assert_int_equal(setup_read(path, &text, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	buf_release(&text);
	close(fd);
	unlink(path);
}

static const struct sandbox_ops execute_ops = {
	.create = fake_create,
	.attach = fake_attach,
	.execute = fake_execute,
	.remove = fake_remove,
	.discard = fake_discard,
};
static const struct sandbox_provider execute_provider = {
	/* nothing but commands */
	.name = "execute",    .summary = "a fake", .workdir = "/",
	.max_command = 16384, .ops = &execute_ops,
};

static void take(void *arg, enum exec_stream stream, struct str chunk)
{
	(void)stream;
	buf_addstr(arg, chunk);
}

static int run(const struct sandbox_provider *p, const char *text,
	       struct buf *out, struct error *err)
{
	struct sandbox_client client = { .provider = p };
	struct sandbox sb = { .client = &client,
			      .id = (char *)"x",
			      .workdir = (char *)"/tmp" };
	struct exec_result res = { 0 };
	struct stop stop = stop_cleanup(20000);
	struct setup_sink sink = { take, out };
	struct setup_script script;
	int rc;

	setup_script_init(&script);
	buf_adds(&script.text, text);
	buf_clear(out);
	rc = setup_run(&sb, &script, &sink, &res, &stop, err);
	setup_script_release(&script);
	return rc < 0 ? -1 : res.exit_code;
}

static int left_behind(void)
{
	DIR *d = opendir("/tmp");
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += !strncmp(e->d_name, "dcode-setup-", 12);
	closedir(d);
	return n;
}

static void runs_like(const struct sandbox_provider *p)
{
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };
	int before = left_behind();

	fake_reset();
	assert_int_equal(
		run(p, "#!/bin/sh\necho hi; pwd; cat; exit 3", &out, &err), 3);
	assert_string_equal(out.ptr, "hi\n/tmp\n");
	assert_null(strstr(fake.command, "echo hi"));
	assert_int_equal(run(p,
			     "#!/usr/bin/env bash\n"
			     "tr '\\0' '\\n' </proc/$PPID/cmdline |"
			     " grep -c SEC''RET; echo $BASH_VERSION | wc -l",
			     &out, &err),
			 0);
	assert_string_equal(out.ptr, "0\n1\n");
	assert_int_equal(run(p, "#!/no/such/sh -e\nfalse\necho no", &out, &err),
			 1);
	assert_int_equal(run(p, "#!/usr/bin/perl\nprint 6*7", &out, &err), 0);
	assert_string_equal(out.ptr, "42");
	assert_int_equal(run(p, "ls /tmp/dcode-setup-* 2>&1; true", &out, &err),
			 0);
	assert_non_null(strstr(out.ptr, "No such file"));
	assert_int_equal(left_behind(), before);
	buf_release(&out);
}

static void runs(void **state)
{
	(void)state;
	runs_like(&fake_provider);
	assert_int_equal(fake.calls, 5); /* one each */
	runs_like(&execute_provider);
	runs_like(&poor_provider);
	assert_null(strstr(fake.trace[1], "execute"));
	assert_string_equal(fake.trace[1], "upload");
}

/* Where nothing takes a file the text comes in pieces, byte for byte. */
static void comes_in_pieces(void **state)
{
	struct buf script = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };

	(void)state;
	fake_reset();
	buf_adds(&script, "cksum <$0; exit\n");
	for (int i = 0; i < 3000; i++)
		buf_addf(&script, "%c%c%c", i % 255 + 1, i * 7 % 255 + 1, '\n');
	assert_int_equal(run(&execute_provider, script.ptr, &out, &err), 0);
	assert_int_equal(fake.calls, 6); /* a directory, pieces, the run */
	buf_release(&script);
	buf_release(&out);
}

/* At whatever step the transport fails, no script stays there. */
static void fails_clean(void **state)
{
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };
	int before = left_behind();

	(void)state;
	for (int n = 1; n <= 3; n++) {
		fake_reset();
		fake.fail_at = n;
		fake.fail_with = ERR_NETWORK;
		assert_int_equal(run(&poor_provider, "echo", &out, &err), -1);
		assert_int_equal(err.code, ERR_NETWORK);
		assert_int_equal(left_behind(), before);
	}
	fake_reset();
	assert_int_equal(run(&poor_provider, "echo", &out, &err), 0);
	buf_release(&out);
	fake_reset();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(kept),
		cmocka_unit_test(assignments),
		cmocka_unit_test(own_variables),
		cmocka_unit_test(reports_what_went_in),
		cmocka_unit_test(line_ends),
		cmocka_unit_test(limits),
		cmocka_unit_test(reading),
		cmocka_unit_test(runs),
		cmocka_unit_test(comes_in_pieces),
		cmocka_unit_test(fails_clean),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
