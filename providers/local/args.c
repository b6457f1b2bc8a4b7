/* args.c - what a local sandbox may see: bubblewrap's command line. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "providers/local/local.h"

void words_add(struct words *w, ...)
{
	const char *word;
	va_list args;

	va_start(args, w);
	while ((word = va_arg(args, const char *))) {
		w->v = xrealloc(w->v, w->n + 2, sizeof(*w->v));
		w->v[w->n++] = xstrdup(word);
		w->v[w->n] = NULL;
	}
	va_end(args);
}

void words_release(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){ 0 };
}

static bool exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* /bin, /lib, ...: links into /usr on merged systems, else directories. */
static void add_root(struct words *w)
{
	static const char *const names[] = { "/bin",   "/sbin",  "/lib",
					     "/lib32", "/lib64", "/libx32" };

	words_add(w, "--ro-bind", "/usr", "/usr", NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char target[256];
		ssize_t n = readlink(names[i], target, sizeof(target) - 1);

		if (n > 0) {
			target[n] = '\0';
			words_add(w, "--symlink", target, names[i], NULL);
		} else if (exists(names[i])) {
			words_add(w, "--ro-bind", names[i], names[i], NULL);
		}
	}
}

/*
 * Started by root, the sandbox's user is the host's root without capabilities,
 * and much of /proc checks nothing but the file's owner: bubblewrap 0.8 leaves
 * /proc/sys writable then, and with kernel.core_pattern the host is lost (seen
 * 2026-11; local_test.c tries it). So nothing there stays writable, and what
 * only root may read is hidden.
 */
static void add_proc(struct words *w)
{
	static const char *const hidden[] = { "kallsyms", "keys", "key-users",
					      "sched_debug", "timer_list" };
	DIR *dir = opendir("/proc");
	struct dirent *e;

	words_add(w, "--proc", "/proc", NULL);
	while (dir && (e = readdir(dir))) {
		struct stat st;
		char *path;
		bool hide;

		if (e->d_name[0] == '.' || isdigit((unsigned char)e->d_name[0]))
			continue;
		path = path_join("/proc", e->d_name);
		if (lstat(path, &st) < 0)
			st.st_mode = 0;
		hide = S_ISREG(st.st_mode) && !(st.st_mode & S_IROTH);
		for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
			hide = hide || !strcmp(e->d_name, hidden[i]);
		if (hide)
			words_add(w, "--ro-bind", "/dev/null", path, NULL);
		else if (S_ISDIR(st.st_mode) ||
			 (S_ISREG(st.st_mode) && (st.st_mode & 0222)))
			words_add(w, "--ro-bind", path, path, NULL);
		free(path);
	}
	if (dir)
		closedir(dir);
}

static void add_tmpfs(struct words *w, const char *path, uint64_t size)
{
	char bytes[32];

	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
	words_add(w, "--perms", "1777", NULL);
	if (size)
		words_add(w, "--size", bytes, NULL);
	words_add(w, "--tmpfs", path, NULL);
}

void args_system(struct words *w, bool network, uint64_t memory)
{
	words_add(w, "--unshare-all", "--unshare-user", NULL);
	if (network)
		words_add(w, "--share-net", NULL);
	words_add(w, "--disable-userns", "--uid", "1000", "--gid", "1000",
		  "--cap-drop", "ALL", "--hostname", "sandbox", "--new-session",
		  "--clearenv", NULL);
	add_root(w);
	add_proc(w);
	words_add(w, "--dev", "/dev", NULL);
	add_tmpfs(w, "/dev/shm", memory / 2);
	words_add(w, "--remount-ro", "/dev", NULL);
	add_tmpfs(w, "/tmp", memory / 2);
	words_add(w, "--dir", "/run", "--dir", "/var", NULL);
}

void args_var_tmp(struct words *w, uint64_t memory)
{
	add_tmpfs(w, "/var/tmp", memory / 2);
}

struct etc_file {
	const char *path;
	const char *text;
};

static const struct etc_file etc_files[] = {
	{ "/etc/passwd",
	  "root:x:0:0:root:/root:/bin/sh\n"
	  "user:x:1000:1000:user:/home/user:/bin/sh\n"
	  "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n" },
	{ "/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n" },
	{ "/etc/hosts",
	  "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n" },
	{ "/etc/hostname", "sandbox\n" },
	{ "/etc/nsswitch.conf",
	  "passwd: files\ngroup: files\nhosts: files dns\n"
	  "services: files\nprotocols: files\n" },
};

/* Of the host's /etc: no secrets (/etc/ssl/private stays out), no users. */
static const char *const etc_shared[] = {
	"/etc/alternatives",
	"/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/debian_version",
	"/etc/fonts",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/localtime",
	"/etc/mime.types",
	"/etc/os-release",
	"/etc/perl",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/certs",
	"/etc/protocols",
	"/etc/services",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
};

int args_fd(const char *text, size_t len, struct error *err)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "making a file in memory");
	if (io_write_all(fd, text, len) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
		close(fd);
		return error_errno(err, "making a file in memory");
	}
	return fd;
}

int args_etc(struct words *w, bool network, int *fds, size_t *n,
	     struct error *err)
{
	for (size_t i = 0; i < sizeof(etc_files) / sizeof(*etc_files); i++) {
		char number[16];
		const char *text = etc_files[i].text;
		int fd = args_fd(text, strlen(text), err);

		if (fd < 0)
			return -1;
		snprintf(number, sizeof(number), "%d", (int)*n);
		fds[(*n)++] = fd;
		words_add(w, "--perms", "0444", "--ro-bind-data", number,
			  etc_files[i].path, NULL);
	}
	for (size_t i = 0; i < sizeof(etc_shared) / sizeof(*etc_shared); i++)
		if (exists(etc_shared[i]))
			words_add(w, "--ro-bind", etc_shared[i], etc_shared[i],
				  NULL);
	if (network && exists("/etc/resolv.conf"))
		words_add(w, "--ro-bind", "/etc/resolv.conf",
			  "/etc/resolv.conf", NULL);
	return 0;
}
