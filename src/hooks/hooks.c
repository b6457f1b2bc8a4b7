/* hooks.c - runs the user's commands at events. */
/* SPDX-License-Identifier: MIT */
/*
 * Four parts. The wire format: names of tools and arguments as hooks for Claude
 * Code expect them. Answers: checks and masks what a hook printed, and adds it
 * to the event's outcome. Loading: reads the user's and the project's
 * hooks.json, and asks whether the project's is allowed. Running: begin reading
 * at hooks_run(). hooks_file.c parses hooks.json.
 */
#include "hooks/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/project.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "hooks/hooks_file.h"

struct hooks {
	struct hooks_source src;
	char *user_file, *project_file, *root, *cwd; /* owned */
	struct hook_list handlers;
	/* owned; per handler: the user was warned that it cannot be run */
	bool *told;
	/* the whole project file as the user has allowed it */
	struct buf project_text;
	char **user_env, **project_env; /* owned */
	char *session;                  /* owned, or NULL */
	const char *(*mode)(void *arg);
	void *mode_arg;
	struct cancel cancel; /* cancels running notifications */
	/* guards session, mode, notifying, told and the creation of the two
	 * environments */
	pthread_mutex_t lock;
	pthread_cond_t idle; /* signalled when notifying decreases */
	size_t notifying;    /* number of notification threads */
};

/* One hook of an event while it runs. */
struct hook_process {
	const struct hook_handler *handler;
	struct proc_run run;
	char *program; /* owned */
	char *shell[4];
};

/* How the value of an argument is converted between dcode's tools and Claude
 * Code's. */
enum conversion { AS_IT_IS, MILLISECONDS, FROM_ONE, PATTERN };

struct wire_field {
	const char *ours, *wire;
	enum conversion how;
};

struct wire_tool {
	const char *ours, *wire;
	struct wire_field fields[7];
};

static const struct wire_tool table[] = {
	{ "execute",
	  "Bash",
	  { { "command", "command", AS_IT_IS },
	    { "timeout", "timeout", MILLISECONDS } } },
	{ "write_file",
	  "Write",
	  { { "file_path", "file_path", AS_IT_IS },
	    { "content", "content", AS_IT_IS } } },
	{ "edit_file",
	  "Edit",
	  { { "file_path", "file_path", AS_IT_IS },
	    { "old_string", "old_string", AS_IT_IS },
	    { "new_string", "new_string", AS_IT_IS },
	    { "replace_all", "replace_all", AS_IT_IS } } },
	{ "read_file",
	  "Read",
	  { { "file_path", "file_path", AS_IT_IS },
	    { "offset", "offset", FROM_ONE },
	    { "limit", "limit", AS_IT_IS } } },
	{ "glob",
	  "Glob",
	  { { "pattern", "pattern", AS_IT_IS },
	    { "path", "path", AS_IT_IS } } },
	{ "grep",
	  "Grep",
	  { { "pattern", "pattern", PATTERN },
	    { "path", "path", AS_IT_IS },
	    { "glob", "glob", AS_IT_IS },
	    { "output_mode", "output_mode", AS_IT_IS },
	    { "max_count", "head_limit", AS_IT_IS } } },
	{ "ls", "LS", { { "path", "path", AS_IT_IS } } },
};

static const char special[] = "\\.^$*+?{}[]|()";

static const struct wire_tool *find_wire_tool(const char *tool)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].ours, tool))
			return &table[i];
	return NULL;
}

const char *hook_tool_name(const char *tool)
{
	const struct wire_tool *t = find_wire_tool(tool);

	return t ? t->wire : tool;
}

/* Escapes literal text: Claude Code's Grep takes a regular expression. */
static cJSON *escape_pattern(const char *text)
{
	struct buf out = BUF_INIT(1 << 20);
	cJSON *item;

	for (; *text; text++) {
		if (strchr(special, *text))
			buf_addc(&out, '\\');
		buf_addc(&out, *text);
	}
	item = cJSON_CreateString(out.len ? out.ptr : "");
	buf_release(&out);
	return item;
}

/* Reverses escape_pattern(), for arguments that a hook has changed. */
static cJSON *unescape_pattern(const char *text)
{
	struct buf out = BUF_INIT(1 << 20);
	cJSON *item;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] && strchr(special, text[1]))
			text++;
		buf_addc(&out, *text);
	}
	item = cJSON_CreateString(out.len ? out.ptr : "");
	buf_release(&out);
	return item;
}

/* Converts the value of an argument to Claude Code's unit, or back. */
static cJSON *convert_value(const cJSON *value, enum conversion how,
			    bool to_wire)
{
	if (cJSON_IsNumber(value) && how == MILLISECONDS)
		return cJSON_CreateNumber(to_wire ? value->valuedouble * 1000
						  : value->valuedouble / 1000);
	if (cJSON_IsNumber(value) && how == FROM_ONE)
		return cJSON_CreateNumber(value->valuedouble +
					  (to_wire ? 1 : -1));
	if (cJSON_IsString(value) && how == PATTERN)
		return to_wire ? escape_pattern(value->valuestring)
			       : unescape_pattern(value->valuestring);
	return cJSON_Duplicate(value, true);
}

cJSON *hook_tool_input(const char *tool, const cJSON *args)
{
	const struct wire_tool *t = find_wire_tool(tool);
	cJSON *input;

	if (!t)
		return cJSON_Duplicate(args, true);
	input = cJSON_CreateObject();
	for (const struct wire_field *f = t->fields; f->ours; f++) {
		const cJSON *value = json_get(args, f->ours);

		if (value && !cJSON_IsNull(value))
			cJSON_AddItemToObject(
				input, f->wire,
				convert_value(value, f->how, true));
	}
	return input;
}

cJSON *hook_tool_args(const char *tool, const cJSON *args, const cJSON *input)
{
	const struct wire_tool *t = find_wire_tool(tool);
	cJSON *changed;

	if (!t)
		return cJSON_Duplicate(input, true);
	changed = cJSON_Duplicate(args, true);
	for (const struct wire_field *f = t->fields; f->ours; f++) {
		const cJSON *value = json_get(input, f->wire);

		cJSON_DeleteItemFromObjectCaseSensitive(changed, f->ours);
		if (value && !cJSON_IsNull(value))
			cJSON_AddItemToObject(
				changed, f->ours,
				convert_value(value, f->how, false));
	}
	return changed;
}

enum {
	SHOWN = 60,       /* bytes of a command in messages */
	SAID_SHOWN = 400, /* bytes of a hook's standard error in messages */
	LINE_MAX = 4096,
	MASKED_MAX = 4 * HOOK_OUTPUT_MAX,
};

/* Exit statuses of a shell and of env(1) if a program cannot be executed or is
 * not found (POSIX.1-2017, XCU 2.8.2). */
enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* Appends the first `most` bytes of the text, masked. */
static void add_masked_prefix(const struct hooks *h, struct str text,
			      size_t most, struct buf *out)
{
	mask_prefix(h->src.mask, text, most, out);
}

/* Shows a formatted line to the user, masked and without control characters. */
__attribute__((format(printf, 3, 4))) static void
show_notice(struct hooks *h, const struct hook_call *call, const char *fmt, ...)
{
	struct buf clean = BUF_INIT(MASKED_MAX);
	struct buf shown = BUF_INIT(LINE_MAX);
	char *line;
	va_list ap;

	if (!call->notice)
		return;
	line = xcalloc(1, MASKED_MAX);
	va_start(ap, fmt);
	vsnprintf(line, MASKED_MAX, fmt, ap);
	va_end(ap);
	sanitize_line(str_of(line), &clean);
	add_masked_prefix(h, buf_str(&clean), LINE_MAX, &shown);
	call->notice(call->arg, shown.len ? shown.ptr : "");
	buf_release(&shown);
	buf_release(&clean);
	free(line);
}

/* Appends untrusted text on a new line, masked, without escape sequences. */
static void add_clean(const struct hooks *h, struct str text, struct buf *out)
{
	struct buf clean = BUF_INIT(2 * HOOK_OUTPUT_MAX);

	sanitize_text(str_trim(text), &clean);
	if (clean.len && out->len)
		buf_addc(out, '\n');
	add_masked_prefix(h, buf_str(&clean), clean.len, out);
	buf_release(&clean);
}

/* Appends "hook PreToolUse (check.sh) of /home/me/.deepagents/hooks.json". */
static void describe_hook(const struct hooks *h, const struct hook_call *call,
			  const struct hook_process *p, struct buf *out)
{
	const struct hook_handler *x = p->handler;
	const char *command = x->command ? x->command
			      : x->argv  ? x->argv[0]
					 : "";

	buf_addf(out, "hook %s (", hook_event_name(call->event));
	add_masked_prefix(h, str_of(command), SHOWN, out);
	buf_addf(out, ") of %s", x->project ? h->project_file : h->user_file);
}

/* Shows a notice about the hook that begins with its description. */
static void report_hook(struct hooks *h, const struct hook_call *call,
			const struct hook_process *p, const char *what)
{
	struct buf name = BUF_INIT(LINE_MAX);

	describe_hook(h, call, p, &name);
	show_notice(h, call, "%s: %s", name.len ? name.ptr : "", what);
	buf_release(&name);
}

/* Appends why a hook failed: "exit status 3: no such file". */
static void describe_failure(const struct hooks *h,
			     const struct hook_process *p, struct buf *out)
{
	struct str said = str_trim(buf_str(&p->run.err));

	if (p->run.failed.code) {
		buf_adds(out, p->run.failed.message);
	} else if (p->run.timed_out) {
		buf_addf(out, "killed: it took longer than %g s (timeout)",
			 (double)p->handler->timeout_ms / 1000);
	} else {
		buf_addf(out, "exit status %d%s", p->run.status,
			 said.len ? ": " : "");
		add_masked_prefix(h, said, SAID_SHOWN, out);
	}
}

/* Shows why a hook failed. */
static void report_failure(struct hooks *h, const struct hook_call *call,
			   const struct hook_process *p)
{
	struct buf what = BUF_INIT(LINE_MAX);

	describe_failure(h, p, &what);
	report_hook(h, call, p, what.len ? what.ptr : "");
	buf_release(&what);
}

/* Sets the permission and its reason, unless an earlier one is as strict. */
static void set_permission(struct hooks *h, struct hook_outcome *out,
			   enum hook_permission permission, struct str reason)
{
	if (permission <= out->permission)
		return;
	out->permission = permission;
	buf_clear(&out->reason);
	add_clean(h, reason, &out->reason);
}

/* Applies exit status 2 or the decision "block" to the event. p: the hook that
 * decided; NULL: dcode itself decides, because the project's hooks may not
 * run. */
static void block_event(struct hooks *h, const struct hook_call *call,
			const struct hook_process *p, struct str reason,
			struct hook_outcome *out)
{
	switch (call->event) {
	case HOOK_PRE_TOOL_USE:
	case HOOK_PERMISSION_REQUEST:
		set_permission(h, out, HOOK_DENY, reason);
		return;
	case HOOK_USER_PROMPT_SUBMIT:
	case HOOK_POST_TOOL_USE:
	case HOOK_POST_TOOL_USE_FAILURE:
	case HOOK_PRE_COMPACT:
	case HOOK_STOP:
		out->blocked = true;
		add_clean(h, reason, &out->reason);
		return;
	case HOOK_SUBAGENT_STOP:
		add_clean(h, reason, &out->context);
		return;
	default:
		if (p)
			report_failure(h, call, p);
	}
}

/* True if the hook did not start or its program was not found. */
static bool could_not_run(const struct hook_process *p)
{
	return p->run.failed.code ||
	       (!p->run.timed_out && (p->run.status == NOT_EXECUTABLE ||
				      p->run.status == NOT_FOUND));
}

/* True on the first call for this handler. */
static bool is_first_report(struct hooks *h, const struct hook_handler *x)
{
	bool first = true;

	pthread_mutex_lock(&h->lock);
	if (h->told) {
		bool *told = &h->told[x - h->handlers.list];

		first = !*told;
		*told = true;
	}
	pthread_mutex_unlock(&h->lock);
	return first;
}

/* Handles a hook that gave no verdict: it could not be run, which is reported
 * once, or was too slow. A guard refuses the event then. */
static void handle_unjudged(struct hooks *h, const struct hook_call *call,
			    const struct hook_process *p,
			    struct hook_outcome *out)
{
	struct buf why = BUF_INIT(LINE_MAX);
	bool slow = p->run.timed_out;

	if (slow || is_first_report(h, p->handler))
		report_failure(h, call, p);
	if (hook_event_guards(call->event)) {
		describe_hook(h, call, p, &why);
		buf_adds(&why, slow ? ": " : " could not run: ");
		describe_failure(h, p, &why);
		block_event(h, call, p, buf_str(&why), out);
	}
	buf_release(&why);
}

static enum hook_permission permission_of(const char *word)
{
	if (!strcmp(word, "allow"))
		return HOOK_ALLOW;
	if (!strcmp(word, "ask"))
		return HOOK_ASK;
	return !strcmp(word, "deny") ? HOOK_DENY : HOOK_NO_OPINION;
}

/* Adds the members of "hookSpecificOutput". If several hooks change arguments
 * or output, only the first one counts: changes are not merged. */
static void add_specific(struct hooks *h, const struct hook_call *call,
			 const struct hook_process *p, const cJSON *own,
			 const char *reason, struct hook_outcome *out)
{
	const char *event = json_string(own, "hookEventName", NULL);
	const cJSON *input = json_get(own, "updatedInput");
	const char *output = json_string(own, "updatedToolOutput", NULL);

	if (!own)
		return;
	if (event && strcmp(event, hook_event_name(call->event)) != 0) {
		report_hook(h, call, p,
			    "hookSpecificOutput is for another event: ignored");
		return;
	}
	add_clean(h, str_of(json_string(own, "additionalContext", "")),
		  &out->context);
	if (call->event == HOOK_PRE_TOOL_USE ||
	    call->event == HOOK_PERMISSION_REQUEST)
		set_permission(
			h, out,
			permission_of(
				json_string(own, "permissionDecision", "")),
			str_of(json_string(own, "permissionDecisionReason",
					   reason)));
	if (cJSON_IsObject(input) && !out->input)
		out->input = cJSON_Duplicate(input, true);
	if (output && !out->has_output &&
	    (call->event == HOOK_POST_TOOL_USE ||
	     call->event == HOOK_POST_TOOL_USE_FAILURE)) {
		out->has_output = true;
		add_clean(h, str_of(output), &out->output);
	}
}

/* True if s has no control characters, not even C1 ones, which are two bytes in
 * UTF-8: some terminals would end the sequence at one and begin another. */
static bool all_printable(struct str s)
{
	struct buf clean = BUF_INIT(MASKED_MAX);
	bool same;

	sanitize_line(s, &clean);
	same = str_eq(buf_str(&clean), s);
	buf_release(&clean);
	return same;
}

/* True for BEL, and for sequences that only set a title or show a notification.
 * Other sequences could draw, type for the user or read the clipboard. */
static bool is_harmless_sequence(struct str s)
{
	static const char *const numbers[] = { "0;", "1;",  "2;",
					       "9;", "99;", "777;" };

	if (str_is(s, "\a"))
		return true;
	if (!str_starts(s, "\033]"))
		return false;
	s = str_skip(s, 2);
	if (str_ends(s, "\a"))
		s.len -= 1;
	else if (str_ends(s, "\033\\"))
		s.len -= 2;
	else
		return false;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (str_starts(s, numbers[i]))
			return all_printable(s);
	return false;
}

/* Passes "terminalSequence" to the terminal if it is harmless. */
static void add_terminal(struct hooks *h, const struct hook_call *call,
			 const struct hook_process *p, const char *sequence)
{
	if (!sequence)
		return;
	if (!is_harmless_sequence(str_of(sequence)))
		report_hook(
			h, call, p,
			"terminalSequence may only be BEL, or OSC 0, 1, 2, 9, "
			"99 or 777: ignored");
	else if (call->terminal)
		call->terminal(call->arg, sequence);
}

/* Handles "continue": false, which ends the run. Stores the first reason. */
static void add_stop(struct hooks *h, const struct hook_call *call,
		     const struct hook_process *p, const cJSON *said,
		     struct hook_outcome *out)
{
	const char *reason = json_string(said, "stopReason", "");

	if (json_bool(said, "continue", true)) {
		if (reason[0])
			report_hook(h, call, p,
				    "stopReason without \"continue\": false is "
				    "ignored");
		return;
	}
	if (!out->stop)
		add_clean(h, str_of(reason), &out->stop_reason);
	out->stop = true;
}

/* Adds the members that all events have, then those of this event. */
static void add_json_answer(struct hooks *h, const struct hook_call *call,
			    const struct hook_process *p, const cJSON *said,
			    struct hook_outcome *out)
{
	const char *message = json_string(said, "systemMessage", NULL);
	const char *decision = json_string(said, "decision", "");
	const char *reason = json_string(said, "reason", "");

	if (message)
		show_notice(h, call, "%s", message);
	add_terminal(h, call, p, json_string(said, "terminalSequence", NULL));
	add_stop(h, call, p, said, out);
	if (!strcmp(decision, "block"))
		block_event(h, call, p, str_of(reason), out);
	else if (decision[0])
		report_hook(h, call, p, "decision must be \"block\": ignored");
	add_specific(h, call, p, json_get(said, "hookSpecificOutput"), reason,
		     out);
}

/* Parses the output of a hook with exit status 0: a JSON object. For two events
 * it may be plain text, which the model gets. */
static void parse_answer(struct hooks *h, const struct hook_call *call,
			 const struct hook_process *p, struct hook_outcome *out)
{
	struct str text = str_trim(buf_str(&p->run.out));
	cJSON *said;

	if (!text.len)
		return;
	said = text.ptr[0] == '{' ? json_parse_repaired(text) : NULL;
	if (cJSON_IsObject(said))
		add_json_answer(h, call, p, said, out);
	else if (call->event == HOOK_SESSION_START ||
		 call->event == HOOK_USER_PROMPT_SUBMIT)
		add_clean(h, text, &out->context);
	else
		report_hook(h, call, p, "Hook output is not valid JSON");
	cJSON_Delete(said);
}

/* True if the JSON answer of a guard was cut off. Attack: a call is made so
 * long that the guard's reason, which repeats it, is longer than dcode reads,
 * and the refusal is lost. */
static bool is_cut_verdict(const struct hook_call *call,
			   const struct hook_process *p)
{
	return hook_event_guards(call->event) && p->run.out.over &&
	       str_starts(str_trim(buf_str(&p->run.out)), "{");
}

/* Adds one hook's answer to the outcome of the event. */
static void add_answer(struct hooks *h, const struct hook_call *call,
		       const struct hook_process *p, struct hook_outcome *out)
{
	struct str said = str_trim(buf_str(&p->run.err));

	if (p->run.out.over || p->run.err.over)
		report_hook(h, call, p,
			    "it printed more than 100 kB: the rest is ignored");
	if (could_not_run(p) || p->run.timed_out)
		handle_unjudged(h, call, p, out);
	else if (p->run.status == 2)
		block_event(h, call, p,
			    said.len ? said : STR("blocked by a hook"), out);
	else if (p->run.status != 0)
		report_failure(h, call, p);
	else if (is_cut_verdict(call, p))
		block_event(h, call, p,
			    STR("the hook's answer is longer than 100 kB"),
			    out);
	else
		parse_answer(h, call, p, out);
}

enum {
	INPUT_MAX = 64 << 20,
	OUTCOME_MAX = 1 << 20,
	MOST_NOTIFICATIONS = 16, /* notifications that may run at once */
	NOTIFY_MS = 600000,
};

struct notification {
	struct hooks *hooks;
	struct hook_call call;
	cJSON *fields;
	char *match;
};

/* Reads a hooks.json. Returns 1 when it was read, 0 if it does not exist, -1
 * with err. A link whose target is missing is an error. */
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
	/* Another user's file is ignored: it must not restrict this user. */
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

/* Collects the words of all commands in the project's file, for its fingerprint
 * in trust. words NULL: only counts. Returns the number of words. */
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

/* Returns the trust entry of the project's file; the caller sets the words.
 * Borrowed from h. */
static struct trust_entry project_entry(const struct hooks *h)
{
	return (struct trust_entry){ .kind = TRUST_HOOK,
				     .root = h->root,
				     .dir = h->cwd,
				     .file = h->project_file,
				     .name = "hooks.json",
				     .text = buf_str(&h->project_text) };
}

/* Sets the entry's words to those of one hook: its shell command or argv. */
static void set_words(struct trust_entry *e, const struct hook_handler *x)
{
	e->words = x->argv ? (const char *const *)x->argv
			   : (const char *const *)&x->command;
	e->n_words = x->command != NULL;
	while (x->argv && x->argv[e->n_words])
		e->n_words++;
}

/* True if a hook of the project names no file of the project. Then trust cannot
 * detect that the code it runs was changed. */
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

/* Checks the whole file as one entry: if there was one question per hook, the
 * user would stop reading them. *verdict: TRUST_ALLOWED, or why not. ask: the
 * user may be asked. */
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

/* Removes the project's handlers, because the project was not allowed. */
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

/* Tells the user which code the file's hooks may run without naming it: of
 * runners such as npx, which look in the start directory and, for a project, of
 * hooks that name no file of the project. */
static void report_project_code(const struct hooks *h, const char *file,
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
			 "hooks of %s run %s, which may load code from %s, the "
			 "directory in which hooks start",
			 file, runners.ptr, h->cwd);
	if (line.len)
		h->src.tell(line.ptr);
	if (project && has_unnamed(h, path)) {
		buf_clear(&line);
		buf_addf(&line,
			 "a hook of %s does not name a project file, so dcode "
			 "does not ask again when project files change",
			 file);
		h->src.tell(line.ptr);
	}
	free(path);
	buf_release(&runners);
	buf_release(&line);
}

/* Parses the project's file and asks the user about it. Its patterns are
 * compiled only if it is allowed: see hook_list_compile(). */
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
			report_project_code(h, h->project_file, true);
	} else {
		drop_project(&h->handlers);
	}
	buf_release(&why);
	return rc;
}

/* Loads the user's own file, which needs no permission. */
static int load_user(struct hooks *h, struct str text, struct error *err)
{
	const struct hook_file file = { h->user_file, false, h->src.warn };

	if (hook_file_parse(&h->handlers, text, &file, err) < 0)
		return -1;
	hook_list_compile(&h->handlers, &file);
	if (h->src.tell)
		report_project_code(h, h->user_file, false);
	return 0;
}

/* Handles a file that cannot be used. Returns 0 to continue without it, -1 with
 * err. The project's file is an error only if the user has ever allowed hooks
 * of this project: a repository that the user only looks at must not keep dcode
 * from starting. */
static int handle_unusable_file(const struct hooks_source *src, bool project,
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

/* Returns 1 when the file was read, 0 to continue without it, -1 with err. */
static int read_or_do_without(const struct hooks_source *src, bool project,
			      struct buf *text, struct error *err)
{
	int rc = read_file(src, project, text, err);

	return rc < 0 ? handle_unusable_file(src, project, err) : rc;
}

int hooks_load(struct hooks **out, const struct hooks_source *src,
	       struct error *err)
{
	struct buf project = BUF_INIT(HOOK_FILE_MAX);
	struct buf user = BUF_INIT(HOOK_FILE_MAX);
	int has_project = 0;
	int has_user = read_or_do_without(src, false, &user, err);
	struct hooks *h = NULL;
	int rc = has_user < 0 ? -1 : 0;

	*out = NULL;
	/* In the home directory both names are the same file: it is the
	 * user's. */
	if (rc == 0 &&
	    !(has_user && path_is_same(src->user_file, src->project_file)))
		has_project = read_or_do_without(src, true, &project, err);
	if (has_project < 0)
		rc = -1;
	if (rc == 0 && (has_project || has_user)) {
		h = make_hooks(src);
		h->project_text = project;
		project = (struct buf){ 0 };
	}
	if (rc == 0 && has_project && load_project(h, err) < 0)
		rc = handle_unusable_file(src, true, err);
	if (rc == 0 && has_user && load_user(h, buf_str(&user), err) < 0)
		rc = handle_unusable_file(src, false, err);
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

/* Returns the JSON object for a hook's standard input. The caller owns it. */
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

/* Returns the environment of a hook, which is made when first needed. Hooks of
 * a project get no keys. The user's own hooks get all exported variables. */
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

/* Returns the absolute path of a program, or NULL. A relative name with a slash
 * can only come from a project's file: see hook_program.h. */
static char *find_program(const struct hooks *h, const char *name)
{
	if (strchr(name, '/'))
		return path_join(h->cwd, name);
	return proc_find(name, settings_exported(h->src.settings, "PATH"));
}

/* Prepares the process of a hook. If it cannot start, proc_run_all() skips it
 * and run.failed says why. */
static void prepare_process(struct hooks *h, const struct hook_handler *x,
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
			  p->run.argv[0]);
}

/* Selects the handlers that match and may run. Returns their number. If hooks
 * of the project match but may not run, appends the reason to why. */
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
		/* check again: the project's files may have changed since */
		if (x->project && verdict == TRUST_ASK)
			(void)check_project(h, false, &verdict, why, &ignored);
		if (x->project && verdict != TRUST_ALLOWED) {
			show_notice(h, call, "%s", why->ptr);
			verdict = TRUST_REFUSED;
			continue;
		}
		chosen[n++] = x;
	}
	return n;
}

/* Runs the chosen handlers (NULL-terminated) in parallel and adds their answers
 * in the order of the files. */
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
		prepare_process(h, chosen[i], buf_str(&input), &list[i]);
		runs[i] = &list[i].run;
		if (chosen[i]->status)
			show_notice(h, call, "%s", chosen[i]->status);
	}
	rc = proc_run_all(runs, n, stop, err);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			add_answer(h, call, &list[i], out);
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
	/* Attack: the model edits the script that is meant to judge its calls.
	 * Then the script may not run, and the event is refused. */
	if (rc == 0 && why.len && hook_event_guards(call->event))
		block_event(h, call, NULL, buf_str(&why), out);
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

static void free_notification(struct notification *n)
{
	cJSON_Delete(n->fields);
	free(n->match);
	free(n);
}

/* Thread of a notification: runs its hooks, so that the agent need not wait. */
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
	/* unlock last: hooks_free() may free h after that */
	pthread_cond_signal(&h->idle);
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* Starts the thread of a notification. False if too many are running, or the
 * thread could not be started. */
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
