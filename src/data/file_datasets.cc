// Datasets of what files hold: their readers; files.cc walks from file to file.
#include "capstan/file_datasets.h"

#include <glob.h>

#include <algorithm>
#include <set>

#include "capstan/records.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/compression.h"

namespace capstan {

namespace datasets {

namespace {

using detail::FileOpener;
using detail::Part;
using detail::PartGenerator;

// A file whose reader gives texts.
template <class Reader>
PartGenerator texts_from(std::shared_ptr<Reader> reader) {
  return [reader = std::move(reader)](Part* element) {
    std::optional<std::string> text = reader->next();
    if (!text) return false;
    *element = detail::to_part<std::string>(*std::move(text));
    return true;
  };
}

Dataset<std::string> texts_of_files(const char* name, const FileList& files, const FileDatasetOptions& options,
                                    const FileOpener& open) {
  io::compression_from(name, options.compression_type);  // which throws
  const detail::PartTypes types = Dataset<std::string>::types();
  if (!options.num_parallel_reads) return Dataset<std::string>(detail::read_files(name, types, files.node(), open));
  const std::int64_t reads = *options.num_parallel_reads;
  CAPSTAN_CHECK(reads >= 1, ValueError, name, ": num_parallel_reads must be at least 1, not ", reads);
  const auto one = [=](const Part* path) {
    return detail::read_files(name, types, FileList(detail::object_of<std::string>(*path)).node(), open);
  };
  return Dataset<std::string>(detail::interleaved(name, types, files.node(), one, reads, 1, reads, true));
}

// A file of records of one length. The end is known beforehand of files that are not compressed; of others it is found.
class FixedLengthReader {
 public:
  FixedLengthReader(const std::string& path, std::int64_t record_bytes, const FixedLengthRecordOptions& options)
      : source_(io::open_compressed("fixed_length_record_dataset", path,
                                    io::compression_from("fixed_length_record_dataset", options.compression_type))),
        record_bytes_(static_cast<std::size_t>(record_bytes)),
        footer_bytes_(static_cast<std::size_t>(options.footer_bytes)) {
    io::read_exactly(*source_, static_cast<std::uint64_t>(options.header_bytes), "header");
    fill(footer_bytes_);
    if (ahead_.size() < footer_bytes_) fail();
  }

  // What is ahead has always the length of the footer, which may turn out to be one.
  std::optional<std::string> next() {
    if (has_ended_) return {};
    fill(footer_bytes_ + record_bytes_);
    if (ahead_.size() < footer_bytes_ + record_bytes_) {
      has_ended_ = true;
      if (ahead_.size() > footer_bytes_) fail();
      return {};
    }
    std::string record = ahead_.substr(0, record_bytes_);
    ahead_.erase(0, record_bytes_);
    return record;
  }

 private:
  // Memory grows with what arrives.
  void fill(std::size_t size) {
    constexpr std::size_t kPart = 1 << 20;
    while (ahead_.size() < size) {
      const std::size_t before = ahead_.size(), part = std::min(kPart, size - before);
      ahead_.resize(before + part);
      const std::size_t got = source_->read(reinterpret_cast<std::byte*>(ahead_.data()) + before, part);
      ahead_.resize(before + got);
      if (got == 0) return;
    }
  }
  [[noreturn]] void fail() {
    source_->fail("its length is not that of a header, records of " + std::to_string(record_bytes_) +
                  " bytes, and a footer of " + std::to_string(footer_bytes_));
  }

  std::unique_ptr<io::ByteSource> source_;
  std::size_t record_bytes_, footer_bytes_;
  std::string ahead_ = {};
  bool has_ended_ = false;
};

}  // namespace

FileList::FileList(const std::string& path) : FileList(std::vector{path}) {}
FileList::FileList(const std::vector<std::string>& paths) : node_(from_range(paths).node()) {}

Dataset<std::string> list_files(const std::vector<std::string>& patterns, const ListFilesOptions& options) {
  std::set<std::string> paths;
  std::string asked;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
    if (status == 0) paths.insert(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (status == GLOB_NOSPACE) throw std::bad_alloc();
    asked += (asked.empty() ? "" : ", ") + pattern;
  }
  CAPSTAN_CHECK(!paths.empty(), ValueError, "list_files: no file matches ", asked);
  const Dataset<std::string> files = from_range(std::vector<std::string>(paths.begin(), paths.end()));
  if (!options.shuffle) return files;
  return files.shuffle(static_cast<std::int64_t>(paths.size()), {.seed = options.seed});
}

Dataset<std::string> list_files(const std::string& pattern, const ListFilesOptions& options) {
  return list_files(std::vector{pattern}, options);
}

Dataset<std::string> TextLineDataset(const FileList& files, const FileDatasetOptions& options) {
  return texts_of_files("text_line_dataset", files, options, [=](const std::string& path) {
    return texts_from(
        std::make_shared<io::LineReader>(path, io::LineReaderOptions{.compression = options.compression_type}));
  });
}

Dataset<std::string> TFRecordDataset(const FileList& files, const FileDatasetOptions& options) {
  return texts_of_files("tf_record_dataset", files, options, [=](const std::string& path) {
    return texts_from(
        std::make_shared<io::RecordReader>(path, io::RecordReaderOptions{.compression = options.compression_type}));
  });
}

Dataset<std::string> FixedLengthRecordDataset(const FileList& files, std::int64_t record_bytes,
                                              const FixedLengthRecordOptions& options) {
  CAPSTAN_CHECK(record_bytes >= 1, ValueError, "fixed_length_record_dataset: record_bytes must be at least 1, not ",
                record_bytes);
  CAPSTAN_CHECK(options.header_bytes >= 0 && options.footer_bytes >= 0, ValueError,
                "fixed_length_record_dataset: header_bytes and footer_bytes must not be negative, but are ",
                options.header_bytes, " and ", options.footer_bytes);
  return texts_of_files("fixed_length_record_dataset", files, {.compression_type = options.compression_type},
                        [=](const std::string& path) {
                          return texts_from(std::make_shared<FixedLengthReader>(path, record_bytes, options));
                        });
}

}  // namespace datasets

}  // namespace capstan
