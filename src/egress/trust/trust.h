/* trust.h - makes programs in a sandbox accept the proxy's certificates. */
/* SPDX-License-Identifier: MIT */
#ifndef EGRESS_TRUST_TRUST_H
#define EGRESS_TRUST_TRUST_H

/*
 * Programs look for the authorities that they trust in different places: in the
 * system's file, or in one that a variable names. So a sandbox with secrets
 * gets one bundle, this machine's authorities and that of the run, in all of
 * these places.
 */
#include <sys/types.h>

#include "base/error.h"
#include "sandbox/secrets/secrets.h"

/* The system's file on different distributions; ends with NULL. */
extern const char *const trust_files[];

/* Writes the bundle to an existing or a new file, in place: it may be mounted
 * in the sandbox. Also writes the bundle for Java beside it (TRUST_JAVA).
 * certificate: the run's, or NULL. */
int trust_write(const char *path, const char *certificate, struct error *err);
/* The end of the name of Java's bundle: "x.pem.jks" beside "x.pem". */
#define TRUST_JAVA ".jks"
/* The bundle in the container of trust_write_inside(). */
#define TRUST_DIR "/etc"
#define TRUST_NAME "dcode-trust.pem"
#define TRUST_INSIDE TRUST_DIR "/" TRUST_NAME
/* Writes the bundle to a container whose first process is pid, with the
 * authorities of its image, and adds the certificate to the system's files
 * there. Writes nothing outside of what the container itself stores: ERR_USAGE
 * if something is mounted at TRUST_DIR. */
int trust_write_inside(pid_t pid, const char *certificate, struct error *err);
/* Calls each with the variables of a sandbox: the placeholders, and those that
 * name the bundle, a path in the sandbox. */
void trust_each_variable(const struct secrets *s, const char *bundle,
			 void (*each)(void *arg, const char *name,
				      const char *value),
			 void *arg);

#endif
