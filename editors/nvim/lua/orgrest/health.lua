--- :checkhealth orgrest
local M = {}

local health = vim.health or {}
local start = health.start or health.report_start or require("health").report_start
local ok = health.ok or health.report_ok or require("health").report_ok
local warn = health.warn or health.report_warn or require("health").report_warn
local fail = health.error or health.report_error or require("health").report_error

function M.check()
  local orgrest = require("orgrest")
  start("orgrest")
  if vim.fn.has("nvim-0.7") == 1 then
    ok("Neovim is new enough (0.7)")
  else
    fail("Neovim is too old", { "Install 0.7 or newer" })
  end
  local command = orgrest.options.cmd
  if vim.fn.executable(command[1]) == 0 then
    fail(command[1] .. " is not on the PATH", {
      "Install it, for example with: uv tool install orgrest",
      'Or set its path: require("orgrest").setup({ cmd = { "/path/to/orgrest", "lsp" } })',
    })
    return
  end
  local program = vim.list_slice(command, 1, #command - 1)
  local output = vim.fn.systemlist(vim.list_extend(program, { "--version" }))
  if vim.v.shell_error == 0 then
    ok(vim.fn.exepath(command[1]) .. ": " .. (output[1] or ""))
  else
    fail(command[1] .. " fails: " .. table.concat(output, " "))
  end
  local client = orgrest.client()
  if client then
    ok(("The language server runs (client %d)"):format(client.id))
  else
    warn("The language server is not running", { "It starts when you open an Org or request file" })
  end
  if orgrest.options.keys then
    ok("Keys begin with " .. orgrest.options.keys)
  else
    ok('No keys are mapped; setup({ keys = "<localleader>" }) maps them')
  end
end

return M
