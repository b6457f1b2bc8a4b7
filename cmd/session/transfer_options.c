/* transfer_options.c - what --upload and --download ask for, checked early. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/transfer_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/sandbox/copy.h"

enum { SPEC_BYTES = 1 << 16, ENTRY_BYTES = 64 << 20 };

/* Takes what stands before the first colon off *text; "\:" stands for one that
 * belongs to a name. */
static char *split_side(const char **text)
{
	struct buf side = BUF_INIT(SPEC_BYTES);

	for (; **text && **text != ':'; ++*text) {
		if (**text == '\\' && (*text)[1] == ':')
			++*text;
		buf_addc(&side, **text);
	}
	*text += **text == ':';
	return buf_detach(&side);
}

int transfer_option_set(struct transfer_option *t, const char *option,
			const char *first, const char *second,
			struct error *err)
{
	const char *home = getenv("HOME");
	const char *local = t->uploads ? first : second;

	t->local = path_expand(local[0] ? local : ".", home ? home : "/");
	t->remote = xstrdup(t->uploads ? second : first);
	t->entries = BUF_INIT(ENTRY_BYTES);
	if (!first[0])
		return error_set(err, ERR_USAGE, "argument %s: %s is empty",
				 option, t->uploads ? "LOCAL" : "REMOTE");
	if (!t->uploads && !strcmp(second, "-"))
		return error_set(err, ERR_USAGE,
				 "argument %s: LOCAL is a file or directory, "
				 "not standard output",
				 option);
	return 0;
}

void transfer_option_release(struct transfer_option *t)
{
	free(t->local);
	free(t->remote);
	free(t->target);
	buf_release(&t->entries);
}

/* name: "--upload". */
static int add_all(struct transfer_options *t, const struct args *args,
		   const char *name, struct error *err)
{
	const char *spec;
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && (spec = args_next(args, name + 2, &at))) {
		struct transfer_option *last = &t->list[t->n++];
		char *first = split_side(&spec);

		last->uploads = !strcmp(name, "--upload");
		last->force = t->force;
		last->bring = t->bring;
		last->n_bring = t->n_bring;
		rc = transfer_option_set(last, name, first, spec, err);
		free(first);
	}
	return rc;
}

int transfer_options_read(struct transfer_options *t, const struct args *args,
			  struct error *err)
{
	const char *name;
	size_t at = 0;

	t->list = xcalloc(ARGS_MOST, sizeof(*t->list));
	t->bring = xcalloc(ARGS_MOST, sizeof(*t->bring));
	while ((name = args_next(args, "bring", &at)))
		t->bring[t->n_bring++] = name;
	if (t->n_bring && !args_value(args, "download"))
		return error_set(err, ERR_USAGE,
				 "--bring requires --download: it adds files "
				 "of this name, such as .git");
	t->force = args_flag(args, "force");
	if (t->force && !args_value(args, "download") &&
	    !args_value(args, "upload"))
		return error_set(err, ERR_USAGE,
				 "--force requires --upload or --download: it "
				 "lets them replace files");
	if (add_all(t, args, "--upload", err) < 0)
		return -1;
	return add_all(t, args, "--download", err);
}

/* The directory that a download goes to has to be there. */
static int check_parent(const char *target, struct error *err)
{
	const char *slash = strrchr(target, '/');
	char *parent = slash ? xstrndup(target, (size_t)(slash - target) + 1)
			     : xstrdup(".");
	struct stat st;
	int rc = 0;

	if (stat(parent, &st) < 0)
		rc = error_errno(err, "%s", parent);
	else if (!S_ISDIR(st.st_mode))
		rc = error_set(err, ERR_USAGE, "%s is not a directory", parent);
	free(parent);
	return rc;
}

static int check_transfer(const struct transfer_option *t, bool force,
			  struct error *err)
{
	struct incoming in = { .bring = t->bring, .n_bring = t->n_bring };
	char *target;
	int rc;

	if (t->uploads)
		return copy_check_local(t->local, err);
	target = copy_local_target(t->local, t->remote);
	rc = check_parent(target, err);
	if (rc == 0)
		rc = incoming_check(&in, target, err);
	if (rc == 0 && !force)
		rc = copy_check_free(target, err);
	free(target);
	return rc;
}

/* A name for the place that it goes to, as far as it is known. Owned. */
static char *place_of(const struct transfer_option *t)
{
	char *target = t->uploads ? copy_join(t->remote, true, t->local)
				  : copy_local_target(t->local, t->remote);
	char *slash = t->uploads ? NULL : strrchr(target, '/');
	char *parent = slash ? xstrndup(target, (size_t)(slash - target) + 1)
			     : xstrdup(".");
	char *real = t->uploads ? NULL : realpath(parent, NULL);
	char *place = real ? path_join(real, slash ? slash + 1 : target)
			   : xstrdup(target);

	free(target);
	free(parent);
	free(real);
	return place;
}

/* Two of one direction that go to the same place. */
static int check_two(const struct transfer_option *a,
		     const struct transfer_option *b, struct error *err)
{
	char *first = place_of(a);
	char *second = place_of(b);
	int rc = 0;

	if (a->uploads == b->uploads && !strcmp(first, second)) {
		error_set(err, ERR_USAGE, "%s and %s both go to %s",
			  a->uploads ? a->local : a->remote,
			  a->uploads ? b->local : b->remote, first);
		rc = error_hint(err,
				"Choose another destination for one of them.");
	}
	free(first);
	free(second);
	return rc;
}

static int check_option(const struct transfer_options *t, size_t i,
			struct error *err)
{
	int rc = check_transfer(&t->list[i], t->force, err);

	for (size_t k = 0; k < i && rc == 0; k++)
		rc = check_two(&t->list[k], &t->list[i], err);
	return rc;
}

int transfer_options_check(const struct transfer_options *t, struct error *err)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct transfer_option *one = &t->list[i];

		if (check_option(t, i, err) < 0) {
			err->code = ERR_USAGE;
			return error_wrap(err, "argument %s",
					  one->uploads ? "--upload"
						       : "--download");
		}
	}
	return 0;
}

void transfer_options_release(struct transfer_options *t)
{
	for (size_t i = 0; i < t->n; i++)
		transfer_option_release(&t->list[i]);
	free(t->list);
	free(t->bring);
	*t = (struct transfer_options){ 0 };
}
