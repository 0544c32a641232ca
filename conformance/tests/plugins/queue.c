/* A correct asynchronous plugin over host memory, for the tests of the judge: a thread a stream.
 *
 * One lock guards everything. A stream counts what was queued and what is done; an event is a stream's count at the
 * time it was recorded. DG_TEST_FAULT=<what> makes it misbehave: look for `fault`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dougong/dg_device.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 2, MAX_PINNED = 1024 };
enum { COPY, FILL, WAIT, RECORD, CALL };

/* What outlives its stream while an event or a waiting stream still refers to it. */
typedef struct {
  uint64_t done;
  int references;
} timeline_t;

typedef struct {
  timeline_t *timeline;
  uint64_t count;
} point_t;

typedef struct task_t {
  struct task_t *next;
  int kind;
  char *destination;
  const char *source;
  size_t size, pattern_size;
  char pattern[16];
  point_t point;
  dg_event_t *event; /* WAIT, with the fault wait-latest only */
  double *time;
  dg_callback_t callback;
  void *user_data;
} task_t;

struct dg_stream {
  pthread_t thread;
  task_t *first, **last;
  timeline_t *timeline;
  uint64_t queued;
  int closing;
};

struct dg_event {
  point_t point;
  int timing;
  double *time; /* shared with the RECORD task; leaked on purpose, a few bytes an event */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t unfinished;
static struct {
  char *begin, *end;
} pinned[MAX_PINNED];
static _Thread_local char last_error[256];
static int context, devices[DEVICES];

static int fault(const char *what) {
  const char *chosen = getenv("DG_TEST_FAULT");
  return chosen != NULL && strcmp(chosen, what) == 0;
}

static dg_status_t fail(dg_status_t status, const char *sentence) {
  snprintf(last_error, sizeof last_error, "%s", sentence);
  return status;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static void release(timeline_t *timeline) {
  if (timeline != NULL && --timeline->references == 0) free(timeline);
}

static point_t hold(point_t point) {
  if (point.timeline != NULL) point.timeline->references += 1;
  return point;
}

static int reached(point_t point) { return point.timeline == NULL || point.timeline->done >= point.count; }

static void run(task_t *task) {
  if (task->kind == COPY) memcpy(task->destination, task->source, task->size);
  if (task->kind == FILL)
    for (size_t i = 0; i < task->size; ++i)
      memcpy(task->destination + i * task->pattern_size, task->pattern, task->pattern_size);
  if (task->kind == RECORD) *task->time = now();
  if (task->kind == CALL) task->callback(task->user_data, DG_STATUS_OK);
  if (task->kind == CALL && fault("callback-twice")) task->callback(task->user_data, DG_STATUS_OK);
}

static void *work(void *argument) {
  dg_stream_t *stream = argument;
  pthread_mutex_lock(&lock);
  while (stream->first != NULL || !stream->closing) {
    task_t *task = stream->first;
    if (task == NULL) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    if (task->event != NULL) task->point = hold(task->event->point);
    while (task->kind == WAIT && !reached(task->point) && !fault("wait-ignored")) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    run(task);
    pthread_mutex_lock(&lock);
    stream->first = task->next;
    if (stream->first == NULL) stream->last = &stream->first;
    stream->timeline->done += 1;
    unfinished -= 1;
    release(task->point.timeline);
    free(task);
    pthread_cond_broadcast(&changed);
  }
  release(stream->timeline);
  free(stream);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void wait_for(point_t point) {
  while (!reached(point)) pthread_cond_wait(&changed, &lock);
}

static point_t end_of(dg_stream_t *stream) { return (point_t){stream->timeline, stream->queued}; }

/* Queues a copy of the task; `wait` returns when it is done. */
static dg_status_t queue(dg_stream_t *stream, task_t task, int wait) {
  task_t *copy = malloc(sizeof task);
  *copy = task;
  copy->next = NULL;
  pthread_mutex_lock(&lock);
  *stream->last = copy;
  stream->last = &copy->next;
  stream->queued += 1;
  unfinished += 1;
  pthread_cond_broadcast(&changed);
  if (wait) wait_for(end_of(stream));
  pthread_mutex_unlock(&lock);
  return DG_STATUS_OK;
}

static dg_status_t initialize(const dg_host_t *host, void **out_context) {
  (void)host;
  *out_context = &context;
  return DG_STATUS_OK;
}

static dg_status_t device_count(void *self, int32_t *out_count) {
  (void)self;
  *out_count = DEVICES;
  return DG_STATUS_OK;
}

static const char *get_last_error(void *self) {
  (void)self;
  return last_error;
}

static dg_status_t device_create(void *self, int32_t index, dg_device_t **out_device) {
  (void)self;
  if (index < 0 || index >= DEVICES) return fail(DG_STATUS_INVALID_ARGUMENT, "there are two devices, 0 and 1");
  *out_device = (dg_device_t *)&devices[index];
  return DG_STATUS_OK;
}

static void device_destroy(dg_device_t *device) { (void)device; }

static dg_status_t device_get_properties(dg_device_t *device, dg_device_properties_t *out) {
  (void)device;
  out->name = "queues over host memory";
  out->memory_total = (uint64_t)1 << 36;
  out->lowest_priority = -1;
  out->highest_priority = 1;
  return DG_STATUS_OK;
}

static dg_status_t device_synchronize(dg_device_t *device) {
  (void)device;
  pthread_mutex_lock(&lock);
  while (unfinished != 0 && !fault("device-synchronize-lies")) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return DG_STATUS_OK;
}

static dg_status_t memory_allocate(dg_device_t *device, dg_memory_kind_t kind, size_t size, void **out_handle) {
  (void)device;
  if (kind != DG_MEMORY_DEVICE && kind != DG_MEMORY_HOST_PINNED) return fail(DG_STATUS_UNSUPPORTED, "no such memory");
  if (size > (size_t)1 << 36) return fail(DG_STATUS_OUT_OF_MEMORY, "more bytes than the device has");
  char *memory = aligned_alloc(64, (size + 63) / 64 * 64);
  if (memory == NULL) return fail(DG_STATUS_OUT_OF_MEMORY, "the host has no memory left");
  pthread_mutex_lock(&lock);
  for (int i = 0; kind == DG_MEMORY_HOST_PINNED && i < MAX_PINNED; ++i) {
    if (pinned[i].begin != NULL) continue;
    pinned[i].begin = memory, pinned[i].end = memory + size;
    break;
  }
  pthread_mutex_unlock(&lock);
  *out_handle = memory;
  return DG_STATUS_OK;
}

static dg_status_t memory_free(dg_device_t *device, dg_memory_kind_t kind, void *handle) {
  (void)device, (void)kind;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_PINNED; ++i)
    if (pinned[i].begin == handle) pinned[i].begin = NULL;
  pthread_mutex_unlock(&lock);
  free(handle);
  return DG_STATUS_OK;
}

static int pageable(const char *memory) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_PINNED; ++i) found |= pinned[i].begin && memory >= pinned[i].begin && memory < pinned[i].end;
  pthread_mutex_unlock(&lock);
  return !found && !fault("pageable-late");
}

static dg_status_t copy_host_to_device(dg_device_t *device, void *destination, size_t offset, const void *source,
                                       size_t size, dg_stream_t *stream) {
  (void)device;
  task_t task = {.kind = COPY, .destination = (char *)destination + offset, .source = source, .size = size};
  return queue(stream, task, pageable(source));
}

static dg_status_t copy_device_to_host(dg_device_t *device, void *destination, const void *source, size_t offset,
                                       size_t size, dg_stream_t *stream) {
  (void)device;
  task_t task = {.kind = COPY, .destination = destination, .source = (const char *)source + offset, .size = size};
  return queue(stream, task, pageable(destination));
}

static dg_status_t copy_device_to_device(dg_device_t *device, void *destination, size_t destination_offset,
                                         const void *source, size_t source_offset, size_t size, dg_stream_t *stream) {
  (void)device;
  task_t task = {.kind = COPY,
                 .destination = (char *)destination + destination_offset,
                 .source = (const char *)source + source_offset,
                 .size = size};
  return queue(stream, task, 0);
}

static dg_status_t copy_peer(dg_device_t *device, void *destination, size_t destination_offset,
                             dg_device_t *source_device, const void *source, size_t source_offset, size_t size,
                             dg_stream_t *stream) {
  (void)source_device;
  return copy_device_to_device(device, destination, destination_offset, source, source_offset, size, stream);
}

static dg_status_t memory_fill(dg_device_t *device, void *destination, size_t offset, const void *pattern,
                               size_t pattern_size, size_t count, dg_stream_t *stream) {
  (void)device;
  task_t task = {
      .kind = FILL, .destination = (char *)destination + offset, .size = count, .pattern_size = pattern_size};
  memcpy(task.pattern, pattern, pattern_size);
  return queue(stream, task, fault("synchronous-fill"));
}

static dg_status_t stream_create(dg_device_t *device, int32_t priority, dg_stream_t **out_stream) {
  (void)device;
  if (fault("priority-refused") && priority > 1) return fail(DG_STATUS_INVALID_ARGUMENT, "the highest priority is 1");
  dg_stream_t *stream = calloc(1, sizeof *stream);
  stream->last = &stream->first;
  stream->timeline = calloc(1, sizeof *stream->timeline);
  stream->timeline->references = 1;
  if (pthread_create(&stream->thread, NULL, work, stream) != 0) return fail(DG_STATUS_INTERNAL, "no thread is left");
  pthread_detach(stream->thread);
  *out_stream = stream;
  return DG_STATUS_OK;
}

static dg_status_t stream_destroy(dg_device_t *device, dg_stream_t *stream) {
  (void)device;
  pthread_mutex_lock(&lock);
  stream->closing = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return DG_STATUS_OK;
}

static dg_status_t query(point_t point) {
  pthread_mutex_lock(&lock);
  int done = reached(point);
  pthread_mutex_unlock(&lock);
  return done ? DG_STATUS_OK : DG_STATUS_NOT_READY;
}

static dg_status_t stream_query(dg_device_t *device, dg_stream_t *stream) {
  (void)device;
  return fault("query-lies") ? DG_STATUS_OK : query(end_of(stream));
}

static dg_status_t stream_synchronize(dg_device_t *device, dg_stream_t *stream) {
  if (fault("synchronize-all")) return device_synchronize(device);
  if (fault("synchronize-lies")) return DG_STATUS_OK;
  pthread_mutex_lock(&lock);
  wait_for(end_of(stream));
  pthread_mutex_unlock(&lock);
  return DG_STATUS_OK;
}

static dg_status_t stream_wait_event(dg_device_t *device, dg_stream_t *stream, dg_event_t *event) {
  (void)device;
  if (fault("wait-latest")) return queue(stream, (task_t){.kind = WAIT, .event = event}, 0);
  pthread_mutex_lock(&lock);
  task_t task = {.kind = WAIT, .point = hold(event->point)};
  pthread_mutex_unlock(&lock);
  return queue(stream, task, 0);
}

static dg_status_t stream_add_callback(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback,
                                       void *user_data) {
  (void)device;
  return queue(stream, (task_t){.kind = CALL, .callback = callback, .user_data = user_data}, 0);
}

static dg_status_t event_create(dg_device_t *device, int32_t timing, dg_event_t **out_event) {
  (void)device;
  *out_event = calloc(1, sizeof **out_event);
  (*out_event)->timing = timing;
  return DG_STATUS_OK;
}

static dg_status_t event_destroy(dg_device_t *device, dg_event_t *event) {
  (void)device;
  pthread_mutex_lock(&lock);
  release(event->point.timeline);
  pthread_mutex_unlock(&lock);
  free(event);
  return DG_STATUS_OK;
}

static dg_status_t event_record(dg_device_t *device, dg_event_t *event, dg_stream_t *stream) {
  (void)device;
  double *time = calloc(1, sizeof *time);
  queue(stream, (task_t){.kind = RECORD, .time = time}, 0);
  pthread_mutex_lock(&lock);
  point_t old = event->point;
  if (!(fault("record-once") && old.timeline)) event->point = hold(end_of(stream)), event->time = time;
  release(old.timeline);
  pthread_mutex_unlock(&lock);
  return DG_STATUS_OK;
}

static dg_status_t event_query(dg_device_t *device, dg_event_t *event) {
  (void)device;
  if (fault("unrecorded-not-ready") && event->point.timeline == NULL) return DG_STATUS_NOT_READY;
  return fault("event-early") ? DG_STATUS_OK : query(event->point);
}

static dg_status_t event_synchronize(dg_device_t *device, dg_event_t *event) {
  (void)device;
  pthread_mutex_lock(&lock);
  wait_for(event->point);
  pthread_mutex_unlock(&lock);
  return DG_STATUS_OK;
}

static dg_status_t event_elapsed(dg_device_t *device, dg_event_t *start, dg_event_t *end, double *out_milliseconds) {
  (void)device;
  if (!start->timing || !end->timing || !start->time || !end->time) {
    if (!fault("elapsed-zero")) return fail(DG_STATUS_INVALID_ARGUMENT, "an event has no time");
    return *out_milliseconds = 0, DG_STATUS_OK;
  }
  if (query(start->point) || query(end->point)) return DG_STATUS_NOT_READY;
  *out_milliseconds = *end->time - *start->time;
  return DG_STATUS_OK;
}

static const dg_device_api_t device_api = {
    .struct_size = sizeof(dg_device_api_t),
    .device_create = device_create,
    .device_destroy = device_destroy,
    .device_get_properties = device_get_properties,
    .device_synchronize = device_synchronize,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .copy_host_to_device = copy_host_to_device,
    .copy_device_to_host = copy_device_to_host,
    .copy_device_to_device = copy_device_to_device,
    .copy_peer = copy_peer,
    .memory_fill = memory_fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .stream_add_callback = stream_add_callback,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
};

static const dg_plugin_t plugin = {
    .struct_size = sizeof(dg_plugin_t),
    .abi_version = DG_ABI_VERSION,
    .name = "queue",
    .version = "0.1.0",
    .initialize = initialize,
    .device_count = device_count,
    .get_last_error = get_last_error,
    .device = &device_api,
};

DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void) { return &plugin; }
