#include "src/ops/array/index_list.h"

#include <algorithm>

#include "src/core/check.h"

namespace capstan {

// --- IndexList ---

IndexList pack_index(std::span<const Index> items) {
  IndexList list;
  list.count = static_cast<std::int64_t>(items.size());
  int numbers = 0;
  bool fits = items.size() <= IndexList::kMaxItems;
  for (std::size_t i = 0; fits && i < items.size(); ++i) {
    const Slice& slice = items[i].slice;
    std::uint64_t code = static_cast<std::uint64_t>(items[i].kind);
    if (items[i].kind == Index::Kind::kNumber || items[i].kind == Index::Kind::kSlice) {
      const std::int64_t values[] = {slice.begin, slice.end, slice.step};
      const std::int64_t defaults[] = {Slice::kEdge, Slice::kEdge, 1};
      for (int k = 0; k < 3; ++k) {
        if (values[k] == defaults[k]) continue;
        if (numbers == IndexList::kMaxNumbers) {
          fits = false;
          break;
        }
        list.numbers[numbers++] = values[k];
        code |= std::uint64_t{4} << k;
      }
    }
    list.codes |= code << (5 * i);
  }
  if (fits) return list;
  IndexList interned;
  interned.count = list.count;
  std::vector<std::int64_t> all;
  for (const Index& item : items) {
    all.insert(all.end(), {static_cast<std::int64_t>(item.kind), item.slice.begin, item.slice.end, item.slice.step});
  }
  interned.more = intern(all);
  return interned;
}

namespace {

Index make_index(Index::Kind kind, std::int64_t begin, std::int64_t end, std::int64_t step) {
  Index index(Slice{begin, end, step});
  index.kind = kind;
  return index;
}

// Calls visit(item) for every item.
template <class Visit>
void for_each_item(const IndexList& list, const Visit& visit) {
  if (list.more.has_value()) {
    for (std::size_t i = 0; i < list.more.size(); i += 4) {
      visit(make_index(static_cast<Index::Kind>(list.more[i]), list.more[i + 1], list.more[i + 2], list.more[i + 3]));
    }
    return;
  }
  const std::int64_t* number = list.numbers;
  for (std::int64_t i = 0; i < list.count; ++i) {
    const std::uint64_t code = list.codes >> (5 * i);
    const std::int64_t begin = (code & 4) != 0 ? *number++ : Slice::kEdge;
    const std::int64_t end = (code & 8) != 0 ? *number++ : Slice::kEdge;
    const std::int64_t step = (code & 16) != 0 ? *number++ : 1;
    visit(make_index(static_cast<Index::Kind>(code & 3), begin, end, step));
  }
}

}  // namespace

std::vector<Index> unpack_index(const IndexList& list) {
  std::vector<Index> items;
  for_each_item(list, [&](const Index& item) { items.push_back(item); });
  return items;
}

void set_field(IndexList& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const auto refuse = [&] {
    throw ValueError(detail::join(op, ": attribute \"", name,
                                  "\" must list numbers, [begin, end, step], \"...\" or \"newaxis\", not ",
                                  value.to_string()));
  };
  std::vector<Index> items;
  const auto add = [&](const AttributeValue& item) {
    switch (item.kind) {
      case AttributeValue::Kind::kInt:
        items.emplace_back(static_cast<long>(item.integer));
        return;
      case AttributeValue::Kind::kString:
        if (item.text != "..." && item.text != "newaxis") refuse();
        items.push_back(item.text == "..." ? Index(ellipsis) : Index(newaxis));
        return;
      case AttributeValue::Kind::kList: {
        Slice slice;
        std::int64_t* const parts[] = {&slice.begin, &slice.end, &slice.step};
        if (item.list.size() > 3) refuse();
        for (std::size_t k = 0; k < item.list.size(); ++k) {
          if (item.list[k].kind == AttributeValue::Kind::kNone) continue;
          if (item.list[k].kind != AttributeValue::Kind::kInt) refuse();
          *parts[k] = item.list[k].integer;
        }
        items.emplace_back(slice);
        return;
      }
      default:
        refuse();
    }
  };
  if (value.kind == AttributeValue::Kind::kList) {
    for (const AttributeValue& item : value.list) add(item);
  } else {
    add(value);
  }
  field = pack_index(items);
}

AttributeValue get_field(const IndexList& field) {
  std::vector<AttributeValue> list;
  for (const Index& item : unpack_index(field)) {
    switch (item.kind) {
      case Index::Kind::kNumber:
        list.emplace_back(item.slice.begin);
        break;
      case Index::Kind::kSlice: {
        const auto part = [](std::int64_t number, std::int64_t edge) {
          return number == edge ? AttributeValue() : AttributeValue(number);
        };
        list.emplace_back(std::vector<AttributeValue>{part(item.slice.begin, Slice::kEdge),
                                                      part(item.slice.end, Slice::kEdge), part(item.slice.step, 1)});
        break;
      }
      case Index::Kind::kEllipsis:
        list.emplace_back("...");
        break;
      case Index::Kind::kNewAxis:
        list.emplace_back("newaxis");
        break;
    }
  }
  return AttributeValue(std::move(list));
}

// --- Selection ---

bool Selection::contiguous() const {
  std::int64_t step = 1;
  for (int i = axis_count - 1; i >= 0; --i) {
    if (axes[i].length == 1) continue;
    if (axes[i].from != step) return false;
    step *= axes[i].length;
  }
  return true;
}

namespace {

// The positions that a slice takes from an axis of length n: `count` of them from `begin` on.
// Python's rule.
struct Span {
  std::int64_t begin;
  std::int64_t count;
};
Span span_of(const Slice& slice, std::int64_t n) {
  const bool forward = slice.step > 0;
  const std::int64_t low = forward ? 0 : -1;
  const std::int64_t high = forward ? n : n - 1;
  const auto bound = [&](std::int64_t number, std::int64_t edge) {
    if (number == Slice::kEdge) return edge;
    if (number < 0) number += n;
    return std::min(std::max(number, low), high);
  };
  const std::int64_t begin = bound(slice.begin, forward ? low : high);
  const std::int64_t end = bound(slice.end, forward ? high : low);
  const std::int64_t distance = forward ? end - begin : begin - end;
  if (distance <= 0) return {0, 0};
  if (!forward && slice.step == INT64_MIN) return {begin, 1};  // its negative does not exist
  return {begin, (distance - 1) / (forward ? slice.step : -slice.step) + 1};
}

}  // namespace

Selection select(const IndexList& list, const TensorRef& x) {
  int named = 0;
  int dots = 0;
  for_each_item(list, [&](const Index& item) {
    named += item.kind == Index::Kind::kNumber || item.kind == Index::Kind::kSlice;
    dots += item.kind == Index::Kind::kEllipsis;
  });
  CAPSTAN_CHECK(dots <= 1, ValueError, "getitem: ", dots, " ellipses, at most one may stand in an index",
                arguments({{"x", x}}));
  CAPSTAN_CHECK(named <= x.rank(), IndexError, "getitem: ", named, " indices for ", x.rank(), " axes",
                arguments({{"x", x}}));
  std::int64_t stride[kMaxRank];
  std::int64_t step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    stride[i] = step;
    step *= x.dim(i);
  }
  Selection selection;
  int axis = 0;
  const auto keep = [&](std::int64_t length, std::int64_t from) {
    selection.shape.push_back(length);
    selection.axes[selection.axis_count++] = {length, 0, from};
  };
  const auto keep_all = [&](int axes) {
    for (int i = 0; i < axes; ++i, ++axis) keep(x.dim(axis), stride[axis]);
  };
  for_each_item(list, [&](const Index& item) {
    switch (item.kind) {
      case Index::Kind::kNumber: {
        const std::int64_t length = x.dim(axis);
        const std::int64_t given = item.slice.begin;
        const std::int64_t number = given < 0 ? given + length : given;
        CAPSTAN_CHECK(number >= 0 && number < length, IndexError, "getitem: index ", given,
                      " is out of range for axis ", axis, " of length ", length, arguments({{"x", x}}));
        selection.offset += number * stride[axis];
        ++axis;
        break;
      }
      case Index::Kind::kSlice: {
        CAPSTAN_CHECK(item.slice.step != 0, ValueError, "getitem: the step of axis ", axis, " is 0",
                      arguments({{"x", x}}));
        const Span span = span_of(item.slice, x.dim(axis));
        selection.offset += span.begin * stride[axis];
        keep(span.count, span.count > 1 ? item.slice.step * stride[axis] : 1);
        ++axis;
        break;
      }
      case Index::Kind::kEllipsis:
        keep_all(x.rank() - named);
        break;
      case Index::Kind::kNewAxis:
        selection.shape.push_back(1);
        break;
    }
  });
  keep_all(x.rank() - axis);
  std::int64_t to = 1;
  for (int i = selection.axis_count - 1; i >= 0; --i) {
    selection.axes[i].to = to;
    to *= selection.axes[i].length;
  }
  return selection;
}

}  // namespace capstan
