/* bare_post.c - the floor of a request: libcurl and nothing else. */
/* SPDX-License-Identifier: MIT */
/* bare_post [SIZE COUNT]: COUNT bodies of SIZE bytes on one connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

static size_t ignore(char *bytes, size_t size, size_t n, void *arg)
{
	(void)bytes;
	(void)arg;
	return size * n;
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[1], NULL, 10) : 2000;
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	const char *base = getenv("OPENAI_BASE_URL");
	struct curl_slist *headers = NULL;
	char *body = malloc(size);
	CURL *curl = curl_easy_init();
	CURLcode rc = CURLE_OK;
	char url[256];

	if (!body || !curl || !base)
		return 2;
	memset(body, 'x', size);
	snprintf(url, sizeof(url), "%s/chat/completions", base);
	headers = curl_slist_append(headers, "Content-Type: application/json");
	headers = curl_slist_append(headers, "Authorization: Bearer x");
	headers = curl_slist_append(headers, "Expect:");
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	while (count-- > 0 && rc == CURLE_OK)
		rc = curl_easy_perform(curl);
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	free(body);
	return rc == CURLE_OK ? 0 : 1;
}
