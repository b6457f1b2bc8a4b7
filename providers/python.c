/* python.c - the interpreter and the script that run provider classes. */
/* SPDX-License-Identifier: MIT */
#include "providers/python.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"

static const unsigned char stand_ins_py[] = {
#include "scripts/host/dcode_stand_ins.py.inc"
};
static const unsigned char host_py[] = {
#include "scripts/host/provider_host.py.inc"
};

/* A variable that the user exported, not one that a file brought along. */
static const char *exported(const struct settings *set, const char *name)
{
	const char *value = settings_env_plain(set, name);

	if (!value || !value[0] || settings_env_source(set, name) != SOURCE_ENV)
		return NULL;
	return value;
}

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
	const char *active = exported(set, "VIRTUAL_ENV");
	char *home = python_home(set);
	char *program = interpreter_in(home);

	free(home);
	if (!program && active && active[0] == '/')
		program = interpreter_in(active);
	if (!program)
		program = proc_find("python3", settings_env_plain(set, "PATH"));
	return program;
}

static bool put(int fd, const unsigned char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

int python_script(struct error *err)
{
	int fd = memfd_create("dcode-provider-host", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "making room for the host script");
	if (put(fd, stand_ins_py, sizeof(stand_ins_py)) &&
	    put(fd, host_py, sizeof(host_py)) && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	(void)error_errno(err, "writing the host script");
	close(fd);
	return -1;
}

struct sites {
	void (*each)(void *arg, const char *dir);
	void *arg;
};

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* PREFIX/lib/python3.N/site-packages, and PREFIX/site-packages. */
static void each_in(const char *prefix, const struct sites *s)
{
	char *lib = path_join(prefix, "lib");
	char *plain = path_join(prefix, "site-packages");
	DIR *dir = opendir(lib);
	struct dirent *e;

	if (is_directory(plain))
		s->each(s->arg, plain);
	while (dir && (e = readdir(dir))) {
		char *path;

		if (strncmp(e->d_name, "python3", 7) != 0)
			continue;
		path = xasprintf("%s/%s/site-packages", lib, e->d_name);
		if (is_directory(path))
			s->each(s->arg, path);
		free(path);
	}
	if (dir)
		closedir(dir);
	free(plain);
	free(lib);
}

void python_each_site(const struct settings *set,
		      void (*each)(void *arg, const char *dir), void *arg)
{
	const struct sites s = { each, arg };
	const char *active = exported(set, "VIRTUAL_ENV");
	struct str rest = str_of(exported(set, "PYTHONPATH"));
	char *home = python_home(set);
	struct str item;

	each_in(home, &s);
	free(home);
	while (str_split(&rest, ':', &item)) {
		char *path = xstrndup(item.ptr, item.len);

		if (path[0] == '/' && is_directory(path))
			each(arg, path);
		free(path);
	}
	if (active && active[0] == '/')
		each_in(active, &s);
}

struct argv {
	char **words;
	size_t n;
};

static void add(void *arg, const char *word)
{
	struct argv *a = arg;

	a->words = xrealloc(a->words, a->n + 2, sizeof(*a->words));
	a->words[a->n++] = xstrdup(word);
	a->words[a->n] = NULL;
}

char **python_argv(const struct settings *set, const char *class_path)
{
	/* The current directory is the project's: no module comes from it. */
	static const char boot[] =
		"import sys; sys.path[:1] = []; import io; "
		"n = int(sys.argv.pop(1)); s = io.open(3, 'rb').read(); "
		"m = sys.modules['dcode_stand_ins'] = "
		"type(sys)('dcode_stand_ins'); "
		"exec(compile(s[:n], 'dcode_stand_ins.py', 'exec'), vars(m)); "
		"exec(compile(s[n:], 'provider_host.py', 'exec'))";
	struct argv a = { 0 };
	char first[24];

	snprintf(first, sizeof(first), "%zu", sizeof(stand_ins_py));
	add(&a, "python3");
	add(&a, "-c");
	add(&a, boot);
	add(&a, first);
	add(&a, class_path);
	python_each_site(set, add, &a);
	return a.words;
}
