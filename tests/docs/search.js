// Searches the built site as its own pages do: `node search.js WORKER INDEX QUERY...` prints, for each
// query, a line of JSON with the places that are found, best first.
const { readFileSync } = require("node:fs")
const { createContext, runInContext } = require("node:vm")

const READY = 1, RESULT = 3
const [worker, index, ...queries] = process.argv.slice(2)
const data = JSON.parse(readFileSync(index, "utf8"))

function postMessage(message) {
  if (message.type === RESULT) {
    const found = message.data.items.map((item) => data.items[item.id].location)
    console.log(JSON.stringify(found))
    queries.shift()
  } else if (message.type !== READY) {
    throw new Error("the search failed")
  }
  if (queries.length > 0) {
    self.onmessage({ data: { type: 2, data: { input: queries[0] } } })
  }
}

const self = { postMessage }
runInContext(readFileSync(worker, "utf8"), createContext({ self, Intl, console }))
self.onmessage({ data: { type: 0, data } })
