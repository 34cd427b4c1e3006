/* A toy interpreter of Luau, the target that the tests of engines fuzz.

It runs a source directly from its tokens: numbers, locals, globals, functions (with the caller's
variables) and control flow; strings, tables and types are read and mean nothing. What it does not
know it takes for nil, so that programs go on, and a source that is not well-formed is refused
before anything runs.

The planted bug is in `enter`: a loop or a branch, in a loop or a branch, in a function that is called,
when all of them run.

    afl-cc -O1 -o toy toy.c                            AFL++, in persistent mode
    clang -g -O1 -fsanitize=fuzzer -DLIBFUZZER ...     libFuzzer
    cc -o toy toy.c                                    one source on standard input */

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TOKENS = 20000, MOST_VARIABLES = 2000, MOST_DEPTH = 400, MOST_STEPS = 3000 };
enum kind { END, NAME, NUMBER, STRING, SYMBOL };
enum jump { GO, BREAK, CONTINUE, RETURN };

typedef struct { enum kind kind; const char *text; int length; double number; } token;
typedef struct { char kind; double number; int body; } value; /* nil, bool, number, function, other */
typedef struct { const char *name; int length; value value; } variable;

static token tokens[MOST_TOKENS];
static variable variables[MOST_VARIABLES];
static int here, count, in_scope, depth, steps;
static enum jump jump;
static value returned;
static jmp_buf refused;
static char running[MOST_DEPTH]; /* what runs inside one another: `c`alls, `?` branches, loops */
static int constructs;
static const value nil = {'n', 0, 0}, other = {'o', 0, 0};

static void refuse(void) { longjmp(refused, 1); }

/* Tokens */

static const char *skip_quoted(const char *at, const char *end) {
  char quote = *at++;
  for (; at < end && *at != quote; at++) {
    if (*at == '\\') {
      if (++at >= end) refuse();
    } else if (*at == '\n') {
      refuse();
    } else if (quote == '`' && *at == '{') {
      int braces = 1;
      while (braces) {
        if (++at >= end) refuse();
        if (*at == '{') braces++;
        else if (*at == '}') braces--;
        else if (*at == '"' || *at == '\'' || *at == '`') {
          if (++depth > MOST_DEPTH) refuse();
          at = skip_quoted(at, end) - 1;
          depth--;
        }
      }
    }
  }
  if (at >= end) refuse();
  return at + 1;
}

static const char *const symbols[] = {"...", "..=", "//=", "==", "~=", "<=", ">=", "..", "::", "->",
                                      "+=",  "-=",  "*=",  "/=", "%=", "^=", "//", "+",  "-",  "*",
                                      "/",   "%",   "^",   "#",  "<",  ">",  "=",  "(",  ")",  "{",
                                      "}",   "[",   "]",   ";",  ":",  ",",  ".",  "|",  "&",  "?"};

static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static int is_digit(char c) { return c >= '0' && c <= '9'; }

static void tokenize(const char *at, const char *end) {
  for (count = 0;; count++) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
    if (count == MOST_TOKENS) refuse();
    token *made = &tokens[count];
    made->text = at;
    made->length = 0;
    made->kind = END;
    if (at >= end) return;
    if (is_letter(*at)) {
      made->kind = NAME;
      while (at < end && (is_letter(*at) || is_digit(*at))) at++;
    } else if (is_digit(*at)) {
      made->kind = NUMBER;
      made->number = 0;
      while (at < end && (is_digit(*at) || is_letter(*at) || *at == '.')) {
        if (is_digit(*at)) made->number = made->number * 10 + (*at - '0');
        at++;
      }
    } else if (*at == '"' || *at == '\'' || *at == '`') {
      made->kind = STRING;
      at = skip_quoted(at, end);
    } else {
      made->kind = SYMBOL;
      int known = 0;
      for (unsigned i = 0; i < sizeof symbols / sizeof *symbols && !known; i++) {
        int length = (int)strlen(symbols[i]);
        if (end - at >= length && !memcmp(at, symbols[i], length)) {
          at += length;
          known = 1;
        }
      }
      if (!known) refuse();
    }
    made->length = (int)(at - made->text);
  }
}

static int is(const char *text) {
  token *t = &tokens[here];
  return t->kind != STRING && t->length == (int)strlen(text) && !memcmp(t->text, text, t->length);
}
static int take(const char *text) {
  if (!is(text)) return 0;
  here++;
  return 1;
}
static void expect(const char *text) {
  if (!take(text)) refuse();
}

static const char *const keywords[] = {"and", "break", "do", "else", "elseif", "end", "false",
                                       "for", "function", "if", "in", "local", "nil", "not",
                                       "or", "repeat", "return", "then", "true", "until", "while"};

static int is_keyword(void) {
  for (unsigned i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (is(keywords[i])) return 1;
  return 0;
}
static token *name(void) {
  if (tokens[here].kind != NAME || is_keyword()) refuse();
  return &tokens[here++];
}

/* Variables */

static void declare(token *t, value v) {
  if (in_scope == MOST_VARIABLES) refuse();
  variables[in_scope++] = (variable){t->text, t->length, v};
}
static variable *find(token *t) {
  for (int i = in_scope - 1; i >= 0; i--)
    if (variables[i].length == t->length && !memcmp(variables[i].name, t->text, t->length))
      return &variables[i];
  return NULL;
}

/* Types are read and forgotten. */

static void type(void);
static void types_until(const char *closing) {
  while (!take(closing)) {
    take("...");
    if (tokens[here].kind == NAME && tokens[here + 1].length == 1 && *tokens[here + 1].text == ':')
      here += 2;
    type();
    take("...");
    if (!take(",") && !is(closing)) refuse();
  }
}
static value expression(int run);
static void type(void) {
  if (++depth > MOST_DEPTH) refuse();
  take("|");
  take("&");
  do {
    if (take("{")) {
      while (!take("}")) {
        if (take("[")) {
          type();
          expect("]");
          expect(":");
        } else if (tokens[here + 1].length == 1 && *tokens[here + 1].text == ':') {
          here += 2;
        }
        type();
        if (!take(",") && !take(";") && !is("}")) refuse();
      }
    } else if (is("(") || is("<")) {
      if (take("<")) types_until(">");
      if (take("(")) types_until(")");
      if (take("->")) {
        take("...");
        type();
      }
    } else if (tokens[here].kind == STRING || take("nil") || take("true") || take("false")) {
      if (tokens[here].kind == STRING) here++;
    } else if (take("typeof")) {
      expect("(");
      expression(0);
      expect(")");
    } else {
      name();
      if (take(".")) name();
      if (take("<")) types_until(">");
      take("...");
    }
    while (take("?")) {}
  } while (take("|") || take("&"));
  depth--;
}
static void annotation(void) {
  if (take(":")) {
    take("...");
    type();
  }
}

/* Expressions */

static void block(int run);
static int truth(value v) { return v.kind != 'n' && !(v.kind == 'b' && !v.number); }
static double number_of(value v) { return v.kind == 'm' ? v.number : 0; }
static value number(double n) { return (value){'m', n, 0}; }
static value boolean(int b) { return (value){'b', b != 0, 0}; }

static void enter(char construct) {
  if (constructs == MOST_DEPTH) refuse();
  running[constructs++] = construct;
  char *last = &running[constructs - 3];
  if (constructs >= 3 && last[0] == 'c' && last[1] != 'c' && last[2] != 'c') abort();
}
static void leave(void) { constructs--; }

/* At "(" or "<": the parameters and the body; with `run` it is called with `arguments`. */
static value body(int run, value *arguments, int given) {
  int scope = in_scope, start = here, taken = 0;
  if (take("<")) types_until(">");
  expect("(");
  while (!take(")")) {
    if (take("...")) {
      annotation();
    } else {
      token *t = name();
      annotation();
      declare(t, taken < given ? arguments[taken] : nil);
      taken++;
    }
    if (!take(",") && !is(")")) refuse();
  }
  annotation();
  block(run);
  expect("end");
  in_scope = scope;
  return (value){'f', 0, start};
}

static value call(value function, value *arguments, int given) {
  if (function.kind != 'f' || steps > MOST_STEPS) return nil;
  if (++depth > MOST_DEPTH) refuse();
  int back = here;
  here = function.body;
  returned = nil;
  enter('c');
  body(1, arguments, given);
  leave();
  here = back;
  depth--;
  jump = GO;
  return returned;
}

static value arguments_and_call(value function, int run) {
  value arguments[8];
  int given = 0;
  if (tokens[here].kind == STRING) {
    here++;
  } else if (is("{")) {
    expression(run);
  } else {
    expect("(");
    while (!take(")")) {
      value v = expression(run);
      if (given < 8) arguments[given++] = v;
      if (!take(",") && !is(")")) refuse();
      else if (is(")") && *tokens[here - 1].text == ',') refuse();
    }
  }
  return run ? call(function, arguments, given) : nil;
}

static value suffixed(int run, variable **place) {
  value v = other;
  *place = NULL;
  if (take("(")) {
    v = expression(run);
    expect(")");
  } else {
    token *t = name();
    *place = find(t);
    v = *place ? (*place)->value : nil;
  }
  for (;;) {
    if (take(".")) {
      name();
      v = nil;
    } else if (take("[")) {
      expression(run);
      expect("]");
      v = nil;
    } else if (take(":")) {
      name();
      v = arguments_and_call(nil, run);
    } else if (is("(") || is("{") || tokens[here].kind == STRING) {
      v = arguments_and_call(v, run);
    } else {
      return v;
    }
    *place = NULL;
  }
}

/* After "if" or "elseif". */
static value conditional(int run) {
  int chosen = truth(expression(run));
  expect("then");
  value then = expression(run && chosen), otherwise;
  if (take("elseif")) {
    otherwise = conditional(run && !chosen);
  } else {
    expect("else");
    otherwise = expression(run && !chosen);
  }
  return chosen ? then : otherwise;
}

static value simple(int run) {
  variable *place;
  token *t = &tokens[here];
  if (t->kind == NUMBER) return here++, number(t->number);
  if (t->kind == STRING) return here++, other;
  if (take("nil")) return nil;
  if (take("true")) return boolean(1);
  if (take("false")) return boolean(0);
  if (take("...")) return nil;
  if (take("function")) return body(0, NULL, 0);
  if (take("{")) {
    while (!take("}")) {
      if (take("[")) {
        expression(run);
        expect("]");
        expect("=");
      } else if (tokens[here].kind == NAME && tokens[here + 1].length == 1 &&
                 *tokens[here + 1].text == '=') {
        name();
        expect("=");
      }
      expression(run);
      if (!take(",") && !take(";") && !is("}")) refuse();
    }
    return other;
  }
  if (take("if")) return conditional(run);
  return suffixed(run, &place);
}

static int priority(void) {
  static const char *const levels[][7] = {{"or"},       {"and"},          {"<", ">", "<=", ">=", "~=", "=="},
                                          {".."},       {"+", "-"},       {"*", "/", "//", "%"},
                                          {"^"}};
  for (int level = 0; level < 7; level++)
    for (int i = 0; i < 7 && levels[level][i]; i++)
      if (is(levels[level][i])) return level + 1 + (level > 5);
  return 0;
}

static value compute(token *op, value a, value b) {
  double x = number_of(a), y = number_of(b);
  switch (*op->text) {
    case 'o': return truth(a) ? a : b;
    case 'a': return truth(a) ? b : a;
    case '<': return boolean(op->length == 2 ? x <= y : x < y);
    case '>': return boolean(op->length == 2 ? x >= y : x > y);
    case '=': return boolean(a.kind == b.kind && x == y);
    case '~': return boolean(a.kind != b.kind || x != y);
    case '+': return number(x + y);
    case '-': return number(x - y);
    case '*': return number(x * y);
    case '/': return number(y ? (op->length == 2 ? (double)(long)(x / y) : x / y) : 0);
    case '%': return number(y ? x - y * (double)(long)(x / y) : 0);
    default: return other;
  }
}

static value operation(int least, int run) {
  value v;
  if (++depth > MOST_DEPTH) refuse();
  if (take("not")) v = boolean(!truth(operation(7, run)));
  else if (take("-")) v = number(-number_of(operation(7, run)));
  else if (take("#")) operation(7, run), v = number(0);
  else v = simple(run);
  while (take("::")) type();
  for (int level; (level = priority()) > least;) {
    token *op = &tokens[here++];
    v = compute(op, v, operation(level - (*op->text == '.' || *op->text == '^'), run));
  }
  depth--;
  return v;
}
static value expression(int run) { return operation(0, run); }

/* Statements */

static int again(void) { return jump != BREAK && jump != RETURN && ++steps < MOST_STEPS; }
static void leave_loop(void) {
  leave();
  if (jump == BREAK || jump == CONTINUE) jump = GO;
}
static void next_turn(void) {
  if (jump == CONTINUE) jump = GO;
}

static void while_loop(int run) {
  int start = here, go = run;
  if (run) enter('w');
  do {
    here = start;
    next_turn();
    go = truth(expression(go)) && go;
    expect("do");
    block(go);
    expect("end");
  } while (go && again());
  if (run) leave_loop();
}

static void repeat_loop(int run) {
  int start = here, go = run, scope = in_scope;
  if (run) enter('r');
  do {
    here = start;
    next_turn();
    block(go);
    expect("until");
    go = !truth(expression(go && jump == GO)) && go;
    in_scope = scope;
  } while (go && again());
  if (run) leave_loop();
}

static void for_loop(int run) {
  int scope = in_scope;
  token *first = name();
  annotation();
  if (take("=")) {
    double from = number_of(expression(run)), to, step = 1;
    expect(",");
    to = number_of(expression(run));
    if (take(",")) step = number_of(expression(run));
    expect("do");
    int start = here, go = run && step && (step > 0 ? from <= to : from >= to);
    declare(first, number(from));
    if (run) enter('f');
    for (;;) {
      here = start;
      next_turn();
      variables[scope].value = number(from);
      block(go);
      expect("end");
      from += step;
      if (!go || !again() || !(step > 0 ? from <= to : from >= to)) break;
    }
    if (run) leave_loop();
  } else {
    declare(first, number(1));
    while (take(",")) {
      token *t = name();
      annotation();
      declare(t, nil);
    }
    expect("in");
    do expression(run); while (take(","));
    expect("do");
    if (run) enter('i');
    block(run);
    if (run) leave_loop();
    expect("end");
  }
  in_scope = scope;
}

static void if_statement(int run) {
  int chosen = truth(expression(run)) && run, done = chosen;
  expect("then");
  if (chosen) enter('?');
  block(chosen);
  if (chosen) leave();
  while (take("elseif")) {
    chosen = truth(expression(run && !done)) && run && !done;
    done = done || chosen;
    expect("then");
    block(chosen);
  }
  if (take("else")) block(run && !done);
  expect("end");
}

static void local(int run) {
  if (take("function")) {
    token *t = name();
    declare(t, nil);
    int mine = in_scope - 1;
    variables[mine].value = body(0, NULL, 0);
    return;
  }
  token *names[20];
  value values[20];
  int wanted = 0, given = 0;
  do {
    if (wanted == 20) refuse();
    names[wanted++] = name();
    annotation();
  } while (take(","));
  if (take("="))
    do {
      value v = expression(run);
      if (given < 20) values[given++] = v;
    } while (take(","));
  for (int i = 0; i < wanted; i++) declare(names[i], i < given ? values[i] : nil);
}

static void assign_or_call(int run) {
  variable *places[20];
  int wanted = 0;
  do {
    if (wanted == 20) refuse();
    suffixed(run, &places[wanted++]);
  } while (take(","));
  token *op = &tokens[here];
  if (take("=")) {
    for (int i = 0;; i++) {
      value v = expression(run);
      if (run && i < wanted && places[i]) places[i]->value = v;
      if (!take(",")) return;
    }
  }
  if (op->kind == SYMBOL && op->length >= 2 && op->text[op->length - 1] == '=') {
    here++;
    value v = expression(run);
    if (run && places[0]) places[0]->value = compute(op, places[0]->value, v);
  } else if (*tokens[here - 1].text != ')' && *tokens[here - 1].text != '}' &&
             tokens[here - 1].kind != STRING) {
    refuse();
  }
}

static void statement(int run) {
  if (take("while")) while_loop(run);
  else if (take("repeat")) repeat_loop(run);
  else if (take("for")) for_loop(run);
  else if (take("if")) if_statement(run);
  else if (take("local")) local(run);
  else if (take("do")) {
    block(run);
    expect("end");
  } else if (take("function")) {
    name();
    while (take(".") || take(":")) name();
    body(0, NULL, 0);
  } else if (is("type") || is("export")) {
    take("export");
    here++;
    name();
    if (take("<")) types_until(">");
    expect("=");
    type();
  } else if (take("break")) {
    if (run) jump = BREAK;
  } else if (is("continue") && tokens[here + 1].kind != SYMBOL) {
    here++;
    if (run) jump = CONTINUE;
  } else if (take("return")) {
    value v = nil;
    if (!is("end") && !is("else") && !is("elseif") && !is("until") && tokens[here].kind != END &&
        !is(";"))
      do v = expression(run); while (take(","));
    if (run) {
      returned = v;
      jump = RETURN;
    }
  } else {
    assign_or_call(run);
  }
}

static void block(int run) {
  int scope = in_scope;
  if (++depth > MOST_DEPTH) refuse();
  while (tokens[here].kind != END && !is("end") && !is("else") && !is("elseif") && !is("until")) {
    statement(run && jump == GO && ++steps < MOST_STEPS);
    take(";");
  }
  if (!is("until")) in_scope = scope;
  depth--;
}

static int run_source(const char *source, size_t length) {
  here = in_scope = depth = steps = constructs = 0;
  jump = GO;
  if (setjmp(refused)) return 1;
  tokenize(source, source + length);
  block(0);
  if (tokens[here].kind != END) return 1;
  here = in_scope = depth = 0;
  block(1);
  return 0;
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t length) {
  run_source((const char *)data, length);
  return 0;
}
#elif defined __AFL_FUZZ_TESTCASE_LEN
__AFL_FUZZ_INIT();
int main(void) {
  __AFL_INIT();
  const char *source = (const char *)__AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(10000)) run_source(source, __AFL_FUZZ_TESTCASE_LEN);
  return 0;
}
#else
static char text[1 << 20];
int main(void) {
  size_t length = fread(text, 1, sizeof text, stdin);
  return run_source(text, length);
}
#endif
