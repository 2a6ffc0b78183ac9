-- SPDX-License-Identifier: Apache-2.0
-- What the user does with the hint that is shown: accepts it or a part, goes to another one, sends it away.
local M = {}
local api = vim.api
local config = require('kvboost.config')
local hint = require('kvboost.hint')
local suggest = require('kvboost.suggest')

local function feed(keys, mode)
  api.nvim_feedkeys(api.nvim_replace_termcodes(keys, true, true, true), mode, false)
end

local parts = {
  all = [[^\_.*]],
  line = [[^\_s*[^\n]\+]], -- its first line with text
  word = [[^\_s*\%(\k\+\|\%(\k\@!\S\)\+\)]],
}

--- Puts a part of the hint into the buffer, the cursor behind it; what is left of the hint is shown there.
function M.insert(part)
  if not hint.follow() then
    return
  end
  local was, text = hint.shown(), hint.text()
  local taken = vim.fn.matchstr(text, parts[part])
  local lines = vim.split(taken, '\n', { plain = true })
  hint.hide()
  api.nvim_buf_set_text(was.buf, was.row, was.col, was.row, was.col, lines)
  local col = #lines[#lines] + (#lines == 1 and was.col or 0)
  api.nvim_win_set_cursor(0, { was.row + #lines, col })
  if #taken < #text then
    hint.show(hint.here(), { text:sub(#taken + 1) }, true)
  end
end

--- Accepts the hint, or a part of it, in an undo step of its own. False if none is shown.
function M.accept(part)
  if not hint.follow() then
    return false
  end
  feed(([[<C-g>u<Cmd>lua require('kvboost.accept').insert('%s')<CR><C-g>u]]):format(part or 'all'), 'in')
  return true
end

--- Shows another hint for the same place; the first time, others are asked for.
function M.another(step)
  if not hint.follow() then
    return false
  elseif hint.shown().is_complete then
    hint.turn(step)
  else
    suggest.request_others(function()
      hint.turn(step)
    end)
  end
  return true
end

function M.dismiss()
  local was_shown = hint.shown() ~= nil
  suggest.leave()
  return was_shown
end

--- Does `action`, or, if the hint is gone after all, has the key do what it does without one.
local function or_fall_through(name, action, argument)
  return function()
    if not action(argument) then
      hint.hide()
      feed(config.options.keys[name], 'im')
    end
  end
end

--- By the name of the option that has the key.
M.actions = {
  accept = or_fall_through('accept', M.accept, 'all'),
  accept_line = or_fall_through('accept_line', M.accept, 'line'),
  accept_word = or_fall_through('accept_word', M.accept, 'word'),
  next = or_fall_through('next', M.another, 1),
  previous = or_fall_through('previous', M.another, -1),
  dismiss = or_fall_through('dismiss', M.dismiss),
}

return M
