-- SPDX-License-Identifier: Apache-2.0
-- The keys that mean something while a hint is shown. They are mapped in its buffer only, and only as long as it is
-- there: without a hint each key does what it did before, whoever mapped it.
local M = {}
local api = vim.api
local config = require('kvboost.config')

local OURS = 'kvboost: '
local held -- { buf, keys = { key -> the buffer's own mapping before, or false } }

local function codes(key)
  return api.nvim_replace_termcodes(key, true, true, true)
end

local function mappings(buf)
  local found = {}
  for _, mapping in ipairs(api.nvim_buf_get_keymap(buf, 'i')) do
    found[codes(mapping.lhs)] = mapping
  end
  return found
end

local function is_ours(mapping)
  return mapping ~= nil and vim.startswith(mapping.desc or '', OURS)
end

--- The mapping of a key, put back as it was.
local function restore(buf, mapping)
  local options = { callback = mapping.callback, desc = mapping.desc }
  for _, name in ipairs({ 'noremap', 'silent', 'expr', 'nowait', 'script', 'replace_keycodes' }) do
    options[name] = mapping[name] == 1 or nil
  end
  api.nvim_buf_set_keymap(buf, 'i', mapping.lhs, mapping.rhs or '', options)
end

--- Maps the keys of `actions` (name of the option -> function) in a buffer, until release().
function M.hold(buf, actions)
  if held and held.buf == buf then
    return
  end
  M.release()
  held = { buf = buf, keys = {} }
  local before = mappings(buf)
  for name, action in pairs(actions) do
    local key = config.options.keys[name]
    if key then
      held.keys[key] = before[codes(key)] or false
      local options = { noremap = true, nowait = true, silent = true, callback = action, desc = OURS .. name }
      api.nvim_buf_set_keymap(buf, 'i', key, '', options)
    end
  end
end

function M.release()
  local was = held
  held = nil
  if not was or not api.nvim_buf_is_valid(was.buf) then
    return
  end
  local now = mappings(was.buf)
  for key, before in pairs(was.keys) do
    if is_ours(now[codes(key)]) then -- else somebody has mapped it anew meanwhile
      api.nvim_buf_del_keymap(was.buf, 'i', key)
      if before then
        restore(was.buf, before)
      end
    end
  end
end

--- Maps the key that asks for a hint, everywhere, if nobody else has it; the one that was mapped before no more.
function M.map_trigger(action)
  for _, mapping in ipairs(api.nvim_get_keymap('i')) do
    if is_ours(mapping) then
      api.nvim_del_keymap('i', mapping.lhs)
    end
  end
  local key = config.options.keys.trigger
  if key and vim.fn.maparg(key, 'i') == '' then
    vim.keymap.set('i', key, action, { silent = true, desc = OURS .. 'trigger' })
  end
end

--- Who has the key in insert mode instead of us: for :checkhealth.
function M.other_owner(key)
  local mapping = vim.fn.maparg(key, 'i', false, true)
  if vim.tbl_isempty(mapping) or is_ours(mapping) then
    return nil
  end
  return mapping.desc or mapping.rhs or 'a function'
end

return M
