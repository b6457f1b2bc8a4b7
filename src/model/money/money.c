/* money.c - amounts in trillionths of a US dollar, read and shown. */
/* SPDX-License-Identifier: MIT */
#include "model/money/money.h"

#include <inttypes.h>
#include <stdio.h>

#define DOLLAR INT64_C(1000000000000)

enum { MOST_DOLLARS = 1000000, DIGITS = 12 };

const char *money_short(int64_t amount, char room[MONEY_SIZE])
{
	int64_t cents = amount / (DOLLAR / 100) +
			(amount % (DOLLAR / 100) >= DOLLAR / 200);

	if (amount > 0 && amount < DOLLAR / 100)
		snprintf(room, MONEY_SIZE, "<$0.01");
	else
		snprintf(room, MONEY_SIZE, "$%" PRId64 ".%02d", cents / 100,
			 (int)(cents % 100));
	return room;
}

const char *money_exact(int64_t amount, char room[MONEY_SIZE])
{
	int64_t small = amount / (DOLLAR / 10000) +
			(amount % (DOLLAR / 10000) >= DOLLAR / 20000);

	if (amount >= DOLLAR || amount % (DOLLAR / 100) == 0)
		return money_short(amount, room);
	if (!small)
		snprintf(room, MONEY_SIZE, "<$0.0001");
	else
		snprintf(room, MONEY_SIZE, "$%" PRId64 ".%04d", small / 10000,
			 (int)(small % 10000));
	return room;
}

const char *money_json(int64_t amount, char room[MONEY_SIZE])
{
	int len = snprintf(room, MONEY_SIZE, "%" PRId64 ".%012" PRId64,
			   amount / DOLLAR, amount % DOLLAR);

	while (len > 0 && room[len - 1] == '0')
		room[--len] = '\0';
	if (len > 0 && room[len - 1] == '.')
		room[len - 1] = '\0';
	return room;
}

bool money_read(struct str text, int64_t *amount)
{
	int64_t whole = 0;
	int64_t unit = DOLLAR;
	bool point = false;
	bool digit = false;

	if (text.len && text.ptr[0] == '$')
		text = str_skip(text, 1);
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9' || unit == 1 ||
		    whole / DOLLAR > MOST_DOLLARS)
			return false;
		digit = true;
		if (point)
			unit /= 10;
		whole = point ? whole + (c - '0') * unit
			      : whole * 10 + (c - '0') * DOLLAR;
	}
	if (!digit || whole <= 0 || whole > MOST_DOLLARS * DOLLAR)
		return false;
	*amount = whole;
	return true;
}
