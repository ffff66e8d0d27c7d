// Files of torch.save: an archive with a pickle, and the elements of each storage as a member.
//
// A tensor is a call in the pickle, of _rebuild_tensor_v2(storage, offset, size, stride, ...); tensors may be views of
// one storage.
#include <algorithm>
#include <cstring>
#include <optional>

#include "capstan/torch_files.h"
#include "src/io/pickle.h"
#include "src/io/raw_array.h"
#include "src/io/tensor_list.h"
#include "src/io/zip_archive.h"

namespace capstan::io {
namespace {

using Kind = PickleValue::Kind;
using Items = std::vector<std::size_t>;

constexpr const char* kReader = "load_torch";
constexpr int kDeepest = 64;  // containers within containers

struct StorageType {
  std::string_view name;
  const char* dtype;  // as in tensor_list.h
  std::int64_t size;
};
constexpr StorageType kStorages[] = {
    {"torch FloatStorage", "F32", 4},        {"torch DoubleStorage", "F64", 8},
    {"torch HalfStorage", "F16", 2},         {"torch BFloat16Storage", "BF16", 2},
    {"torch LongStorage", "I64", 8},         {"torch IntStorage", "I32", 4},
    {"torch ShortStorage", "I16", 2},        {"torch CharStorage", "I8", 1},
    {"torch ByteStorage", "U8", 1},          {"torch BoolStorage", "BOOL", 1},
    {"torch ComplexFloatStorage", "C64", 8}, {"torch ComplexDoubleStorage", "C128", 16}};

class TorchReader {
 public:
  explicit TorchReader(const std::string& path)
      : archive_(kReader, path, "give the path of a file made by torch.save with PyTorch 1.6 or later"),
        file_{NamedArrays(path, kReader)},
        path_(path) {}

  TorchFile read() {
    find_members();
    const std::unique_ptr<ByteSource> source = archive_.open(pickle_number_);
    const std::vector<std::byte> bytes = read_exactly(*source, source->most_bytes(), "the pickle");
    source_ = source.get();
    pickle_ = parse_pickle(*source, bytes);
    // Values that are shared are under several names; a file may not make more of them than it has bytes.
    left_values_ = bytes.size();
    // Storages and tensors, both perhaps in a wider type.
    left_bytes_ = (64 << 20) + 4 * open_plain_file(kReader, path_)->most_bytes();
    flatten("", pickle_.result, 0);
    archive_.check_headers();
    return std::move(file_);
  }

 private:
  void find_members() {
    std::optional<std::string> folder;
    for (std::size_t i = 0; i < archive_.names().size(); ++i) {
      const std::string& name = archive_.names()[i];
      if (!name.ends_with("/data.pkl")) continue;
      if (folder) archive_.open(i)->fail("the archive holds a second pickle");
      folder = name.substr(0, name.size() - 8);
      pickle_number_ = i;
    }
    if (!folder) {
      fail_file(kReader, "the archive has no data.pkl, so it is not one of torch.save", path_);
    }
    for (std::size_t i = 0; i < archive_.names().size(); ++i) {
      const std::string& name = archive_.names()[i];
      if (name == *folder + "byteorder") {
        const std::unique_ptr<ByteSource> source = archive_.open(i);
        const std::vector<std::byte> order = read_exactly(*source, source->most_bytes(), "the order of bytes");
        if (std::string_view(reinterpret_cast<const char*>(order.data()), order.size()) != "little") {
          source->fail("the order of bytes is not \"little\"", "save it on a little-endian machine");
        }
      }
      if (!name.starts_with(*folder + "data/")) continue;
      if (!storages_.emplace(name.substr(folder->size() + 5), i).second) {
        archive_.open(i)->fail("the archive holds this member twice", kFetchAgain);
      }
    }
  }

  const PickleValue& value(std::size_t number) const { return pickle_.values[number]; }
  [[noreturn]] void fail(const std::string& problem) const { source_->fail(problem); }

  // --- Tensors ---

  std::int64_t integer(std::size_t number, const char* what) const {
    if (value(number).kind != Kind::kInt) fail(std::string(what) + " of a tensor is no integer");
    return value(number).integer;
  }
  std::vector<std::int64_t> integers(std::size_t number, const char* what) const {
    if (value(number).kind != Kind::kTuple) fail(std::string(what) + " of a tensor is no tuple");
    std::vector<std::int64_t> result;
    for (const std::size_t item : value(number).items) result.push_back(integer(item, what));
    return result;
  }

  // The elements of a storage, as a tensor of rank 1.
  const Tensor& storage(std::size_t number) {
    const PickleValue& outside = value(number);
    if (outside.kind != Kind::kOutside) fail("the elements of a tensor are no storage");
    const PickleValue& name = value(outside.items[0]);
    // ("storage", type, key, where it was, number of elements)
    if (name.kind != Kind::kTuple || name.items.size() != 5 || value(name.items[0]).text != "storage" ||
        value(name.items[2]).kind != Kind::kText) {
      fail("a storage is named in an unknown way");
    }
    const std::string& type_name = value(name.items[1]).text;
    const auto* const type = std::find_if(std::begin(kStorages), std::end(kStorages),
                                          [&](const StorageType& one) { return one.name == type_name; });
    if (type == std::end(kStorages)) fail("the type " + in_quotes(type_name) + " of a storage is not supported");
    const std::string& key = value(name.items[2]).text;
    const auto loaded = loaded_.find({key, type->dtype});
    if (loaded != loaded_.end()) return loaded->second;
    const auto member = storages_.find(key);
    if (member == storages_.end()) fail("there is no member with the elements of storage " + in_quotes(key));
    const std::unique_ptr<ByteSource> elements = archive_.open(member->second);
    const std::int64_t count = integer(name.items[4], "the number of elements");
    const ListedTensor listed{"storage " + key, type->dtype, {count}, 0, elements->most_bytes(), {}};
    if (count < 0 || count != static_cast<std::int64_t>(elements->most_bytes()) / type->size) {
      elements->fail("the storage has " + std::to_string(elements->most_bytes()) + " bytes, not those of " +
                     std::to_string(count) + " elements");
    }
    check_listed(*elements, listed);
    take_memory(listed.end);
    Tensor tensor = read_listed(*elements, listed);
    expect_end(*elements);
    return loaded_.emplace(std::pair(key, std::string(type->dtype)), std::move(tensor)).first->second;
  }

  // _rebuild_tensor_v2(storage, offset, size, stride, ...)
  Tensor tensor(const Items& arguments) {
    if (arguments.size() < 4) fail("a tensor has " + std::to_string(arguments.size()) + " arguments, expected 6");
    const Tensor& elements = storage(arguments[0]);
    const std::int64_t offset = integer(arguments[1], "the offset");
    const std::vector<std::int64_t> lengths = integers(arguments[2], "the size");
    const std::vector<std::int64_t> strides = integers(arguments[3], "the stride");
    if (lengths.size() > kMaxRank || strides.size() != lengths.size()) {
      fail("a tensor has " + std::to_string(lengths.size()) + " lengths and " + std::to_string(strides.size()) +
           " strides, expected at most 8 of both");
    }
    const std::optional<std::int64_t> count = checked_count(lengths);
    const auto element_size = static_cast<std::uint64_t>(size_of(elements.dtype()));
    // More than 2^62 bytes are more than anything that is left.
    take_memory(!count || *count > std::int64_t{1} << 58 ? left_bytes_ + 1
                                                         : static_cast<std::uint64_t>(*count) * element_size);
    check_reach(offset, lengths, strides, *count, elements.size());
    std::vector<std::byte> bytes(static_cast<std::size_t>(*count) * element_size);
    if (*count > 0) gather(elements, offset, lengths, strides, bytes);
    if (arguments.size() > 6 && value(arguments[6]).kind != Kind::kNone)
      apply_marks(arguments[6], elements.dtype(), bytes);
    return detail::copy_of(bytes.data(), *count, elements.dtype(), Shape(std::span<const std::int64_t>(lengths)));
  }

  // What is stored may be the conjugate of the tensor, or its negative: conj() and views of its parts only mark it.
  void apply_marks(std::size_t number, DType dtype, std::span<std::byte> bytes) const {
    const PickleValue& marks = value(number);
    if (marks.kind != Kind::kMap) fail("the marks of a tensor are no dictionary");
    for (std::size_t i = 0; i + 1 < marks.items.size(); i += 2) {
      const std::string& mark = value(marks.items[i]).text;
      if (value(marks.items[i + 1]).integer == 0) continue;
      const bool is_conj = mark == "conj";
      if (is_conj ? !is_complex(dtype) : mark != "neg" || is_integer(dtype) || dtype == DType::kBool) {
        fail("a tensor of " + std::string(name_of(dtype)) + " is marked as " + in_quotes(mark));
      }
      // The sign is the highest bit: of each number, or of each imaginary part.
      const std::size_t size = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
      for (std::size_t at = is_conj ? size : 0; at < bytes.size(); at += is_conj ? 2 * size : size) {
        bytes[at + size - 1] ^= std::byte{0x80};
      }
    }
  }

  void take_memory(std::uint64_t bytes) {
    if (bytes > left_bytes_) fail("the tensors take more memory than a file of this size can ask for");
    left_bytes_ -= bytes;
  }

  // The last element has to be one of the storage.
  void check_reach(std::int64_t offset, const std::vector<std::int64_t>& lengths,
                   const std::vector<std::int64_t>& strides, std::int64_t count, std::int64_t size) const {
    std::int64_t last = offset;
    bool is_inside = offset >= 0 && offset <= size;
    for (std::size_t i = 0; is_inside && count > 0 && i < lengths.size(); ++i) {
      is_inside = strides[i] >= 0 && (lengths[i] == 1 || strides[i] <= (size - last) / (lengths[i] - 1));
      if (is_inside) last += strides[i] * (lengths[i] - 1);
    }
    if (!is_inside || (count > 0 && last >= size)) {
      fail("a tensor reaches beyond its storage of " + std::to_string(size) + " elements");
    }
  }

  static void gather(const Tensor& elements, std::int64_t offset, const std::vector<std::int64_t>& lengths,
                     const std::vector<std::int64_t>& strides, std::span<std::byte> out) {
    const std::size_t size = size_of(elements.dtype());
    const auto* const from = static_cast<const std::byte*>(elements.raw_data());
    // Axes at the end that lie as in the result are copied at once.
    std::size_t axes = lengths.size();
    std::int64_t run = 1;
    while (axes > 0 && (strides[axes - 1] == run || lengths[axes - 1] == 1)) run *= lengths[--axes];
    std::vector<std::int64_t> index(axes, 0);
    std::int64_t at = offset;
    for (std::size_t done = 0; done < out.size();) {
      const std::size_t bytes = static_cast<std::size_t>(run) * size;
      std::memcpy(out.data() + done, from + static_cast<std::size_t>(at) * size, bytes);
      done += bytes;
      for (std::size_t i = axes; i-- > 0;) {
        at += strides[i];
        if (++index[i] < lengths[i]) break;
        at -= strides[i] * lengths[i];
        index[i] = 0;
      }
    }
  }

  // --- Structures ---

  void flatten(const std::string& name, std::size_t number, int depth) {
    if (depth > kDeepest) fail("containers stand in each other more than " + std::to_string(kDeepest) + " deep");
    if (left_values_-- == 0) fail("it has more values than bytes");
    const PickleValue& one = value(number);
    switch (one.kind) {
      case Kind::kCall:
        flatten_call(name, one, depth);
        return;
      case Kind::kMap:
        flatten_map(name, one.items, 0, depth);
        return;
      case Kind::kList:
      case Kind::kTuple:
        if (!is_plain(one)) {
          for (std::size_t i = 0; i < one.items.size(); ++i)
            flatten(join(name, std::to_string(i)), one.items[i], depth + 1);
          return;
        }
        break;
      case Kind::kName:
        refuse(one.text);
      case Kind::kOutside:
        fail("a storage stands where a value should");
      default:
        break;
    }
    put(file_.values, name, plain(one));
  }

  void flatten_call(const std::string& name, const PickleValue& call, int depth) {
    const std::string& function = value(call.items[0]).text;
    const Items& arguments = value(call.items[1]).items;
    if (function == "torch._utils _rebuild_tensor_v2") {
      put(file_.tensors, name, tensor(arguments));
    } else if (function == "torch._utils _rebuild_parameter" && !arguments.empty()) {
      flatten(name, arguments[0], depth + 1);
    } else if (function == "collections OrderedDict" && arguments.empty()) {
      flatten_map(name, call.items, 2, depth);
    } else if (function == "torch Size" && arguments.size() == 1) {
      flatten(name, arguments[0], depth + 1);
    } else {
      refuse(function);
    }
  }

  void flatten_map(const std::string& name, const Items& items, std::size_t begin, int depth) {
    for (std::size_t i = begin; i + 1 < items.size(); i += 2) {
      const PickleValue& key = value(items[i]);
      if (key.kind != Kind::kText && key.kind != Kind::kInt) fail("a key of a dictionary is no text and no integer");
      flatten(join(name, key.kind == Kind::kText ? key.text : std::to_string(key.integer)), items[i + 1], depth + 1);
    }
  }

  [[noreturn]] void refuse(const std::string& name) const {
    std::string shown = name;
    std::replace(shown.begin(), shown.end(), ' ', '.');
    source_->fail(
        "it names " + in_quotes(shown) + ", which is neither a tensor nor a plain container; nothing of it is run",
        "save model.state_dict() alone");
  }

  static std::string join(const std::string& name, const std::string& key) {
    return name.empty() ? key : name + "." + key;
  }

  template <class Map, class Value>
  void put(Map& map, const std::string& name, Value one) {
    const bool is_new = !file_.tensors.contains(name) && !file_.values.contains(name);
    if (!is_new) fail("two values stand at " + in_quotes(name));
    map.emplace(name, std::move(one));
  }

  static bool is_scalar(Kind kind) {
    return kind == Kind::kNone || kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kFloat ||
           kind == Kind::kText;
  }
  bool is_plain(const PickleValue& list) const {
    return std::all_of(list.items.begin(), list.items.end(),
                       [&](std::size_t item) { return is_scalar(value(item).kind); });
  }
  AttributeValue plain(const PickleValue& one) {
    switch (one.kind) {
      case Kind::kBool: {
        AttributeValue result(one.integer != 0);
        return result;
      }
      case Kind::kInt:
        return one.integer;
      case Kind::kFloat:
        return one.number;
      case Kind::kText:
        return one.text;
      case Kind::kList:
      case Kind::kTuple: {
        std::vector<AttributeValue> list;
        for (const std::size_t item : one.items) {
          if (left_values_-- == 0) fail("it has more values than bytes");
          list.push_back(plain(value(item)));
        }
        return list;
      }
      default:
        return {};
    }
  }

  ZipArchive archive_;
  TorchFile file_;
  std::string path_;
  std::size_t pickle_number_ = 0;
  std::map<std::string, std::size_t> storages_;  // members by key
  const ByteSource* source_ = nullptr;
  Pickle pickle_;
  std::map<std::pair<std::string, std::string>, Tensor> loaded_;
  std::uint64_t left_values_ = 0, left_bytes_ = 0;
};

}  // namespace

TorchFile load_torch(const std::string& path) { return TorchReader(path).read(); }

}  // namespace capstan::io
