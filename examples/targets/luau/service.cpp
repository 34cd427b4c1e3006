// Luau's C++ interface as a `persistent:` target of scriptschema: a line of JSON for each program,
// and a line for its answer, with the coverage that the program added.
//
//     luau_service [--check]             the service
//     luau_service [--check] FILE        one program at all levels; aborts if they do not print the same
//     luau_service --version
//
// Built with AFL++'s compiler, the second form is a harness for it, in persistent mode.
//
// The variant of a request is a list of words: `-O0`, `-O1` (the default) or `-O2`, and `--codegen`
// to run all functions as native code. `--check` also type-checks each program in strict mode before it is run
// with its first variant; type errors are ignored, since only a crash or an internal error of the checker is of
// interest.
#include "lua.h"
#include "luacode.h"
#include "luacodegen.h"
#include "lualib.h"

#include "Luau/BuiltinDefinitions.h"
#include "Luau/CodeGen.h"
#include "Luau/Common.h"
#include "Luau/Frontend.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h> // AFL++ reads with it

using Clock = std::chrono::steady_clock;
using Fields = std::map<std::string, std::string>; // null is left out

// ---------------------------------------------------------------------------------- coverage

// Clang's inline 8-bit counters: https://clang.llvm.org/docs/SanitizerCoverage.html
static std::map<uint8_t*, uint8_t*>& regions()
{
    static std::map<uint8_t*, uint8_t*> found; // it is asked for before statics are constructed
    return found;
}

extern "C" void __sanitizer_cov_8bit_counters_init(uint8_t* start, uint8_t* stop)
{
    regions()[start] = stop;
}

// Returns the numbers of the counters that are above zero for the first time. Most are not: 64 of them
// are looked at in one go, and counters that were seen are masked, so they need not be reset.
__attribute__((no_sanitize("address", "undefined"))) static std::string newCounters()
{
    static std::vector<uint8_t> seen; // 0xff for a counter that was above zero
    const size_t block = 64;
    std::string numbers;
    size_t base = 0;
    for (auto [start, stop] : regions())
    {
        size_t size = stop - start;
        if (seen.size() < base + size)
            seen.resize(base + size);
        uint8_t* mask = seen.data() + base;
        for (size_t at = 0; at < size; at += block)
        {
            size_t end = std::min(at + block, size);
            uint8_t any = 0;
            for (size_t n = at; n < end; n++)
                any |= start[n] & ~mask[n];
            for (size_t n = at; any && n < end; n++)
                if (start[n] && !mask[n])
                {
                    mask[n] = 0xff;
                    numbers += (numbers.empty() ? "" : ",") + std::to_string(base + n);
                }
        }
        base += size;
    }
    return numbers;
}

// -------------------------------------------------------------------------------------- JSON

static void appendUtf8(std::string& text, unsigned code)
{
    if (code < 0x80)
        text += char(code);
    else if (code < 0x800)
        (text += char(0xc0 | code >> 6)) += char(0x80 | (code & 63));
    else if (code < 0x10000)
        ((text += char(0xe0 | code >> 12)) += char(0x80 | (code >> 6 & 63))) += char(0x80 | (code & 63));
    else
        (((text += char(0xf0 | code >> 18)) += char(0x80 | (code >> 12 & 63))) += char(0x80 | (code >> 6 & 63))) += char(0x80 | (code & 63));
}

static std::string readString(const char*& at)
{
    std::string text;
    for (at++; *at && *at != '"'; at++)
    {
        if (*at != '\\')
        {
            text += *at;
            continue;
        }
        static const std::string letters = "nrtbf", meant = "\n\r\t\b\f";
        if (*++at != 'u')
        {
            size_t number = letters.find(*at);
            text += number == std::string::npos ? *at : meant[number];
            continue;
        }
        auto hexadecimal = [&] { unsigned code = std::stoul(std::string(at + 1, 4), nullptr, 16); at += 4; return code; };
        unsigned code = hexadecimal();
        if (code >= 0xd800 && code < 0xdc00) // the second half of the pair follows
        {
            at += 2;
            code = 0x10000 + ((code - 0xd800) << 10) + (hexadecimal() - 0xdc00);
        }
        appendUtf8(text, code);
    }
    at++;
    return text;
}

// Reads a flat object, which is what requests are.
static Fields readObject(const char* at)
{
    Fields fields;
    while ((at = strchr(at, '"')))
    {
        std::string name = readString(at);
        at += strspn(at, ": ");
        if (*at == '"')
            fields[name] = readString(at);
        else
        {
            size_t length = strcspn(at, ",} ");
            if (strncmp(at, "null", 4) != 0)
                fields[name] = std::string(at, length);
            at += length;
        }
    }
    return fields;
}

// A JSON string; bytes that are not printable ASCII become \xNN, so that any output is a text.
static std::string quoted(const std::string& text)
{
    std::string result = "\"";
    char code[8];
    for (unsigned char c : text)
    {
        if (c == '\n')
            result += "\\n";
        else if (c == '\t')
            result += "\\t";
        else if (c == '"' || c == '\\')
            (result += '\\') += char(c);
        else if (c >= 32 && c < 127)
            result += char(c);
        else
            snprintf(code, sizeof code, "\\\\x%02x", c), result += code;
    }
    return result + '"';
}

// --------------------------------------------------------------------------------- a program

struct Run
{
    std::string output, kind = "ok", error;
    Clock::time_point end;
    size_t memory = 0, memoryLimit = 0;
    const std::string* module = nullptr;
    lua_CompileOptions options = {};
    bool codegen = false;
};

static const size_t OUTPUT_LIMIT = 1000000;

static void* allocate(void* data, void* pointer, size_t before, size_t after)
{
    Run& run = *static_cast<Run*>(data);
    if (after > before && run.memory + after - before > run.memoryLimit)
        return nullptr;
    run.memory += after - before;
    if (after)
        return realloc(pointer, after);
    free(pointer);
    return nullptr;
}

static Run& runOf(lua_State* L)
{
    return *static_cast<Run*>(lua_callbacks(L)->userdata);
}

// Ends the program, also inside `pcall`: it is called again at the next safepoint.
static void interrupt(lua_State* L, int gc)
{
    Run& run = runOf(L);
    if (gc >= 0)
        return;
    if (run.kind == "ok" && Clock::now() > run.end)
        run.kind = "hang";
    if (run.kind != "ok")
    {
        lua_rawcheckstack(L, LUA_MINSTACK); // the program may have used all of the stack
        luaL_error(L, "%s", run.kind.c_str());
    }
}

static int print(lua_State* L)
{
    Run& run = runOf(L);
    for (int n = 1; n <= lua_gettop(L); n++)
    {
        size_t size;
        const char* text = luaL_tolstring(L, n, &size);
        run.output.append(n == 1 ? "" : "\t").append(text, size);
        lua_pop(L, 1);
    }
    run.output += '\n';
    if (run.output.size() > OUTPUT_LIMIT)
    {
        run.kind = "flood";
        luaL_error(L, "flood");
    }
    return 0;
}

// Pushes a function or, if the source is not compiled, an error message.
static bool load(lua_State* L, Run& run, const std::string& source, const char* name)
{
    size_t size = 0;
    char* code = luau_compile(source.data(), source.size(), &run.options, &size);
    bool loaded = luau_load(L, name, code, size, 0) == 0;
    free(code);
    // The C interface would leave the top level to the interpreter, unless it has a loop.
    if (loaded && run.codegen)
        Luau::CodeGen::compile(L, -1, Luau::CodeGen::CodeGen_ColdFunctions);
    return loaded;
}

static int require(lua_State* L)
{
    Run& run = runOf(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "module");
    if (!lua_isnil(L, -1))
        return 1;
    if (!run.module || !load(L, run, *run.module, "=module"))
        luaL_error(L, "no module");
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "module");
    return 1;
}

static const char* textOf(lua_State* L)
{
    const char* text = lua_tostring(L, -1);
    return text ? text : "(an error that is not a string)";
}

static void execute(Run& run, const std::string& source)
{
    lua_State* L = lua_newstate(allocate, &run);
    lua_callbacks(L)->userdata = &run;
    lua_callbacks(L)->interrupt = interrupt;
    if (run.codegen)
        luau_codegen_create(L);
    luaL_openlibs(L);
    static const luaL_Reg functions[] = {{"print", print}, {"require", require}, {nullptr, nullptr}};
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    luaL_register(L, nullptr, functions);
    lua_pop(L, 1);
    luaL_sandbox(L);
    // The collector never pauses, so that a missing barrier shows in short programs, too.
    lua_gc(L, LUA_GCSETGOAL, 100);
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_State* thread = lua_newthread(L);
    luaL_sandboxthread(thread);
    if (!load(thread, run, source, "=source"))
        run.kind = "rejected", run.error = textOf(thread);
    else
    {
        int status = lua_resume(thread, nullptr, 0);
        if (status != LUA_OK && status != LUA_YIELD)
        {
            run.error = status == LUA_ERRMEM ? "not enough memory" : textOf(thread);
            if (run.kind == "ok")
                run.kind = status == LUA_ERRMEM ? "memory" : "error";
        }
    }
    lua_close(L);
}

// ------------------------------------------------------------------------------- type checker

struct OneFile : Luau::FileResolver, Luau::NullConfigResolver
{
    std::string source;

    std::optional<Luau::SourceCode> readSource(const Luau::ModuleName&) override
    {
        return Luau::SourceCode{"--!strict\n" + source, Luau::SourceCode::Module};
    }
};

static void check(const std::string& source, double seconds)
{
    static OneFile files;
    static std::unique_ptr<Luau::Frontend> frontend;
    static int checked = 0;
    if (checked++ % 100 == 0) // it keeps types of earlier programs
    {
        frontend = std::make_unique<Luau::Frontend>(&files, &files);
        Luau::registerBuiltinGlobals(*frontend, frontend->globals);
        Luau::freeze(frontend->globals.globalTypes);
    }
    files.source = source;
    Luau::FrontendOptions options;
    options.moduleTimeLimitSec = seconds;
    frontend->markDirty("source");
    frontend->check("source", options);
}

// ------------------------------------------------------------------------------------ harness

static const double SECONDS = 1;
static const size_t MEGABYTES = 256;

// Versions of Luau before April 2024 lack the option.
template<typename Options>
static auto setTypeInfo(Options& options, int level) -> decltype(void(options.typeInfoLevel))
{
    options.typeInfoLevel = level;
}

static void setTypeInfo(...) {}

static void setVariant(Run& run, const std::string& variant, double seconds, size_t megabytes)
{
    run.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    run.memoryLimit = megabytes << 20;
    run.options.optimizationLevel = variant.find("-O0") != std::string::npos ? 0 : variant.find("-O2") != std::string::npos ? 2 : 1;
    run.options.debugLevel = 1;
    run.codegen = variant.find("--codegen") != std::string::npos;
    setTypeInfo(run.options, run.codegen);
}

static bool endsWith(const std::string& text, const char* end)
{
    return text.size() >= strlen(end) && text.compare(text.size() - strlen(end), std::string::npos, end) == 0;
}

// What is printed without addresses, the sign of NaN and the lines of errors, which may differ.
static std::string comparable(const std::string& text)
{
    std::string result;
    for (size_t at = 0; at < text.size(); at++)
    {
        if (text.compare(at, 4, "-nan") == 0)
            continue;
        if (text.compare(at, 2, "0x") == 0)
            while (at + 1 < text.size() && isalnum((unsigned char)text[at + 1]))
                at++;
        result += text[at];
        if (text[at] == ':' && (endsWith(result, "source:") || endsWith(result, "module:")))
            while (at + 1 < text.size() && isdigit((unsigned char)text[at + 1]))
                at++;
    }
    return result;
}

static void compareLevels(const std::string& source, bool checks)
{
    for (const char* name : {"os.", "random", "gcinfo", "newproxy", "collectgarbage", "debug."})
        if (source.find(name) != std::string::npos)
            return; // may print another thing in each run
    if (checks)
        check(source, SECONDS);
    std::string first, output;
    for (const char* variant : {"-O0", "-O1", "-O2", "-O2 --codegen"})
    {
        Run run;
        setVariant(run, variant, SECONDS, MEGABYTES);
        if (run.codegen && !luau_codegen_supported())
            break;
        execute(run, source);
        if (run.kind == "hang" || run.kind == "memory" || run.kind == "flood" || run.error.find("stack overflow") != std::string::npos)
            return;
        std::string seen = run.kind + "\n" + comparable(run.output);
        if (first.empty())
            first = seen, output = run.output;
        else if (seen != first)
        {
            fprintf(stderr, "service.cpp(1): ASSERTION FAILED: the same with -O0 and %s\n-O0: %s\n%s: %s\n", variant, first.c_str(), variant, seen.c_str());
            abort();
        }
    }
    fwrite(output.data(), 1, output.size(), stdout);
    fflush(stdout);
}

#ifdef __AFL_FUZZ_TESTCASE_LEN
__AFL_FUZZ_INIT();
#endif

static int harness(const char* path, bool checks)
{
#ifdef __AFL_FUZZ_TESTCASE_LEN
    __AFL_INIT();
    unsigned char* data = __AFL_FUZZ_TESTCASE_BUF;
    if (getenv("__AFL_SHM_FUZZ_ID"))
    {
        while (__AFL_LOOP(1000))
            compareLevels(std::string((char*)data, __AFL_FUZZ_TESTCASE_LEN), checks);
        return 0;
    }
#endif
    std::ifstream file(path, std::ios::binary);
    compareLevels(std::string(std::istreambuf_iterator<char>(file), {}), checks);
    return 0;
}

// ------------------------------------------------------------------------------------ service

static int failed(const char* expression, const char* file, int line, const char*)
{
    fprintf(stderr, "%s(%d): ASSERTION FAILED: %s\n", file, line, expression);
    return 1; // stop
}

// New code is behind flags that are off in a release.
static void setFlags()
{
    for (auto* flag = Luau::FValue<bool>::list; flag; flag = flag->next)
        if (!strncmp(flag->name, "Luau", 4))
            flag->value = true;
}

int main(int count, char** words)
{
    bool checks = false;
    const char* path = nullptr;
    for (int n = 1; n < count; n++)
    {
        if (!strcmp(words[n], "--version"))
            return puts("Luau " LUAU_VERSION), 0;
        checks |= !strcmp(words[n], "--check");
        if (words[n][0] != '-')
            path = words[n];
    }
    std::string checked;
    Luau::assertHandler() = failed;
    setFlags();
    if (path)
        return harness(path, checks);
    for (std::string line; std::getline(std::cin, line);)
    {
        Fields request = readObject(line.c_str());
        const std::string& variant = request["variant"];
        Run run;
        double seconds = std::stod(request["milliseconds"]) / 1000;
        if (checks && request["source"] != checked) // checking takes several times as long as a run
            check(checked = request["source"], seconds / 20); // little: it counts as the program's time
        setVariant(run, variant, seconds, std::stoul(request["megabytes"]));
        auto module = request.find("module");
        run.module = module == request.end() ? nullptr : &module->second;
        if (run.codegen && !luau_codegen_supported())
            run.kind = "rejected", run.error = "there is no native code on this machine";
        else
            execute(run, request["source"]);
        printf("{\"id\": %s, \"kind\": \"%s\", \"output\": %s, \"error\": %s, \"coverage\": [%s]}\n", request["id"].c_str(),
            run.kind.c_str(), quoted(run.output).c_str(), quoted(run.error).c_str(), newCounters().c_str());
        fflush(stdout);
    }
}
