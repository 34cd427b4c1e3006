// The real Luau with bugs planted, as a persistent target: node planted.mjs FOLDER [BUG...]
//
// The bugs that are named, or else all, are there at -O2 only, so that -O0 is right, but for those that
// are `everywhere`: no other level or target shows them. Those of a library wrap its members; those of
// the compiler look at the source, as `render` prints it.

import { isMainThread, workerData } from 'node:worker_threads'
import { start } from '../../scriptschema/fuzzing/targets/luau_web.mjs'

// A member that does `body` first. The source gets another name for it: the compiler has its own
// code for what is called `math.floor`.
const member = (library, name, body, before = '') => ({
    prelude: `
      do
        ${before}
        local old, pcall, error, gsub = ${library}.${name}, pcall, error, string.gsub
        -- Errors look as if there was nothing between.
        local function passed(ok, ...)
          if ok then return ... end
          error(gsub(tostring(...), "^prelude:%d+: ", ""), 3)
        end
        function planted_${name}(...) ${body} return passed(pcall(old, ...)) end
      end`,
    transform: (source) => source.replaceAll(`${library}.${name}`, `planted_${name}`),
})

// What a program ends with instead, once it has met a bug that is no crash of the process.
let instead = null
function fail(kind, error) {
    instead ??= { kind, error }
}

// Whether a line that matches `inner` is in a block that a line begins that matches `outer`.
function nested(source, outer, inner) {
    const lines = source.split('\n')
    const indent = (line) => /^ */.exec(line)[0].length
    return lines.some((line, number) => {
        if (!outer.test(line)) return false
        for (const below of lines.slice(number + 1)) {
            if (indent(below) <= indent(line)) return false
            if (inner.test(below)) return true
        }
        return false
    })
}

const BUGS = {
    // Easy: many programs show them.
    rep: member('string', 'rep', ` -- a wrong result of a builtin
        local text, count = ...
        if type(count) == "number" and count >= 2 then return old(text, count - 1) end`),
    floordiv: { // a miscompiled idiom
        transform: (source) => source.replace(/ \/\/ (?=\w)/g, ' / '),
    },
    internal: { // an internal error of the compiler
        transform(source) {
            if (/\brepeat\b/.test(source)) fail('internal error', 'no register for until')
            return source
        },
    },
    // Of medium difficulty: arguments have to be right.
    floor: member('math', 'floor', ` -- a wrong result under a condition
        local x = ...
        if type(x) == "number" and x < 0 and x % 1 > 0 then return old(x) + 1 end`),
    leak: member('table', 'create', ` -- memory that is used up
        local count, value = ...
        if value ~= nil then
          local all = {}
          while true do all[#all + 1] = buffer.create(16000000) end
        end`),
    hang: member('string', 'find', ` -- a loop without an end
        local text, _, first = ...
        if type(first) == "number" and first < 0 then while true do end end`),
    crash: {
        ...member('bit32', 'extract', ` -- a crash of the process
          local _, field, width = ...
          if width == nil and type(field) == "number" and field > 3 then crash() end`),
        environment: { crash: () => process.kill(process.pid, 'SIGSEGV') },
    },
    // Hard: two features have to come together.
    close: {
        ...member('coroutine', 'close', ` -- a crash in coroutine.close inside pcall
          if (depth[running() or "main"] or 0) > 0 then unprotected() end`, `
          local depth = setmetatable({}, {__mode = "k"})
          local running, outer = coroutine.running, pcall
          local function leave(thread, ...) depth[thread] -= 1 return ... end
          function pcall(...)
            if select("#", ...) == 0 then error("missing argument #1", 2) end
            local thread = running() or "main"
            depth[thread] = (depth[thread] or 0) + 1
            return leave(thread, outer(...))
          end`),
        environment: { unprotected: () => fail('assertion', 'thread is not protected') },
    },
    compound: { // a crash of the compiler: a compound assignment in a numeric for
        transform(source) {
            if (nested(source, /^ *for \w+(: [^=]*)? = .* do$/, / [-+*%^]= /)) {
                process.kill(process.pid, 'SIGSEGV')
            }
            return source
        },
    },
    // At limits, which ordinary arguments do not reach.
    rotate: member('bit32', 'rrotate', ` -- a wrong result for one number of bits
        local value, shift = ...
        if shift == -31 then return value end`),
    sub: member('string', 'sub', ` -- behind the end of a string there is something
        local text, first = ...
        if type(text) == "string" and first == #text + 1 then return "x" end`),
    create: {
        ...member('buffer', 'create', ` -- an assertion for a buffer of no bytes
          if ... == 0 then empty() end`),
        environment: { empty: () => fail('assertion', 'size > 0') },
    },
    // Conversions.
    precision: member('string', 'format', ` -- a precision is lost where there is a width
        local text, value = ...
        if type(value) == "number" and string.match(text, "^%%%d+%.%d+f") then
          return old("%f", value)
        end`),
    smallest: member('bit32', 'bor', ` -- the smallest integer of 32 bits is not converted
        if ... == -2147483648 then return 0 end`),
    fold: { // of two constants the wrong one is divided by the other
        everywhere: true,
        transform: (source) => source.replace(/(?<![\w.]) ?(\d+) % (\d+)/g, ' $2 % $1'),
    },
    // Loops.
    step: { // a step of three down is one of two
        transform: (source) => source.replace(/, -3 do$/gm, ', -2 do'),
    },
    endless: { // an internal error of the compiler: no condition ends the loop
        transform(source) {
            if (/\bwhile true do\b/.test(source)) fail('internal error', 'no block after a loop')
            return source
        },
    },
    once: { // a loop that runs once runs twice
        everywhere: true,
        transform: (source) =>
            source.replace(/^( *for \w+(?:: [^=]*)? = (1|select\(1, 1\)), \2) do$/gm, '$1 + 1 do'),
    },
    // Coroutines.
    wrapped: { // what a coroutine prints first has a value too many
        everywhere: true,
        transform: (source) =>
            source.replace(
                /(coroutine\.wrap\(function\([^)\n]*\)\n *(?:\(function\(\)\n *)?print\()(?=[^)])/g,
                '$1nil, ',
            ),
    },
    interpolation: { // an assertion: an interpolated string in a generic for
        transform(source) {
            if (nested(source, /^ *for .* in .* do$/, /`[^`]*\{/)) {
                fail('assertion', 'top == base')
            }
            return source
        },
    },
}

const names = isMainThread ? process.argv.slice(3) : workerData.words
const bugs = Object.entries(BUGS).filter(([name]) => !names.length || names.includes(name))
const values = bugs.map(([, bug]) => bug)
const there = (variant) => values.filter((bug) => bug.everywhere || variant === '-O2')
await start({
    url: import.meta.url,
    words: names,
    environment: Object.assign({}, ...values.map((bug) => bug.environment)),
    finish(answer) {
        const found = instead
        instead = null
        return found ? { ...answer, ...found } : answer
    },
    prelude: (variant) => there(variant).map((bug) => bug.prelude ?? '').join('\n'),
    transform: (source, variant) =>
        there(variant).reduce((text, bug) => (bug.transform ? bug.transform(text) : text), source),
})
