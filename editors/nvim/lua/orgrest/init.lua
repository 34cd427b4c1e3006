--- Requests in Org and request files, sent by the language server `orgrest lsp`.
local panes = require("orgrest.panes")

local M = {}

M.options = {
  cmd = { "orgrest", "lsp" }, -- the program, and its arguments
  keys = nil, -- the prefix of the keys, such as "<localleader>"; nil maps no keys
  capabilities = nil, -- capabilities of a completion plugin, added to Neovim's
}

local outcomes = vim.api.nvim_create_namespace("orgrest")
local sending = vim.api.nvim_create_namespace("orgrest.sending")
local HIGHLIGHTS = { passed = "DiagnosticInfo", skipped = "DiagnosticHint" }
local client_id -- of the language server, while it runs
local opened = {} -- for each buffer, true once the server has opened it; until then, functions to call

--- Set options, which replace the defaults.
function M.setup(options)
  M.options = vim.tbl_extend("force", M.options, options or {})
end

local function complain(text)
  vim.notify("orgrest: " .. text, vim.log.levels.ERROR)
end

--- Return the client of the language server, or nil if it is not running.
function M.client()
  return client_id and vim.lsp.get_client_by_id(client_id)
end

--- Send the language server a request about a buffer. Show errors; otherwise, call done with the result.
--- In both cases, first call ended.
local function ask(method, params, buffer, done, ended)
  ended = ended or function() end
  local client = M.client()
  if not client then
    ended()
    return complain("the language server is not running; see :checkhealth orgrest")
  end
  local function answered(problem, result)
    ended()
    if problem then
      complain(problem.message)
    elseif done and result ~= nil and result ~= vim.NIL then
      done(result)
    end
  end
  local function send()
    if vim.fn.has("nvim-0.11") == 1 then
      client:request(method, params, answered, buffer)
    else
      client.request(method, params, answered, buffer)
    end
  end
  if type(opened[buffer]) == "table" then
    table.insert(opened[buffer], send)
  else
    send()
  end
end

local function command(name, buffer, line, done, ended)
  local where = { uri = vim.uri_from_bufnr(buffer), line = line }
  ask("workspace/executeCommand", { command = name, arguments = { where } }, buffer, done, ended)
end

--- Run a command that sends requests. Until it has ended, say so at the end of the line at (from 0).
local function send(name, buffer, line, at, done)
  local text = { { "  sending...", "DiagnosticHint" } }
  local id = vim.api.nvim_buf_set_extmark(buffer, sending, at, 0, { virt_text = text })
  command(name, buffer, line, done, function()
    pcall(vim.api.nvim_buf_del_extmark, buffer, sending, id)
  end)
end

local function report(result)
  if result.outcome ~= "passed" then
    local failed = result.outcome ~= "skipped"
    vim.notify("orgrest: " .. result.message, vim.log.levels[failed and "ERROR" or "INFO"])
  end
end

--- Show the outcome of a request at the end of its line.
local function mark(notification)
  local record = notification.record
  local buffer = vim.fn.bufnr(vim.uri_to_fname(notification.request.uri))
  local line = notification.request.line
  if buffer < 0 or line >= vim.api.nvim_buf_line_count(buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffer, outcomes, line, line + 1)
  local text = { { "  " .. panes.summary(record), HIGHLIGHTS[record.outcome] or "DiagnosticError" } }
  vim.api.nvim_buf_set_extmark(buffer, outcomes, line, 0, { virt_text = text })
end

local function is_org(notification)
  return notification.textDocument.uri:match("%.org$") ~= nil
end

local handlers = {
  -- Neovim's own handler says that it applied an outdated edit although it did not, and does not
  -- check edits of version 0.
  ["workspace/applyEdit"] = function(problem, params, ...)
    for _, change in ipairs(params.edit.documentChanges) do
      local document = change.textDocument
      local buffer = vim.uri_to_bufnr(document.uri)
      if (vim.lsp.util.buf_versions[buffer] or 0) > document.version then
        -- Before a request, Neovim sends the changes; the server then tries again.
        ask("orgrest/session", { textDocument = { uri = document.uri } }, buffer)
        return { applied = false, failureReason = "the buffer has changed" }
      end
    end
    return vim.lsp.handlers["workspace/applyEdit"](problem, params, ...)
  end,
  ["orgrest/response"] = function(_, notification)
    mark(notification)
    if is_org(notification) then -- the result is inserted below the block
      panes.keep(notification)
    else
      panes.show(notification)
    end
  end,
  ["orgrest/prompt"] = function(_, params)
    local read = params.hidden and vim.fn.inputsecret or vim.fn.input
    local done, text = pcall(read, params.message .. " ")
    return done and text ~= "" and { text = text } or vim.NIL
  end,
}

local function configuration()
  local own = vim.lsp.protocol.make_client_capabilities()
  own.workspace.workspaceEdit.documentChanges = true
  own.experimental = { orgrest = { responses = true, prompts = true, outcomes = true } }
  return {
    name = "orgrest",
    cmd = M.options.cmd,
    capabilities = vim.tbl_deep_extend("force", own, M.options.capabilities or {}),
    handlers = handlers,
    on_attach = function(_, buffer)
      local waiting = opened[buffer]
      opened[buffer] = true
      for _, send in ipairs(type(waiting) == "table" and waiting or {}) do
        send()
      end
    end,
    on_exit = function()
      local buffers = opened
      client_id, opened = nil, {}
      vim.schedule(function() -- on_exit itself may not change buffers
        for buffer in pairs(buffers) do
          pcall(vim.api.nvim_buf_clear_namespace, buffer, sending, 0, -1)
        end
      end)
    end,
  }
end

--- Attach the language server to a buffer, and map its keys.
function M.attach(buffer)
  if vim.bo[buffer].buftype ~= "" then
    return
  end
  if vim.fn.executable(M.options.cmd[1]) == 0 then
    return complain(M.options.cmd[1] .. " is not on the PATH; see :checkhealth orgrest")
  end
  if not M.client() then
    client_id = vim.lsp.start_client(configuration())
  end
  if not client_id then
    return
  end
  opened[buffer] = opened[buffer] or {}
  vim.lsp.buf_attach_client(buffer, client_id)
  vim.bo[buffer].omnifunc = "v:lua.vim.lsp.omnifunc" -- <C-x><C-o> completes
  for key, name in pairs(M.options.keys and M.keys or {}) do
    vim.keymap.set("n", M.options.keys .. key, function() M.run(name) end, {
      buffer = buffer,
      desc = M.actions[name].desc,
    })
  end
end

local function cursor_line()
  return vim.api.nvim_win_get_cursor(0)[1] - 1
end

--- Send the requests of this buffer up to a line (from 0), with their unsaved changes.
local function send_until(line)
  local buffer = vim.api.nvim_get_current_buf()
  send("orgrest.sendAllAbove", buffer, line, cursor_line(), function(result)
    for _, each in ipairs(result.results or { result }) do
      report(each)
    end
  end)
end

--- Move the cursor to the next request or block, or to the previous one if above is true.
local function go(above)
  local buffer, here = vim.api.nvim_get_current_buf(), cursor_line()
  local document = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  ask("textDocument/documentSymbol", document, buffer, function(symbols)
    local target
    for _, symbol in ipairs(symbols) do
      local line = symbol.selectionRange.start.line
      local is_request = symbol.kind ~= vim.lsp.protocol.SymbolKind.Variable
      if is_request and above and line < here then
        target = line
      elseif is_request and not above and line > here then
        target = target or line
      end
    end
    if target then
      vim.cmd("normal! m'") -- for CTRL-O
      vim.api.nvim_win_set_cursor(0, { target + 1, 0 })
    end
  end)
end

local NONE = "no environment"

local function choose_environment()
  local buffer = vim.api.nvim_get_current_buf()
  local document = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  ask("orgrest/environments", document, buffer, function(answer)
    if #answer.environments == 0 then
      return vim.notify("orgrest: this document has no environments")
    end
    local names = vim.list_extend({ NONE }, answer.environments)
    local current = #answer.chosen > 0 and table.concat(answer.chosen, ", ") or NONE
    vim.ui.select(names, { prompt = "Environment (now: " .. current .. ")" }, function(name)
      if name then
        document.chosen = name == NONE and {} or { name }
        ask("orgrest/environments", document, buffer)
      end
    end)
  end)
end

local function show_history()
  local buffer = vim.api.nvim_get_current_buf()
  local folder = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":p:h")
  ask("orgrest/history", { folders = { vim.uri_from_fname(folder) } }, buffer, function(history)
    local requests = {}
    for _, run in ipairs(history.runs) do
      for _, request in ipairs(run.requests) do
        table.insert(requests, { run = run, request = request })
      end
    end
    if #requests == 0 then
      return vim.notify("orgrest: the history of this folder is empty")
    end
    vim.ui.select(requests, {
      prompt = "Earlier requests",
      format_item = function(item)
        local request = item.request
        local status = type(request.status) == "number" and request.status or request.outcome
        return ("%s  %s %s %s"):format(item.run.started:sub(1, 19), status, request.method, request.url)
      end,
    }, function(item)
      if item then
        local which = { run = item.run.run, number = item.request.number }
        ask("orgrest/history", which, buffer, panes.show)
      end
    end)
  end)
end

M.actions = {
  send = {
    desc = "Send the request at the cursor",
    run = function()
      local line = cursor_line()
      send("orgrest.send", vim.api.nvim_get_current_buf(), line, line, report)
    end,
  },
  all = {
    desc = "Send all requests",
    run = function() send_until(vim.api.nvim_buf_line_count(0) - 1) end,
  },
  above = {
    desc = "Send all requests down to the cursor",
    run = function() send_until(cursor_line()) end,
  },
  cancel = {
    desc = "Cancel the requests in progress",
    run = function() command("orgrest.cancel", vim.api.nvim_get_current_buf(), 0) end,
  },
  curl = {
    desc = "Copy the request as a curl command",
    run = function()
      local buffer = vim.api.nvim_get_current_buf()
      command("orgrest.copyAsCurl", buffer, cursor_line(), function(text)
        vim.fn.setreg('"', text)
        pcall(vim.fn.setreg, "+", text)
        vim.notify("orgrest: copied as a curl command")
      end)
    end,
  },
  environment = { desc = "Choose the environment", run = choose_environment },
  history = { desc = "Show an earlier response", run = show_history },
  next = { desc = "Go to the next request", run = function() go(false) end },
  previous = { desc = "Go to the previous request", run = function() go(true) end },
  response = { desc = "Show the last response again", run = function() panes.reopen() end },
}

M.keys = {
  s = "send",
  a = "all",
  u = "above",
  x = "cancel",
  c = "curl",
  e = "environment",
  h = "history",
  r = "response",
  n = "next",
  p = "previous",
}

--- Run the action with this name.
function M.run(name)
  local action = M.actions[name]
  if action then
    action.run()
  else
    complain(("there is no action %s: %s"):format(name, table.concat(M.actions_like(""), ", ")))
  end
end

--- Return the names of the actions that start with lead, sorted.
function M.actions_like(lead)
  local names = vim.tbl_filter(function(name) return vim.startswith(name, lead) end,
    vim.tbl_keys(M.actions))
  table.sort(names)
  return names
end

--- Send the request of a response again.
function panes.resend(notification)
  local buffer = vim.fn.bufadd(vim.uri_to_fname(notification.request.uri))
  vim.fn.bufload(buffer)
  local line = notification.request.line
  send("orgrest.send", buffer, line, math.min(line, vim.api.nvim_buf_line_count(buffer) - 1), report)
end

return M
