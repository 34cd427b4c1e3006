// The real Luau, npm's luau-web, as a service: the protocol is that of persistent.py.
//
//     node luau_web.mjs FOLDER        FOLDER/node_modules/luau-web, or where Node looks else
//
// A program runs in a worker thread, since WebAssembly that does not return can only be ended with
// its thread. The variants -O0, -O1 and -O2 are a comment in the first line, `--!optimize 2`.
//
// Another module may plant bugs: it calls `start` with its own `url`, `prelude(variant)`, Luau that
// runs before a program, `transform(source, variant)`, `environment`, functions for the prelude,
// `finish(answer)`, and `words`, which its workers find in `workerData`.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { realpathSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const PRELUDE = `
local module = nil
local lines, size = {}, 0
local concat, gsub, format, byte, tostring, pack, error, gcinfo =
  table.concat, string.gsub, string.format, string.byte, tostring, table.pack, error, gcinfo
local function escape(character) return format("\\\\x%02x", byte(character)) end
function print(...)
  local texts = pack(...)
  for position = 1, texts.n do texts[position] = tostring(texts[position]) end
  local line = gsub(concat(texts, "\\t"), "[^ -~\\t\\n]", escape)
  size += #line + 1
  if size > 1000000 then error("printed more than a megabyte", 0) end
  lines[#lines + 1] = line
end
local loaded, value = false, nil
function require(path)
  if path ~= "./module0" or not module then error("no module " .. tostring(path), 2) end
  if not loaded then loaded = true value = module() end
  return value
end
return function()
  lines[#lines + 1] = ""
  return concat(lines, "\\n"), gcinfo()
end, function(required) module = required end
`

// A destroyed state spoils the next one, so none is destroyed: a worker is given up when its states
// hold so many kilobytes, or after so many programs.
const KILOBYTES = 25_000
const RUNS = 500

// luau-web 1.4.0 has 274 pages (18 MB) for good, which a few programs have filled. The section of its
// memory is made to say 1024 (64 MB); where it is another, it stays, and less is put into it.
const MEMORY = Buffer.from([5, 6, 1, 1, 0x92, 2, 0x92, 2])
const MORE_MEMORY = Buffer.from([5, 6, 1, 1, 0x80, 8, 0x80, 8])
const KILOBYTES_OF_LITTLE = 5_000
const BROKEN = new Set(['memory', 'assertion', 'crash'])
const STARTING = 30_000 // milliseconds for what is done with a source before it runs

function kindOf(message) {
    if (/not enough memory|out of memory|OOM|memory allocation/i.test(message)) return 'memory'
    // The stack of a WebAssembly thread is not Luau's: a deep recursion is no bug of it.
    if (/Maximum call stack size/.test(message)) return 'error'
    if (/Aborted\(.*Assertion failed/.test(message)) return 'assertion'
    return 'crash'
}

// Compile luau-web's WebAssembly once for all workers, with more memory; it loads itself by this.
function shareCompiled() {
    const { instantiate } = WebAssembly
    let compiled = workerData.compiled
    WebAssembly.instantiate = async (bytes, imports) => {
        if (!compiled) {
            const copy = Buffer.from(bytes)
            const at = copy.indexOf(MEMORY)
            const large = at > 0 && copy.indexOf(MEMORY, at + 1) < 0
            if (large) MORE_MEMORY.copy(copy, at)
            compiled = { module: await WebAssembly.compile(copy), large }
            parentPort.postMessage({ compiled })
        }
        const instance = await instantiate(compiled.module, imports)
        return { module: compiled.module, instance }
    }
    return () => compiled?.large
}

async function work(options) {
    const isLarge = shareCompiled()
    const require = createRequire(`${realpathSync(workerData.folder)}/`)
    const { LuauState } = await import(pathToFileURL(require.resolve('luau-web')))
    await LuauState.createAsync()
    let kilobytes = isLarge() ? 0 : KILOBYTES - KILOBYTES_OF_LITTLE
    let runs = 0

    async function run({ id, source, module, variant }) {
        const state = await LuauState.createAsync(options.environment)
        const level = /-O([012])/.exec(variant ?? '')?.[1]
        const load = (text, name) => {
            const chunk = state.loadstring(text || ' ', name) // '' is refused
            if (typeof chunk === 'string') throw Object.assign(new Error(chunk), { rejected: true })
            return chunk
        }
        const optimized = (text) => (level ? `--!optimize ${level}\n${text}` : text)
        const answer = { id, kind: 'ok', output: '', error: '' }
        // A chunk looks its globals up when it is loaded, so that the prelude has to run before.
        const [printed, provide] = await load(PRELUDE, '=prelude')()
        try {
            if (options.prelude) await load(options.prelude(variant), '=prelude')()
            if (module) await provide(load(optimized(module), '=module'))
            const text = options.transform ? options.transform(source, variant) : source
            const program = load(optimized(text), '=source')
            parentPort.postMessage('started')
            await program()
        } catch (error) {
            answer.error = String(error?.message ?? error)
            answer.kind = error?.rejected ? 'rejected' : 'error'
            if (error instanceof WebAssembly.RuntimeError || answer.error.startsWith('Aborted(')) {
                answer.kind = kindOf(answer.error)
                const frames = [...String(error.stack).matchAll(/at (\S+) \(?wasm:/g)]
                answer.frames = frames.map(([, name]) => name)
                return { ...answer, spent: true } // nothing works here any more
            }
            if (/Maximum call stack size/.test(answer.error)) return { ...answer, spent: true }
        }
        const [output, size] = await printed()
        answer.output = output
        kilobytes += size
        return { ...answer, spent: kilobytes > KILOBYTES || ++runs >= RUNS }
    }

    const finish = options.finish ?? ((answer) => answer)
    console.log = console.warn = console.error = () => {}
    parentPort.on('message', async (request) => parentPort.postMessage(finish(await run(request))))
    parentPort.postMessage('ready')
}

let compiled = null

function startWorker({ url, words }, folder) {
    const worker = new Worker(new URL(url), {
        stdout: true,
        stderr: true,
        workerData: { folder, url, words, compiled },
        resourceLimits: { stackSizeMb: 32 }, // for Luau's own limit of 1,000 levels
    })
    const handle = { worker, ended: null, started() {}, settle() {} }
    handle.ready = new Promise((resolve) => (handle.settle = resolve))
    worker.on('message', (message) => {
        if (message === 'started') handle.started()
        else if (message.compiled) compiled = message.compiled
        else handle.settle(message)
    })
    const end = (reason) => {
        handle.ended ??= reason
        handle.settle({ crash: handle.ended })
    }
    worker.on('error', (error) => end(String(error?.message ?? error)))
    worker.on('exit', (code) => end(`the worker ended with ${code}`))
    return handle
}

async function serve(options, folder) {
    let current = startWorker(options, folder)

    function replace() {
        current.worker.terminate()
        current = startWorker(options, folder)
    }

    async function ask(request) {
        await current.ready
        if (current.ended) throw new Error(current.ended)
        let timer
        const limit = (milliseconds) => {
            clearTimeout(timer)
            timer = setTimeout(() => current.settle({ hung: true }), milliseconds)
        }
        const answer = await new Promise((resolve) => {
            current.settle = resolve
            current.started = () => limit(request.milliseconds)
            limit(STARTING)
            current.worker.postMessage(request)
        })
        clearTimeout(timer)
        const first = !current.used
        current.used = true
        const broken = answer.crash !== undefined || BROKEN.has(answer.kind)
        if (answer.hung || broken || answer.spent) replace()
        // It may be of what was before: what fails again in a new worker is the program's.
        return broken && !first ? ask(request) : answer
    }

    async function answer(request) {
        const { hung, crash, spent, ...outcome } = await ask(request)
        const { id, milliseconds } = request
        if (hung) return { id, kind: 'hang', output: '', error: `still running after ${milliseconds} ms` }
        if (crash === undefined) return outcome
        return { id, kind: kindOf(crash), output: '', error: crash }
    }

    for await (const line of createInterface({ input: process.stdin })) {
        process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + '\n')
    }
    await current.worker.terminate()
}

export async function start(options) {
    if (!isMainThread) return work(options)
    // Programs are short and run once: V8's better code would take longer to make than it saves.
    setFlagsFromString('--liftoff-only')
    try {
        await serve(options, process.argv[2] || process.cwd())
    } catch (error) {
        console.error(String(error?.message ?? error))
        process.exit(1)
    }
}

const main = isMainThread ? pathToFileURL(realpathSync(process.argv[1])).href : workerData?.url
if (main === import.meta.url) await start({ url: import.meta.url })
