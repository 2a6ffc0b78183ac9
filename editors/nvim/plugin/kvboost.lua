-- SPDX-License-Identifier: Apache-2.0
-- What Neovim sources at its start: the command and the autocommands. All else is loaded when it is first needed.
if vim.g.loaded_kvboost then
  return
end
vim.g.loaded_kvboost = true
if vim.fn.has('nvim-0.7') == 0 then
  vim.notify('kvboost: Neovim 0.7 or newer is needed', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Kvboost', function(arguments)
  require('kvboost.commands').run(arguments)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'kvboost: ask, locate, warm, status, enable, disable, toggle, stop',
  complete = function(...)
    return require('kvboost.commands').complete(...)
  end,
})

require('kvboost.events').watch()
