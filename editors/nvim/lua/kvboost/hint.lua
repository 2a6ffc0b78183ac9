-- SPDX-License-Identifier: Apache-2.0
-- The hint that is shown, if one is: where it belongs, its text and the other ones for that place. It goes along with
-- what is typed of it.
local M = {}
local api = vim.api
local ghost = require('kvboost.ghost')
local keys = require('kvboost.keys')

local LONGEST_LINE = 10000 -- bytes; it takes Neovim long to measure longer ones

-- A place, with texts, index (the one that is shown), is_complete (whether all that there are were asked for), and
-- is_chosen (whether the user went to another one).
local shown

-- ---- places --------------------------------------------------------------------------------------------------

--- Where the cursor stands: row and col from 0 on, the line in front of it and behind it.
function M.here()
  local buf, cursor = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)
  local line = api.nvim_get_current_line()
  return {
    buf = buf,
    row = cursor[1] - 1,
    col = cursor[2],
    before = line:sub(1, cursor[2]),
    after = line:sub(cursor[2] + 1),
    lines = api.nvim_buf_line_count(buf),
    tick = api.nvim_buf_get_changedtick(buf),
  }
end

--- Whether nothing has happened between two places.
function M.is_same(a, b)
  return a.buf == b.buf and a.row == b.row and a.col == b.col and a.tick == b.tick
end

--- Whether a hint can be shown now: in insert mode proper, no menu open, no macro that would replay our keys.
function M.is_time()
  return api.nvim_get_mode().mode == 'i'
    and vim.fn.pumvisible() == 0
    and vim.fn.reg_recording() == ''
    and vim.fn.reg_executing() == ''
    and vim.fn.col('$') <= LONGEST_LINE
    and vim.fn.getcurpos()[4] == 0 -- behind the end of the line, by 'virtualedit'
end

-- ---- showing -------------------------------------------------------------------------------------------------

function M.redraw()
  if shown then
    local note = shown.is_chosen and ('%d/%d'):format(shown.index, #shown.texts) or ''
    ghost.show(shown, shown.texts[shown.index], note)
    keys.hold(shown.buf, require('kvboost.accept').actions)
  end
end

--- Shows the first of `texts` at a place.
function M.show(place, texts, is_complete)
  M.hide()
  shown = vim.tbl_extend('force', place, { texts = texts, index = 1, is_complete = is_complete })
  M.redraw()
end

function M.hide()
  if shown then
    ghost.clear(shown.buf)
    keys.release()
    shown = nil
  end
end

function M.shown()
  return shown
end

function M.text()
  return shown and shown.texts[shown.index]
end

-- ---- other texts ---------------------------------------------------------------------------------------------

--- Adds others for the same place, all that there are.
function M.add(texts)
  for _, text in ipairs(texts) do
    if not vim.tbl_contains(shown.texts, text) then
      table.insert(shown.texts, text)
    end
  end
  shown.is_complete = true
end

function M.turn(step)
  shown.index = (shown.index - 1 + step) % #shown.texts + 1
  shown.is_chosen = true
  M.redraw()
end

-- ---- typing --------------------------------------------------------------------------------------------------

--- What was typed since the hint was drawn, if the cursor is behind it and all else is as it was.
local function typed_since()
  local now = M.here()
  local is_line = now.buf == shown.buf and now.row == shown.row and now.lines == shown.lines
  if is_line and now.after == shown.after and vim.startswith(now.before, shown.before) and M.is_time() then
    return now.before:sub(#shown.before + 1), now
  end
end

--- Goes along with what was typed: true if a hint is shown that begins with it, and the rest of that still is.
function M.follow()
  if not shown then
    return false
  end
  local typed, now = typed_since()
  if not typed then
    return false
  end
  local rests, index = {}, 1
  for n, text in ipairs(shown.texts) do
    if vim.startswith(text, typed) and #text > #typed then
      table.insert(rests, text:sub(#typed + 1))
      index = n == shown.index and #rests or index
    end
  end
  if #rests > 0 and typed ~= '' then
    shown = vim.tbl_extend('force', shown, now, { texts = rests, index = index })
    M.redraw()
  end
  return #rests > 0
end

return M
