// From file to file: one cursor, over readers of one file each.
#include "capstan/file_datasets.h"
#include "src/data/stage.h"

namespace capstan::detail {

namespace {

const PartType* const kString[] = {&kStringPart};

// `at` counts what was asked of the file that is open, errors included: a reader that goes on after an error does so
// again when the position is restored.
class FilesCursor : public StageCursor {
 public:
  FilesCursor(PartTypes element, DatasetCursorPtr files, const char* name, const FileOpener& open)
      : StageCursor(element, std::move(files)), name_(name), open_(open) {}
  const char* name() const override { return name_; }

  bool read_next(Part* element) override {
    for (;;) {
      if (!path_) {
        Part path;
        if (!input->next(&path)) return false;
        path_ = object_of<std::string>(path);
        at_ = 0;
      }
      // Opening it fails at the first element.
      const bool was_open = reader_ != nullptr;
      try {
        if (!was_open) reader_ = open_(*path_);
        ++at_;
        if (reader_(element)) return true;
      } catch (...) {
        if (!was_open && reader_ == nullptr) path_.reset();
        throw;
      }
      reader_ = nullptr;
      path_.reset();
    }
  }

  void save(PositionWriter& position) override {
    position.number("is_open", path_ ? 1 : 0);
    position.parts("path", kString, {to_part<std::string>(path_.value_or(""))});
    position.number("at", at_);
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    const bool is_open = position.flag("is_open");
    const std::vector<Part> path = position.parts("path", kString);
    if (path.size() != 1) position.refuse("path");
    const std::int64_t at = position.number("at", 0);
    StageCursor::restore(position);
    reader_ = nullptr;
    path_.reset();
    at_ = at;
    if (!is_open) return;
    path_ = object_of<std::string>(path[0]);
    reader_ = open_(*path_);
    std::vector<Part> element(types.size());
    for (std::int64_t i = 0; i < at; ++i) {
      try {
        if (!reader_(element.data())) position.refuse("at");
      } catch (const IoError&) {
      }
    }
  }

 private:
  const char* name_;
  FileOpener open_;
  std::optional<std::string> path_;
  PartGenerator reader_;
  std::int64_t at_ = 0;
};

}  // namespace

DatasetNodePtr read_files(const char* name, PartTypes types, DatasetNodePtr files, FileOpener open) {
  return make_stage<FilesCursor>(types, std::move(files), kUnknown, name, std::move(open));
}

}  // namespace capstan::detail
