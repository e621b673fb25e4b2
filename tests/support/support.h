/* What the C tests share. */
#ifndef HC_TEST_SUPPORT_H
#define HC_TEST_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

/* The path of a file below tests/fixtures. Static until the next call. */
const char *fixture_path(const char *name);

/* Reads a whole fixture; fails the test where it isn't there. Freed by the caller. */
char *fixture_read(const char *name);

/* Calls row() for each line of a tab-separated fixture but comments; fields are unescaped (\n, \t, \\). Returns the rows. */
unsigned fixture_rows(const char *name, void (*row)(void *user, char **fields, unsigned nr_fields), void *user);

/* A new folder below $TMPDIR; removed with all in it by temp_folder_remove(). Freed by that. */
char *temp_folder(void);
void temp_folder_remove(char *path);

/* Unpacks a .tree fixture into a new temporary folder. */
char *tree_unpack(const char *name);

/* Writes a file below root, making its folders. */
void tree_write(const char *root, const char *path, const char *text);

/* How many entries a folder has. */
unsigned count_files(const char *folder);

/* Fails the test with the detail where r isn't what was expected. */
void assert_return(int r, int expected, const char *what);

#define assert_ok(call) assert_return((call), 0, #call)
#define assert_error(call, err) assert_return((call), -(err), #call)
#define assert_detail_has(text) assert_contains(hc_error_detail(), (text))

void assert_contains(const char *text, const char *part);

/* True in a build with AddressSanitizer or ThreadSanitizer, where loops over gigabytes take minutes. */
bool under_sanitizer(void);

#endif
