/* Values of sealed columns for programs in C, C++ and whatever calls C; link with -lsealstone_fields.
 * docs/guide/applications.md leads through it.
 *
 * - Texts: settings are UTF-8 and end with a zero byte. Values are UTF-8 with a length in bytes and without such an end.
 *   A pointer to no bytes may be null.
 * - Results: each function that can fail returns SEALSTONE_OK or another code of the list below.
 * - error: null, or where to put the reason: a text from malloc, which the caller frees, without any value in it; null if
 *   nothing failed. What was there before is overwritten, not freed.
 * - Threads: one session and one column serve any number of threads at once. Free them when no call is under way; a column
 *   may outlive its session. In a process made by fork they are errors (SEALSTONE_KEY): open new ones there.
 * - NULL of a database is not a value: it stays NULL, and is not passed here.
 *
 * Functions are added to this header, and none is changed: a program built with an older one runs with a newer library. */
#ifndef SEALSTONE_FIELDS_H
#define SEALSTONE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SEALSTONE_OK = 0,
    SEALSTONE_ARGUMENT = 1,  /* a null pointer, an impossible length, a text that is not UTF-8, a row missing or not wanted */
    SEALSTONE_POLICY = 2,    /* the policy or manifest cannot be read, is not genuine, or has no such table or column */
    SEALSTONE_KEY = 3,       /* the key, or that version of it, is not to be had: file, passphrase, key server, fork */
    SEALSTONE_MISFIT = 4,    /* the value does not fit the format of its column */
    SEALSTONE_NOT_GENUINE = 5, /* the value was changed, moved, or sealed under another key; aead notices, ff1 cannot */
    SEALSTONE_TOO_SMALL = 6, /* the buffer is too small; nothing was written but the length that is needed */
    SEALSTONE_FAILED = 7     /* no randomness, or a bug */
};

/* Where the columns of tables are described. */
enum {
    SEALSTONE_POLICY_FILE = 1, /* the path of a policy */
    SEALSTONE_POLICY_TEXT = 2, /* the text of a policy */
    SEALSTONE_MANIFEST = 3     /* the text of a manifest: NAME.sealed.toml, or column manifest of sealstone_fields */
};

typedef struct sealstone_session sealstone_session; /* policies and keys */
typedef struct sealstone_column sealstone_column;   /* one column with its key */

/* Many texts, laid out as in Arrow's type utf8: number i is bytes[offsets[i]] to bytes[offsets[i + 1]], exclusive. */
typedef struct sealstone_values {
    const int32_t *offsets; /* count + 1 numbers, ascending, the first not negative */
    const char *bytes;
    size_t bytes_length; /* of all of `bytes`; no offset is greater */
    size_t count;
    void *owner; /* of results: the library's; null in what the caller makes */
} sealstone_values;

/* Opens policy and key. `key`: path of a key file, kmip://HOST/KEY... or kmip:FILE.toml; null for the key that the policy
 * names. `passphrase_file`: null, or the path of a file with the passphrase of the key file [SEALSTONE_PASSPHRASE_FILE].
 * Relative paths start at the current directory. */
int sealstone_session_new(int kind, const char *described, const char *key, const char *passphrase_file,
                          sealstone_session **session, char **error);
void sealstone_session_free(sealstone_session *session);

/* Opens a column. `table`: its name in the policy; null if there is only one. It seals under the version of the key that
 * is the newest now, or that the manifest names, as long as it lives; sealstone_column_version returns it. */
int sealstone_column_new(const sealstone_session *session, const char *table, const char *column,
                         sealstone_column **made, char **error);
void sealstone_column_free(sealstone_column *column);
uint32_t sealstone_column_version(const sealstone_column *column);
/* The column whose value in the same row must be passed as `row`; null if values are not bound to rows, and then `row` and
 * `rows` must be null, too. Lives as long as the column. */
const char *sealstone_column_row(const sealstone_column *column);

/* One value: seals it, opens it, or makes its index value (the value is in the clear there). `mark`: the version that the
 * value was sealed under, with either sign, as a migrated table has it beside the value; 0 for a value in the clear, which
 * comes back as it is. Elsewhere the version of the key. A mark is not authenticated: once every value of a table is sealed,
 * refuse a 0 instead of passing it, or somebody who can write to the table can put values in the clear there. `out` has room
 * for `capacity` bytes and gets no zero byte at the end; *out_length is the length. `out` is unchanged unless the result is
 * SEALSTONE_OK. */
int sealstone_column_seal(const sealstone_column *column, const char *value, size_t value_length, const char *row,
                          size_t row_length, char *out, size_t capacity, size_t *out_length, char **error);
int sealstone_column_open(const sealstone_column *column, int32_t mark, const char *value, size_t value_length,
                          const char *row, size_t row_length, char *out, size_t capacity, size_t *out_length,
                          char **error);
int sealstone_column_index(const sealstone_column *column, const char *value, size_t value_length, char *out,
                           size_t capacity, size_t *out_length, char **error);

/* Many values, much faster. `rows`: null, or as many. `marks`: null for the version of the column, or as many. *out gets
 * memory that sealstone_values_free frees. On failure *out is empty, nothing of it is to be freed, and *fault is the number
 * of a value that is at fault (under one version the first), SIZE_MAX if it is none in particular; `fault` may be null. */
int sealstone_column_seal_many(const sealstone_column *column, const sealstone_values *values,
                               const sealstone_values *rows, sealstone_values *out, size_t *fault, char **error);
int sealstone_column_open_many(const sealstone_column *column, const int32_t *marks, const sealstone_values *values,
                               const sealstone_values *rows, sealstone_values *out, size_t *fault, char **error);
int sealstone_column_index_many(const sealstone_column *column, const sealstone_values *values, sealstone_values *out,
                                size_t *fault, char **error);
/* Frees a result, and makes it empty. */
void sealstone_values_free(sealstone_values *values);

/* The version of this library, such as "0.1.0". Lives as long as the process. */
const char *sealstone_fields_version(void);

#ifdef __cplusplus
}
#endif

#endif
