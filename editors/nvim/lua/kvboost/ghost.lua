-- SPDX-License-Identifier: Apache-2.0
-- Draws a hint as grey text at its place, by extmarks. Neovim 0.10 moves the rest of the line aside by itself. Before
-- that, and where a hint of several lines stands in front of text, the line is drawn over: the hint, then the rest.
local M = {}
local api = vim.api
local namespace = api.nvim_create_namespace('kvboost')
local can_inline = vim.fn.has('nvim-0.10') == 1

local HINT, MARK = 'KvboostHint', 'KvboostMark'

function M.define_highlights()
  api.nvim_set_hl(0, HINT, { default = true, link = 'Comment' })
  api.nvim_set_hl(0, MARK, { default = true, link = 'NonText' })
end

-- ---- chunks of text and highlight ----------------------------------------------------------------------------

--- As Neovim shows a NUL. Functions of Vim take no string that has one.
local function printable(text)
  return (text:gsub('%z', '^@'))
end

local function width_of(text, column)
  return vim.fn.strdisplaywidth(printable(text), column or 0)
end

--- `text` with its tabs as blanks, as it looks from screen column `column` on; and the column behind it.
local function expand(text, column)
  local out = {}
  for piece, tab in printable(text):gmatch('([^\t]*)(\t?)') do
    table.insert(out, piece)
    column = column + width_of(piece, column)
    if tab ~= '' then
      local width = width_of('\t', column)
      table.insert(out, (' '):rep(width))
      column = column + width
    end
  end
  return table.concat(out), column
end

--- The rest of the line behind the cursor in its own colours, as it looks from screen column `column` on.
local function rest_of_line(row, col, rest, column)
  local chunks, from, group = {}, 1, nil
  local function add(to)
    if to >= from then
      local text
      text, column = expand(rest:sub(from, to), column)
      table.insert(chunks, { text, group ~= '' and group or 'Normal' })
    end
    from = to + 1
  end
  for at = 1, #rest do
    local is_inside = rest:byte(at) >= 0x80 and rest:byte(at) < 0xC0
    if not is_inside then
      local here = vim.fn.synIDattr(vim.fn.synID(row + 1, col + at, 1), 'name')
      if here ~= group then
        add(at - 1)
        group = here
      end
    end
  end
  add(#rest)
  return chunks, column
end

-- ---- where it fits -------------------------------------------------------------------------------------------

local function text_width()
  local info = vim.fn.getwininfo(api.nvim_get_current_win())[1]
  return info.width - (info.textoff or 0)
end

--- Lines below the cursor's that cannot be seen, of `count` that are to be shown there.
local function hidden_lines(count)
  local below = api.nvim_win_get_height(0) - vim.fn.winline()
  return math.max(0, count - below)
end

local function append(list, more)
  for _, item in ipairs(more) do
    table.insert(list, item)
  end
end

-- ---- the three ways to draw ----------------------------------------------------------------------------------

local function hint_lines(lines, from)
  local drawn = {}
  for n = from, #lines do
    table.insert(drawn, { { (expand(lines[n], 0)), HINT } })
  end
  return drawn
end

--- Behind the cursor; what follows is moved aside.
local function draw_inline(place, lines, mark)
  local column = width_of(place.before)
  local chunks = { { (expand(lines[1], column)), HINT }, unpack(mark) }
  return { virt_text = chunks, virt_text_pos = 'inline', virt_lines = hint_lines(lines, 2) }
end

--- Over the rest of the line, which is drawn anew behind the hint's last line.
local function draw_over(place, lines, mark)
  local text, column = expand(lines[1], width_of(place.before))
  local below = hint_lines(lines, 2)
  local chunks = { { text, HINT } }
  local last, last_column = chunks, column
  if #below > 0 then
    last, last_column = below[#below], width_of(below[#below][1][1])
    local covered = width_of(place.before .. place.after) - column
    table.insert(chunks, { (' '):rep(covered), 'Normal' })
  end
  append(last, (rest_of_line(place.row, place.col, place.after, last_column)))
  append(chunks, mark)
  return { virt_text = chunks, virt_text_pos = 'overlay', virt_lines = below, hl_mode = 'combine' }
end

--- All of it below the line: drawn over, a line that is broken at the window's edge would look wrong.
local function draw_below(place, lines, mark)
  local width = text_width()
  local column = width_of(place.before) % width
  local indent = column + width_of(lines[1]) <= width and column or 0
  local below = hint_lines(lines, 1)
  table.insert(below[1], 1, { (' '):rep(indent), 'Normal' })
  append(below[1], mark)
  return { virt_lines = below }
end

local function draw(place, lines, mark)
  local is_last_line = #lines == 1 or place.after == ''
  if can_inline and is_last_line then
    return draw_inline(place, lines, mark)
  end
  local width = width_of(place.before .. lines[1] .. place.after)
  if vim.wo.wrap and width > text_width() then
    return draw_below(place, lines, mark)
  end
  return draw_over(place, lines, mark)
end

--- Shows `text` at `place` (buf, row, col from 0 on, before and after: the line's two halves); `note` stands behind it.
function M.show(place, text, note)
  M.clear(place.buf)
  local lines = vim.split(text, '\n', { plain = true })
  local hidden = hidden_lines(#lines - 1)
  if hidden > 0 then
    note = ('%s +%d line%s'):format(note, hidden, hidden > 1 and 's' or '')
  end
  local mark = note ~= '' and { { ' ' .. note, MARK } } or {}
  local extmark = draw(place, lines, mark)
  if #extmark.virt_lines == 0 then
    extmark.virt_lines = nil
  end
  api.nvim_buf_set_extmark(place.buf, namespace, place.row, place.col, extmark)
end

function M.clear(buf)
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

return M
