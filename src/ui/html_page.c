/* html_page.c - a conversation as one page that needs nothing else. */
/* SPDX-License-Identifier: MIT */
#include "ui/html_page.h"

#include <inttypes.h>
#include <time.h>

#include <sodium.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "markup/diff.h"
#include "model/message_mask.h"
#include "ui/html_diff.h"
#include "ui/html_markdown.h"
#include "ui/summary.h"
#include "ui/todo_view.h"

/* The policy in the page has the hash of these very bytes. */
static const char style[] =
	":root{color-scheme:light dark;--fg:#1f2328;--dim:#59636e;"
	"--bg:#fff;--box:#f6f8fa;--line:#d1d9e0;--user:#eef4ff;"
	"--add:#dafbe1;--del:#ffebe9;--at:#0550ae;--bad:#a40e26}"
	"@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--dim:#9198a1;"
	"--bg:#0d1117;--box:#151b23;--line:#3d444d;--user:#121d2f;"
	"--add:#12361f;--del:#45171b;--at:#79c0ff;--bad:#ff8182}}"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;max-width:56rem;padding:1rem;background:var(--bg);"
	"color:var(--fg);font:1rem/1.55 system-ui,sans-serif;"
	"overflow-wrap:anywhere}"
	"h1{font-size:1.4rem;margin:0}h2{font-size:.8rem;margin:0 0 .4rem;"
	"color:var(--dim);text-transform:uppercase;letter-spacing:.05em}"
	"h3,h4,h5,h6{font-size:1.05rem;margin:1rem 0 .4rem}"
	"header{border-bottom:1px solid var(--line);padding-bottom:.8rem}"
	".meta,.url,.c{color:var(--dim);font-size:.85em}"
	".meta{margin:.3rem 0 0}"
	"section{margin:1.2rem 0}"
	".user{background:var(--user);border-radius:.5rem;"
	"padding:.7rem .9rem}"
	".plain{white-space:pre-wrap}"
	"details{border:1px solid var(--line);border-radius:.5rem;"
	"margin:.5rem 0;background:var(--box)}"
	"summary{cursor:pointer;padding:.4rem .7rem;font:.85rem/1.4 "
	"ui-monospace,monospace}"
	"details>div{padding:.2rem .7rem .5rem}"
	"pre{margin:.4rem 0;padding:.6rem;overflow-x:auto;background:"
	"var(--box);border-radius:.4rem;white-space:pre;"
	"overflow-wrap:normal}"
	"pre,code{font:.85rem/1.45 ui-monospace,monospace}"
	"p code,li code,td code{background:var(--box);padding:.1em .3em;"
	"border-radius:.3em}"
	"details pre{padding:0;max-height:40rem;overflow:auto}"
	".add,.del,.at,.head{display:inline-block;min-width:100%}"
	".add{background:var(--add)}.del{background:var(--del)}"
	".at{color:var(--at)}.head{color:var(--dim)}"
	".failed>summary{color:var(--bad)}"
	"table{border-collapse:collapse;display:block;overflow-x:auto}"
	"th,td{border:1px solid var(--line);padding:.2rem .5rem;"
	"text-align:left}.r{text-align:right}"
	"blockquote{margin:.5rem 0;padding-left:.8rem;border-left:.2rem solid "
	"var(--line);color:var(--dim)}"
	"hr{border:0;border-top:1px solid var(--line)}"
	"a{color:var(--at)}"
	".todos{list-style:none;margin:.3rem 0;padding:0}"
	"@media print{details pre{max-height:none}}";

static void add_policy(struct html *h)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)style,
			   sizeof(style) - 1);
	html_markup(h, "<meta http-equiv=\"Content-Security-Policy\" "
		       "content=\"default-src 'none'; base-uri 'none'; "
		       "form-action 'none'; style-src 'sha256-");
	json_base64(&h->out, (struct str){ (const char *)hash, sizeof(hash) });
	html_markup(h, "'\">\n");
}

/* Text on one line, without what a terminal or a title bar would obey. */
static void add_line(struct html *h, const char *text)
{
	struct buf line = BUF_INIT(64 << 10);

	sanitize_line(str_of(text), &line);
	html_text(h, buf_str(&line));
	buf_release(&line);
}

static void add_date(struct html *h, int64_t unix_ms)
{
	time_t when = (time_t)(unix_ms / 1000);
	char text[32];
	struct tm tm;

	if (unix_ms <= 0 || !gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		return;
	html_markup(h, text);
}

static void add_meta(struct html *h, const struct html_page *page)
{
	html_markup(h, "<p class=\"meta\">");
	add_line(h,
		 page->model && page->model[0] ? page->model : "model unknown");
	html_markup(h, page->created > 0 ? " &#183; " : "");
	add_date(h, page->created);
	if (page->updated / 60000 > page->created / 60000) {
		html_markup(h, " &#8211; ");
		add_date(h, page->updated);
	}
	html_markupf(h,
		     " &#183; %" PRId64 " messages &#183; %" PRId64
		     " tokens in, %" PRId64 " out</p>\n",
		     page->messages, page->input, page->output);
}

void html_page_begin(struct html *h, const struct html_page *page)
{
	const char *title =
		page->title && page->title[0] ? page->title : "Untitled";

	html_markup(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		       "<meta charset=\"utf-8\">\n");
	add_policy(h);
	html_markup(h, "<meta name=\"referrer\" content=\"no-referrer\">\n"
		       "<meta http-equiv=\"x-dns-prefetch-control\" "
		       "content=\"off\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width, "
		       "initial-scale=1\">\n"
		       "<meta name=\"robots\" content=\"noindex\">\n"
		       "<meta name=\"generator\" content=\"dcode " DCODE_VERSION
		       "\">\n<title>");
	add_line(h, title);
	html_markup(h, "</title>\n<style>");
	html_markup(h, style);
	html_markup(h, "</style>\n</head>\n<body>\n<header>\n<h1>");
	add_line(h, title);
	html_markup(h, "</h1>\n");
	add_meta(h, page);
	html_markup(h, "</header>\n<main>\n");
}

static void begin_fold(struct html *h, const char *class)
{
	html_markupf(h, "<details class=\"%s\"><summary>", class);
}

static void add_pre(struct html *h, struct str text)
{
	if (diff_lines_are_unified(text)) {
		html_diff(h, text);
		return;
	}
	/* The parser drops a line end right behind the tag. */
	html_markup(h, "<pre>\n");
	html_text(h, text);
	html_markup(h, "</pre>\n");
}

/* One argument: its text, or the JSON of what is none. */
static void add_argument(struct html *h, const cJSON *item)
{
	struct buf json = BUF_INIT(SIZE_MAX / 4);

	html_markup(h, "<div class=\"meta\">");
	html_text(h, str_of(item->string));
	html_markup(h, "</div>");
	if (!cJSON_IsString(item))
		json_print(&json, item);
	add_pre(h, cJSON_IsString(item) ? str_of(item->valuestring)
					: buf_str(&json));
	buf_release(&json);
}

static void add_arguments(struct html *h, const cJSON *args)
{
	const char *old = json_string(args, "old_string", NULL);
	const char *new = json_string(args, "new_string", NULL);
	const char *content = json_string(args, "content", NULL);
	const cJSON *item;

	cJSON_ArrayForEach (item, args) {
		bool shown = cJSON_IsString(item) &&
			     ((old && new && item->valuestring == old) ||
			      (old && new && item->valuestring == new) ||
			      item->valuestring == content);

		if (!shown)
			add_argument(h, item);
	}
	if (old && new)
		html_diff_edit(h, str_of(old), str_of(new));
	if (content)
		html_diff_edit(h, (struct str){ 0 }, str_of(content));
}

/* The list of steps that a call sets; false: it sets none. */
static bool add_todos(struct html *h, const struct part *call)
{
	static const char *const marks[] = {
		[TODO_PENDING] = "&#x2610; ",
		[TODO_IN_PROGRESS] = "&#x25B8; ",
		[TODO_COMPLETED] = "&#x2611; ",
	};
	struct todos t = { 0 };

	if (!todos_read(&t, call))
		return false;
	html_markup(h, "<ul class=\"todos\">\n");
	for (size_t i = 0; i < t.n; i++) {
		html_markup(h, "<li>");
		html_markup(h, marks[t.list[i].status]);
		add_line(h, t.list[i].content);
		html_markup(h, "</li>\n");
	}
	html_markup(h, "</ul>\n");
	todos_release(&t);
	return true;
}

static void add_call(struct html *h, const struct part *call)
{
	struct buf summary = BUF_INIT(4 << 10);
	cJSON *args = call->args ? json_parse(str_of(call->args)) : NULL;

	begin_fold(h, "call");
	summary_of_call(call, &summary);
	add_line(h, summary.ptr);
	html_markup(h, "</summary><div>\n");
	if (!add_todos(h, call)) {
		if (cJSON_IsObject(args))
			add_arguments(h, args);
		else
			add_pre(h, str_of(call->args));
	}
	html_markup(h, "</div></details>\n");
	cJSON_Delete(args);
	buf_release(&summary);
}

static void add_result(struct html *h, const struct part *result)
{
	begin_fold(h, result->failed ? "failed" : "result");
	html_markup(h, result->failed ? "failed: " : "result: ");
	add_line(h, result->name ? result->name : "?");
	html_markupf(h, " (%zu bytes)</summary><div>\n",
		     str_of(result->text).len);
	add_pre(h, str_of(result->text));
	html_markup(h, "</div></details>\n");
}

static void add_plain(struct html *h, struct str text)
{
	html_markup(h, "<div class=\"plain\">");
	html_text(h, text);
	html_markup(h, "</div>\n");
}

static void add_part(struct html *h, enum role role, const struct part *p)
{
	struct str text = str_of(p->text);

	switch (p->kind) {
	case PART_TEXT:
		if (role == ROLE_ASSISTANT)
			html_markdown(h, text);
		else
			add_plain(h, text);
		return;
	case PART_THINKING:
		if (!str_trim(text).len)
			return;
		begin_fold(h, "thinking");
		html_markup(h, "thinking</summary><div>\n");
		add_plain(h, text);
		html_markup(h, "</div></details>\n");
		return;
	case PART_TOOL_CALL:
		add_call(h, p);
		return;
	case PART_TOOL_RESULT:
		add_result(h, p);
		return;
	case PART_MEDIA: /* a page that loads and runs nothing */
		add_plain(h, text);
		return;
	}
}

void html_page_message(struct html *h, const struct message *message)
{
	static const char *const heads[] = {
		[ROLE_USER] = "<section class=\"user\"><h2>User</h2>\n",
		[ROLE_ASSISTANT] = "<section><h2>Assistant</h2>\n",
		[ROLE_TOOL] = "<section>\n",
	};
	struct message masked;

	/* All at once and first: a summary may cut a secret in two. */
	message_mask(h->mask, message, &masked);
	html_markup(h, heads[message->role]);
	for (size_t i = 0; i < masked.n; i++)
		add_part(h, masked.role, &masked.parts[i]);
	if (masked.refused)
		html_markup(h, "<p class=\"meta\">refused: not part of the"
			       " conversation any more</p>\n");
	if (masked.cut)
		html_markup(h, "<p class=\"meta\">cut: the rest of this answer"
			       " never came</p>\n");
	html_markup(h, "</section>\n");
	message_release(&masked);
}

void html_page_compaction(struct html *h, int64_t created)
{
	html_markup(h, "<p class=\"meta compacted\">");
	add_date(h, created);
	html_markup(h, created > 0 ? " &#183; " : "");
	html_markup(h, "compacted here: for the messages above the model got a"
		       " summary and the newest of them</p>\n");
}

void html_page_patch(struct html *h, const char *name, struct str patch)
{
	html_markup(h, "<section><h2>Patch</h2>\n");
	begin_fold(h, "result");
	add_line(h, name);
	html_markupf(h, " (%zu bytes)</summary><div>\n", patch.len);
	html_diff(h, patch);
	html_markup(h, "</div></details>\n</section>\n");
}

void html_page_end(struct html *h)
{
	html_markup(h, "</main>\n</body>\n</html>\n");
}
