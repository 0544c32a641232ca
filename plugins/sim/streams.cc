// SPDX-License-Identifier: Apache-2.0
#include "slots.h"

namespace sim::plugin {

// Every priority is taken; workers are threads of equal rights, so that it changes nothing.
dg_status_t stream_create(dg_device_t *device, int32_t, dg_stream_t **out_stream) {
  const dg_status_t status = begin(device, "stream_create");
  if (status == DG_STATUS_OK) *out_stream = new dg_stream{device->engine->make_queue()};
  return status;
}

dg_status_t stream_destroy(dg_device_t *device, dg_stream_t *stream) {
  if (check_process() != DG_STATUS_OK) return DG_STATUS_OK;
  device->engine->close_queue(std::move(stream->queue));
  delete stream;
  return DG_STATUS_OK;
}

dg_status_t stream_query(dg_device_t *device, dg_stream_t *stream) {
  const dg_status_t status = begin(device, "stream_query");
  return status == DG_STATUS_OK ? stream->queue->query() : status;
}

// A lost device too is waited for, so that what its workers use may be given back.
dg_status_t stream_synchronize(dg_device_t *device, dg_stream_t *stream) {
  dg_status_t status = check_process();
  if (status != DG_STATUS_OK) return status;
  status = stream->queue->synchronize();
  return status == DG_STATUS_OK ? begin(device, "stream_synchronize") : status;
}

dg_status_t stream_wait_event(dg_device_t *device, dg_stream_t *stream, dg_event_t *event) {
  const dg_status_t status = begin(device, "stream_wait_event");
  if (status == DG_STATUS_OK) stream->queue->wait_for(event->event.get());
  return status;
}

dg_status_t stream_add_callback(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback, void *user_data) {
  const dg_status_t status = begin(device, "stream_add_callback");
  if (status == DG_STATUS_OK) stream->queue->add_callback([=](dg_status_t before) { callback(user_data, before); });
  return status;
}

dg_status_t event_create(dg_device_t *device, int32_t timing, dg_event_t **out_event) {
  const dg_status_t status = begin(device, "event_create");
  if (status == DG_STATUS_OK) *out_event = new dg_event{sim::Event(timing != 0)};
  return status;
}

dg_status_t event_destroy(dg_device_t *, dg_event_t *event) {
  if (check_process() == DG_STATUS_OK) delete event;
  return DG_STATUS_OK;
}

dg_status_t event_record(dg_device_t *device, dg_event_t *event, dg_stream_t *stream) {
  const dg_status_t status = begin(device, "event_record");
  if (status == DG_STATUS_OK) event->event.set(stream->queue->record());
  return status;
}

dg_status_t event_query(dg_device_t *device, dg_event_t *event) {
  const dg_status_t status = begin(device, "event_query");
  return status == DG_STATUS_OK ? event->event.query() : status;
}

dg_status_t event_synchronize(dg_device_t *device, dg_event_t *event) {
  dg_status_t status = check_process();
  if (status != DG_STATUS_OK) return status;
  status = event->event.synchronize();
  return status == DG_STATUS_OK ? begin(device, "event_synchronize") : status;
}

dg_status_t event_elapsed(dg_device_t *device, dg_event_t *start, dg_event_t *end, double *out_milliseconds) {
  const dg_status_t status = begin(device, "event_elapsed");
  return status == DG_STATUS_OK ? start->event.elapsed_to(end->event, out_milliseconds) : status;
}

}  // namespace sim::plugin
