/* forge.c - opens pull requests at GitHub and merge requests at GitLab. */
/* SPDX-License-Identifier: MIT */
/*
 * Both have a REST API with one list and one creation. GitHub:
 * docs.github.com/rest/pulls/pulls, version 2022-11-28; an own server has its
 * API below /api/v3. GitLab: docs.gitlab.com/api/merge_requests; the project is
 * its path with "/" encoded. Both were read on 27 November 2026. Begin reading
 * at forge_open().
 */
#include "forge/forge.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	CONNECT_MS = 10000,
	EXCHANGE_MS = 30000,
	ANSWER_MAX = 4 << 20,
	BODY_MAX = 256 << 10,
	URL_MAX = 8192,
	HEADERS = 7,
};

/* The parts of a remote's URL. */
struct remote_place {
	struct str host; /* with a port only for https */
	struct str path; /* without "/" at its ends and ".git" */
};

/* Splits "https://host/path", "ssh://user@host:22/path" or "user@host:path". */
static struct remote_place split_url(const char *url)
{
	struct str rest = str_of(url);
	size_t scheme = str_search(rest, STR("://"));
	bool is_https = str_starts(rest, "https://");
	bool has_scheme = scheme < rest.len;
	struct remote_place p;
	size_t at;

	if (has_scheme)
		rest = str_skip(rest, scheme + 3);
	p.host = (struct str){ rest.ptr,
			       str_find(rest, has_scheme ? '/' : ':') };
	p.path = str_skip(rest, p.host.len + 1);
	while ((at = str_find(p.host, '@')) < p.host.len)
		p.host = str_skip(p.host, at + 1);
	if (has_scheme && !is_https)
		p.host.len = str_find(p.host, ':');
	while (p.path.len && p.path.ptr[0] == '/')
		p.path = str_skip(p.path, 1);
	while (p.path.len && p.path.ptr[p.path.len - 1] == '/')
		p.path.len--;
	if (str_ends(p.path, ".git"))
		p.path.len -= 4;
	return p;
}

static bool is_listed(struct str host, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is_nocase(host, list[i]))
			return true;
	return false;
}

/* Sets kind and api. False if the host is unknown. */
static bool find_api(struct forge *f, struct str host,
		     const struct forge_hosts *h)
{
	if (str_is_nocase(host, "github.com") ||
	    str_is_nocase(host, "ssh.github.com")) {
		f->kind = FORGE_GITHUB;
		free(f->host);
		f->host = xstrdup("github.com");
		f->api = xstrdup("https://api.github.com");
	} else if (is_listed(host, h->github, h->n_github)) {
		f->kind = FORGE_GITHUB;
		f->api = xasprintf("https://%s/api/v3", f->host);
	} else if (str_is_nocase(host, "gitlab.com") ||
		   is_listed(host, h->gitlab, h->n_gitlab)) {
		f->kind = FORGE_GITLAB;
		f->api = xasprintf("https://%s/api/v4", f->host);
	}
	return f->api;
}

/* True for "owner/name"; GitLab also has groups within groups. Attack: "a/.."
 * makes the token go to another request of the API. */
static bool is_path(const struct forge *f, struct str path)
{
	size_t parts = 0;
	struct str part;

	for (size_t i = 0; i < path.len; i++) {
		char c = path.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || (c && strchr("._-/", c))))
			return false;
	}
	for (; str_split(&path, '/', &part); parts++)
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
	return parts == 2 || (f->kind == FORGE_GITLAB && parts > 2);
}

int forge_open(struct forge *f, const char *url, const struct forge_hosts *h,
	       struct error *err)
{
	struct remote_place p = split_url(url);

	*f = (struct forge){ .host = xstrndup(p.host.ptr ? p.host.ptr : "",
					      p.host.len) };
	if (!find_api(f, p.host, h)) {
		error_set(err, ERR_USAGE,
			  "%.200s is not a known GitHub or GitLab", f->host);
		return error_hint(err, "List your own servers in config.toml: "
				       "[push] github or gitlab.");
	}
	if (!is_path(f, p.path))
		return error_set(err, ERR_USAGE,
				 "the remote's URL does not name a repository "
				 "of %s",
				 f->host);
	f->path = xstrndup(p.path.ptr, p.path.len);
	return 0;
}

void forge_release(struct forge *f)
{
	free(f->host);
	free(f->api);
	free(f->path);
	*f = (struct forge){ 0 };
}

const char *forge_noun(const struct forge *f)
{
	return f->kind == FORGE_GITHUB ? "pull request" : "merge request";
}

/* Appends text for a URL's query or path. */
static void add_encoded(struct buf *out, const char *text)
{
	for (const char *c = text; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		    (*c >= '0' && *c <= '9') || strchr("-._~", *c))
			buf_addc(out, *c);
		else
			buf_addf(out, "%%%02X", (unsigned char)*c);
}

/* Appends the URL of the repository's requests. */
static void add_list(const struct forge *f, struct buf *url)
{
	if (f->kind == FORGE_GITHUB) {
		buf_addf(url, "%s/repos/%s/pulls", f->api, f->path);
		return;
	}
	buf_addf(url, "%s/projects/", f->api);
	add_encoded(url, f->path);
	buf_adds(url, "/merge_requests");
}

/* Sends one request: ask has its url, and its body if it is a POST. The
 * answer's tree is owned by the caller. */
static int exchange(const struct forge *f, struct http *http,
		    const struct http_request *ask, cJSON **tree,
		    const struct stop *stop, struct error *err)
{
	static const char agent[] = "User-Agent: dcode/" DCODE_VERSION;
	struct stop within = stop_within(stop, EXCHANGE_MS);
	char *token = xasprintf("Authorization: Bearer %s", f->secret);
	bool is_github = f->kind == FORGE_GITHUB;
	const char *const headers[HEADERS] = {
		agent,
		is_github ? "Accept: application/vnd.github+json"
			  : "Accept: application/json",
		token,
		is_github ? "X-GitHub-Api-Version: 2022-11-28"
			  : "Content-Type: application/json",
		is_github ? "Content-Type: application/json" : NULL,
	};
	struct http_request req = *ask;
	struct http_response res = { .body.max = ANSWER_MAX };
	int rc;

	req.method = ask->body.len ? "POST" : "GET";
	req.headers = headers;
	req.connect_ms = CONNECT_MS;
	req.flags = HTTP_PROBE;
	rc = http_do(http, &req, &res, &within, err);
	if (rc == 0 && res.status >= 300)
		rc = http_status_error(&res, f->host, err);
	if (rc == 0) {
		*tree = json_parse_repaired(buf_str(&res.body));
		if (!*tree)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON", f->host);
	}
	http_response_release(&res);
	sodium_memzero(token, strlen(token));
	free(token);
	return rc;
}

/* Returns the address of a request in an answer, owned, or NULL. It must be one
 * of this server. */
static char *read_address(const struct forge *f, const cJSON *item)
{
	const char *url = json_string(
		item, f->kind == FORGE_GITHUB ? "html_url" : "web_url", "");
	char *start = xasprintf("https://%s/", f->host);
	bool is_own = str_starts(str_of(url), start) && strlen(url) < URL_MAX &&
		      !url[strspn(url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij"
				       "klmnopqrstuvwxyz0123456789-._~:/#%")];

	free(start);
	return is_own ? xstrdup(url) : NULL;
}

int forge_find_request(const struct forge *f, struct http *http,
		       const struct forge_request *r, char **url,
		       const struct stop *stop, struct error *err)
{
	struct buf where = BUF_INIT(URL_MAX);
	struct http_request ask = { 0 };
	cJSON *tree = NULL;
	int rc;

	*url = NULL;
	add_list(f, &where);
	if (f->kind == FORGE_GITHUB) {
		buf_adds(&where, "?state=open&head=");
		buf_add(&where, f->path, strcspn(f->path, "/"));
		buf_addc(&where, ':');
	} else {
		buf_adds(&where, "?state=opened&source_branch=");
	}
	add_encoded(&where, r->branch);
	rc = buf_check(&where, "the branch's name", err);
	ask.url = where.ptr;
	if (rc == 0)
		rc = exchange(f, http, &ask, &tree, stop, err);
	if (rc == 0 && cJSON_IsArray(tree) && cJSON_GetArraySize(tree) > 0)
		*url = read_address(f, cJSON_GetArrayItem(tree, 0));
	cJSON_Delete(tree);
	buf_release(&where);
	return rc;
}

static void write_body(const struct forge *f, const struct forge_request *r,
		       struct buf *body)
{
	bool is_github = f->kind == FORGE_GITHUB;

	buf_addc(body, '{');
	json_member(body, "title", str_of(r->title));
	buf_addc(body, ',');
	json_member(body, is_github ? "head" : "source_branch",
		    str_of(r->branch));
	buf_addc(body, ',');
	json_member(body, is_github ? "base" : "target_branch",
		    str_of(r->base));
	buf_addc(body, ',');
	json_member(body, is_github ? "body" : "description", str_of(r->text));
	buf_addc(body, '}');
}

int forge_make_request(const struct forge *f, struct http *http,
		       const struct forge_request *r, char **url,
		       const struct stop *stop, struct error *err)
{
	struct buf where = BUF_INIT(URL_MAX);
	struct buf body = BUF_INIT(BODY_MAX);
	struct http_request ask = { 0 };
	cJSON *tree = NULL;
	int rc;

	*url = NULL;
	add_list(f, &where);
	write_body(f, r, &body);
	rc = buf_check(&body, "the request's text", err);
	ask.url = where.ptr;
	ask.body = buf_str(&body);
	if (rc == 0)
		rc = exchange(f, http, &ask, &tree, stop, err);
	if (rc == 0)
		*url = read_address(f, tree);
	if (rc == 0 && !*url)
		rc = error_set(err, ERR_PROTOCOL,
			       "%s: the answer has no address", f->host);
	cJSON_Delete(tree);
	buf_release(&where);
	buf_release(&body);
	return rc;
}
