/* handles.c - loads libcurl at run time; its handles and connections. */
/* SPDX-License-Identifier: MIT */
/* Four things that a transfer needs: the table of libcurl's functions, loaded
 * by a thread; the notice to the user about a server that does not answer; the
 * list of warm handles (struct http; begin reading at handle_take()); and a
 * connection that dcode starts itself while libcurl is still loading
 * (dial_begin()). http_do.c, conn.c and ws.c run transfers on these handles.
 * http.lock guards the list, the share and the connection that http_dial() made
 * in advance. A handle belongs to one thread from handle_take() to
 * handle_give(). */
#include "net/handles.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "net/resolve.h"

struct curl_loader {
	pthread_t thread;
	bool threaded;
	int done_fd;       /* eventfd: readable once loaded or failed */
	atomic_bool ready; /* the table below is complete */
	struct curl_api api;
	struct error err; /* why loading failed, if code is set */
};

static const struct library_symbol symbols[] = {
#define SYMBOL(member)                                                         \
	{                                                                      \
		"curl_" #member, offsetof(struct curl_api, member)             \
	}
	SYMBOL(global_init),
	SYMBOL(easy_init),
	SYMBOL(easy_cleanup),
	SYMBOL(easy_setopt),
	SYMBOL(easy_getinfo),
	SYMBOL(easy_pause),
	SYMBOL(easy_recv),
	SYMBOL(easy_send),
	SYMBOL(easy_strerror),
	SYMBOL(multi_init),
	SYMBOL(multi_cleanup),
	SYMBOL(multi_add_handle),
	SYMBOL(multi_remove_handle),
	SYMBOL(multi_perform),
	SYMBOL(multi_poll),
	SYMBOL(multi_info_read),
	SYMBOL(multi_strerror),
	SYMBOL(share_init),
	SYMBOL(share_setopt),
	SYMBOL(share_cleanup),
	SYMBOL(getdate),
#undef SYMBOL
};

/* Debian has libcurl in two packages, with different TLS libraries. Either will
 * do. */
static const struct library library = {
	.name = "libcurl",
	.files = { "libcurl.so.4", "libcurl-gnutls.so.4" },
	/* Debian's libcurl needs the second one, too, which brings GnuTLS. */
	.needs = { "libcrypto.so.3", "librtmp.so.1" },
	.package = "libcurl4",
	.needed = "7.83",
};

/* Keeps OpenSSL from freeing its tables at exit. That takes more instructions
 * than a turn of the conversation, and the kernel frees the memory anyway. The
 * flag is from openssl/crypto.h. A libcurl with another TLS library has no
 * libcrypto. */
static void skip_cleanup_at_exit(void)
{
	enum { OPENSSL_INIT_NO_ATEXIT = 0x00080000 };
	void *crypto = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD);
	int (*init)(uint64_t, const void *) = NULL;

	if (!crypto)
		return;
	*(void **)&init = dlsym(crypto, "OPENSSL_init_crypto");
	if (init)
		(void)init(OPENSSL_INIT_NO_ATEXIT, NULL);
	dlclose(crypto);
}

static int load_libcurl(struct curl_api *api, struct error *err)
{
	if (library_load(&library, symbols, sizeof(symbols) / sizeof(*symbols),
			 api, err) < 0)
		return -1;
	skip_cleanup_at_exit();
	if (api->global_init(CURL_GLOBAL_ALL) != CURLE_OK)
		return error_set(err, ERR_SYSTEM, "cannot start libcurl");
	return 0;
}

static void *load_thread(void *arg)
{
	struct curl_loader *l = arg;
	uint64_t one = 1;

	(void)load_libcurl(&l->api, &l->err);
	atomic_store_explicit(&l->ready, true, memory_order_release);
	if (l->done_fd >= 0)
		(void)!io_write(l->done_fd, &one, sizeof(one));
	return NULL;
}

/* Starts the thread. Never fails: the first curl_api_get() reports errors. */
static struct curl_loader *curl_loader_new(void)
{
	struct curl_loader *l = xcalloc(1, sizeof(*l));
	struct error ignored = { 0 };

	atomic_init(&l->ready, false);
	l->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->threaded = l->done_fd >= 0 &&
		      thread_start(&l->thread, load_thread, l, &ignored) == 0;
	if (!l->threaded)
		load_thread(l); /* no thread could be started: load now */
	return l;
}

/* Waits for the thread. Does not unload the library, because its exit handlers
 * need it. */
static void curl_loader_free(struct curl_loader *l)
{
	if (!l)
		return;
	if (l->threaded)
		pthread_join(l->thread, NULL);
	if (l->done_fd >= 0)
		close(l->done_fd);
	free(l);
}

/* True if curl_api_get() would not block. Any thread. */
static bool curl_is_loaded(struct curl_loader *l)
{
	return atomic_load_explicit(&l->ready, memory_order_acquire);
}

/* Waits for the table. NULL with err: ERR_SYSTEM, or the reason of stop. Any
 * thread. */
static const struct curl_api *
curl_api_get(struct curl_loader *l, const struct stop *stop, struct error *err)
{
	while (!curl_is_loaded(l)) {
		struct pollfd fds[2] = {
			{ .fd = l->done_fd, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (stop_check(stop, err) < 0)
			return NULL;
		if (poll(fds, 2, stop_poll_ms(stop, -1)) < 0 &&
		    errno != EINTR) {
			error_errno(err, "poll");
			return NULL;
		}
	}
	if (l->err.code != ERR_NONE) {
		*err = l->err;
		return NULL;
	}
	return &l->api;
}

enum {
	MAX_IDLE = 16, /* free handles kept with open connections */
	MAX_REACHED = 16,
};

/* Which notices about unresponsive servers the user has seen. */
struct notice {
	pthread_mutex_t lock;
	void (*say)(void *arg, const char *line);
	void *arg;
	int failures; /* consecutive */
	bool told_failure;
	bool told_silence;
};

struct http {
	struct curl_loader *loader;
	char *ca_file; /* owned; NULL: libcurl's default */
	char *ca_path;
	char *http_proxy;     /* for http:// URLs; libcurl does not read
			       * HTTP_PROXY */
	bool proxied;         /* the environment names a proxy */
	pthread_mutex_t lock; /* guards the list, reached, ahead and share */
	/* list of free handles, the most recently used first */
	struct handle *idle;
	size_t n_idle;
	uint64_t reached[MAX_REACHED]; /* hashes of origins that were
					* reached; 0: unused */
	size_t n_reached;
	struct notice notice;
	/* connection made in advance by http_dial(); owned, or NULL */
	struct dial *ahead;
	CURLSH *share; /* TLS sessions and DNS cache of all handles */
	pthread_mutex_t share_lock[CURL_LOCK_DATA_LAST];
};

static bool names_proxy(void)
{
	static const char *const names[] = { "http_proxy",  "HTTP_PROXY",
					     "https_proxy", "HTTPS_PROXY",
					     "all_proxy",   "ALL_PROXY" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (getenv(names[i]))
			return true;
	return false;
}

struct http *http_new(const char *ca_file)
{
	struct http *h = xcalloc(1, sizeof(*h));

	if (!ca_file || !*ca_file)
		ca_file = getenv("SSL_CERT_FILE");
	if (ca_file && *ca_file)
		h->ca_file = xstrdup(ca_file);
	h->ca_path = xstrdup(getenv("SSL_CERT_DIR"));
	/* libcurl ignores HTTP_PROXY, because in a CGI program a client can set
	 * it through a header. dcode reads it, except when it runs as a CGI
	 * program. */
	if (!getenv("http_proxy") && !getenv("REQUEST_METHOD"))
		h->http_proxy = xstrdup(getenv("HTTP_PROXY"));
	h->proxied = names_proxy();
	pthread_mutex_init(&h->lock, NULL);
	for (int i = 0; i < CURL_LOCK_DATA_LAST; i++)
		pthread_mutex_init(&h->share_lock[i], NULL);
	h->loader = curl_loader_new();
	pthread_mutex_init(&h->notice.lock, NULL);
	return h;
}

static void free_handle(const struct curl_api *api, struct handle *hd)
{
	if (hd->easy)
		api->easy_cleanup(hd->easy);
	if (hd->multi)
		api->multi_cleanup(hd->multi);
	free(hd->origin);
	free(hd);
}

/* Closes a connection that http_dial() made and no request used. */
static void free_ahead(struct dial *d)
{
	dial_end(d, NULL, NULL);
	free(d);
}

/* Stores a connection that the next request may use (or NULL). Returns the one
 * stored before, which the caller then owns. */
static struct dial *swap_ahead(struct http *h, struct dial *ahead)
{
	struct dial *old;

	pthread_mutex_lock(&h->lock);
	old = h->ahead;
	h->ahead = ahead;
	pthread_mutex_unlock(&h->lock);
	return old;
}

void http_free(struct http *h)
{
	struct stop never = stop_on(NULL);
	struct error err = { 0 };
	const struct curl_api *api;

	if (!h)
		return;
	if (h->ahead)
		free_ahead(h->ahead);
	api = h->idle || h->share ? curl_api_get(h->loader, &never, &err)
				  : NULL;
	while (api && h->idle) {
		struct handle *hd = h->idle;

		h->idle = hd->next;
		free_handle(api, hd);
	}
	if (api && h->share)
		api->share_cleanup(h->share);
	curl_loader_free(h->loader);
	pthread_mutex_destroy(&h->notice.lock);
	for (int i = 0; i < CURL_LOCK_DATA_LAST; i++)
		pthread_mutex_destroy(&h->share_lock[i]);
	pthread_mutex_destroy(&h->lock);
	free(h->ca_file);
	free(h->ca_path);
	free(h->http_proxy);
	free(h);
}

void http_on_wait(struct http *h, void (*say)(void *arg, const char *line),
		  void *arg)
{
	pthread_mutex_lock(&h->notice.lock);
	h->notice.say = say;
	h->notice.arg = arg;
	pthread_mutex_unlock(&h->notice.lock);
}

/* Returns the notice for the user, owned. It shows "https://host" or
 * "unix:///path" and "POST /v1/boxes", without the query: some services put
 * keys there. */
static char *line_of(const struct http_request *req, const char *what)
{
	const char *sep = strstr(req->url, "://");
	const char *host = sep ? sep + 3 : req->url;
	size_t origin = (size_t)(host - req->url) + strcspn(host, "/?#");
	const char *at = memchr(host, '@', strcspn(host, "/?#"));
	const char *path = req->url + origin;
	int path_len = (int)strcspn(path, "?#");

	if (req->unix_socket)
		return xasprintf(
			"Waiting for unix://%s: %s %s %.*s (Ctrl-C stops)",
			req->unix_socket, what, req->method, path_len, path);
	if (at) /* skip the user and password, if any */
		host = at + 1;
	return xasprintf("Waiting for %.*s%.*s: %s %s %.*s (Ctrl-C stops)",
			 sep ? (int)(sep + 3 - req->url) : 0, req->url,
			 (int)(req->url + origin - host), host, what,
			 req->method, path_len, path);
}

static void show_notice(struct notice *n, const struct http_request *req,
			const char *what)
{
	char *line;

	if (!n->say)
		return;
	line = line_of(req, what);
	n->say(n->arg, line);
	free(line);
}

void notice_result(struct http *h, const struct http_request *req, int rc,
		   const struct http_response *res, const struct error *err)
{
	bool failed = rc == 0 ? res->status >= 500
			      : err->code == ERR_NETWORK ||
					err->code == ERR_UNREACHABLE;
	char what[64] = "no answer to";
	struct notice *n = &h->notice;

	if (rc == 0)
		snprintf(what, sizeof(what), "HTTP %d in answer to",
			 res->status);
	if (rc < 0 && !failed)
		/* cancelled, or one of dcode's own limits: not the server's
		 * fault */
		return;
	pthread_mutex_lock(&n->lock);
	n->failures = failed ? n->failures + 1 : 0;
	if (!failed)
		n->told_failure = n->told_silence = false;
	if (failed && !n->told_failure &&
	    (n->failures > 1 || res->retry_after_ms >= NOTICE_MS / 2)) {
		n->told_failure = true;
		show_notice(n, req, what);
	}
	pthread_mutex_unlock(&n->lock);
}

void notice_silence(struct http *h, const struct http_request *req)
{
	struct notice *n = &h->notice;

	pthread_mutex_lock(&n->lock);
	if (!n->told_silence)
		show_notice(n, req, "no answer yet to");
	n->told_silence = true;
	pthread_mutex_unlock(&n->lock);
}

const struct curl_api *http_api(struct http *h, const struct stop *stop,
				struct error *err)
{
	return curl_api_get(h->loader, stop, err);
}

bool http_is_direct(const struct http_request *req)
{
	return req->unix_socket || req->flags & HTTP_NO_PROXY ||
	       loopback_url(str_of(req->url));
}

static bool http_may_dial(struct http *h, const struct http_request *req)
{
	return !curl_is_loaded(h->loader) && !req->unix_socket &&
	       !req->connect_to && (http_is_direct(req) || !h->proxied);
}

static void share_lock(CURL *easy, curl_lock_data data, curl_lock_access access,
		       void *arg)
{
	struct http *h = arg;

	(void)easy;
	(void)access;
	pthread_mutex_lock(&h->share_lock[data]);
}

static void share_unlock(CURL *easy, curl_lock_data data, void *arg)
{
	struct http *h = arg;

	(void)easy;
	pthread_mutex_unlock(&h->share_lock[data]);
}

/* Returns the share, and creates it first if there is none. Call with h->lock
 * held. It does not include connections: libcurl cannot share those between
 * threads. */
static CURLSH *share_get(struct http *h, const struct curl_api *api)
{
	if (h->share)
		return h->share;
	h->share = api->share_init();
	if (!h->share)
		return NULL;
	api->share_setopt(h->share, CURLSHOPT_LOCKFUNC, share_lock);
	api->share_setopt(h->share, CURLSHOPT_UNLOCKFUNC, share_unlock);
	api->share_setopt(h->share, CURLSHOPT_USERDATA, h);
	api->share_setopt(h->share, CURLSHOPT_SHARE,
			  CURL_LOCK_DATA_SSL_SESSION);
	api->share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
	return h->share;
}

/* Sets the options that are the same for all transfers. */
static void set_fixed(struct http *h, const struct curl_api *api,
		      struct handle *hd, CURLSH *share)
{
	CURL *easy = hd->easy;

	api->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	api->easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	api->easy_setopt(easy, CURLOPT_ERRORBUFFER, hd->error);
	api->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	api->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	api->easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	api->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	api->easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	api->easy_setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
	api->easy_setopt(easy, CURLOPT_USERAGENT, "dcode");
	/* A proxy may compress answers although dcode does not ask for it
	 * (http_do.c suppresses the request header): decode those. */
	api->easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	/* without this, the end of a transfer waits for the resolver's
	 * thread */
	api->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	if (share)
		api->easy_setopt(easy, CURLOPT_SHARE, share);
	if (h->ca_file)
		api->easy_setopt(easy, CURLOPT_CAINFO, h->ca_file);
	if (h->ca_path)
		api->easy_setopt(easy, CURLOPT_CAPATH, h->ca_path);
}

/* "scheme://authority" of url, or the path of the socket. */
static struct str origin_of(const char *url, const char *unix_socket)
{
	const char *rest;

	if (unix_socket)
		return (struct str){ unix_socket, strlen(unix_socket) };
	rest = strstr(url, "://");
	if (!rest)
		return (struct str){ url, strlen(url) };
	rest += 3;
	rest += strcspn(rest, "/?#");
	return (struct str){ url, (size_t)(rest - url) };
}

/* Removes a free handle with an open connection to origin from the list and
 * returns it. NULL if there is none. Call with the lock held. */
static struct handle *find_idle(struct http *h, struct str origin)
{
	for (struct handle **at = &h->idle; *at; at = &(*at)->next) {
		struct handle *hd = *at;

		if (strlen(hd->origin) != origin.len ||
		    memcmp(hd->origin, origin.ptr, origin.len) != 0)
			continue;
		*at = hd->next;
		hd->next = NULL;
		h->n_idle--;
		return hd;
	}
	return NULL;
}

struct handle *handle_new(struct http *h, const char *url,
			  const char *unix_socket, const struct stop *stop,
			  struct error *err)
{
	const struct curl_api *api = http_api(h, stop, err);
	struct str origin = origin_of(url, unix_socket);
	struct handle *hd;
	CURLSH *share;

	if (!api)
		return NULL;
	if (strncasecmp(url, "http://", 7) != 0 &&
	    strncasecmp(url, "https://", 8) != 0) {
		error_set(err, ERR_CONFIG,
			  "only http:// and https:// addresses work");
		return NULL;
	}
	hd = xcalloc(1, sizeof(*hd));
	hd->http = h;
	hd->origin = xstrndup(origin.ptr, origin.len);
	if (strncasecmp(url, "http://", 7) == 0)
		hd->proxy = h->http_proxy;
	hd->easy = api->easy_init();
	hd->multi = api->multi_init();
	if (!hd->easy || !hd->multi) {
		free_handle(api, hd);
		error_set(err, ERR_SYSTEM,
			  "libcurl cannot create another handle");
		return NULL;
	}
	pthread_mutex_lock(&h->lock);
	share = share_get(h, api);
	pthread_mutex_unlock(&h->lock);
	set_fixed(h, api, hd, share);
	return hd;
}

struct handle *handle_take(struct http *h, const char *url,
			   const char *unix_socket, const struct stop *stop,
			   struct error *err)
{
	struct handle *hd;

	pthread_mutex_lock(&h->lock);
	hd = find_idle(h, origin_of(url, unix_socket));
	pthread_mutex_unlock(&h->lock);
	if (!hd)
		return handle_new(h, url, unix_socket, stop, err);
	hd->error[0] = '\0';
	return hd;
}

void handle_give(struct http *h, struct handle *hd, bool keep)
{
	struct stop never = stop_on(NULL);
	struct error err = { 0 };
	const struct curl_api *api;
	struct handle *old = NULL;

	if (!hd)
		return;
	api = curl_api_get(h->loader, &never, &err);
	if (!keep) {
		free_handle(api, hd);
		return;
	}
	pthread_mutex_lock(&h->lock);
	hd->next = h->idle;
	h->idle = hd;
	if (++h->n_idle > MAX_IDLE) {
		struct handle **at = &h->idle;

		while ((*at)->next)
			at = &(*at)->next;
		old = *at;
		*at = NULL;
		h->n_idle--;
	}
	pthread_mutex_unlock(&h->lock);
	if (old)
		free_handle(api, old);
}

/* Maps libcurl's result to dcode's error codes. */
static enum err code_of(CURLcode code)
{
	switch (code) {
	case CURLE_URL_MALFORMAT:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_BAD_FUNCTION_ARGUMENT:
		return ERR_CONFIG;
	case CURLE_FAILED_INIT:
		return ERR_SYSTEM;
	case CURLE_OUT_OF_MEMORY:
	case CURLE_WEIRD_SERVER_REPLY:
		return ERR_PROTOCOL;
	default:
		return ERR_NETWORK;
	}
}

static uint64_t hash_text(const char *text)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 1099511628211u;
	return sum ? sum : 1;
}

static bool was_reached(const struct handle *hd)
{
	uint64_t key = hash_text(hd->origin);
	bool found = false;

	pthread_mutex_lock(&hd->http->lock);
	for (size_t i = 0; i < MAX_REACHED; i++)
		found = found || hd->http->reached[i] == key;
	pthread_mutex_unlock(&hd->http->lock);
	return found;
}

void handle_reached(struct handle *hd)
{
	struct http *h = hd->http;

	if (was_reached(hd))
		return;
	pthread_mutex_lock(&h->lock);
	h->reached[h->n_reached++ % MAX_REACHED] = hash_text(hd->origin);
	pthread_mutex_unlock(&h->lock);
}

/* True if this server was never reached: its address is wrong or there is no
 * network. Not for a container engine behind a Unix socket: it is started on
 * demand. */
static bool is_unreachable(const struct handle *hd, CURLcode code)
{
	return (code == CURLE_COULDNT_CONNECT ||
		code == CURLE_COULDNT_RESOLVE_HOST ||
		code == CURLE_COULDNT_RESOLVE_PROXY) &&
	       hd->origin[0] != '/' && !was_reached(hd);
}

/* Chooses the code for a libcurl error that means either an unsupported URL
 * scheme or an answer that is not HTTP. On a reused connection, bytes left over
 * from an earlier answer can cause the latter, so a new connection may work. */
static enum err code_of_garbage(const struct curl_api *api,
				const struct handle *hd)
{
	long connects = 1;
	long sent = 0;

	api->easy_getinfo(hd->easy, CURLINFO_REQUEST_SIZE, &sent);
	api->easy_getinfo(hd->easy, CURLINFO_NUM_CONNECTS, &connects);
	if (!sent)
		return ERR_CONFIG;
	return connects ? ERR_PROTOCOL : ERR_NETWORK;
}

/* True if NO_PROXY names the host of origin or a domain that holds it. */
static bool is_exempt_from_proxy(const char *origin)
{
	const char *list = getenv("no_proxy");
	const char *begin = strstr(origin, "://");
	struct str host = str_of(begin ? begin + 3 : origin);

	host.len = strcspn(host.ptr, ":/");
	if (!list || !*list)
		list = getenv("NO_PROXY");
	while (list && *list) {
		struct str one = { list, strcspn(list, ", ") };

		list += one.len;
		list += strspn(list, ", ");
		if (str_is(one, "*"))
			return true;
		while (str_starts(one, "."))
			one = str_skip(one, 1);
		if (one.len && one.len <= host.len &&
		    !strncasecmp(host.ptr + host.len - one.len, one.ptr,
				 one.len) &&
		    (one.len == host.len ||
		     host.ptr[host.len - one.len - 1] == '.'))
			return true;
	}
	return false;
}

/* Adds a hint about why the server is unreachable: if a proxy is set, it may be
 * the cause. The proxy's user and password are not shown. */
static void hint_unreachable(const struct handle *hd, struct error *err)
{
	static const char *const names[][4] = {
		{ "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY" },
		{ "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" },
	};
	bool tls = str_starts(str_of(hd->origin), "https:");
	const char *value = NULL;
	const char *name = "";
	const char *at;

	for (size_t i = 0; i < 4 && !(value && *value); i++) {
		name = names[tls][i];
		value = getenv(name);
	}
	if (!value || !*value || loopback_url(str_of(hd->origin)) ||
	    is_exempt_from_proxy(hd->origin)) {
		error_hint(err,
			   "Check the address and this machine's network.");
		return;
	}
	at = strrchr(value, '@');
	error_case(err, CASE_PROXY);
	error_hint(err,
		   "%s names the proxy %.100s: correct or unset it, or add the "
		   "server's host to NO_PROXY.",
		   name, at ? at + 1 : value);
}

int handle_error(const struct curl_api *api, const struct handle *hd,
		 CURLcode code, struct error *err)
{
	const char *why = hd->error[0] ? hd->error : api->easy_strerror(code);
	struct buf text = BUF_INIT(300);
	long answer = 0; /* HTTP status of the proxy's answer to CONNECT */
	long number = 0; /* errno of connect() */
	char refused[200];
	char host[128];
	unsigned port;

	/* libcurl's text for a refused connection says it twice. */
	api->easy_getinfo(hd->easy, CURLINFO_OS_ERRNO, &number);
	if (code == CURLE_COULDNT_CONNECT && number == ECONNREFUSED) {
		snprintf(refused, sizeof(refused), "connection refused");
		if (sscanf(hd->error, "Failed to connect to %127s port %5u",
			   host, &port) == 2)
			snprintf(refused, sizeof(refused),
				 "connection refused by %s port %u", host,
				 port);
		why = refused;
	}
	/* libcurl tried to resend a body that comes from a callback. */
	if (code == CURLE_SEND_FAIL_REWIND)
		why = "the connection was cut while sending";
	/* libcurl 7.88 also reports "out of memory" for a header line that is
	 * too long. */
	if (code == CURLE_OUT_OF_MEMORY)
		why = "a header of the answer is too long, or out of memory";
	sanitize_text((struct str){ why, strlen(why) }, &text);
	error_set(err, code_of(code), "%s", text.len ? text.ptr : "failed");
	buf_release(&text);
	if (code == CURLE_UNSUPPORTED_PROTOCOL)
		err->code = code_of_garbage(api, hd);
	if (is_unreachable(hd, code)) {
		err->code = ERR_UNREACHABLE;
		hint_unreachable(hd, err);
	}
	api->easy_getinfo(hd->easy, CURLINFO_HTTP_CONNECTCODE, &answer);
	if (answer == 407) {
		err->code = ERR_CONFIG;
		error_hint(err,
			   "The proxy requires a user and a password: "
			   "http://user:password@host:port in HTTPS_PROXY");
	}
	if (code == CURLE_SSL_CACERT_BADFILE)
		error_hint(err, "SSL_CERT_FILE must name a readable PEM file.");
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		error_hint(err,
			   "If a proxy or your own CA signs this server's "
			   "certificate, set SSL_CERT_FILE to its PEM file.");
	return -1;
}

enum {
	/* limit for dcode's own DNS lookup; then libcurl resolves the name */
	LOOK_UP_MS = 2000,
	/* limit for dcode's own connect; then libcurl connects */
	CONNECT_MS = 5000,
	/* limit for the age of a connection made in advance: later the server
	 * may have closed it */
	AHEAD_MS = 2000,
	HOST = DIAL_HOST,
	KNOWN = HOST + RESOLVE_MAX * (INET6_ADDRSTRLEN + 3),
};

/* Extracts host and port of "https://host:port/path". False if the URL needs
 * libcurl's parser. */
static bool parse_url(struct str url, char host[HOST], uint16_t *port)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	bool tls = str_starts(url, "https://");
	int64_t number = tls ? 443 : 80;
	size_t n;

	if (!tls && !str_starts(url, "http://"))
		return false;
	url = str_skip(url, tls ? 8 : 7);
	url.len = strcspn(url.ptr, "/?#");
	n = strspn(url.ptr, letters);
	if (!n || n >= HOST)
		return false;
	snprintf(host, HOST, "%.*s", (int)n, url.ptr);
	url = str_skip(url, n);
	if (url.len &&
	    (url.ptr[0] != ':' || !str_to_int(str_skip(url, 1), &number) ||
	     number < 1 || number > 65535))
		return false;
	*port = (uint16_t)number;
	return true;
}

/* Builds the CURLOPT_RESOLVE entry that gives libcurl the addresses dcode has
 * looked up: "+HOST:PORT:A,B". Owned. */
static char *list_known(const char *host, uint16_t port,
			const struct resolved *found)
{
	struct buf out = BUF_INIT(KNOWN);

	buf_addf(&out, "+%s:%u:", host, port);
	for (size_t i = 0; i < found->n; i++) {
		const struct sockaddr_storage *a = &found->list[i];
		bool six = a->ss_family == AF_INET6;
		const void *bytes =
			six ? (const void *)&((const struct sockaddr_in6 *)a)
					->sin6_addr
			    : (const void *)&((const struct sockaddr_in *)a)
					->sin_addr;
		char text[INET6_ADDRSTRLEN];

		if (!inet_ntop(a->ss_family, bytes, text, sizeof(text)))
			continue;
		buf_addf(&out, six ? "%s[%s]" : "%s%s", i ? "," : "", text);
	}
	return buf_detach(&out);
}

/* True if dcode may connect to the first address itself. False if that is IPv6
 * and IPv4 ones follow: libcurl must then try both in parallel. */
static bool is_plain(const struct resolved *found)
{
	for (size_t i = 1; i < found->n; i++)
		if (found->list[0].ss_family == AF_INET6 &&
		    found->list[i].ss_family != AF_INET6)
			return false;
	return found->list[0].ss_family == AF_INET ||
	       found->list[0].ss_family == AF_INET6;
}

/* Creates the socket and starts to connect, without waiting. */
static void begin_connect(struct dial *d, uint16_t port)
{
	if (d->to.ss_family == AF_INET6) {
		((struct sockaddr_in6 *)&d->to)->sin6_port = htons(port);
		d->to_len = sizeof(struct sockaddr_in6);
	} else {
		((struct sockaddr_in *)&d->to)->sin_port = htons(port);
		d->to_len = sizeof(struct sockaddr_in);
	}
	d->fd = socket(d->to.ss_family,
		       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0 ||
	    connect(d->fd, (const struct sockaddr *)&d->to, d->to_len) == 0 ||
	    errno == EINPROGRESS || errno == EINTR)
		return;
	close(d->fd);
	d->fd = -1;
}

/* Takes the connection that http_dial() made, even if libcurl is loaded by now.
 * False if there is none for this server or it is too old. */
static bool use_ahead(struct dial *d, struct http *h, const char *host,
		      uint16_t port)
{
	struct dial *ahead = swap_ahead(h, NULL);
	bool fits = ahead && ahead->port == port &&
		    !strcmp(ahead->host, host) &&
		    clock_ms() - ahead->begun < AHEAD_MS;

	if (fits) {
		*d = *ahead;
		free(ahead);
	} else if (ahead) {
		free_ahead(ahead);
	}
	return fits;
}

void dial_begin(struct dial *d, struct http *h, const struct http_request *req,
		const struct stop *stop)
{
	struct stop limit = stop_within(stop, LOOK_UP_MS);
	struct sockaddr_in *literal = (struct sockaddr_in *)&d->to;
	struct error ignored = { 0 };
	struct resolved found;
	char host[HOST];
	uint16_t port;

	*d = (struct dial){ .fd = -1, .taken = -1 };
	if (req->unix_socket || req->connect_to ||
	    !parse_url(str_of(req->url), host, &port))
		return;
	if (use_ahead(d, h, host, port))
		return;
	if (!http_may_dial(h, req))
		return;
	snprintf(d->host, sizeof(d->host), "%s", host);
	d->port = port;
	d->begun = clock_ms();
	if (inet_pton(AF_INET, host, &literal->sin_addr) == 1) {
		literal->sin_family = AF_INET;
		begin_connect(d, port);
		return;
	}
	if (resolve_host(host, &found, &limit, &ignored) < 0)
		return;
	d->known.data = list_known(host, port, &found);
	d->to = found.list[0];
	if (is_plain(&found))
		begin_connect(d, port);
}

/* True if libcurl wants to connect to the address that dcode has already
 * connected to. */
static bool is_same(const struct dial *d, const struct curl_sockaddr *a)
{
	const struct sockaddr_in *ours = (const void *)&d->to;
	const struct sockaddr_in *theirs = (const void *)&a->addr;

	if (a->family != d->to.ss_family || a->addrlen < d->to_len)
		return false;
	if (a->family == AF_INET)
		return ours->sin_port == theirs->sin_port &&
		       ours->sin_addr.s_addr == theirs->sin_addr.s_addr;
	return memcmp(&d->to, &a->addr, d->to_len) == 0;
}

/* libcurl callback: returns the socket that dcode has connected, or a new
 * one. */
static curl_socket_t on_socket(void *arg, curlsocktype purpose,
			       struct curl_sockaddr *a)
{
	struct dial *d = arg;

	(void)purpose;
	if (d->fd < 0 || !is_same(d, a))
		return socket(a->family, a->socktype | SOCK_CLOEXEC,
			      a->protocol);
	d->taken = d->fd;
	d->fd = -1;
	return d->taken;
}

static int on_options(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	const struct dial *d = arg;

	(void)purpose;
	return fd == d->taken ? CURL_SOCKOPT_ALREADY_CONNECTED
			      : CURL_SOCKOPT_OK;
}

/* Waits until the socket is connected. 0: yes, 1: not connected, -1:
 * stopped. */
static int await_connect(const struct dial *d, const struct stop *stop,
			 struct error *err)
{
	struct stop limit = stop_within(stop, CONNECT_MS);
	struct pollfd fds[] = {
		{ .fd = d->fd, .events = POLLOUT },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};
	socklen_t size = sizeof(int);
	int failed = 0;

	while (!fds[0].revents) {
		struct error late = { 0 };

		if (stop_check(stop, err) < 0)
			return -1;
		if (stop_check(&limit, &late) < 0)
			return 1;
		(void)poll(fds, 2, stop_poll_ms(&limit, -1));
	}
	return getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0 ||
	       failed;
}

int dial_give(struct dial *d, const struct curl_api *api, CURL *easy,
	      const struct stop *stop, struct error *err)
{
	int rc = d->fd >= 0 ? await_connect(d, stop, err) : 1;

	if (d->known.data)
		api->easy_setopt(easy, CURLOPT_RESOLVE, &d->known);
	if (rc)
		return rc < 0 ? -1 : 0;
	api->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	api->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, d);
	api->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_options);
	api->easy_setopt(easy, CURLOPT_SOCKOPTDATA, d);
	return 0;
}

void dial_end(struct dial *d, const struct curl_api *api, CURL *easy)
{
	if (easy) {
		api->easy_setopt(easy, CURLOPT_RESOLVE, NULL);
		api->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, NULL);
		api->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, NULL);
	}
	if (d->fd >= 0)
		close(d->fd);
	free(d->known.data);
}

void http_dial(struct http *h, const char *url, const struct stop *stop)
{
	const struct http_request req = { .url = url };
	struct dial *ahead;
	struct dial d;

	dial_begin(&d, h, &req, stop);
	if (d.fd < 0 && !d.known.data)
		return;
	ahead = xcalloc(1, sizeof(*ahead));
	*ahead = d;
	ahead = swap_ahead(h, ahead);
	if (ahead)
		free_ahead(ahead);
}
