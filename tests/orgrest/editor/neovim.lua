-- Driven by test_neovim.py: the file to open and where to answer are in the environment.
local answers = {}

local function wait_for(what, test)
  if not vim.wait(90000, test, 20) then
    error("nothing came: " .. what)
  end
end

local function finish()
  vim.fn.writefile({ vim.fn.json_encode(answers) }, vim.env.FOLDER .. "/answers.json")
  vim.cmd("qall!")
end

local function type_keys(keys, how)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), how or "t", false)
end

local function press(keys)
  type_keys(keys, "mx")
end

local function at(text)
  vim.fn.cursor(1, 1)
  assert(vim.fn.search("\\V" .. text, "cW") > 0, text)
end

local function lines(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

local notified = {}
vim.notify = function(text) table.insert(notified, text) end

local function response() -- the buffer that shows it
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.bo[buffer].buftype == "nofile" then
      return buffer, window
    end
  end
end

local function shown()
  wait_for("the response", response)
  local buffer, window = response()
  local place = vim.fn.exists("+winbar") == 1 and "winbar" or "statusline"
  return {
    text = lines(buffer),
    filetype = vim.bo[buffer].filetype,
    bar = vim.api.nvim_win_get_option(window, place),
  }
end

local function close()
  vim.api.nvim_win_close(select(2, response()), true)
end

local function in_response(keys)
  vim.api.nvim_set_current_win(select(2, response()))
  press(keys)
  vim.cmd("wincmd p")
end

local function marks()
  local namespace = vim.api.nvim_get_namespaces().orgrest
  return vim.tbl_map(function(found) return { found[2], found[4].virt_text[1][1] } end,
    vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }))
end

local function signs()
  local namespace = vim.api.nvim_get_namespaces()["orgrest.sending"]
  return vim.tbl_map(function(found) return { found[2], found[4].virt_text[1][1] } end,
    vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }))
end

local function open(name)
  vim.cmd("edit " .. vim.env.FOLDER .. "/" .. name)
  wait_for("the server", function() return require("orgrest").client() ~= nil end)
end

local function wait_for_the_server_to_open_it()
  press("\\c") -- answered after that
  wait_for("the command", function() return vim.fn.getreg('"'):match("^curl") end)
end

local chosen
vim.ui.select = function(items, options, done)
  chosen = {
    prompt = options.prompt,
    items = vim.tbl_map(options.format_item or tostring, items),
  }
  done(items[tonumber(vim.env.CHOICE)])
end

local steps = {
  http = function()
    open("a.http")
    wait_for("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
    answers.diagnostic = vim.diagnostic.get(0)[1].message
    at("/nothing")
    vim.cmd("substitute /nothing/json/") -- not saved
    press("\\s")
    answers.body = shown()
    answers.focus = vim.fn.expand("%:t")
    in_response("H")
    answers.headers = shown()
    in_response("<Tab>")
    answers.statistics = shown()
    in_response("B")
    at("/json")
    vim.cmd("substitute /json/text/")
    local before = shown().text
    in_response("R")
    wait_for("another response", function() return shown().text ~= before end)
    answers.again = shown()
    in_response("q")
    answers.closed = response() == nil
    press("\\r")
    answers.reopened = shown().text
    press("\\c")
    wait_for("the command", function() return vim.fn.getreg('"'):match("^curl") end)
    answers.curl = vim.fn.getreg('"')
    notified = {}
    at("{{")
    press("\\s")
    wait_for("the reason", function() return #notified > 0 end)
    answers.failure = notified
    answers.marks = marks()
  end,
  image = function()
    open("a.http")
    press("\\s")
    answers.shown = shown()
  end,
  org = function()
    open("notes.org")
    at("GET")
    press("\\s")
    wait_for("the result", function() return lines(0):match("END_SRC") end)
    answers.document = lines(0)
    answers.undo = vim.fn.undotree().seq_last
    answers.windows = #vim.api.nvim_list_wins()
  end,
  results = function()
    open("notes.org")
    press("\\a")
    wait_for("all results", function() return select(2, lines(0):gsub("RESULTS", "")) == 3 end)
    answers.document = lines(0)
  end,
  slow = function()
    open("a.http")
    wait_for_the_server_to_open_it()
    press("\\s")
    answers.during = signs()
    shown()
    wait_for("the end", function() return #signs() == 0 end)
    notified = {}
    at("{{")
    press("\\s")
    wait_for("the reason", function() return #notified > 0 end)
    answers.after = signs()
  end,
  dies = function()
    open("a.http")
    wait_for_the_server_to_open_it()
    press("\\s")
    answers.during = signs()
    vim.lsp.stop_client(require("orgrest").client().id, true)
    wait_for("the end", function() return require("orgrest").client() == nil end)
    vim.wait(1000, function() return #signs() == 0 end)
    answers.after = signs()
  end,
  typing = function()
    open("notes.org")
    at("/slow")
    wait_for_the_server_to_open_it()
    press("\\s")
    for _ = 1, 20 do
      vim.wait(50, function() return false end)
      vim.api.nvim_buf_set_lines(0, 1, 1, false, { "typed" })
    end
    wait_for("the result", function() return lines(0):match("RESULTS") end)
    answers.document = lines(0)
    press("\\r")
    answers.shown = shown()
  end,
  all = function()
    open("a.http")
    press("\\a")
    wait_for("all outcomes", function() return #marks() == 3 end)
    answers.marks = marks()
    answers.lines = {}
    vim.fn.cursor(1, 1)
    for _, key in ipairs({ "\\n", "\\n", "\\p" }) do
      local before = vim.fn.line(".")
      press(key)
      wait_for("the cursor", function() return vim.fn.line(".") ~= before end)
      table.insert(answers.lines, vim.fn.line("."))
    end
  end,
  environment = function()
    open("a.http")
    press("\\e")
    wait_for("the names", function() return chosen end)
    answers.chosen = chosen
    chosen = nil
    press("\\e")
    wait_for("the names", function() return chosen end)
    answers.again = chosen
    press("\\s")
    answers.shown = shown()
  end,
  history = function()
    open("a.http")
    press("\\s")
    shown()
    close()
    vim.wait(20000, function()
      chosen = nil
      press("\\h")
      vim.wait(1000, function() return chosen ~= nil end)
      return chosen ~= nil
    end, 200)
    answers.chosen = chosen
    answers.shown = shown()
  end,
  prompt = function()
    vim.fn.input = function(text) answers.asked = text return "me" end
    open("a.http")
    press("\\s")
    answers.shown = shown()
  end,
  health = function()
    open("a.http")
    vim.cmd("checkhealth orgrest")
    wait_for("the report", function() return lines(0):match("orgrest") end)
    answers.report = lines(0)
  end,
  plain = function() -- without keys, with the command
    open("a.http")
    answers.mapped = vim.fn.maparg("\\s", "n")
    answers.completed = vim.fn.getcompletion("Orgrest c", "cmdline")
    vim.cmd("Orgrest send")
    answers.shown = shown()
    notified = {}
    vim.cmd("Orgrest nonsense")
    answers.notified = notified
  end,
  missing = function()
    vim.cmd("edit " .. vim.env.FOLDER .. "/a.http")
    answers.notified = notified
    vim.cmd("checkhealth orgrest")
    answers.report = lines(0)
  end,
  completion = function()
    open("b.http")
    wait_for_the_server_to_open_it()
    vim.fn.cursor(5, 1)
    -- The client asks while Neovim waits for the next key: typed keys, and a look from time to time.
    type_keys("A<C-x><C-o>")
    local tries = 0
    local function look()
      tries = tries + 1
      answers.line = vim.fn.getline(5)
      if answers.line:match(":%s*$") or tries > 200 then
        finish()
      else
        vim.defer_fn(look, 50)
      end
    end
    vim.defer_fn(look, 50)
    return "waiting"
  end,
}

local well, state = xpcall(steps[vim.env.STEP], debug.traceback)
if not well then
  answers = { problem = state, notified = notified }
end
if state ~= "waiting" then
  finish()
end
