/* What every litmus program includes. The Makefile compiles it once for all of them. */
#ifndef LITMUS_H
#define LITMUS_H

#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#endif
