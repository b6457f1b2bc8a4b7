/* skills_invoke.c - the skills of a run: which there are, and calling one. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/run.h"
#include "cmd/session/run_skills.h"
#include "skills/skills.h"
#include "worktree/select.h"

enum {
	WARNINGS = 20,
	NAMES_SHOWN = 160, /* bytes */
	CALL_BYTES = sizeof("/skill:") - 1,
	ROOT_DIGITS = 16, /* of 32: 80 bits */
};

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

static void warn(const struct skills *s)
{
	for (size_t i = 0; i < s->n_problems && i < WARNINGS; i++)
		app_warn_line(s->problems[i]);
	if (s->n_problems > WARNINGS)
		app_warn("%zu more warnings about skills: `dcode skills list` "
			 "shows them",
			 s->n_problems - WARNINGS);
}

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
		warn(&r->skills->all);
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

/* place: where its files are, or NULL: it has none. */
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

/* "/remember ..." is "/skill:remember ...". */
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
