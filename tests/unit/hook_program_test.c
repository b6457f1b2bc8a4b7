/* hook_program_test.c - which command lines run a file of the repository. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stddef.h>

#include "hooks/hook_program.h"
#include "unit.h"

static void check(const char *const *lines, size_t n, bool refused)
{
	for (size_t i = 0; i < n; i++)
		if ((hook_program_fault(NULL, lines[i]) != NULL) != refused)
			fail_msg("%s: %s", refused ? "runs" : "is refused",
				 lines[i]);
}

#define CHECK(lines, refused)                                                  \
	check(lines, sizeof(lines) / sizeof(*(lines)), refused)

static void test_code_from_another_command_is_refused(void **state)
{
	static const char *const lines[] = {
		"cat x | sh",
		"cat x | tee /dev/null | sh",
		"{ cat x; } | sh",
		"(cat x; echo) | sh",
		"cat x | sudo -u ann sh -s a",
		"cat | sh",
		"while read -r l; do $l; done < x",
		"while read -r l; do echo \"$l\"; done < x | sh",
		"$(cat x)",
		"`cat x`",
		"eval $(cat x)",
		"eval \"$(cat x)\"",
		"sh -c \"$(cat x)\"",
		"sh -c \"echo $(cat x)\"",
		"bash <(cat x)",
		". <(cat x)",
		"source /dev/stdin < x",
		"sh /dev/stdin < x",
		"< x sh",
		"exec < x; sh",
		"sh <<<\"$(cat x)\"",
		"sh <<E\n$(cat x)\nE",
		"sh <<-E\n\t. ./x\n\tE",
		"python3 <<E\n$(cat x)\nE",
		"python3 -c \"$(cat x)\"",
		"node -e \"$(cat x)\"",
		"m4 x | sh",
		"echo . ./x | sh",
		"printf '%s' \"$(cat x)\" | sh",
	};

	(void)state;
	CHECK(lines, true);
}

static void test_a_program_of_a_variable_or_argument_is_refused(void **state)
{
	static const char *const lines[] = {
		"x=$(cat x); $x",
		"x=$(cat x); eval \"$x\"",
		"read x < x; $x",
		"set -- ./x; \"$@\"",
		"f() { \"$1\"; }; f ./x",
		"sh -c '$0' ./x",
		"sh -c '\"$@\"' _ ./x",
		"find . -name x -exec {} \\;",
		"echo ./x | xargs sh",
		"echo ./x | xargs env",
		"echo ./x | xargs -I{} {}",
		"echo ./x | parallel",
		"git -c core.fsmonitor=./x status",
		"tar --checkpoint-action=exec=./x -cf /dev/null .",
		"entr ./x",
		"node -e \"require('./x')\"",
		"perl -e 'do \"./x\"'",
		"bash --rcfile=x -i",
		"$SHELL x",
		"$(echo sh) x",
		"node --eval 'import(\"./x\")'",
	};

	(void)state;
	CHECK(lines, true);
}

static void test_a_path_that_leads_back_is_refused(void **state)
{
	static const char *const lines[] = {
		"sh /proc/self/cwd/x",
		"cd /proc/self/cwd && sh x",
		"sh ~+/x",
		"sh \"$OLDPWD/x\"",
		"cd /; cd -; sh x",
		"cd / && cd $OLDPWD && sh x",
		"(cd /); ./x",
		"(cd /) && ./x",
		"cd / & ./x",
		"cd / || ./x",
		"cd /no/such; ./x",
		"cd /no/such && true; ./x",
		"true || cd / && ./x",
		"false && cd /; ./x",
		"if false; then true; cd /; fi; ./x",
		"cd / | ./x",
		"cat <<E\nx\nE\nsh x",
		"cat <<A <<B\nx\nA\ny\nB\nsh x",
	};

	(void)state;
	CHECK(lines, true);
}

/* The controls. */
static void test_what_only_reads_the_repository_runs(void **state)
{
	static const char *const lines[] = {
		"input=$(cat); c=$(echo \"$input\" | jq -r .tool_input.command)"
		"; case \"$c\" in *push*) echo no >&2; exit 2;; esac",
		"jq -r .tool_input.file_path | xargs prettier --write",
		"f=$(jq -r .tool_input.file_path); prettier --write \"$f\"",
		"jq -r .f | { read f; if echo \"$f\" | grep -q 'ts$'; then npx "
		"prettier --write \"$f\"; fi; }",
		"jq -r '\"\\(.a) - \\(.b // \"none\")\"' >> ~/log.txt",
		"python3 -c \"import json, sys; d = json.load(sys.stdin)\"",
		"printf '%s' \"$(cat ./x)\"",
		"cd ~/hooks && ./a | ./b",
		"cd ~/hooks || exit 1; ./a; ./b",
		"cd /; ./a",
		"git diff --quiet origin/main && git -C ./sub status",
		"if [ \"$(git rev-parse HEAD)\" = a ]; then exit 2; fi",
		"cat <<EOF\n{\"x\": \"./y\"}\nEOF",
		"cat <<'EOF' >&2; exit 2\nno $(this) ./is text\nEOF",
		"python3 - <<'EOF'\nprint()\nEOF",
		"curl -fsS https://example.org/x | sh",
		"cat ~/x.sh | sh",
		"echo 'exit 0' | sh",
		"~/x.sh --list | sh",
		"sh -c 'grep \"$1\" f' _ ./x",
		"for f in ./a ./b; do cat \"$f\"; done",
		"while read -r l; do echo \"$l\"; done < ./list",
		"find . -name '*.sh' -print0 | xargs -0 shellcheck",
		"${PYTHON:-python3} ~/x.py",
		"sh ~/x.sh < ./data",
		"node ~/x.js ./y",
		"node -e 'process.exit(0)'",
		"perl -pi -e 's/a/b/' ./x",
		"diff <(sort ./a) <(sort ./b)",
		"true &>/dev/null && true",
		"true | python3 - ./x",
		"if [[ $c =~ (rm|mv) ]]; then exit 2; fi",
		"log() { echo \"$1\" >> ~/log; }; log hello",
		"sh -c \"kill $$\"",
		"$SHELL -c true",
		"bash -n ./x",
		"node --check ./x",
		"sh -c \"$(cat ~/x)\"",
		"python3 -m json.tool ./x",
	};

	(void)state;
	CHECK(lines, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_from_another_command_is_refused),
		cmocka_unit_test(
			test_a_program_of_a_variable_or_argument_is_refused),
		cmocka_unit_test(test_a_path_that_leads_back_is_refused),
		cmocka_unit_test(test_what_only_reads_the_repository_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
