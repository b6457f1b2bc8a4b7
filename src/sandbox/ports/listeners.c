/* listeners.c - which ports of a sandbox a command has begun to listen on. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at listeners_read(). */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/ports/ports.h"

enum {
	PORTS = 65536,
	READ_MAX = 64, /* listeners of a report */
	SHOWN_MAX = 3, /* new ports of a report that the user is told */
	ADDRESS4 = 8,  /* hexadecimal digits */
	ADDRESS6 = 32,
};

struct listeners {
	atomic_bool begun; /* the ports before the first command are known */
	_Atomic uint64_t seen[PORTS / 64];
};

struct open_port {
	unsigned port;
	bool loopback;
};

/* Returns the sandbox's state, which the first call creates. */
static struct listeners *listeners_of(struct sandbox *sb)
{
	struct listeners *l = atomic_load(&sb->listeners);
	struct listeners *none = NULL;

	if (l)
		return l;
	l = xcalloc(1, sizeof(*l));
	if (atomic_compare_exchange_strong(&sb->listeners, &none, l))
		return l;
	free(l);
	return none;
}

bool listeners_are_new(struct sandbox *sb)
{
	return !atomic_load(&listeners_of(sb)->begun);
}

/* True if the port was not known before. */
static bool note_port(struct listeners *l, unsigned port)
{
	uint64_t bit = UINT64_C(1) << (port % 64);

	return !(atomic_fetch_or(&l->seen[port / 64], bit) & bit);
}

static bool is_hex(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr("0123456789ABCDEF", text.ptr[i]) || !text.ptr[i])
			return false;
	return text.len;
}

/* True for 127.0.0.0/8, ::1 and ::ffff:127.0.0.0/104, as the kernel writes
 * them: 32-bit words in the byte order of the machine, which is little-endian
 * on all machines that dcode knows. */
static bool is_loopback(struct str address)
{
	static const char one[] = "00000000000000000000000001000000";
	static const char mapped[] = "0000000000000000FFFF0000";

	if (address.len == ADDRESS4)
		return str_is(str_skip(address, ADDRESS4 - 2), "7F");
	return str_is(address, one) ||
	       (str_starts(address, mapped) &&
		str_is(str_skip(address, ADDRESS6 - 2), "7F"));
}

/* Reads "0100007F:0BB8". */
static bool read_listener(struct str text, struct open_port *out)
{
	struct str address = { text.ptr, str_find(text, ':') };
	struct str port = str_skip(text, address.len + 1);
	char digits[5] = "";

	if ((address.len != ADDRESS4 && address.len != ADDRESS6) ||
	    port.len != sizeof(digits) - 1 || !is_hex(address) || !is_hex(port))
		return false;
	memcpy(digits, port.ptr, port.len);
	out->port = (unsigned)strtoul(digits, NULL, 16);
	out->loopback = is_loopback(address);
	return out->port;
}

/* Adds a listener, once for each port: a server often listens on IPv4 and on
 * IPv6. */
static void add_listener(struct open_port *list, size_t *n,
			 const struct open_port *new)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i].port == new->port) {
			list[i].loopback &= new->loopback;
			return;
		}
	list[(*n)++] = *new;
}

/* Writes "3000 and 5173 (only on its loopback)". */
static void write_ports(const struct sandbox *sb, const struct open_port *list,
			size_t n, struct listen_note *note)
{
	struct buf out = BUF_INIT(sizeof(note->text) - 1);
	bool loopback = n;

	for (size_t i = 0; i < n; i++) {
		buf_addf(&out, "%s%u",
			 !i           ? ""
			 : i + 1 == n ? " and "
				      : ", ",
			 list[i].port);
		loopback &= list[i].loopback;
	}
	if (loopback && ports_ops(sb->client)->dial)
		buf_adds(&out, " (only on its loopback)");
	else if (loopback)
		buf_adds(&out, " (only on its loopback: it must listen on "
			       "0.0.0.0)");
	snprintf(note->text, sizeof(note->text), "%s", n ? out.ptr : "");
	buf_release(&out);
}

void listeners_read(struct sandbox *sb, struct str report, bool before,
		    const char *own, struct listen_note *note)
{
	struct listeners *l = listeners_of(sb);
	struct open_port list[READ_MAX];
	struct open_port new[SHOWN_MAX];
	struct str word;
	size_t n = 0;
	size_t n_new = 0;

	while (n < READ_MAX && str_split(&report, ' ', &word)) {
		struct open_port one;
		struct str uid = { 0 };

		if (!read_listener(word, &one) ||
		    !str_split(&report, ' ', &uid))
			break;
		if (!own || str_is(uid, own))
			add_listener(list, &n, &one);
	}
	for (size_t i = 0; i < n; i++)
		if (note_port(l, list[i].port) && n_new < SHOWN_MAX)
			new[n_new++] = list[i];
	*note = (struct listen_note){ 0 };
	if (before)
		atomic_store(&l->begun, true);
	else
		write_ports(sb, new, n_new, note);
}
