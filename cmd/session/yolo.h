/* yolo.h - whether the user has said that he knows what yolo is. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_YOLO_H
#define CMD_SESSION_YOLO_H

#include "cmd/app.h"

/* Kept in the user's state directory, for all sessions. */
bool yolo_acknowledged(struct app *app);
void yolo_acknowledge(struct app *app);

#endif
