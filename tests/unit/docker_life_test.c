/* docker_life_test.c - files and lives of containers of a real engine. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/snapshot.h"
#include "tests/unit/docker_box.h"

struct pattern {
	int64_t left;
	int64_t at;
	bool wrong;
};

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct pattern *p = arg;
	int64_t n = p->left < (int64_t)len ? p->left : (int64_t)len;

	(void)err;
	for (int64_t i = 0; i < n; i++)
		room[i] = (char)((p->at + i) * 7 >> 3);
	p->at += n;
	p->left -= n;
	return n;
}

static int check(void *arg, struct str chunk, struct error *err)
{
	struct pattern *p = arg;

	(void)err;
	for (size_t i = 0; i < chunk.len; i++)
		if (chunk.ptr[i] != (char)((p->at + (int64_t)i) * 7 >> 3))
			p->wrong = true;
	p->at += (int64_t)chunk.len;
	return 0;
}

static void test_files(void **state)
{
	static const int64_t sizes[] = { 0, 1, 511, 512, 513, 10 << 20 };
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct pattern in = { .left = sizes[i] };
		struct pattern out = { 0 };
		struct transfer up = { .path = "/workspace/a b/\xc3\xa4/file",
				       .size = sizes[i],
				       .read = give,
				       .arg = &in };
		struct transfer down = { .path = up.path,
					 .write = check,
					 .arg = &out };

		assert_int_equal(sandbox_upload(&box, &up, 1, &stop, &err), 0);
		assert_int_equal(up.error, FILE_OK);
		assert_int_equal(sandbox_download(&box, &down, 1, &stop, &err),
				 0);
		assert_int_equal(down.error, FILE_OK);
		assert_int_equal(out.at, sizes[i]);
		assert_false(out.wrong);
	}
}

static void test_file_errors(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct pattern in[4] = {
		{ .left = 2 }, { .left = 2 }, { .left = 2 }, { .left = 2 }
	};
	struct transfer up[4] = {
		{ .path = "/workspace",
		  .size = 2,
		  .read = give,
		  .arg = &in[0] },
		{ .path = "/workspace/script",
		  .size = 2,
		  .mode = 0755,
		  .read = give,
		  .arg = &in[1] },
		{ .path = "/etc/passwd/x",
		  .size = 2,
		  .read = give,
		  .arg = &in[2] },
		{ .path = "/workspace/last",
		  .size = 2,
		  .read = give,
		  .arg = &in[3] },
	};
	struct pattern out[3] = { 0 };
	struct transfer down[3] = {
		{ .path = "/workspace/none", .write = check, .arg = &out[0] },
		{ .path = "/workspace", .write = check, .arg = &out[1] },
		{ .path = "/workspace/last", .write = check, .arg = &out[2] },
	};
	struct error err = { 0 };
	struct seen s;

	(void)state;
	assert_int_equal(sandbox_upload(&box, up, 4, &stop, &err), 0);
	assert_int_equal(up[0].error, FILE_IS_DIRECTORY);
	assert_int_equal(up[1].error, FILE_OK);
	assert_int_not_equal(up[2].error, FILE_OK);
	assert_int_equal(up[3].error, FILE_OK);
	assert_int_equal(sandbox_download(&box, down, 3, &stop, &err), 0);
	assert_int_equal(down[0].error, FILE_NOT_FOUND);
	assert_int_equal(down[1].error, FILE_IS_DIRECTORY);
	assert_int_equal(down[2].error, FILE_OK);
	assert_int_equal(out[2].at, 2);
	run("stat -c %a /workspace/script; stat -c %a /workspace/last", &s);
	assert_string_equal(s.out.ptr, "755\n644\n");
	seen_release(&s);
}

struct listed {
	int n;
	char id[80];
	enum sandbox_state state;
	int64_t created, ends;
};

static void on_listed(void *arg, const struct sandbox_info *info)
{
	struct listed *l = arg;

	if (strcmp(info->label, label) != 0)
		return;
	l->n++;
	snprintf(l->id, sizeof(l->id), "%s", info->id);
	l->state = info->state;
	l->created = info->created;
	l->ends = info->ends;
}

static void test_list_and_info(void **state)
{
	const struct sandbox_ops *o = docker_provider.ops;
	struct stop stop = stop_cleanup(20000);
	struct listed l = { 0 };
	const struct info_sink sink = { on_listed, &l };
	struct error err = { 0 };
	int64_t now = clock_unix_ms() / 1000;

	(void)state;
	assert_int_equal(o->list(&client, "owner-1", &sink, &stop, &err), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.id, box.id);
	assert_int_equal(l.state, STATE_RUNNING);
	assert_in_range(l.created, now - 600, now + 5);
	assert_int_equal(l.ends - l.created, 600);
	l.n = 0;
	assert_int_equal(o->list(&client, "owner-2", &sink, &stop, &err), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(o->list(&client, NULL, &sink, &stop, &err), 0);
	assert_int_equal(l.n, 1);
	l = (struct listed){ 0 };
	assert_int_equal(o->info(&client, label, &sink, &stop, &err), 0);
	assert_int_equal(l.n, 1);
	assert_in_range(l.created, now - 600, now + 5);
	assert_int_equal(o->info(&client, "nobody", &sink, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(o->info(&client, "../x", &sink, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static void test_create_again(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of(label);
	struct sandbox again = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sandbox_create(&again, &client, &spec, &stop, &err),
			 0);
	assert_string_equal(again.id, box.id);
	sandbox_release(&again);
}

static void test_attach(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox other = { 0 };
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;
	char *path = xasprintf("/containers/%s/stop?t=2", label);
	char *url = xasprintf("http://d%s", path);
	struct http_request req = { .method = "POST",
				    .url = url,
				    .unix_socket = relay.path };
	struct http_response answer = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			sandbox_attach(&other, &client, label, &stop, &err), 0);
		assert_string_equal(other.id, box.id);
		assert_string_equal(other.workdir, "/workspace");
		seen_init(&s);
		assert_int_equal(
			run_request(&other,
				    (struct exec_request){
					    .command = STR("cat last") },
				    &s, &res, NULL, &err),
			0);
		assert_int_equal(s.out.len, 2);
		seen_release(&s);
		sandbox_release(&other);
		assert_int_equal(http_do(http, &req, &answer, &stop, &err), 0);
		assert_int_equal(answer.status, 204);
	}
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("true") }, &s,
			    &res, NULL, &err),
		-1);
	assert_int_equal(err.code, ERR_GONE);
	seen_release(&s);
	assert_int_equal(
		sandbox_attach(&other, &client, "no-such", &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&other);
	assert_int_equal(sandbox_attach(&other, &client, label, &stop, &err),
			 0);
	sandbox_release(&other);
	http_response_release(&answer);
	free(path);
	free(url);
}

static void test_snapshot(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of("dcode-bbbbbbbb");
	struct sandbox copy = { 0 };
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	spec.snapshot = "missing-one";
	assert_int_equal(sandbox_create(&copy, &client, &spec, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.hint, "dcode sandbox snapshot"));
	sandbox_release(&copy);
	assert_int_equal(snapshot_make(&box, "state-1", false, &stop, &err), 0);
	spec.snapshot = "state-1";
	assert_int_equal(sandbox_create(&copy, &client, &spec, &stop, &err), 0);
	seen_init(&s);
	assert_int_equal(
		run_request(&copy,
			    (struct exec_request){ .command = STR("cat last") },
			    &s, &res, NULL, &err),
		0);
	assert_int_equal(s.out.len, 2);
	seen_release(&s);
	assert_int_equal(sandbox_remove(&client, copy.id, &stop, &err), 0);
	sandbox_release(&copy);
}

/* The working directory belongs to the container's user, who may not be
 * root; and the killer reaches what changed its user. */
static void test_user(void **state)
{
	static const char key[] = "sandboxes.providers.docker.params.user";
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of("dcode-dddddddd");
	struct exec_result res = { 0 };
	struct sandbox other = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	assert_int_equal(settings_set_flag(settings, key, "1000", &err), 0);
	assert_int_equal(sandbox_create(&other, &client, &spec, &stop, &err),
			 0);
	seen_init(&s);
	assert_int_equal(
		run_request(&other,
			    (struct exec_request){
				    .command = STR("id -u; touch f && echo ok;"
						   "sleep 7744 & sleep 7744"),
				    .timeout_ms = 700 },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "1000\nok\n");
	assert_true(res.timed_out);
	seen_release(&s);
	seen_init(&s);
	assert_int_equal(
		run_request(&other,
			    (struct exec_request){
				    .command = STR("cat /proc/[0-9]*/cmdline "
						   "| tr '\\0' ' ' | grep "
						   "-c 'sleep 774[4]'") },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "0\n");
	seen_release(&s);
	assert_int_equal(sandbox_remove(&client, other.id, &stop, &err), 0);
	sandbox_release(&other);
	assert_int_equal(settings_set_flag(settings, key, "0", &err), 0);
}

static void test_lifetime(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct sandbox_spec spec = spec_of("dcode-cccccccc");
	const struct network none = { .mode = NETWORK_NONE };
	struct sandbox brief = { 0 };
	struct listed l = { 0 };
	const struct info_sink sink = { on_listed, &l };
	struct error err = { 0 };

	(void)state;
	spec.lifetime_s = 1;
	spec.network = &none;
	assert_int_equal(sandbox_create(&brief, &client, &spec, &stop, &err),
			 0);
	memcpy(label, "dcode-cccccccc", sizeof(label));
	for (int i = 0; i < 40 && l.state != STATE_STOPPED; i++) {
		usleep(100000);
		assert_int_equal(docker_provider.ops->info(&client, brief.id,
							   &sink, &stop, &err),
				 0);
	}
	memcpy(label, "dcode-aaaaaaaa", sizeof(label));
	assert_int_equal(l.state, STATE_STOPPED);
	assert_int_equal(sandbox_remove(&client, brief.id, &stop, &err), 0);
	sandbox_release(&brief);
}

static void test_remove_twice(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct listed l = { 0 };
	const struct info_sink sink = { on_listed, &l };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sandbox_remove(&client, box.id, &stop, &err), 0);
	assert_int_equal(sandbox_remove(&client, box.id, &stop, &err), 1);
	assert_int_equal(
		docker_provider.ops->list(&client, NULL, &sink, &stop, &err),
		0);
	assert_int_equal(l.n, 0);
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_list_and_info),
		cmocka_unit_test(test_create_again),
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_remove_twice),
	};

	return cmocka_run_group_tests(tests, box_start, box_end);
}

int main(int argc, char **argv)
{
	(void)argc;
	return box_main(argv, run_all);
}
