// A plug-in for MariaDB that hands every call on to another one, and writes a line for each unit that is encrypted: the
// length of its key, a hash of it, the nonce, the number of the key and of its version, the length of the first piece
// and of all, a hash of the plaintext, the beginning of it before and after, and the letters that followed the text
// "caller-" in it. REAL names the other, LOG the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 64
#define MARK "caller-"

struct encryption {
  int interface_version;
  unsigned (*latest)(unsigned);
  unsigned (*key)(unsigned, unsigned, unsigned char *, unsigned *);
  unsigned (*ctx_size)(unsigned, unsigned);
  int (*init)(void *, const unsigned char *, unsigned, const unsigned char *, unsigned, int, unsigned, unsigned);
  int (*update)(void *, const unsigned char *, unsigned, unsigned char *, unsigned *);
  int (*finish)(void *, unsigned char *, unsigned *);
  unsigned (*length)(unsigned, unsigned, unsigned);
};

struct declaration {
  int kind;
  const struct encryption *info;
  const char *name, *author, *description;
  int license;
  int (*init)(void *), (*deinit)(void *);
  unsigned version;
  const void *status_variables, *system_variables;
  const char *version_text;
  unsigned maturity;
};

struct unit {
  void *real;
  int is_encrypted;
  unsigned key_bytes, key_id, version, first, total;
  uint64_t key, hash;
  uint32_t callers;
  unsigned nonce_bytes;
  unsigned char nonce[32];
  unsigned known;
  unsigned char before[SHOWN], after[SHOWN];
};

int _maria_plugin_interface_version_;
int _maria_sizeof_struct_st_plugin_;
struct declaration _maria_plugin_declarations_[2];

static const struct encryption *real;
static struct encryption ours;
static int out = -1;

static uint64_t mix(uint64_t hash, const unsigned char *bytes, unsigned length) {
  for (unsigned i = 0; i < length; i++) {
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

// letters behind MARK, a bit for each; one that is divided between two pieces is not found
static uint32_t callers(const unsigned char *bytes, unsigned length) {
  const unsigned char *at = bytes, *end = bytes + length;
  uint32_t found = 0;
  while ((at = memmem(at, end - at, MARK, strlen(MARK))) != NULL) {
    at += strlen(MARK);
    if (at < end && *at >= 'a' && *at <= 'z') {
      found |= UINT32_C(1) << (*at - 'a');
    }
  }
  return found;
}

static int hex(char *to, const unsigned char *bytes, unsigned length) {
  for (unsigned i = 0; i < length; i++) {
    sprintf(to + 2 * i, "%02x", bytes[i]);
  }
  return 2 * length;
}

static struct unit *at(void *context) {
  struct unit *unit;
  memcpy(&unit, context, sizeof unit);
  return unit;
}

static unsigned ctx_size(unsigned key_id, unsigned version) { return sizeof(struct unit *); }

static int init(void *context, const unsigned char *key, unsigned key_bytes, const unsigned char *nonce,
                unsigned nonce_bytes, int flags, unsigned key_id, unsigned version) {
  struct unit *unit = calloc(1, sizeof *unit);
  unit->real = calloc(1, real->ctx_size(key_id, version));
  unit->is_encrypted = flags & 1;
  unit->key_bytes = key_bytes;
  unit->key = mix(0xcbf29ce484222325, key, key_bytes);
  unit->hash = 0xcbf29ce484222325;
  unit->nonce_bytes = nonce_bytes < sizeof unit->nonce ? nonce_bytes : sizeof unit->nonce;
  memcpy(unit->nonce, nonce, unit->nonce_bytes);
  unit->key_id = key_id;
  unit->version = version;
  memcpy(context, &unit, sizeof unit);
  const int code = real->init(unit->real, key, key_bytes, nonce, nonce_bytes, flags, key_id, version);
  if (code != 0) {
    free(unit->real);
    free(unit);
  }
  return code;
}

static int update(void *context, const unsigned char *from, unsigned length, unsigned char *to, unsigned *written) {
  struct unit *unit = at(context);
  unit->first = unit->total == 0 ? length : unit->first;
  unit->total += length;
  unit->hash = mix(unit->hash, from, length);
  unit->callers |= callers(from, length);
  // source and target may be the same
  const unsigned known = unit->known, more = length < SHOWN - known ? length : SHOWN - known;
  memcpy(unit->before + known, from, more);
  const int code = real->update(unit->real, from, length, to, written);
  memcpy(unit->after + known, to, more);
  unit->known += more;
  return code;
}

static int finish(void *context, unsigned char *to, unsigned *written) {
  struct unit *unit = at(context);
  const int code = real->finish(unit->real, to, written);
  if (unit->is_encrypted) {
    char line[512];
    int used = sprintf(line, "%u %016lx ", unit->key_bytes, (unsigned long)unit->key);
    used += hex(line + used, unit->nonce, unit->nonce_bytes);
    used += sprintf(line + used, " %u %u %u %u %016lx =", unit->key_id, unit->version, unit->first, unit->total,
                    (unsigned long)unit->hash);
    used += hex(line + used, unit->before, unit->known);
    used += sprintf(line + used, " =");
    used += hex(line + used, unit->after, unit->known);
    used += sprintf(line + used, " =");
    for (int letter = 0; letter < 26; letter++) {
      if (unit->callers >> letter & 1) {
        line[used++] = (char)('a' + letter);
      }
    }
    line[used++] = '\n';
    if (write(out, line, used) != used) {
      abort();
    }
  }
  free(unit->real);
  free(unit);
  return code;
}

__attribute__((constructor)) static void load(void) {
  void *library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "recorder: %s\n", dlerror());
    abort();
  }
  out = open(LOG, O_WRONLY | O_APPEND | O_CREAT, 0666);
  _maria_plugin_interface_version_ = *(int *)dlsym(library, "_maria_plugin_interface_version_");
  _maria_sizeof_struct_st_plugin_ = *(int *)dlsym(library, "_maria_sizeof_struct_st_plugin_");
  memcpy(_maria_plugin_declarations_, dlsym(library, "_maria_plugin_declarations_"), sizeof _maria_plugin_declarations_);
  real = _maria_plugin_declarations_[0].info;
  ours = *real;
  ours.ctx_size = ctx_size;
  ours.init = init;
  ours.update = update;
  ours.finish = finish;
  _maria_plugin_declarations_[0].info = &ours;
}
