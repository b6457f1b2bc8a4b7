/* trust.c - makes programs in a sandbox accept the proxy's certificates. */
/* SPDX-License-Identifier: MIT */
#include "egress/trust/trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "net/ws.h"

enum {
	BUNDLE_BYTES = 8 << 20,
	CERTIFICATE_BYTES = 64 << 10,
	/* of a store of Java: */
	JKS_VERSION = 2,
	JKS_CERTIFICATE = 2, /* kind of an entry */
};
static const uint32_t JKS_MAGIC = 0xFEEDFEED;

/* In a system's file of a container, what follows is dcode's. */
#define MARK "\n# dcode\n"

const char *const trust_files[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/var/lib/ca-certificates/ca-bundle.pem", /* SUSE */
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	NULL,
};

static const char *const variables[] = {
	"AWS_CA_BUNDLE",
	"CARGO_HTTP_CAINFO",
	"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
	"CURL_CA_BUNDLE",
	"DENO_CERT",
	"GIT_SSL_CAINFO",
	"NIX_SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS",
	"PIP_CERT",
	"REQUESTS_CA_BUNDLE",
	"SSL_CERT_FILE",
};

/* Appends what this machine trusts: the file that SSL_CERT_FILE names, else the
 * system's. */
static void add_system(struct buf *out)
{
	const char *own = getenv("SSL_CERT_FILE");
	struct error ignored = { 0 };

	if (own && own[0] == '/' && path_read(own, out, &ignored) == 0)
		return;
	for (size_t i = 0; trust_files[i]; i++)
		if (path_read(trust_files[i], out, &ignored) == 0)
			return;
}

static void add_number(struct buf *out, uint32_t n)
{
	n = htonl(n);
	buf_add(out, &n, sizeof(n));
}

/* A text has a length of two bytes. */
static void add_text(struct buf *out, const char *text)
{
	uint16_t len = htons((uint16_t)strlen(text));

	buf_add(out, &len, sizeof(len));
	buf_adds(out, text);
}

static void add_entry(struct buf *out, uint32_t n, const void *der, size_t len)
{
	char *alias = xasprintf("dcode-%u", (unsigned)n);

	add_number(out, JKS_CERTIFICATE);
	add_text(out, alias);
	add_number(out, 0); /* the date, eight bytes */
	add_number(out, 0);
	add_text(out, "X.509");
	add_number(out, (uint32_t)len);
	buf_add(out, der, len);
	free(alias);
}

/* Appends the certificates of a bundle as a store of Java: JKS, which every
 * version of Java reads, and without a password. The hash at its end is that
 * for the usual password, "changeit" (OpenJDK 17, JavaKeyStore.java, read
 * 2026-11-27). */
static void add_java_store(struct str pem, struct buf *out)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	static const char salt[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	struct buf entries = BUF_INIT(BUNDLE_BYTES);
	struct buf all = BUF_INIT(2 * BUNDLE_BYTES);
	unsigned char *der = xcalloc(CERTIFICATE_BYTES, 1);
	unsigned char hash[SHA1_LEN];
	uint32_t count = 0;
	size_t at;

	while ((at = str_search(pem, str_of(begin))) < pem.len) {
		size_t len = 0;

		pem = str_skip(pem, at + sizeof(begin) - 1);
		if (sodium_base642bin(der, CERTIFICATE_BYTES, pem.ptr,
				      str_find(pem, '-'), "\r\n \t", &len, NULL,
				      sodium_base64_VARIANT_ORIGINAL) == 0)
			add_entry(&entries, count++, der, len);
	}
	buf_add(&all, salt, sizeof(salt) - 1);
	add_number(&all, JKS_MAGIC);
	add_number(&all, JKS_VERSION);
	add_number(&all, count);
	buf_addstr(&all, buf_str(&entries));
	sha1(buf_str(&all), hash);
	buf_addstr(out, str_skip(buf_str(&all), sizeof(salt) - 1));
	buf_add(out, hash, sizeof(hash));
	free(der);
	buf_release(&entries);
	buf_release(&all);
}

/* Writes a file in place. It is never shorter in between: a program may be
 * reading it. */
static int write_file(const char *path, const struct buf *text,
		      struct error *err)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0644);
	struct stat st = { 0 };
	int rc = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		rc = error_set(err, ERR_SYSTEM, "writing %s: not a file", path);
	else if (fd < 0 ||
		 io_pwrite_all(fd, text->ptr ? text->ptr : "", text->len, 0) <
			 0 ||
		 io_truncate(fd, (off_t)text->len) < 0 || fchmod(fd, 0644) < 0)
		rc = error_errno(err, "writing %s", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int trust_write(const char *path, const char *certificate, struct error *err)
{
	char *java = xasprintf("%s" TRUST_JAVA, path);
	struct buf store = BUF_INIT(BUNDLE_BYTES);
	struct buf text = BUF_INIT(BUNDLE_BYTES);
	int rc;

	add_system(&text);
	if (text.len && text.ptr[text.len - 1] != '\n')
		buf_addc(&text, '\n');
	buf_adds(&text, certificate ? certificate : "");
	add_java_store(buf_str(&text), &store);
	rc = buf_check(&text, "the list of certificates", err);
	if (rc == 0)
		rc = write_file(path, &text, err);
	if (rc == 0)
		rc = write_file(java, &store, err);
	buf_release(&text);
	buf_release(&store);
	free(java);
	return rc;
}

/* Finds a file of the container. Attack: a link in the image leads to a file of
 * this machine; so all links are followed below the container's root. own: only
 * what the container itself stores, and without links, one of which may lead to
 * a file of the user's project. Attack: a directory of this machine is mounted
 * there, and its list of authorities would get one that the sandbox may use.
 * Returns a descriptor without rights (O_PATH), or -1. */
static int find_inside(int root, const char *path, bool own)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   (own ? RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS : 0),
	};

	return (int)syscall(SYS_openat2, root, path + 1, &how, sizeof(how));
}

/* Opens what was found, if it is a file. Attack: a FIFO, whose opening waits
 * for ever, or a device of this machine. */
static int open_found(int found, int flags)
{
	char name[64];
	struct stat st;

	if (fstat(found, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	return open(name, flags | O_NONBLOCK | O_CLOEXEC);
}

/* Reads the file up to dcode's own part. */
static void read_found(int fd, struct buf *out)
{
	char room[1 << 14];
	ssize_t n;

	while ((n = io_read(fd, room, sizeof(room))) > 0)
		buf_add(out, room, (size_t)n);
	out->len = str_search(buf_str(out), STR(MARK));
}

/* Reads a file of the container. False if there is none. */
static bool read_inside(int root, const char *path, struct buf *out)
{
	int found = find_inside(root, path, false);
	int fd = found < 0 ? -1 : open_found(found, O_RDONLY);

	if (fd >= 0) {
		read_found(fd, out);
		close(fd);
	}
	if (found >= 0)
		close(found);
	return out->len > 0;
}

/* True if nobody but the container's root has made the file, under one name. */
static bool is_system_file(int root, int found)
{
	struct stat top;
	struct stat st;

	return fstat(root, &top) == 0 && fstat(found, &st) == 0 &&
	       st.st_uid == top.st_uid && st.st_nlink == 1;
}

/* Adds the certificate to the file, or replaces that of an earlier run. A file
 * that cannot be written, or is mounted, is left as it is: the variables are
 * enough for most programs. */
static void add_inside(int root, const char *path, const char *certificate)
{
	struct buf text = BUF_INIT(BUNDLE_BYTES);
	int found = find_inside(root, path, true);
	int fd = found >= 0 && is_system_file(root, found)
			 ? open_found(found, O_RDWR)
			 : -1;
	size_t before;

	if (fd >= 0) {
		read_found(fd, &text);
		before = text.len;
		buf_adds(&text, MARK);
		buf_adds(&text, certificate);
		if (before && !text.over &&
		    io_pwrite_all(fd, text.ptr + before, text.len - before,
				  (off_t)before) == 0)
			(void)io_truncate(fd, (off_t)text.len);
		close(fd);
	}
	if (found >= 0)
		close(found);
	buf_release(&text);
}

/* Makes a new file of TRUST_DIR and gives it its name, so that nothing is
 * written through what has the name now. */
static int replace_inside(int root, const char *name, struct str text,
			  struct error *err)
{
	static const char new_name[] = TRUST_NAME ".new";
	int dir = find_inside(root, TRUST_DIR, true);
	int fd = -1;
	int rc = -1;

	if (dir >= 0) {
		(void)unlinkat(dir, new_name, 0);
		fd = openat(dir, new_name,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	}
	if (fd >= 0 && io_write_all(fd, text.ptr, text.len) == 0 &&
	    fchmod(fd, 0644) == 0)
		rc = renameat(dir, new_name, dir, name);
	if (rc < 0 && errno == EXDEV)
		error_set(err, ERR_USAGE,
			  "refusing to write " TRUST_DIR "/%s: " TRUST_DIR
			  " is a directory of this machine or a volume",
			  name);
	else if (rc < 0)
		error_errno(err, "writing " TRUST_DIR "/%s in the container",
			    name);
	if (rc < 0 && fd >= 0)
		(void)unlinkat(dir, new_name, 0);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return rc;
}

int trust_write_inside(pid_t pid, const char *certificate, struct error *err)
{
	char *path = xasprintf("/proc/%d/root", (int)pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct buf store = BUF_INIT(BUNDLE_BYTES);
	struct buf text = BUF_INIT(BUNDLE_BYTES);
	int rc = root < 0 ? error_errno(err, "opening the container's files")
			  : 0;

	free(path);
	for (size_t i = 0; rc == 0 && trust_files[i]; i++)
		if (read_inside(root, trust_files[i], &text))
			break;
	if (!text.len)
		add_system(&text);
	buf_adds(&text, MARK);
	buf_adds(&text, certificate);
	if (rc == 0)
		rc = buf_check(&text, "the list of certificates", err);
	if (rc == 0)
		rc = replace_inside(root, TRUST_NAME, buf_str(&text), err);
	add_java_store(buf_str(&text), &store);
	if (rc == 0)
		rc = replace_inside(root, TRUST_NAME TRUST_JAVA,
				    buf_str(&store), err);
	for (size_t i = 0; rc == 0 && trust_files[i]; i++)
		add_inside(root, trust_files[i], certificate);
	if (root >= 0)
		close(root);
	buf_release(&text);
	buf_release(&store);
	return rc;
}

void trust_each_variable(const struct secrets *s, const char *bundle,
			 void (*each)(void *arg, const char *name,
				      const char *value),
			 void *arg)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct secret *one = &s->list[i];

		if (one->env)
			each(arg, one->env, one->placeholder);
		if (one->key)
			each(arg, SECRET_AWS_KEY, one->key_placeholder);
		if (one->token)
			each(arg, SECRET_AWS_TOKEN, one->token_placeholder);
	}
	for (size_t i = 0; s->n && i < sizeof(variables) / sizeof(*variables);
	     i++)
		each(arg, variables[i], bundle);
	if (s->n) {
		char *java = xasprintf(
			"-Djavax.net.ssl.trustStore=%s" TRUST_JAVA, bundle);

		each(arg, "JAVA_TOOL_OPTIONS", java);
		free(java);
	}
}
