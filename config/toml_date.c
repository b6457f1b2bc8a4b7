/* toml_date.c - TOML dates and times (RFC 3339). */
/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/str.h"
#include "config/toml_impl.h"

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Two digits at the front, taken off; -1 if they are not there. */
static int two(struct str *s)
{
	int value;

	if (s->len < 2 || !digit(s->ptr[0]) || !digit(s->ptr[1]))
		return -1;
	value = (s->ptr[0] - '0') * 10 + s->ptr[1] - '0';
	*s = str_skip(*s, 2);
	return value;
}

static bool take(struct str *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

static int month_days(int year, int month)
{
	static const char days[] = { 31, 28, 31, 30, 31, 30,
				     31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* These take their part off the front; NULL, or what is wrong with it. */
static const char *take_date(struct str *s)
{
	int high = two(s);
	int low = two(s);
	int month;
	int day;

	if (high < 0 || low < 0 || !take(s, '-'))
		return "expected a date like 2026-01-31";
	month = two(s);
	if (month < 0 || !take(s, '-'))
		return "expected a date like 2026-01-31";
	day = two(s);
	if (day < 0)
		return "expected a date like 2026-01-31";
	if (month < 1 || month > 12)
		return "the month is not between 01 and 12";
	if (day < 1 || day > month_days(high * 100 + low, month))
		return "that month has no such day";
	return NULL;
}

static const char *take_time(struct str *s)
{
	static const char shape[] = "expected a time like 07:32:00";
	int hour = two(s);
	int minute = hour < 0 || !take(s, ':') ? -1 : two(s);
	int second = minute < 0 || !take(s, ':') ? -1 : two(s);

	if (second < 0)
		return shape;
	if (hour > 23)
		return "the hour is not between 00 and 23";
	if (minute > 59)
		return "the minute is not between 00 and 59";
	if (second > 60) /* 60: a leap second */
		return "the second is not between 00 and 60";
	if (!take(s, '.'))
		return NULL;
	if (!s->len || !digit(s->ptr[0]))
		return "expected digits after the decimal point";
	while (s->len && digit(s->ptr[0]))
		*s = str_skip(*s, 1);
	return NULL;
}

static const char *take_offset(struct str *s)
{
	int hour;
	int minute;

	if (take(s, 'Z') || take(s, 'z'))
		return NULL;
	*s = str_skip(*s, 1); /* + or - */
	hour = two(s);
	minute = hour < 0 || !take(s, ':') ? -1 : two(s);
	if (minute < 0)
		return "expected an offset like +02:00";
	if (hour > 23 || minute > 59)
		return "the offset is not between -23:59 and +23:59";
	return NULL;
}

bool toml_looks_dated(struct str word)
{
	size_t n = 0;

	while (n < word.len && digit(word.ptr[n]))
		n++;
	return (n == 4 && n < word.len && word.ptr[n] == '-') ||
	       (n == 2 && n < word.len && word.ptr[n] == ':');
}

/* A time may follow its date after a single space. */
static struct str with_time(const struct toml_reader *r, struct str word)
{
	const char *p = word.ptr + word.len;

	if (word.len != 10 || r->end - p < 2 || *p != ' ' || !digit(p[1]))
		return word;
	for (p++;
	     p < r->end && (digit(*p) || *p == ':' || *p == '.' || *p == '+' ||
			    *p == '-' || *p == 'Z' || *p == 'z');)
		p++;
	return (struct str){ word.ptr, (size_t)(p - word.ptr) };
}

static const char *read_date(struct str s, enum toml_kind *kind)
{
	const char *wrong;

	if (s.ptr[2] == ':') {
		*kind = TOML_LOCAL_TIME;
		wrong = take_time(&s);
		return wrong || !s.len ? wrong : "text after the time";
	}
	*kind = TOML_LOCAL_DATE;
	wrong = take_date(&s);
	if (wrong || !s.len)
		return wrong;
	if (!take(&s, 'T') && !take(&s, 't') && !take(&s, ' '))
		return "text after the date";
	*kind = TOML_LOCAL_DATETIME;
	wrong = take_time(&s);
	if (wrong || !s.len)
		return wrong;
	if (s.ptr[0] != 'Z' && s.ptr[0] != 'z' && s.ptr[0] != '+' &&
	    s.ptr[0] != '-')
		return "text after the time";
	*kind = TOML_DATETIME;
	wrong = take_offset(&s);
	return wrong || !s.len ? wrong : "text after the offset";
}

int toml_date(struct toml_reader *r, struct toml_value *v, struct str word)
{
	const char *wrong;

	word = with_time(r, word);
	wrong = read_date(word, &v->kind);
	if (wrong)
		return toml_fail(r, toml_here(r), "'%.*s%s': %s",
				 (int)(word.len > 40 ? 40 : word.len), word.ptr,
				 word.len > 40 ? "..." : "", wrong);
	v->text = xstrndup(word.ptr, word.len);
	v->text_len = word.len;
	for (size_t i = 0; i < word.len; i++) {
		if (v->text[i] == ' ' || v->text[i] == 't')
			v->text[i] = 'T';
		else if (v->text[i] == 'z')
			v->text[i] = 'Z';
	}
	r->at = word.ptr + word.len;
	return 0;
}
