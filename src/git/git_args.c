/* git_args.c - the arguments and the environment that git gets. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "git/git_impl.h"

enum { ARGS_MAX = 256, ENV_MAX = 64 };

/* All that may make git start a program, ask a server or rewrite bytes. */
static const char *const settings[] = {
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.untrackedCache=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.autocrlf=false",
	"core.eol=lf",
	"core.safecrlf=false",
	"core.fileMode=true",
	"core.symlinks=true",
	"core.ignoreCase=false",
	"core.precomposeUnicode=false",
	"core.commitGraph=false", /* the user's may say what is not so */
	"core.multiPackIndex=false",
	"core.quotePath=true",
	"core.compression=1",
	"pack.compression=0", /* fast-import is slower than networks else */
	"core.pager=cat",
	"core.editor=false",
	"core.sshCommand=false",
	"core.askPass=false",
	"credential.helper=",
	"protocol.allow=never",
	"gc.auto=0",
	"maintenance.auto=false",
	"submodule.recurse=false",
	"commit.gpgSign=false",
	"tag.gpgSign=false",
	"log.showSignature=false",
	"gpg.program=false",
	"merge.renormalize=false",
	"merge.conflictStyle=merge",
	"diff.renames=true",
	"diff.algorithm=myers",
	"color.ui=false",
	"advice.detachedHead=false",
	NULL,
};

static const char *const fixed_env[] = {
	"HOME=/nonexistent",
	"LC_ALL=C",
	"TZ=UTC",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_CONFIG_SYSTEM=/dev/null",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=false",
	"SSH_ASKPASS=false",
	"GIT_SSH_COMMAND=false",
	"GIT_EDITOR=false",
	"GIT_PAGER=cat",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_ALLOW_PROTOCOL=",
	"GIT_LITERAL_PATHSPECS=1",
	"GIT_AUTHOR_NAME=dcode",
	"GIT_AUTHOR_EMAIL=dcode@localhost",
	"GIT_COMMITTER_NAME=dcode",
	"GIT_COMMITTER_EMAIL=dcode@localhost",
	NULL,
};

static bool is_diff(const char *name)
{
	return !strcmp(name, "diff") || !strcmp(name, "log") ||
	       !strcmp(name, "show") || !strcmp(name, "diff-tree") ||
	       !strcmp(name, "diff-index") || !strcmp(name, "diff-files");
}

char **git_args(const struct git *g, const char *const *argv)
{
	char **all = xcalloc(ARGS_MAX, sizeof(*all));
	size_t n = 0;

	all[n++] = xstrdup("git");
	for (size_t i = 0; settings[i]; i++) {
		all[n++] = xstrdup("-c");
		all[n++] = xstrdup(settings[i]);
	}
	all[n++] = xasprintf("--git-dir=%s", g->dir);
	for (size_t i = 0; argv[i] && n < ARGS_MAX - 3; i++) {
		all[n++] = xstrdup(argv[i]);
		if (i == 0 && is_diff(argv[i])) {
			all[n++] = xstrdup("--no-ext-diff");
			all[n++] = xstrdup("--no-textconv");
		}
	}
	return all;
}

/* Quoted, since ":" separates one from the next. */
static char *alternates_value(const char *objects)
{
	struct buf out = BUF_INIT(1 << 20);
	char *value;

	buf_adds(&out, "GIT_ALTERNATE_OBJECT_DIRECTORIES=\"");
	for (const char *p = objects; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addc(&out, '\\');
		buf_addc(&out, *p);
	}
	buf_addc(&out, '"');
	value = xstrdup(out.ptr);
	buf_release(&out);
	return value;
}

char **git_env(const struct git *g)
{
	char **all = xcalloc(ENV_MAX, sizeof(*all));
	char *path = proc_absolute_path(getenv("PATH"));
	size_t n = 0;

	for (size_t i = 0; fixed_env[i]; i++)
		all[n++] = xstrdup(fixed_env[i]);
	all[n++] = xasprintf("PATH=%s", path);
	all[n++] = xasprintf("GIT_DIR=%s", g->dir);
	all[n++] = g->index ? xasprintf("GIT_INDEX_FILE=%s", g->index)
			    : xasprintf("GIT_INDEX_FILE=%s/none", g->dir);
	if (g->work_tree)
		all[n++] = xasprintf("GIT_WORK_TREE=%s", g->work_tree);
	if (g->objects)
		all[n++] = alternates_value(g->objects);
	for (size_t i = 0; g->env && g->env[i] && n < ENV_MAX - 1; i++)
		all[n++] = xstrdup(g->env[i]);
	free(path);
	return all;
}

void git_free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}
