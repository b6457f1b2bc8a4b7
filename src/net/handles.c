/* handles.c - warm libcurl handles, each with its connections. */
/* SPDX-License-Identifier: MIT */
#include "net/handles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/loopback.h"
#include "net/notice.h"

enum {
	MAX_IDLE = 16, /* free handles kept with their connections */
	MAX_REACHED = 16,
};

struct http {
	struct curl_loader *loader;
	char *ca_file; /* owned; NULL: libcurl's own */
	char *ca_path;
	char *http_proxy;     /* for http://, where libcurl finds none itself */
	bool proxied;         /* a proxy is named in the environment */
	pthread_mutex_t lock; /* of the list and share, below */
	struct handle *idle;  /* the last one given back comes first */
	size_t n_idle;
	uint64_t reached[MAX_REACHED]; /* hashes of origins; 0: none */
	size_t n_reached;
	struct notice *notice;
	void *ahead; /* owned; NULL: none. Under lock */
	void (*end_ahead)(void *ahead);
	CURLSH *share; /* TLS sessions and names of all handles */
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
	/* libcurl leaves this spelling alone, for in a CGI program a client
	 * can set it */
	if (!getenv("http_proxy") && !getenv("REQUEST_METHOD"))
		h->http_proxy = xstrdup(getenv("HTTP_PROXY"));
	h->proxied = names_proxy();
	pthread_mutex_init(&h->lock, NULL);
	for (int i = 0; i < CURL_LOCK_DATA_LAST; i++)
		pthread_mutex_init(&h->share_lock[i], NULL);
	h->loader = curl_loader_new();
	h->notice = notice_new();
	return h;
}

static void destroy(const struct curl_api *api, struct handle *hd)
{
	if (hd->easy)
		api->easy_cleanup(hd->easy);
	if (hd->multi)
		api->multi_cleanup(hd->multi);
	free(hd->origin);
	free(hd);
}

void http_free(struct http *h)
{
	struct stop never = stop_on(NULL);
	struct error err = { 0 };
	const struct curl_api *api;

	if (!h)
		return;
	if (h->ahead)
		h->end_ahead(h->ahead);
	api = h->idle || h->share ? curl_api_get(h->loader, &never, &err)
				  : NULL;
	while (api && h->idle) {
		struct handle *hd = h->idle;

		h->idle = hd->next;
		destroy(api, hd);
	}
	if (api && h->share)
		api->share_cleanup(h->share);
	curl_loader_free(h->loader);
	notice_free(h->notice);
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
	notice_on(h->notice, say, arg);
}

struct notice *http_notice(struct http *h)
{
	return h->notice;
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

void *http_swap_ahead(struct http *h, void *ahead, void (*end)(void *ahead))
{
	void *old;

	pthread_mutex_lock(&h->lock);
	old = h->ahead;
	h->ahead = ahead;
	h->end_ahead = end;
	pthread_mutex_unlock(&h->lock);
	return old;
}

bool http_may_dial(struct http *h, const struct http_request *req)
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

/* Called with h->lock held. Connections are never shared: libcurl does not
 * support that between threads. */
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

/* What holds for every transfer of a handle. */
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
	/* Decodes what a proxy compresses unasked; http.c takes the header
	 * out that would ask for it. */
	api->easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	/* Without it, leaving a transfer waits for the resolver's thread. */
	api->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	if (share)
		api->easy_setopt(easy, CURLOPT_SHARE, share);
	if (h->ca_file)
		api->easy_setopt(easy, CURLOPT_CAINFO, h->ca_file);
	if (h->ca_path)
		api->easy_setopt(easy, CURLOPT_CAPATH, h->ca_path);
}

/* "scheme://authority" of url; the socket's path stands for itself. */
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

/* The free handle whose connections lead there; called with the lock held. */
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
		destroy(api, hd);
		error_set(err, ERR_SYSTEM, "libcurl has no more handles");
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
		destroy(api, hd);
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
		destroy(api, old);
}

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

static uint64_t hash(const char *text)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 1099511628211u;
	return sum ? sum : 1;
}

static bool was_reached(const struct handle *hd)
{
	uint64_t key = hash(hd->origin);
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
	h->reached[h->n_reached++ % MAX_REACHED] = hash(hd->origin);
	pthread_mutex_unlock(&h->lock);
}

/* Of a server that was never there: a wrong address, or no network. Engines
 * behind a socket start by themselves. */
static bool is_unreachable(const struct handle *hd, CURLcode code)
{
	return (code == CURLE_COULDNT_CONNECT ||
		code == CURLE_COULDNT_RESOLVE_HOST ||
		code == CURLE_COULDNT_RESOLVE_PROXY) &&
	       hd->origin[0] != '/' && !was_reached(hd);
}

/* libcurl has one code for a scheme that it does not speak and for an answer
 * that is no HTTP. On a connection that was used before, the latter is what
 * an earlier answer left there: another connection may do better. */
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

/* What the user can do where a server cannot be reached: with a proxy in
 * between it may be that which does not answer. Its user and password, if it
 * has them, are not shown. */
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
	if (!value || !*value || loopback_url(str_of(hd->origin))) {
		error_hint(
			err,
			"Check the address, and the network of this machine.");
		return;
	}
	at = strrchr(value, '@');
	error_hint(err,
		   "%s names the proxy %.100s: correct or unset it, or put the "
		   "server's host into NO_PROXY.",
		   name, at ? at + 1 : value);
}

int handle_error(const struct curl_api *api, const struct handle *hd,
		 CURLcode code, struct error *err)
{
	const char *why = hd->error[0] ? hd->error : api->easy_strerror(code);
	struct buf text = BUF_INIT(300);
	long answer = 0; /* of a proxy to CONNECT */

	/* It wanted to send again what comes from a callback. */
	if (code == CURLE_SEND_FAIL_REWIND)
		why = "the connection was cut while sending";
	/* Of a header line that is longer than it takes libcurl 7.88 says that
	 * memory is short. */
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
			   "certificate, put its PEM file into SSL_CERT_FILE.");
	return -1;
}
