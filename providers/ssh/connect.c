/* connect.c - one connection to a host, by the user's own ssh. */
/* SPDX-License-Identifier: MIT */
/*
 * ssh_held() returns the stream to a host (providers/held): an ssh process that
 * runs a shell there. All sandboxes of a host share it. Slurm uses it for its
 * login node. Host names are checked first, because some would make ssh run a
 * program on this machine. After a failed login, explain_failure() chooses a
 * hint from ssh's message.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/ssh/ssh.h"
#include "sandbox/ports/ports.h"
#include "sandbox/shell.h"

enum {
	ARGS = 40,        /* number of arguments of ssh, at most */
	SSH_FAILED = 255, /* exit status of ssh for its own errors, ssh(1) */
	TERMINAL_LINE = 64 << 10, /* bytes of a command with a terminal */
};

/*
 * Checks a host name. One that begins with "-" would be an option of ssh:
 * -oProxyCommand=... runs a program on this machine. "%h" in the user's
 * ProxyCommand is passed to a shell, so a host must not contain a shell's
 * special characters (CVE-2023-51385).
 */
int ssh_check_host(const char *host, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-:@[]+";
	const char *user = host;
	const char *name;

	if (!strncmp(host, "ssh://", 6))
		user += 6;
	name = strrchr(user, '@');
	name = name ? name + 1 : user;
	if (*user && *user != '@' && *name && *user != '-' && *name != '-' &&
	    !user[strspn(user, allowed)] && strlen(host) < SSH_HOST)
		return 0;
	error_set(err, ERR_USAGE, "not a host for ssh: '%.100s'", host);
	return error_hint(err, "Use user@host, or a Host of ~/.ssh/config.");
}

/*
 * Options that override the user's configuration. ssh asks no questions, uses
 * no terminal, and detects a dead connection. Forwards are disabled: they are
 * meant for the user's own session. A forwarded port that is in use can end the
 * connection, and with the forwarded agent the model's commands could log in
 * wherever the user can. An existing shared connection (ControlMaster) is used,
 * but none is started, because it would remain after dcode.
 */
static const char *const options[] = {
	"BatchMode=yes",         "ClearAllForwardings=yes", "ConnectTimeout=20",
	"ControlMaster=no",      "ForwardAgent=no",         "ForwardX11=no",
	"PermitLocalCommand=no", "RemoteCommand=none",      "RequestTTY=no",
	"ServerAliveCountMax=3", "ServerAliveInterval=5",   NULL,
};

/*
 * ssh exits with 255 for every failure, so its messages decide which hint is
 * shown and whether dcode retries. (A host that refused the key would take many
 * tries for an attack.) The messages are OpenSSH's (sshconnect.c,
 * sshconnect2.c, read 2026-11-23), in English only. Any other status comes from
 * the program on the host, so the login worked.
 */
static const struct {
	const char *word;
	enum err code;
	const char *hint; /* the host's name is appended */
} failures[] = {
	{ "REMOTE HOST IDENTIFICATION", ERR_CONFIG,
	  "Check the new key with its administrator, then: ssh-keygen -R " },
	{ "Host key verification failed", ERR_CONFIG,
	  "Its host key is unknown or has changed. Check it, and accept it "
	  "with: ssh " },
	{ "Permission denied", ERR_AUTH,
	  "dcode never answers password prompts. Use ssh-add KEY, or "
	  "ssh-copy-id " },
	{ "Too many authentication failures", ERR_AUTH,
	  "Name the key in ~/.ssh/config (IdentityFile, IdentitiesOnly yes). "
	  "Try: ssh " },
	{ "Bad configuration option", ERR_CONFIG, "Try: ssh " },
	{ "Bad owner or permissions", ERR_CONFIG, "Try: ssh " },
	/* Broken connections: a retry may succeed. */
	{ "Connection closed", ERR_NETWORK, "Try: ssh " },
	{ "closed by remote host", ERR_NETWORK, "Try: ssh " },
	{ "Connection reset", ERR_NETWORK, "Try: ssh " },
	{ "Broken pipe", ERR_NETWORK, "Try: ssh " },
};

/*
 * Reports that sh did not start, although the login worked or may have worked.
 * status is -1 if ssh had to be killed.
 */
static void explain_login(const struct ssh_host *host, int status,
			  struct str said, struct error *err)
{
	if (said.len)
		error_set(err, ERR_UNREACHABLE, "%s %s: %.*s", host->name,
			  status < 0 ? "does not answer; it printed"
				     : "did not start a shell for dcode",
			  (int)said.len, said.ptr);
	else if (status < 0)
		error_set(err, ERR_UNREACHABLE, "%s does not answer",
			  host->name);
	else
		error_set(err, ERR_UNREACHABLE,
			  "%s did not start a shell for dcode: ssh exited with "
			  "status %d",
			  host->name, status);
	error_hint(err,
		   "A program there may read the input, or end or replace the "
		   "shell (see ~/.bashrc and ForceCommand). Try: ssh %s date",
		   host->name);
}

/* Sets the error and hint for a failed login from the message of ssh. */
static void explain_failure(const struct ssh_host *host, struct str said,
			    struct error *err)
{
	const struct str unresolved = STR("resolve hostname");
	const struct str usage = STR("destination [command");
	const char *hint = "Try: ssh ";
	enum err code = ERR_UNREACHABLE;

	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		struct str word = str_of(failures[i].word);

		if (str_search(said, word) == said.len)
			continue;
		code = failures[i].code;
		hint = failures[i].hint;
		break;
	}
	/*
	 * The user wrote a port or an IPv6 address as other programs expect it.
	 * The second text is the end of ssh's usage message.
	 */
	if (code == ERR_UNREACHABLE && strchr(host->name, ':') &&
	    (str_search(said, unresolved) < said.len ||
	     str_search(said, usage) < said.len)) {
		hint = "Write a port as ssh://user@name:port and an IPv6 "
		       "address without brackets, or put both into "
		       "~/.ssh/config (HostName, Port). Not: ssh ";
		said = STR("ssh does not understand the name");
	}
	if (said.len)
		error_set(err, code, "cannot log in to %s: %.*s", host->name,
			  (int)said.len, said.ptr);
	else
		error_set(err, code, "cannot log in to %s: ssh failed",
			  host->name);
	error_hint(err, "%s%s", hint, host->name);
}

/* Implements held_program.failed. */
static void explain_end(void *arg, int status, struct str said,
			struct error *err)
{
	const struct ssh_host *host = arg;

	if (status == SSH_FAILED)
		explain_failure(host, said, err);
	else
		explain_login(host, status, said, err);
	err->nothing_made = true; /* nothing was sent yet */
}

/* Writes the first arguments of ssh and returns their number. terminal: "-T",
 * or "-tt". The first of two options that differ counts. */
static size_t add_options(const struct ssh_client *c, const char *terminal,
			  char **argv)
{
	size_t n = 0;

	argv[n++] = (char *)"ssh";
	argv[n++] = (char *)terminal;
	if (c->config) {
		argv[n++] = (char *)"-F";
		argv[n++] = (char *)c->config;
	}
	for (size_t i = 0; options[i]; i++) {
		argv[n++] = (char *)"-o";
		argv[n++] = (char *)options[i];
	}
	return n;
}

int ssh_dial(const struct ssh_client *c, const char *host, unsigned port,
	     struct port_link *link, struct error *err)
{
	char **env = settings_environ_keyless(c->settings);
	char *argv[ARGS];
	char to[32];
	size_t n = add_options(c, "-T", argv);
	int rc = ssh_check_host(host, err);

	snprintf(to, sizeof(to), "localhost:%u", port);
	argv[n++] = (char *)"-W";
	argv[n++] = to;
	argv[n++] = (char *)"--";
	argv[n++] = (char *)host;
	argv[n] = NULL;
	if (rc == 0)
		rc = ports_dial_by_program(c->program, argv, env, link, err);
	settings_environ_free(env);
	return rc;
}

/* Appends a line that any login shell (sh, fish, csh) runs as the text in sh:
 * only letters, digits and the octal escapes of printf. */
static void add_any_shell(struct str text, struct buf *line)
{
	buf_adds(line, "exec sh -c 'eval \"$(printf %b \"$1\")\"' sh '");
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr(" ./_-=", c))
			buf_addc(line, c);
		else
			buf_addf(line, "\\0%03o", (unsigned char)c);
	}
	buf_adds(line, "'");
}

int ssh_run(const struct ssh_client *c, const char *host,
	    const struct exec_request *req, struct exec_result *res,
	    const struct stop *stop, struct error *err)
{
	char **env = settings_environ_keyless(c->settings);
	struct buf line = BUF_INIT(TERMINAL_LINE);
	char *argv[ARGS];
	struct proc_spec ssh = { .path = c->program, .argv = argv, .env = env };
	size_t n = add_options(c, req->terminal ? "-tt" : "-T", argv);
	int rc = ssh_check_host(host, err);

	add_any_shell(req->command, &line);
	/* dcode has the escape; ssh only reports failures */
	argv[n++] = (char *)"-e";
	argv[n++] = (char *)"none";
	argv[n++] = (char *)"-o";
	argv[n++] = (char *)"LogLevel=ERROR";
	argv[n++] = (char *)"--";
	argv[n++] = (char *)host;
	argv[n++] = line.ptr;
	argv[n] = NULL;
	if (rc == 0)
		rc = buf_check(&line, "the command", err);
	if (rc == 0)
		rc = req->terminal
			     ? shell_run_program(&ssh, req, res, stop, err)
			     : ports_run_program(&ssh, req, stop, err);
	buf_release(&line);
	settings_environ_free(env);
	if (rc == 0 && res->exit_code == SSH_FAILED)
		return error_set(err, ERR_NETWORK,
				 "ssh to %s ended with status 255: the "
				 "connection was lost, or a program has "
				 "exited with 255",
				 host);
	return rc;
}

/*
 * Opens a stream, owned by the caller. The user's login shell on the host,
 * which may be any shell, runs command. This function sets path, argv and env
 * of p; the caller sets the other members.
 */
static struct held *open_stream(const struct ssh_client *c, const char *host,
				const char *command, struct held_program p)
{
	char **env = settings_environ_keyless(c->settings);
	char *argv[ARGS];
	struct held *held;
	size_t n = add_options(c, "-T", argv);

	argv[n++] = (char *)"--";
	argv[n++] = (char *)host;
	argv[n++] = (char *)command;
	argv[n] = NULL;
	p.path = c->program;
	p.argv = argv;
	p.env = env;
	p.name = host;
	held = held_new(&p);
	settings_environ_free(env);
	return held;
}

struct held *ssh_stream(const struct ssh_client *c, const char *host,
			const char *command, const struct held_program *far,
			struct error *err)
{
	return ssh_check_host(host, err) < 0
		       ? NULL
		       : open_stream(c, host, command, *far);
}

struct held *ssh_held(struct ssh_client *c, const char *host, struct error *err)
{
	struct ssh_host *h;

	if (ssh_check_host(host, err) < 0)
		return NULL;
	pthread_mutex_lock(&c->lock);
	for (h = c->hosts; h && strcmp(h->name, host) != 0;)
		h = h->next;
	if (!h) {
		h = xcalloc(1, sizeof(*h));
		h->name = xstrdup(host);
		h->next = c->hosts;
		h->held = open_stream(
			c, host, "exec sh",
			(struct held_program){ .start_ms = c->start_ms,
					       .failed = explain_end,
					       .arg = h });
		c->hosts = h;
	}
	pthread_mutex_unlock(&c->lock);
	return h->held;
}
