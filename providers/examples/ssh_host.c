/* ssh_host.c - a provider for dcode: directories on a host that ssh reaches. */
/* SPDX-License-Identifier: MIT */
/*
 * It speaks the protocol of ../PROTOCOL.md and needs cJSON and ssh:
 *
 *	cc -o ~/.deepagents/providers/dcode-sandbox-ssh ssh_host.c -lcjson \
 *		-pthread
 *
 * In ~/.deepagents/config.toml:
 *
 *	[sandboxes.providers.ssh]
 *	params = { host = "me@build.example.org" }
 *
 * Then: dcode --sandbox ssh. The host has to let you in without a question
 * (a key, an agent). A sandbox is a directory of its own there, no more: what
 * runs in it can do whatever that user can do on that host.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

enum {
	OUTPUT_MAX = 4 << 20, /* bytes of one command's output */
	SSH_FAILED = 255,     /* its own exit status, not the command's */
	NOT_FOUND = -32001,
	CONFIG = -32003,
	NETWORK = -32005,
	NO_METHOD = -32601,
	FAILED = -32000,
};

/* Set by initialize, before the first thread. */
static char host[256];
static char program[256] = "ssh";
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;

static void send_line(cJSON *message)
{
	char *text;

	cJSON_AddStringToObject(message, "jsonrpc", "2.0");
	text = cJSON_PrintUnformatted(message);
	pthread_mutex_lock(&output_lock);
	puts(text);
	fflush(stdout);
	pthread_mutex_unlock(&output_lock);
	free(text);
	cJSON_Delete(message);
}

static void answer(int id, cJSON *result)
{
	cJSON *message = cJSON_CreateObject();

	cJSON_AddNumberToObject(message, "id", id);
	cJSON_AddItemToObject(message, "result", result);
	send_line(message);
}

static void refuse(int id, int code, const char *text)
{
	cJSON *message = cJSON_CreateObject();
	cJSON *error = cJSON_AddObjectToObject(message, "error");

	cJSON_AddNumberToObject(message, "id", id);
	cJSON_AddNumberToObject(error, "code", code);
	cJSON_AddStringToObject(error, "message", text);
	send_line(message);
}

static const char *member(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(item) ? item->valuestring : "";
}

/* What a command printed, and how it ended. */
struct ran {
	char *output; /* to be freed; NUL-terminated */
	size_t len;
	int status;
};

/* Both pipes at once would need poll(): the command is written first, into a
 * remote cat that takes all of it before it does anything. */
static void pump(int in, int out, const char *command, struct ran *r)
{
	FILE *output = open_memstream(&r->output, &r->len);
	size_t left = strlen(command);
	size_t room = OUTPUT_MAX;
	char chunk[16384];
	ssize_t n;

	while (left && (n = write(in, command, left)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		command += n;
		left -= (size_t)n;
	}
	close(in);
	while ((n = read(out, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		n = (size_t)n < room ? n : (ssize_t)room;
		fwrite(chunk, 1, (size_t)n, output);
		room -= (size_t)n; /* what is more is read, and dropped */
	}
	fclose(output);
	close(out);
}

static void in_child(int in, int out)
{
	/* sshd gives this line to the user's shell, whichever that is. */
	static const char line[] = "exec sh -c 'c=$(cat);eval \"$c\"' 2>&1";

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execlp(program, program, "-T", "-o", "BatchMode=yes", "-o",
	       "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "--", host,
	       line, (char *)NULL);
	perror(program);
	_exit(SSH_FAILED);
}

/* Runs a command of any length on the host; r->output is the caller's. */
static int run(const char *command, struct ran *r)
{
	int in[2];
	int out[2];
	int status = 0;
	pid_t pid;

	*r = (struct ran){ .status = SSH_FAILED };
	if (pipe2(in, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(out, O_CLOEXEC) < 0) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	pid = fork();
	if (pid == 0)
		in_child(in[0], out[1]);
	close(in[0]);
	close(out[1]);
	pump(in[1], out[0], pid < 0 ? "" : command, r);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (pid > 0 && WIFEXITED(status))
		r->status = WEXITSTATUS(status);
	return r->status == SSH_FAILED ? -1 : 0;
}

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *base64(const char *bytes, size_t len)
{
	char *text;
	size_t ignored;
	FILE *to = open_memstream(&text, &ignored);

	for (size_t i = 0; i < len; i += 3) {
		unsigned n = 0;

		for (size_t j = 0; j < 3; j++)
			n = n << 8 |
			    (i + j < len ? (unsigned char)bytes[i + j] : 0);
		putc(digits[n >> 18], to);
		putc(digits[n >> 12 & 63], to);
		putc(i + 1 < len ? digits[n >> 6 & 63] : '=', to);
		putc(i + 2 < len ? digits[n & 63] : '=', to);
	}
	fclose(to);
	return text;
}

/* Our ids are dcode's labels, so that none can mean another directory. */
static int is_id(const char *id)
{
	return *id && strlen(id) < 64 &&
	       !id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static void initialize(int id, const cJSON *params)
{
	const cJSON *mine = cJSON_GetObjectItemCaseSensitive(params, "params");
	cJSON *result = cJSON_CreateObject();
	cJSON *can = cJSON_AddArrayToObject(result, "capabilities");
	cJSON *known = cJSON_AddObjectToObject(result, "settings");

	snprintf(host, sizeof(host), "%s", member(mine, "host"));
	if (*member(mine, "ssh"))
		snprintf(program, sizeof(program), "%s", member(mine, "ssh"));
	cJSON_AddNumberToObject(result, "protocol", 1);
	cJSON_AddStringToObject(result, "name", "ssh");
	cJSON_AddItemToArray(can, cJSON_CreateString("attach"));
	cJSON_AddStringToObject(known, "host", "string");
	cJSON_AddStringToObject(known, "ssh", "string");
	if (*host) {
		answer(id, result);
		return;
	}
	cJSON_Delete(result);
	refuse(id, CONFIG, "set params = { host = \"user@host\" }");
}

/* create and attach: both enter the directory, and say where it is. Creating
 * it again does no harm: dcode may ask twice under one label. */
static void enter(int id, const char *label, int make)
{
	cJSON *result;
	char command[512];
	struct ran r;
	char *line;

	snprintf(command, sizeof(command),
		 "d=~/.dcode-sandboxes/%s\n"
		 "%s"
		 "cd \"$d\" && echo && pwd -P\n",
		 label, make ? "umask 077; mkdir -p \"$d\" &&\n" : "");
	if (run(command, &r) < 0) {
		refuse(id, NETWORK, "the host cannot be reached by ssh");
	} else if (r.status) {
		refuse(id, make ? FAILED : NOT_FOUND,
		       make ? "no directory can be made there"
			    : "there is no such sandbox");
	} else {
		r.output[r.len ? r.len - 1 : 0] = '\0'; /* the line's end */
		line = strrchr(r.output, '\n');
		result = cJSON_CreateObject();
		cJSON_AddStringToObject(result, "id", label);
		cJSON_AddStringToObject(result, "workdir",
					line ? line + 1 : r.output);
		answer(id, result);
	}
	free(r.output);
}

static void execute(int id, const char *command)
{
	cJSON *result;
	struct ran r;
	char *text;

	if (run(command, &r) < 0) {
		refuse(id, NETWORK, "the host cannot be reached by ssh");
		free(r.output);
		return;
	}
	result = cJSON_CreateObject();
	text = base64(r.output, r.len);
	cJSON_AddStringToObject(result, "data", text);
	cJSON_AddNumberToObject(result, "exit_code", r.status);
	answer(id, result);
	free(text);
	free(r.output);
}

static void delete (int id, const char *label)
{
	char command[256];
	struct ran r;

	snprintf(command, sizeof(command),
		 "d=~/.dcode-sandboxes/%s\n"
		 "chmod -R u+rwx \"$d\" 2>/dev/null; rm -rf \"$d\"\n",
		 label);
	if (run(command, &r) < 0)
		refuse(id, NETWORK, "the host cannot be reached by ssh");
	else if (r.status)
		refuse(id, FAILED, r.output);
	else
		answer(id, cJSON_CreateObject());
	free(r.output);
}

/* A request on a thread of its own: dcode makes several at once. */
static void *serve(void *arg)
{
	cJSON *message = arg;
	const cJSON *params =
		cJSON_GetObjectItemCaseSensitive(message, "params");
	const char *method = member(message, "method");
	int id = (int)cJSON_GetNumberValue(
		cJSON_GetObjectItemCaseSensitive(message, "id"));
	int create = !strcmp(method, "create");
	const char *box = member(params, create ? "label" : "sandbox");

	if (!strcmp(method, "initialize"))
		initialize(id, params);
	else if (!is_id(box))
		refuse(id, NOT_FOUND, "there is no such sandbox");
	else if (create || !strcmp(method, "attach"))
		enter(id, box, create);
	else if (!strcmp(method, "execute"))
		execute(id, member(params, "command"));
	else if (!strcmp(method, "delete"))
		delete (id, box);
	else
		refuse(id, NO_METHOD, "there is no such method");
	cJSON_Delete(message);
	return NULL;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	while (getline(&line, &room, stdin) > 0) {
		cJSON *message = cJSON_Parse(line);
		pthread_t thread;

		if (!strcmp(member(message, "method"), "shutdown"))
			break;
		if (!cJSON_HasObjectItem(message, "id"))
			cJSON_Delete(message); /* "cancel": it ends anyway */
		else if (!strcmp(member(message, "method"), "initialize") ||
			 pthread_create(&thread, NULL, serve, message))
			serve(message);
		else
			pthread_detach(thread);
	}
	free(line);
	exit(0);
}
