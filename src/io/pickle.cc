#include "src/io/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "src/core/utf8.h"

namespace capstan::io {
namespace {

using Kind = PickleValue::Kind;

class Machine {
 public:
  Machine(const ByteSource& source, std::span<const std::byte> bytes) : source_(source), bytes_(bytes) {}

  Pickle run() {
    if (take(1, "the first byte")[0] != '\x80') fail("no pickle begins like this; expected protocol 2 or later");
    const std::uint64_t protocol = number(1);
    if (protocol < 2 || protocol > 5) fail("protocol " + std::to_string(protocol) + " is not supported");
    for (;;) {
      const std::size_t place = at_;
      const char code = take(1, "an instruction")[0];
      if (code == '.') {
        pickle_.result = pop();
        return std::move(pickle_);
      }
      if (!makes_value(code) && !uses_memo(code) && !uses_stack(code)) {
        at_ = place;
        fail("instruction " + std::to_string(static_cast<unsigned char>(code)) + " is not supported");
      }
    }
  }

 private:
  static constexpr std::size_t kMark = ~std::size_t{0};
  static constexpr std::int64_t kShared = std::int64_t{1} << 17;

  [[noreturn]] void fail(const std::string& problem) const {
    source_.fail("byte " + std::to_string(at_) + ": " + problem);
  }

  std::string_view take(std::uint64_t size, const char* what) {
    if (size > bytes_.size() - at_) fail(std::string("the pickle ends within ") + what);
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return taken;
  }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(size, "a number").data(), size);
    return value;
  }
  std::string text(std::uint64_t size) {
    const std::string_view taken = take(size, "a text");
    if (!utf8::is_valid(taken)) fail("a text is no UTF-8");
    return std::string(taken);
  }
  std::string line() {
    const char* const begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const void* const end = bytes_.size() > at_ ? std::memchr(begin, '\n', bytes_.size() - at_) : nullptr;
    if (end == nullptr) fail("the pickle ends within a name");
    std::string result = text(static_cast<std::uint64_t>(static_cast<const char*>(end) - begin));
    ++at_;
    return result;
  }

  std::size_t add(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    return pickle_.values.size() - 1;
  }
  void push(PickleValue value) { stack_.push_back(add(std::move(value))); }
  // Nothing changes an integer, so one value may stand for many.
  void push_integer(std::int64_t value) {
    if (value < 0 || value >= kShared) return push({.kind = Kind::kInt, .integer = value});
    const auto place = static_cast<std::size_t>(value);
    if (place >= shared_.size()) shared_.resize(std::max(place + 1, 2 * shared_.size()), kMark);
    if (shared_[place] == kMark) shared_[place] = add({.kind = Kind::kInt, .integer = value});
    stack_.push_back(shared_[place]);
  }
  std::size_t pop() {
    if (stack_.empty() || stack_.back() == kMark) fail("the stack is empty");
    const std::size_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  // What is above the last mark, which goes.
  std::vector<std::size_t> pop_to_mark() {
    std::size_t begin = stack_.size();
    while (begin > 0 && stack_[begin - 1] != kMark) --begin;
    if (begin == 0) fail("there is no mark on the stack");
    std::vector<std::size_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin - 1);
    return items;
  }
  // A container below what is put into it.
  PickleValue& top(Kind kind, const char* what) {
    if (stack_.empty() || stack_.back() == kMark) fail("the stack is empty");
    PickleValue& value = pickle_.values[stack_.back()];
    // A call may give a dictionary, as that of OrderedDict does; its items are after its own.
    if (value.kind != kind && !(kind == Kind::kMap && value.kind == Kind::kCall)) {
      fail(std::string("items are put into what is no ") + what);
    }
    return value;
  }
  void put_items(Kind kind, const char* what, const std::vector<std::size_t>& items) {
    PickleValue& value = top(kind, what);
    value.items.insert(value.items.end(), items.begin(), items.end());
  }
  void push_tuple(std::size_t size) {
    PickleValue tuple{.kind = Kind::kTuple, .items = std::vector<std::size_t>(size)};
    for (std::size_t i = size; i-- > 0;) tuple.items[i] = pop();
    push(std::move(tuple));
  }

  bool makes_value(char code) {
    switch (code) {
      case 'N':
        push({});
        return true;
      case '\x88':
      case '\x89':
        push({.kind = Kind::kBool, .integer = code == '\x88'});
        return true;
      case 'K':
        push_integer(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':
        push_integer(static_cast<std::int64_t>(number(2)));
        return true;
      case 'J':
        push_integer(static_cast<std::int32_t>(number(4)));
        return true;
      case '\x8a': {
        // Little-endian, with the sign in the last bit.
        const std::uint64_t size = number(1);
        if (size > 8) fail("an integer of " + std::to_string(size) + " bytes does not fit into int64");
        std::uint64_t value = size == 0 ? 0 : number(size);
        if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) value |= ~std::uint64_t{0} << 8 * size;
        push({.kind = Kind::kInt, .integer = static_cast<std::int64_t>(value)});
        return true;
      }
      case 'G': {
        std::uint64_t bits = 0;  // big-endian
        for (const char byte : take(8, "a number")) bits = bits << 8 | static_cast<unsigned char>(byte);
        push({.kind = Kind::kFloat, .number = std::bit_cast<double>(bits)});
        return true;
      }
      case '\x8c':
        push({.kind = Kind::kText, .text = text(number(1))});
        return true;
      case 'X':
        push({.kind = Kind::kText, .text = text(number(4))});
        return true;
      case '\x8d':
        push({.kind = Kind::kText, .text = text(number(8))});
        return true;
      case 'C':
      case 'U':
        push({.kind = Kind::kBytes, .text = std::string(take(number(1), "bytes"))});
        return true;
      case 'B':
      case 'T':
        push({.kind = Kind::kBytes, .text = std::string(take(number(4), "bytes"))});
        return true;
      case '}':
        push({.kind = Kind::kMap});
        return true;
      case ']':
        push({.kind = Kind::kList});
        return true;
      case ')':
        push({.kind = Kind::kTuple});
        return true;
      case 'c': {
        const std::string module = line();
        push({.kind = Kind::kName, .text = module + " " + line()});
        return true;
      }
      default:
        return false;
    }
  }

  void remember(std::uint64_t key) {
    if (stack_.empty() || stack_.back() == kMark) fail("there is nothing to remember");
    memo_[key] = stack_.back();
  }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("nothing is remembered under number " + std::to_string(key));
    stack_.push_back(found->second);
  }

  bool uses_memo(char code) {
    switch (code) {
      case 'q':
        remember(number(1));
        return true;
      case 'r':
        remember(number(4));
        return true;
      case '\x94':
        remember(memo_.size());
        return true;
      case 'h':
        recall(number(1));
        return true;
      case 'j':
        recall(number(4));
        return true;
      default:
        return false;
    }
  }

  bool uses_stack(char code) {
    switch (code) {
      case '\x95':  // the length of a part, which only helps those who read from a stream
        number(8);
        return true;
      case '(':
        stack_.push_back(kMark);
        return true;
      case '0':
        pop();
        return true;
      case '1':
        pop_to_mark();
        return true;
      case 't':
        push({.kind = Kind::kTuple, .items = pop_to_mark()});
        return true;
      case 'l':
        push({.kind = Kind::kList, .items = pop_to_mark()});
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        push_tuple(static_cast<std::size_t>(static_cast<unsigned char>(code)) - 0x84);
        return true;
      case 'a': {
        const std::size_t item = pop();
        put_items(Kind::kList, "list", {item});
        return true;
      }
      case 'e':
        put_items(Kind::kList, "list", pop_to_mark());
        return true;
      case 's': {
        const std::size_t value = pop(), key = pop();
        put_items(Kind::kMap, "dictionary", {key, value});
        return true;
      }
      case 'u':
      case 'd': {
        const std::vector<std::size_t> items = pop_to_mark();
        if (items.size() % 2 != 0) fail("a key of a dictionary has no value");
        if (code == 'd') push({.kind = Kind::kMap});
        put_items(Kind::kMap, "dictionary", items);
        return true;
      }
      case '\x93': {
        const std::size_t name = pop(), module = pop();
        const PickleValue &n = pickle_.values[name], &m = pickle_.values[module];
        if (n.kind != Kind::kText || m.kind != Kind::kText) fail("a name is no text");
        push({.kind = Kind::kName, .text = m.text + " " + n.text});
        return true;
      }
      case 'R': {
        const std::size_t arguments = pop(), function = pop();
        if (pickle_.values[function].kind != Kind::kName) fail("what is called is no name");
        if (pickle_.values[arguments].kind != Kind::kTuple) fail("the arguments of a call are no tuple");
        push({.kind = Kind::kCall, .items = {function, arguments}});
        return true;
      }
      case 'b': {
        const std::size_t state = pop();
        PickleValue& object = top(Kind::kMap, "object");
        if (object.kind != Kind::kCall) fail("a plain value gets a state");
        object.state = state;
        return true;
      }
      case 'Q': {
        const std::size_t name = pop();
        push({.kind = Kind::kOutside, .items = {name}});
        return true;
      }
      default:
        return false;
    }
  }

  const ByteSource& source_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  Pickle pickle_;
  std::vector<std::size_t> stack_;
  std::map<std::uint64_t, std::size_t> memo_;
  std::vector<std::size_t> shared_;  // small integers, by their values
};

}  // namespace

Pickle parse_pickle(const ByteSource& source, std::span<const std::byte> bytes) { return Machine(source, bytes).run(); }

}  // namespace capstan::io
