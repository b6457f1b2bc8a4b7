/* policy.c - the allow list of commands, and the approval of one call. */
/* SPDX-License-Identifier: MIT */
/*
 * First --shell-allow-list: allow_list_permits() parses a command line like a
 * shell and refuses everything that it does not understand. Then the approval
 * of a call: what the user answered, and how the user has edited the call.
 * Whether a call may run is decided by run_decide() in cmd/session/policy.c.
 */
#include "agent/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"

/* The commands that "recommended" stands for: they only read. */
static const char recommended[] =
	"ls,dir,cat,head,tail,grep,wc,strings,cut,tr,diff,md5sum,sha256sum,"
	"pwd,which,uname,hostname,whoami,id,groups,uptime,nproc,lscpu,lsmem,"
	"ps";

/* State of parsing a command line byte by byte, like a shell. */
struct command_scan {
	const struct allow_list *list;
	struct str rest; /* input from the next byte on */
	char before;     /* the byte before rest */
	char quote;      /* the open quote character, or NUL */
	/* first word of the current simple command, with quotes removed */
	struct buf word;
	bool begun; /* word has begun; '' begins an empty one */
	bool done;  /* word is complete */
	bool any;   /* there was at least one simple command */
};

/* Adds a name unless it is in the list. */
static void add_name(struct allow_list *list, struct str name)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_is(name, list->names[i]))
			return;
	list->names = xrealloc(list->names, list->n + 1, sizeof(*list->names));
	list->names[list->n++] = xstrndup(name.ptr, name.len);
}

/* Adds the items of a comma-separated list. "recommended" is replaced by its
 * commands. */
static void add_all(struct allow_list *list, struct str text)
{
	struct str item;

	while (str_split(&text, ',', &item)) {
		item = str_trim(item);
		if (str_is(item, "recommended"))
			add_all(list, str_of(recommended));
		else if (item.len)
			add_name(list, item);
	}
}

int allow_list_parse(struct allow_list *list, const char *text,
		     struct error *err)
{
	struct str trimmed = str_trim(str_of(text));

	*list = (struct allow_list){ .given = true };
	if (str_is(trimmed, "all")) {
		list->all = true;
		return 0;
	}
	add_all(list, trimmed);
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->names[i], "all"))
			return error_set(
				err, ERR_USAGE,
				"Cannot combine 'all' with other commands in "
				"--shell-allow-list. Use '--shell-allow-list "
				"all' alone to allow every command.");
	if (!list->n)
		return error_set(err, ERR_USAGE,
				 "--shell-allow-list contains no command. Use "
				 "a comma list, 'recommended' or 'all'.");
	return 0;
}

void allow_list_release(struct allow_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct allow_list){ 0 };
}

void allow_list_names(const struct allow_list *list, struct buf *out)
{
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			buf_adds(out, ", ");
		buf_adds(out, list->names[i]);
	}
}

static bool is_listed(const struct allow_list *list, struct str word)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_is(word, list->names[i]))
			return true;
	return false;
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static char peek_char(const struct command_scan *s, size_t i)
{
	return i < s->rest.len ? s->rest.ptr[i] : '\0';
}

static void skip_bytes(struct command_scan *s, size_t n)
{
	s->before = s->rest.ptr[n - 1];
	s->rest = str_skip(s->rest, n);
}

/* Adds a byte to the current simple command. Only its first word is stored. */
static void add_byte(struct command_scan *s, char c)
{
	if (!s->done)
		buf_addc(&s->word, c);
	s->begun = true;
}

/* True if a backslash here may be the second byte of a two-byte character, as
 * in GBK and Shift_JIS. Then a shell may not treat it as an escape, so the
 * command is refused. */
static bool may_be_half(const struct command_scan *s)
{
	return (unsigned char)s->before >= 0x80;
}

/* Each scan_ function consumes at least one byte. False: the command line is
 * refused. */
static bool scan_double_quoted(struct command_scan *s)
{
	char c = peek_char(s, 0);
	char next = peek_char(s, 1);

	if (is_one_of(c, "$`!"))
		return false;
	if (c == '"') {
		s->quote = '\0';
	} else if (c == '\\') {
		if (may_be_half(s) || is_one_of(next, "$`!"))
			return false;
		if (is_one_of(next, "\"\\"))
			skip_bytes(s, 1);
		add_byte(s, peek_char(s, 0));
	} else {
		add_byte(s, c);
	}
	skip_bytes(s, 1);
	return true;
}

/* Ends the current simple command. False if its first word is not in the
 * list. */
static bool end_command(struct command_scan *s)
{
	bool ok = !s->begun ||
		  (!s->word.over && is_listed(s->list, buf_str(&s->word)));

	s->any |= s->begun;
	s->begun = s->done = false;
	buf_clear(&s->word);
	return ok;
}

/* Consumes ; |
 * or &&. */
static bool scan_operator(struct command_scan *s)
{
	char c = peek_char(s, 0);
	bool twice = c != ';' && peek_char(s, 1) == c;

	if (c == '&' && (!twice || peek_char(s, 2) == '&'))
		return false;
	skip_bytes(s, twice ? 2 : 1);
	return end_command(s);
}

/* True if a shell expands a "$" that is followed by this byte. */
static bool is_expanded(char after_dollar)
{
	return (after_dollar >= 'a' && after_dollar <= 'z') ||
	       (after_dollar >= 'A' && after_dollar <= 'Z') ||
	       is_one_of(after_dollar, "_({['\"");
}

static bool scan_escaped(struct command_scan *s)
{
	if (may_be_half(s) || s->rest.len < 2 ||
	    is_one_of(peek_char(s, 1), ";|&<>`$"))
		return false;
	add_byte(s, peek_char(s, 1));
	skip_bytes(s, 2);
	return true;
}

/* Consumes the next bytes outside quotes. Refuses substitutions, redirections
 * and subshells. */
static bool scan_unquoted(struct command_scan *s)
{
	char c = peek_char(s, 0);

	if (is_one_of(c, "`<>()") || (c == '$' && is_expanded(peek_char(s, 1))))
		return false;
	if (c == '\\')
		return scan_escaped(s);
	if (is_one_of(c, ";|&"))
		return scan_operator(s);
	if (c == '\'' || c == '"') {
		s->quote = c;
		s->begun = true;
	} else if (c == ' ') {
		s->done |= s->begun;
	} else {
		add_byte(s, c);
	}
	skip_bytes(s, 1);
	return true;
}

static bool scan_byte(struct command_scan *s)
{
	char c = peek_char(s, 0);

	if (s->quote == '"')
		return scan_double_quoted(s);
	if (!s->quote)
		return scan_unquoted(s);
	if (c == '\'')
		s->quote = '\0';
	else
		add_byte(s, c);
	skip_bytes(s, 1);
	return true;
}

/* True if there is a NUL or white space other than spaces. Attack: a shell
 * removes a backslash and the newline after it before it splits words, so
 * "$\<newline>{x}" is an expansion. Such characters are refused everywhere,
 * quoted or not. */
static bool has_control(struct str command)
{
	for (size_t i = 0; i < command.len; i++)
		if (!command.ptr[i] || strchr("\n\r\t\v\f", command.ptr[i]))
			return true;
	return false;
}

bool allow_list_permits(const struct allow_list *list, struct str command)
{
	struct command_scan s = { .list = list,
				  .rest = str_trim(command),
				  .word = BUF_INIT(4096) };
	bool ok = true;

	if (!list->given || !s.rest.len)
		return false;
	if (list->all)
		return true;
	if (has_control(command))
		return false;
	while (ok && s.rest.len)
		ok = scan_byte(&s);
	ok = ok && !s.quote && end_command(&s) && s.any;
	buf_release(&s.word);
	return ok;
}

/* comes before the user's reason in the result for the model */
static const char rejected[] = "User rejected the tool call with reason: ";

enum { MOST_REMARK = 8000 /* bytes of the edited text that are shown */ };

void approval_decline(struct approval *a, struct str why)
{
	a->declined = true;
	if (why.len)
		buf_addf(&a->reason, "%s%.*s", rejected, (int)why.len, why.ptr);
}

bool approval_read_decline(struct str result, struct str *why)
{
	bool given = str_starts(result, rejected);

	*why = given ? str_skip(result, sizeof(rejected) - 1)
		     : (struct str){ 0 };
	return given || str_starts(result, APPROVAL_DECLINED);
}

void approval_clear(struct approval *a)
{
	buf_clear(&a->reason);
	buf_clear(&a->place);
	buf_clear(&a->opens);
	free(a->real_path);
	a->real_path = NULL;
	a->allowed = a->auto_edit = a->declined = false;
	a->file_note = NULL;
	tool_change_release(&a->change);
}

void approval_release(struct approval *a)
{
	approval_clear(a);
	buf_release(&a->reason);
	buf_release(&a->place);
	buf_release(&a->opens);
	cJSON_free(a->edited);
	a->edited = NULL;
	cJSON_Delete(a->edited_args);
	a->edited_args = NULL;
}

const char *approval_editable(const struct approval *a)
{
	if (a->tool->flags & TOOL_RUNS)
		return "command";
	return a->tool->new_arg;
}

/* Returns the call's arguments as JSON, with the one that the user may edit
 * replaced by text. The caller owns it. */
static char *print_edited(const struct approval *a, struct str text)
{
	const char *name = approval_editable(a);
	cJSON *args = cJSON_Duplicate(a->args, true);
	char *value = xstrndup(text.ptr ? text.ptr : "", text.len);
	char *printed;

	cJSON_ReplaceItemInObjectCaseSensitive(args, name,
					       cJSON_CreateString(value));
	printed = cJSON_PrintUnformatted(args);
	free(value);
	cJSON_Delete(args);
	return printed;
}

int approval_edit(struct approval *a, struct str text, struct error *err)
{
	struct buf refusal = BUF_INIT(RESULT_RAW_BYTES);
	struct part call = *a->call;
	cJSON *args;

	if (!str_is_utf8(text) || str_find(text, '\0') < text.len)
		return error_set(err, ERR_USAGE,
				 "the changed text is not UTF-8, so the call "
				 "is unchanged");
	call.args = print_edited(a, text);
	call.bad_args = false;
	args = args_read(a->tool, &call, &refusal);
	buf_release(&refusal);
	if (!args) {
		cJSON_free(call.args);
		return error_set(err, ERR_USAGE,
				 "%s does not accept the changed text, so the "
				 "call is unchanged",
				 a->tool->spec.name);
	}
	cJSON_free(a->edited);
	cJSON_Delete(a->edited_args);
	a->edited = call.args;
	a->args = a->edited_args = args;
	approval_clear(a);
	return 0;
}

void approval_describe_edit(const struct approval *a, const struct mask *m,
			    struct buf *out)
{
	const char *name = approval_editable(a);
	struct str text = str_of(json_string(a->args, name, ""));
	size_t before;

	buf_addf(out, "The user changed this call before it ran. Its %s was:\n",
		 name);
	before = out->len;
	mask_prefix(m, text, MOST_REMARK, out);
	if (text.len > MOST_REMARK)
		buf_addf(out, "\n[the first %zu of %zu bytes]",
			 out->len - before, text.len);
	buf_adds(out, "\n\nThe result of the changed call:\n");
}
