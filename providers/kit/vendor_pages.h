/* vendor_pages.h - every item of all pages of a vendor's list. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_VENDOR_PAGES_H
#define PROVIDERS_KIT_VENDOR_PAGES_H

#include "providers/kit/vendor.h"

/* How a list goes on. One of the first two names where the next page's token
 * is, or both are NULL and the token is the last item's id, if has_more. */
struct vendor_pages {
	const char *member; /* of the answer */
	const char *header; /* of the answer */
	const char *query;  /* the parameter that takes it: "cursor" */
	const char *items;  /* the member with the array; where it is missing
			       it is "items", or the answer is the array */
	/* For lists that go on in another way: appends the path of the next
	 * page, or nothing at the end. first: that of the first page; seen:
	 * items so far. A page that begins as the one before ends the list. */
	void (*next)(struct buf *path, const char *first, const cJSON *page,
		     int64_t seen);
};

struct vendor_query {
	const struct vendor_pages *pages;
	const char *path; /* of the first page, with a query */
	bool (*each)(void *arg, const cJSON *item); /* false: no more */
	void *arg;
};
int vendor_pages(struct vendor_client *c, const struct vendor_query *q,
		 const struct stop *stop, struct error *err);

#endif
