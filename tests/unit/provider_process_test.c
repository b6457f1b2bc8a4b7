/* provider_process_test.c - a provider that is a child, and everything that it
 * may do. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/external/process.h"
#include "settings_world.h"

enum { LONG_MS = 120000, SHORT_MS = 300, GONE_MS = 20000 };

enum what { START, CREATE, ATTACH, EXECUTE, LIST, UPLOAD, DOWNLOAD, REMOVE };

/* HANGS: ended by a deadline, which is short then. SLOW: it is asked again for
 * 18 s: only with DCODE_TEST_LONG. */
enum pace { QUICK, HANGS, SLOW };

/* What has to become of a mode of tests/emulators/hostile_provider.py. */
static const struct fault {
	const char *mode;
	enum what what;
	enum err code;    /* ERR_NONE: it does no harm */
	const char *text; /* part of the message */
	enum pace pace;
} faults[] = {
	{ "good", DOWNLOAD, ERR_NONE, NULL, QUICK },
	{ "initialize-banner", CREATE, ERR_NONE, NULL, QUICK },
	{ "create-banner", EXECUTE, ERR_NONE, NULL, QUICK },
	{ "create-crlf", CREATE, ERR_NONE, NULL, QUICK },
	{ "create-twice", EXECUTE, ERR_NONE, NULL, QUICK },
	{ "create-stderr", CREATE, ERR_NONE, NULL, QUICK },
	{ "create-strange", CREATE, ERR_NONE, NULL, QUICK },
	{ "initialize-exit", START, ERR_REMOTE,
	  "exited with status 3; it said: no licence", QUICK },
	{ "initialize-killed", START, ERR_REMOTE, "killed by signal 9", QUICK },
	{ "initialize-hang", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-garbage", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-half", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-halfexit", START, ERR_REMOTE, "exited with status 0",
	  QUICK },
	{ "initialize-longline", START, ERR_REMOTE, "a line of more", QUICK },
	{ "initialize-longjson", START, ERR_REMOTE, "a line of more", QUICK },
	{ "initialize-protocol99", START, ERR_PROTOCOL, "protocol 1", QUICK },
	{ "initialize-noprotocol", START, ERR_PROTOCOL, "protocol 1", QUICK },
	{ "initialize-array", START, ERR_PROTOCOL, "not an object", QUICK },
	{ "initialize-string", START, ERR_PROTOCOL, "not an object", QUICK },
	{ "initialize-null", START, ERR_PROTOCOL, "not an object", QUICK },
	{ "initialize-nothing", START, ERR_PROTOCOL, "not an object", QUICK },
	{ "initialize-capstring", START, ERR_PROTOCOL, "not an array", QUICK },
	{ "initialize-capunknown", START, ERR_PROTOCOL,
	  "unknown capability 'netwrok_list'", QUICK },
	{ "initialize-capnumber", START, ERR_PROTOCOL,
	  "unknown capability '(not a string)'", QUICK },
	{ "initialize-relative", START, ERR_PROTOCOL, "absolute", QUICK },
	{ "initialize-dirnumber", START, ERR_PROTOCOL, "absolute", QUICK },
	{ "initialize-tiny", START, ERR_PROTOCOL, "max_command", QUICK },
	{ "initialize-hugefile", START, ERR_PROTOCOL, "max_file", QUICK },
	{ "initialize-settings", START, ERR_PROTOCOL, "not an object", QUICK },
	{ "initialize-unknownsetting", START, ERR_CONFIG,
	  "config.toml:2:10: provider 'hostile' has no setting 'region'",
	  QUICK },
	{ "initialize-closed", START, ERR_REMOTE, "closed its output", QUICK },
	{ "initialize-deaf", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-deep", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-notutf8", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-nul", START, ERR_PROTOCOL, "not an object", QUICK },
	{ "initialize-noise", START, ERR_REMOTE, "answers no request", QUICK },
	{ "initialize-errnoise", START, ERR_TIMEOUT, "it said: ...e", HANGS },
	{ "initialize-strangers", START, ERR_REMOTE, "answers no request",
	  QUICK },
	{ "initialize-progress", START, ERR_TIMEOUT, "no answer", HANGS },
	{ "initialize-fork", START, ERR_REMOTE, "exited with status 0", QUICK },
	{ "initialize-daemon", START, ERR_REMOTE, "exited with status 0",
	  QUICK },
	{ "create-exit", CREATE, ERR_REMOTE, "creating the sandbox", QUICK },
	{ "create-hang", CREATE, ERR_TIMEOUT, "no answer within 1 s", HANGS },
	{ "create-controls", CREATE, ERR_REMOTE, ": ab c", QUICK },
	{ "create-longerror", CREATE, ERR_REMOTE, "long long", QUICK },
	{ "create-nocode", CREATE, ERR_PROTOCOL, "code and message", QUICK },
	{ "create-errorstring", CREATE, ERR_PROTOCOL,
	  "sent an invalid "
	  "answer",
	  QUICK },
	{ "create-nullid", CREATE, ERR_REMOTE, "not understand", QUICK },
	{ "create-wrongid", CREATE, ERR_REMOTE, "dcode did not send", QUICK },
	{ "create-stringid", CREATE, ERR_REMOTE, "dcode did not send", QUICK },
	{ "create-halfid", CREATE, ERR_REMOTE, "dcode did not send", QUICK },
	{ "create-noid", CREATE, ERR_PROTOCOL, "its id", QUICK },
	{ "create-idnumber", CREATE, ERR_PROTOCOL, "its id", QUICK },
	{ "create-idhuge", CREATE, ERR_PROTOCOL, "its id", QUICK },
	{ "create-idcontrols", CREATE, ERR_PROTOCOL, "its id", QUICK },
	{ "create-baddir", CREATE, ERR_PROTOCOL, "workdir", QUICK },
	{ "create-fork", CREATE, ERR_REMOTE, "exited with status 0", QUICK },
	{ "attach-other", ATTACH, ERR_PROTOCOL, "got other", QUICK },
	{ "attach-missing", ATTACH, ERR_NOT_FOUND, "no such", QUICK },
	{ "execute-hang", EXECUTE, ERR_TIMEOUT, "no answer", HANGS },
	{ "execute-killed", EXECUTE, ERR_REMOTE, "signal 9", QUICK },
	{ "execute-nobase64", EXECUTE, ERR_REMOTE, "must be base64", QUICK },
	{ "execute-datanumber", EXECUTE, ERR_REMOTE, "must be a string",
	  QUICK },
	{ "execute-textnumber", EXECUTE, ERR_REMOTE, "must be a string",
	  QUICK },
	{ "execute-empty", EXECUTE, ERR_PROTOCOL, "", SLOW },
	{ "execute-noframe", EXECUTE, ERR_PROTOCOL, "unexpected", SLOW },
	{ "execute-output", EXECUTE, ERR_LIMIT, "is larger", QUICK },
	{ "execute-missing", EXECUTE, ERR_GONE, "no such sandbox", QUICK },
	{ "execute-failed", EXECUTE, ERR_REMOTE, "it failed", QUICK },
	{ "list-nolist", LIST, ERR_PROTOCOL, "not an array", QUICK },
	{ "list-noids", LIST, ERR_PROTOCOL, "without an id", QUICK },
	{ "list-hang", LIST, ERR_TIMEOUT, "no answer", HANGS },
	{ "download-datanumber", DOWNLOAD, ERR_PROTOCOL, "not a string",
	  QUICK },
	{ "download-nobase64", DOWNLOAD, ERR_PROTOCOL, "not base64", QUICK },
	{ "download-killed", DOWNLOAD, ERR_NETWORK, "signal 9", QUICK },
	{ "upload-hang", UPLOAD, ERR_TIMEOUT, "no answer", HANGS },
	{ "delete-hang", REMOVE, ERR_TIMEOUT, "no answer", HANGS },
	{ "delete-failed", REMOVE, ERR_REMOTE, "it failed", QUICK },
	{ "delete-missing", REMOVE, ERR_NONE, NULL, QUICK },
};

struct trial {
	struct world *w;
	const struct fault *fault;
	char *pids; /* the file's name */
	struct made_provider *made;
	struct sandbox_client client;
	struct sandbox box;
};

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static char **words(const char *const *from)
{
	size_t n = 0;
	char **to;

	while (from[n])
		n++;
	to = xcalloc(n + 1, sizeof(*to));
	for (size_t i = 0; i < n; i++)
		to[i] = xstrdup(from[i]);
	return to;
}

static void set_limits(struct process_limits *l, const struct fault *f)
{
	int64_t ms = f->pace == HANGS ? SHORT_MS : LONG_MS;

	*l = (struct process_limits){ LONG_MS, LONG_MS, LONG_MS, SHORT_MS,
				      LONG_MS, LONG_MS, GONE_MS };
	switch (f->what) {
	case START:
		l->start = ms;
		break;
	case CREATE:
	case ATTACH:
		l->create = ms;
		break;
	case EXECUTE:
		l->slack = l->patience = ms;
		break;
	default:
		l->call = ms;
	}
	if (f->pace == HANGS)
		l->grace = SHORT_MS;
}

static void open_provider(struct trial *t)
{
	char *script = realpath("tests/emulators/hostile_provider.py", NULL);
	const char *command[] = { "/usr/bin/python3", script, t->fault->mode,
				  t->pids, NULL };
	struct provider_config d = { .name = xstrdup("hostile"),
				     .command = words(command),
				     .flags = SANDBOX_ATTACH | SANDBOX_LIST,
				     .params =
					     settings_toml(t->w->s, "params") };
	struct error err = { 0 };

	t->made = process_provider_new(&d, &err);
	assert_non_null(t->made);
	provider_config_release(&d);
	free(script);
	set_limits(&((struct process_provider *)t->made)->limits, t->fault);
	assert_int_equal(sandbox_client_open(&t->client, &t->made->base,
					     t->w->s, NULL, &err),
			 0);
}

static int64_t read_file(void *arg, char *room, size_t len, struct error *err)
{
	(void)arg;
	(void)err;
	memset(room, 'x', len);
	return (int64_t)len;
}

static int drop_chunk(void *arg, struct str chunk, struct error *err)
{
	(void)arg;
	(void)chunk;
	(void)err;
	return 0;
}

static int run_operation(struct trial *t, const struct stop *stop,
			 struct error *err)
{
	struct exec_request req = { .command = STR("exit 7") };
	struct sandbox_spec spec = { .label = "dcode-abcdefgh", .owner = "me" };
	struct transfer file = {
		.path = "/f", .size = 9, .read = read_file, .write = drop_chunk
	};
	struct exec_result res;
	int rc = 0;

	if (t->fault->what == ATTACH)
		return sandbox_attach(&t->box, &t->client, "box", stop, err);
	if (t->fault->what == LIST)
		return t->client.provider->ops->list(&t->client, "me", NULL,
						     stop, err);
	if (t->fault->what == REMOVE)
		return sandbox_remove(&t->client, "box", stop, err);
	if (sandbox_create(&t->box, &t->client, &spec, stop, err) < 0)
		return -1;
	if (t->fault->what == EXECUTE || t->fault->what == DOWNLOAD)
		rc = t->fault->what == EXECUTE ||
				     !strcmp(t->fault->mode, "good")
			     ? sandbox_execute(&t->box, &req, &res, stop, err)
			     : 0;
	if (rc == 0 && t->fault->what == EXECUTE)
		assert_int_equal(res.exit_code, 7);
	if (rc == 0 && t->fault->what == DOWNLOAD)
		rc = sandbox_download(&t->box, &file, 1, stop, err);
	if (rc == 0 && t->fault->what == UPLOAD)
		rc = sandbox_upload(&t->box, &file, 1, stop, err);
	if (rc == 0 && file.error == FILE_OTHER) /* this file's alone */
		rc = error_set(err, ERR_PROTOCOL, "hostile: %s", file.detail);
	return rc;
}

/* Nothing may be left that is in the child's process group. */
static void expect_no_process(struct trial *t)
{
	struct buf text = BUF_INIT(1 << 16);
	struct error err = { 0 };
	struct str rest;
	struct str line;
	int64_t pid;

	if (path_read(t->pids, &text, &err) < 0)
		return; /* it was ended before it could write them */
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line)) {
		assert_true(str_to_int(line, &pid));
		if (strstr(t->fault->mode, "daemon"))
			continue; /* it left the group by itself */
		for (int i = 0; i < 2000 && kill((pid_t)pid, 0) == 0; i++)
			usleep(10000);
		assert_int_equal(kill((pid_t)pid, 0), -1);
	}
	buf_release(&text);
}

/* All faults are tried before the first of them fails the test. */
static int failures;

static void check_outcome(const struct fault *f, int rc,
			  const struct error *err)
{
	bool wrong = (rc < 0) != (f->code != ERR_NONE);

	if (!wrong && rc < 0)
		wrong = err->code != f->code ||
			!strstr(err->message, f->text) ||
			(f->what != LIST &&
			 !str_starts(str_of(err->message), "hostile: "));
	for (const char *c = err->message; *c; c++)
		wrong |= (unsigned char)*c < ' ' || *c == 0x7f;
	if (!wrong)
		return;
	print_error("%s: %s: %s\n", f->mode, error_name(err->code),
		    err->message);
	failures++;
}

static void try_fault(struct world *w, const struct fault *f)
{
	struct stop stop = stop_cleanup(2 * LONG_MS);
	struct trial t = { .w = w, .fault = f };
	struct error err = { 0 };
	int before = open_fds();
	int rc;

	t.pids = path_join(w->home, "pids");
	(void)unlink(t.pids);
	open_provider(&t);
	rc = run_operation(&t, &stop, &err);
	check_outcome(f, rc, &err);
	sandbox_release(&t.box);
	sandbox_client_close(&t.client);
	t.made->free(t.made);
	expect_no_process(&t);
	free(t.pids);
	assert_int_equal(open_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_no_fault_of_a_child_harms_us(void **state)
{
	struct world *w = *state;
	const char *only = getenv("DCODE_TEST_FAULT");

	put(w, ".deepagents/config.toml", "[params]\nregion = \"eu\"\n");
	load(w);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (only ? !strcmp(only, faults[i].mode)
			 : faults[i].pace != SLOW || getenv("DCODE_TEST_LONG"))
			try_fault(w, &faults[i]);
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { IN_A_WORLD(
		test_no_fault_of_a_child_harms_us) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
