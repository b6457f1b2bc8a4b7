/* registry_test.c - which provider a name means, and what is skipped. */
/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "base/json.h"
#include "providers/docker/docker.h"
#include "providers/external/process.h"
#include "providers/local/local.h"
#include "providers/registry.h"
#include "providers/runloop/runloop.h"
#include "providers/vercel/vercel.h"
#include "settings_world.h"

static struct buf warnings;

static void on_warning(const char *line)
{
	buf_adds(&warnings, line);
	buf_addc(&warnings, '\n');
}

static int begin(void **state)
{
	warnings = BUF_INIT(1 << 16);
	buf_adds(&warnings, "");
	return set_up(state);
}

static int end(void **state)
{
	buf_release(&warnings);
	return tear_down(state);
}

static struct registry *make(struct world *w, const char *config)
{
	put(w, ".deepagents/config.toml", config);
	export(w, "PATH=/nowhere");
	load(w);
	return registry_new(w->s, on_warning);
}

static const struct provider_config *declared(const struct sandbox_provider *p)
{
	return &((const struct process_provider *)p)->config;
}

static void test_built_in_providers_are_found_by_name(void **state)
{
	struct registry *r = make(*state, "");

	assert_ptr_equal(registry_find(r, "docker"), &docker_provider);
	assert_string_equal(registry_origin(r, &docker_provider), "built in");
	assert_null(registry_find(r, "acme"));
	assert_null(registry_find(r, "../acme"));
	assert_null(registry_find(r, ""));
	assert_string_equal(warnings.ptr, "");
	registry_free(r);
}

static void test_every_key_of_an_entry_counts(void **state)
{
	struct registry *r =
		make(*state, "[sandboxes.providers.acme]\n"
			     "class_path = \"a.b:C\"\n"
			     "working_dir = \"/srv\"\npackage = \"acme-x\"\n"
			     "supports_sandbox_id = false\n"
			     "supports_snapshot_name = true\n"
			     "[sandboxes.providers.acme.params]\nn = 3\n"
			     "[sandboxes.providers.prog]\n"
			     "command = [\"p\", \"--x\"]\n"
			     "supports_list = true\n");
	const struct sandbox_provider *p = registry_find(r, "acme");

	assert_non_null(p);
	assert_string_equal(p->workdir, "/srv");
	assert_int_equal(p->flags, SANDBOX_SNAPSHOT | SANDBOX_LIVE);
	assert_string_equal(declared(p)->class_path, "a.b:C");
	assert_string_equal(declared(p)->package, "acme-x");
	assert_int_equal(toml_get(declared(p)->params, "n")->integer, 3);
	p = registry_find(r, "prog");
	assert_string_equal(p->workdir, "/workspace");
	assert_int_equal(p->flags, SANDBOX_ATTACH | SANDBOX_LIST |
					   SANDBOX_LIVE | SANDBOX_NETWORK);
	assert_string_equal(declared(p)->command[1], "--x");
	assert_null(declared(p)->command[2]);
	assert_string_equal(warnings.ptr, "");
	registry_free(r);
}

/* Each line alone makes the entry, at its line 2, one that is skipped. */
static void test_a_malformed_entry_is_skipped_with_its_place(void **state)
{
	static const struct {
		const char *line, *warning;
	} cases[] = {
		{ "class_path = 3", "class_path must be a string" },
		{ "class_path = \"\"", "class_path must not be empty" },
		{ "class_path = \"a\\u0000:b\"", "class_path must not be" },
		{ "class_path = \"a.b\"", "\"module.path:ClassName\"" },
		{ "class_path = \"a:b; import os\"", "\"module.path:Cl" },
		{ "class_path = \"../x:Y\"", "\"module.path:ClassName\"" },
		{ "command = \"acme\"", "command must be an array of" },
		{ "command = []", "command must be an array of" },
		{ "command = [1]", "command must be an array of" },
		{ "command = [\"\"]", "command must be an array of" },
		{ "command = [\"a\", \"b\\u0000\"]", "command must be an ar" },
		{ "working_dir = \"here\"", "working_dir must be an abs" },
		{ "working_dir = true", "working_dir must be a string" },
		{ "package = []", "package must be a string" },
		{ "supports_sandbox_id = \"yes\"", "must be true or false" },
		{ "supports_snapshot_name = 1", "must be true or false" },
		{ "supports_list = 1", "must be true or false" },
		{ "params = []", "params must be a table" },
		{ "http = 1", "http must be a table" },
		{ "colour = 1", "colour is unknown" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = xasprintf("[sandboxes.providers.acme]\n%s\n"
				       "[sandboxes.providers.good]\n"
				       "class_path = \"a:B\"\n",
				       cases[i].line);
		struct registry *r;

		buf_clear(&warnings);
		w->n_environ = 0;
		r = make(w, text);
		buf_adds(&warnings, "");
		if (!strstr(warnings.ptr, cases[i].warning) ||
		    !strstr(warnings.ptr, "/config.toml:2:") ||
		    !strstr(warnings.ptr, "sandboxes.providers.acme.") ||
		    !strstr(warnings.ptr, "; the entry is skipped\n"))
			fail_msg("%s: %s", cases[i].line, warnings.ptr);
		assert_null(registry_find(r, "acme"));
		assert_non_null(registry_find(r, "good"));
		registry_free(r);
		free(text);
	}
}

static void test_an_entry_without_exactly_one_program_is_skipped(void **state)
{
	struct registry *r =
		make(*state, "[sandboxes.providers.acme]\nparams.x = 1\n"
			     "[sandboxes.providers.two]\n"
			     "class_path = \"a:B\"\ncommand = [\"c\"]\n"
			     "[sandboxes.providers.\"bad name\"]\n"
			     "class_path = \"a:B\"\n"
			     "[sandboxes.providers.none]\n"
			     "class_path = \"a:B\"\n");

	assert_null(registry_find(r, "acme"));
	assert_null(registry_find(r, "two"));
	assert_null(registry_find(r, "bad name"));
	assert_ptr_equal(registry_find(r, "none"), &none_provider);
	assert_non_null(strstr(warnings.ptr,
			       "Sandbox provider 'acme' config is missing "
			       "'class_path'"));
	assert_non_null(strstr(warnings.ptr, "more than one of"));
	assert_non_null(strstr(warnings.ptr, "provider name: 'bad name'"));
	assert_non_null(strstr(warnings.ptr, "provider name: 'none'"));
	registry_free(r);
}

/* An entry of a built-in provider's name: in its place, with its checks. */
static void test_an_entry_replaces_a_built_in_provider(void **state)
{
	struct registry *r = make(*state, "[sandboxes.providers.vercel]\n"
					  "class_path = \"a:B\"\n"
					  "[sandboxes.providers.runloop]\n"
					  "command = [\"x\"]\n"
					  "supports_snapshot_name = false\n");
	const struct sandbox_provider *p = registry_find(r, "vercel");

	assert_ptr_not_equal(p, &vercel_provider);
	assert_string_equal(p->workdir, vercel_provider.workdir);
	assert_int_equal(p->flags & (SANDBOX_ATTACH | SANDBOX_SNAPSHOT),
			 vercel_provider.flags &
				 (SANDBOX_ATTACH | SANDBOX_SNAPSHOT));
	p = registry_find(r, "runloop");
	assert_false(p->flags & SANDBOX_SNAPSHOT);
	assert_true(p->flags & SANDBOX_ATTACH);
	registry_free(r);
}

/* Without a class or a command it lies over what there is. */
static void test_an_entry_without_a_program_changes_another(void **state)
{
	static const struct setting rows[] = {
		{ .key = "workdir", .type = SETTING_STRING },
		{ 0 },
	};
	static const struct setting_group mine[] = {
		{ .rows = settings_core },
		{ .name = "runloop", .rows = rows },
		{ 0 },
	};
	struct world *w = *state;
	struct settings_input in = { .home = w->home,
				     .cwd = w->deep,
				     .environ = w->environ,
				     .groups = mine };
	struct error err = { 0 };
	const char *dir = NULL;
	struct registry *r;

	put(w, ".deepagents/config.toml",
	    "[sandboxes.providers.runloop]\nworking_dir = \"/srv\"\n"
	    "[sandboxes.providers.pack]\nworking_dir = \"/pack\"\n"
	    "params.size = 3\n"
	    "[sandboxes.providers.local]\nworking_dir = \"/other\"\n");
	put(w,
	    ".deepagents/python/lib/python3.11/site-packages/"
	    "acme-1.dist-info/entry_points.txt",
	    "[deepagents_code.sandbox_providers]\npack = m:C\nlocal=m:L\n");
	assert_int_equal(settings_load(&w->s, &in, &err), 0);
	r = registry_new(w->s, on_warning);
	assert_ptr_equal(registry_find(r, "runloop"), &runloop_provider);
	assert_int_equal(
		settings_string(w->s, "runloop", "workdir", &dir, &err), 0);
	assert_string_equal(dir, "/srv");
	assert_string_equal(registry_find(r, "pack")->workdir, "/pack");
	assert_int_equal(
		toml_get(declared(registry_find(r, "pack"))->params, "size")
			->integer,
		3);
	/* A package goes over what is built in. */
	assert_string_equal(declared(registry_find(r, "local"))->class_path,
			    "m:L");
	assert_string_equal(registry_origin(r, registry_find(r, "pack")),
			    "acme-1");
	assert_string_equal(warnings.ptr, "");
	registry_free(r);
}

static void test_programs_are_found_in_their_folder_and_on_path(void **state)
{
	struct world *w = *state;
	char *path = path_join(w->home, "bin");
	char *variable = xasprintf("PATH=relative:%s", path);
	const char *files[] = {
		".deepagents/providers/dcode-sandbox-one",
		".deepagents/providers/dcode-sandbox-two/dcode-sandbox-two",
		".deepagents/providers/dcode-sandbox-docker",
		".deepagents/providers/dcode-sandbox-none",
		"bin/dcode-sandbox-four",
		"bin/dcode-sandbox-local",
	};
	const struct sandbox_provider *const *all;
	struct registry *r;
	size_t n = 0;
	int brought = 0;

	put(w, ".deepagents/config.toml", "");
	put(w, ".deepagents/providers/dcode-sandbox-three", "no program\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *file = path_join(w->home, files[i]);

		put(w, files[i], "#!/bin/sh\n");
		assert_int_equal(chmod(file, 0755), 0);
		free(file);
	}
	export(w, variable);
	load(w);
	r = registry_new(w->s, on_warning);
	assert_non_null(registry_find(r, "one"));
	assert_non_null(registry_find(r, "two"));
	assert_null(registry_find(r, "three"));
	assert_non_null(registry_find(r, "four"));
	assert_ptr_not_equal(registry_find(r, "docker"), &docker_provider);
	assert_ptr_equal(registry_find(r, "local"), &local_provider);
	assert_ptr_equal(registry_find(r, "none"), &none_provider);
	all = registry_list(r);
	for (; all[n]; n++) {
		assert_true(!n || strcmp(all[n - 1]->name, all[n]->name) < 0);
		brought += strcmp(registry_origin(r, all[n]), "built in") != 0;
	}
	assert_int_equal(brought, 4);
	registry_free(r);
	free(variable);
	free(path);
}

static void on_point(void *arg, const struct entry_point *e)
{
	buf_addf(arg, "%.*s>%.*s\n", (int)e->name.len, e->name.ptr,
		 (int)e->object.len, e->object.ptr);
}

static void test_entry_points_of_one_group_are_read(void **state)
{
	struct buf got = BUF_INIT(4096);

	(void)state;
	entry_points_parse(STR("x = no:No\r\n[ g ]\r\n# c\n;c\na=m.n:C\n"
			       " b  =  o:D [extra, more]\nnothing\n=\n[h]\n"
			       "c = p:E\n[g]\nd = q:F\n[g\ne = r:G"),
			   "g", "p", on_point, &got);
	assert_string_equal(got.ptr, "a>m.n:C\nb>o:D\n>\nd>q:F\n");
	buf_release(&got);
	assert_true(class_path_ok(STR("a_1.b:C.D")));
	assert_false(class_path_ok(STR("a..b:C")));
	assert_false(class_path_ok(STR("a.b:")));
	assert_false(class_path_ok(STR(":C")));
	assert_false(class_path_ok(STR("1a:C")));
	assert_false(class_path_ok(STR("a:b:c")));
	assert_false(class_path_ok(STR("a\xff:C")));
}

static void test_params_become_json_and_are_checked(void **state)
{
	struct buf json = BUF_INIT(4096);
	struct toml_value root = { 0 };
	struct error err = { 0 };
	cJSON *known = json_parse(STR("{\"s\":\"string\",\"n\":\"number\"}"));

	(void)state;
	assert_int_equal(toml_parse(&root,
				    STR("s = \"a\\\"\\n\"\nn = 1.5\ni = -3\n"
					"b = true\na = [1, {x = 2}]\n"
					"d = 2020-01-02\n"),
				    "t", &err),
			 0);
	assert_int_equal(params_json(&root, NULL, &json, &err), 0);
	assert_string_equal(json.ptr,
			    "{\"s\":\"a\\\"\\n\",\"n\":1.5,\"i\":-3,\"b\":true,"
			    "\"a\":[1,{\"x\":2}],\"d\":\"2020-01-02\"}");
	assert_int_equal(params_check(&root, known, "p", &err), -1);
	assert_non_null(strstr(err.message, "config.toml:3:5: provider 'p' "
					    "has no setting 'i'"));
	toml_release(&root);
	buf_clear(&json);
	assert_int_equal(toml_parse(&root, STR("n = inf"), "t", &err), 0);
	assert_int_equal(params_json(&root, NULL, &json, &err), -1);
	toml_release(&root);
	assert_int_equal(toml_parse(&root, STR("n = \"1\""), "t", &err), 0);
	assert_int_equal(params_check(&root, known, "p", &err), -1);
	assert_non_null(strstr(err.message, "n must be of type number"));
	toml_release(&root);
	buf_release(&json);
	cJSON_Delete(known);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(test_built_in_providers_are_found_by_name),
		HERE(test_every_key_of_an_entry_counts),
		HERE(test_a_malformed_entry_is_skipped_with_its_place),
		HERE(test_an_entry_without_exactly_one_program_is_skipped),
		HERE(test_an_entry_replaces_a_built_in_provider),
		HERE(test_an_entry_without_a_program_changes_another),
		HERE(test_programs_are_found_in_their_folder_and_on_path),
		HERE(test_entry_points_of_one_group_are_read),
		HERE(test_params_become_json_and_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
