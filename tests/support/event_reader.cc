#include "tests/support/event_reader.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "capstan/records.h"
#include "src/io/wire.h"

namespace capstan::testing {

namespace {

using io::wire::Message;

template <class T>
void add_numbers(const std::string& bytes, std::vector<double>& numbers) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    numbers.push_back(static_cast<double>(value));
  }
}

void read_shape(Message message, std::vector<std::int64_t>& shape) {
  while (const auto field = message.next()) {
    if (field->number != 2) continue;
    Message size = message.inside(*field);
    shape.push_back(0);
    while (const auto part = size.next()) {
      if (part->number == 1) shape.back() = static_cast<std::int64_t>(part->value);
    }
  }
}

void read_tensor(Message message, LoggedValue& value) {
  constexpr std::uint64_t kDouble = 2;
  std::string content;
  bool is_double = false;
  while (const auto field = message.next()) {
    if (field->number == 1) is_double = field->value == kDouble;
    if (field->number == 2) read_shape(message.inside(*field), value.shape);
    if (field->number == 4) content = field->bytes;
    if (field->number == 8) value.texts.emplace_back(field->bytes);
  }
  value.dtype = is_double ? float64 : float32;
  if (is_double) {
    add_numbers<double>(content, value.numbers);
  } else {
    add_numbers<float>(content, value.numbers);
  }
}

void read_metadata(Message message, LoggedValue& value) {
  while (const auto field = message.next()) {
    if (field->number == 3) value.description = field->bytes;
    if (field->number != 1) continue;
    Message plugin = message.inside(*field);
    while (const auto part = plugin.next()) {
      if (part->number == 1) value.plugin = part->bytes;
      if (part->number == 2) value.plugin_content = part->bytes;
    }
  }
}

LoggedValue read_value(Message message, std::string_view bytes) {
  LoggedValue value;
  value.message = bytes;
  while (const auto field = message.next()) {
    if (field->number == 1) value.tag = field->bytes;
    if (field->number == 8) read_tensor(message.inside(*field), value);
    if (field->number == 9) read_metadata(message.inside(*field), value);
  }
  return value;
}

LoggedEvent read_event(Message message) {
  LoggedEvent event;
  while (const auto field = message.next()) {
    switch (field->number) {
      case 1:
        event.wall_time = std::bit_cast<double>(field->value);
        break;
      case 2:
        event.step = static_cast<std::int64_t>(field->value);
        break;
      case 3:
        event.file_version = field->bytes;
        break;
      case 4:
        event.graph = field->bytes;
        break;
      case 5: {
        Message summary = message.inside(*field);
        while (const auto value = summary.next())
          event.values.push_back(read_value(summary.inside(*value), value->bytes));
        break;
      }
      case 10: {
        Message source = message.inside(*field);
        while (const auto part = source.next()) event.writer = part->bytes;
        break;
      }
      default:
        ADD_FAILURE() << "field " << field->number;
    }
  }
  return event;
}

}  // namespace

std::vector<LoggedEvent> events_of(const std::string& path) {
  io::RecordReader reader(path);
  std::vector<LoggedEvent> events;
  while (const auto record = reader.next()) events.push_back(read_event(Message("events", path, *record)));
  return events;
}

std::vector<SteppedValue> values_of(const std::string& path) {
  std::vector<SteppedValue> values;
  for (const LoggedEvent& event : events_of(path)) {
    for (const LoggedValue& value : event.values) values.push_back({value, event.step});
  }
  return values;
}

std::string log_in(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("events.out.tfevents.")) continue;
    EXPECT_EQ(found, "") << "two logs in " << folder;
    found = entry.path().string();
  }
  EXPECT_NE(found, "") << "no log in " << folder;
  return found;
}

std::vector<std::string> tags_of(const std::string& path) {
  std::vector<std::string> tags;
  for (const SteppedValue& value : values_of(path)) tags.push_back(value.tag + "@" + std::to_string(value.step));
  return tags;
}

}  // namespace capstan::testing
