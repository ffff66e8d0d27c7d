// Elements in files: cache(path), snapshot(), save() and load().
//
// A file is there as a whole or not at all. The first pass writes a draft, which takes its place at the end; a pass
// that finds a file reads it and never opens its input.
//
// A position of a pass that reads is a number of elements. One of a pass that writes names the draft, which stays from
// then on, and how many elements it had. Whoever goes on from there copies so much of it to a draft of its own: the one
// that is named may grow on, and others may go on from the same position. If it is gone, the pass goes on without
// writing, and a later one writes the file. To hold the elements in the position, as that of the cache in memory does,
// was rejected: a file is for elements that memory does not hold.
//
// A snapshot of several files, its shards, is a list of them under the name that one file would have: it is there once
// they all are. Their names have a number of the pass that wrote them, so that those of two passes never mix. Element i
// is in shard i modulo their number, which is the order of interleave().
#include <algorithm>
#include <filesystem>

#include "capstan/error.h"
#include "src/data/stage.h"
#include "src/io/element_file.h"

namespace capstan::detail {

namespace {

namespace fs = std::filesystem;
using Reader = io::ElementReader;

struct ElementFile {
  const char* name;  // of the transformation
  std::string path;
  PartKinds kinds;
  bool makes_folder = false;
  std::int64_t shards = 1;  // that are written; how many are read the file says
};
using ElementFilePtr = std::shared_ptr<const ElementFile>;

constexpr const char* kTensorKind = "Tensor";
constexpr std::int64_t kMostShards = 256;

// The list of shards has one element: a tensor of the pass, the number of shards, and that of their elements.
const PartKinds kShardKinds = {"capstan.shards"};

std::string shard_path(const std::string& list, std::int64_t pass, std::int64_t shard, std::int64_t shards) {
  const fs::path path(list);
  std::string name = path.stem().string();
  for (const std::int64_t number : {pass, shard}) name += "-" + std::to_string(number);
  return (path.parent_path() / (name + "-of-" + std::to_string(shards) + path.extension().string())).string();
}

std::int64_t elements_of_shard(std::int64_t all, std::int64_t shard, std::int64_t shards) {
  return all / shards + (shard < all % shards ? 1 : 0);
}

std::optional<DType> dtype_of_kind(std::string_view kind) {
  for (int i = 0; i < kDTypes; ++i) {
    if (name_of(static_cast<DType>(i)) == kind) return static_cast<DType>(i);
  }
  return {};
}

// A number is a scalar, so it may be read as a tensor; whether a tensor is that number, its element tells.
bool may_be(const std::string& kind, const std::string& found) {
  if (kind == found) return true;
  if (kind == kTensorKind) return dtype_of_kind(found).has_value();
  return found == kTensorKind && dtype_of_kind(kind).has_value();
}

std::string list_of_kinds(const PartKinds& kinds) {
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
  return "(" + text + ")";
}

void check_kinds(const ElementFile& file, const Reader& reader) {
  const PartKinds& found = reader.kinds();
  if (!std::equal(file.kinds.begin(), file.kinds.end(), found.begin(), found.end(), may_be)) {
    reader.source().fail("the parts of its elements are " + list_of_kinds(found) + ", not " +
                         list_of_kinds(file.kinds));
  }
}

std::unique_ptr<Reader> open_reader(const ElementFile& file, const std::string& path, Reader::Form form) {
  auto reader = std::make_unique<Reader>(file.name, path, form);
  check_kinds(file, *reader);
  return reader;
}

std::unique_ptr<Reader> open_whole(const ElementFile& file) {
  return open_reader(file, file.path, Reader::Form::kWhole);
}

void check_types(const ElementFile& file, PartTypes types) {
  for (const PartType* type : types) {
    CAPSTAN_CHECK(type->save != nullptr && type->restore != nullptr, ValueError, file.name, ": elements of ",
                  type->name, " cannot be written",
                  help("specialise DatasetTraits for this type, with save() and restore()"));
  }
}

// The elements of a file that is whole.
class FileElements {
 public:
  FileElements(const ElementFile& file, std::unique_ptr<Reader> reader) : file_(file), reader_(std::move(reader)) {}

  bool next(PartTypes types, Part* element) {
    if (!reader_->next(tensors_)) return false;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::optional<DType> number = dtype_of_kind(file_.kinds[i]);
      if (number && (tensors_[i].size() != 1 || tensors_[i][0].rank() != 0 || tensors_[i][0].dtype() != *number)) {
        reader_->fail_last("part " + std::to_string(i) + " is no " + file_.kinds[i]);
      }
      try {
        element[i] = types[i]->restore(tensors_[i]);
      } catch (const ValueError&) {
        reader_->fail_last("part " + std::to_string(i) + " is no " + std::string(types[i]->name));
      }
    }
    ++at_;
    return true;
  }

  void save(PositionWriter& position) const { position.number("at", at_); }
  void restore(PositionReader& position) {
    const std::int64_t at = position.number("at", 0, reader_->count());
    reader_ = open_whole(file_);
    at_ = at;
    if (!reader_->skip(at)) position.refuse("at");
  }

 private:
  const ElementFile& file_;
  std::unique_ptr<Reader> reader_;
  std::vector<io::ElementPart> tensors_;
  std::int64_t at_ = 0;
};

class SavedCursor : public DatasetCursor {
 public:
  SavedCursor(PartTypes element, ElementFilePtr file, std::unique_ptr<Reader> reader)
      : DatasetCursor(element), file_(std::move(file)), elements_(*file_, std::move(reader)) {}
  const char* name() const override { return file_->name; }
  bool read_next(Part* element) override { return elements_.next(types, element); }
  void save(PositionWriter& position) override { elements_.save(position); }
  void restore(PositionReader& position) override { elements_.restore(position); }

 private:
  ElementFilePtr file_;
  FileElements elements_;
};

// The elements of one file.
class SavedNode : public DatasetNode {
 public:
  SavedNode(PartTypes element, ElementFilePtr file, std::int64_t count)
      : DatasetNode(element), file_(std::move(file)), count_(count) {}
  std::int64_t cardinality() const override { return count_; }
  DatasetCursorPtr open() const override { return std::make_unique<SavedCursor>(types, file_, open_whole(*file_)); }

 private:
  ElementFilePtr file_;
  std::int64_t count_;
};

// The elements of the shards that a list names, all of which have to be there.
DatasetNodePtr shards_of(PartTypes types, const ElementFile& file, Reader& list) {
  std::vector<io::ElementPart> parts;
  const bool has_numbers = list.count() == 1 && list.next(parts) && parts[0].size() == 1 &&
                           parts[0][0].dtype() == int64 && parts[0][0].shape() == Shape{3};
  const std::vector<std::int64_t> numbers =
      has_numbers ? parts[0][0].to_vector<std::int64_t>() : std::vector<std::int64_t>{0, 0, 0};
  const std::int64_t pass = numbers[0], shards = numbers[1], all = numbers[2];
  if (pass < 0 || shards < 1 || shards > kMostShards || all < 0) list.source().fail("it is no list of shards");
  std::vector<DatasetNodePtr> nodes;
  for (std::int64_t i = 0; i < shards; ++i) {
    auto shard =
        std::make_shared<const ElementFile>(ElementFile{file.name, shard_path(file.path, pass, i, shards), file.kinds});
    const auto reader = open_whole(*shard);
    const std::int64_t count = elements_of_shard(all, i, shards);
    if (reader->count() != count) {
      reader->source().fail("it has " + std::to_string(reader->count()) + " elements, and " + std::to_string(count) +
                            " as a shard of " + io::in_quotes(fs::path(file.path).filename().string()));
    }
    nodes.push_back(std::make_shared<SavedNode>(types, std::move(shard), count));
  }
  const PartTypes numbers_type = part_types<std::int64_t>();
  PartDataset open = [nodes = std::move(nodes)](const Part* number) {
    return nodes[static_cast<std::size_t>(from_part<std::int64_t>(*number))];
  };
  DatasetNodePtr in_turn =
      interleaved(file.name, types, range_of(numbers_type, 0, shards, 1), std::move(open), shards, 1, kAutotune, true);
  return with_cardinality(std::move(in_turn), all);
}

DatasetCursorPtr open_file_or_shards(PartTypes types, const ElementFilePtr& file) {
  auto reader = std::make_unique<Reader>(file->name, file->path, Reader::Form::kWhole);
  if (reader->kinds() == kShardKinds) return shards_of(types, *file, *reader)->open();
  check_kinds(*file, *reader);
  return std::make_unique<SavedCursor>(types, file, std::move(reader));
}

// The elements of a pass on their way into a file, or into shards and their list.
class FileCopy {
 public:
  explicit FileCopy(const ElementFile& file) : file_(file) {
    std::error_code none;  // a folder that cannot be made is an error of the file
    if (file.makes_folder) fs::create_directories(fs::path(file.path).parent_path(), none);
    if (file.shards == 1) {
      writers_.push_back(std::make_unique<io::ElementWriter>(file.name, file.path, file.kinds));
      return;
    }
    list_ = std::make_unique<io::ElementWriter>(file.name, file.path, kShardKinds);
    for (std::int64_t i = 0; i < file.shards; ++i) {
      writers_.push_back(std::make_unique<io::ElementWriter>(file.name, path_of(pass(), i), file.kinds));
    }
  }

  void add(PartTypes types, const Part* element) {
    tensors_.resize(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      tensors_[i] = types[i]->save(element[i]);
      for (Tensor& tensor : tensors_[i]) tensor = kTensorPart.save({tensor, nullptr})[0];
    }
    const auto turn = static_cast<std::size_t>(count_++ % file_.shards);
    writers_[turn]->add(tensors_);
  }

  // Unless another pass has been faster.
  void finish() {
    drop();
    std::error_code none;
    if (!fs::exists(file_.path, none)) replace();
    writers_.clear();
    list_.reset();
    for (const std::string& origin : origins_) fs::remove(origin, none);
  }
  void replace() {
    std::int64_t finished = 0;
    try {
      for (const auto& writer : writers_) {
        writer->finish();
        ++finished;
      }
      if (list_ == nullptr) return;
      const io::ElementPart numbers = {numbers_as_tensor({pass(), file_.shards, count_})};
      list_->add({&numbers, 1});
      list_->finish();
    } catch (...) {
      // Shards without a list are nobody's.
      std::error_code none;
      for (std::int64_t i = 0; list_ != nullptr && i < finished; ++i) fs::remove(path_of(pass(), i), none);
      throw;
    }
  }
  void drop() {
    for (const auto& writer : writers_) writer->draft().keep(false);
  }

  void save(PositionWriter& position) {
    std::vector<std::int64_t> draft;
    if (list_ != nullptr) draft.push_back(pass());
    for (const auto& writer : writers_) {
      writer->flush();
      draft.insert(draft.end(), {writer->draft().mark(), writer->count()});
    }
    for (const auto& writer : writers_) writer->draft().keep(true);
    position.numbers("draft", draft);
  }
  static bool has_numbers_for(const ElementFile& file, const std::vector<std::int64_t>& draft) {
    return static_cast<std::int64_t>(draft.size()) == 2 * file.shards + (file.shards > 1 ? 1 : 0);
  }
  // Copies what these drafts of another pass had. False if one has not as much, or is gone.
  bool take_over(const std::vector<std::int64_t>& draft) {
    const std::size_t first = draft.size() % 2;
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      const std::int64_t mark = draft[first + 2 * i], count = draft[first + 2 * i + 1];
      const std::string target = path_of(first == 1 ? draft[0] : 0, static_cast<std::int64_t>(i));
      if (!copy_draft(io::FileDraft::path_of(target, mark), count, *writers_[i])) return false;
      count_ += count;
    }
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      if (writers_[i]->count() != elements_of_shard(count_, static_cast<std::int64_t>(i), file_.shards)) return false;
    }
    return true;
  }

 private:
  std::int64_t pass() const { return list_->draft().mark(); }
  std::string path_of(std::int64_t pass, std::int64_t shard) const {
    return file_.shards == 1 ? file_.path : shard_path(file_.path, pass, shard, file_.shards);
  }
  bool copy_draft(const std::string& path, std::int64_t count, io::ElementWriter& writer) {
    try {
      const auto reader = open_reader(file_, path, Reader::Form::kDraft);
      while (writer.count() < count) {
        std::int64_t elements = 0;
        const std::optional<std::string_view> block = reader->next_block(&elements);
        if (!block || elements > count - writer.count()) return false;
        writer.add_block(*block, elements);
      }
      origins_.push_back(path);
      return true;
    } catch (const IoError&) {
      return false;
    }
  }

  const ElementFile& file_;
  std::unique_ptr<io::ElementWriter> list_;  // of several shards
  std::vector<std::unique_ptr<io::ElementWriter>> writers_;
  std::vector<io::ElementPart> tensors_;
  std::int64_t count_ = 0;            // elements
  std::vector<std::string> origins_;  // the drafts that this one began with
};

class FileCacheCursor : public DatasetCursor {
 public:
  FileCacheCursor(DatasetNodePtr from, ElementFilePtr file)
      : DatasetCursor(from->types), from_(std::move(from)), file_(std::move(file)) {
    std::error_code none;
    if (fs::exists(file_->path, none)) {
      elements_ = open_file_or_shards(types, file_);
    } else {
      input_ = from_->open();  // a pass that is not read draws no seeds
    }
  }
  const char* name() const override { return file_->name; }

  bool read_next(Part* element) override {
    if (elements_ != nullptr) return elements_->next(element);
    bool found = false;
    try {
      found = input_->next(element);
      if (is_writing_ && !copy_) copy_.emplace(*file_);
      if (is_writing_ && found) copy_->add(types, element);
    } catch (...) {
      // A pass with an error is not whole.
      stop_writing();
      throw;
    }
    if (found || !is_writing_) return found;
    is_writing_ = false;
    copy_->finish();
    copy_.reset();
    return false;
  }

  void save(PositionWriter& position) override {
    position.number("is_read", elements_ != nullptr ? 1 : 0);
    if (elements_ != nullptr) return elements_->save(position);
    position.number("is_written", is_writing_ ? 1 : 0);
    if (copy_) {
      try {
        copy_->save(position);
      } catch (...) {
        stop_writing();
        throw;
      }
    } else {
      position.numbers("draft", {});
    }
    position.stage(*input_);
  }
  void restore(PositionReader& position) override {
    stop_writing();
    if (position.flag("is_read")) {
      input_ = nullptr;
      elements_ = open_file_or_shards(types, file_);
      return elements_->restore(position);
    }
    elements_ = nullptr;
    if (input_ == nullptr) input_ = from_->open();
    is_writing_ = position.flag("is_written");
    const std::vector<std::int64_t> draft = position.numbers("draft", 0);
    if (!draft.empty()) {
      if (!FileCopy::has_numbers_for(*file_, draft) || !is_writing_) position.refuse("draft");
      copy_.emplace(*file_);
      if (!copy_->take_over(draft)) stop_writing();
    }
    position.stage(*input_);
  }

 private:
  void stop_writing() {
    is_writing_ = false;
    if (copy_) copy_->drop();
    copy_.reset();
  }

  DatasetNodePtr from_;
  ElementFilePtr file_;
  DatasetCursorPtr input_;
  DatasetCursorPtr elements_;  // of the file that was there
  std::optional<FileCopy> copy_;
  bool is_writing_ = true;
};

class FileCacheNode : public StageNode {
 public:
  FileCacheNode(DatasetNodePtr from, ElementFilePtr file) : StageNode(std::move(from)), file_(std::move(file)) {}
  DatasetCursorPtr open() const override { return std::make_unique<FileCacheCursor>(input, file_); }

 private:
  ElementFilePtr file_;
};

DatasetNodePtr kept_in(ElementFile file, DatasetNodePtr input) {
  check_types(file, input->types);
  return std::make_shared<FileCacheNode>(std::move(input), std::make_shared<const ElementFile>(std::move(file)));
}

}  // namespace

DatasetNodePtr cached_in_file(DatasetNodePtr input, PartKinds kinds, const std::string& path) {
  CAPSTAN_CHECK(!path.empty(), ValueError, "cache: the path is empty", help("cache() without one is in memory"));
  return kept_in({"cache", path, std::move(kinds)}, std::move(input));
}

DatasetNodePtr kept_in_folder(DatasetNodePtr input, PartKinds kinds, const std::string& folder, const std::string& key,
                              std::int64_t shards) {
  const bool is_plain = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  CAPSTAN_CHECK(is_plain && !key.empty() && key[0] != '.', ValueError, "snapshot: the key is \"", key,
                "\", which is no name of a file", help("letters, digits, '-', '_' and '.' make one"));
  CAPSTAN_CHECK(shards >= 1 && shards <= kMostShards, ValueError, "snapshot: shards is ", shards, ", not from 1 to ",
                kMostShards);
  return kept_in({"snapshot", (fs::path(folder) / (key + ".elements")).string(), std::move(kinds), true, shards},
                 std::move(input));
}

void save_elements(const DatasetNodePtr& node, const PartKinds& kinds, const std::string& path) {
  check_finite("save", node->cardinality());
  const ElementFile file{"save", path, kinds};
  check_types(file, node->types);
  const DatasetCursorPtr cursor = node->open();
  FileCopy copy(file);
  std::vector<Part> element(node->types.size());
  while (cursor->next(element.data())) copy.add(node->types, element.data());
  copy.replace();
}

DatasetNodePtr saved_elements(PartTypes types, PartKinds kinds, const std::string& path) {
  auto file = std::make_shared<const ElementFile>(ElementFile{"load", path, std::move(kinds)});
  check_types(*file, types);
  Reader reader(file->name, file->path, Reader::Form::kWhole);
  if (reader.kinds() == kShardKinds) return shards_of(types, *file, reader);
  check_kinds(*file, reader);
  const std::int64_t count = reader.count();
  return std::make_shared<SavedNode>(types, std::move(file), count);
}

}  // namespace capstan::detail
