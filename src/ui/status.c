/* status.c - the line below the editor: model, sandbox, directory, tokens. */
/* SPDX-License-Identifier: MIT */
#include "ui/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/money.h"
#include "term/rows.h"

enum {
	MOST_PARTS = 11,
	PART_BYTES = 256,
	SOON_S = 300,
	HOUR_S = 3600,
	HIGHEST = 11, /* weight of a part */
	COST = 5,
	MODEL = 7, /* from here on, parts are shortened only if that saves one
		      from COST on */
};

struct status_part {
	char text[PART_BYTES];
	char brief[PART_BYTES]; /* short form for narrow terminals; "": none */
	int weight; /* 1 to HIGHEST: a lower one is shortened and dropped first
		     */
	uint8_t role;
};

struct status_line {
	struct status_part parts[MOST_PARTS];
	size_t n;
};

static void add_part(struct status_line *l, int weight, uint8_t role,
		     const char *text, const char *brief)
{
	struct status_part *p = &l->parts[l->n];

	if (!text || !text[0] || l->n == MOST_PARTS)
		return;
	snprintf(p->text, sizeof(p->text), "%s", text);
	snprintf(p->brief, sizeof(p->brief), "%s", brief ? brief : "");
	p->weight = weight;
	p->role = role;
	l->n++;
}

/* Returns a model's name without its provider. */
static const char *model_alone(const char *model)
{
	const char *colon = model ? strchr(model, ':') : NULL;

	return colon && colon[1] ? colon + 1 : model;
}

/* Returns the text after the last `sign`, or NULL if there is none. */
static const char *after_last(const char *text, char sign)
{
	const char *last = text ? strrchr(text, sign) : NULL;

	return last && last[1] ? last + 1 : NULL;
}

int64_t status_left_changes(int64_t left_s)
{
	return left_s % (left_s >= HOUR_S ? HOUR_S : 60) + 1;
}

/* Adds the sandbox with its state and remaining time, highlighted if little
 * time is left. */
static void add_sandbox(struct status_line *l, const struct status *s)
{
	bool soon = s->left_s >= 0 && s->left_s < SOON_S;
	bool hours = s->left_s >= HOUR_S;
	char left[32] = "";
	char text[PART_BYTES];
	char brief[PART_BYTES];

	if (!s->sandbox)
		return;
	if (s->left_s >= 0)
		snprintf(left, sizeof(left), ", %" PRId64 " %s",
			 s->left_s / (hours ? HOUR_S : 60),
			 hours ? "h" : "min");
	snprintf(brief, sizeof(brief), "%s%s%s%s", s->sandbox,
		 s->state ? ", " : "", s->state ? s->state : "",
		 soon ? left : "");
	snprintf(text, sizeof(text), "%s%s%s%s%s", s->sandbox,
		 s->state ? ", " : "", s->state ? s->state : "", left,
		 left[0] ? " left" : "");
	add_part(l, soon || s->state ? 9 : 4, soon ? STYLE_WARN : STYLE_MUTED,
		 text, brief);
}

static void add_context(struct status_line *l, const struct status *s)
{
	char text[PART_BYTES];
	char brief[PART_BYTES];
	char size[MONEY_SIZE];
	char full[MONEY_SIZE + 8];

	if (!s->context)
		return;
	(void)money_tokens(s->context, size);
	/* "12.4K" is known as tokens; "15" alone could be anything. */
	snprintf(full, sizeof(full), "%s%s", size,
		 s->context == 1     ? " token"
		 : s->context < 1000 ? " tokens"
				     : "");
	snprintf(text, sizeof(text), "context %s", full);
	snprintf(brief, sizeof(brief), "ctx %s", size);
	if (s->window > 0) {
		int percent = (int)(s->context * 100 / s->window);

		snprintf(text, sizeof(text), "context %s, %d%%", full, percent);
		snprintf(brief, sizeof(brief), "ctx %d%%", percent);
	}
	add_part(l, 6, STYLE_MUTED, text, brief);
}

/* Adds the thread's tokens. */
static void add_tokens(struct status_line *l, const struct status *s)
{
	char text[PART_BYTES];
	char one[MONEY_SIZE];
	char two[MONEY_SIZE];

	if (!s->input && !s->output)
		return;
	(void)money_tokens(s->input, one);
	(void)money_tokens(s->output, two);
	snprintf(text, sizeof(text), "%s in, %s out", one, two);
	add_part(l, 1, STYLE_MUTED, text, NULL);
}

static const char *const names[STATUS_NAMES] = {
	[STATUS_MODE] = "mode",       [STATUS_MODEL] = "model",
	[STATUS_SANDBOX] = "sandbox", [STATUS_DIRECTORY] = "directory",
	[STATUS_BRANCH] = "branch",   [STATUS_COST] = "cost",
	[STATUS_CONTEXT] = "context", [STATUS_TOKENS] = "tokens",
};

/* Adds the approval mode. The short form of "manual (no questions)" is the
 * note: "manual" alone would promise questions. */
static void add_mode(struct status_line *l, const struct status *s)
{
	const char *note = s->mode ? strchr(s->mode, '(') : NULL;
	char brief[PART_BYTES] = "";

	if (note)
		snprintf(brief, sizeof(brief), "%.*s",
			 (int)strcspn(note, ")") - 1, note + 1);
	add_part(l, 8, s->unasked ? STYLE_WARN : STYLE_MUTED, s->mode, brief);
}

/* Adds the model. The short form of "claude-opus-5" is "opus-5", which -M
 * accepts, too. */
static void add_model(struct status_line *l, const struct status *s)
{
	static const char maker[] = "claude-";
	const char *name = model_alone(s->model);
	bool known = name && !strncmp(name, maker, strlen(maker));

	add_part(l, MODEL, STYLE_MUTED, name,
		 known ? name + strlen(maker) : NULL);
}

static void add_named(struct status_line *l, const struct status *s,
		      enum status_name name)
{
	switch (name) {
	case STATUS_MODE:
		add_mode(l, s);
		break;
	case STATUS_MODEL:
		add_model(l, s);
		break;
	case STATUS_SANDBOX:
		add_sandbox(l, s);
		break;
	case STATUS_DIRECTORY:
		add_part(l, 2, STYLE_MUTED, s->directory,
			 after_last(s->directory, '/'));
		break;
	case STATUS_BRANCH:
		add_part(l, 3, STYLE_MUTED, s->branch, NULL);
		break;
	case STATUS_COST:
		add_part(l, COST, STYLE_MUTED, s->cost, NULL);
		break;
	case STATUS_CONTEXT:
		add_context(l, s);
		break;
	default: /* STATUS_TOKENS */
		add_tokens(l, s);
	}
}

int status_order_read(struct status_order *order, const char *const *list,
		      size_t n, struct error *err)
{
	struct status_order read = { .n = 0 };
	unsigned seen = 0;

	for (size_t i = 0; i < n; i++) {
		size_t name = 0;

		while (name < STATUS_NAMES && strcmp(names[name], list[i]) != 0)
			name++;
		if (name == STATUS_NAMES || seen & 1U << name) {
			error_set(err, ERR_CONFIG,
				  "[ui] status_line: %s: \"%.40s\"",
				  name == STATUS_NAMES ? "unknown part"
						       : "named twice",
				  list[i]);
			return error_hint(err, "Parts: mode, model, sandbox, "
					       "directory, branch, cost, "
					       "context, tokens.");
		}
		seen |= 1U << name;
		read.names[read.n++] = (unsigned char)name;
	}
	*order = read;
	return 0;
}

/* Collects the parts of the line from left to right, with their weights. */
static void collect_parts(struct status_line *l, const struct status *s)
{
	char text[PART_BYTES];

	add_part(l, 11, STYLE_WARN, s->hint, NULL);
	if (s->queued) {
		snprintf(text, sizeof(text), "%zu queued", s->queued);
		add_part(l, 10, STYLE_ACCENT, text, NULL);
	}
	add_part(l, 8, STYLE_MUTED, s->keys, NULL);
	for (size_t i = 0; i < (s->order ? s->order->n : STATUS_NAMES); i++)
		add_named(l, s,
			  s->order ? (enum status_name)s->order->names[i]
				   : (enum status_name)i);
}

static size_t cells_of(const struct status_line *l, const char *dot)
{
	size_t cells = 0;

	for (size_t i = 0; i < l->n; i++)
		cells += width_cells(str_of(l->parts[i].text)) +
			 (i ? width_cells(str_of(dot)) + 2 : 0);
	return cells;
}

/* Shortens the least important part below this weight that has a short form.
 * Returns false if there is none. */
static bool shorten_least(struct status_line *l, int below)
{
	struct status_part *least = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (l->parts[i].brief[0] && l->parts[i].weight < below &&
		    (!least || l->parts[i].weight < least->weight))
			least = &l->parts[i];
	if (!least)
		return false;
	memcpy(least->text, least->brief, sizeof(least->text));
	least->brief[0] = '\0';
	return true;
}

/* Keeps the most important part, and of the others those that fit beside the
 * more important ones. */
static void drop_parts(struct status_line *l, const char *dot, size_t columns)
{
	struct status_line kept = { .n = 0 };
	bool stays[MOST_PARTS] = { false };
	size_t used = 0;

	for (int weight = HIGHEST; weight; weight--)
		for (size_t i = 0; i < l->n; i++) {
			size_t cells = width_cells(str_of(l->parts[i].text));

			if (l->parts[i].weight != weight)
				continue;
			cells += used ? width_cells(str_of(dot)) + 2 : 0;
			stays[i] = !used || used + cells <= columns;
			used += stays[i] ? cells : 0;
		}
	for (size_t i = 0; i < l->n; i++)
		if (stays[i])
			kept.parts[kept.n++] = l->parts[i];
	*l = kept;
}

/* Returns the number of parts of this weight and more. */
static size_t count_from(const struct status_line *l, int weight)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->parts[i].weight >= weight;
	return n;
}

void status_render(const struct status *s, const struct theme *theme,
		   size_t columns, struct rows *out)
{
	const struct style muted = { 0, STYLE_MUTED };
	const char *dot = theme_glyph(theme, GLYPH_DOT);
	struct status_line l = { .n = 0 };
	struct status_line kept;

	collect_parts(&l, s);
	while (cells_of(&l, dot) > columns && shorten_least(&l, MODEL))
		;
	kept = l;
	if (cells_of(&l, dot) > columns)
		drop_parts(&kept, dot, columns);
	if (count_from(&kept, COST) < count_from(&l, COST)) {
		while (shorten_least(&l, HIGHEST + 1))
			;
		kept = l;
		drop_parts(&kept, dot, columns);
	}
	for (size_t i = 0; i < kept.n; i++) {
		struct str text = str_of(kept.parts[i].text);
		struct style style = { 0, kept.parts[i].role };

		if (i) {
			rows_adds(out, muted, " ");
			rows_adds(out, muted, dot);
			rows_adds(out, muted, " ");
		}
		(void)cut_text_add(out, style, text, columns);
	}
	rows_end(out);
}
