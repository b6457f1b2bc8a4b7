/* curl_api.c - libcurl as a table of functions, loaded at run time. */
/* SPDX-License-Identifier: MIT */
#include "net/curl_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"

struct curl_loader {
	pthread_t thread;
	bool threaded;
	int done_fd;       /* eventfd: readable once loaded or failed */
	atomic_bool ready; /* the table below is whole */
	struct curl_api api;
	struct error err; /* why not, when code is set */
};

static const struct library_symbol symbols[] = {
#define SYMBOL(member)                                                         \
	{                                                                      \
		"curl_" #member, offsetof(struct curl_api, member)             \
	}
	SYMBOL(global_init),         SYMBOL(easy_init),
	SYMBOL(easy_cleanup),        SYMBOL(easy_setopt),
	SYMBOL(easy_getinfo),        SYMBOL(easy_pause),
	SYMBOL(easy_recv),           SYMBOL(easy_send),
	SYMBOL(easy_strerror),       SYMBOL(multi_init),
	SYMBOL(multi_cleanup),       SYMBOL(multi_add_handle),
	SYMBOL(multi_remove_handle), SYMBOL(multi_perform),
	SYMBOL(multi_poll),          SYMBOL(multi_info_read),
	SYMBOL(multi_setopt),        SYMBOL(multi_strerror),
	SYMBOL(share_init),          SYMBOL(share_setopt),
	SYMBOL(share_cleanup),       SYMBOL(getdate),
#undef SYMBOL
};

/* The distribution's flavours differ in their TLS library only. */
static const struct library library = {
	.name = "libcurl",
	.files = { "libcurl.so.4", "libcurl-gnutls.so.4" },
	.package = "libcurl4",
	.needed = "7.83",
};

/* OpenSSL frees its tables at exit, which costs more instructions than a turn
 * of the conversation, right before the kernel frees all of it. The flag is in
 * openssl/crypto.h; a libcurl with another TLS library has no libcrypto. */
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

static int load(struct curl_api *api, struct error *err)
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

	(void)load(&l->api, &l->err);
	atomic_store_explicit(&l->ready, true, memory_order_release);
	if (l->done_fd >= 0)
		(void)!io_write(l->done_fd, &one, sizeof(one));
	return NULL;
}

struct curl_loader *curl_loader_new(void)
{
	struct curl_loader *l = xcalloc(1, sizeof(*l));
	sigset_t all;
	sigset_t before;

	atomic_init(&l->ready, false);
	l->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	l->threaded = l->done_fd >= 0 &&
		      pthread_create(&l->thread, NULL, load_thread, l) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!l->threaded)
		load_thread(l); /* slower, but nothing is lost */
	return l;
}

void curl_loader_free(struct curl_loader *l)
{
	if (!l)
		return;
	if (l->threaded)
		pthread_join(l->thread, NULL);
	if (l->done_fd >= 0)
		close(l->done_fd);
	free(l);
}

bool curl_is_loaded(struct curl_loader *l)
{
	return atomic_load_explicit(&l->ready, memory_order_acquire);
}

const struct curl_api *curl_api_get(struct curl_loader *l,
				    const struct stop *stop, struct error *err)
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
