/* skills.c - lists a run's skills to the model and sends them when used. */
/* SPDX-License-Identifier: MIT */
/*
 * The system prompt has the name, description and path of each skill
 * (src/skills); the model reads the file when it needs the skill. On this
 * machine the files are read where they are. In a sandbox they do not exist
 * until a call names one: begin reading at run_skills_prepare(), which looks
 * for such names in the arguments of each call and sends these skills, packed
 * as a tar archive, before the call runs. The second entry is
 * run_skills_invoke(), for a skill that the user has called.
 */
#include "cmd/session/skills.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/run.h"
#include "providers/registry.h"
#include "sandbox/helper.h"
#include "sandbox/sandbox.h"
#include "sandbox/transfer.h"
#include "skills/skills.h"
#include "worktree/select.h"

enum {
	WARNINGS = 20,
	NAMES_SHOWN = 160, /* bytes of skill names in an error's hint */
	CALL_BYTES = sizeof("/skill:") - 1,
	ROOT_DIGITS = 16, /* letters in a random directory name; each is one of
			     32: 80 random bits */
};

/* Reads where the user, the project and the settings keep skills. */
int run_skills_places(struct app *app, const char *agent,
		      struct skills_request *request, const char ***allowed,
		      struct error *err)
{
	const char *const *given;
	struct settings *set;
	size_t n = 0;

	*allowed = NULL;
	if (app_settings(app, &set, err) < 0 ||
	    settings_list(set, NULL, "skills.extra_allowed_dirs", &given, &n,
			  err) < 0)
		return -1;
	if (n)
		*allowed = xcalloc(n, sizeof(**allowed));
	for (size_t i = 0; i < n; i++)
		(*allowed)[i] = given[i];
	*request = (struct skills_request){
		.config_dir = settings_dir(set),
		.agent = agent,
		.home = settings_home(set),
		.cwd = settings_cwd(set),
		.allowed = *allowed,
		.n_allowed = n,
	};
	return 0;
}

static void warn_problems(const struct skills *s)
{
	for (size_t i = 0; i < s->n_problems && i < WARNINGS; i++)
		app_warn_line(s->problems[i]);
	if (s->n_problems > WARNINGS)
		app_warn("%zu more warnings about skills: `dcode skills list` "
			 "shows them",
			 s->n_problems - WARNINGS);
}

/* Loads the skills once per run. On a shared machine also chooses a random
 * directory for them. */
int run_skills_open(struct run *r, struct error *err)
{
	struct skills_request request;
	char random[ROOT_DIGITS + 1];
	const char **allowed;

	if (r->skills)
		return 0;
	if (run_skills_places(r->app, r->options.agent, &request, &allowed,
			      err) < 0)
		return -1;
	r->skills = xcalloc(1, sizeof(*r->skills));
	skills_read(&r->skills->all, &request);
	r->skills->sent = xcalloc(2 * r->skills->all.n + 1, sizeof(bool));
	ids_random(random, ROOT_DIGITS);
	snprintf(r->skills->root, sizeof(r->skills->root), "%s.%s",
		 RUN_SKILLS_ROOT, random);
	free(allowed);
	if (!r->options.quiet)
		warn_problems(&r->skills->all);
	return 0;
}

void run_skills_close(struct run *r)
{
	if (!r->skills)
		return;
	skills_release(&r->skills->all);
	free(r->skills->sent);
	free(r->skills);
	r->skills = NULL;
}

const char *run_skills_root(const struct run *r)
{
	const struct sandbox_provider *p = r->client.provider;

	if (!p)
		p = sandbox_provider_find(r->options.sandbox);
	if (p && p->flags & SANDBOX_UNISOLATED)
		return NULL;
	return p && p->flags & SANDBOX_SHARED && r->skills ? r->skills->root
							   : RUN_SKILLS_ROOT;
}

bool run_skills_may_read(const struct run *r, const char *real)
{
	const struct skill *s =
		r->skills ? skills_holding(&r->skills->all, real) : NULL;

	return s && !select_secret(real + strlen(s->dir), 0, STR(""));
}

/* Sets the error for an unknown skill. The hint lists the available ones. */
static int refuse_unknown(const struct skills *s, struct str name,
			  struct error *err)
{
	struct buf names = BUF_INIT(NAMES_SHOWN);

	name.len = str_char_offset(name, SKILL_NAME_MAX);
	error_set(err, ERR_NOT_FOUND, "Skill not found: %.*s", (int)name.len,
		  name.ptr ? name.ptr : "");
	for (size_t i = 0; i < s->n; i++) {
		if (names.len + strlen(s->list[i].name) + 8 > NAMES_SHOWN) {
			buf_adds(&names, ", ...");
			break;
		}
		buf_addf(&names, "%s%s", i ? ", " : "", s->list[i].name);
	}
	if (names.len)
		error_hint(err, "Available: %s", names.ptr);
	else
		error_hint(err, "There are no skills. `dcode skills create "
				"NAME` makes one.");
	buf_release(&names);
	return -1;
}

/* Appends the message in which the user calls a skill. place is the directory
 * of the skill's files, or NULL if it has none. */
static void add_call(const char *name, const char *place,
		     struct str instructions, bool has_request, struct buf *out)
{
	buf_addf(out,
		 "I call the skill `%s`: work by its instructions, which "
		 "follow in full.%s%s%s\n\n---\n\n",
		 name, place ? " Paths in them are relative to " : "",
		 place ? place : "", place ? "." : "");
	buf_addstr(out, instructions);
	buf_adds(out, "\n\n---\n");
	if (has_request)
		buf_adds(out, "\n**User request:** ");
}

static void add_file_call(const struct run *r, const struct skill *s,
			  struct str instructions, bool has_request,
			  struct buf *out)
{
	const char *root = run_skills_root(r);
	char *place = root ? path_join(root, s->name) : xstrdup(s->dir);

	add_call(s->name, place, instructions, has_request, out);
	free(place);
}

/* A skill of the user or the project replaces a built-in one of the same
 * name. */
int run_skills_invoke(struct run *r, struct str name, bool has_request,
		      struct buf *out, struct error *err)
{
	struct buf text = BUF_INIT(SKILL_FILE_MAX + (64 << 10));
	const struct skill_builtin *b = skill_builtin_find(name);
	const struct skill *s;
	size_t body = 0;
	int rc;

	if (run_skills_open(r, err) < 0)
		return -1;
	if (!name.len) {
		error_set(err, ERR_USAGE, "the name of the skill is missing");
		return error_hint(
			err, "Type /skill:NAME [REQUEST]. /skills lists them.");
	}
	s = skills_find(&r->skills->all, name);
	if (!s && b) {
		add_call(b->name, NULL, str_of(b->text), has_request, out);
		return 0;
	}
	if (!s)
		return refuse_unknown(&r->skills->all, name, err);
	rc = skill_read_text(s, &text, &body, err);
	if (rc == 0 && !str_trim(str_skip(buf_str(&text), body)).len)
		rc = error_set(err, ERR_CONFIG,
			       "Skill '%s' has an empty SKILL.md file. Add "
			       "instructions to the file before invoking",
			       s->name);
	if (rc == 0 && s->hides_user)
		app_warn("the skill %s comes from this project (%s) and "
			 "replaces your own of the same name",
			 s->name, s->dir);
	if (rc == 0)
		add_file_call(r, s, str_trim(str_skip(buf_str(&text), body)),
			      has_request, out);
	buf_release(&text);
	return rc;
}

/* For a built-in skill, accepts "/remember ..." like "/skill:remember ...". */
static bool is_builtin_call(struct str text, struct str *name,
			    struct str *request)
{
	struct str word = str_skip(text, 1);

	word.len = 0;
	while (word.len + 1 < text.len && !strchr(" \t\n", word.ptr[word.len]))
		word.len++;
	if (!str_starts(text, "/") || !skill_builtin_find(word))
		return false;
	*name = word;
	*request = str_trim(str_skip(text, 1 + word.len));
	return true;
}

bool run_skills_is_call(struct str text, struct str *name, struct str *request)
{
	text = str_trim(text);
	if (is_builtin_call(text, name, request))
		return true;
	if (text.len < CALL_BYTES ||
	    !str_is_nocase((struct str){ text.ptr, CALL_BYTES }, "/skill:"))
		return false;
	text = str_skip(text, CALL_BYTES);
	*name = text;
	name->len = 0;
	while (name->len < text.len && !strchr(" \t\n", text.ptr[name->len]))
		name->len++;
	*request = str_trim(str_skip(text, name->len));
	return true;
}

int run_skills_begin(struct run *r, char **prompt, struct error *err)
{
	struct str request = str_trim(str_of(*prompt));
	struct buf out = BUF_INIT(SKILL_FILE_MAX + (256 << 20));

	if (run_skills_invoke(r, str_of(r->options.skill), request.len > 0,
			      &out, err) < 0) {
		buf_release(&out);
		return -1;
	}
	buf_addstr(&out, request);
	free(*prompt);
	*prompt = buf_detach(&out);
	return 0;
}

enum {
	MOST_FILES = 1000, /* files of one skill */
	MOST_DEEP = 16,    /* maximum directory depth */
	FILE_BYTES = 16 << 20,
	ALL_BYTES = 64 << 20, /* total size of one skill */
	TAR_BYTES = 256 << 20,
	TOLD = 20, /* maximum number of warnings about skipped files, each one
		      line */
	SAID_BYTES = 4096,
	SEND_MS = 300000,
	LEAVE_MS = 10000,
	LEAVE_BYTES = 64 << 10,
};

static const char root_name[] = "dcode-skills";

struct packing {
	struct run *run;
	const struct skill *skill;
	struct archive_stream *tar;
	struct buf *out;
	struct buf bytes; /* content of the current file */
	size_t files;
	int64_t size;
	int told;
};

static int add_directory(struct packing *p, int fd, const char *below, int deep,
			 struct error *err);

/* Directories in the sandbox under which a call may name a skill: the one in
 * the system prompt and, if that has a random name, also the fixed one, which
 * is in the history of older threads. */
enum place { PLACE_TOLD, PLACE_FIXED, N_PLACES };

static void warn_unsent(struct packing *p, const char *name, const char *why)
{
	if (p->told++ < TOLD)
		print_line(p->run->app, "Warning: skill %s: %s is not sent: %s",
			   p->skill->name, name, why);
	else if (p->told == TOLD + 1)
		print_line(p->run->app,
			   "Warning: skill %s: more files are not sent",
			   p->skill->name);
}

static int move_archive_output(struct packing *p, struct error *err)
{
	struct buf *ready = archive_stream_out(p->tar);

	buf_addstr(p->out, buf_str(ready));
	buf_consume(ready, ready->len);
	return buf_check(p->out, "the archive of the skills", err);
}

/* Reads a file into p->bytes. Returns 1, or 0 if the file is skipped. */
static int read_file(struct packing *p, int fd, const char *name,
		     const struct stat *st)
{
	const char *why = NULL;

	buf_clear(&p->bytes);
	if (st->st_size > FILE_BYTES)
		why = "it is larger than 16 MiB";
	else if (p->size + st->st_size > ALL_BYTES)
		why = "the files of a skill are limited to 64 MiB together";
	else if (p->files == MOST_FILES)
		why = "a skill has at most 1000 files";
	while (!why) {
		char *room = buf_room(&p->bytes, 64 << 10);
		ssize_t n = room ? io_read(fd, room, 64 << 10) : -1;

		if (n < 0)
			why = "it cannot be read, or it is growing";
		else if (!n)
			break;
		else
			buf_added(&p->bytes, (size_t)n);
	}
	if (!why)
		why = select_secret(name, (int64_t)p->bytes.len,
				    buf_str(&p->bytes));
	if (why)
		warn_unsent(p, name, why);
	return !why;
}

static int add_file(struct packing *p, int fd, const char *name,
		    const struct stat *st, struct error *err)
{
	char *path;
	struct archive_header item;
	int rc;

	if (!read_file(p, fd, name, st))
		return 0;
	path = path_join(p->skill->name, name);
	item = (struct archive_header){
		.path = path,
		.mode = st->st_mode & 0111 ? 0755 : 0644,
		.size = (int64_t)p->bytes.len,
		.mtime = st->st_mtime > 0 ? st->st_mtime : 0,
	};
	rc = archive_stream_entry(p->tar, &item, err);
	if (rc == 0)
		rc = archive_stream_data(p->tar, buf_str(&p->bytes), err);
	if (rc == 0)
		rc = move_archive_output(p, err);
	p->files++;
	p->size += item.size;
	free(path);
	return rc;
}

/* True if the open file is inside the skill's directory. Attack: a link in a
 * repository's skill points to a private file of the user, which would be sent
 * to the sandbox. */
static bool is_inside_skill(const struct packing *p, int fd)
{
	char *real = skill_real_path(fd);
	size_t len = strlen(p->skill->dir);
	bool inside =
		real && !strncmp(real, p->skill->dir, len) && real[len] == '/';

	free(real);
	return inside;
}

/* Takes ownership of fd. */
static int add_open(struct packing *p, int fd, const char *name, bool link,
		    int deep, struct error *err)
{
	const char *why = NULL;
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st) < 0)
		why = "its type cannot be read";
	else if (link && (!S_ISREG(st.st_mode) || !is_inside_skill(p, fd)))
		why = "it is a link that leads out of the skill";
	else if (S_ISDIR(st.st_mode) && !deep)
		why = "it is nested too deep";
	else if (S_ISDIR(st.st_mode))
		return add_directory(p, fd, name, deep - 1, err);
	else if (!S_ISREG(st.st_mode))
		why = "it is not a regular file";
	else
		rc = add_file(p, fd, name, &st, err);
	if (why)
		warn_unsent(p, name, why);
	close(fd);
	return rc;
}

/* Opens the entry without following links first, to learn whether it is a link:
 * add_open() refuses links that lead out of the skill. */
static int add_entry(struct packing *p, int dir, const char *below,
		     const char *entry, int deep, struct error *err)
{
	enum { HOW = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
	char *name = below[0] ? path_join(below, entry) : xstrdup(entry);
	bool link = false;
	int rc = 0;
	int fd = openat(dir, entry, HOW | O_NOFOLLOW);

	if (fd < 0 && errno == ELOOP) {
		link = true;
		fd = openat(dir, entry, HOW);
	}
	if (fd >= 0)
		rc = add_open(p, fd, name, link, deep, err);
	else
		warn_unsent(p, name, "it cannot be opened");
	free(name);
	return rc;
}

/* Takes ownership of fd. */
static int add_directory(struct packing *p, int fd, const char *below, int deep,
			 struct error *err)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;
	char **names = NULL;
	size_t n = 0;
	int rc = 0;

	if (!d) {
		close(fd);
		return 0;
	}
	while ((e = readdir(d)) && n < MOST_FILES) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, ".git"))
			continue;
		names = xrealloc(names, n + 1, sizeof(*names));
		names[n++] = xstrdup(e->d_name);
	}
	if (n)
		qsort(names, n, sizeof(*names), str_compare);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_entry(p, dirfd(d), below, names[i], deep, err);
		free(names[i]);
	}
	free(names);
	closedir(d);
	return rc;
}

static int pack_skill(struct run *r, const struct skill *s,
		      struct archive_stream *tar, struct buf *out,
		      size_t *files, struct error *err)
{
	struct packing p = { .run = r,
			     .skill = s,
			     .tar = tar,
			     .out = out,
			     .bytes = BUF_INIT(FILE_BYTES) };
	int fd = skill_open(s, err);
	int rc = fd < 0 ? -1 : add_directory(&p, fd, "", MOST_DEEP, err);

	buf_release(&p.bytes);
	*files = p.files;
	return rc;
}

static const char *root_of(const struct run *r, enum place place)
{
	return place == PLACE_TOLD ? run_skills_root(r) : RUN_SKILLS_ROOT;
}

/* Uploads the archive as one file. *path is owned. */
static int upload_archive(struct sandbox *sb, struct str tar, char **path,
			  const struct stop *stop, struct error *err)
{
	struct transfer t = { .path = "/tmp/x", .mode = 0600 };

	*path = transfer_stage(&t);
	t.path = *path;
	if (sandbox_upload_bytes(sb, &t, tar, stop, err) < 0)
		return -1;
	if (t.error == FILE_OK)
		return 0;
	return error_set(err, ERR_REMOTE, "%s",
			 t.error == FILE_OTHER && t.detail[0]
				 ? t.detail
				 : file_error_name(t.error));
}

/* Sends the archive inside the command if it is small enough, otherwise as a
 * file. */
static int send_archive(struct sandbox *sb, struct str tar, bool base64,
			struct helper *h, const struct stop *stop,
			struct error *err)
{
	bool fits = sb->client->provider->flags & SANDBOX_STDIN ||
		    helper_fits(sb, tar, base64);
	char *path = NULL;
	int rc = fits ? 0 : upload_archive(sb, tar, &path, stop, err);

	buf_clear(&h->out);
	h->content = fits ? tar : (struct str){ 0 };
	h->source = path;
	h->no_base64 = !base64;
	if (rc == 0)
		rc = helper_run(sb, h, stop, err);
	if (path && (rc < 0 || strcmp(h->status, "ok") != 0))
		transfer_unstage(sb, path);
	free(path);
	return rc;
}

/* Unpacks the archive into root. ERR_CONFIG if the directory belongs to another
 * user of the machine. */
static int unpack_archive(struct sandbox *sb, const char *root, struct str tar,
			  const struct stop *stop, struct error *err)
{
	struct helper h = { .script = HELPER_SKILLS,
			    .args = { str_of(root) },
			    .n_args = 1,
			    .timeout_ms = SEND_MS,
			    .out = BUF_INIT(SAID_BYTES) };
	struct buf said = BUF_INIT(512);
	int rc = send_archive(sb, tar, true, &h, stop, err);

	if (rc == 0 && !strcmp(h.status, "no_base64"))
		rc = send_archive(sb, tar, false, &h, stop, err);
	sanitize_line(str_trim(buf_str(&h.out)), &said);
	if (rc == 0 && h.timed_out)
		rc = error_set(err, ERR_TIMEOUT, "unpacking takes too long");
	else if (rc == 0 && !strcmp(h.status, "unpack"))
		rc = error_set(err, ERR_REMOTE, "unpacking: %s",
			       said.len ? said.ptr
					: "the sandbox has no working tar");
	else if (rc == 0 && !strcmp(h.status, "not_own"))
		rc = error_set(err, ERR_CONFIG,
			       "%s belongs to another user in the sandbox",
			       root);
	else if (rc == 0 && strcmp(h.status, "ok") != 0)
		rc = error_set(err, ERR_REMOTE, "%s: %.60s", root, h.status);
	buf_release(&said);
	buf_release(&h.out);
	return rc;
}

/* Sends the wanted skills, as one archive, into the directory for place. */
static int send_skills(struct run *r, enum place place, const bool *wanted,
		       const struct stop *stop, struct error *err)
{
	const struct skills *all = &r->skills->all;
	size_t *files = xcalloc(all->n, sizeof(*files));
	struct buf tar = BUF_INIT(TAR_BYTES);
	struct archive_stream *a = archive_stream_open(true, err);
	int rc = a ? 0 : -1;

	for (size_t i = 0; i < all->n && rc == 0; i++)
		if (wanted[i])
			rc = pack_skill(r, &all->list[i], a, &tar, &files[i],
					err);
	if (rc == 0)
		rc = archive_stream_end(a, err);
	if (rc == 0)
		buf_addstr(&tar, buf_str(archive_stream_out(a)));
	if (rc == 0)
		rc = unpack_archive(&r->box.sandbox, root_of(r, place),
				    buf_str(&tar), stop, err);
	for (size_t i = 0; i < all->n && rc == 0; i++) {
		if (!wanted[i])
			continue;
		r->skills->sent[place * all->n + i] = true;
		print_line(r->app,
			   "✓ Sent the skill %s to the sandbox: %zu "
			   "file%s",
			   all->list[i].name, files[i],
			   files[i] == 1 ? "" : "s");
	}
	free(files);
	archive_stream_close(a);
	buf_release(&tar);
	return rc;
}

/* True if a skill's name does not end before text[at]. Bytes above 127 count as
 * letters. */
static bool is_name_continued(struct str text, size_t at)
{
	return at < text.len &&
	       (isalnum((unsigned char)text.ptr[at]) || text.ptr[at] == '-' ||
		(unsigned char)text.ptr[at] >= 0x80);
}

/* Marks the skills in wanted that a call refers to. rest is the call's text
 * after the skills directory. If a skill's name follows, marks that one; if
 * another name follows, none; if no name follows, as in a listing of the
 * directory, all. */
static void mark_wanted(const struct run *r, enum place place, struct str rest,
			bool *wanted)
{
	const struct skills *all = &r->skills->all;
	bool named;

	/* arguments are JSON, in which "/" may be written as "\/" */
	while (rest.len && (rest.ptr[0] == '/' || rest.ptr[0] == '\\'))
		rest = str_skip(rest, 1);
	named = is_name_continued(rest, 0);
	for (size_t i = 0; i < all->n; i++) {
		const char *name = all->list[i].name;
		size_t at = place * all->n + i;

		if (r->skills->sent[at])
			continue;
		if (!named || (str_starts(rest, name) &&
			       !is_name_continued(rest, strlen(name))))
			wanted[at] = true;
	}
}

/* Marks the skills that the arguments refer to. Returns false if they name the
 * skills directory of another run. */
static bool find_wanted(const struct run *r, struct str args, bool *wanted)
{
	struct str name = str_of(root_name);
	const char *suffix = run_skills_root(r) + strlen(RUN_SKILLS_ROOT);
	bool known = true;
	size_t at;

	while ((at = str_search(args, name)) < args.len) {
		bool is_path = at && args.ptr[at - 1] == '/';

		args = str_skip(args, at + name.len);
		if (str_starts(args, suffix))
			mark_wanted(r, PLACE_TOLD,
				    str_skip(args, strlen(suffix)), wanted);
		else if (!args.len || args.ptr[0] != '.')
			mark_wanted(r, PLACE_FIXED, args, wanted);
		else
			known &= !is_path;
	}
	return known;
}

static bool has_any(const bool *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			return true;
	return false;
}

/* Keeps the call from running: the path in it may belong to another user, who
 * could have put other files there. */
static int refuse_call(const struct run *r, const char *why, struct buf *remark)
{
	buf_addf(remark, "Not run: %s. The skills are in %s.", why,
		 run_skills_root(r));
	return 1;
}

/* Sends the skills that these calls refer to, before the calls run. */
int run_skills_prepare(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err)
{
	struct run *r = arg;
	bool is_theirs = false;
	size_t each;
	bool *wanted;
	int rc = 0;

	if (!r->skills || !r->skills->all.n || !run_skills_root(r))
		return 0;
	each = r->skills->all.n;
	wanted = xcalloc(N_PLACES * each, sizeof(*wanted));
	for (size_t i = 0; i < n; i++)
		is_theirs |= !find_wanted(r, str_of(calls[i]->args), wanted);
	for (size_t i = 0; i < N_PLACES && rc == 0 && !is_theirs; i++)
		if (has_any(wanted + i * each, each))
			rc = send_skills(r, (enum place)i, wanted + i * each,
					 stop, err);
	free(wanted);
	if (is_theirs)
		return refuse_call(
			r, "the call names the skills of another run", remark);
	if (rc == 0 || err->code == ERR_CANCELLED || err->code == ERR_GONE)
		return rc;
	is_theirs =
		err->code == ERR_CONFIG || sandbox_is_shared(&r->box.sandbox);
	error_wrap(err, "the skill could not be sent to the sandbox");
	app_warn_line(err->message);
	if (is_theirs)
		rc = refuse_call(r, err->message, remark);
	else
		buf_addf(remark, "%s\n", err->message);
	*err = (struct error){ 0 };
	return is_theirs ? rc : 0;
}

static void add_removal(const struct run *r, enum place place, struct buf *out)
{
	const bool *sent = r->skills->sent + place * r->skills->all.n;
	const char *root = root_of(r, place);

	if (!has_any(sent, r->skills->all.n))
		return;
	/* do not delete the whole directory: another dcode may use it, too */
	buf_addf(out, "[ -O %s ] && cd -P %s && rm -rf .of", root, root);
	for (size_t i = 0; i < r->skills->all.n; i++)
		if (sent[i])
			buf_addf(out, " %s", r->skills->all.list[i].name);
	buf_addf(out, "; cd / && rmdir %s\n", root);
}

/* Adds a command that deletes this run's stored tool results
 * (results_dir.sh). */
static void add_results(const struct run *r, struct buf *out)
{
	if (r->agent.saved_results <= r->stored_results || !r->session)
		return;
	buf_addf(out,
		 "n=dcode_large_tool_results\n"
		 "for d in /tmp/$n \"/tmp/$n.$(id -u)\" \"$HOME/.$n\"; do\n"
		 "[ ! -O \"$d\" ] || [ -L \"$d\" ] || {\n"
		 "rm -f \"$d/%s-\"*; rmdir \"$d\"; }\ndone\n",
		 session_id(r->session));
}

/* Deletes everything with one command. Errors are ignored. */
void run_skills_leave(struct run *r)
{
	struct stop stop = stop_cleanup(LEAVE_MS);
	struct sandbox *sb = &r->box.sandbox;
	struct exec_request req = { .cwd = "/", .plain = true };
	struct buf line = BUF_INIT(LEAVE_BYTES);
	struct exec_result res = { 0 };
	struct error ignored = { 0 };

	if (!r->skills || !run_skills_root(r) || !sb->client || !sb->id ||
	    (!sandbox_is_shared(sb) && r->box.label[0]))
		return;
	for (int i = 0; i < N_PLACES; i++)
		add_removal(r, (enum place)i, &line);
	if (!r->box.label[0])
		add_results(r, &line);
	req.command = buf_str(&line);
	if (line.len && !line.over)
		(void)sandbox_execute(sb, &req, &res, &stop, &ignored);
	buf_release(&line);
}
