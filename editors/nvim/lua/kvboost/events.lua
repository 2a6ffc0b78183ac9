-- SPDX-License-Identifier: Apache-2.0
-- Neovim's events, and what each means for the hint and for the places that are remembered.
local M = {}
local api = vim.api

local function on(group, events, action)
  api.nvim_create_autocmd(events, { group = group, callback = action })
end

local function suggest()
  return require('kvboost.suggest')
end

local function note_place()
  require('kvboost.ring').note()
end

--- What the options decide, once they are known.
function M.prepare()
  require('kvboost.ghost').define_highlights()
  require('kvboost.keys').map_trigger(function()
    suggest().trigger()
  end)
end

--- Watches what is typed. Called once, when Neovim sources the plugin.
function M.watch()
  local group = api.nvim_create_augroup('kvboost', {})
  on(group, { 'TextChangedI', 'TextChangedP' }, function()
    suggest().update(true)
  end)
  on(group, { 'InsertEnter' }, function()
    vim.schedule(function() -- only then it is insert mode
      suggest().update(true)
    end)
  end)
  on(group, { 'CursorMovedI' }, function()
    suggest().update(false)
  end)
  -- The last two come after CTRL-C too, which is no InsertLeave.
  on(group, { 'InsertLeave', 'BufLeave', 'WinLeave', 'RecordingEnter', 'CursorMoved', 'CursorHold' }, function()
    suggest().leave()
  end)
  on(group, { 'VimResized', 'WinScrolled' }, function()
    require('kvboost.hint').redraw()
  end)
  on(group, { 'InsertLeave', 'BufLeave', 'WinLeave', 'TextChanged' }, note_place)
  on(group, { 'ColorScheme' }, function()
    require('kvboost.ghost').define_highlights()
  end)
  if vim.v.vim_did_enter == 1 then
    M.prepare()
  else
    on(group, { 'VimEnter' }, M.prepare)
  end
end

return M
