-- SPDX-License-Identifier: Apache-2.0
-- A buffer as the daemon wants it: its text with the line ends of its file, offsets in bytes, paths that JSON can hold.
local M = {}
local api = vim.api

-- ---- text ----------------------------------------------------------------------------------------------------

local continuation = '^[\128-\191]*'
local lengths = { { 0xC2, 0xDF, 1 }, { 0xE0, 0xEF, 2 }, { 0xF0, 0xF4, 3 } }

--- A run of bytes above ASCII, with each byte that belongs to no character replaced by one question mark.
local function mend(run)
  local out, at = {}, 1
  while at <= #run do
    local first, size = run:byte(at), nil
    for _, row in ipairs(lengths) do
      if first >= row[1] and first <= row[2] then
        size = row[3]
      end
    end
    local second = run:byte(at + 1) or 0
    local wrong = not size
      or at + size > #run
      or #run:sub(at + 1, at + size):match(continuation) < size
      or (first == 0xE0 and second < 0xA0)
      or (first == 0xED and second > 0x9F)
      or (first == 0xF0 and second < 0x90)
      or (first == 0xF4 and second > 0x8F)
    table.insert(out, wrong and '?' or run:sub(at, at + size))
    at = at + (wrong and 1 or size + 1)
  end
  return table.concat(out)
end

--- Well-formed UTF-8 of as many bytes as `text` has.
function M.well_formed(text)
  if not text:find('[\128-\255]') then
    return text
  end
  return (text:gsub('[\128-\255]+', mend))
end

function M.line_end(buf)
  return vim.bo[buf].fileformat == 'dos' and '\r\n' or '\n'
end

--- The buffer's text, and how many bytes of it stand in front of a place (both from 0 on).
function M.text_and_offset(buf, row, col)
  local newline = M.line_end(buf)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local text = M.well_formed(table.concat(lines, newline))
  if vim.bo[buf].endofline or vim.bo[buf].fixendofline then
    text = text .. newline
  end
  return text, api.nvim_buf_get_offset(buf, row) + row * (#newline - 1) + col
end

-- ---- paths ---------------------------------------------------------------------------------------------------

local letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

local function base64(bytes)
  return (
    bytes:gsub('..?.?', function(three)
      local a, b, c = three:byte(1, 3)
      local number = a * 65536 + (b or 0) * 256 + (c or 0)
      local out = ''
      for place = 3, 0, -1 do
        local index = math.floor(number / 64 ^ place) % 64 + 1
        out = out .. letters:sub(index, index)
      end
      return out:sub(1, #three + 1) .. ('='):rep(3 - #three)
    end)
  )
end

local function from_base64(text)
  return (
    text:gsub('....', function(four)
      local number, bytes = 0, 3
      for letter in four:gmatch('.') do
        local index = letters:find(letter, 1, true)
        bytes = bytes - (index and 0 or 1)
        number = number * 64 + (index or 1) - 1
      end
      local three = string.char(math.floor(number / 65536), math.floor(number / 256) % 256, number % 256)
      return three:sub(1, bytes)
    end)
  )
end

--- A path for the wire: a string if it is UTF-8, else its bytes in base64.
function M.path_out(path)
  return M.well_formed(path) == path and path or { base64 = base64(path) }
end

function M.path_in(path)
  return type(path) == 'table' and from_base64(path.base64) or path
end

--- The path of a buffer's file; one without a name counts as a file of the working directory.
function M.path(buf)
  local name = api.nvim_buf_get_name(buf)
  return name ~= '' and name or ('%s/unnamed-%d'):format(vim.fn.getcwd(), buf)
end

--- Where the user stands: the nearest folder above the buffer's file that is there, or the working directory.
function M.directory(buf)
  if vim.bo[buf].buftype ~= '' then
    return vim.fn.getcwd()
  end
  local folder = vim.fn.fnamemodify(M.path(buf), ':h')
  while vim.fn.isdirectory(folder) == 0 and #folder > 1 do
    folder = vim.fn.fnamemodify(folder, ':h')
  end
  return folder
end

return M
