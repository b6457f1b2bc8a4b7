/* tls.c - the proxy's two ends of TLS, over OpenSSL 3. */
/* SPDX-License-Identifier: MIT */
/*
 * The authority is a P-256 key with a certificate that is valid for 90 days.
 * All hosts share one leaf key; a host's certificate is made at the first
 * connection to it and kept in a struct leaf. The file in memory has the
 * authority's certificate at its beginning and the key at KEY_AT.
 *
 * Both ends offer HTTP/1.1 only. Neither blocks: after a handshake of TLS 1.3
 * tickets make the socket readable although no data follows.
 */
#include "egress/tls/tls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"

enum {
	KEY_AT = TLS_CERTIFICATE,
	KEY_BYTES = 4096,
	LEAVES = 256, /* hosts whose certificates are kept */
	HOST_BYTES = 254,
	VALID_DAYS = 90,
	DAY = 86400, /* s */
	SERIAL_BITS = 127,
	READ_BUFFER = 68 << 10, /* four records */
};

#define FUNCTIONS(F)                                                           \
	F(ASN1_INTEGER_new)                                                    \
	F(ASN1_INTEGER_free)                                                   \
	F(BIO_ctrl)                                                            \
	F(BIO_free)                                                            \
	F(BIO_new)                                                             \
	F(BIO_new_mem_buf)                                                     \
	F(BIO_s_mem)                                                           \
	F(BN_free)                                                             \
	F(BN_new)                                                              \
	F(BN_rand)                                                             \
	F(BN_to_ASN1_INTEGER)                                                  \
	F(ERR_clear_error)                                                     \
	F(ERR_peek_error)                                                      \
	F(EVP_PKEY_free)                                                       \
	F(EVP_PKEY_Q_keygen)                                                   \
	F(EVP_sha256)                                                          \
	F(OPENSSL_init_crypto)                                                 \
	F(PEM_read_bio_PrivateKey)                                             \
	F(PEM_read_bio_X509)                                                   \
	F(PEM_write_bio_PrivateKey)                                            \
	F(PEM_write_bio_X509)                                                  \
	F(SSL_CTX_callback_ctrl)                                               \
	F(SSL_CTX_ctrl)                                                        \
	F(SSL_CTX_free)                                                        \
	F(SSL_CTX_new)                                                         \
	F(SSL_CTX_set_alpn_protos)                                             \
	F(SSL_CTX_set_alpn_select_cb)                                          \
	F(SSL_CTX_set_ciphersuites)                                            \
	F(SSL_CTX_set_default_read_buffer_len)                                 \
	F(SSL_CTX_set_default_verify_paths)                                    \
	F(SSL_CTX_set_options)                                                 \
	F(SSL_CTX_set_verify)                                                  \
	F(SSL_CTX_use_PrivateKey)                                              \
	F(SSL_CTX_use_certificate)                                             \
	F(SSL_ctrl)                                                            \
	F(SSL_do_handshake)                                                    \
	F(SSL_free)                                                            \
	F(SSL_get_error)                                                       \
	F(SSL_get_ex_data)                                                     \
	F(SSL_get_servername)                                                  \
	F(SSL_get_verify_result)                                               \
	F(SSL_new)                                                             \
	F(SSL_read)                                                            \
	F(SSL_select_next_proto)                                               \
	F(SSL_set1_host)                                                       \
	F(SSL_set_accept_state)                                                \
	F(SSL_set_connect_state)                                               \
	F(SSL_set_ex_data)                                                     \
	F(SSL_set_fd)                                                          \
	F(SSL_set_options)                                                     \
	F(SSL_shutdown)                                                        \
	F(SSL_write)                                                           \
	F(TLS_client_method)                                                   \
	F(TLS_server_method)                                                   \
	F(X509V3_EXT_conf_nid)                                                 \
	F(X509V3_set_ctx)                                                      \
	F(X509_EXTENSION_free)                                                 \
	F(X509_NAME_add_entry_by_txt)                                          \
	F(X509_add_ext)                                                        \
	F(X509_free)                                                           \
	F(X509_get_subject_name)                                               \
	F(X509_getm_notAfter)                                                  \
	F(X509_getm_notBefore)                                                 \
	F(X509_gmtime_adj)                                                     \
	F(X509_new)                                                            \
	F(X509_set_issuer_name)                                                \
	F(X509_set_pubkey)                                                     \
	F(X509_set_serialNumber)                                               \
	F(X509_set_version)                                                    \
	F(X509_sign)

#define FIELD(name) __typeof__(name) *(name);
static struct {
	FUNCTIONS(FIELD)
} o;
#undef FIELD

#define SYMBOL(name) { #name, (size_t)((char *)&o.name - (char *)&o) },
static int load_openssl(struct error *err)
{
	static const struct library library = {
		.name = "OpenSSL",
		.files = { "libssl.so.3", NULL },
		.package = "libssl3",
		.needed = "3.0",
	};
	const struct library_symbol symbols[] = { FUNCTIONS(SYMBOL) };

	if (library_load(&library, symbols, sizeof(symbols) / sizeof(*symbols),
			 &o, err) < 0)
		return -1;
	(void)o.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
	return 0;
}
#undef SYMBOL

struct leaf {
	char host[HOST_BYTES];
	SSL_CTX *context;
};

struct tls {
	pthread_mutex_t lock; /* of the leaves */
	struct leaf leaves[LEAVES];
	size_t next; /* the oldest one, which the next host replaces */
	EVP_PKEY *key;
	X509 *certificate;
	EVP_PKEY *leaf_key;
	SSL_CTX *client; /* context of connections to servers */
};

struct tls_stream {
	SSL *ssl;
	char host[HOST_BYTES];
	bool is_server; /* towards a client */
	enum tls_fault fault;
};

static const unsigned char protocols[] = "\x08http/1.1";
enum { PROTOCOLS = sizeof(protocols) - 1 };

static int fail(struct error *err)
{
	return error_set(err, ERR_SYSTEM,
			 "OpenSSL cannot make the certificates of the network "
			 "proxy");
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *e;
	bool ok;

	o.X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
	e = o.X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = e && o.X509_add_ext(x, e, -1) == 1;
	o.X509_EXTENSION_free(e);
	return ok;
}

static bool set_serial(X509 *x)
{
	BIGNUM *n = o.BN_new();
	ASN1_INTEGER *serial = NULL;
	bool ok = n && o.BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY,
				 BN_RAND_BOTTOM_ANY) == 1;

	if (ok)
		serial = o.BN_to_ASN1_INTEGER(n, NULL);
	ok = serial && o.X509_set_serialNumber(x, serial) == 1;
	o.ASN1_INTEGER_free(serial);
	o.BN_free(n);
	return ok;
}

/* Returns a certificate for the key, without extensions and signature. */
static X509 *make_certificate(EVP_PKEY *key, const char *name, X509 *issuer)
{
	X509 *x = o.X509_new();
	X509_NAME *subject = x ? o.X509_get_subject_name(x) : NULL;
	X509_NAME *by = issuer ? o.X509_get_subject_name(issuer) : subject;

	if (x && o.X509_set_version(x, 2) == 1 && set_serial(x) &&
	    o.X509_gmtime_adj(o.X509_getm_notBefore(x), -DAY) &&
	    o.X509_gmtime_adj(o.X509_getm_notAfter(x),
			      (long)(VALID_DAYS - 1) * DAY) &&
	    o.X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
					 (const unsigned char *)name, -1, -1,
					 0) == 1 &&
	    o.X509_set_issuer_name(x, by) == 1 &&
	    o.X509_set_pubkey(x, key) == 1)
		return x;
	o.X509_free(x);
	return NULL;
}

static bool make_authority(struct tls *t)
{
	X509 *x;

	t->key = o.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	if (!t->key)
		return false;
	x = t->certificate = make_certificate(t->key, "dcode run", NULL);
	return x &&
	       add_extension(x, x, NID_basic_constraints,
			     "critical,CA:TRUE,pathlen:0") &&
	       add_extension(x, x, NID_key_usage,
			     "critical,keyCertSign,cRLSign") &&
	       add_extension(x, x, NID_subject_key_identifier, "hash") &&
	       o.X509_sign(x, t->key, o.EVP_sha256()) > 0;
}

/* Returns the host's certificate. The common name has at most 64 bytes, and
 * clients compare only the alternative name. */
static X509 *make_leaf(const struct tls *t, const char *host)
{
	char *names = xasprintf("DNS:%s", host);
	X509 *x = make_certificate(t->leaf_key,
				   strlen(host) > 64 ? "dcode" : host,
				   t->certificate);
	bool ok =
		x &&
		add_extension(x, t->certificate, NID_basic_constraints,
			      "critical,CA:FALSE") &&
		add_extension(x, t->certificate, NID_key_usage,
			      "critical,digitalSignature") &&
		add_extension(x, t->certificate, NID_ext_key_usage,
			      "serverAuth") &&
		add_extension(x, t->certificate, NID_subject_alt_name, names) &&
		add_extension(x, t->certificate, NID_subject_key_identifier,
			      "hash") &&
		add_extension(x, t->certificate, NID_authority_key_identifier,
			      "keyid:always") &&
		o.X509_sign(x, t->key, o.EVP_sha256()) > 0;

	free(names);
	if (ok)
		return x;
	o.X509_free(x);
	return NULL;
}

/* Writes what the BIO has to the file. */
static bool write_bio(int memory, BIO *b, off_t at, size_t most)
{
	char *bytes = NULL;
	long len = o.BIO_ctrl(b, BIO_CTRL_INFO, 0, (char *)&bytes);

	return len > 0 && (size_t)len < most &&
	       io_pwrite_all(memory, bytes, (size_t)len, at) == 0;
}

static bool save_authority(const struct tls *t, int memory)
{
	BIO *certificate = o.BIO_new(o.BIO_s_mem());
	BIO *key = o.BIO_new(o.BIO_s_mem());
	bool ok = certificate && key &&
		  o.PEM_write_bio_X509(certificate, t->certificate) == 1 &&
		  o.PEM_write_bio_PrivateKey(key, t->key, NULL, NULL, 0, NULL,
					     NULL) == 1 &&
		  write_bio(memory, key, KEY_AT, KEY_BYTES) &&
		  write_bio(memory, certificate, 0, TLS_CERTIFICATE);

	o.BIO_free(certificate);
	o.BIO_free(key);
	return ok;
}

static bool load_authority(struct tls *t, int memory)
{
	char key[KEY_BYTES] = "";
	char pem[TLS_CERTIFICATE];
	BIO *b;

	if (!tls_read_certificate(memory, pem) ||
	    io_pread_all(memory, key, sizeof(key) - 1, KEY_AT) <= 0)
		return false;
	b = o.BIO_new_mem_buf(pem, -1);
	t->certificate = o.PEM_read_bio_X509(b, NULL, NULL, NULL);
	o.BIO_free(b);
	b = o.BIO_new_mem_buf(key, -1);
	t->key = o.PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
	o.BIO_free(b);
	explicit_bzero(key, sizeof(key));
	return t->key && t->certificate;
}

bool tls_read_certificate(int memory, char pem[TLS_CERTIFICATE])
{
	ssize_t n = io_pread_all(memory, pem, TLS_CERTIFICATE - 1, 0);

	if (n <= 0 || !pem[0])
		return false;
	pem[n] = '\0';
	return true;
}

/* Settings for both ends. Each byte is decrypted and encrypted again, so the
 * cheapest cipher comes first, and several records are read at once. */
static bool set_speed(SSL_CTX *c)
{
	(void)o.SSL_CTX_set_options(c, SSL_OP_CIPHER_SERVER_PREFERENCE |
					       SSL_OP_PRIORITIZE_CHACHA);
	(void)o.SSL_CTX_ctrl(c, SSL_CTRL_SET_READ_AHEAD, 1, NULL);
	o.SSL_CTX_set_default_read_buffer_len(c, READ_BUFFER);
	return o.SSL_CTX_set_ciphersuites(c,
					  "TLS_AES_128_GCM_SHA256:"
					  "TLS_AES_256_GCM_SHA384:"
					  "TLS_CHACHA20_POLY1305_SHA256") == 1;
}

/* The context of connections to servers: their certificates must be trusted on
 * this machine. */
static bool open_client(struct tls *t)
{
	t->client = o.SSL_CTX_new(o.TLS_client_method());
	if (!t->client || !set_speed(t->client) ||
	    o.SSL_CTX_set_default_verify_paths(t->client) != 1 ||
	    o.SSL_CTX_set_alpn_protos(t->client, protocols, PROTOCOLS) != 0)
		return false;
	o.SSL_CTX_set_verify(t->client, SSL_VERIFY_PEER, NULL);
	(void)o.SSL_CTX_ctrl(t->client, SSL_CTRL_SET_MIN_PROTO_VERSION,
			     TLS1_2_VERSION, NULL);
	return true;
}

int tls_open(struct tls **out, int memory, struct error *err)
{
	struct tls *t;

	if (load_openssl(err) < 0)
		return -1;
	t = xcalloc(1, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	*out = t; /* lives as long as the process */
	if (!load_authority(t, memory) &&
	    !(make_authority(t) && save_authority(t, memory)))
		return fail(err);
	t->leaf_key = o.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	return t->leaf_key && open_client(t) ? 0 : fail(err);
}

static int check_name(SSL *ssl, int *alert, void *arg)
{
	struct tls_stream *s = o.SSL_get_ex_data(ssl, 0);
	const char *name = o.SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)arg;
	if (name && !strcasecmp(name, s->host))
		return SSL_TLSEXT_ERR_OK;
	s->fault = TLS_OTHER_NAME;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int choose_protocol(SSL *ssl, const unsigned char **out,
			   unsigned char *out_len, const unsigned char *in,
			   unsigned in_len, void *arg)
{
	struct tls_stream *s = o.SSL_get_ex_data(ssl, 0);

	(void)arg;
	if (o.SSL_select_next_proto((unsigned char **)out, out_len, protocols,
				    PROTOCOLS, in,
				    in_len) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	s->fault = TLS_HTTP2_ONLY;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(const struct tls *t, const char *host)
{
	SSL_CTX *c = o.SSL_CTX_new(o.TLS_server_method());
	X509 *x = make_leaf(t, host);
	bool ok = c && x && set_speed(c) &&
		  o.SSL_CTX_use_certificate(c, x) == 1 &&
		  o.SSL_CTX_use_PrivateKey(c, t->leaf_key) == 1;

	o.X509_free(x);
	if (!ok) {
		o.SSL_CTX_free(c);
		return NULL;
	}
	(void)o.SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION,
			     NULL);
	o.SSL_CTX_set_alpn_select_cb(c, choose_protocol, NULL);
	(void)o.SSL_CTX_callback_ctrl(c, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
				      (void (*)(void))check_name);
	return c;
}

/* Returns the host's context; it lives at least until the lock is released. */
static SSL_CTX *find_context(struct tls *t, const char *host)
{
	struct leaf *l = t->leaves;

	for (size_t i = 0; i < LEAVES; i++)
		if (l[i].context && !strcmp(l[i].host, host))
			return l[i].context;
	l = &t->leaves[t->next];
	t->next = (t->next + 1) % LEAVES;
	o.SSL_CTX_free(l->context);
	l->context = make_context(t, host);
	(void)stpncpy(l->host, host, sizeof(l->host) - 1);
	return l->context;
}

static struct tls_stream *open_stream(struct tls *t, int fd, const char *host,
				      bool is_server)
{
	struct tls_stream *s = xcalloc(1, sizeof(*s));
	SSL_CTX *c = t->client;

	s->is_server = is_server;
	(void)stpncpy(s->host, host, sizeof(s->host) - 1);
	pthread_mutex_lock(&t->lock);
	if (is_server)
		c = find_context(t, host);
	s->ssl = c ? o.SSL_new(c) : NULL;
	pthread_mutex_unlock(&t->lock);
	if (!s->ssl || o.SSL_set_ex_data(s->ssl, 0, s) != 1 ||
	    o.SSL_set_fd(s->ssl, fd) != 1) {
		tls_free(s);
		return NULL;
	}
	(void)o.SSL_ctrl(s->ssl, SSL_CTRL_MODE,
			 SSL_MODE_ENABLE_PARTIAL_WRITE |
				 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
			 NULL);
	/* many peers close the socket without a word; lengths tell whether
	 * something is missing */
	(void)o.SSL_set_options(s->ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
	return s;
}

struct tls_stream *tls_accept(struct tls *t, int fd, const char *host)
{
	struct tls_stream *s = open_stream(t, fd, host, true);

	if (s)
		o.SSL_set_accept_state(s->ssl);
	return s;
}

struct tls_stream *tls_connect(struct tls *t, int fd, const char *host)
{
	struct tls_stream *s = open_stream(t, fd, host, false);

	if (!s)
		return NULL;
	o.SSL_set_connect_state(s->ssl);
	if (o.SSL_set1_host(s->ssl, host) == 1 &&
	    o.SSL_ctrl(s->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
		       TLSEXT_NAMETYPE_host_name, s->host) == 1)
		return s;
	tls_free(s);
	return NULL;
}

void tls_free(struct tls_stream *s)
{
	if (s && s->ssl)
		o.SSL_free(s->ssl);
	free(s);
}

/* Returns what a call that did not succeed means. */
static long read_result(struct tls_stream *s, int rc)
{
	switch (o.SSL_get_error(s->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		return TLS_WANTS_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANTS_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		return TLS_FAILED;
	}
}

int tls_handshake(struct tls_stream *s)
{
	int rc;
	long result;

	o.ERR_clear_error();
	rc = o.SSL_do_handshake(s->ssl);
	if (rc == 1)
		return 1;
	result = read_result(s, rc);
	if (result == TLS_WANTS_READ || result == TLS_WANTS_WRITE)
		return (int)result;
	/* A client that does not trust the certificate says so in an alert. */
	if (s->fault == TLS_OTHER &&
	    (s->is_server ? ERR_GET_REASON(o.ERR_peek_error()) >=
				    SSL_AD_REASON_OFFSET
			  : o.SSL_get_verify_result(s->ssl) != X509_V_OK))
		s->fault = TLS_UNTRUSTED;
	return TLS_FAILED;
}

long tls_read(struct tls_stream *s, char *room, size_t len)
{
	int rc;

	o.ERR_clear_error();
	rc = o.SSL_read(s->ssl, room, (int)len);
	return rc > 0 ? rc : read_result(s, rc);
}

long tls_write(struct tls_stream *s, const char *bytes, size_t len)
{
	int rc;

	o.ERR_clear_error();
	rc = o.SSL_write(s->ssl, bytes, (int)len);
	return rc > 0 ? rc : read_result(s, rc);
}

void tls_end(struct tls_stream *s)
{
	o.ERR_clear_error();
	(void)o.SSL_shutdown(s->ssl);
}

enum tls_fault tls_fault(const struct tls_stream *s)
{
	return s->fault;
}
