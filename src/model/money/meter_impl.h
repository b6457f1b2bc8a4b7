/* meter_impl.h - what the parts of the meter share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_METER_IMPL_H
#define MODEL_METER_IMPL_H

#include <pthread.h>

#include "model/money/meter.h"

enum { METER_THRESHOLDS = 16 };

struct meter_model {
	struct meter *meter;
	struct meter_model *next;
	struct model_facts facts;
	struct meter_line line;   /* its name is owned */
	struct meter_line told;   /* by meter_each_new() */
	struct meter_noted noted; /* of the requests that run */
	/* Of a part: */
	struct meter_model *of;
	int64_t cap, held;
};

struct sandbox_line {
	struct sandbox_line *next;
	struct meter_line line; /* its name is owned */
	struct meter_line told; /* by meter_each_new() */
	int64_t usd_s;
	int64_t begin, end; /* ms of the clock; end 0: it runs */
	bool dropped;       /* there never was one: it is not told of */
};

struct meter {
	pthread_mutex_t lock;
	int64_t (*clock)(void);
	struct meter_model *models;
	struct sandbox_line *sandboxes;
	int64_t cap, held;
	int sharers;    /* beside the one that asks */
	int64_t most;   /* that the cap may be; 0: any */
	int64_t ask_ms; /* kept back for a question */
	int64_t thresholds[METER_THRESHOLDS];
	size_t n_thresholds;
	int64_t warned; /* the highest one that was told */
};

/* With the lock held. */
int64_t meter_sandbox_ms(const struct meter *m, const struct sandbox_line *s);
int64_t meter_sandbox_cost(const struct meter *m, const struct sandbox_line *s);
void meter_sum(struct meter *m, struct meter_total *t);

#endif
