// Opens a library that uses libstdc++, and then one that contains Capstan.
#include <dlfcn.h>
#include <stdio.h>

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) puts(dlerror());
  return library;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* user = open_library(argv[1]);
  if (user == NULL) return 1;
  ((void (*)(void))dlsym(user, "use"))();
  void* plugin = open_library(argv[2]);
  if (plugin == NULL) return 1;
  const double slope = ((double (*)(void))dlsym(plugin, "run"))();
  printf("the slope is %g\n", slope);
  return slope == 27 ? 0 : 1;
}
