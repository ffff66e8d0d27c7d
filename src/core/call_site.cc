// Call sites, from the stack and the program's debug information.
//
// The reader of debug information is libdw, opened when it is first needed, as LAPACK is: linking libbacktrace instead
// would cost 58 KB in every program, for a message that few see. Debug information is looked for in the objects
// themselves, never elsewhere, least of all in the network. Without libdw or line numbers an address has to do.
#include "src/core/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "src/core/hooks.h"

namespace capstan {

namespace {

// What is used of libdw, as its headers, which are not needed to build this, declare it.
struct Callbacks {
  void* find_elf;
  int (*find_debuginfo)(void*, void**, const char*, std::uint64_t, const char*, const char*, std::uint32_t, char**);
  void* section_address;
  char** debuginfo_path;
};
struct Libdw {
  void* (*begin)(const Callbacks*);
  int (*report)(void* session, pid_t);
  int (*report_end)(void* session, void*, void*);
  void* (*line_at)(void* session, std::uint64_t address);
  const char* (*line_info)(void* line, void*, int* number, int*, void*, void*);
  void (*end)(void* session);
  void* find_elf;

  static const Libdw* open() {
    static const Libdw found = [] {
      Libdw dw = {};
      void* const object = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
      if (object == nullptr) return dw;
      bool complete = true;
      const auto load = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(object, name));
        complete &= function != nullptr;
      };
      load(dw.begin, "dwfl_begin");
      load(dw.report, "dwfl_linux_proc_report");
      load(dw.report_end, "dwfl_report_end");
      load(dw.line_at, "dwfl_getsrc");
      load(dw.line_info, "dwfl_lineinfo");
      load(dw.end, "dwfl_end");
      load(dw.find_elf, "dwfl_linux_proc_find_elf");
      return complete ? dw : Libdw{};
    }();
    return found.begin == nullptr ? nullptr : &found;
  }
};

// Looks for the debug information of an object elsewhere.
int nowhere(void*, void**, const char*, std::uint64_t, const char*, const char*, std::uint32_t, char**) { return -1; }

// The line numbers of this process, read once for an error.
class Lines {
 public:
  Lines() : dw_(Libdw::open()) {
    if (dw_ == nullptr) return;
    callbacks_ = {dw_->find_elf, nowhere, nullptr, nullptr};
    session_ = dw_->begin(&callbacks_);
    if (session_ == nullptr) return;
    dw_->report(session_, getpid());
    dw_->report_end(session_, nullptr, nullptr);
  }
  ~Lines() {
    if (session_ != nullptr) dw_->end(session_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // "file:line", or nothing.
  std::string at(const char* address) const {
    void* const line =
        session_ == nullptr ? nullptr : dw_->line_at(session_, reinterpret_cast<std::uintptr_t>(address));
    int number = 0;
    const char* const file =
        line == nullptr ? nullptr : dw_->line_info(line, nullptr, &number, nullptr, nullptr, nullptr);
    return file == nullptr || number == 0 ? "" : std::string(file) + ":" + std::to_string(number);
  }

 private:
  const Libdw* dw_;
  Callbacks callbacks_ = {};
  void* session_ = nullptr;
};

// Whether a line is one of this library. The compiler may know sources by their full name and headers by a relative
// one, so both are asked where they are.
bool is_own(std::string_view line) {
  for (const std::string_view here : {std::string_view(__FILE__), kCallSiteHeader}) {
    const std::string_view root = here.substr(0, here.rfind("src/core/"));
    if (line.substr(0, root.size()) == root &&
        (line.substr(root.size(), 4) == "src/" || line.substr(root.size(), 8) == "include/")) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string call_site() {
  // Of a program in another language, whose stack is not that of the machine.
  if (const std::string place = place_of_caller(); !place.empty()) return place;
  constexpr int kDepth = 64;
  constexpr int kShown = 12;
  constexpr int kOwn = 3;  // this function and those that call it
  void* frames[kDepth];
  const int depth = backtrace(frames, kDepth);
  Dl_info own = {};
  dladdr(reinterpret_cast<const void*>(&is_own), &own);
  Dl_info info = {};
  int begin = kOwn;
  while (begin < depth && dladdr(frames[begin], &info) != 0 && info.dli_fbase == own.dli_fbase) ++begin;
  // If the library is linked into the program all frames are in one object but the last, those that start a program.
  const bool linked_in = begin >= depth || begin + kShown / 4 >= depth;
  const Lines lines;
  const auto line_of = [&](int i) { return lines.at(static_cast<const char*>(frames[i]) - 1); };
  if (linked_in) {
    begin = kOwn;
    for (int i = kOwn; i < depth && begin == kOwn; ++i) {
      const std::string line = line_of(i);
      if (!line.empty() && !is_own(line)) begin = i;
    }
  }
  std::string text = "\n  called from:";
  int shown = 0;
  for (int i = begin; i < depth && shown < kShown; ++i) {
    const std::string line = line_of(i);
    if (line.empty() && (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr)) continue;
    text += "\n    ";
    ++shown;
    if (!line.empty()) {
      text += line;
      continue;
    }
    char address[32];
    std::snprintf(address, sizeof(address), "(+0x%zx)",
                  static_cast<std::size_t>(static_cast<char*>(frames[i]) - 1 - static_cast<char*>(info.dli_fbase)));
    text += std::string(info.dli_fname) + address;
  }
  return text;
}

}  // namespace capstan
