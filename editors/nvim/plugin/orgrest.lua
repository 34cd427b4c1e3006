-- Starts the language server in Org and request files, and defines the command :Orgrest.
if vim.g.loaded_orgrest then
  return
end
vim.g.loaded_orgrest = true

vim.api.nvim_create_autocmd("FileType", {
  group = vim.api.nvim_create_augroup("orgrest", {}),
  pattern = { "http", "org" },
  callback = function(event) require("orgrest").attach(event.buf) end,
})

vim.api.nvim_create_user_command("Orgrest", function(command)
  require("orgrest").run(command.args)
end, {
  nargs = 1,
  desc = "Send, show or copy HTTP requests",
  complete = function(lead) return require("orgrest").actions_like(lead) end,
})
