/* install_package.c - installs an external provider: a package or a program. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/install.h"
#include "cmd/secret.h"
#include "providers/external/provider_config.h"
#include "providers/registry.h"

#define PROGRAM "dcode-sandbox-"

enum { INSTALL_MS = 900000, NAMES_MAX = 1 << 16 };

enum kind {
	KIND_INDEX,   /* a name, perhaps with a version: pip looks for it */
	KIND_PYTHON,  /* a wheel, sdist or folder here */
	KIND_PROGRAM, /* an executable, or a folder with one */
};

struct install_job {
	const struct install *in;
	struct settings *set;
	enum kind kind;
	char *source;  /* owned: an absolute path, or the name */
	char *program; /* owned: "dcode-sandbox-acme", of KIND_PROGRAM */
	char *dir;     /* owned: the folder of installed packages */
	char *stage;   /* owned: dir/.install-PID */
	struct install_log log;
	struct stop stop;
};

static bool is_file(const char *dir, const char *name, mode_t kind, bool runs)
{
	char *path = path_join(dir, name);
	struct stat st;
	bool is = stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind &&
		  (!runs || access(path, X_OK) == 0);

	free(path);
	return is;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* An executable is named like the provider, with or without the prefix; a
 * folder's program like the folder. */
static int look_at_program(struct install_job *j, bool folder,
			   struct error *err)
{
	const char *name = base_name(j->source);
	bool whole = strncmp(name, PROGRAM, strlen(PROGRAM)) == 0;
	size_t len = folder ? strlen(name) : strcspn(name, ".");

	if (whole || folder)
		j->program =
			whole ? xstrdup(name) : xasprintf(PROGRAM "%s", name);
	else
		j->program = xasprintf(PROGRAM "%.*s", (int)len, name);
	if (!registry_name_ok(j->program + strlen(PROGRAM)) ||
	    !strcmp(j->program, PROGRAM "none"))
		return error_set(err, ERR_USAGE,
				 "not a valid provider name: '%.100s'",
				 j->program + strlen(PROGRAM));
	if (folder && !is_file(j->source, j->program, S_IFREG, true)) {
		error_set(err, ERR_USAGE,
			  "%s is neither a Python package (pyproject.toml, "
			  "setup.py) nor does it contain an executable %s",
			  j->source, j->program);
		return -1;
	}
	j->kind = KIND_PROGRAM;
	return 0;
}

/* A file that pip takes for a package, by its ending. */
static bool is_archive(struct str name)
{
	static const char *const endings[] = {
		".whl", ".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tbz",
		".tar", ".tar.xz", ".txz", ".tlz", ".tar.lz",  ".tar.lzma",
	};

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (str_ends(name, endings[i]))
			return true;
	return false;
}

static bool looks_like_a_path(const char *name)
{
	return strchr(name, '/') || is_archive(str_of(name));
}

/* "acme", "acme[x]>=1.2,<2": nothing that pip would take for an option, an
 * address or a file. */
static bool requirement_ok(const char *name)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "-_.[],<>=!~";

	return name[0] && name[strspn(name, all)] == '\0' &&
	       strlen(name) <= 200 && !strchr("-_.[],<>=!~", name[0]);
}

static int find_out(struct install_job *j, struct error *err)
{
	const char *name = j->in->name;
	struct stat st;

	if (strstr(name, "://"))
		return error_set(err, ERR_USAGE,
				 "'%.200s' is an address; use a package name, "
				 "a file or a folder",
				 name);
	if (!looks_like_a_path(name)) {
		j->source = xstrdup(name);
		j->kind = KIND_INDEX;
		if (requirement_ok(name))
			return 0;
		return error_set(err, ERR_USAGE,
				 "Invalid package name '%.200s'", name);
	}
	j->source = realpath(name, NULL);
	if (!j->source || stat(j->source, &st) < 0)
		return error_errno(err, "%.200s", name);
	j->kind = KIND_PYTHON;
	if (S_ISDIR(st.st_mode))
		return is_file(j->source, "pyproject.toml", S_IFREG, false) ||
				       is_file(j->source, "setup.py", S_IFREG,
					       false)
			       ? 0
			       : look_at_program(j, true, err);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_USAGE, "not a file: %s", j->source);
	if (is_archive(str_of(j->source)))
		return 0;
	if (access(j->source, X_OK) < 0)
		return error_set(err, ERR_USAGE,
				 "%s is neither a package nor executable",
				 j->source);
	return look_at_program(j, false, err);
}

/* 0 yes; else the exit status. */
static int confirm(const struct install_job *j, const char *shown)
{
	char *question;
	int rc;

	fprintf(stderr,
		"This will install the package '%s' into the dcode "
		"environment (this runs third-party code).\n",
		shown);
	question = xasprintf("Install package '%s'? [y/N] ", shown);
	rc = install_confirm(j->in, "Refusing package install", question);
	free(question);
	return rc;
}

/* pip of this interpreter: its own, or that of a virtual environment which is
 * made for it. Owned: the interpreter to run it with. */
static char *find_pip(struct install_job *j, struct error *err)
{
	char *python = python_program(j->set);
	char *venv = path_join(j->stage, "venv");
	struct error ignored = { 0 };
	/* -I: no pip, venv or encodings of the current directory. */
	char *ask[] = { python, (char *)"-I", (char *)"-c",
			(char *)"import pip", NULL };
	char *make[] = { python,         (char *)"-I", (char *)"-m",
			 (char *)"venv", venv,         NULL };

	if (!python) {
		error_set(err, ERR_CONFIG, "python3 is not installed");
	} else if (install_log_run(&j->log, ask, &j->stop, &ignored) < 0) {
		if (install_log_run(&j->log, make, &j->stop, &ignored) == 0) {
			free(python);
			python = path_join(venv, "bin/python3");
		} else {
			error_set(err, ERR_CONFIG, "%s has no pip", python);
			error_hint(err, "On Debian: apt install python3-pip");
			free(python);
			python = NULL;
		}
	}
	free(venv);
	return python;
}

static int run_pip(struct install_job *j, const char *site, struct error *err)
{
	char *python = find_pip(j, err);
	char *argv[24] = { python };
	size_t n = 1;
	int rc;

	if (!python)
		return -1;
	argv[n++] = (char *)"-I";
	argv[n++] = (char *)"-m";
	argv[n++] = (char *)"pip";
	argv[n++] = (char *)"install";
	argv[n++] = (char *)"--no-input";
	argv[n++] = (char *)"--disable-pip-version-check";
	argv[n++] = (char *)"--progress-bar";
	argv[n++] = (char *)"off";
	argv[n++] = (char *)"--upgrade";
	argv[n++] = (char *)"--target";
	argv[n++] = (char *)site;
	if (j->in->offline) {
		argv[n++] = (char *)"--no-index";
		argv[n++] = (char *)"--no-build-isolation";
	}
	argv[n++] = (char *)"--";
	argv[n++] = j->source;
	rc = install_log_run(&j->log, argv, &j->stop, err);
	free(python);
	return rc;
}

/* Removes older versions of the packages in fresh from site. */
static void drop_older(const char *site, const char *fresh)
{
	DIR *entries = opendir(fresh);
	struct error ignored = { 0 };
	struct dirent *e;

	while (entries && (e = readdir(entries))) {
		char *name = xstrndup(e->d_name, strcspn(e->d_name, "-"));

		if (str_ends(str_of(e->d_name), ".dist-info"))
			(void)install_remove_dist(site, name, &ignored);
		free(name);
	}
	if (entries)
		closedir(entries);
}

/* pip installs into an empty folder, which is merged into a copy of the
 * present one; the copy then replaces it. */
static int put_python(struct install_job *j, struct error *err)
{
	char *site = path_join(j->dir, "site-packages");
	char *fresh = path_join(j->stage, "fresh");
	char *all = path_join(j->stage, "site-packages");
	int rc = run_pip(j, fresh, err);

	if (rc == 0 && access(site, F_OK) == 0)
		rc = install_copy(&j->log, site, all, &j->stop, err);
	if (rc == 0) {
		drop_older(all, fresh);
		rc = install_copy(&j->log, fresh, all, &j->stop, err);
	}
	if (rc == 0)
		rc = stop_check(&j->stop, err);
	if (rc == 0)
		rc = install_replace(site, all, err);
	free(site);
	free(fresh);
	free(all);
	return rc;
}

static int put_program(struct install_job *j, struct error *err)
{
	char *place = path_join(j->dir, j->program);
	char *fresh = path_join(j->stage, j->program);
	int rc = install_copy(&j->log, j->source, fresh, &j->stop, err);

	if (rc == 0)
		rc = stop_check(&j->stop, err);
	if (rc == 0)
		rc = install_replace(place, fresh, err);
	free(place);
	free(fresh);
	return rc;
}

/* Their names and origins, each followed by a line end. */
static void list_providers(struct settings *set, struct buf *out)
{
	struct registry *r = registry_new(set, NULL);
	const struct sandbox_provider *const *list = registry_list(r);

	for (; *list; list++)
		buf_addf(out, "\n%s\t%s\n", (*list)->name,
			 registry_origin(r, *list));
	registry_free(r);
}

/* The lines that were not there before. */
static size_t print_gained(struct str before, struct str after)
{
	struct str line;
	size_t n = 0;

	while (str_split(&after, '\n', &line)) {
		char *whole = xasprintf("\n%.*s\n", (int)line.len,
					line.len ? line.ptr : "");
		struct buf shown = BUF_INIT(1 << 12);

		if (line.len &&
		    str_search(before, str_of(whole)) == before.len) {
			line.len = str_find(line, '\t');
			sanitize_line(line, &shown);
			printf("Provider '%s': dcode --sandbox %s\n", shown.ptr,
			       shown.ptr);
			n++;
		}
		buf_release(&shown);
		free(whole);
	}
	return n;
}

static int failed(const struct install_job *j, const struct error *err,
		  const char *shown)
{
	struct buf tail = BUF_INIT(1 << 12);

	if (err->code == ERR_CANCELLED)
		return app_fail(j->in->app, err);
	install_log_last(&j->log, &tail);
	fprintf(stderr, "Install failed: %s\n",
		err->code == ERR_REMOTE && tail.len ? tail.ptr : err->message);
	if (err->hint[0])
		fprintf(stderr, "%s\n", err->hint);
	fprintf(stderr, "Log: %s\n", j->log.path);
	if (j->kind != KIND_PROGRAM)
		fprintf(stderr,
			"Run manually: python3 -I -m pip install --target "
			"%s/site-packages '%s'\n",
			j->dir, shown);
	buf_release(&tail);
	return 1;
}

static int install_now(struct install_job *j, const char *shown)
{
	struct buf before = BUF_INIT(NAMES_MAX);
	struct buf after = BUF_INIT(NAMES_MAX);
	struct error err = { 0 };
	int rc = path_mkdirs(j->dir, 0700, &err);

	fprintf(stderr, "Installing package '%s'...\nInstall log: tail -f %s\n",
		shown, j->log.path);
	list_providers(j->set, &before);
	if (rc == 0) {
		install_sweep(j->dir);
		rc = path_mkdirs(j->stage, 0700, &err);
	}
	if (rc == 0)
		rc = j->kind == KIND_PROGRAM ? put_program(j, &err)
					     : put_python(j, &err);
	install_sweep(j->dir);
	if (rc < 0) {
		rc = failed(j, &err, shown);
	} else {
		list_providers(j->set, &after);
		printf("Installed package '%s'.\n", shown);
		if (!print_gained(buf_str(&before), buf_str(&after)))
			puts("It added no sandbox provider.");
	}
	buf_release(&before);
	buf_release(&after);
	return rc;
}

static int begin(struct install_job *j, struct error *err)
{
	struct stop stop = app_stop(j->in->app);

	if (app_settings(j->in->app, &j->set, err) < 0 || find_out(j, err) < 0)
		return -1;
	j->stop = stop_within(&stop, INSTALL_MS);
	j->dir = j->kind == KIND_PROGRAM
			 ? path_join(settings_dir(j->set), "providers")
			 : python_home(j->set);
	j->stage = xasprintf("%s/.install-%ld", j->dir, (long)getpid());
	return install_log_open(&j->log, j->set, err);
}

int install_package(const struct install *in)
{
	struct install_job j = { .in = in, .log = { .fd = -1 } };
	struct buf shown = BUF_INIT(1 << 12);
	struct error err = { 0 };
	int lock = -1;
	int rc;

	sanitize_line(str_of(in->name), &shown);
	buf_adds(&shown, "");
	if (begin(&j, &err) < 0) {
		rc = app_fail(in->app, &err);
		goto out;
	}
	rc = confirm(&j, shown.ptr);
	if (rc)
		goto out;
	lock = install_lock(j.set, &err);
	rc = lock < 0 ? app_fail(in->app, &err) : install_now(&j, shown.ptr);
out:
	if (lock >= 0)
		close(lock);
	install_log_close(&j.log);
	free(j.source);
	free(j.program);
	free(j.dir);
	free(j.stage);
	buf_release(&shown);
	return rc;
}
