/* bare_chat.c - the floor of an agent: libcurl, cJSON and a shell a turn. */
/* SPDX-License-Identifier: MIT */
/*
 * bare_chat [anthropic]: posts, prints the text that is streamed, runs each
 * call's command with sh, appends what it printed, posts again. No limits, no
 * checks, no storage: what any agent in C pays at least.
 */
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <curl/curl.h>

extern char **environ;

enum { MAX_CALLS = 64 };

struct text {
	char *ptr;
	size_t len;
	size_t cap;
};
struct call {
	char id[64];
	struct text args;
};
struct chat {
	bool anthropic;
	struct text line; /* an event not yet whole */
	struct text body; /* the request, without its last brackets */
	struct call calls[MAX_CALLS];
	size_t n_calls;
};

static void add(struct text *t, const char *bytes, size_t len)
{
	if (t->len + len + 1 > t->cap) {
		t->cap = (t->len + len + 1) * 2;
		t->ptr = realloc(t->ptr, t->cap);
		if (!t->ptr)
			abort();
	}
	memcpy(t->ptr + t->len, bytes, len);
	t->len += len;
	t->ptr[t->len] = '\0';
}

static void add_str(struct text *t, const char *s)
{
	add(t, s, strlen(s));
}

/* A call begins (id) or its arguments go on. */
static void call_part(struct chat *c, const char *id, const char *args)
{
	if (id && c->n_calls < MAX_CALLS) {
		struct call *call = &c->calls[c->n_calls++];

		call->args.len = 0;
		snprintf(call->id, sizeof(call->id), "%s", id);
	}
	if (args && c->n_calls)
		add_str(&c->calls[c->n_calls - 1].args, args);
}

static const char *member(const cJSON *o, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(o, name));
}

static void event(struct chat *c, const char *data)
{
	cJSON *json = cJSON_Parse(data);
	cJSON *choice =
		cJSON_GetArrayItem(cJSON_GetObjectItem(json, "choices"), 0);
	cJSON *delta = cJSON_GetObjectItem(choice ? choice : json, "delta");
	cJSON *call =
		cJSON_GetArrayItem(cJSON_GetObjectItem(delta, "tool_calls"), 0);
	cJSON *block = cJSON_GetObjectItem(json, "content_block");
	const char *text = member(delta, c->anthropic ? "text" : "content");

	if (text)
		fwrite(text, 1, strlen(text), stdout);
	if (call)
		call_part(c, member(call, "id"),
			  member(cJSON_GetObjectItem(call, "function"),
				 "arguments"));
	if (block)
		call_part(c, member(block, "id"), NULL);
	if (c->anthropic)
		call_part(c, NULL, member(delta, "partial_json"));
	cJSON_Delete(json);
}

static size_t on_data(char *bytes, size_t size, size_t n, void *arg)
{
	struct chat *c = arg;
	size_t len = size * n;
	char *nl;

	for (size_t i = 0; i < len; i += (size_t)(nl - (bytes + i)) + 1) {
		nl = memchr(bytes + i, '\n', len - i);
		if (!nl) {
			add(&c->line, bytes + i, len - i);
			break;
		}
		add(&c->line, bytes + i, (size_t)(nl - (bytes + i)));
		if (!strncmp(c->line.ptr, "data: {", 7))
			event(c, c->line.ptr + 6);
		c->line.len = 0;
	}
	return len;
}

static void run(const char *command, struct text *out)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	posix_spawn_file_actions_t actions;
	char room[4096];
	ssize_t n;
	int fd[2];
	pid_t pid;

	if (pipe(fd))
		abort();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
	posix_spawn_file_actions_addclose(&actions, fd[0]);
	posix_spawn_file_actions_addclose(&actions, fd[1]);
	if (posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ))
		abort();
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	while ((n = read(fd[0], room, sizeof(room))) > 0)
		add(out, room, (size_t)n);
	close(fd[0]);
	waitpid(pid, NULL, 0);
}

/* Runs the calls; the request grows by them and by their results. */
static void answer(struct chat *c)
{
	struct text out = { 0 };
	char piece[512];

	add_str(&c->body, ",{\"role\":\"assistant\",\"tool_calls\":[");
	for (size_t i = 0; i < c->n_calls; i++) {
		snprintf(piece, sizeof(piece),
			 "%s{\"id\":\"%s\",\"type\":\"function\",\"function\":"
			 "{\"name\":\"execute\",\"arguments\":\"{}\"}}",
			 i ? "," : "", c->calls[i].id);
		add_str(&c->body, piece);
	}
	add_str(&c->body, "]}");
	for (size_t i = 0; i < c->n_calls; i++) {
		cJSON *args = cJSON_Parse(c->calls[i].args.ptr);

		out.len = 0;
		add(&out, "", 0);
		run(member(args, "command"), &out);
		snprintf(piece, sizeof(piece),
			 ",{\"role\":\"tool\",\"tool_call_id\":\"%s\","
			 "\"content\":\"%.300s\"}",
			 c->calls[i].id, out.ptr);
		add_str(&c->body, piece);
		cJSON_Delete(args);
	}
	free(out.ptr);
}

static CURLcode ask(struct chat *c, CURL *curl)
{
	static const char tail[] = "],\"stream\":true}";
	CURLcode rc;

	c->n_calls = 0;
	add(&c->body, tail, sizeof(tail) - 1);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, c->body.ptr);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)c->body.len);
	rc = curl_easy_perform(curl);
	c->body.len -= sizeof(tail) - 1;
	return rc;
}

int main(int argc, char **argv)
{
	static struct chat c;
	struct curl_slist *headers = NULL;
	CURL *curl = curl_easy_init();
	CURLcode rc;
	char url[256];

	c.anthropic = argc > 1 && !strcmp(argv[1], "anthropic");
	snprintf(url, sizeof(url), "%s%s",
		 getenv(c.anthropic ? "ANTHROPIC_BASE_URL" : "OPENAI_BASE_URL"),
		 c.anthropic ? "/v1/messages" : "/chat/completions");
	headers = curl_slist_append(headers, "Content-Type: application/json");
	headers = curl_slist_append(headers, "Expect:");
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &c);
	add_str(&c.body, "{\"model\":\"bench\",\"messages\":["
			 "{\"role\":\"user\",\"content\":\"go\"}");
	while ((rc = ask(&c, curl)) == CURLE_OK && c.n_calls)
		answer(&c);
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	return rc == CURLE_OK ? 0 : 1;
}
