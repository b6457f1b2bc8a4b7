/* push_url_fuzz.c - the remotes of a hostile repository, and their URLs. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "forge/forge.h"
#include "worktree/server_git.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* A URL that git gets must be one argument, and no helper or path. */
static void check_url(const char *url)
{
	const char *end = strpbrk(url, " \t\r\n\"\\\033");
	size_t colon = strcspn(url, ":");

	must(url[0] && url[0] != '-' && !end);
	must(!strncmp(url, "https://", 8) || !strncmp(url, "http://", 7) ||
	     !strncmp(url, "ssh://", 6) ||
	     (!strstr(url, "://") && !strstr(url, "::") && url[colon] &&
	      strcspn(url, "/") > colon));
}

/* A remote is found only if no setting changes where it leads. */
static void check_config(struct str config, const char *name)
{
	static const char *const keys[] = { "core.sshcommand", "core.gitproxy",
					    "core.askpass", "include.path" };
	char *push = xasprintf("remote.%s.pushurl", name);
	struct str record;

	while (str_split(&config, '\0', &record)) {
		struct str key = { record.ptr, str_find(record, '\n') };

		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			must(!str_is(key, keys[i]));
		must(!str_is(key, push) && !str_starts(key, "credential.") &&
		     !str_starts(key, "http.") && !str_starts(key, "url."));
	}
	free(push);
}

/* Only known servers get a token, by https. */
static void check_forge(const char *url)
{
	static const char *const own[] = { "git.example.org" };
	const struct forge_hosts hosts = { .gitlab = own, .n_gitlab = 1 };
	struct forge f = { 0 };
	struct error err = { 0 };

	if (forge_open(&f, url, &hosts, &err) == 0) {
		must(!strcasecmp(f.host, "github.com") ||
		     !strcasecmp(f.host, "gitlab.com") ||
		     !strcasecmp(f.host, "git.example.org"));
		must(!strstr(f.path, "//") && !strstr(f.path, "/../") &&
		     strncmp(f.path, "../", 3) != 0);
		must(!strncmp(f.api, "https://", 8));
		must(f.path[0] && f.path[0] != '/' &&
		     !strpbrk(f.path, "?#% \t\r\n\"\\"));
	}
	forge_release(&f);
}

/* The password of a URL is not shown, whatever characters it has. */
static void check_password(struct str text)
{
	char *word = xstrndup(text.ptr ? text.ptr : "", text.len);
	char *url;
	struct buf shown = BUF_INIT(1 << 16);

	word[strcspn(word, "/?#")] = '\0';
	url = xasprintf("https://user:%s@host/path", word);
	server_git_show_url(url, &shown);
	must(!strcmp(shown.ptr, "https://user:***@host/path"));
	buf_release(&shown);
	free(url);
	free(word);
}

/* The configuration, an empty record, and what `git remote -v` says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str all = { (const char *)data, size };
	size_t at = str_search(all, (struct str){ "\0\0", 2 });
	struct server_git s = { .config = BUF_INIT(1 << 20) };
	const struct remote *remote = NULL;
	struct error err = { 0 };

	buf_add(&s.config, data, at);
	server_git_read_remotes(&s);
	server_git_read_push_urls(&s, str_skip(all, at + 2));
	for (size_t i = 0; i < s.n; i++) {
		struct buf shown = BUF_INIT(1 << 16);

		server_git_show_url(s.remotes[i].push_url, &shown);
		buf_release(&shown);
		check_forge(s.remotes[i].push_url);
	}
	if (server_git_find(&s, NULL, NULL, &remote, &err) == 0) {
		check_url(remote->url);
		check_url(remote->push_url);
		check_config(buf_str(&s.config), remote->name);
	}
	check_password(str_skip(all, at + 2));
	server_git_close(&s);
	return 0;
}
