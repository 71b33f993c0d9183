/* Opens the values of one column, and seals them again: a program that docs/guide/applications.md shows, and a test runs.
 *
 * people KIND DESCRIBED KEY TABLE COLUMN < LINES > LINES
 *
 * KIND is policy, text or manifest; DESCRIBED the path of a policy, or of a file with the text. Each line of the input is a
 * value, or VALUE<tab>MARK, or VALUE<tab>MARK<tab>ROW. Each line of the output is the opened value and what it is sealed to
 * again, one by one, with a tab between them; all of them are opened at once, too, and compared. */
#include <sealstone_fields.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 1000, LENGTH = 4096, THREADS = 4 };

/* The values, one after the other, as sealstone_values has them. */
struct texts {
    char bytes[LINES * 64];
    int32_t offsets[LINES + 1];
};

static struct texts values, rows;
static int32_t marks[LINES];
static size_t count;
static sealstone_column *column;
static sealstone_values opened;

static int fail(const char *what, int code, char *error) {
    fprintf(stderr, "%s: code %d: %s\n", what, code, error ? error : "");
    free(error);
    return code;
}

static void add(struct texts *texts, size_t at, const char *text, size_t length) {
    size_t end = (size_t)texts->offsets[at];
    if (length > sizeof texts->bytes - end) {
        fprintf(stderr, "too much text\n");
        exit(100);
    }
    memcpy(texts->bytes + end, text, length);
    texts->offsets[at + 1] = (int32_t)(end + length);
}

/* Reads the lines; in the end `values`, `rows` and `marks` have `count` of them. */
static void read_lines(void) {
    static char line[LENGTH];
    while (count < LINES && fgets(line, sizeof line, stdin)) {
        size_t length = strcspn(line, "\n");
        char *mark = memchr(line, '\t', length);
        char *row = mark ? memchr(mark + 1, '\t', length - (size_t)(mark + 1 - line)) : NULL;
        add(&values, count, line, mark ? (size_t)(mark - line) : length);
        marks[count] = mark ? (int32_t)strtol(mark + 1, NULL, 10) : (int32_t)sealstone_column_version(column);
        add(&rows, count, row ? row + 1 : "", row ? length - (size_t)(row + 1 - line) : 0);
        count++;
    }
}

static const char *part(const struct texts *texts, size_t at, size_t *length) {
    *length = (size_t)(texts->offsets[at + 1] - texts->offsets[at]);
    return texts->bytes + texts->offsets[at];
}

/* The row that a value is bound to; null for a column that is bound to none. */
static const char *row_of(size_t at, size_t *length) {
    *length = 0;
    return sealstone_column_row(column) ? part(&rows, at, length) : NULL;
}

/* Opens every value one by one, in each of several threads, and compares. Returns null if all are the same. */
static void *compare(void *unused) {
    static const char different[] = "one by one they open to something else";
    (void)unused;
    for (size_t at = 0; at < count; at++) {
        char out[LENGTH];
        size_t length, value_length, row_length;
        const char *value = part(&values, at, &value_length), *row = row_of(at, &row_length);
        if (sealstone_column_open(column, marks[at], value, value_length, row, row_length, out, sizeof out, &length, NULL))
            return (void *)different;
        if (length != (size_t)(opened.offsets[at + 1] - opened.offsets[at]) ||
            memcmp(out, opened.bytes + opened.offsets[at], length))
            return (void *)different;
    }
    return NULL;
}

static int print_all(void) {
    for (size_t at = 0; at < count; at++) {
        char small[1], *error = NULL, *out;
        size_t length, row_length;
        const char *value = opened.bytes + opened.offsets[at], *row = row_of(at, &row_length);
        size_t value_length = (size_t)(opened.offsets[at + 1] - opened.offsets[at]);
        /* the length is asked for with a buffer that is too small, unless nothing is to be sealed */
        int code = sealstone_column_seal(column, value, value_length, row, row_length, small, 0, &length, &error);
        if (code != SEALSTONE_TOO_SMALL && code != SEALSTONE_OK)
            return fail("seal", code, error);
        free(error);
        out = malloc(length + 1);
        if (!out)
            return 100;
        code = sealstone_column_seal(column, value, value_length, row, row_length, out, length, &length, &error);
        if (code)
            return fail("seal", code, error);
        printf("%.*s\t%.*s\n", (int)value_length, value, (int)length, out);
        free(out);
    }
    return 0;
}

static char *contents(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    return text;
}

int main(int argc, char **argv) {
    sealstone_session *session = NULL;
    char *error = NULL;
    size_t fault;
    pthread_t threads[THREADS];
    if (argc != 6)
        return fail("usage: people policy|text|manifest DESCRIBED KEY TABLE COLUMN", 100, NULL);
    int kind = *argv[1] == 'p' ? SEALSTONE_POLICY_FILE : *argv[1] == 't' ? SEALSTONE_POLICY_TEXT : SEALSTONE_MANIFEST;
    const char *described = kind == SEALSTONE_POLICY_FILE ? argv[2] : contents(argv[2]);
    int code = sealstone_session_new(kind, described, argv[3], NULL, &session, &error);
    if (code)
        return fail("session", code, error);
    code = sealstone_column_new(session, argv[4], argv[5], &column, &error);
    sealstone_session_free(session);
    if (code)
        return fail("column", code, error);
    read_lines();

    sealstone_values in = {values.offsets, values.bytes, sizeof values.bytes, count, NULL};
    sealstone_values in_rows = {rows.offsets, rows.bytes, sizeof rows.bytes, count, NULL};
    const sealstone_values *bound = sealstone_column_row(column) ? &in_rows : NULL;
    code = sealstone_column_open_many(column, marks, &in, bound, &opened, &fault, &error);
    if (code) {
        fprintf(stderr, "value %ld: ", (long)fault);
        fail("open", code, error);
    } else {
        void *different = NULL;
        for (int at = 0; at < THREADS; at++)
            if (pthread_create(&threads[at], NULL, compare, NULL))
                return 100;
        for (int at = 0; at < THREADS; at++) {
            void *said;
            pthread_join(threads[at], &said);
            different = said ? said : different;
        }
        code = different ? fail((const char *)different, 100, NULL) : print_all();
    }
    sealstone_values_free(&opened);
    sealstone_column_free(column);
    return code;
}
