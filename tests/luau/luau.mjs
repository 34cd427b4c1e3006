// The real Luau as a service: a request a line on standard input, an answer a line on standard
// output, both JSON, in order; requests may be sent ahead.
//
// {"source": text}                            -> {"error": text or null}            compiled only
// {"source": text, "module": text or null,
//  "milliseconds": number}                    -> {"error", "output", "timeout"}     run as well
//
// `output` is what the program printed, bytes that are not printable ASCII as \xNN. Sources run in a
// worker of their own, since WebAssembly that does not return can only be ended with its thread.

import { createInterface } from 'node:readline'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const PRELUDE = `
local module = nil
local lines, size = {}, 0
local concat, gsub, format, byte, tostring, pack, error =
  table.concat, string.gsub, string.format, string.byte, tostring, table.pack, error
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
return function() return concat(lines, "\\n") end, function(required) module = required end
`

// A destroyed state spoils the next one, and memory is 16 MB for good: so none is destroyed, and a
// worker is given up after so many runs or characters of source.
const RUNS = 20
const CHARACTERS = 1_000_000
const HUNG = 60_000 // milliseconds for what is done with a source before it runs

async function work() {
    const { LuauState } = await import('luau-web')
    const forCompiling = await LuauState.createAsync()

    function compile({ source }) {
        const chunk = forCompiling.loadstring(source || ' ', '=source')
        return { error: typeof chunk === 'string' ? chunk : null }
    }

    async function run({ source, module }) {
        const state = await LuauState.createAsync()
        const load = (text, name) => state.loadstring(text || ' ', name, true) // '' is refused
        const answer = { error: null, output: '', timeout: false }
        // A chunk looks its globals up when it is loaded, so that the prelude has to run before.
        const [output, provide] = await load(PRELUDE, '=prelude')()
        try {
            if (module) await provide(load(module, '=module'))
            const program = load(source, '=source')
            parentPort.postMessage('started')
            await program()
        } catch (error) {
            answer.error = String(error?.message ?? error)
            if (answer.error.startsWith('Aborted(')) throw error // nothing works here any more
        }
        answer.output = (await output())[0]
        return answer
    }

    console.log = console.warn = console.error = () => {}
    parentPort.on('message', async (request) => {
        const answer = 'milliseconds' in request ? await run(request) : compile(request)
        parentPort.postMessage(answer)
    })
    parentPort.postMessage('ready')
}

function start() {
    const worker = new Worker(new URL(import.meta.url), {
        stdout: true,
        stderr: true,
        resourceLimits: { stackSizeMb: 32 }, // for Luau's own limit of 1,000 levels
    })
    const handle = { worker, ended: false, runs: 0, characters: 0 }
    handle.ready = new Promise((resolve) => (handle.settle = resolve))
    worker.on('message', (message) => {
        if (message === 'started') handle.started()
        else handle.settle(message)
    })
    const end = (crash) => {
        handle.ended = true
        handle.settle({ crash })
    }
    worker.on('error', (error) => end(String(error?.message ?? error)))
    worker.on('exit', (code) => end(`the worker ended with ${code}`))
    return handle
}

async function serve() {
    let current = start()
    let spare = start()

    function replace() {
        current.worker.terminate()
        current = spare
        spare = start()
    }

    async function ask(request) {
        current.runs += 'milliseconds' in request ? 1 : 0
        current.characters += request.source.length + (request.module ?? '').length
        if (current.runs > RUNS || current.characters > CHARACTERS) replace()
        await current.ready
        if (current.ended) replace()
        await current.ready
        let timer
        const limit = (milliseconds) => {
            clearTimeout(timer)
            timer = setTimeout(() => current.settle({ timeout: true }), milliseconds)
        }
        const outcome = await new Promise((resolve) => {
            current.settle = resolve
            current.started = () => limit(request.milliseconds)
            limit(HUNG)
            current.worker.postMessage(request)
        })
        clearTimeout(timer)
        if (outcome.timeout || outcome.crash !== undefined) replace()
        return outcome
    }

    async function answer(request) {
        let outcome = await ask(request)
        // A worker may have died of what was before: what fails again in a new one is the source's.
        if (outcome.crash !== undefined) outcome = await ask(request)
        if (outcome.timeout) return { error: 'ran out of time', output: '', timeout: true }
        if (outcome.crash !== undefined) return { error: outcome.crash, output: '', timeout: false }
        return outcome
    }

    for await (const line of createInterface({ input: process.stdin })) {
        process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + '\n')
    }
    await current.worker.terminate()
    await spare.worker.terminate()
}

await (isMainThread ? serve() : work())
