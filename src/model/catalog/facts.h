/* facts.h - what can be known of a model. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_FACTS_H
#define MODEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

enum { /* what a model takes or does */
       MODEL_TAKES_IMAGES = 1 << 0,
       MODEL_TAKES_PDF = 1 << 1,
       MODEL_THINKS = 1 << 2,      /* its reasoning effort can be chosen */
       MODEL_LACKS_TOOLS = 1 << 3, /* its profile says that it calls none */
};

enum { /* levels of reasoning effort that a model takes, a bit each */
       EFFORT_NONE = 1 << 0,
       EFFORT_MINIMAL = 1 << 1,
       EFFORT_LOW = 1 << 2,
       EFFORT_MEDIUM = 1 << 3,
       EFFORT_HIGH = 1 << 4,
       EFFORT_XHIGH = 1 << 5,
       EFFORT_MAX = 1 << 6,
       EFFORT_BUDGET = 1 << 7,   /* it takes a number of tokens instead */
       EFFORT_ADAPTIVE = 1 << 8, /* and thinks when it is told to do so only */
};

struct model_price { /* trillionths of a US dollar for each token */
	int64_t input, output, cache_read, cache_write;
};

struct model_facts {
	int64_t context;    /* tokens of the window; 0: unknown */
	int64_t max_output; /* tokens of one answer; 0: unknown */
	bool assumed;       /* context is an assumption, said to the user */
	bool priced;
	bool own_price; /* both prices are the user's */
	unsigned takes;
	unsigned efforts; /* 0: none, or not known */
	struct model_price price;
	/* For requests with more input than so many tokens; 0: none. */
	int64_t long_from;
	struct model_price long_price;
};

#endif
