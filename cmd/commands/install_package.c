/* install_package.c - installs and removes packages with providers. */
/* SPDX-License-Identifier: MIT */
/*
 * A package is installed into a new directory. That directory then replaces the
 * old one in one step, so that a failure changes nothing. The output of the
 * programs that are run goes to a log. Begin reading at install_package() and
 * install_uninstall().
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/install.h"
#include "cmd/credential.h"
#include "cmd/secret.h"
#include "config/settings_env.h"
#include "providers/external/provider_config.h"
#include "providers/registry.h"

enum { RECORD_MAX = 16 << 20 };

/* A log file for the output of programs. */
struct install_log {
	char *path; /* owned */
	int fd;     /* -1: not open */
	long begin; /* offset in the file at which the output of this command
		       begins */
	const struct settings *set; /* borrowed; the environment of the programs
				       comes from here */
};

enum { LINE = 1000, LOG_MAX = 4 << 20, KILL_MS = 5000 };

static int install_log_open(struct install_log *log, const struct settings *set,
			    struct error *err)
{
	char *dir = credential_dir(set);
	int how = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
	int rc = path_mkdirs(dir, 0700, err);

	*log = (struct install_log){ path_join(dir, "install.log"), -1, 0,
				     set };
	free(dir);
	if (rc < 0)
		return -1;
	log->fd = open(log->path, how, 0600);
	if (log->fd < 0)
		return error_errno(err, "opening %s", log->path);
	log->begin = lseek(log->fd, 0, SEEK_END);
	if (log->begin > LOG_MAX && io_truncate(log->fd, 0) == 0)
		log->begin = 0;
	return 0;
}

static void install_log_close(struct install_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	free(log->path);
	log->fd = -1;
	log->path = NULL;
}

/* Writes the time and the command line to the log. */
static void write_command(int fd, char *const *argv)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[40] = "";

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	dprintf(fd, "\n[%s] %s", when, argv[0]);
	for (size_t i = 1; argv[i]; i++)
		dprintf(fd, " %s", argv[i]);
	dprintf(fd, "\n");
}

/* Kills the program and every process that it started. */
static void kill_all(pid_t pid)
{
	struct proc_tree tree = { .root = pid };
	int64_t end = clock_ms() + KILL_MS;

	while (proc_tree_kill(&tree) > 0 && clock_ms() < end)
		poll(NULL, 0, 10);
}

/* Waits until the program exits. Returns its exit status, or -1 with err after
 * stop has ended the wait and the program was killed. */
static int wait_end(pid_t pid, const struct stop *stop, struct error *err)
{
	int fd = proc_fd(pid, err);
	int status = 0;
	int rc = fd < 0 ? -1 : 0;

	while (rc == 0) {
		struct pollfd p[2] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (poll(p, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			rc = error_errno(err, "waiting");
		else if (p[0].revents)
			break;
		else
			rc = stop_check(stop, err);
	}
	if (rc < 0)
		kill_all(pid);
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return rc < 0 ? -1 : proc_exit_code(status);
}

/* Runs argv[0], an absolute path, with its output in the log. Returns 0 if its
 * exit status is 0, otherwise -1 with err. If stop ends the wait, kills the
 * program and its children. */
static int install_log_run(const struct install_log *log, char *const *argv,
			   const struct stop *stop, struct error *err)
{
	char **env = settings_environ(log->set, NULL);
	const int fds[] = { -1, log->fd, log->fd };
	struct proc_spec spec = {
		.path = argv[0],
		.argv = argv,
		.env = env,
		.fds = fds,
		.nfds = 3,
		.session = true,
	};
	pid_t pid;
	int rc;

	write_command(log->fd, argv);
	rc = proc_spawn(&spec, &pid, err);
	settings_environ_free(env);
	if (rc < 0)
		return -1;
	rc = wait_end(pid, stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_REMOTE, "%s exited with status %d",
			       argv[0], rc);
	return rc;
}

/* Appends the last line that this command has written to the log, without
 * control characters and cut to its last 1000 bytes. */
static void install_log_last(const struct install_log *log, struct buf *out)
{
	char room[LINE];
	long end = lseek(log->fd, 0, SEEK_END);
	long from = end - (long)sizeof(room);
	struct buf line = BUF_INIT(1 << 15);
	struct str text;
	struct str rest;
	ssize_t n;

	n = io_pread(log->fd, room, sizeof(room),
		     from > log->begin ? from : log->begin);
	rest = str_trim((struct str){ room, n > 0 ? (size_t)n : 0 });
	while (str_split(&rest, '\n', &text))
		;
	sanitize_line(str_trim(text), &line);
	buf_addstr(out, str_trim(buf_str(&line)));
	buf_release(&line);
}

/* The next functions replace files and directories atomically. */
/* Copies a file or directory with cp -a: links are copied as links, and nothing
 * in it is run. */
static int install_copy(const struct install_log *log, const char *from,
			const char *to, const struct stop *stop,
			struct error *err)
{
	char *cp = proc_find("cp", getenv("PATH"));
	char *argv[] = { cp,           (char *)"-a", (char *)"-T", (char *)"--",
			 (char *)from, (char *)to,   NULL };
	int rc;

	if (!cp)
		return error_set(err, ERR_CONFIG, "cp is not installed");
	rc = install_log_run(log, argv, stop, err);
	free(cp);
	return rc;
}

/* Replaces path with fresh and removes the old content. If fresh does not
 * exist, only removes path. Uses a single rename, so that after an interruption
 * path is either the old or the new one. */
static int install_replace(const char *path, const char *fresh,
			   struct error *err)
{
	char *old = xasprintf("%s.old", fresh);
	struct error ignored = { 0 };
	int rc = 0;

	if (access(fresh, F_OK) < 0 && errno == ENOENT)
		rc = rename(path, old);
	else if (renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE) ==
		 0)
		rc = rename(fresh, old);
	else if (errno == ENOENT)
		rc = rename(fresh, path);
	else
		rc = -1;
	if (rc < 0)
		rc = error_errno(err, "replacing %s", path);
	(void)path_remove_tree(old, &ignored);
	free(old);
	return rc;
}

/* Removes temporary directories in dir that killed commands have left. */
static void install_sweep(const char *dir)
{
	DIR *entries = opendir(dir);
	struct error ignored = { 0 };
	struct dirent *e;

	while (entries && (e = readdir(entries)))
		if (strncmp(e->d_name, ".install-", 9) == 0) {
			char *path = path_join(dir, e->d_name);

			(void)path_remove_tree(path, &ignored);
			free(path);
		}
	if (entries)
		closedir(entries);
}

/* Takes the lock that prevents two installations at the same time. Returns a
 * descriptor, which the caller closes to release the lock; -1 with err. */
static int install_lock(const struct settings *set, struct error *err)
{
	char *dir = credential_dir(set);
	char *path = path_join(dir, "install.lock");
	int fd = -1;

	if (path_mkdirs(dir, 0700, err) == 0)
		fd = path_lock(path, NULL, err);
	if (fd < 0 && err->code == ERR_TIMEOUT)
		error_set(err, ERR_CONFIG, "another dcode install is running");
	free(path);
	free(dir);
	return fd;
}

/* Returns the canonical name of a package: "Acme.Provider" and "acme-provider"
 * are the same package (PEP 503). Owned. */
static char *normalize_name(const char *name, size_t len)
{
	char *out = xcalloc(len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (strchr("-_.", c))
			c = '-';
		if (c != '-' || !n || out[n - 1] != '-')
			out[n++] = c;
	}
	return out;
}

/* Finds the directory of the named package, such as
 * "acme_provider-1.2.dist-info", in site. Owned; NULL if there is none. */
static char *find_dist(const char *site, const char *name)
{
	char *wanted = normalize_name(name, strlen(name));
	DIR *entries = opendir(site);
	char *found = NULL;
	struct dirent *e;

	while (entries && !found && (e = readdir(entries))) {
		struct str s = str_of(e->d_name);
		char *given = normalize_name(s.ptr, str_find(s, '-'));

		if (str_ends(s, ".dist-info") && !strcmp(given, wanted))
			found = xstrdup(e->d_name);
		free(given);
	}
	if (entries)
		closedir(entries);
	free(wanted);
	return found;
}

/* Removes the file that a row "path,hash,size" of RECORD names. Ignores a path
 * that is absolute or leads out of site: the package's author could name any
 * file of the user. */
static void remove_row(const char *site, struct str row)
{
	struct error ignored = { 0 };
	struct str rest;
	struct str part;
	char *relative;
	char *path;
	bool inside = row.len && row.ptr[0] != '/' && row.ptr[0] != '"';

	row.len = str_find(row, ',');
	rest = row;
	while (inside && str_split(&rest, '/', &part))
		inside = !str_is(part, "..");
	if (!inside)
		return;
	relative = xstrndup(row.ptr, row.len);
	path = path_join(site, relative);
	(void)path_remove_tree(path, &ignored);
	/* remove the directories that are empty now, or have only a
	 * __pycache__ */
	for (char *slash = strrchr(path, '/');
	     slash && strlen(site) < (size_t)(slash - path);
	     slash = strrchr(path, '/')) {
		char *cache;

		*slash = '\0';
		cache = path_join(path, "__pycache__");
		(void)path_remove_tree(cache, &ignored);
		free(cache);
		if (rmdir(path) < 0)
			break;
	}
	free(path);
	free(relative);
}

/* Removes a package's files from site, a directory of packages. ERR_NOT_FOUND
 * if it is not installed. */
static int install_remove_dist(const char *site, const char *name,
			       struct error *err)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	char *dist = find_dist(site, name);
	char *dir = dist ? path_join(site, dist) : NULL;
	char *record = dist ? path_join(dir, "RECORD") : NULL;
	struct str rest;
	struct str row;
	int rc = -1;

	if (!dist) {
		error_set(err, ERR_NOT_FOUND, "'%s' is not installed", name);
		goto out;
	}
	if (path_read(record, &text, err) < 0)
		goto out;
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &row))
		remove_row(site, str_trim(row));
	rc = path_remove_tree(dir, err);
out:
	buf_release(&text);
	free(record);
	free(dir);
	free(dist);
	return rc;
}

enum { REMOVE_MS = 120000 };

/* Asks for confirmation, unless --yes was given. Returns 0 for yes, otherwise
 * the exit status. refusal is the start of the message if there is no user to
 * ask. */
static int install_confirm(const struct install *in, const char *refusal,
			   const char *question)
{
	struct error err = { 0 };
	int rc;

	if (in->yes)
		return 0;
	if (!secret_terminal(in->app)) {
		fprintf(stderr,
			"%s in non-interactive mode. Pass --yes to proceed.\n",
			refusal);
		return 2;
	}
	rc = secret_confirm(in->app, question, &err);
	if (rc < 0)
		return 130;
	if (rc == 0)
		fputs("Aborted.\n", stderr);
	return rc ? 0 : 1;
}

static int confirm_removal(const struct install *in)
{
	char *question = xasprintf("Remove '%s'? [y/N] ", in->name);
	int rc = install_confirm(in, "Refusing to uninstall", question);

	free(question);
	return rc;
}

/* Returns the name of the package that contains this provider; name itself if
 * that is unknown. Owned. */
static char *package_of(struct settings *set, const char *name)
{
	struct registry *r = registry_new(set, NULL);
	const struct sandbox_provider *p = registry_find(r, name);
	const char *origin = p ? registry_origin(r, p) : NULL;
	char *package;

	/* the origin of a package is "acme_provider-1.2" */
	if (origin && origin[0] != '/' && !strchr(origin, ':') &&
	    strchr(origin, '-'))
		package = xstrndup(origin, strcspn(origin, "-"));
	else
		package = xstrdup(name);
	registry_free(r);
	return package;
}

/* Removes the package from a copy of the packages' directory. The copy then
 * replaces the directory. */
static int remove_package(struct settings *set, const char *name,
			  const struct stop *stop, struct error *err)
{
	struct install_log log = { .fd = -1 };
	char *home = python_home(set);
	char *site = path_join(home, "site-packages");
	char *stage = xasprintf("%s/.install-%ld", home, (long)getpid());
	char *fresh = path_join(stage, "site-packages");
	char *package = package_of(set, name);
	int rc = -1;

	if (access(site, F_OK) < 0) {
		error_set(err, ERR_NOT_FOUND, "'%s' is not installed", name);
		goto out;
	}
	install_sweep(home);
	if (install_log_open(&log, set, err) < 0 ||
	    path_mkdirs(stage, 0700, err) < 0 ||
	    install_copy(&log, site, fresh, stop, err) < 0 ||
	    install_remove_dist(fresh, package, err) < 0)
		goto out;
	rc = install_replace(site, fresh, err);
out:
	install_sweep(home);
	install_log_close(&log);
	free(package);
	free(fresh);
	free(stage);
	free(site);
	free(home);
	return rc;
}

/* Removes the executable file or directory of a provider. */
static int remove_program(struct settings *set, const char *name,
			  struct error *err)
{
	char *dir = path_join(settings_dir(set), "providers");
	char *file = xasprintf("dcode-sandbox-%s", name);
	char *path = path_join(dir, file);
	char *gone = xasprintf("%s/.install-%ld", dir, (long)getpid());
	int rc = install_replace(path, gone, err);

	free(gone);
	free(path);
	free(file);
	free(dir);
	return rc;
}

static bool is_program(struct settings *set, const char *name)
{
	char *path = xasprintf("%s/providers/dcode-sandbox-%s",
			       settings_dir(set), name);
	bool is = access(path, F_OK) == 0;

	free(path);
	return is;
}

int install_uninstall(const struct install *in)
{
	struct stop stop = app_stop(in->app);
	struct settings *set;
	struct error err = { 0 };
	int lock;
	int rc;

	if (app_settings(in->app, &set, &err) < 0)
		return app_fail(in->app, &err);
	stop = stop_within(&stop, REMOVE_MS);
	rc = confirm_removal(in);
	if (rc)
		return rc;
	lock = install_lock(set, &err);
	if (lock < 0)
		return app_fail(in->app, &err);
	rc = is_program(set, in->name)
		     ? remove_program(set, in->name, &err)
		     : remove_package(set, in->name, &stop, &err);
	close(lock);
	if (rc == 0) {
		printf("Uninstalled '%s'.\n", in->name);
		return 0;
	}
	if (err.code == ERR_NOT_FOUND && sandbox_provider_is_built_in(in->name))
		error_hint(&err, "It is built in.");
	return app_fail(in->app, &err);
}

#define PROGRAM "dcode-sandbox-"
enum { INSTALL_MS = 900000, NAMES_MAX = 1 << 16 };

enum kind {
	KIND_INDEX,   /* the name of a package, possibly with a version, for pip
			 to find in its index */
	KIND_PYTHON,  /* a wheel, an sdist or a source directory on this
		       machine */
	KIND_PROGRAM, /* a provider that is an executable, or a directory with
			 one */
};

struct install_job {
	const struct install *in;
	struct settings *set;
	enum kind kind;
	char *source;  /* owned: the absolute path of the source, or the
			  package's name */
	char *program; /* owned: "dcode-sandbox-acme", for KIND_PROGRAM */
	char *dir;     /* owned: the directory of installed packages */
	char *stage;   /* owned: the directory for the new version,
			  dir/.install-PID */
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

/* Sets j->program, the name of an executable provider: that of the file without
 * its extension, or of the directory. The prefix "dcode-sandbox-" is added if
 * it is missing. */
static int parse_program_name(struct install_job *j, bool folder,
			      struct error *err)
{
	const char *name = path_name(j->source);
	bool whole = strncmp(name, PROGRAM, strlen(PROGRAM)) == 0;
	size_t len = folder ? strlen(name) : strcspn(name, ".");

	if (whole || folder)
		j->program =
			whole ? xstrdup(name) : xasprintf(PROGRAM "%s", name);
	else
		j->program = xasprintf(PROGRAM "%.*s", (int)len, name);
	if (!registry_name_ok(j->program + strlen(PROGRAM)) ||
	    sandbox_is_none(j->program + strlen(PROGRAM)))
		return error_set(err, ERR_USAGE,
				 "not a valid provider name: '%.100s'",
				 j->program + strlen(PROGRAM));
	if (folder && !is_file(j->source, j->program, S_IFREG, true)) {
		error_set(err, ERR_USAGE,
			  "no provider in %s: it needs a pyproject.toml, a "
			  "setup.py or an executable %s",
			  j->source, j->program);
		return -1;
	}
	j->kind = KIND_PROGRAM;
	return 0;
}

/* True for a file name that pip accepts as a package. */
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

static bool is_path(const char *name)
{
	return strchr(name, '/') || is_archive(str_of(name));
}

/* Accepts a package name with extras and versions, such as "acme[x]>=1.2,<2".
 * Refuses everything that pip could read as an option, an address or a file. */
static bool is_valid_requirement(const char *name)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "-_.[],<>=!~";

	return name[0] && name[strspn(name, all)] == '\0' &&
	       strlen(name) <= 200 && !strchr("-_.[],<>=!~", name[0]);
}

/* Finds out whether the argument is a package name, a Python archive or
 * directory, or an executable provider. */
static int resolve_argument(struct install_job *j, struct error *err)
{
	const char *name = j->in->name;
	struct stat st;

	if (strstr(name, "://"))
		return error_set(err, ERR_USAGE,
				 "'%.200s' is an address; use a package name, "
				 "a file or a folder",
				 name);
	if (!is_path(name)) {
		j->source = xstrdup(name);
		j->kind = KIND_INDEX;
		if (is_valid_requirement(name))
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
			       : parse_program_name(j, true, err);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_USAGE, "not a file: %s", j->source);
	if (is_archive(str_of(j->source)))
		return 0;
	if (access(j->source, X_OK) < 0)
		return error_set(err, ERR_USAGE,
				 "%s is neither a package nor executable",
				 j->source);
	return parse_program_name(j, false, err);
}

/* Returns 0 for yes, else the exit status. */
static int confirm_install(const struct install_job *j, const char *shown)
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

/* Returns the Python interpreter with which to run pip: python3 if it has pip,
 * otherwise that of a new virtual environment. Owned. NULL with err. */
static char *find_pip(struct install_job *j, struct error *err)
{
	char *python = python_program(j->set);
	char *venv = path_join(j->stage, "venv");
	struct error ignored = { 0 };
	/* -I keeps Python from importing modules from the current directory,
	 * such as a repository's pip.py */
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

/* Installs the package into site with pip. With --offline, pip uses no
 * index. */
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

/* Removes from site the packages that fresh also has, in whatever version. */
static void remove_older_versions(const char *site, const char *fresh)
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

/* Installs the package with pip into an empty directory. Copies the current
 * packages, replaces in the copy those that are new, and replaces the current
 * directory with the copy. */
static int install_python(struct install_job *j, struct error *err)
{
	char *site = path_join(j->dir, "site-packages");
	char *fresh = path_join(j->stage, "fresh");
	char *all = path_join(j->stage, "site-packages");
	int rc = run_pip(j, fresh, err);

	if (rc == 0 && access(site, F_OK) == 0)
		rc = install_copy(&j->log, site, all, &j->stop, err);
	if (rc == 0) {
		remove_older_versions(all, fresh);
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

/* Copies an executable provider into the providers' directory. Replaces an
 * older one. */
static int install_program(struct install_job *j, struct error *err)
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

/* Appends the name and origin of each provider, one per line. */
static void list_providers(struct settings *set, struct buf *out)
{
	struct registry *r = registry_new(set, NULL);
	const struct sandbox_provider *const *list = registry_list(r);

	for (; *list; list++)
		buf_addf(out, "\n%s\t%s\n", (*list)->name,
			 registry_origin(r, *list));
	registry_free(r);
}

/* Prints the lines of after that before does not have, and returns their
 * number. */
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

/* Reports a failed installation, with the last line of its log. */
static int report_failure(const struct install_job *j, const struct error *err,
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

/* Installs the package and prints which providers are new. */
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
		rc = j->kind == KIND_PROGRAM ? install_program(j, &err)
					     : install_python(j, &err);
	install_sweep(j->dir);
	if (rc < 0) {
		rc = report_failure(j, &err, shown);
	} else {
		list_providers(j->set, &after);
		printf("Installed package '%s'.\n", shown);
		if (!print_gained(buf_str(&before), buf_str(&after)))
			puts("The package did not add a sandbox provider.");
	}
	buf_release(&before);
	buf_release(&after);
	return rc;
}

/* Finds out what to install and where, and opens the log. */
static int prepare_job(struct install_job *j, struct error *err)
{
	struct stop stop = app_stop(j->in->app);

	if (app_settings(j->in->app, &j->set, err) < 0 ||
	    resolve_argument(j, err) < 0)
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
	if (prepare_job(&j, &err) < 0) {
		rc = app_fail(in->app, &err);
		goto out;
	}
	rc = confirm_install(&j, shown.ptr);
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
