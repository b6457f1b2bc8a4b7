/* push_branch.c - dcode apply --push: pushes the branch that was made. */
/* SPDX-License-Identifier: MIT */
/*
 * The commit was made by a model, and the push is made with the user's
 * credentials. So the user sees before it where it goes and what it contains:
 * push_job_confirm() prints the remote, the commits, the summary of the changes
 * and the files that run programs (show_push()), and asks. Some pushes are
 * never made (check_branch()): to the server's default branch, to main and
 * master, and to the names in [push] protect.
 *
 * Attack: what runs in a sandbox asks for a push as often as it likes. So if
 * the user can be asked, the question comes before everything else: at that
 * time the commit is only in dcode's own repository, and no request has been
 * sent. What the server has is then taken from the user's last fetch or push
 * (push_recall()). After a yes the server is asked, and if it has something
 * else, the user is asked again (confirm_again()). Without a question the
 * server is asked first, so that a run fails before its sandbox is made.
 */
#include "cmd/session/push_branch.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "config/protect.h"
#include "worktree/odb.h"
#include "worktree/patch.h"

enum {
	COMMITS_SHOWN = 20,
	CHECKS_SHOWN = 50,
	SAID_SHOWN = 10, /* lines of the server */
	STAT_MAX = 256 << 10,
	NAME_SHOWN = 40, /* characters of a branch name made from a title */
	URL_SHOWN = 4096,
};

/* Files that decide which programs are installed. */
static const char *const lockfiles[] = {
	"package-lock.json",
	"npm-shrinkwrap.json",
	"yarn.lock",
	"pnpm-lock.yaml",
	"bun.lock",
	"bun.lockb",
	"deno.lock",
	"Cargo.lock",
	"go.sum",
	"poetry.lock",
	"uv.lock",
	"pdm.lock",
	"Pipfile.lock",
	"Gemfile.lock",
	"composer.lock",
	"mix.lock",
	"pubspec.lock",
	"flake.lock",
	"gradle.lockfile",
	"Package.resolved",
	"packages.lock.json",
};

/* Fails if [push] allow is false. */
static int check_allowed(const struct settings *set, struct error *err)
{
	bool managed =
		settings_source(set, NULL, "push.allow") == SOURCE_POLICY;
	bool allow = true;

	if (settings_bool(set, NULL, "push.allow", &allow, err) < 0)
		return -1;
	if (allow)
		return 0;
	if (managed)
		return error_set(err, ERR_POLICY,
				 "this machine's policy forbids to push "
				 "(push.allow = false)");
	return error_set(err, ERR_USAGE,
			 "your settings forbid to push (push.allow = false)");
}

/* True if name is dir or begins with dir and a slash. */
static bool is_below(const char *name, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(name, dir, len) && (!name[len] || name[len] == '/');
}

/* True if git would take the branch for another ref (gitrevisions(7)). Attack:
 * the sandbox asks to push "origin/main", or a branch with the name of a
 * commit. git, here and on other machines, would then confuse the two. */
static bool is_like_ref(const struct push_job *j)
{
	static const char *const starts[] = { "refs", "heads", "tags",
					      "remotes" };
	const char *end = strrchr(j->branch, '/');
	size_t hex = strspn(j->branch, "0123456789abcdefABCDEF");

	end = end ? end + 1 : j->branch;
	for (size_t i = 0; i < j->git.n; i++)
		if (is_below(j->branch, j->git.remotes[i].name))
			return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (is_below(j->branch, starts[i]))
			return true;
	if (str_ends(str_of(end), "HEAD"))
		return true;
	return !j->branch[hex] && (hex == 40 || hex == 64);
}

/* Fails if dcode never pushes to the branch. head: the server's default
 * branch; NULL: not known yet. */
static int check_branch(const struct push_job *j, const char *head,
			struct error *err)
{
	const char *const *list = NULL;
	const char *why = NULL;
	size_t n = 0;

	if (settings_list(j->app->settings, NULL, "push.protect", &list, &n,
			  err) < 0)
		return -1;
	if (str_is_nocase(str_of(j->branch), "main") ||
	    str_is_nocase(str_of(j->branch), "master"))
		why = "dcode never pushes to it";
	else if (head && !strcmp(j->branch, head))
		why = "it is the server's default branch";
	else if (is_like_ref(j))
		why = "git would take it for something else";
	else if (j->p.is_tag)
		why = "the server has a tag with this name";
	for (size_t i = 0; !why && i < n; i++)
		if (fnmatch(list[i], j->branch, 0) == 0)
			why = "push.protect lists it";
	if (!why)
		return 0;
	error_set(err, ERR_USAGE, "refusing to push to branch %s: %s",
		  j->branch, why);
	return error_hint(err, "Choose another name with --branch.");
}

/* Checks whether a pull request can be opened, and looks for one. */
static int open_request(struct push_job *j, const struct stop *stop,
			struct error *err)
{
	j->pr.app = j->app;
	j->pr.root = j->workspace->root;
	j->pr.branch = j->branch;
	j->pr.base = j->p.head;
	if (!j->p.head[0])
		return error_set(err, ERR_USAGE,
				 "--pr: the server has no default branch");
	if (pull_request_open(&j->pr, j->p.remote->push_url, stop, err) < 0)
		return -1;
	return pull_request_find(&j->pr, j->thread, j->title, stop, err);
}

bool push_can_ask(const struct app *app)
{
	return !app->unattended && !app->json && secret_terminal(app);
}

/* Asks the server, and checks the branch's name with its answer. */
static int ask_server(struct push_job *j, const struct stop *stop,
		      struct error *err)
{
	if (push_ask_server(&j->p, stop, err) < 0)
		return -1;
	if (!j->p.refs.len) {
		error_set(err, ERR_USAGE,
			  "the repository of remote %s is empty: the first "
			  "branch becomes its default branch",
			  j->p.remote->name);
		return error_hint(err, "Push that branch with git.");
	}
	return check_branch(j, j->p.head, err);
}

/* A pull request is shown in the question, and needs the server. */
int push_job_open(struct push_job *j, const struct stop *stop,
		  struct error *err)
{
	struct app *app = j->app;
	bool asks = push_can_ask(app);
	const struct remote *remote = NULL;

	if (check_allowed(app->settings, err) < 0 ||
	    check_branch(j, NULL, err) < 0)
		return -1;
	/* In a chat the terminal belongs to the screen. */
	if (server_git_open(&j->git, j->workspace, settings_home(app->settings),
			    asks && !app->chat && !app->terminal, stop,
			    err) < 0 ||
	    server_git_find(&j->git, j->early ? NULL : j->workspace, j->remote,
			    &remote, err) < 0)
		return -1;
	j->p.git = &j->git;
	j->p.remote = remote;
	j->p.branch = j->branch;
	if (asks && !j->early && !j->requests)
		return 0;
	if (ask_server(j, stop, err) < 0)
		return -1;
	return j->requests ? open_request(j, stop, err) : 0;
}

/* Prints the commits, newest first. */
static void show_commits(const struct push_job *j)
{
	struct str rest = buf_str(&j->p.commits);
	struct str record;
	size_t n = 0;

	while (str_split(&rest, '\0', &record) && n < COMMITS_SHOWN) {
		struct str oid = { 0 };
		struct str author = { 0 };
		struct buf line = BUF_INIT(1 << 12);
		char *text;

		if (!record.len || !str_split(&record, '\n', &oid) ||
		    !str_split(&record, '\n', &author))
			continue;
		buf_addf(&line, "%.9s  ", oid.ptr);
		buf_addstr(&line, record);
		buf_adds(&line, "  (");
		buf_addstr(&line, author);
		buf_addc(&line, ')');
		text = xstrndup(line.ptr, line.len);
		print_text(j->app, "    ", text, "");
		free(text);
		buf_release(&line);
		n++;
	}
	if (j->p.n_commits > n)
		fprintf(stderr, "    ... and %zu more\n", j->p.n_commits - n);
}

struct checks {
	const struct push_job *job;
	struct protect protect;
	size_t n;
};

/* odb_tree_diff() callback: prints a file that the user should look at. */
static int show_check(void *arg, const struct odb_record *d, struct error *err)
{
	struct checks *c = arg;
	const char *slash = strrchr(d->path, '/');
	const char *name = slash ? slash + 1 : d->path;
	const char *why = review_path(&c->protect, str_of(d->path));
	struct buf line = BUF_INIT(1 << 16);

	(void)err;
	for (size_t i = 0; !why && i < sizeof(lockfiles) / sizeof(*lockfiles);
	     i++)
		if (str_is_nocase(str_of(name), lockfiles[i]))
			why = "decides which packages are installed";
	if ((d->new_mode | d->old_mode) == 0160000)
		why = "is a submodule";
	if (why && c->n++ < CHECKS_SHOWN) {
		print_add_name(c->job->app, &line, d->path);
		fprintf(stderr, "  Check %s: it %s\n", line.len ? line.ptr : "",
			why);
	}
	buf_release(&line);
	return 0;
}

/* Prints git's summary of the changes, and the files to look at. */
static int show_changes(const struct push_job *j, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "diff",    "--stat=76", "--stat-count=30",
			       j->p.base, j->p.commit, "--",
			       NULL };
	struct git g = j->git.git;
	struct buf out = BUF_INIT(STAT_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	struct checks c = { .job = j };
	struct str rest;
	struct str line;
	int rc;

	g.user = NULL;
	rc = protect_load(&c.protect, j->app->settings, err);
	if (rc == 0)
		rc = git_run(&g, &r, stop, err);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\n', &line)) {
		char *text = xstrndup(line.ptr ? line.ptr : "", line.len);

		if (line.len)
			print_text(j->app, "   ", text, "");
		free(text);
	}
	if (rc == 0)
		rc = odb_tree_diff(&g, j->p.base, j->p.commit,
				   &(struct odb_sink){ show_check, &c }, stop,
				   err);
	if (c.n > CHECKS_SHOWN)
		fprintf(stderr, "  ... and %zu more files to check\n",
			c.n - CHECKS_SHOWN);
	buf_release(&out);
	return rc;
}

/* Appends "origin (https://example.org/r.git)". */
static void add_remote(const struct push_job *j, struct buf *out)
{
	const struct remote *r = j->p.remote;

	buf_addf(out, "%s (", r->name);
	server_git_show_url(r->push_url, out);
	if (strcmp(r->url, r->push_url) != 0) {
		buf_adds(out, ", by your insteadOf for ");
		server_git_show_url(r->url, out);
	}
	buf_addc(out, ')');
}

/* Prints what the user must know before agreeing. */
static int show_push(const struct push_job *j, const struct stop *stop,
		     struct error *err)
{
	struct buf line = BUF_INIT(2 * URL_SHOWN);
	char count[80];

	add_remote(j, &line);
	print_text(j->app, "Push to ", line.ptr, ":");
	snprintf(count, sizeof(count), ": %zu commit%s", j->p.n_commits,
		 j->p.n_commits == 1 ? "" : "s");
	print_text(j->app,
		   j->p.tip[0] ? "  to its branch " : "  to a new branch ",
		   j->branch, count);
	buf_release(&line);
	show_commits(j);
	return show_changes(j, stop, err);
}

/* Prints what the server said, such as the address of a new merge request. */
static void print_said(const struct push_job *j)
{
	static const char start[] = "remote: ";
	struct str rest = buf_str(&j->p.said);
	struct str line;
	size_t n = 0;

	while (str_split(&rest, '\n', &line) && n < SAID_SHOWN) {
		char *text;

		line = str_trim(line);
		if (!str_starts(line, start))
			continue;
		line = str_trim(str_skip(line, sizeof(start) - 1));
		if (!line.len)
			continue;
		text = xstrndup(line.ptr, line.len);
		print_text(j->app, "  the server: ", text, "");
		free(text);
		n++;
	}
}

/* True if a new pull request is to be opened. */
static bool has_request(const struct push_job *j)
{
	return j->requests && !j->pr.url;
}

/* Asks the user, who can edit the text of a pull request. Returns 0 for yes. */
static int ask_user(struct push_job *j, struct error *err)
{
	bool pushes = j->pushes;
	int rc;

	if (!push_can_ask(j->app))
		return 0;
	if (!has_request(j))
		rc = secret_confirm(j->app, "Push? [y/N] ", err);
	else
		while ((rc = secret_confirm_or_edit(
				j->app,
				pushes ? "Push and open it? [y/N/e] "
				       : "Open it? [y/N/e] ",
				err)) == 2) {
			if (pull_request_edit(&j->pr, err) < 0)
				return -1;
			pull_request_show(&j->pr);
		}
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (pushes)
		return error_set(err, ERR_CANCELLED, "not pushed");
	return error_set(err, ERR_CANCELLED, "the %s was not opened",
			 forge_noun(&j->pr.forge));
}

/* Finds what would be pushed, shows it and asks. */
static int confirm(struct push_job *j, const struct stop *stop,
		   struct error *err)
{
	bool shows = push_can_ask(j->app) || !j->quiet;
	int rc = push_read(&j->p, stop, err);

	j->pushes = strcmp(j->p.tip, j->p.commit) != 0;
	/* nothing to push, as far as dcode knows: only the server can confirm
	 * it */
	if (rc == 0 && !j->p.asked && !j->p.n_commits)
		return 0;
	if (rc == 0 && j->pushes)
		rc = push_check_lfs(&j->p, stop, err);
	if (rc == 0 && shows && j->pushes)
		rc = show_push(j, stop, err);
	if (rc == 0 && shows && has_request(j))
		pull_request_show(&j->pr);
	if (rc == 0 && (j->pushes || has_request(j)))
		rc = ask_user(j, err);
	return rc;
}

/* Asks the server after the user has said yes to `shown`. If other commits
 * would be pushed, asks the user again. */
static int confirm_again(struct push_job *j, struct str shown,
			 const struct stop *stop, struct error *err)
{
	if (ask_server(j, stop, err) < 0 || push_read(&j->p, stop, err) < 0)
		return -1;
	j->pushes = strcmp(j->p.tip, j->p.commit) != 0;
	if (!j->pushes || str_eq(shown, buf_str(&j->p.commits)))
		return 0;
	if (shown.len)
		app_warn("the server has other commits than at your last "
			 "git fetch");
	/* push_read() appends */
	buf_clear(&j->p.commits);
	j->p.n_commits = 0;
	return confirm(j, stop, err);
}

int push_job_confirm(void *arg, const char *commit, const struct git *user,
		     const struct stop *stop, struct error *err)
{
	struct push_job *j = arg;
	struct buf shown;
	int rc;

	j->p.commit = commit;
	if (j->p.asked)
		return confirm(j, stop, err);
	rc = push_recall(&j->p, user, stop, err);
	if (rc == 0)
		rc = check_branch(j, j->p.head, err);
	if (rc == 0)
		rc = confirm(j, stop, err);
	shown = j->p.commits;
	j->p.commits = (struct buf){ 0 };
	if (rc == 0)
		rc = confirm_again(j, buf_str(&shown), stop, err);
	buf_release(&shown);
	return rc;
}

/* Pushes, and opens the pull request. */
static int send_job(struct push_job *j, const struct stop *stop,
		    struct error *err)
{
	int rc = 0;

	if (j->pushes) {
		rc = push_send(&j->p, stop, err);
		j->done = rc == 0;
	}
	if (j->done && !j->quiet) {
		fprintf(stderr, "%s ", print_sign(j->app, GLYPH_CHECK));
		print_text(j->app, "Pushed to branch ", j->branch, "");
		if (!j->requests)
			print_said(j);
	}
	if (rc == 0 && j->requests)
		rc = pull_request_send(&j->pr, stop, err);
	return rc;
}

/* Prints the address of the pull request. */
static void print_request(const struct push_job *j)
{
	if (!j->requests || !j->pr.url || j->quiet)
		return;
	fprintf(stderr, "%s ", print_sign(j->app, GLYPH_CHECK));
	print_text(j->app,
		   j->pr.existed ? "It is in the open request " : "Opened ",
		   j->pr.url, "");
}

int push_job_run(struct push_job *j, const struct stop *stop, struct error *err)
{
	struct push_record made = { .branch = (char *)j->branch };
	struct buf line = BUF_INIT(2 * URL_SHOWN);
	int rc = 0;

	snprintf(made.commit, sizeof(made.commit), "%s", j->p.commit);
	memcpy(made.head, j->git.repo.head, sizeof(made.head));
	if (push_record_write(&made, j->workspace, err) < 0)
		return -1;
	add_remote(j, &line);
	if (!j->pushes && !j->quiet)
		print_text(j->app, "Nothing to push: it is already on ",
			   line.ptr, "");
	buf_release(&line);
	if (j->pushes || has_request(j))
		rc = send_job(j, stop, err);
	if (rc == 0)
		print_request(j);
	return rc;
}

void push_job_json(const struct push_job *j, struct buf *out)
{
	struct buf url = BUF_INIT(URL_SHOWN);

	server_git_show_url(j->p.remote->push_url, &url);
	buf_addf(out, "{\"pushed\":%s,", j->done ? "true" : "false");
	print_add_member(j->app, out, "remote", j->p.remote->name);
	buf_addc(out, ',');
	print_add_member(j->app, out, "url", url.ptr);
	buf_addc(out, ',');
	print_add_member(j->app, out, "branch", j->branch);
	buf_addc(out, ',');
	json_member(out, "commit", str_of(j->p.commit));
	buf_addf(out, ",\"commits\":%zu", j->p.n_commits);
	if (j->pr.url) {
		buf_addc(out, ',');
		json_member(out, "request", str_of(j->pr.url));
	}
	buf_addc(out, '}');
	buf_release(&url);
}

void push_job_close(struct push_job *j)
{
	pull_request_close(&j->pr);
	push_release(&j->p);
	server_git_close(&j->git);
}

/* Appends the words of a title in lower case, with "-" between them. */
static void add_slug(const char *title, struct buf *out)
{
	bool gap = false;
	size_t n = 0;

	for (const char *p = title; *p && n < NAME_SHOWN; p++) {
		char c = *p;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) {
			gap = n > 0;
			continue;
		}
		if (gap)
			buf_addc(out, '-');
		buf_addc(out, c);
		n += 1 + gap;
		gap = false;
	}
}

char *push_branch_name(const struct push_record *r, const char *title,
		       const char *thread)
{
	static const char start[] = "dcode/";
	struct buf name = BUF_INIT(256);
	char *whole;

	if (r->branch)
		return xstrdup(r->branch);
	buf_adds(&name, start);
	add_slug(title ? title : "", &name);
	if (name.len < sizeof(start))
		buf_addf(&name, "%.13s", thread ? thread : "changes");
	whole = xstrdup(name.ptr);
	buf_release(&name);
	return whole;
}
