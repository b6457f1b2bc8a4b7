/* web_url_fuzz.c - an address that is taken is read alike by libcurl. */
/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/str.h"
#include "web/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

static struct {
	CURLU *(*make)(void);
	void (*end)(CURLU *u);
	CURLUcode (*set)(CURLU *u, CURLUPart part, const char *text,
			 unsigned flags);
	CURLUcode (*get)(const CURLU *u, CURLUPart part, char **text,
			 unsigned flags);
	void (*release)(void *text);
} curl;

static void bind_symbol(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	require(symbol != NULL);
	memcpy(function, &symbol, sizeof(symbol));
}

static void load(void)
{
	void *l = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	require(l != NULL);
	bind_symbol(l, "curl_url", &curl.make);
	bind_symbol(l, "curl_url_cleanup", &curl.end);
	bind_symbol(l, "curl_url_set", &curl.set);
	bind_symbol(l, "curl_url_get", &curl.get);
	bind_symbol(l, "curl_free", &curl.release);
}

/* The host that was checked is the one that would be connected to. */
static void check_host(const CURLU *u, const struct web_url *url)
{
	struct str host;
	char *text;

	require(curl.get(u, CURLUPART_HOST, &text, 0) == CURLUE_OK);
	host = str_of(text);
	if (str_starts(host, "[") && str_ends(host, "]"))
		host = (struct str){ host.ptr + 1, host.len - 2 };
	if (url->literal) {
		struct sockaddr_storage a;
		struct sockaddr_storage b;

		require(address_parse(host, &a));
		require(address_parse(str_of(url->host), &b));
		require(memcmp(&a, &b, sizeof(a)) == 0);
	} else {
		require(str_is_nocase(host, url->host));
	}
	curl.release(text);
}

static void check_port(const CURLU *u, const struct web_url *url)
{
	char port[16];
	char *text;

	snprintf(port, sizeof(port), "%u", url->port);
	require(curl.get(u, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) ==
		CURLUE_OK);
	require(!strcmp(text, port));
	curl.release(text);
	require(curl.get(u, CURLUPART_USER, &text, 0) == CURLUE_NO_USER);
	require(curl.get(u, CURLUPART_FRAGMENT, &text, 0) ==
		CURLUE_NO_FRAGMENT);
}

static void check_agreement(const struct web_url *url)
{
	CURLU *u = curl.make();

	require(u != NULL);
	/* What libcurl refuses is not fetched. */
	if (curl.set(u, CURLUPART_URL, url->text, 0) == CURLUE_OK) {
		check_host(u, url);
		check_port(u, url);
	}
	curl.end(u);
}

static void check(struct str text)
{
	struct web_url url = { 0 };
	struct web_url again = { 0 };
	struct error err = { 0 };

	if (web_url_parse(&url, text, &err) < 0) {
		require(err.code == ERR_USAGE || err.code == ERR_LIMIT);
		return;
	}
	require(!strncmp(url.text, url.tls ? "https://" : "http://",
			 url.tls ? 8 : 7));
	require(url.host[0] && url.port >= 1 && url.port <= 65535);
	require(url.literal || !address_is_numeric(str_of(url.host)));
	for (const char *c = url.text; *c; c++)
		require(*c > ' ' && (unsigned char)*c < 0x7F);
	require(web_url_parse(&again, str_of(url.text), &err) == 0);
	require(!strcmp(url.text, again.text) && !strcmp(url.host, again.host));
	require(url.port == again.port && url.literal == again.literal);
	check_agreement(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct buf joined = BUF_INIT(URL_BYTES);
	struct web_url base = { 0 };
	struct error err = { 0 };

	if (!curl.make)
		load();
	check(text);
	require(web_url_parse(&base, STR("https://a.example/b/c?d"), &err) ==
		0);
	if (web_url_join(&base, text, &joined))
		check(buf_str(&joined));
	buf_release(&joined);
	return 0;
}
