// Streams are in-order queues, events the events of markers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "plugin.h"

dg_status_t dg_stream::queued(int32_t error, opencl::Handle event, const char *call) {
  if (error != opencl::success) return opencl::check(error, call);
  const std::lock_guard<std::mutex> guard(mutex);
  if (last) device->cl.clReleaseEvent(last);
  last = event;
  return DG_STATUS_OK;
}

namespace opencl {

namespace {

// A reference of the caller's own, or null.
Handle retained(dg_device_t *device, std::mutex &mutex, const Handle &event) {
  const std::lock_guard<std::mutex> guard(mutex);
  if (event) device->cl.clRetainEvent(event);
  return event;
}

dg_status_t wait_for(dg_device_t *device, Handle event, const char *what) {
  if (!event) return DG_STATUS_OK;
  device->cl.clWaitForEvents(1, &event);  // the failure of the work itself is read below
  const dg_status_t status = status_of(device, event, what);
  device->cl.clReleaseEvent(event);
  return status;
}

dg_status_t query(dg_device_t *device, Handle event, const char *what) {
  const dg_status_t status = status_of(device, event, what);
  if (event) device->cl.clReleaseEvent(event);
  return status;
}

}  // namespace

dg_status_t status_of(dg_device *device, Handle event, const char *what) {
  if (!event) return DG_STATUS_OK;
  int32_t status = 0;
  const int32_t error = device->cl.clGetEventInfo(event, event_status, sizeof status, &status, nullptr);
  if (error != success) return check(error, "clGetEventInfo");
  if (status < 0)
    return fail(DG_STATUS_INTERNAL, "opencl:%d: work of %s failed: %s", device->index, what, error_name(status));
  return status == complete ? DG_STATUS_OK : DG_STATUS_NOT_READY;
}

dg_status_t stream_create(dg_device_t *device, int32_t, dg_stream_t **out_stream) {
  int32_t error = success;
  const Handle queue = device->cl.clCreateCommandQueue(device->context, device->chip.device, queue_profiling, &error);
  if (error != success) return check(error, "clCreateCommandQueue");
  auto *stream = new dg_stream{device, queue, {}, nullptr};
  const std::lock_guard<std::mutex> guard(device->mutex);
  device->streams.push_back(stream);
  *out_stream = stream;
  return DG_STATUS_OK;
}

dg_status_t stream_destroy(dg_device_t *device, dg_stream_t *stream) {
  {
    const std::lock_guard<std::mutex> guard(device->mutex);
    device->streams.erase(std::find(device->streams.begin(), device->streams.end(), stream));
  }
  const dg_status_t status = stream_synchronize(device, stream);
  device->cl.clReleaseCommandQueue(stream->queue);
  if (stream->last) device->cl.clReleaseEvent(stream->last);
  delete stream;
  return status;
}

dg_status_t stream_query(dg_device_t *device, dg_stream_t *stream) {
  const dg_status_t status = check(device->cl.clFlush(stream->queue), "clFlush");
  if (status != DG_STATUS_OK) return status;
  return query(device, retained(device, stream->mutex, stream->last), "a stream");
}

dg_status_t stream_synchronize(dg_device_t *device, dg_stream_t *stream) {
  const dg_status_t status = check(device->cl.clFlush(stream->queue), "clFlush");
  if (status != DG_STATUS_OK) return status;
  return wait_for(device, retained(device, stream->mutex, stream->last), "a stream");
}

dg_status_t device_synchronize(dg_device_t *device) {
  std::vector<Handle> pending;
  {
    const std::lock_guard<std::mutex> guard(device->mutex);
    for (dg_stream *stream : device->streams) {
      device->cl.clFlush(stream->queue);
      if (const Handle event = retained(device, stream->mutex, stream->last)) pending.push_back(event);
    }
  }
  dg_status_t first = DG_STATUS_OK;
  for (const Handle event : pending) {
    const dg_status_t status = wait_for(device, event, "the device");
    if (first == DG_STATUS_OK) first = status;
  }
  return first;
}

dg_status_t stream_wait_event(dg_device_t *device, dg_stream_t *stream, dg_event_t *event) {
  if (event->device != device)
    return fail(DG_STATUS_UNSUPPORTED, "opencl:%d: an event of another device cannot be waited for", device->index);
  const Handle recorded = retained(device, event->mutex, event->recorded);
  if (!recorded) return DG_STATUS_OK;
  Handle barrier = nullptr;
  const int32_t error = device->cl.clEnqueueBarrierWithWaitList(stream->queue, 1, &recorded, &barrier);
  device->cl.clReleaseEvent(recorded);
  return stream->queued(error, barrier, "clEnqueueBarrierWithWaitList");
}

namespace {

struct Queued {
  const Driver &cl;
  dg_callback_t function;
  void *user_data;
  Handle gate;
};

// On a thread of the driver: the function, and then what waits behind it.
void run(Handle event, int32_t status, void *opaque) {
  const std::unique_ptr<Queued> queued(static_cast<Queued *>(opaque));
  queued->function(queued->user_data, status == complete ? DG_STATUS_OK : DG_STATUS_ABORTED);
  queued->cl.clSetUserEventStatus(queued->gate, complete);
  queued->cl.clReleaseEvent(queued->gate);
  queued->cl.clReleaseEvent(event);
}

}  // namespace

dg_status_t stream_add_callback(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback, void *user_data) {
  const Driver &cl = device->cl;
  int32_t error = success;
  const Handle gate = cl.clCreateUserEvent(device->context, &error);
  if (error != success) return check(error, "clCreateUserEvent");
  Handle before = nullptr, behind = nullptr;
  error = cl.clEnqueueMarkerWithWaitList(stream->queue, 0, nullptr, &before);
  if (error == success) error = cl.clEnqueueBarrierWithWaitList(stream->queue, 1, &gate, &behind);
  if (error != success) {
    cl.clSetUserEventStatus(gate, complete);
    cl.clReleaseEvent(gate);
    if (before) cl.clReleaseEvent(before);
    return check(error, "clEnqueueMarkerWithWaitList");
  }
  const dg_status_t status = stream->queued(success, behind, "");
  cl.clSetEventCallback(before, complete, run, new Queued{cl, callback, user_data, gate});
  cl.clFlush(stream->queue);
  return status;
}

dg_status_t event_create(dg_device_t *device, int32_t timing, dg_event_t **out_event) {
  *out_event = new dg_event{device, timing != 0, {}, nullptr};
  return DG_STATUS_OK;
}

dg_status_t event_destroy(dg_device_t *device, dg_event_t *event) {
  if (event->recorded) device->cl.clReleaseEvent(event->recorded);
  delete event;
  return DG_STATUS_OK;
}

dg_status_t event_record(dg_device_t *device, dg_event_t *event, dg_stream_t *stream) {
  Handle marker = nullptr;
  const int32_t error = device->cl.clEnqueueMarkerWithWaitList(stream->queue, 0, nullptr, &marker);
  if (error != success) return check(error, "clEnqueueMarkerWithWaitList");
  device->cl.clFlush(stream->queue);  // whoever waits for it need not know the stream
  {
    const std::lock_guard<std::mutex> guard(event->mutex);
    if (event->recorded) device->cl.clReleaseEvent(event->recorded);
    event->recorded = marker;
    device->cl.clRetainEvent(marker);
  }
  return stream->queued(success, marker, "");
}

dg_status_t event_query(dg_device_t *device, dg_event_t *event) {
  return query(device, retained(device, event->mutex, event->recorded), "an event");
}

dg_status_t event_synchronize(dg_device_t *device, dg_event_t *event) {
  return wait_for(device, retained(device, event->mutex, event->recorded), "an event");
}

dg_status_t event_elapsed(dg_device_t *device, dg_event_t *start, dg_event_t *end, double *out_milliseconds) {
  uint64_t times[2] = {};
  const dg_event_t *events[] = {start, end};
  for (int i = 0; i < 2; ++i) {
    if (!events[i]->timing || !events[i]->recorded)
      return fail(DG_STATUS_INVALID_ARGUMENT, "opencl:%d: the %s event was %s", device->index, i ? "second" : "first",
                  events[i]->timing ? "never recorded" : "made without timing");
    const dg_status_t status = status_of(device, events[i]->recorded, "an event");
    if (status != DG_STATUS_OK) return status;
    const int32_t error =
        device->cl.clGetEventProfilingInfo(events[i]->recorded, profiling_end, sizeof times[i], &times[i], nullptr);
    if (error != success) return check(error, "clGetEventProfilingInfo");
  }
  *out_milliseconds = times[1] > times[0] ? double(times[1] - times[0]) * 1e-6 : 0;
  return DG_STATUS_OK;
}

}  // namespace opencl
