/* trust.c - makes programs in a sandbox accept the proxy's certificates. */
/* SPDX-License-Identifier: MIT */
#include "egress/trust/trust.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum { BUNDLE_BYTES = 8 << 20 };

const char *const trust_files[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", /* SUSE */
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

int trust_write(const char *path, const char *certificate, struct error *err)
{
	struct buf text = BUF_INIT(BUNDLE_BYTES);
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	int rc = fd < 0 ? error_errno(err, "writing %s", path) : 0;

	add_system(&text);
	if (text.len && text.ptr[text.len - 1] != '\n')
		buf_addc(&text, '\n');
	buf_adds(&text, certificate ? certificate : "");
	if (rc == 0)
		rc = buf_check(&text, "the list of certificates", err);
	/* never shorter in between: a program may be reading it */
	if (rc == 0 &&
	    (io_pwrite_all(fd, text.ptr ? text.ptr : "", text.len, 0) < 0 ||
	     io_truncate(fd, (off_t)text.len) < 0 || fchmod(fd, 0644) < 0))
		rc = error_errno(err, "writing %s", path);
	if (fd >= 0)
		close(fd);
	buf_release(&text);
	return rc;
}

/* Opens a file of the container. Attack: a link in the image leads to a file of
 * this machine; so all links are followed below the container's root. */
static int open_inside(int root, const char *path, int flags)
{
	const struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
				      .mode = flags & O_CREAT ? 0644 : 0,
				      .resolve = RESOLVE_IN_ROOT |
						 RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, path + 1, &how, sizeof(how));
}

/* Reads a file of the container. False if there is none. */
static bool read_inside(int root, const char *path, struct buf *out)
{
	int fd = open_inside(root, path, O_RDONLY | O_NONBLOCK);
	char room[1 << 14];
	struct stat st;
	ssize_t n;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		while ((n = io_read(fd, room, sizeof(room))) > 0)
			buf_add(out, room, (size_t)n);
	if (fd >= 0)
		close(fd);
	return out->len > 0;
}

/* Adds the certificate to the file, unless it has it. A file that cannot be
 * written is left: the variables are enough for most programs. */
static void add_inside(int root, const char *path, const char *certificate)
{
	struct buf text = BUF_INIT(BUNDLE_BYTES);
	int fd = -1;

	if (read_inside(root, path, &text) &&
	    str_search(buf_str(&text), str_of(certificate)) == text.len)
		fd = open_inside(root, path, O_WRONLY | O_APPEND);
	if (fd >= 0) {
		(void)!io_write_all(fd, "\n", 1);
		(void)!io_write_all(fd, certificate, strlen(certificate));
		close(fd);
	}
	buf_release(&text);
}

int trust_write_inside(pid_t pid, const char *certificate, struct error *err)
{
	char *path = xasprintf("/proc/%d/root", (int)pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct buf text = BUF_INIT(BUNDLE_BYTES);
	int fd = -1;

	for (size_t i = 0; root >= 0 && trust_files[i]; i++)
		if (read_inside(root, trust_files[i], &text))
			break;
	if (!text.len)
		add_system(&text);
	buf_addc(&text, '\n');
	buf_adds(&text, certificate);
	if (root >= 0)
		fd = open_inside(root, TRUST_INSIDE,
				 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
	free(path);
	if (fd < 0 || io_write_all(fd, text.ptr, text.len) < 0)
		error_errno(err, "writing " TRUST_INSIDE " in the container");
	for (size_t i = 0; fd >= 0 && trust_files[i]; i++)
		add_inside(root, trust_files[i], certificate);
	if (root >= 0)
		close(root);
	buf_release(&text);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
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
}
