/* allow_list.c - which shell commands may run without asking. */
/* SPDX-License-Identifier: MIT */
#include "agent/allow_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* What "recommended" stands for: commands that only look. */
static const char recommended[] =
	"ls,dir,cat,head,tail,grep,wc,strings,cut,tr,diff,md5sum,sha256sum,"
	"pwd,which,uname,hostname,whoami,id,groups,uptime,nproc,lscpu,lsmem,"
	"ps";

static void add(struct allow_list *list, struct str name)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_is(name, list->names[i]))
			return;
	list->names = xrealloc(list->names, list->n + 1, sizeof(*list->names));
	list->names[list->n++] = xstrndup(name.ptr, name.len);
}

static void add_all(struct allow_list *list, struct str text)
{
	struct str item;

	while (str_split(&text, ',', &item)) {
		item = str_trim(item);
		if (str_is(item, "recommended"))
			add_all(list, str_of(recommended));
		else if (item.len)
			add(list, item);
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

static bool listed(const struct allow_list *list, struct str word)
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

/* A command line as a shell reads it, byte by byte. */
struct command_scan {
	const struct allow_list *list;
	struct str rest; /* from the next byte on */
	char before;     /* the byte before that */
	char quote;      /* the quote that is open, or NUL */
	struct buf word; /* first word of the simple command, unquoted */
	bool begun;      /* that word has begun, maybe empty: '' */
	bool done;       /* it has ended */
	bool any;        /* there was a simple command */
};

static char peek(const struct command_scan *s, size_t i)
{
	return i < s->rest.len ? s->rest.ptr[i] : '\0';
}

static void skip(struct command_scan *s, size_t n)
{
	s->before = s->rest.ptr[n - 1];
	s->rest = str_skip(s->rest, n);
}

static void add_byte(struct command_scan *s, char c)
{
	if (!s->done)
		buf_addc(&s->word, c);
	s->begun = true;
}

/* In the charsets of some locales (GBK, Shift_JIS) a backslash can be the
 * second byte of a character: then it escapes nothing. */
static bool may_be_half(const struct command_scan *s)
{
	return (unsigned char)s->before >= 0x80;
}

static bool take_double_quoted(struct command_scan *s)
{
	char c = peek(s, 0);
	char next = peek(s, 1);

	if (is_one_of(c, "$`!"))
		return false;
	if (c == '"') {
		s->quote = '\0';
	} else if (c == '\\') {
		if (may_be_half(s) || is_one_of(next, "$`!"))
			return false;
		if (is_one_of(next, "\"\\"))
			skip(s, 1);
		add_byte(s, peek(s, 0));
	} else {
		add_byte(s, c);
	}
	skip(s, 1);
	return true;
}

static bool end_command(struct command_scan *s)
{
	bool ok = !s->begun ||
		  (!s->word.over && listed(s->list, buf_str(&s->word)));

	s->any |= s->begun;
	s->begun = s->done = false;
	buf_clear(&s->word);
	return ok;
}

/* ; | || && */
static bool take_operator(struct command_scan *s)
{
	char c = peek(s, 0);
	bool twice = c != ';' && peek(s, 1) == c;

	if (c == '&' && (!twice || peek(s, 2) == '&'))
		return false;
	skip(s, twice ? 2 : 1);
	return end_command(s);
}

static bool is_expanded(char after_dollar)
{
	return (after_dollar >= 'a' && after_dollar <= 'z') ||
	       (after_dollar >= 'A' && after_dollar <= 'Z') ||
	       is_one_of(after_dollar, "_({['\"");
}

static bool take_escaped(struct command_scan *s)
{
	if (may_be_half(s) || s->rest.len < 2 ||
	    is_one_of(peek(s, 1), ";|&<>`$"))
		return false;
	add_byte(s, peek(s, 1));
	skip(s, 2);
	return true;
}

static bool take_unquoted(struct command_scan *s)
{
	char c = peek(s, 0);

	if (is_one_of(c, "`<>()") || (c == '$' && is_expanded(peek(s, 1))))
		return false;
	if (c == '\\')
		return take_escaped(s);
	if (is_one_of(c, ";|&"))
		return take_operator(s);
	if (c == '\'' || c == '"') {
		s->quote = c;
		s->begun = true;
	} else if (c == ' ') {
		s->done |= s->begun;
	} else {
		add_byte(s, c);
	}
	skip(s, 1);
	return true;
}

static bool take_byte(struct command_scan *s)
{
	char c = peek(s, 0);

	if (s->quote == '"')
		return take_double_quoted(s);
	if (!s->quote)
		return take_unquoted(s);
	if (c == '\'')
		s->quote = '\0';
	else
		add_byte(s, c);
	skip(s, 1);
	return true;
}

/* A shell removes a backslash with the line end behind it before it looks for
 * words, so "$\<newline>{x}" is an expansion: no state of the scan may see one.
 */
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
		ok = take_byte(&s);
	ok = ok && !s.quote && end_command(&s) && s.any;
	buf_release(&s.word);
	return ok;
}
