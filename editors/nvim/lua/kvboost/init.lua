-- SPDX-License-Identifier: Apache-2.0
-- What users call: require('kvboost').setup{…}, and functions for key maps and status lines of their own.
local M = {}

local function actions()
  return require('kvboost.accept')
end

--- Changes options; doc/kvboost.txt has them all. Not needed if the defaults do.
function M.setup(options)
  require('kvboost.config').set(options)
  if vim.v.vim_did_enter == 1 then
    require('kvboost.events').prepare()
  end
end

--- Accepts the hint ('all', 'line' or 'word' of it). False, and nothing done, if none is shown; the same for the next four.
function M.accept(part)
  return actions().accept(part)
end

function M.next()
  return actions().another(1)
end

function M.previous()
  return actions().another(-1)
end

function M.dismiss()
  return actions().dismiss()
end

--- Asks for a hint at the cursor. `{ reuse = false }`: without anything that was read before.
function M.trigger(options)
  require('kvboost.suggest').trigger(options)
end

--- The text of the hint that is shown, or nil.
function M.hint()
  return require('kvboost.hint').text()
end

--- A few words for a status line.
function M.statusline()
  return require('kvboost.status').line()
end

return M
