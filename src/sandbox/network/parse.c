/* parse.c - reads and prints lists of hosts. */
/* SPDX-License-Identifier: MIT */
/*
 * A list decides what a sandbox may send out, so the parser accepts one
 * spelling of each host and refuses every other byte. Attack: a name that the
 * user, dcode and the vendor read differently opens another host. Begin reading
 * at network_parse().
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/network/network.h"

enum {
	NAME_MAX_BYTES = 253, /* RFC 1035 */
	LABEL_MAX = 63,
	ENTRY_MAX = 300,
};

static const char preset_word[] = "preset:";
static const char strange[] = "it contains a character that no host name has";
static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

/* Returns -1 with the entry, cleaned for display, and what is wrong with it. */
static int refuse(struct str entry, const char *why, struct error *err)
{
	struct buf shown = BUF_INIT(4096);
	struct str cut = { entry.ptr, entry.len < 120 ? entry.len : 120 };

	visible_line(cut, &shown);
	error_set(err, ERR_USAGE, "not a host: '%s': %s",
		  shown.ptr ? shown.ptr : "", why);
	buf_release(&shown);
	error_hint(err, "Write a host name (crates.io), *.NAME, an address, "
			"preset:NAME, or the word none or full. `dcode help "
			"network` has examples.");
	return -1;
}

static const char *label_fault(struct str label)
{
	if (!label.len)
		return "a part between two dots is empty";
	if (label.len > LABEL_MAX)
		return "a part is longer than 63 characters";
	if (label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
		return "a part begins or ends with '-'";
	for (size_t i = 0; i < label.len; i++)
		if (!strchr(name_letters, label.ptr[i]))
			return label.ptr[i] == '*'
				       ? "'*' may only begin it, as in "
					 "*.example.com"
				       : strange;
	return NULL;
}

/* Returns what is wrong with the characters of an entry, or NULL. */
static const char *byte_fault(struct str s)
{
	if (str_search(s, STR("://")) < s.len)
		return "it is an address of a page; write only its host";
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c >= 0x80)
			return "write an international name in its ASCII form "
			       "(xn--...)";
		if (c >= 'A' && c <= 'Z')
			return "write it in lower case";
		if (c <= ' ' || c == 0x7f)
			return "it contains a blank or a control character";
		if (!strchr(name_letters, c) && !strchr(".:*/[]!", c))
			return strange;
	}
	return NULL;
}

/* True for a decimal number without leading zeros, of at most `most` digits. */
static bool is_number(struct str s, size_t most, int64_t *number)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	return s.len && s.len <= most && (s.len == 1 || s.ptr[0] != '0') &&
	       str_to_int(s, number);
}

/* True if some programs read a last label like this as a part of an address:
 * "0x7f.1", "127.1". */
static bool is_numeric(struct str label)
{
	int64_t number;

	return str_to_int(label, &number) || str_starts(label, "0x");
}

static const char *name_fault(struct str name)
{
	struct str rest = name;
	struct str label = { 0 };
	size_t labels = 0;
	const char *fault;

	if (str_ends(name, "."))
		return "remove the dot at its end";
	if (name.len > NAME_MAX_BYTES)
		return "it is longer than 253 characters";
	for (; str_split(&rest, '.', &label); labels++) {
		fault = label_fault(label);
		if (fault)
			return fault;
	}
	if (is_numeric(label))
		return "its last part is a number, but it is not an IPv4 "
		       "address";
	return labels < 2 ? "a host name has at least one dot" : NULL;
}

/* Removes ":port" from the end of *s. Returns what is wrong, or NULL. */
static const char *take_port(struct str *s, unsigned *port)
{
	struct str rest = *s;
	struct str digits;
	int64_t number;
	size_t colon;

	if (!s->ptr)
		return NULL;
	colon = s->ptr[0] == '[' ? str_find(*s, ']') + 1 : str_find(*s, ':');
	if (colon >= s->len)
		return NULL;
	digits = str_skip(rest, colon + 1);
	if (s->ptr[colon] != ':' || !is_number(digits, 5, &number) ||
	    number < 1 || number > 65535)
		return "after ':' follows a port from 1 to 65535";
	*port = (unsigned)number;
	s->len = colon;
	return NULL;
}

/* Clears the bits after the prefix. False if one was set. */
static bool is_masked(struct network_rule *r, unsigned size)
{
	for (unsigned i = r->bits; i < 8 * size; i++)
		if (r->address[i / 8] & (0x80U >> i % 8))
			return false;
	return true;
}

/* Parses "10.0.0.0/8", "1.2.3.4" or an IPv6 address without brackets. Returns 0
 * if it is none of them; 1 if it is one; -1 with *fault. */
static int parse_address(struct str s, struct network_rule *r,
			 const char **fault)
{
	size_t slash = str_find(s, '/');
	char text[INET6_ADDRSTRLEN];
	char printed[INET6_ADDRSTRLEN];
	struct str prefix = str_skip(s, slash + 1);
	bool six = str_find(s, ':') < s.len;
	unsigned size = six ? 16 : 4;
	int64_t bits = 8 * size;

	if (slash >= sizeof(text))
		return 0;
	memcpy(text, s.ptr, slash);
	text[slash] = '\0';
	if (inet_pton(six ? AF_INET6 : AF_INET, text, r->address) != 1) {
		*fault = "it is not an IPv4 or IPv6 address";
		return six || slash < s.len ? -1 : 0;
	}
	if (slash < s.len &&
	    (!is_number(prefix, 3, &bits) || bits > 8 * size)) {
		*fault = "after '/' follows the length of the prefix, as in "
			 "10.0.0.0/8";
		return -1;
	}
	r->family = six ? 6 : 4;
	r->bits = (unsigned)bits;
	if (!is_masked(r, size)) {
		*fault = "bits after the prefix are set";
		return -1;
	}
	inet_ntop(six ? AF_INET6 : AF_INET, r->address, printed,
		  sizeof(printed));
	r->host = xstrdup(printed);
	return 1;
}

/* True for an IPv6 address without brackets and port: it has several colons. */
static bool is_bare_six(struct str s)
{
	size_t first = str_find(s, ':');

	return s.len && s.ptr[0] != '[' && first < s.len &&
	       str_find(str_skip(s, first + 1), ':') < s.len - first - 1;
}

/* Parses an entry without "!" and presets. Returns what is wrong, or NULL. */
static const char *parse_host(struct str s, struct network_rule *r)
{
	const char *fault = s.len ? byte_fault(s) : "it is empty";

	if (fault)
		return fault;
	if (!is_bare_six(s))
		fault = take_port(&s, &r->port);
	if (fault)
		return fault;
	if (s.len > 2 && s.ptr[0] == '[' && s.ptr[s.len - 1] == ']') {
		s = (struct str){ s.ptr + 1, s.len - 2 };
		if (str_find(s, ':') == s.len)
			return "only an IPv6 address stands in brackets";
	}
	if (str_is(s, "*"))
		return "for every host write \"full\"";
	switch (parse_address(s, r, &fault)) {
	case -1:
		return fault;
	case 1:
		if (r->port && r->bits != (r->family == 6 ? 128 : 32))
			return "a network cannot have a port";
		return NULL;
	}
	if (str_starts(s, "*.")) {
		r->wild = true;
		s = str_skip(s, 2);
	}
	fault = name_fault(s);
	if (!fault)
		r->host = xstrndup(s.ptr, s.len);
	return fault;
}

static void release_rule(struct network_rule *r)
{
	free(r->host);
	free(r->preset);
}

static bool is_same(const struct network_rule *a, const struct network_rule *b)
{
	return a->denies == b->denies && a->wild == b->wild &&
	       a->family == b->family && a->bits == b->bits &&
	       a->port == b->port && !strcmp(a->host, b->host);
}

/* Takes ownership of r. A rule that n has already is dropped. */
static int append_rule(struct network *n, struct network_rule *r,
		       struct error *err)
{
	for (size_t i = 0; i < n->n; i++)
		if (is_same(&n->rules[i], r)) {
			release_rule(r);
			return 0;
		}
	if (n->n == NETWORK_RULES_MAX) {
		release_rule(r);
		return error_set(err, ERR_USAGE, "more than %d hosts in a list",
				 NETWORK_RULES_MAX);
	}
	n->rules = xrealloc(n->rules, n->n + 1, sizeof(*n->rules));
	n->rules[n->n++] = *r;
	return 0;
}

static int add_host(struct network *n, struct str entry, const char *preset,
		    struct error *err)
{
	struct network_rule r = { 0 };
	struct str host = entry;
	const char *fault;

	if (entry.len && entry.ptr[0] == '!') {
		r.denies = true;
		host = str_skip(entry, 1);
	}
	fault = entry.len > ENTRY_MAX           ? "it is too long"
		: str_starts(host, preset_word) ? "a preset cannot be denied"
						: parse_host(host, &r);
	if (fault) {
		release_rule(&r);
		return refuse(entry, fault, err);
	}
	r.preset = preset ? xasprintf("%s%s", preset_word, preset) : NULL;
	return append_rule(n, &r, err);
}

static int add_preset(struct network *n, struct str entry, struct str name,
		      struct error *err)
{
	const struct network_preset *p = network_presets;

	while (p->name && !str_is(name, p->name))
		p++;
	if (!p->name)
		return refuse(entry,
			      "unknown preset; `dcode sandbox network presets` "
			      "lists all",
			      err);
	for (size_t i = 0; p->hosts[i]; i++)
		if (add_host(n, str_of(p->hosts[i]), p->name, err) < 0)
			return -1;
	return 0;
}

int network_add(struct network *n, struct str entry, struct error *err)
{
	if (n->mode != NETWORK_LIST)
		return error_set(err, ERR_USAGE,
				 "the network is \"%s\", not a list of hosts",
				 n->mode == NETWORK_NONE   ? "none"
				 : n->mode == NETWORK_FULL ? "full"
							   : "default");
	if (str_starts(entry, preset_word))
		return add_preset(n, entry,
				  str_skip(entry, strlen(preset_word)), err);
	return add_host(n, entry, NULL, err);
}

/* Reads the words "none" and "full". The mode of a list is set already. */
static int add_word(struct network *n, const char *word, size_t count,
		    struct error *err)
{
	if (!strcmp(word, "none")) {
		if (count > 1)
			return error_set(err, ERR_USAGE,
					 "\"none\" cannot be combined with "
					 "hosts");
		n->mode = NETWORK_NONE;
		return 0;
	}
	n->open = true;
	return 0;
}

static int check_open(struct network *n, struct error *err)
{
	bool allows = false;

	for (size_t i = 0; i < n->n; i++) {
		allows = allows || !n->rules[i].denies;
		if (n->open && !n->rules[i].denies)
			return error_set(
				err, ERR_USAGE,
				"\"full\" allows every host, so it can "
				"only be combined with denied ones "
				"(\"!host\")");
	}
	if (n->n && !n->open && !allows)
		return error_set(err, ERR_USAGE,
				 "a list of denied hosts allows nothing: add "
				 "\"full\" to allow all others");
	return 0;
}

int network_parse(struct network *n, const char *const *list, size_t count,
		  struct error *err)
{
	int rc = 0;

	network_release(n);
	n->mode = count ? NETWORK_LIST : NETWORK_NONE;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = !strcmp(list[i], "none") || !strcmp(list[i], "full")
			     ? add_word(n, list[i], count, err)
			     : network_add(n, str_of(list[i]), err);
	if (rc == 0)
		rc = check_open(n, err);
	if (rc < 0) {
		network_release(n);
		return -1;
	}
	if (n->open && !n->n) {
		n->open = false;
		n->mode = NETWORK_FULL;
	}
	return 0;
}

void network_print_lines(const struct network *n, struct buf *out)
{
	buf_adds(out, n->open || n->mode == NETWORK_FULL ? "full\n" : "");
	for (size_t i = 0; i < n->n; i++) {
		network_print_rule(&n->rules[i], out);
		buf_addc(out, '\n');
	}
}

int network_parse_lines(struct network *n, struct str text, struct error *err)
{
	const size_t most =
		NETWORK_RULES_MAX + 2; /* with "full", and one more */
	char **entries = xcalloc(most, sizeof(*entries));
	struct str line;
	size_t count = 0;
	int rc;

	while (count < most && str_split(&text, '\n', &line))
		entries[count++] = xstrndup(line.ptr, line.len);
	rc = network_parse(n, (const char *const *)entries, count, err);
	while (count)
		free(entries[--count]);
	free(entries);
	return rc;
}

void network_copy(struct network *to, const struct network *from)
{
	network_release(to);
	*to = *from;
	to->source = xstrdup(from->source);
	to->rules = from->n ? xcalloc(from->n, sizeof(*to->rules)) : NULL;
	for (size_t i = 0; i < from->n; i++) {
		to->rules[i] = from->rules[i];
		to->rules[i].host = xstrdup(from->rules[i].host);
		to->rules[i].preset = xstrdup(from->rules[i].preset);
	}
}

void network_release(struct network *n)
{
	for (size_t i = 0; i < n->n; i++)
		release_rule(&n->rules[i]);
	free(n->rules);
	free(n->source);
	*n = (struct network){ 0 };
}

void network_print_rule(const struct network_rule *r, struct buf *out)
{
	bool brackets = r->family == 6 && r->port;

	buf_addf(out, "%s%s%s%s%s", r->denies ? "!" : "", r->wild ? "*." : "",
		 brackets ? "[" : "", r->host, brackets ? "]" : "");
	if (r->family && r->bits != (r->family == 6 ? 128 : 32))
		buf_addf(out, "/%u", r->bits);
	if (r->port)
		buf_addf(out, ":%u", r->port);
}

void network_print(const struct network *n, struct buf *out)
{
	static const char *const words[] = { [NETWORK_DEFAULT] = "default",
					     [NETWORK_FULL] = "full",
					     [NETWORK_NONE] = "none" };

	if (n->mode != NETWORK_LIST) {
		buf_adds(out, words[n->mode]);
		return;
	}
	if (n->open)
		buf_adds(out, "full, ");
	for (size_t i = 0; i < n->n; i++) {
		buf_adds(out, i ? ", " : "");
		network_print_rule(&n->rules[i], out);
	}
}
