/* subagents.c - reads AGENTS.md files that define subagents. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at subagents_read(). A file that cannot be used is reported in
 * problems and is not an error. If a file's list of tools is invalid, the file
 * is not used at all: without the list, its subagent would have all tools.
 */
#include "subagents/subagents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "skills/front_matter.h"
#include "skills/skills.h"

enum {
	/* bytes of the list of subagents that the model gets */
	LIST_MAX = 48 << 10,
	PATTERN_MAX = 256,
};

void subagents_release(struct subagents *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct subagent *k = &s->list[i];

		free(k->name);
		free(k->description);
		free(k->model);
		free(k->tools);
		free(k->denied);
		free(k->body);
		free(k->file);
		free(k->head);
		free(k->root);
	}
	for (size_t i = 0; i < s->n_problems; i++)
		free(s->problems[i]);
	free(s->list);
	free(s->problems);
	*s = (struct subagents){ 0 };
}

const struct subagent *subagents_find(const struct subagents *s,
				      const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->list[i].name, name))
			return &s->list[i];
	return NULL;
}

void subagents_describe(const struct subagents *s, struct buf *out)
{
	size_t begin = out->len;

	buf_adds(out, "\n\nThe subagents, by name:");
	for (size_t i = 0; i < s->n; i++) {
		const struct subagent *k = &s->list[i];

		if (out->len - begin + strlen(k->description) > LIST_MAX)
			break;
		buf_addf(out, "\n- %s: ", k->name);
		buf_adds(out, k->description);
		if (k->tools)
			buf_addf(out, " (Tools: %s)",
				 k->tools[0] ? k->tools : "none");
	}
}

/* Returns dcode's name of a tool that Claude Code's files call differently, or
 * NULL. */
static const char *own_name(struct str word)
{
	static const char *const names[][2] = {
		{ "Bash", "execute" },
		{ "BashOutput", "job_output" },
		{ "KillShell", "job_kill" },
		{ "Read", "read_file" },
		{ "Write", "write_file" },
		{ "Edit", "edit_file" },
		{ "MultiEdit", "edit_file" },
		{ "LS", "ls" },
		{ "WebFetch", "fetch_url" },
		{ "WebSearch", "web_search" },
		{ "TodoWrite", "write_todos" },
		{ "AskUserQuestion", "ask_user" },
		{ "Agent", "task" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_is_nocase(word, names[i][0]))
			return names[i][1];
	return NULL;
}

/* True if word is "mcp__SERVER" and hook_name is the name of a tool of that
 * server. */
static bool is_server_of(struct str word, const char *hook_name)
{
	struct str name = str_of(hook_name);

	return str_starts(word, "mcp__") && name.len > word.len + 2 &&
	       !memcmp(name.ptr, word.ptr, word.len) &&
	       str_starts(str_skip(name, word.len), "__");
}

bool subagent_word_means(struct str word, const char *tool,
			 const char *hook_name)
{
	char pattern[PATTERN_MAX];
	const char *own;

	word = str_trim(word);
	own = own_name(word);
	if (str_is_nocase(word, tool) || (own && !strcmp(own, tool)))
		return true;
	if (!word.len || word.len >= sizeof(pattern))
		return false;
	memcpy(pattern, word.ptr, word.len);
	pattern[word.len] = '\0';
	return fnmatch(pattern, tool, 0) == 0 ||
	       (hook_name && (fnmatch(pattern, hook_name, 0) == 0 ||
			      is_server_of(word, hook_name)));
}

static bool is_among(const char *words, const char *tool, const char *hook_name)
{
	struct str rest = str_of(words);
	struct str word;

	while (str_split(&rest, ',', &word))
		if (subagent_word_means(word, tool, hook_name))
			return true;
	return false;
}

bool subagent_has_tool(const struct subagent *k, const char *tool,
		       const char *hook_name)
{
	return (!k->tools || is_among(k->tools, tool, hook_name)) &&
	       !(k->denied && is_among(k->denied, tool, hook_name));
}

enum {
	MOST_ENTRIES = 200, /* entries read per directory */
	MOST_SUBAGENTS = 200,
	DESCRIPTION_CHARS = 1024,
	WORDS_CHARS = 2000,
	LINE_BYTES = 4096,
	MOST_TURNS = 100000,
	READ_BYTES = 16 << 10,
};

struct subagent_scan {
	struct subagents *out;
	const char *place;
	/* real path of the project's root; NULL for the user's directory */
	char *root;
	uid_t owner;
};

static const char general[] =
	"For research, searches through many files and work of several steps. "
	"It has the same tools as you.";

static void add_problem(struct subagent_scan *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_problem(struct subagent_scan *s, const char *fmt, ...)
{
	struct buf line = BUF_INIT(2 * LINE_BYTES);
	char text[LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sanitize_line(str_of(text), &line);
	s->out->problems = xrealloc(s->out->problems, s->out->n_problems + 1,
				    sizeof(char *));
	s->out->problems[s->out->n_problems++] = buf_detach(&line);
}

static void release_subagent(struct subagent *k)
{
	struct subagents one = { .list = xcalloc(1, sizeof(*k)), .n = 1 };

	one.list[0] = *k;
	subagents_release(&one);
}

/* Adds a subagent, or replaces an earlier one of the same name. Takes ownership
 * of k's content. */
static void add_subagent(struct subagent_scan *s, struct subagent *k)
{
	struct subagents *out = s->out;

	for (size_t i = 0; i < out->n; i++) {
		if (strcmp(out->list[i].name, k->name) != 0)
			continue;
		if (out->list[i].file && !out->list[i].root == !k->root)
			add_problem(
				s,
				"%s is left out: %s already uses the name %s",
				out->list[i].file, k->file, k->name);
		release_subagent(&out->list[i]);
		out->list[i] = *k;
		return;
	}
	if (out->n == MOST_SUBAGENTS) {
		add_problem(s, "%s is left out: there are more than %d",
			    k->file, MOST_SUBAGENTS);
		release_subagent(k);
		return;
	}
	out->list = xrealloc(out->list, out->n + 1, sizeof(*out->list));
	out->list[out->n++] = *k;
}

/* True if the name contains nothing that is unsafe in a list, a line of text or
 * a file name. */
static bool is_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7F ||
		    strchr("`'\"\\/<>", name[i]))
			return false;
	return n && n <= SUBAGENT_NAME_MAX;
}

/* False if the field exists but is not text. */
static bool is_text_or_missing(const struct front_matter *f, const char *key)
{
	const struct front_field *field = front_matter_field(f, key);

	return !field || field->kind == FRONT_TEXT;
}

/* Reads the name. If there is none, uses the directory's name. */
static int read_name(struct subagent *k, const struct front_matter *f,
		     const char *entry, struct error *err)
{
	const struct front_field *field = front_matter_field(f, "name");
	struct str name = str_of(entry);

	if (field && field->kind != FRONT_TEXT)
		return error_set(err, ERR_CONFIG, "its name is not text");
	if (field)
		name = str_trim(str_of(field->items[0]));
	k->name = xasprintf("%.*s", (int)name.len, name.ptr);
	if (!is_name(k->name))
		return error_set(err, ERR_CONFIG,
				 "its name must be a line of 1 to %d bytes, "
				 "without quotes, /, \\, < and >",
				 SUBAGENT_NAME_MAX);
	return 0;
}

/* Reads max_turns and max_usd. Those that are missing stay 0. */
static int read_limits(struct subagent *k, const struct front_matter *f,
		       struct error *err)
{
	char *turns = front_text(f, "max_turns", 20);
	char *usd = front_text(f, "max_usd", 20);
	char *end = NULL;
	int rc = 0;

	if (turns && (!str_to_int(str_of(turns), &k->max_turns) ||
		      k->max_turns < 1 || k->max_turns > MOST_TURNS))
		rc = error_set(err, ERR_CONFIG,
			       "max_turns must be a number from 1 on");
	if (usd)
		k->max_usd = strtod(usd, &end);
	if (rc == 0 && usd &&
	    (*end || !(k->max_usd > 0) || k->max_usd > 1000000))
		rc = error_set(err, ERR_CONFIG,
			       "max_usd must be an amount above 0");
	free(turns);
	free(usd);
	return rc;
}

/* Reads a list of names; sets "" if the list is empty. An invalid list is an
 * error: if it was ignored, the subagent would have all tools. */
static int read_words(char **words, const struct front_matter *f,
		      const char *key, struct error *err)
{
	const struct front_field *field = front_matter_field(f, key);

	if (!field || field->kind == FRONT_NULL)
		return 0;
	if (field->kind != FRONT_TEXT && field->kind != FRONT_LIST)
		return error_set(err, ERR_CONFIG,
				 "its %s are not a list of names", key);
	*words = front_words(f, key, WORDS_CHARS);
	if (!*words)
		*words = xstrdup("");
	return 0;
}

/* Reads all fields of the front matter. */
static int read_fields(struct subagent *k, const struct front_matter *f,
		       const char *entry, struct error *err)
{
	char *sandbox;
	int rc;

	if (read_name(k, f, entry, err) < 0 || read_limits(k, f, err) < 0)
		return -1;
	k->description = front_text(f, "description", DESCRIPTION_CHARS);
	if (!k->description)
		return error_set(err, ERR_CONFIG, "it has no description");
	if (!is_text_or_missing(f, "model"))
		return error_set(err, ERR_CONFIG, "its model is not text");
	k->model = front_text(f, "model", SUBAGENT_NAME_MAX * 4);
	if (k->model && !strcmp(k->model, "inherit")) {
		free(k->model);
		k->model = NULL;
	}
	if (read_words(&k->tools, f, "tools", err) < 0 ||
	    read_words(&k->denied, f, "disallowedTools", err) < 0)
		return -1;
	sandbox = front_text(f, "sandbox", SUBAGENT_NAME_MAX);
	k->apart = sandbox && !strcmp(sandbox, "own");
	rc = !sandbox || k->apart || !strcmp(sandbox, "shared")
		     ? 0
		     : error_set(err, ERR_CONFIG,
				 "sandbox must be \"own\" or \"shared\"");
	free(sandbox);
	return rc;
}

static char *copy_text(struct str text)
{
	return xasprintf("%.*s", (int)text.len, text.len ? text.ptr : "");
}

/* Parses an AGENTS.md and adds its subagent. */
static int parse_file(struct subagent_scan *s, const char *entry,
		      const char *path, struct str text, struct error *err)
{
	struct subagent k = { .file = xstrdup(path) };
	struct front_matter f = { 0 };
	int rc = 0;

	if (!str_is_utf8(text) || str_find(text, '\0') < text.len)
		rc = error_set(err, ERR_CONFIG, "it is not UTF-8 text");
	if (rc == 0)
		rc = front_matter_read(&f, text, err);
	if (rc == 0)
		rc = read_fields(&k, &f, entry, err);
	if (rc == 0) {
		k.head = copy_text((struct str){ text.ptr, f.body });
		k.body = copy_text(str_trim(str_skip(text, f.body)));
		k.root = s->root ? xstrdup(s->root) : NULL;
		add_subagent(s, &k);
	} else {
		release_subagent(&k);
	}
	front_matter_release(&f);
	return rc;
}

/*
 * Checks an opened file. Attack: a repository has a link agents/x/AGENTS.md to
 * the user's notes, which would then be sent to a model. So a repository's
 * links must stay in the repository.
 */
static int check_place(const struct subagent_scan *s, int fd, struct error *err)
{
	struct stat st;
	size_t len;
	char *real;
	int rc = 0;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "stat");
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_CONFIG, "it is not a regular file");
	if (!s->root)
		return 0;
	if (!project_trusts(&st, s->owner))
		return error_set(err, ERR_CONFIG, "another user owns it");
	real = skill_real_path(fd);
	len = strlen(s->root);
	if (!real || strncmp(real, s->root, len) != 0 ||
	    (len > 1 && real[len] != '/'))
		rc = error_set(err, ERR_CONFIG,
			       "it is a link that leads out of the project");
	free(real);
	return rc;
}

/* Reads the rest of the file; fails if it has more than SUBAGENT_FILE_MAX
 * bytes. */
static int read_all(int fd, struct buf *text, struct error *err)
{
	for (;;) {
		char *room = buf_room(text, READ_BYTES);
		ssize_t n = room ? io_read(fd, room, READ_BYTES) : -1;

		if (!room ||
		    (n > 0 && text->len + (size_t)n > SUBAGENT_FILE_MAX))
			return error_set(err, ERR_LIMIT,
					 "it is larger than %d KiB",
					 SUBAGENT_FILE_MAX >> 10);
		if (n < 0)
			return error_errno(err, "reading it");
		if (!n)
			return 0;
		buf_added(text, (size_t)n);
	}
}

/* Reads the AGENTS.md in one directory. */
static void read_entry(struct subagent_scan *s, int top, const char *entry)
{
	char *name = path_join(entry, "AGENTS.md");
	char *path = path_join(s->place, name);
	struct buf text = BUF_INIT(SUBAGENT_FILE_MAX + 2 * READ_BYTES);
	struct error err = { 0 };
	int fd =
		openat(top, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int rc = fd < 0 ? error_errno(&err, "opening it") : 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		error_set(&err, ERR_CONFIG, "file not found");
	if (rc == 0 && s->root)
		rc = project_check(s->root, path, s->owner, &err);
	if (rc == 0)
		rc = check_place(s, fd, &err);
	if (rc == 0)
		rc = read_all(fd, &text, &err);
	if (rc == 0)
		rc = parse_file(s, entry, path, buf_str(&text), &err);
	if (rc < 0)
		add_problem(s, "%s is left out: %s", path, err.message);
	if (fd >= 0)
		close(fd);
	buf_release(&text);
	free(path);
	free(name);
}

/* Reads the subagents of one directory, in the order of their names. */
static void read_place(struct subagent_scan *s)
{
	char *names[MOST_ENTRIES];
	DIR *d = opendir(s->place);
	const struct dirent *e;
	size_t n = 0;

	if (!d)
		return;
	while (n < MOST_ENTRIES && (e = readdir(d)))
		if (e->d_name[0] != '.')
			names[n++] = xstrdup(e->d_name);
	qsort(names, n, sizeof(*names), str_compare);
	for (size_t i = 0; i < n; i++) {
		read_entry(s, dirfd(d), names[i]);
		free(names[i]);
	}
	closedir(d);
}

static int compare_subagents(const void *a, const void *b)
{
	return strcmp(((const struct subagent *)a)->name,
		      ((const struct subagent *)b)->name);
}

void subagents_read(struct subagents *out, const struct subagents_request *r)
{
	struct subagent first = { .name = xstrdup(SUBAGENT_GENERAL),
				  .description = xstrdup(general) };
	uid_t owner = project_owner(r->cwd);
	size_t len = project_root(r->cwd, owner, NULL);
	char *root = xasprintf("%.*s", (int)len, r->cwd);
	char *own = xasprintf("%s/%s/agents", r->config_dir, r->agent);
	char *project = path_join(root, ".deepagents/agents");
	struct subagent_scan user = { out, own, NULL, owner };
	struct subagent_scan theirs = { out, project, NULL, owner };

	add_subagent(&user, &first);
	read_place(&user);
	if (access(project, F_OK) == 0 && strcmp(own, project) != 0) {
		theirs.root = realpath(root, NULL);
		if (theirs.root)
			read_place(&theirs);
	}
	if (out->n > 2)
		qsort(out->list + 1, out->n - 1, sizeof(*out->list),
		      compare_subagents);
	free(theirs.root);
	free(project);
	free(own);
	free(root);
}
