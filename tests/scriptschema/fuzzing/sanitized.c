/* A target for tests: it reads a program and breaks where its words say so. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 20];

__attribute__((noinline)) static int use_after_free(int at) {
    char *data = malloc(8);
    free(data);
    return data[at];
}

__attribute__((noinline)) static int add(int left, int right) {
    return left + right; /* the site */
}

__attribute__((noinline)) static int add_for_another(int left) {
    return add(left, 2147483647);
}

__attribute__((noinline)) static int read_nothing(int *volatile at) {
    return *at;
}

/* A service of the target `persistent`. */
static int serve(void) {
    while (fgets(text, sizeof text, stdin)) {
        if (strstr(text, "overflow_here")) fprintf(stderr, "%d\n", add(1, 2147483647));
        printf("{\"id\": %d, \"kind\": \"ok\"}\n", atoi(strstr(text, "\"id\": ") + 6));
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **words) {
    if (strcmp(words[count - 1], "--serve") == 0) return serve();
    FILE *file = fopen(words[count - 1], "r");
    int number = (int)fread(text, 1, sizeof text - 1, file);
    if (strstr(text, "after_free")) printf("%d\n", use_after_free(number % 8));
    if (strstr(text, "overflow_here")) printf("%d\n", add(number, 2147483647));
    if (strstr(text, "overflow_there")) printf("%d\n", add_for_another(number));
    if (strstr(text, "nothing_there")) printf("%d\n", read_nothing(0));
    if (strstr(text, "luau_assert")) {
        fprintf(stderr, "%s\n", "/home/me/luau/VM/src/lvm.cpp(12): ASSERTION FAILED: n > 0");
        __builtin_trap();
    }
    if (strstr(text, "c_assert")) assert(number < 0);
    return 0;
}
