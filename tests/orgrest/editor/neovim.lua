-- Driven by test_editors.py: the file to open and where to answer are in the environment.
local answers = {}

local function wait_for(what, test)
  if not vim.wait(20000, test, 20) then
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

local function response()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.wo[window].previewwindow then
      return vim.api.nvim_win_get_buf(window)
    end
  end
end

local clients = vim.lsp.get_clients or vim.lsp.get_active_clients

local steps = {
  http = function()
    vim.cmd("edit " .. vim.env.FOLDER .. "/a.http")
    wait_for("the server", function() return vim.bo.omnifunc ~= "" and clients()[1] ~= nil end)
    wait_for("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
    answers.diagnostic = vim.diagnostic.get(0)[1].message
    at("/nothing")
    vim.cmd("substitute /nothing/json/") -- not saved
    press("\\s")
    wait_for("the response", response)
    answers.response = lines(response())
    answers.language = vim.bo[response()].filetype
    press("\\c")
    wait_for("the command", function() return vim.fn.getreg('"'):match("^curl") end)
    answers.curl = vim.fn.getreg('"')
    at("{{")
    press("\\s")
    wait_for("the reason", function() return #notified > 0 end)
    answers.failure = notified
  end,
  org = function()
    vim.cmd("edit " .. vim.env.FOLDER .. "/notes.org")
    wait_for("the server", function() return vim.bo.omnifunc ~= "" and clients()[1] ~= nil end)
    at("GET")
    press("\\s")
    wait_for("the result", function() return lines(0):match("END_SRC") end)
    answers.document = lines(0)
    answers.undo = vim.fn.undotree().seq_last
  end,
  completion = function()
    vim.cmd("edit " .. vim.env.FOLDER .. "/b.http")
    wait_for("the server", function() return vim.bo.omnifunc ~= "" and clients()[1] ~= nil end)
    vim.fn.cursor(2, 1)
    -- The client asks while Neovim waits for the next key: typed keys, and a look from time to time.
    type_keys("A<C-x><C-o>")
    local tries = 0
    local function look()
      tries = tries + 1
      answers.line = vim.fn.getline(2)
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
