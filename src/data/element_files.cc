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
};

constexpr const char* kTensorKind = "Tensor";

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

std::unique_ptr<Reader> open_reader(const ElementFile& file, const std::string& path, Reader::Form form) {
  auto reader = std::make_unique<Reader>(file.name, path, form);
  const PartKinds& found = reader->kinds();
  if (!std::equal(file.kinds.begin(), file.kinds.end(), found.begin(), found.end(), may_be)) {
    reader->source().fail("the parts of its elements are " + list_of_kinds(found) + ", not " +
                          list_of_kinds(file.kinds));
  }
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
  explicit FileElements(const ElementFile& file) : file_(file), reader_(open_whole(file)) {}

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

// The elements of a pass on their way into a file.
class FileCopy {
 public:
  explicit FileCopy(const ElementFile& file) : file_(file) {
    std::error_code none;  // a folder that cannot be made is an error of the file
    if (file.makes_folder) fs::create_directories(fs::path(file.path).parent_path(), none);
    writer_.emplace(file.name, file.path, file.kinds);
  }

  void add(PartTypes types, const Part* element) {
    tensors_.resize(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      tensors_[i] = types[i]->save(element[i]);
      for (Tensor& tensor : tensors_[i]) tensor = kTensorPart.save({tensor, nullptr})[0];
    }
    writer_->add(tensors_);
  }

  // Unless another pass has been faster.
  void finish() {
    writer_->draft().keep(false);
    std::error_code none;
    if (!fs::exists(file_.path, none)) writer_->finish();
    writer_.reset();
    if (origin_) fs::remove(io::FileDraft::path_of(file_.path, *origin_), none);
  }
  void replace() { writer_->finish(); }
  void drop() { writer_->draft().keep(false); }

  void save(PositionWriter& position) {
    writer_->flush();
    writer_->draft().keep(true);
    position.numbers("draft", {writer_->draft().mark(), writer_->count()});
  }
  // Copies so many elements of a draft. False if it has them not, or is gone.
  bool take_over(std::int64_t mark, std::int64_t count) {
    try {
      const auto reader = open_reader(file_, io::FileDraft::path_of(file_.path, mark), Reader::Form::kDraft);
      while (writer_->count() < count) {
        std::int64_t elements = 0;
        const std::optional<std::string_view> block = reader->next_block(&elements);
        if (!block || elements > count - writer_->count()) return false;
        writer_->add_block(*block, elements);
      }
      origin_ = mark;
      return true;
    } catch (const IoError&) {
      return false;
    }
  }

 private:
  const ElementFile& file_;
  std::optional<io::ElementWriter> writer_;
  std::vector<io::ElementPart> tensors_;
  std::optional<std::int64_t> origin_;  // the draft that this one began with
};

using ElementFilePtr = std::shared_ptr<const ElementFile>;

class FileCacheCursor : public DatasetCursor {
 public:
  FileCacheCursor(DatasetNodePtr from, ElementFilePtr file)
      : DatasetCursor(from->types), from_(std::move(from)), file_(std::move(file)) {
    std::error_code none;
    if (fs::exists(file_->path, none)) {
      elements_.emplace(*file_);
    } else {
      input_ = from_->open();  // a pass that is not read draws no seeds
    }
  }
  const char* name() const override { return file_->name; }

  bool read_next(Part* element) override {
    if (elements_) return elements_->next(types, element);
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
    position.number("is_read", elements_ ? 1 : 0);
    if (elements_) return elements_->save(position);
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
      if (!elements_) elements_.emplace(*file_);
      return elements_->restore(position);
    }
    elements_.reset();
    if (input_ == nullptr) input_ = from_->open();
    is_writing_ = position.flag("is_written");
    const std::vector<std::int64_t> draft = position.numbers("draft", 0);
    if (!draft.empty()) {
      if (draft.size() != 2 || !is_writing_) position.refuse("draft");
      copy_.emplace(*file_);
      if (!copy_->take_over(draft[0], draft[1])) stop_writing();
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
  std::optional<FileElements> elements_;  // of the file that was there
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

class SavedCursor : public DatasetCursor {
 public:
  SavedCursor(PartTypes element, ElementFilePtr file)
      : DatasetCursor(element), file_(std::move(file)), elements_(*file_) {}
  const char* name() const override { return file_->name; }
  bool read_next(Part* element) override { return elements_.next(types, element); }
  void save(PositionWriter& position) override { elements_.save(position); }
  void restore(PositionReader& position) override { elements_.restore(position); }

 private:
  ElementFilePtr file_;
  FileElements elements_;
};

class SavedNode : public DatasetNode {
 public:
  SavedNode(PartTypes element, ElementFilePtr file, std::int64_t count)
      : DatasetNode(element), file_(std::move(file)), count_(count) {}
  std::int64_t cardinality() const override { return count_; }
  DatasetCursorPtr open() const override { return std::make_unique<SavedCursor>(types, file_); }

 private:
  ElementFilePtr file_;
  std::int64_t count_;
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

DatasetNodePtr kept_in_folder(DatasetNodePtr input, PartKinds kinds, const std::string& folder,
                              const std::string& key) {
  const bool is_plain = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  CAPSTAN_CHECK(is_plain && !key.empty() && key[0] != '.', ValueError, "snapshot: the key is \"", key,
                "\", which is no name of a file", help("letters, digits, '-', '_' and '.' make one"));
  return kept_in({"snapshot", (fs::path(folder) / (key + ".elements")).string(), std::move(kinds), true},
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
  const std::int64_t count = open_whole(*file)->count();
  return std::make_shared<SavedNode>(types, std::move(file), count);
}

}  // namespace capstan::detail
