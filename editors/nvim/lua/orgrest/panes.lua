--- The window that shows a response: its body, its headers, and statistics.
local M = {}

local FILETYPES = { plaintext = "text", jsonc = "json" }
local NAMES = { "Body", "Headers", "Statistics" }
local LONG = 1024 * 1024 -- longer bodies are shown without highlighting
local window, current -- the window for responses; the response that it shows
local latest -- the last response, which may not have been shown
local pane = "Body"

local function is_set(value)
  return value ~= nil and value ~= vim.NIL
end

local function last(record)
  return record.exchanges[#record.exchanges]
end

local function milliseconds(seconds)
  return ("%.1f ms"):format(seconds * 1000)
end

--- Return a short description of the outcome of a request.
function M.summary(record)
  local exchange = last(record)
  local response = exchange and is_set(exchange.response) and exchange.response
  local words = {}
  if response then
    words = { tostring(response.status), response.reason, milliseconds(exchange.duration) }
  end
  local failed = 0
  for _, assertion in ipairs(record.assertions) do
    failed = failed + (assertion.passed and 0 or 1)
  end
  if failed > 0 then
    table.insert(words, ("%d of %d assertions failed"):format(failed, #record.assertions))
  elseif is_set(record.reason) then
    table.insert(words, record.reason)
  end
  return (table.concat(words, " "):gsub("%s+", " "))
end

local function lines_of(text)
  return vim.split((text:gsub("\r\n", "\n"):gsub("\n$", "")), "\n")
end

local function body_lines(record)
  local exchange = last(record)
  local response = exchange and is_set(exchange.response) and exchange.response
  if not response then
    return { is_set(record.reason) and record.reason or "No response." }, "text"
  end
  local body = response.body
  local filetype = FILETYPES[body.language] or body.language or "text"
  local path = is_set(body.uri) and vim.uri_to_fname(body.uri)
  if is_set(body.pretty) and body.pretty ~= "" then
    local lines = lines_of(body.pretty)
    if not body.whole and path then
      table.insert(lines, 1, ("Only the beginning; all %d bytes are in %s"):format(body.size, path))
      filetype = "text"
    end
    return lines, #body.pretty > LONG and "text" or filetype
  elseif path then
    return { ("%d bytes of %s, in %s"):format(body.size, body.type, path) }, "text"
  end
  return { "The body is empty." }, "text"
end

local function header_lines(record)
  local lines = {}
  for _, exchange in ipairs(record.exchanges) do
    local request, response = exchange.request, exchange.response
    table.insert(lines, request.method .. " " .. request.url)
    for _, header in ipairs(request.headers) do
      table.insert(lines, header[1] .. ": " .. header[2])
    end
    table.insert(lines, "")
    if is_set(response) then
      for _, step in ipairs(response.redirects) do
        table.insert(lines, ("Redirected (%d) to %s"):format(step.status, step.url))
      end
      local status = { "HTTP/" .. response.version, response.status, response.reason }
      table.insert(lines, table.concat(status, " "))
      for _, header in ipairs(response.headers) do
        table.insert(lines, header[1] .. ": " .. header[2])
      end
      table.insert(lines, "")
    end
  end
  return lines, "http"
end

local PHASES = {
  { "resolve", "Resolve" },
  { "connect", "Connect" },
  { "tls", "TLS" },
  { "wait", "First byte" },
  { "download", "Download" },
}

local function statistics_lines(record)
  local lines = { ("%-12s %s"):format("Outcome", record.outcome) }
  local function row(name, value) table.insert(lines, ("%-12s %s"):format(name, value)) end
  if is_set(record.reason) then
    row("Reason", record.reason)
  end
  row("Duration", milliseconds(record.duration))
  for _, exchange in ipairs(record.exchanges) do
    table.insert(lines, "")
    table.insert(lines, exchange.request.method .. " " .. exchange.request.url)
    if exchange.attempts > 1 then
      row("Attempts", exchange.attempts)
    end
    for _, phase in ipairs(is_set(exchange.timing) and PHASES or {}) do
      local seconds = exchange.timing[phase[1]]
      if is_set(seconds) then
        row(phase[2], milliseconds(seconds))
      end
    end
    local response = exchange.response
    if is_set(response) then
      row("Status", ("%d %s"):format(response.status, response.reason))
      row("Body", ("%d bytes, %s"):format(response.body.size, response.body.type))
    end
  end
  for number, assertion in ipairs(record.assertions) do
    if number == 1 then
      vim.list_extend(lines, { "", "Assertions" })
    end
    local has_reason = not assertion.passed and is_set(assertion.reason) and assertion.reason ~= ""
    local reason = has_reason and ": " .. assertion.reason or ""
    local result = assertion.passed and "ok    " or "FAILED"
    table.insert(lines, ("%s %s%s"):format(result, assertion.name, reason))
  end
  for number, note in ipairs(record.notes) do
    if number == 1 then
      vim.list_extend(lines, { "", "Notes" })
    end
    table.insert(lines, note)
  end
  return lines, "text"
end

local CONTENTS = { Body = body_lines, Headers = header_lines, Statistics = statistics_lines }

local function escaped(text)
  return (text:gsub("[%c]", " "):gsub("%%", "%%%%"))
end

--- Show the current response in the selected pane.
local function draw()
  local record = current.record
  local lines, filetype = CONTENTS[pane](record)
  local buffer = vim.api.nvim_win_get_buf(window)
  vim.bo[buffer].modifiable = true
  -- A line end within a line would be an error.
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false,
    vim.tbl_map(function(line) return (line:gsub("\n", " ")) end, lines))
  vim.bo[buffer].modifiable = false
  if vim.bo[buffer].filetype ~= filetype then
    vim.bo[buffer].filetype = filetype
  end
  local tabs = vim.tbl_map(function(name)
    return name == pane and ("%#TabLineSel# " .. name .. " %*") or (" " .. name .. " ")
  end, NAMES)
  local exchange = last(record)
  local request = exchange and (exchange.request.method .. " " .. exchange.request.url .. " ") or ""
  local bar = table.concat(tabs) .. " " .. escaped(request .. M.summary(record))
  local place = vim.fn.exists("+winbar") == 1 and "winbar" or "statusline"
  vim.api.nvim_win_set_option(window, place, bar)
end

local function show_pane(name)
  pane = name
  draw()
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
end

local function open_window()
  local source = vim.api.nvim_get_current_win()
  vim.cmd("vertical new")
  window = vim.api.nvim_get_current_win()
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden = "nofile", "wipe"
  vim.bo[buffer].swapfile = false
  local function key(keys, description, run)
    vim.keymap.set("n", keys, run, { buffer = buffer, desc = description, nowait = true })
  end
  key("B", "Show the body", function() show_pane("Body") end)
  key("H", "Show the headers", function() show_pane("Headers") end)
  key("S", "Show statistics", function() show_pane("Statistics") end)
  key("<Tab>", "Show the next pane", function()
    for number, name in ipairs(NAMES) do
      if name == pane then
        return show_pane(NAMES[number % #NAMES + 1])
      end
    end
  end)
  key("R", "Send the request again", function() M.resend(current) end)
  key("q", "Close the response", "<Cmd>close<CR>")
  vim.api.nvim_set_current_win(source)
end

--- Keep a response, given as the notification orgrest/response, so that it can be shown later.
function M.keep(notification)
  latest = notification
end

--- Show a response, given as the notification orgrest/response, beside the current window.
function M.show(notification)
  current, latest = notification, notification
  if not (window and vim.api.nvim_win_is_valid(window)) then
    open_window()
  end
  draw()
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
end

--- Show the last response again.
function M.reopen()
  if latest then
    M.show(latest)
  else
    vim.notify("orgrest: no response yet")
  end
end

return M
