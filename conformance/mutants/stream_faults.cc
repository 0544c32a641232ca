// Faults in the order of work: for an asynchronous base only.
//
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>

#include "mutant.h"

namespace mutant {
namespace {

dg_status_t event_done(dg_device_t *, dg_event_t *) { return DG_STATUS_OK; }
dg_status_t stream_done(dg_device_t *, dg_stream_t *) { return DG_STATUS_OK; }
dg_status_t no_wait(dg_device_t *, dg_stream_t *, dg_event_t *) { return DG_STATUS_OK; }

void event_completes_early(dg_plugin_t &, dg_device_api_t &device) {
  device.event_query = event_done;
  device.event_synchronize = event_done;
}

void stream_query_always_says_ok(dg_plugin_t &, dg_device_api_t &device) { device.stream_query = stream_done; }
void synchronize_does_not_wait(dg_plugin_t &, dg_device_api_t &device) { device.stream_synchronize = stream_done; }
void streams_do_not_wait_for_events(dg_plugin_t &, dg_device_api_t &device) { device.stream_wait_event = no_wait; }

// A stream of the mutant's own for each stream of the host: a copy engine that nothing is ordered with.
dg_stream_t *side_stream(dg_device_t *device, dg_stream_t *stream) {
  static std::map<dg_stream_t *, dg_stream_t *> sides;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  dg_stream_t *&side = sides[stream];
  if (!side) base().device.stream_create(device, 0, &side);
  return side;
}

dg_status_t copy_aside(dg_device_t *device, void *destination, size_t destination_offset, const void *source,
                       size_t source_offset, size_t size, dg_stream_t *stream) {
  return base().device.copy_device_to_device(device, destination, destination_offset, source, source_offset, size,
                                             side_stream(device, stream));
}

dg_status_t fill_aside(dg_device_t *device, void *destination, size_t offset, const void *pattern, size_t pattern_size,
                       size_t count, dg_stream_t *stream) {
  return base().device.memory_fill(device, destination, offset, pattern, pattern_size, count,
                                   side_stream(device, stream));
}

void events_do_not_cover_copies(dg_plugin_t &, dg_device_api_t &device) { device.copy_device_to_device = copy_aside; }
void events_do_not_cover_fills(dg_plugin_t &, dg_device_api_t &device) { device.memory_fill = fill_aside; }

dg_status_t call_twice(dg_device_t *device, dg_stream_t *stream, dg_callback_t callback, void *user_data) {
  const dg_status_t status = base().device.stream_add_callback(device, stream, callback, user_data);
  if (status != DG_STATUS_OK) return status;
  return base().device.stream_add_callback(device, stream, callback, user_data);
}

void callbacks_run_twice(dg_plugin_t &, dg_device_api_t &device) { device.stream_add_callback = call_twice; }

dg_status_t call_at_once(dg_device_t *, dg_stream_t *, dg_callback_t callback, void *user_data) {
  callback(user_data, DG_STATUS_OK);
  return DG_STATUS_OK;
}

void callbacks_run_early(dg_plugin_t &, dg_device_api_t &device) { device.stream_add_callback = call_at_once; }

// Only the first record of an event counts.
dg_status_t record_once(dg_device_t *device, dg_event_t *event, dg_stream_t *stream) {
  static std::map<dg_event_t *, bool> recorded;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (recorded[event]) return DG_STATUS_OK;
  recorded[event] = true;
  return base().device.event_record(device, event, stream);
}

void records_once(dg_plugin_t &, dg_device_api_t &device) { device.event_record = record_once; }

dg_status_t no_time(dg_device_t *, dg_event_t *, dg_event_t *, double *out_milliseconds) {
  *out_milliseconds = 0;
  return DG_STATUS_OK;
}

void elapsed_is_always_zero(dg_plugin_t &, dg_device_api_t &device) { device.event_elapsed = no_time; }

}  // namespace

const Fault stream_faults[] = {{"early_event", nullptr, event_completes_early, 0},
                               {"stream_query", nullptr, stream_query_always_says_ok, 0},
                               {"no_synchronize", nullptr, synchronize_does_not_wait, 0},
                               {"no_wait", nullptr, streams_do_not_wait_for_events, 0},
                               {"uncovered_copies", nullptr, events_do_not_cover_copies, 0},
                               {"uncovered_fills", nullptr, events_do_not_cover_fills, 0},
                               {"callback_twice", nullptr, callbacks_run_twice, 0},
                               {"callback_early", nullptr, callbacks_run_early, 0},
                               {"records_once", nullptr, records_once, 0},
                               {"no_time", nullptr, elapsed_is_always_zero, 0},
                               {nullptr, nullptr, nullptr, 0}};

}  // namespace mutant
