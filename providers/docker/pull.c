/* pull.c - fetches an image and reports the progress. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/docker/engine.h"
#include "providers/kit/rest.h"

enum {
	LINE_MAX_LEN = 1 << 20, /* bytes of one message */
	LAYERS_MAX = 256,
	STEP = 5, /* percent between two lines */
	IDLE_MS = 300000,
};

struct layer {
	char id[80];
	int64_t current, total; /* bytes */
};

struct pull {
	const char *image;
	const struct sandbox_spec *spec;
	struct buf line; /* an unfinished message */
	struct layer layers[LAYERS_MAX];
	size_t n_layers;
	int shown; /* percent of the last line, -1 none */
	struct error refused;
};

static void report_progress(struct pull *p, int percent)
{
	char *line;

	if (!p->spec->progress)
		return;
	line = percent < 0 ? xasprintf("pulling %s", p->image)
			   : xasprintf("pulling %s %d%%", p->image, percent);
	p->spec->progress(p->spec->arg, line);
	free(line);
}

static struct layer *find_layer(struct pull *p, const char *id)
{
	struct layer *l;

	for (size_t i = 0; i < p->n_layers; i++)
		if (strcmp(p->layers[i].id, id) == 0)
			return &p->layers[i];
	if (p->n_layers == LAYERS_MAX || strlen(id) >= sizeof(l->id))
		return NULL;
	l = &p->layers[p->n_layers++];
	memcpy(l->id, id, strlen(id) + 1);
	return l;
}

static void on_progress(struct pull *p, const cJSON *message)
{
	const cJSON *detail = json_get(message, "progressDetail");
	struct layer *l = find_layer(p, json_string(message, "id", ""));
	int64_t total = json_int(detail, "total", 0);
	int64_t current = json_int(detail, "current", 0);
	int64_t sum = 0;
	int64_t all = 0;
	int percent;

	if (!l || total <= 0 || total > (int64_t)1 << 45 || current < 0)
		return;
	l->total = total;
	l->current = current < total ? current : total;
	for (size_t i = 0; i < p->n_layers; i++) {
		sum += p->layers[i].current;
		all += p->layers[i].total;
	}
	percent = all > 0 ? (int)(sum * 100 / all) : 0;
	if (percent < p->shown + STEP)
		return;
	p->shown = percent;
	report_progress(p, percent);
}

static void set_refused(struct pull *p, const char *words)
{
	struct buf text = BUF_INIT(300);

	if (p->refused.code != ERR_NONE)
		return;
	sanitize_text(str_of(words), &text);
	error_set(&p->refused, ERR_REMOTE, "pulling %s: %s", p->image,
		  text.len ? text.ptr : "refused");
	buf_release(&text);
}

static void on_message(struct pull *p, struct str line)
{
	cJSON *message = json_parse(str_trim(line));
	const char *error = json_string(message, "error", NULL);

	if (!error)
		error = json_string(json_get(message, "errorDetail"), "message",
				    NULL);
	if (error) {
		set_refused(p, error);
	} else if (str_is(str_of(json_string(message, "status", "")),
			  "Downloading")) {
		on_progress(p, message);
	}
	cJSON_Delete(message);
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct pull *p = arg;

	for (;;) {
		bool whole = buf_add_line(&p->line, &chunk);

		if (buf_check(&p->line, "a message of the pull", err) < 0)
			return -1;
		if (!whole)
			return 0;
		on_message(p, buf_str(&p->line));
		buf_clear(&p->line);
	}
}

/* /images/create?fromImage=NAME&tag=TAG; without a tag the engine would fetch
 * them all. */
static char *pull_path(const char *image)
{
	struct buf path = BUF_INIT(4096);
	const char *slash = strrchr(image, '/');
	const char *colon = strrchr(slash ? slash : image, ':');
	bool digest = strchr(image, '@');
	char *name = colon && !digest ? xstrndup(image, (size_t)(colon - image))
				      : xstrdup(image);

	buf_adds(&path, "/images/create?fromImage=");
	rest_encode(&path, str_of(name));
	if (!digest) {
		buf_adds(&path, "&tag=");
		rest_encode(&path, str_of(colon ? colon + 1 : "latest"));
	}
	free(name);
	return buf_detach(&path);
}

int engine_pull(struct engine *e, const char *image,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err)
{
	struct pull *p = xcalloc(1, sizeof(*p));
	struct http_response res = { 0 };
	char *path = pull_path(image);
	struct engine_ask ask = { .method = "POST",
				  .path = path,
				  .idle_ms = IDLE_MS,
				  .data = on_data,
				  .arg = p };
	int rc;

	p->image = image;
	p->spec = spec;
	p->shown = -STEP;
	p->line = BUF_INIT(LINE_MAX_LEN);
	report_progress(p, -1);
	rc = engine_call(e, &ask, &res, stop, err);
	if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, "pulling the image", err);
	on_message(p, buf_str(&p->line));
	if (rc == 0 && p->refused.code != ERR_NONE) {
		*err = p->refused;
		rc = -1;
	}
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		error_hint(err,
			   "Set image in [sandboxes.providers.docker.params].");
	http_response_release(&res);
	buf_release(&p->line);
	free(p);
	free(path);
	return rc;
}
