/* library.c - loads a shared library at run time into a table of functions. */
/* SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int library_load(const struct library *l, const struct library_symbol *symbols,
		 size_t n, void *table, struct error *err)
{
	void *needs[2] = { NULL };
	void *opened = NULL;

	for (size_t i = 0; i < 2; i++)
		if (l->needs[i])
			needs[i] = dlopen(l->needs[i], RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; !opened && i < 2 && l->files[i]; i++)
		opened = dlopen(l->files[i], RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; i < 2; i++)
		if (needs[i]) /* stays loaded if the library needs it */
			dlclose(needs[i]);
	if (!opened) {
		error_set(err, ERR_SYSTEM, "cannot load %s: %s", l->name,
			  dlerror());
		return error_hint(err, "Install it: apt install %s",
				  l->package);
	}
	for (size_t i = 0; i < n; i++) {
		void *address = dlsym(opened, symbols[i].name);

		if (!address)
			return error_set(err, ERR_SYSTEM,
					 "this %s is too old: it lacks %s (%s "
					 "or later is needed)",
					 l->name, symbols[i].name, l->needed);
		/* ISO C does not allow the cast from an object pointer to a
		 * function pointer. */
		memcpy((char *)table + symbols[i].offset, &address,
		       sizeof(address));
	}
	return 0;
}
