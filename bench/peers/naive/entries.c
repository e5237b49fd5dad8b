/* SPDX-License-Identifier: MIT */
/* The table of the naive programs. */
#include "entries.h"

#define ROW(app) { #app, "naive", naive_##app },
const PeerEntry peer_entries[] = { NAIVE_APPS(ROW){ NULL, NULL, NULL } };
