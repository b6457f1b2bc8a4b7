/* trust.c - makes programs in a sandbox accept the proxy's certificates. */
/* SPDX-License-Identifier: MIT */
#include "egress/trust/trust.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
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

void trust_each_variable(const struct secrets *s, const char *bundle,
			 void (*each)(void *arg, const char *name,
				      const char *value),
			 void *arg)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].env)
			each(arg, s->list[i].env, s->list[i].placeholder);
	for (size_t i = 0; s->n && i < sizeof(variables) / sizeof(*variables);
	     i++)
		each(arg, variables[i], bundle);
}
