/* exec.c - commands on the host, in what isolates them there. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "providers/ssh/ssh.h"
#include "sandbox/quote.h"
#include "sandbox/setup/setup.h"

enum {
	WRAPPED_MAX = 8 << 20,
	ARGUMENT_MAX = 100000, /* Linux takes 128 KiB in one */
	CHECK_MS = 600000,     /* podman may have to fetch its image */
};

/*
 * All of the host for reading but the home and /run, where keys and sockets
 * are; for writing the working directory, and a home and a /tmp of the
 * sandbox's own. No capability, no process but its own.
 */
static void add_bwrap(const struct sandbox *sb, struct buf *out)
{
	const struct ssh_box *box = sb->priv;

	buf_adds(out, "exec bwrap --unshare-all --die-with-parent "
		      "--cap-drop ALL --ro-bind / / --dev /dev --proc /proc "
		      "--tmpfs /run --ro-bind-try /run/systemd/resolve "
		      "/run/systemd/resolve --bind ");
	buf_addf(out,
		 "\"$HOME/dcode/.tmp.%s/all\" /tmp --bind "
		 "\"$HOME/dcode/.home.%s\" \"$HOME\" --bind ",
		 box->name.label, box->name.label);
	quote_word(out, str_of(sb->workdir));
	buf_addc(out, ' ');
	quote_word(out, str_of(sb->workdir));
	if (!box->offline)
		buf_adds(out, " --share-net");
	buf_adds(out, " --chdir \"$PWD\" -- ");
}

static void add_podman(const struct sandbox *sb, const char *const *env,
		       struct buf *out)
{
	const struct ssh_client *c = sb->client->priv;
	const struct ssh_box *box = sb->priv;

	buf_adds(out, "exec podman run --rm -i --env DCODE_EXEC --network ");
	buf_adds(out, box->offline ? "none" : "host");
	for (; env && *env; env++) {
		struct str name = str_of(*env);

		name.len = str_find(name, '=');
		buf_adds(out, " --env ");
		quote_word(out, name);
	}
	buf_addf(out,
		 " --label dcode=%s -v \"$HOME/dcode/.tmp.%s/all:/tmp\" -v ",
		 box->name.label, box->name.label);
	quote_word(out, str_of(sb->workdir));
	buf_addc(out, ':');
	quote_word(out, str_of(sb->workdir));
	buf_adds(out, " -w \"$PWD\" ");
	quote_word(out, str_of(c->image));
	buf_addc(out, ' ');
}

/* The command as the last word; one that is too long for a word is read from a
 * descriptor. A container's first process cannot be killed from inside, so that
 * the command is its child: child. */
static void add_command(const struct exec_request *req, bool child,
			struct buf *out)
{
	static const char shell[] =
		"s=sh; [ -n \"$1\" ] && command -v bash >/dev/null && s=bash\n"
		"e=" SETUP_ENV_FILE ".${DCODE_EXEC#*.}\n"
		"[ -z \"$1\" ] || [ ! -O \"$e\" ] || . \"$e\"\n";
	struct buf text = BUF_INIT(4096);
	bool long_one = req->command.len > ARGUMENT_MAX;

	if (req->aside)
		facts_add_script(&text, req->aside);
	buf_adds(&text, shell);
	buf_adds(&text, long_one ? "c=$(cat; echo x)\n"
				   "exec 0</dev/null\neval \"${c%x}\""
			: child  ? "\"$s\" -c \"$2\"; exit"
				 : "exec \"$s\" -c \"$2\"");
	buf_adds(out, "sh -c ");
	quote_word(out, buf_str(&text));
	buf_adds(out, req->plain ? " sh '' " : " sh 1 ");
	if (!long_one)
		quote_word(out, req->command);
	buf_release(&text);
}

static void wrap(const struct sandbox *sb, const struct exec_request *req,
		 struct buf *out)
{
	const struct ssh_client *c = sb->client->priv;
	bool in_podman = !strcmp(c->isolate, "podman");

	if (in_podman)
		add_podman(sb, req->env, out);
	else
		add_bwrap(sb, out);
	add_command(req, in_podman, out);
}

/* struct supervisor.call and .began, of a host as it is. */
static int call_box(void *arg, struct str text, int64_t wait_ms,
		    struct buf *out, const struct stop *stop, struct error *err)
{
	const struct ssh_box *box = arg;

	return held_call_job(box->held, text, wait_ms, out, stop, err);
}

static void note_job(void *arg, const char *job)
{
	struct ssh_box *box = arg;

	pthread_mutex_lock(&box->lock);
	if (box->jobs.max - box->jobs.len > SUPERVISE_JOB + 1)
		buf_addf(&box->jobs, " %s", job);
	pthread_mutex_unlock(&box->lock);
}

int ssh_execute(struct sandbox *sb, const struct exec_request *req,
		struct exec_result *res, const struct stop *stop,
		struct error *err)
{
	const struct ssh_client *c = sb->client->priv;
	struct ssh_box *box = sb->priv;
	struct supervisor s = held_supervisor(box->held);
	struct exec_request own = *req;
	struct buf text = BUF_INIT(WRAPPED_MAX);
	int rc = 0;

	if (box->name.label[0]) {
		s.owner = box->name.label;
	} else {
		s.call = call_box;
		s.began = note_job;
		s.arg = box;
	}
	if (c->isolate) {
		wrap(sb, req, &text);
		own.command = buf_str(&text);
		own.aside = NULL;
		if (req->command.len > ARGUMENT_MAX)
			own.input = req->command;
		rc = buf_check(&text, "the command", err);
	}
	if (rc == 0)
		rc = supervise_execute(sb, &own, res, &s, stop, err);
	buf_release(&text);
	return rc;
}

int ssh_check_isolation(const struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	const struct ssh_client *c = sb->client->priv;
	const struct ssh_box *box = sb->priv;
	const struct exec_request req = { .command = STR("echo isolated") };
	struct stop limit = stop_within(stop, CHECK_MS);
	struct buf text = BUF_INIT(WRAPPED_MAX);
	struct buf out = BUF_INIT(64 << 10);
	struct str said;
	int rc;

	if (!c->isolate)
		return 0;
	if (!box->name.label[0])
		return error_set(
			err, ERR_USAGE,
			"isolate needs a sandbox of its own, not a whole host");
	buf_addf(&text,
		 "(umask 077; mkdir -p \"$HOME/dcode/.home.%s\" "
		 "\"$HOME/dcode/.tmp.%s/all\") && chmod 1777 "
		 "\"$HOME/dcode/.tmp.%s/all\" && cd ",
		 box->name.label, box->name.label, box->name.label);
	quote_word(&text, str_of(sb->workdir));
	buf_adds(&text, " && (");
	wrap(sb, &req, &text);
	buf_adds(&text, ")");
	rc = held_call(box->held, buf_str(&text), 0, &out, &limit, err);
	said = str_trim(buf_str(&out));
	if (rc == 0 && !str_ends(said, "isolated")) {
		if (said.len > 300)
			said = str_skip(said, said.len - 300);
		error_set(err, ERR_CONFIG, "%s does not work on %s: %.*s",
			  c->isolate, box->name.host, (int)said.len,
			  said.len ? said.ptr : "");
		rc = error_hint(err, "Set it up there, or leave out isolate.");
	}
	buf_release(&text);
	buf_release(&out);
	return rc;
}
