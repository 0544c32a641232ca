/* An asynchronous plugin: each stream is a thread that works off a queue, in memory that the host is not told to touch.
 * It is right; tests slow it down and make it fail through the queue_* functions.
 *
 *   QUEUE_MEMORY   bytes of memory of each device (default 64 MiB)
 *   -DNO_EVENTS, -DNO_WAIT, -DNO_CALLBACK, -DNO_PEER, -DNO_OPTIONAL leave slots out
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dougong/dg_device.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef NAME
#define NAME "queue"
#endif

struct dg_device {
  int index;
  pthread_mutex_t mutex;
  size_t used, limit;
  long live;
};

struct dg_event {
  int references, timing;
  long recorded, completed;
  dg_status_t status;
  double time;
};

enum { COPY, FILL, RECORD, WAIT, CALL };

typedef struct work {
  struct work *next;
  int kind, pattern_size;
  char *destination;
  const char *source;
  void *owned;
  size_t size;
  char pattern[16];
  dg_event_t *event;
  long generation;
  dg_callback_t callback;
  void *user_data;
} work_t;

struct dg_stream {
  pthread_t thread;
  work_t *first, *last;
  long queued, done;
  int closing;
  dg_status_t failure;
  atomic_int inside; /* calls of a slot that is tagged [one thread per stream] */
};

/* One lock and one condition for everything: simple, and fast enough for tests. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct dg_device devices[2] = {{0, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0}, {1, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0}};
static int held;
static atomic_int delay_ms, fail_next, violations;
static _Thread_local char sentence[200];

/* ---- For the tests ---- */
DG_EXPORT void queue_set_delay(int milliseconds) { delay_ms = milliseconds; } /* before each piece of work */
DG_EXPORT void queue_fail_next(int status) { fail_next = status; }   /* the next copy or fill fails when it runs */
DG_EXPORT long queue_live(int index) { return devices[index].live; } /* allocations that were not given back */
DG_EXPORT void queue_hold(int yes) {                                 /* all streams stand still */
  pthread_mutex_lock(&mutex);
  held = yes;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

DG_EXPORT int queue_violations(void) { return violations; } /* two threads were in one stream's slots at a time */

static dg_status_t fail(dg_status_t status, const char *text) {
  snprintf(sentence, sizeof sentence, "%s", text);
  return status;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void release_event(dg_event_t *event) {
  if (--event->references == 0) free(event);
}

static void do_fill(work_t *work) {
  size_t i;
  for (i = 0; i < work->size; ++i)
    memcpy(work->destination + i * (size_t)work->pattern_size, work->pattern, (size_t)work->pattern_size);
}

static void run(dg_stream_t *stream, work_t *work) {
  dg_status_t status = DG_STATUS_OK;
  if (delay_ms) usleep((useconds_t)delay_ms * 1000);
  if (work->kind == COPY || work->kind == FILL) status = atomic_exchange(&fail_next, DG_STATUS_OK);
  if (status == DG_STATUS_OK && work->kind == COPY) memcpy(work->destination, work->source, work->size);
  if (status == DG_STATUS_OK && work->kind == FILL) do_fill(work);
  if (work->kind == CALL) work->callback(work->user_data, stream->failure);
  free(work->owned);
  pthread_mutex_lock(&mutex);
  if (status != DG_STATUS_OK) stream->failure = status;
  if (work->kind == WAIT)
    while (work->event->completed < work->generation) pthread_cond_wait(&changed, &mutex);
  if (work->kind == RECORD) {
    work->event->completed = work->generation;
    work->event->time = now();
  }
  if (work->event) release_event(work->event);
  ++stream->done;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void *work_off(void *argument) {
  dg_stream_t *stream = argument;
  for (;;) {
    work_t *work;
    pthread_mutex_lock(&mutex);
    while ((!stream->first && !stream->closing) || (held && stream->first)) pthread_cond_wait(&changed, &mutex);
    work = stream->first;
    if (work) stream->first = work->next;
    pthread_mutex_unlock(&mutex);
    if (!work) break;
    run(stream, work);
    free(work);
  }
  free(stream);
  return NULL;
}

static work_t *new_work(int kind) {
  work_t *work = calloc(1, sizeof *work);
  work->kind = kind;
  return work;
}

static void push(dg_stream_t *stream, work_t *work) {
  if (stream->first)
    stream->last->next = work;
  else
    stream->first = work;
  stream->last = work;
  ++stream->queued;
  pthread_cond_broadcast(&changed);
}

static dg_status_t queue(dg_stream_t *stream, work_t *work) {
  pthread_mutex_lock(&mutex);
  push(stream, work);
  pthread_mutex_unlock(&mutex);
  return DG_STATUS_OK;
}

/* Reported once, unless the device is lost. With the lock held. */
static dg_status_t take_failure(dg_stream_t *stream) {
  const dg_status_t status = stream->failure;
  if (status != DG_STATUS_DEVICE_LOST) stream->failure = DG_STATUS_OK;
  return status ? fail(status, "work on the stream failed") : status;
}

/* ---- Device ---- */
static dg_status_t initialize(const dg_host_t *host, void **out_context) {
  const char *memory = getenv("QUEUE_MEMORY");
  (void)host;
  devices[0].limit = devices[1].limit = memory ? (size_t)atoll(memory) : (size_t)64 << 20;
  *out_context = devices;
  return DG_STATUS_OK;
}

static dg_status_t device_count(void *context, int32_t *out_count) {
  (void)context;
  *out_count = 2;
  return DG_STATUS_OK;
}

static const char *get_last_error(void *context) {
  (void)context;
  return sentence;
}

static dg_status_t device_create(void *context, int32_t index, dg_device_t **out_device) {
  (void)context;
  if (index < 0 || index > 1) return fail(DG_STATUS_INVALID_ARGUMENT, "there are two devices");
  *out_device = &devices[index];
  return DG_STATUS_OK;
}

static void device_destroy(dg_device_t *device) { (void)device; }

static dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *p) {
  p->name = "Queue";
  p->memory_total = device->limit;
  p->alignment = 256;
  p->lowest_priority = -1;
  p->highest_priority = 1;
  return DG_STATUS_OK;
}

/* ---- Memory: the size lies in front of the block ---- */
static dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  void *base = NULL;
  if (kind != DG_MEMORY_DEVICE) return fail(DG_STATUS_UNSUPPORTED, "no pinned memory");
  pthread_mutex_lock(&device->mutex);
  if (size > device->limit - device->used || posix_memalign(&base, 256, size + 256) != 0) {
    pthread_mutex_unlock(&device->mutex);
    return fail(DG_STATUS_OUT_OF_MEMORY, "the limit is reached");
  }
  device->used += size;
  ++device->live;
  pthread_mutex_unlock(&device->mutex);
  *(size_t *)base = size;
  *out_handle = (char *)base + 256;
  return DG_STATUS_OK;
}

static dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  char *base = (char *)handle - 256;
  (void)kind;
  pthread_mutex_lock(&device->mutex);
  device->used -= *(size_t *)base;
  --device->live;
  pthread_mutex_unlock(&device->mutex);
  memset(base, 0xDD, 256 + *(size_t *)base); /* work that still uses it shows */
  free(base);
  return DG_STATUS_OK;
}

static dg_status_t memory_get_info(dg_device_t *device, uint64_t *out_free, uint64_t *out_total) {
  *out_free = device->limit - device->used;
  *out_total = device->limit;
  return DG_STATUS_OK;
}

static dg_status_t stream_synchronize(dg_device_t *device, dg_stream_t *stream) {
  dg_status_t status;
  long target;
  (void)device;
  pthread_mutex_lock(&mutex);
  for (target = stream->queued; stream->done < target;) pthread_cond_wait(&changed, &mutex);
  status = take_failure(stream);
  pthread_mutex_unlock(&mutex);
  return status;
}

static dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t destination_offset,
                                       const void *source, size_t size, dg_stream_t *stream) {
  work_t *work = new_work(COPY);
  (void)device;
  if (atomic_fetch_add(&stream->inside, 1)) ++violations;
  usleep(100);
  work->owned = malloc(size);
  memcpy(work->owned, source, size);
  work->destination = (char *)destination + destination_offset;
  work->source = work->owned;
  work->size = size;
  queue(stream, work);
  --stream->inside;
  return DG_STATUS_OK;
}

static dg_status_t copy_within(void *destination, size_t destination_offset, const void *source, size_t source_offset,
                               size_t size, dg_stream_t *stream) {
  work_t *work = new_work(COPY);
  work->destination = (char *)destination + destination_offset;
  work->source = (const char *)source + source_offset;
  work->size = size;
  return queue(stream, work);
}

static dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t source_offset,
                                       size_t size, dg_stream_t *stream) {
  copy_within(destination, 0, source, source_offset, size, stream);
  return stream_synchronize(device, stream);
}

#ifndef NO_OPTIONAL
static dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset,
                                         const void *source, size_t source_offset, size_t size, dg_stream_t *stream) {
  (void)device;
  return copy_within(destination, destination_offset, source, source_offset, size, stream);
}

#ifndef NO_PEER
static dg_status_t copy_peer(dg_device_t *device, void *destination, size_t destination_offset,
                             dg_device_t *source_device, const void *source, size_t source_offset, size_t size,
                             dg_stream_t *stream) {
  (void)device;
  (void)source_device;
  return copy_within(destination, destination_offset, source, source_offset, size, stream);
}
#endif

static dg_status_t memory_fill(dg_device_t *device, void *destination, size_t destination_offset, const void *pattern,
                               size_t pattern_size, size_t count, dg_stream_t *stream) {
  work_t *work = new_work(FILL);
  (void)device;
  work->destination = (char *)destination + destination_offset;
  memcpy(work->pattern, pattern, pattern_size);
  work->pattern_size = (int)pattern_size;
  work->size = count;
  return queue(stream, work);
}
#endif

/* ---- Streams ---- */
static dg_status_t stream_create(dg_device_t *device, int32_t priority, dg_stream_t **out_stream) {
  dg_stream_t *stream = calloc(1, sizeof *stream);
  (void)device;
  (void)priority;
  if (pthread_create(&stream->thread, NULL, work_off, stream) != 0) return fail(DG_STATUS_INTERNAL, "no thread");
  pthread_detach(stream->thread);
  *out_stream = stream;
  return DG_STATUS_OK;
}

static dg_status_t stream_destroy(dg_device_t *device, dg_stream_t *stream) {
  (void)device;
  pthread_mutex_lock(&mutex);
  stream->closing = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return DG_STATUS_OK;
}

static dg_status_t stream_query(dg_device_t *device, dg_stream_t *stream) {
  dg_status_t status;
  (void)device;
  pthread_mutex_lock(&mutex);
  status = stream->done < stream->queued ? DG_STATUS_NOT_READY : take_failure(stream);
  pthread_mutex_unlock(&mutex);
  return status;
}

#ifndef NO_CALLBACK
static dg_status_t stream_add_callback(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback,
                                       void *user_data) {
  work_t *work = new_work(CALL);
  (void)device;
  work->callback = callback;
  work->user_data = user_data;
  return queue(stream, work);
}
#endif

/* ---- Events ---- */
#ifndef NO_EVENTS
static dg_status_t event_create(dg_device_t *device, int32_t timing, dg_event_t **out_event) {
  (void)device;
  *out_event = calloc(1, sizeof **out_event);
  (*out_event)->references = 1;
  (*out_event)->timing = timing;
  return DG_STATUS_OK;
}

static dg_status_t event_destroy(dg_device_t *device, dg_event_t *event) {
  (void)device;
  pthread_mutex_lock(&mutex);
  release_event(event);
  pthread_mutex_unlock(&mutex);
  return DG_STATUS_OK;
}

static dg_status_t queue_event(dg_stream_t *stream, dg_event_t *event, int kind) {
  work_t *work = new_work(kind);
  pthread_mutex_lock(&mutex);
  work->event = event;
  work->generation = kind == RECORD ? ++event->recorded : event->recorded;
  ++event->references;
  push(stream, work);
  pthread_mutex_unlock(&mutex);
  return DG_STATUS_OK;
}

static dg_status_t event_record(dg_device_t *device, dg_event_t *event, dg_stream_t *stream) {
  (void)device;
  return queue_event(stream, event, RECORD);
}

static dg_status_t event_query(dg_device_t *device, dg_event_t *event) {
  dg_status_t status;
  (void)device;
  pthread_mutex_lock(&mutex);
  status = event->completed < event->recorded ? DG_STATUS_NOT_READY : DG_STATUS_OK;
  pthread_mutex_unlock(&mutex);
  return status;
}

static dg_status_t event_synchronize(dg_device_t *device, dg_event_t *event) {
  (void)device;
  pthread_mutex_lock(&mutex);
  while (event->completed < event->recorded) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return DG_STATUS_OK;
}

#ifndef NO_WAIT
static dg_status_t stream_wait_event(dg_device_t *device, dg_stream_t *stream, dg_event_t *event) {
  (void)device;
  return queue_event(stream, event, WAIT);
}
#endif

#ifndef NO_OPTIONAL
static dg_status_t event_elapsed(dg_device_t *device, dg_event_t *start, dg_event_t *end, double *out_milliseconds) {
  (void)device;
  if (!start->recorded || !end->recorded) return fail(DG_STATUS_INVALID_ARGUMENT, "an event was never recorded");
  if (start->completed < start->recorded || end->completed < end->recorded) return DG_STATUS_NOT_READY;
  *out_milliseconds = end->time - start->time;
  return DG_STATUS_OK;
}
#endif
#endif

static const dg_device_api_t device_api = {
    .struct_size = sizeof(dg_device_api_t),
    .device_create = device_create,
    .device_destroy = device_destroy,
    .device_get_properties = device_get_properties,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .memory_get_info = memory_get_info,
    .copy_host_to_device = copy_host_to_device,
    .copy_device_to_host = copy_device_to_host,
#ifndef NO_OPTIONAL
    .copy_device_to_device = copy_device_to_device,
#ifndef NO_PEER
    .copy_peer = copy_peer,
#endif
    .memory_fill = memory_fill,
#endif
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
#ifndef NO_CALLBACK
    .stream_add_callback = stream_add_callback,
#endif
#ifndef NO_EVENTS
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
#ifndef NO_WAIT
    .stream_wait_event = stream_wait_event,
#endif
#ifndef NO_OPTIONAL
    .event_elapsed = event_elapsed,
#endif
#endif
};

static const dg_plugin_t plugin = {
    .struct_size = sizeof(dg_plugin_t),
    .abi_version = DG_ABI_VERSION,
    .name = NAME,
    .version = "1.0",
    .initialize = initialize,
    .device_count = device_count,
    .get_last_error = get_last_error,
    .device = &device_api,
};

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
