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
				 "--shell-allow-list names no command. Use a "
				 "comma list, 'recommended' or 'all'.");
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

static bool has_any(struct str s, const char *const *needles)
{
	for (; *needles; needles++)
		if (str_search(s, str_of(*needles)) < s.len)
			return true;
	return false;
}

static bool dangerous(struct str s)
{
	static const char *const tokens[] = { "$(", "`", "$'", "$[", "\n", "\r",
					      "\t", "<", ">",  "${", NULL };

	if (has_any(s, tokens) || memchr(s.ptr, '\0', s.len))
		return true;
	for (size_t i = 0; i < s.len; i++) {
		char next = i + 1 < s.len ? s.ptr[i + 1] : '\0';
		bool letter = (next >= 'a' && next <= 'z') ||
			      (next >= 'A' && next <= 'Z') || next == '_';
		bool paired = next == '&' || (i && s.ptr[i - 1] == '&');

		if (s.ptr[i] == '$' && letter)
			return true;
		if (s.ptr[i] == '&' && !paired)
			return true;
	}
	return false;
}

/*
 * The first word as a POSIX shell would see it, quotes and backslashes
 * removed; false when a quote stays open anywhere in the segment, and for an
 * unquoted parenthesis: "ls () (rm f)" gives ls another meaning.
 */
static bool first_word(struct str s, struct buf *word)
{
	char quote = '\0';
	bool done = false;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (quote == '\0' && (c == '\'' || c == '"')) {
			quote = c;
		} else if (c == quote) {
			quote = '\0';
		} else if (c == '\\' && quote != '\'') {
			if (++i == s.len)
				return false;
			if (!done)
				buf_addc(word, s.ptr[i]);
		} else if (quote == '\0' && (c == '(' || c == ')')) {
			return false;
		} else if (c == ' ' && quote == '\0') {
			done = done || word->len;
		} else if (!done) {
			buf_addc(word, c);
		}
	}
	return quote == '\0';
}

static bool listed(const struct allow_list *list, struct str word)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_is(word, list->names[i]))
			return true;
	return false;
}

/* Bytes up to the next && || | ; (quoting ignored), *skip of the operator. */
static size_t segment(struct str s, size_t *skip)
{
	for (size_t i = 0; i < s.len; i++) {
		char next = i + 1 < s.len ? s.ptr[i + 1] : '\0';

		*skip = s.ptr[i] == next ? 2 : 1;
		if (s.ptr[i] == ';' || s.ptr[i] == '|')
			return i;
		if (s.ptr[i] == '&')
			return i;
	}
	*skip = 0;
	return s.len;
}

bool allow_list_permits(const struct allow_list *list, struct str command)
{
	bool any = false;

	command = str_trim(command);
	if (!list->given || !command.len)
		return false;
	if (list->all)
		return true;
	if (dangerous(command))
		return false;
	while (command.len) {
		struct buf word = BUF_INIT(4096);
		size_t skip;
		size_t len = segment(command, &skip);
		struct str part = str_trim((struct str){ command.ptr, len });
		bool ok = true;

		if (part.len) {
			ok = first_word(part, &word) && !word.over &&
			     listed(list, buf_str(&word));
			any = true;
		}
		buf_release(&word);
		if (!ok)
			return false;
		command = str_skip(command, len + skip);
	}
	return any;
}
