/* eventq_test.c - events from one thread to another, in order and bounded. */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/stop.h"
#include "base/str.h"
#include "ui/eventq.h"

enum { PIECES = 3000, PIECE = 1000 };

static struct eventq *new_queue(void)
{
	struct error err = { 0 };
	struct eventq *q = eventq_new(&err);

	assert_non_null(q);
	return q;
}

static bool readable(const struct eventq *q)
{
	struct pollfd p = { .fd = eventq_fd(q), .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void push_text(struct eventq *q, const char *text)
{
	struct agent_event ev = { .kind = EVENT_TEXT, .text = str_of(text) };

	eventq_push(q, &ev);
}

static void events_are_copies_in_their_order(void **state)
{
	char id[] = "call_1";
	char name[] = "execute";
	char args[] = "{\"command\":\"ls\"}";
	struct part call = { .id = id, .name = name, .args = args };
	struct usage usage = { .input = 12 };
	struct agent_event ev = { .kind = EVENT_TOOL_CALL, .call = &call };
	struct eventq *q = new_queue();
	struct queued *item;

	(void)state;
	assert_false(readable(q));
	assert_null(eventq_take(q));
	eventq_push(q, &ev);
	eventq_notify(q, 7, &usage);
	ev = (struct agent_event){ .kind = EVENT_TURN, .usage = &usage };
	eventq_push(q, &ev);
	memset(args, 'x', sizeof(args) - 1);
	memset(id, 'x', sizeof(id) - 1);
	usage.input = 0;
	assert_true(readable(q));
	item = eventq_take(q);
	assert_int_equal(item->event.kind, EVENT_TOOL_CALL);
	assert_string_equal(item->event.call->args, "{\"command\":\"ls\"}");
	assert_string_equal(item->event.call->id, "call_1");
	queued_free(item);
	item = eventq_take(q);
	assert_int_equal(item->event.kind, 0);
	assert_int_equal(item->notice, 7);
	assert_ptr_equal(item->arg, &usage);
	queued_free(item);
	assert_true(readable(q));
	item = eventq_take(q);
	assert_int_equal(item->event.usage->input, 12);
	queued_free(item);
	assert_false(readable(q));
	eventq_free(q);
}

static void deltas_are_joined_but_not_across_calls(void **state)
{
	char one[] = "1";
	char two[] = "2";
	struct part first = { .id = one };
	struct part second = { .id = two };
	struct agent_event ev = { .kind = EVENT_TOOL_OUTPUT, .call = &first };
	struct eventq *q = new_queue();
	struct queued *item;

	(void)state;
	push_text(q, "ab");
	push_text(q, "cd");
	ev.text = STR("x");
	eventq_push(q, &ev);
	eventq_push(q, &ev);
	ev.call = &second;
	eventq_push(q, &ev);
	item = eventq_take(q);
	assert_true(str_is(item->event.text, "abcd"));
	queued_free(item);
	item = eventq_take(q);
	assert_true(str_is(item->event.text, "xx"));
	queued_free(item);
	item = eventq_take(q);
	assert_true(str_is(item->event.text, "x"));
	assert_string_equal(item->event.call->id, "2");
	queued_free(item);
	eventq_free(q);
}

struct writer {
	struct eventq *q;
	atomic_int written;
};

static void *write_pieces(void *arg)
{
	struct writer *w = arg;
	char piece[PIECE + 1];

	memset(piece, 'a', PIECE);
	piece[PIECE] = '\0';
	for (int i = 0; i < PIECES; i++) {
		push_text(w->q, piece);
		atomic_store(&w->written, i + 1);
	}
	eventq_notify(w->q, 1, NULL);
	return NULL;
}

static void a_full_queue_stops_the_writer_and_loses_nothing(void **state)
{
	struct writer w = { .q = new_queue() };
	pthread_t thread;
	size_t got = 0;
	int seen = -1;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_pieces, &w), 0);
	while (atomic_load(&w.written) != seen) { /* until it stands still */
		struct error err = { 0 };
		struct stop stop = stop_cleanup(60000);

		seen = atomic_load(&w.written);
		assert_int_equal(stop_sleep(&stop, 200, &err), 0);
	}
	assert_in_range(seen, 1, PIECES - 1);
	assert_in_range(seen, 1, (1 << 20) / PIECE);
	for (;;) {
		struct queued *item = eventq_take(w.q);
		bool last = item && !item->event.kind;

		got += item ? item->event.text.len : 0;
		queued_free(item);
		if (last)
			break;
	}
	assert_int_equal(got, (size_t)PIECES * PIECE);
	pthread_join(thread, NULL);
	eventq_free(w.q);
}

static void a_closed_queue_lets_the_writer_go(void **state)
{
	struct writer w = { .q = new_queue() };
	pthread_t thread;
	bool notified = false;
	struct queued *item;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_pieces, &w), 0);
	eventq_close(w.q);
	pthread_join(thread, NULL);
	while ((item = eventq_take(w.q))) {
		notified |= item->notice == 1;
		queued_free(item);
	}
	assert_true(notified);
	eventq_free(w.q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_copies_in_their_order),
		cmocka_unit_test(deltas_are_joined_but_not_across_calls),
		cmocka_unit_test(
			a_full_queue_stops_the_writer_and_loses_nothing),
		cmocka_unit_test(a_closed_queue_lets_the_writer_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
