/* manual.c - finds and renders the pages of cmd/manual. */
/* SPDX-License-Identifier: MIT */
/*
 * The Makefile turns each page of cmd/manual into a row of manual_pages[]. A
 * page is only parsed when it is shown. manual_render() rewrites links between
 * files, which only work on a web page, and passes the rest to the chat's
 * Markdown renderer.
 */
#include "cmd/manual.h"

#include <ctype.h>

#include "base/str.h"
#include "cmd/command.h"
#include "markup/markdown_render.h"

enum { PAGE_MOST = 1 << 20, NAMES_MOST = 128 };

const struct manual_page manual_pages[] = {
#include "cmd/manual.inc"
	{ 0 },
};

static struct str page_text(const struct manual_page *page)
{
	return (struct str){ (const char *)page->text, page->len };
}

/* Returns the first line without "# ". */
static struct str first_line(const struct manual_page *page)
{
	struct str rest = page_text(page);
	struct str line = { 0 };

	(void)str_split(&rest, '\n', &line);
	return str_skip(line, sizeof("# ") - 1);
}

int manual_section(const struct manual_page *page)
{
	struct str line = first_line(page);
	size_t at = str_find(line, '(');

	return at + 2 < line.len && isdigit((unsigned char)line.ptr[at + 1]) &&
			       line.ptr[at + 2] == ')'
		       ? line.ptr[at + 1] - '0'
		       : 0;
}

struct str manual_summary(const struct manual_page *page)
{
	struct str line = first_line(page);
	size_t at = str_search(line, STR("): "));

	return at < line.len ? str_skip(line, at + sizeof("): ") - 1) : line;
}

const struct manual_page *manual_find(const char *topic)
{
	struct str name = str_of(topic);

	name.len = str_find(name, '(');
	if (str_starts(name, "dcode-") || str_starts(name, "dcode."))
		name = str_skip(name, sizeof("dcode-") - 1);
	if (str_is(name, "config.toml"))
		name = STR("toml");
	for (const struct manual_page *p = manual_pages; p->name; p++)
		if (str_is(name, p->name))
			return p;
	return NULL;
}

/* True if the text of a link is just the name of the page that it leads to. */
static bool is_name_of(struct str text, struct str topic)
{
	if (str_starts(text, "dcode-") || str_starts(text, "dcode."))
		text = str_skip(text, sizeof("dcode-") - 1);
	text.len = str_find(text, '(');
	return str_eq(text, topic);
}

/* Parses the target of a link: "models.md)" or "models.md#keys)". *topic is
 * "models"; *len is the number of bytes up to and including
 * the bracket. */
static bool read_target(struct str s, struct str *topic, size_t *len)
{
	size_t end = str_find(s, ')');
	struct str target = { s.ptr, end };
	size_t dot;

	target.len = str_find(target, '#');
	dot = target.len < 3 ? 0 : target.len - 3;
	if (end == s.len || !str_ends(target, ".md") ||
	    str_find(target, '/') < target.len)
		return false;
	*topic = (struct str){ s.ptr, dot };
	*len = end + 1;
	return true;
}

/* Appends a link as text. listed: it is in "See also", where only the command
 * is printed. */
static void add_link(struct str shown, struct str topic, const char *command,
		     bool listed, struct buf *out)
{
	bool named = listed && is_name_of(shown, topic);

	if (!named)
		buf_addstr(out, shown);
	buf_addf(out, named ? "`%s %.*s`" : " (`%s %.*s`)", command,
		 (int)topic.len, topic.ptr);
}

/* Appends text with its links rewritten: "[models](models.md)" becomes "models
 * (`dcode help models`)". */
static void add_prose(struct str text, const char *command, bool listed,
		      struct buf *out)
{
	size_t open = text.len; /* index of the last "[" */
	size_t done = 0;
	struct str topic;
	size_t len;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '[')
			open = i;
		if (open >= i || !str_starts(str_skip(text, i), "](") ||
		    !read_target(str_skip(text, i + 2), &topic, &len))
			continue;
		buf_add(out, text.ptr + done, open - done);
		add_link((struct str){ text.ptr + open + 1, i - open - 1 },
			 topic, command, listed, out);
		done = i + 2 + len;
		i = done - 1;
		open = text.len;
	}
	buf_addstr(out, str_skip(text, done));
}

/* Appends the title of a section in capitals. Code in backquotes stays as it
 * is. */
static void add_heading(struct str line, struct buf *out)
{
	bool code = false;

	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.ptr[i];

		code ^= c == '`';
		buf_addc(out, (char)(code || c > 127 ? c : toupper(c)));
	}
	buf_addc(out, '\n');
}

/* Converts the page to Markdown for the terminal. */
static void add_source(const struct manual_page *page, const char *command,
		       struct buf *out)
{
	struct str rest = page_text(page);
	struct buf prose = BUF_INIT(PAGE_MOST);
	bool fence = false;
	bool listed = false;
	struct str line;

	while (str_split(&rest, '\n', &line)) {
		bool edge = str_starts(line, "```");
		bool heading = !fence && str_starts(line, "## ");

		if (!edge && !heading && !fence) {
			buf_addstr(&prose, line);
			buf_addc(&prose, '\n');
			continue;
		}
		add_prose(buf_str(&prose), command, listed, out);
		buf_clear(&prose);
		if (heading) {
			listed = str_starts(line, "## See also");
			add_heading(line, out);
			continue;
		}
		buf_adds(out, edge || !line.len ? "" : "    ");
		buf_addstr(out, line);
		buf_addc(out, '\n');
		fence ^= edge;
	}
	add_prose(buf_str(&prose), command, listed, out);
	buf_release(&prose);
}

void manual_render(const struct manual_page *page,
		   const struct manual_look *look, struct rows *out)
{
	struct error ignored = { 0 };
	struct buf source = BUF_INIT(PAGE_MOST);
	struct markdown_look md = { .parse = md4c_load(&ignored),
				    .theme = look->theme,
				    .columns = look->columns,
				    .unnamed = true };

	add_source(page, look->command, &source);
	markdown_render(&md, buf_str(&source), 0, out);
	buf_release(&source);
}

void manual_add_topics(struct buf *out)
{
	for (const struct manual_page *p = manual_pages; p->name; p++)
		buf_addf(out, "%s%s", p == manual_pages ? "" : ", ", p->name);
}

void manual_unknown(const char *topic, const struct command *const *all,
		    struct error *err)
{
	struct str word = str_of(topic);
	const char *names[NAMES_MOST];
	const char *near;
	size_t n = 0;

	for (size_t i = 0; manual_pages[i].name && n < NAMES_MOST; i++)
		names[n++] = manual_pages[i].name;
	for (size_t i = 0; all[i] && n < NAMES_MOST; i++)
		names[n++] = all[i]->name;
	near = nearest_name(word, names, n);
	if (near && nearest_distance(word, str_of(near)) >= nearest_limit(word))
		near = NULL;
	error_set(err, ERR_USAGE, "unknown command or topic '%s'%s%s%s", topic,
		  near ? "; did you mean '" : "", near ? near : "",
		  near ? "'?" : "");
}
