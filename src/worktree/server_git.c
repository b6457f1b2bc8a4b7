/* server_git.c - a git that may reach the servers of the user's remotes. */
/* SPDX-License-Identifier: MIT */
/*
 * A push runs git on the user's machine, with the user's credentials. What the
 * model could have written must not decide where it goes or what it runs. So
 * git does not start in the user's repository but in a directory that is made
 * here for one push: make_dir() writes its configuration, which has the URLs of
 * the remotes and nothing else. needed_keys lists the settings of a repository
 * without which a push would not do what its owner wants; then dcode refuses
 * it. server_git_record() stores the URLs when the tree is sent to a sandbox,
 * and server_git_find() compares them with today's.
 */
#include "worktree/server_git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "worktree/user_repo.h"

enum {
	CONFIG_MAX = 4 << 20,
	LIST_MAX = 1 << 20,
	REMOTES_MAX = 100,
	NAME_MAX_BYTES = 200,
	URL_MAX = 2000,
	VALUE_MAX = 4096,
	SHALLOW_MAX = 16 << 20,
};

/* Settings that say how a server is reached, as git-config(1) lists them in
 * lower case. "*" ends a prefix; remote.* is in is_needed(). */
static const char *const needed_keys[] = {
	"include.path", "includeif.*",  "core.sshcommand", "core.gitproxy",
	"core.askpass", "credential.*", "http.*",          "url.*",
	"ssh.variant",  "push.gpgsign", "push.pushoption",
};
/* The same, after "remote.NAME.". */
static const char *const needed_of_remote[] = {
	"pushurl", "proxy",  "proxyauthmethod", "receivepack",
	"vcs",     "mirror", "serveroption",
};

/* True if the whole text consists of characters that are safe to print, in a
 * git configuration between quotes, and as an argument. */
static bool is_plain(struct str s, size_t most, const char *more)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || (c && strchr(more, c))))
			return false;
	}
	return s.len && s.len <= most && s.ptr[0] != '-';
}

static bool is_name(struct str s)
{
	return is_plain(s, NAME_MAX_BYTES, "._-/");
}

static bool is_url(struct str s)
{
	return is_plain(s, URL_MAX, "._-/:@%+~?=&,;!*'()#[]$");
}

/* Splits "remote.NAME.KEY". NAME may have dots. */
static bool split_remote(struct str key, struct str *name, struct str *rest)
{
	static const char start[] = "remote.";
	size_t dot = key.len;

	if (!str_starts(key, start))
		return false;
	while (dot && key.ptr[dot - 1] != '.')
		dot--;
	if (dot <= sizeof(start))
		return false;
	*name = (struct str){ key.ptr + sizeof(start) - 1,
			      dot - sizeof(start) };
	*rest = str_skip(key, dot);
	return true;
}

/* Adds a remote. A second URL makes it unusable: git would push to both. */
static void add_remote(struct server_git *s, struct str name, struct str url)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_is(name, s->remotes[i].name)) {
			s->remotes[i].url[0] = '\0';
			return;
		}
	if (s->n == REMOTES_MAX || !is_name(name) || !is_url(url))
		return;
	s->remotes = xrealloc(s->remotes, s->n + 1, sizeof(*s->remotes));
	s->remotes[s->n++] = (struct remote){
		.name = xstrndup(name.ptr, name.len),
		.url = xstrndup(url.ptr, url.len),
		.push_url = xstrdup(""),
	};
}

void server_git_read_remotes(struct server_git *s)
{
	struct str rest = buf_str(&s->config);
	struct str record;

	while (str_split(&rest, '\0', &record)) {
		struct str key = { record.ptr, str_find(record, '\n') };
		struct str name;
		struct str what;

		if (split_remote(key, &name, &what) && str_is(what, "url"))
			add_remote(s, name, str_skip(record, key.len + 1));
	}
}

/* Copies the list of commits whose parents a shallow clone does not have. */
static int copy_shallow(const struct server_git *s, struct error *err)
{
	struct buf text = BUF_INIT(SHALLOW_MAX);
	int rc = user_repo_read(s->repo.common, "shallow", &text, err);
	char *file = path_join(s->dir, "shallow");
	size_t n = 0;

	while (n < text.len && strchr("0123456789abcdef\n", text.ptr[n]))
		n++;
	if (rc == 0 && n == text.len)
		rc = path_write(file, buf_str(&text), 0600, err);
	free(file);
	buf_release(&text);
	return rc < 0 ? -1 : 0;
}

/* Makes the git directory, for this use only. */
static int make_dir(struct server_git *s, const struct workspace *w,
		    const struct stop *stop, struct error *err)
{
	struct git own = { .program = w->program };
	struct buf text = BUF_INIT(LIST_MAX);
	char *file;
	int rc;

	s->dir = path_join(w->directory, "push.XXXXXX");
	if (!mkdtemp(s->dir)) {
		rc = error_errno(err, "%s", s->dir);
		free(s->dir);
		s->dir = NULL;
		return rc;
	}
	own.dir = s->dir;
	file = path_join(s->dir, "config");
	rc = git_init(&own, stop, err);
	buf_adds(&text, "[core]\n\trepositoryformatversion = 0\n"
			"\tbare = true\n");
	for (size_t i = 0; i < s->n; i++)
		if (s->remotes[i].url[0])
			buf_addf(&text, "[remote \"%s\"]\n\turl = \"%s\"\n",
				 s->remotes[i].name, s->remotes[i].url);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	if (rc == 0)
		rc = copy_shallow(s, err);
	free(file);
	buf_release(&text);
	return rc;
}

/* Sets the user's core.sshCommand: from files that ~/.gitconfig includes for
 * this repository, or else as git finds it. */
static int find_ssh_command(struct server_git *s, const struct workspace *w,
			    const char *home, const struct stop *stop,
			    struct error *err)
{
	static const char *const argv[] = { "config", "--get",
					    "core.sshCommand", NULL };
	struct buf value = BUF_INIT(VALUE_MAX);
	int status = 0;
	struct git_request r = { .argv = argv,
				 .out = &value,
				 .status = &status };
	int rc = 0;

	if (!user_config_value(&s->repo, home, "core.sshCommand", &w->git,
			       &value, stop))
		rc = git_run(&s->git, &r, stop, err);
	if (rc == 0 && value.len) {
		struct str text = str_trim(buf_str(&value));

		s->ssh_command = xstrndup(text.ptr, text.len);
		s->user.ssh_command = s->ssh_command;
	}
	buf_release(&value);
	return rc;
}

/* Sets push_url from "NAME\tURL (push)". */
static void set_push_url(struct server_git *s, struct str line)
{
	static const char end[] = " (push)";
	struct str name = { line.ptr, str_find(line, '\t') };
	struct str url = str_skip(line, name.len + 1);

	if (!str_ends(url, end))
		return;
	url.len -= sizeof(end) - 1;
	for (size_t i = 0; i < s->n; i++) {
		struct remote *r = &s->remotes[i];

		if (!str_is(name, r->name) || !is_url(url))
			continue;
		/* more than one URL */
		if (r->push_url[0])
			r->url[0] = '\0';
		free(r->push_url);
		r->push_url = xstrndup(url.ptr, url.len);
	}
}

void server_git_read_push_urls(struct server_git *s, struct str said)
{
	struct str line;

	while (str_split(&said, '\n', &line))
		set_push_url(s, line);
}

/* Asks git where it would push to each remote. */
static int find_push_urls(struct server_git *s, const struct stop *stop,
			  struct error *err)
{
	static const char *const argv[] = { "remote", "-v", NULL };
	struct buf out = BUF_INIT(LIST_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(&s->git, &r, stop, err);

	if (rc == 0)
		server_git_read_push_urls(s, buf_str(&out));
	buf_release(&out);
	return rc;
}

int server_git_open(struct server_git *s, const struct workspace *w,
		    const char *home, bool terminal, const struct stop *stop,
		    struct error *err)
{
	int rc;

	*s = (struct server_git){ .config = BUF_INIT(CONFIG_MAX) };
	if (user_repo_open(&s->repo, w->root, &w->git, stop, err) < 0)
		return -1;
	if (!s->repo.git_dir || !s->repo.common)
		return error_set(err, ERR_USAGE, "not a git repository: %s",
				 w->root);
	s->objects = user_repo_objects(&s->repo, err);
	if (!s->objects || user_repo_config(&s->repo, NULL, &w->git, &s->config,
					    stop, err) < 0)
		return -1;
	server_git_read_remotes(s);
	s->made = path_join(w->git.dir, "objects");
	s->user = (struct git_user){ .avoid = w->root, .terminal = terminal };
	rc = make_dir(s, w, stop, err);
	s->git = (struct git){ .program = w->program,
			       .dir = s->dir,
			       .objects = s->objects,
			       .more_objects = s->made,
			       .user = &s->user };
	if (rc == 0)
		rc = find_ssh_command(s, w, home, stop, err);
	return rc == 0 ? find_push_urls(s, stop, err) : rc;
}

void server_git_close(struct server_git *s)
{
	struct error ignored = { 0 };

	if (s->dir)
		(void)path_remove_tree(s->dir, &ignored);
	for (size_t i = 0; i < s->n; i++) {
		free(s->remotes[i].name);
		free(s->remotes[i].url);
		free(s->remotes[i].push_url);
	}
	free(s->remotes);
	user_repo_release(&s->repo);
	buf_release(&s->config);
	free(s->dir);
	free(s->objects);
	free(s->made);
	free(s->ssh_command);
	*s = (struct server_git){ 0 };
}

/* Returns the path of LABEL.remotes, owned. */
static char *record_path(const struct workspace *w)
{
	return xasprintf("%s/%s.remotes", w->directory, w->label);
}

/* Appends "NAME\nURL\nPUSH_URL\n". */
static void add_record(const struct remote *r, struct buf *out)
{
	buf_addf(out, "%s\n%s\n%s\n", r->name, r->url, r->push_url);
}

/* True if the repository's configuration has a section of a remote. */
static bool has_remote(const struct workspace *w, const struct stop *stop)
{
	struct user_repo u;
	struct error ignored = { 0 };
	struct buf text = BUF_INIT(CONFIG_MAX);
	bool has = false;

	if (user_repo_open(&u, w->root, &w->git, stop, &ignored) < 0)
		return false;
	if (u.common &&
	    user_repo_read(u.common, "config", &text, &ignored) == 0)
		has = str_search(buf_str(&text), STR("remote")) < text.len;
	user_repo_release(&u);
	buf_release(&text);
	return has;
}

int server_git_record(const struct workspace *w, const char *home,
		      const struct stop *stop, struct error *err)
{
	struct server_git s = { 0 };
	struct buf text = BUF_INIT(LIST_MAX);
	char *file = record_path(w);
	int rc = 0;

	if (access(file, F_OK) < 0) {
		if (has_remote(w, stop))
			rc = server_git_open(&s, w, home, false, stop, err);
		for (size_t i = 0; rc == 0 && i < s.n; i++)
			add_record(&s.remotes[i], &text);
		if (rc == 0)
			rc = path_write(file, buf_str(&text), 0600, err);
		server_git_close(&s);
	}
	free(file);
	buf_release(&text);
	return rc;
}

/* True if the remote is stored as it is now. */
static bool is_recorded(const struct remote *r, const struct workspace *w)
{
	struct buf stored = BUF_INIT(LIST_MAX);
	struct buf now = BUF_INIT(LIST_MAX);
	struct error ignored = { 0 };
	char *file = record_path(w);
	bool same;

	buf_addc(&stored, '\n');
	buf_addc(&now, '\n');
	add_record(r, &now);
	same = path_read(file, &stored, &ignored) == 0 &&
	       str_search(buf_str(&stored), buf_str(&now)) < stored.len;
	buf_release(&stored);
	buf_release(&now);
	free(file);
	return same;
}

/* True if a push to the remote needs the setting. */
static bool is_needed(struct str key, const char *remote)
{
	struct str name;
	struct str what;

	for (size_t i = 0; i < sizeof(needed_keys) / sizeof(*needed_keys);
	     i++) {
		const char *one = needed_keys[i];
		size_t len = strlen(one) - 1;

		if (one[len] == '*'
			    ? key.len > len && !strncmp(key.ptr, one, len)
			    : str_is(key, one))
			return true;
	}
	if (!split_remote(key, &name, &what) || !str_is(name, remote))
		return false;
	for (size_t i = 0;
	     i < sizeof(needed_of_remote) / sizeof(*needed_of_remote); i++)
		if (str_is(what, needed_of_remote[i]))
			return true;
	return false;
}

/* Refuses a repository with a setting that the push would need. */
static int check_settings(const struct server_git *s, const char *remote,
			  struct error *err)
{
	struct str rest = buf_str(&s->config);
	struct buf shown = BUF_INIT(NAME_MAX_BYTES);
	struct str record;

	while (str_split(&rest, '\0', &record)) {
		struct str key = { record.ptr, str_find(record, '\n') };

		if (!is_needed(key, remote))
			continue;
		sanitize_line(key, &shown);
		error_set(err, ERR_USAGE,
			  "this repository sets %s, and dcode pushes without "
			  "the settings of a repository",
			  shown.ptr);
		buf_release(&shown);
		return error_hint(err, "Set it in your own ~/.gitconfig, or "
				       "push with git.");
	}
	return 0;
}

/* True for the URLs that dcode pushes to: https, http, ssh, and HOST:PATH. */
static bool is_supported(const char *url)
{
	static const char *const schemes[] = { "https://", "http://",
					       "ssh://" };
	struct str s = str_of(url);
	size_t colon = str_find(s, ':');

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (str_starts(s, schemes[i]))
			return is_plain(str_skip(s, strlen(schemes[i])),
					URL_MAX, "._-/:@%+~?=&,;!*'()#[]$");
	if (strstr(url, "://") || strstr(url, "::") || colon == s.len)
		return false;
	return colon > 0 && str_find(s, '/') > colon;
}

static int check_remote(const struct remote *r, const struct workspace *w,
			struct error *err)
{
	struct buf shown = BUF_INIT(2 * URL_MAX);
	int rc = 0;

	server_git_show_url(r->push_url, &shown);
	if (!r->url[0])
		rc = error_set(err, ERR_USAGE,
			       "remote %s has more than one URL", r->name);
	else if (!is_supported(r->url) || !is_supported(r->push_url))
		rc = error_set(err, ERR_USAGE,
			       "dcode pushes only over https and ssh, not to "
			       "%s (remote %s)",
			       shown.len ? shown.ptr : "", r->name);
	else if (w && !is_recorded(r, w))
		rc = error_set(err, ERR_USAGE,
			       "the URL of remote %s was not %s when the tree "
			       "was sent to the sandbox",
			       r->name, shown.ptr);
	buf_release(&shown);
	return rc < 0 ? error_hint(err, "Push with git: git push %s BRANCH.",
				   r->name)
		      : 0;
}

int server_git_find(const struct server_git *s, const struct workspace *w,
		    const char *name, const struct remote **remote,
		    struct error *err)
{
	const char *wanted = name ? name : "origin";
	const struct remote *found = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->remotes[i].name, wanted))
			found = &s->remotes[i];
	if (!found && !name && s->n == 1)
		found = &s->remotes[0];
	if (!found && name)
		return error_set(err, ERR_USAGE,
				 "this repository has no usable remote %s",
				 name);
	if (!found) {
		error_set(err, ERR_USAGE,
			  "this repository has %s remote that dcode can push "
			  "to",
			  s->n ? "more than one" : "no");
		return s->n ? error_hint(err, "Add --remote NAME.") : -1;
	}
	*remote = found;
	if (check_settings(s, found->name, err) < 0)
		return -1;
	return check_remote(found, w, err);
}

void server_git_show_url(const char *url, struct buf *out)
{
	const char *from = strstr(url, "://");
	const char *host = from ? from + 3 : url;
	size_t len = strcspn(host, "/?#");
	const char *at = NULL;
	const char *colon;

	for (size_t i = 0; i < len; i++)
		if (host[i] == '@')
			at = host + i;
	colon = at && from ? memchr(host, ':', (size_t)(at - host)) : NULL;
	if (!colon) {
		buf_adds(out, url);
		return;
	}
	buf_add(out, url, (size_t)(colon + 1 - url));
	buf_adds(out, "***");
	buf_adds(out, at);
}
