/* words.c - which paths the words of a command line may mean. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "trust/trust_impl.h"

enum { MOST_WORDS = 2000, LONGEST = 4095 };

static void add_unique(struct trust_words *w, const char *text, size_t len)
{
	if (!len || len > LONGEST)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (!strncmp(w->list[i], text, len) && !w->list[i][len])
			return;
	if (w->n == MOST_WORDS) {
		w->over = true;
		return;
	}
	w->list = xrealloc(w->list, w->n + 1, sizeof(*w->list));
	w->list[w->n++] = xstrndup(text, len);
}

/* "$PWD/run.sh" starts where the program does, and so does what is left of
 * $(pwd)/run.sh without its parentheses: "/run.sh". */
static void add_path(struct trust_words *w, const char *text, size_t len)
{
	const char *slash = len ? memchr(text, '/', len) : NULL;

	add_unique(w, text, len);
	while (len && text[0] == '/') {
		text++;
		if (--len && text[0] != '/')
			add_unique(w, text, len);
	}
	if (slash && slash > text && strchr("$~)}", text[0]))
		add_unique(w, slash + 1, len - (size_t)(slash + 1 - text));
}

/* "--config=a", "-ra", "a:b": each part may be a path. */
static void add_parts(struct trust_words *w, const char *text, size_t len)
{
	static const char between[] = " \t\r\n=:,;@|&<>()'\"`";
	const char *end = text + len;

	add_path(w, text, len);
	if (len > 2 && text[0] == '-' && text[1] != '-')
		add_path(w, text + 2, len - 2);
	for (const char *at = text; at < end;) {
		size_t n = strcspn(at, between);

		add_path(w, at, n);
		at += n + 1;
	}
}

/* A word of a shell without its quotes and backslashes; where it ends. */
static const char *read_word(const char *at, struct buf *word)
{
	char quote = 0;

	for (; *at && (quote || !strchr(" \t\r\n;|&<>()", *at)); at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			buf_addc(word, *++at);
		else if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? 0 : *at;
		else
			buf_addc(word, *at);
	}
	return at;
}

void trust_words_add(struct trust_words *w, const char *word)
{
	struct buf part = BUF_INIT(LONGEST);

	add_parts(w, word, strlen(word));
	for (const char *at = word; *at;) {
		at = read_word(at, &part);
		if (part.len)
			add_parts(w, part.ptr, part.len);
		buf_clear(&part);
		at += *at != '\0';
	}
	buf_release(&part);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Programs that look in their directory for what they run. */
static bool is_runner(const char *name)
{
	static const char *const names[] = {
		"npx",     "npm",    "pnpm",       "pnpx",     "yarn",
		"bun",     "bunx",   "deno",       "tsx",      "ts-node",
		"uv",      "uvx",    "pipx",       "poetry",   "pdm",
		"hatch",   "rye",    "pipenv",     "tox",      "nox",
		"pytest",  "make",   "gmake",      "cmake",    "ninja",
		"just",    "task",   "rake",       "bundle",   "bundler",
		"cargo",   "go",     "mvn",        "mvnw",     "gradle",
		"gradlew", "sbt",    "dotnet",     "composer", "mix",
		"mise",    "direnv", "pre-commit", "lefthook", "nix",
		"bazel",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* "python3 -m NAME" and "python3 -Im NAME", but not "python3 file.py". */
static bool takes_module(const char *word)
{
	size_t n = strlen(word);

	return word[0] == '-' && word[1] != '-' && n > 1 &&
	       (word[1] == 'm' || word[n - 1] == 'm');
}

static bool is_python(const char *name)
{
	static const char *const stems[] = { "python", "pypy" };

	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
		size_t n = strlen(stems[i]);

		if (!strncmp(name, stems[i], n) &&
		    !name[n + strspn(name + n, "0123456789.")])
			return true;
	}
	return false;
}

/* Each once. */
static void add_runner(struct buf *out, const char *name, const char *how)
{
	char *runner = xasprintf("%s%s", name, how);
	struct str rest = buf_str(out);
	struct str one;
	bool known = false;

	while (str_split(&rest, ',', &one))
		known |= str_is(str_trim(one), runner);
	if (!known)
		buf_addf(out, "%s%s", out->len ? ", " : "", runner);
	free(runner);
}

void trust_add_runners(const char *const *words, size_t n, struct buf *out)
{
	struct trust_words parts = { 0 };
	bool module = false;

	for (size_t i = 0; i < n; i++)
		trust_words_add(&parts, words[i]);
	for (size_t i = 0; i < parts.n; i++)
		module |= takes_module(parts.list[i]);
	for (size_t i = 0; i < parts.n; i++) {
		const char *name = base_name(parts.list[i]);

		/* "/a/npx" is two parts, of which one is "a/npx". */
		if (name != parts.list[i] && parts.list[i][0] != '/')
			continue;
		if (is_runner(name))
			add_runner(out, name, "");
		else if (module && is_python(name))
			add_runner(out, name, " -m");
	}
	trust_words_release(&parts);
}

void trust_words_release(struct trust_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i]);
	free(w->list);
	*w = (struct trust_words){ 0 };
}
