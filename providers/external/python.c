/* python.c - the interpreter and the script that run provider classes. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/python.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings_env.h"

static const unsigned char stand_ins_py[] = {
#include "scripts/host/dcode_stand_ins.py.inc"
};
static const unsigned char host_py[] = {
#include "scripts/host/provider_host.py.inc"
};

static char *interpreter_in(const char *dir)
{
	char *path = path_join(dir, "bin/python3");

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

char *python_home(const struct settings *set)
{
	return path_join(settings_dir(set), PYTHON_HOME);
}

char *python_program(const struct settings *set)
{
	const char *active = settings_exported(set, "VIRTUAL_ENV");
	char *home = python_home(set);
	char *program = interpreter_in(home);

	free(home);
	if (!program && active && active[0] == '/')
		program = interpreter_in(active);
	if (!program)
		program = proc_find("python3", settings_exported(set, "PATH"));
	return program;
}

int python_script(struct error *err)
{
	int fd = memfd_create("dcode-provider-host", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "making room for the host script");
	if (io_write_all(fd, stand_ins_py, sizeof(stand_ins_py)) == 0 &&
	    io_write_all(fd, host_py, sizeof(host_py)) == 0 &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	(void)error_errno(err, "writing the host script");
	close(fd);
	return -1;
}

struct sites {
	void (*each)(void *arg, const char *dir);
	void *arg;
	bool missing_too; /* not only directories that exist */
};

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void emit_site(const struct sites *s, const char *path)
{
	if (s->missing_too || is_directory(path))
		s->each(s->arg, path);
}

/* PREFIX/lib/python3.N/site-packages, and PREFIX/site-packages. */
static void each_site_in(const char *prefix, const struct sites *s)
{
	char *lib = path_join(prefix, "lib");
	char *plain = path_join(prefix, "site-packages");
	DIR *dir = opendir(lib);
	struct dirent *e;

	emit_site(s, plain);
	while (dir && (e = readdir(dir))) {
		char *path;

		if (strncmp(e->d_name, "python3", 7) != 0)
			continue;
		path = xasprintf("%s/%s/site-packages", lib, e->d_name);
		emit_site(s, path);
		free(path);
	}
	if (dir)
		closedir(dir);
	free(plain);
	free(lib);
}

/* Each absolute entry of PYTHONPATH: a relative one would be in the directory
 * that dcode was started in. */
static void each_pythonpath(const struct settings *set, const struct sites *s)
{
	struct str rest = str_of(settings_exported(set, "PYTHONPATH"));
	struct str item;

	while (str_split(&rest, ':', &item)) {
		char *path = xstrndup(item.ptr, item.len);

		if (path[0] == '/')
			emit_site(s, path);
		free(path);
	}
}

void python_each_site(const struct settings *set,
		      void (*each)(void *arg, const char *dir), void *arg)
{
	struct sites s = { .each = each, .arg = arg };
	const char *active = settings_exported(set, "VIRTUAL_ENV");
	char *home = python_home(set);

	each_site_in(home, &s);
	free(home);
	each_pythonpath(set, &s);
	if (active && active[0] == '/')
		each_site_in(active, &s);
}

struct argv {
	char **words;
	size_t n;
};

static void add_argument(void *arg, const char *word)
{
	struct argv *a = arg;

	a->words = xrealloc(a->words, a->n + 2, sizeof(*a->words));
	a->words[a->n++] = xstrdup(word);
	a->words[a->n] = NULL;
}

/*
 * -I ignores the current directory and all PYTHON* variables. The arguments
 * replace those that the user exported: PYTHONPATH's entries up to "--", then
 * the directories of packages.
 */
char **python_argv(const struct settings *set, const char *program,
		   const char *class_path)
{
	static const char boot[] =
		"import sys, io; "
		"n = int(sys.argv.pop(1)); s = io.open(3, 'rb').read(); "
		"m = sys.modules['dcode_stand_ins'] = "
		"type(sys)('dcode_stand_ins'); "
		"exec(compile(s[:n], 'dcode_stand_ins.py', 'exec'), vars(m)); "
		"exec(compile(s[n:], 'provider_host.py', 'exec'))";
	struct argv a = { 0 };
	char first[24];

	snprintf(first, sizeof(first), "%zu", sizeof(stand_ins_py));
	add_argument(&a, program);
	add_argument(&a, "-I");
	add_argument(&a, "-c");
	add_argument(&a, boot);
	add_argument(&a, first);
	add_argument(&a, class_path);
	each_pythonpath(
		set, &(struct sites){ add_argument, &a, .missing_too = true });
	add_argument(&a, "--");
	python_each_site(set, add_argument, &a);
	return a.words;
}
