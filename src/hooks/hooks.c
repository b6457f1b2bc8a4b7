/* hooks.c - commands of the user's that run at events. */
/* SPDX-License-Identifier: MIT */
#include "hooks/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/project.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "hooks/hooks_impl.h"

enum {
	INPUT_MAX = 64 << 20,
	OUTCOME_MAX = 1 << 20,
	MOST_NOTIFICATIONS = 16, /* that run at a time */
	NOTIFY_MS = 600000,
	LINE_MAX = 4096,
};

/* 1 when the file was read; 0 where there is none; -1 with err. A link that
 * leads nowhere is a file that cannot be read. */
static int read_file(const struct hooks_source *src, bool project,
		     struct buf *text, struct error *err)
{
	const char *path = project ? src->project_file : src->user_file;
	struct stat st;
	int rc;

	if (!path)
		return 0;
	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_errno(err, "reading %s", path);
	/* Another user's is as good as none: it restricts nobody. */
	if (project &&
	    project_check(src->root, path, project_owner(src->cwd), err) < 0) {
		src->warn(err->message);
		*err = (struct error){ 0 };
		return 0;
	}
	rc = project ? project_read(src->root, path, project_owner(src->cwd),
				    text, err)
		     : path_read_regular(path, text, err);
	if (rc > 0)
		return error_set(err, ERR_CONFIG, "%s is a link to nothing",
				 path);
	return rc < 0 ? -1 : 1;
}

/* The words of all commands of the file: what is remembered with it. */
static size_t add_words(const struct hook_list *list, const char **words)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct hook_handler *h = &list->list[i];

		if (!h->project)
			continue;
		if (h->command && words)
			words[n] = h->command;
		n += h->command != NULL;
		for (char **w = h->argv; w && *w; w++, n++)
			if (words)
				words[n] = *w;
	}
	return n;
}

static struct trust_entry project_entry(const struct hooks *h)
{
	return (struct trust_entry){ .kind = TRUST_HOOK,
				     .root = h->root,
				     .dir = h->cwd,
				     .file = h->project_file,
				     .name = "hooks.json",
				     .text = buf_str(&h->project_text) };
}

/* The words of one hook: its shell's command, or its argv. */
static void set_words(struct trust_entry *e, const struct hook_handler *x)
{
	e->words = x->argv ? (const char *const *)x->argv
			   : (const char *const *)&x->command;
	e->n_words = x->command != NULL;
	while (x->argv && x->argv[e->n_words])
		e->n_words++;
}

/* Whether one of the project's names no file of it. */
static bool has_unnamed(const struct hooks *h, const char *path)
{
	for (size_t i = 0; i < h->handlers.n; i++) {
		const struct hook_handler *x = &h->handlers.list[i];
		struct trust_entry e = project_entry(h);

		e.path = path;
		set_words(&e, x);
		if (x->project && e.n_words && !trust_names_file(&e))
			return true;
	}
	return false;
}

/* The whole file is one entry: a question for each hook of it would be answered
 * without being read. *verdict is TRUST_ALLOWED or not; ask: may put it. */
static int check_project(struct hooks *h, bool ask, enum trust_verdict *verdict,
			 struct buf *why, struct error *err)
{
	size_t n = add_words(&h->handlers, NULL);
	const char **words = xcalloc(n + 1, sizeof(*words));
	char *path =
		proc_absolute_path(settings_exported(h->src.settings, "PATH"));
	struct trust_entry e = project_entry(h);
	int rc = 0;

	e.words = words;
	e.n_words = add_words(&h->handlers, words);
	e.path = path;
	e.unnamed = ask && has_unnamed(h, path);
	if (ask)
		rc = trust_ask(h->src.trust, &e, verdict, err);
	else
		*verdict = trust_check(h->src.trust, &e);
	if (rc == 0 && *verdict != TRUST_ALLOWED)
		trust_explain(h->src.trust, &e, why);
	free(words);
	free(path);
	return rc;
}

static void drop_project(struct hook_list *list)
{
	struct hook_list project = { 0 };
	size_t kept = 0;

	project.list = xcalloc(list->n + 1, sizeof(*list->list));
	for (size_t i = 0; i < list->n; i++)
		if (list->list[i].project)
			project.list[project.n++] = list->list[i];
		else
			list->list[kept++] = list->list[i];
	list->n = kept;
	hook_list_release(&project);
}

/* Which code the hooks of a file may run beside the files that they name. */
static void tell_project_code(const struct hooks *h, const char *file,
			      bool project)
{
	struct buf runners = BUF_INIT(LINE_MAX);
	struct buf line = BUF_INIT(2 * LINE_MAX);
	char *path =
		proc_absolute_path(settings_exported(h->src.settings, "PATH"));

	for (size_t i = 0; i < h->handlers.n; i++) {
		const struct hook_handler *x = &h->handlers.list[i];
		struct trust_entry e = { 0 };

		set_words(&e, x);
		if (x->project == project)
			trust_add_runners(e.words, e.n_words, &runners);
	}
	if (runners.len)
		buf_addf(&line,
			 "hooks of %s run %s: the code may come from %s, where "
			 "hooks start",
			 file, runners.ptr, h->cwd);
	if (line.len)
		h->src.tell(line.ptr);
	if (project && has_unnamed(h, path)) {
		buf_clear(&line);
		buf_addf(&line,
			 "a hook of %s names no file, so changes to the "
			 "project run without another question",
			 file);
		h->src.tell(line.ptr);
	}
	free(path);
	buf_release(&runners);
	buf_release(&line);
}

static int load_project(struct hooks *h, struct error *err)
{
	const struct hook_file file = { h->project_file, true, h->src.warn };
	struct buf why = BUF_INIT(1 << 12);
	enum trust_verdict verdict = TRUST_REFUSED;
	int rc = hook_file_parse(&h->handlers, buf_str(&h->project_text), &file,
				 err);

	if (rc == 0 && h->handlers.n)
		rc = check_project(h, true, &verdict, &why, err);
	if (why.len)
		h->src.warn(why.ptr);
	if (verdict == TRUST_ALLOWED) {
		hook_list_compile(&h->handlers, &file);
		if (h->src.tell)
			tell_project_code(h, h->project_file, true);
	} else {
		drop_project(&h->handlers);
	}
	buf_release(&why);
	return rc;
}

static int load_user(struct hooks *h, struct str text, struct error *err)
{
	const struct hook_file file = { h->user_file, false, h->src.warn };

	if (hook_file_parse(&h->handlers, text, &file, err) < 0)
		return -1;
	hook_list_compile(&h->handlers, &file);
	if (h->src.tell)
		tell_project_code(h, h->user_file, false);
	return 0;
}

/* What is to become of a file that cannot be used. A repository that the user
 * only looks at must not keep him from starting. */
static int do_without(const struct hooks_source *src, bool project,
		      struct error *err)
{
	struct error why = *err;

	*err = (struct error){ 0 };
	if (project && why.code == ERR_CANCELLED) {
		*err = why;
		return -1;
	}
	if (!project || trust_is_known(src->trust, TRUST_HOOK, src->root))
		return src->without(src->arg, &why, err);
	src->warn(why.message);
	return 0;
}

static struct hooks *make_hooks(const struct hooks_source *src)
{
	struct hooks *h = xcalloc(1, sizeof(*h));

	h->src = *src;
	h->user_file = xstrdup(src->user_file);
	h->project_file = xstrdup(src->project_file);
	h->root = xstrdup(src->root);
	h->cwd = xstrdup(src->cwd);
	h->project_text = BUF_INIT(HOOK_FILE_MAX);
	h->cancel = (struct cancel){ { -1, -1 } };
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->idle, NULL);
	return h;
}

/* One file: 1 when it is there and was read. */
static int read_or_go_on(const struct hooks_source *src, bool project,
			 struct buf *text, struct error *err)
{
	int rc = read_file(src, project, text, err);

	return rc < 0 ? do_without(src, project, err) : rc;
}

int hooks_load(struct hooks **out, const struct hooks_source *src,
	       struct error *err)
{
	struct buf project = BUF_INIT(HOOK_FILE_MAX);
	struct buf user = BUF_INIT(HOOK_FILE_MAX);
	int has_project = 0;
	int has_user = read_or_go_on(src, false, &user, err);
	struct hooks *h = NULL;
	int rc = has_user < 0 ? -1 : 0;

	*out = NULL;
	if (rc == 0 &&
	    !(has_user && path_is_same(src->user_file, src->project_file)))
		has_project = read_or_go_on(src, true, &project, err);
	if (has_project < 0)
		rc = -1;
	if (rc == 0 && (has_project || has_user)) {
		h = make_hooks(src);
		h->project_text = project;
		project = (struct buf){ 0 };
	}
	if (rc == 0 && has_project && load_project(h, err) < 0)
		rc = do_without(src, true, err);
	if (rc == 0 && has_user && load_user(h, buf_str(&user), err) < 0)
		rc = do_without(src, false, err);
	if (rc == 0 && h && h->handlers.n) {
		h->told = xcalloc(h->handlers.n, sizeof(*h->told));
		rc = cancel_init(&h->cancel, err);
	}
	if (h && (rc < 0 || !h->handlers.n)) {
		hooks_free(h);
		h = NULL;
	}
	buf_release(&project);
	buf_release(&user);
	*out = h;
	return rc;
}

void hooks_free(struct hooks *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	if (h->notifying)
		cancel_trigger(&h->cancel);
	while (h->notifying)
		pthread_cond_wait(&h->idle, &h->lock);
	pthread_mutex_unlock(&h->lock);
	cancel_release(&h->cancel);
	pthread_cond_destroy(&h->idle);
	pthread_mutex_destroy(&h->lock);
	hook_list_release(&h->handlers);
	buf_release(&h->project_text);
	settings_environ_free(h->user_env);
	settings_environ_free(h->project_env);
	free(h->session);
	free(h->user_file);
	free(h->project_file);
	free(h->root);
	free(h->cwd);
	free(h->told);
	free(h);
}

void hooks_set_session(struct hooks *h, const char *session,
		       const char *(*mode)(void *arg), void *arg)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	free(h->session);
	h->session = xstrdup(session);
	h->mode = mode;
	h->mode_arg = arg;
	pthread_mutex_unlock(&h->lock);
}

void hooks_end_session(struct hooks *h, const void *arg)
{
	if (h && h->mode_arg == arg)
		hooks_set_session(h, NULL, NULL, NULL);
}

bool hooks_have(const struct hooks *h, enum hook_event event)
{
	for (size_t i = 0; h && i < h->handlers.n; i++)
		if (h->handlers.list[i].event == event)
			return true;
	return false;
}

static cJSON *make_input(struct hooks *h, const struct hook_call *call)
{
	cJSON *input = cJSON_CreateObject();
	const cJSON *field;
	char *file = NULL;

	pthread_mutex_lock(&h->lock);
	if (h->session && h->src.transcript)
		file = h->src.transcript(h->src.arg, h->session);
	cJSON_AddStringToObject(input, "session_id",
				h->session ? h->session : "");
	cJSON_AddStringToObject(input, "transcript_path", file ? file : "");
	free(file);
	cJSON_AddStringToObject(input, "cwd", h->cwd);
	cJSON_AddStringToObject(input, "hook_event_name",
				hook_event_name(call->event));
	cJSON_AddStringToObject(input, "permission_mode",
				h->mode ? h->mode(h->mode_arg) : "default");
	pthread_mutex_unlock(&h->lock);
	cJSON_ArrayForEach (field, call->fields)
		cJSON_AddItemToObject(input, field->string,
				      cJSON_Duplicate(field, true));
	return input;
}

static char *const *environ_of(struct hooks *h, bool project)
{
	char ***env = project ? &h->project_env : &h->user_env;

	pthread_mutex_lock(&h->lock);
	if (!*env)
		*env = project ? settings_environ_project(h->src.settings)
			       : settings_environ_exported(h->src.settings);
	pthread_mutex_unlock(&h->lock);
	return *env;
}

/* Absolute, or NULL when there is none. Of the user's own hooks a name with a
 * slash is absolute: see file.c. */
static char *find_program(const struct hooks *h, const char *name)
{
	if (strchr(name, '/'))
		return path_join(h->cwd, name);
	return proc_find(name, settings_exported(h->src.settings, "PATH"));
}

static void prepare(struct hooks *h, const struct hook_handler *x,
		    struct str input, struct hook_process *p)
{
	*p = (struct hook_process){ .handler = x,
				    .shell = { "sh", "-c", x->command } };
	if (!x->broken)
		p->program = x->argv ? find_program(h, x->argv[0])
				     : xstrdup("/bin/sh");
	p->run = (struct proc_run){ .program = p->program,
				    .argv = x->argv ? x->argv : p->shell,
				    .env = environ_of(h, x->project),
				    .cwd = h->cwd,
				    .input = input,
				    .ms = x->timeout_ms,
				    .core = true,
				    .out = BUF_INIT(HOOK_OUTPUT_MAX),
				    .err = BUF_INIT(HOOK_OUTPUT_MAX) };
	if (x->broken)
		error_set(&p->run.failed, ERR_CONFIG, "%s", x->broken);
	else if (!p->program)
		error_set(&p->run.failed, ERR_NOT_FOUND, "not found: %s",
			  x->argv[0]);
}

/* Those that match and may run; how many. Appends to why what keeps the others
 * from that. */
static size_t select_handlers(struct hooks *h, const struct hook_call *call,
			      const struct hook_handler **chosen,
			      struct buf *why)
{
	enum trust_verdict verdict = TRUST_ASK;
	struct error ignored = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < h->handlers.n; i++) {
		const struct hook_handler *x = &h->handlers.list[i];

		if (x->event != call->event || !hook_matches(x, call->match))
			continue;
		/* The files may have changed since they were allowed. */
		if (x->project && verdict == TRUST_ASK)
			(void)check_project(h, false, &verdict, why, &ignored);
		if (x->project && verdict != TRUST_ALLOWED) {
			hook_notice(h, call, "%s", why->ptr);
			verdict = TRUST_REFUSED;
			continue;
		}
		chosen[n++] = x;
	}
	return n;
}

/* chosen ends in NULL. */
static int run_chosen(struct hooks *h, const struct hook_call *call,
		      const struct hook_handler **chosen,
		      struct hook_outcome *out, const struct stop *stop,
		      struct error *err)
{
	size_t n = 0;
	struct hook_process *list;
	struct proc_run **runs;
	cJSON *tree = make_input(h, call);
	struct buf input = BUF_INIT(INPUT_MAX);
	int rc;

	while (chosen[n])
		n++;
	list = xcalloc(n, sizeof(*list));
	runs = xcalloc(n, sizeof(struct proc_run *));
	json_print(&input, tree);
	for (size_t i = 0; i < n; i++) {
		prepare(h, chosen[i], buf_str(&input), &list[i]);
		runs[i] = &list[i].run;
		if (chosen[i]->status)
			hook_notice(h, call, "%s", chosen[i]->status);
	}
	rc = proc_run_all(runs, n, stop, err);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			hook_output_add(h, call, &list[i], out);
		buf_release(&list[i].run.out);
		buf_release(&list[i].run.err);
		free(list[i].program);
	}
	cJSON_Delete(tree);
	buf_release(&input);
	free(runs);
	free(list);
	return rc;
}

int hooks_run(struct hooks *h, const struct hook_call *call,
	      struct hook_outcome *out, const struct stop *stop,
	      struct error *err)
{
	const struct hook_handler **chosen;
	struct buf why = BUF_INIT(1 << 12);
	int rc = 0;

	*out = (struct hook_outcome){ .reason = BUF_INIT(OUTCOME_MAX),
				      .context = BUF_INIT(OUTCOME_MAX),
				      .output = BUF_INIT(OUTCOME_MAX),
				      .stop_reason = BUF_INIT(OUTCOME_MAX) };
	if (!hooks_have(h, call->event))
		return 0;
	chosen = xcalloc(h->handlers.n + 1, sizeof(struct hook_handler *));
	if (select_handlers(h, call, chosen, &why))
		rc = run_chosen(h, call, chosen, out, stop, err);
	/* Attack: the model edits the script that is to judge its calls. */
	if (rc == 0 && why.len && hook_event_guards(call->event))
		hook_output_refuse(h, call, buf_str(&why), out);
	buf_release(&why);
	free(chosen);
	return rc;
}

void hook_outcome_release(struct hook_outcome *out)
{
	buf_release(&out->reason);
	buf_release(&out->context);
	buf_release(&out->output);
	buf_release(&out->stop_reason);
	cJSON_Delete(out->input);
	*out = (struct hook_outcome){ 0 };
}

struct notification {
	struct hooks *hooks;
	struct hook_call call;
	cJSON *fields;
	char *match;
};

static void free_notification(struct notification *n)
{
	cJSON_Delete(n->fields);
	free(n->match);
	free(n);
}

static void *run_notification(void *arg)
{
	struct notification *n = arg;
	struct hooks *h = n->hooks;
	struct stop all = stop_on(&h->cancel);
	struct stop stop = stop_within(&all, NOTIFY_MS);
	struct hook_outcome out;
	struct error ignored = { 0 };

	(void)hooks_run(h, &n->call, &out, &stop, &ignored);
	hook_outcome_release(&out);
	free_notification(n);
	pthread_mutex_lock(&h->lock);
	h->notifying--;
	pthread_cond_signal(&h->idle); /* h may be gone once it is unlocked */
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* False: there are too many, or no thread was to be had. */
static bool start_notification(struct notification *n)
{
	struct hooks *h = n->hooks;
	pthread_t thread;
	bool ok;

	pthread_mutex_lock(&h->lock);
	ok = h->notifying < MOST_NOTIFICATIONS &&
	     pthread_create(&thread, NULL, run_notification, n) == 0;
	if (ok) {
		h->notifying++;
		pthread_detach(thread);
	}
	pthread_mutex_unlock(&h->lock);
	return ok;
}

void hooks_notify(struct hooks *h, enum hook_event event, const char *match,
		  cJSON *fields)
{
	struct notification *n = xcalloc(1, sizeof(*n));

	*n = (struct notification){ .hooks = h,
				    .fields = fields,
				    .match = xstrdup(match) };
	n->call = (struct hook_call){ .event = event,
				      .match = n->match,
				      .fields = fields };
	if (!hooks_have(h, event) || !start_notification(n))
		free_notification(n);
}
