-- SPDX-License-Identifier: Apache-2.0
-- :Kvboost and its words.
local M = {}
local api = vim.api
local buffer = require('kvboost.buffer')
local config = require('kvboost.config')

local function directory()
  return buffer.directory(api.nvim_get_current_buf())
end

local function lines_of(arguments)
  if arguments.range == 0 then
    return nil
  end
  return table.concat(api.nvim_buf_get_lines(0, arguments.line1 - 1, arguments.line2, true), '\n')
end

--- Calls `action` with the words, or with what the user types when asked for it.
local function with_words(words, prompt, action)
  if words:match('%S') then
    return action(words)
  end
  vim.ui.input({ prompt = prompt }, function(typed)
    if typed and typed:match('%S') then
      action(typed)
    end
  end)
end

--- `@path` words at the beginning name files; the rest is text. A path is as from the working directory.
local function take_paths(words)
  local paths = {}
  while true do
    local path, rest = words:match('^@(%S+)%s*(.*)$')
    if not path then
      return paths, words
    end
    local name = vim.fn.fnamemodify(vim.fn.expand(path), ':p')
    table.insert(paths, buffer.path_out((name:gsub('(.)/$', '%1'))))
    words = rest
  end
end

-- ---- the commands --------------------------------------------------------------------------------------------

local commands = {}

function commands.ask(words, arguments)
  local options = { directory = directory(), continue = arguments.bang }
  local selection = lines_of(arguments)
  local rest
  options.paths, rest = take_paths(words)
  if selection then
    local name = vim.fn.fnamemodify(api.nvim_buf_get_name(0), ':.')
    options.selection = ('From %s, line %d on:\n\n```\n%s\n```'):format(name, arguments.line1, selection)
  end
  with_words(rest, 'Ask about this repository: ', function(question)
    require('kvboost.ask').ask(question, options)
  end)
end

function commands.locate(words, arguments)
  local folder, selection = directory(), lines_of(arguments)
  local report = vim.trim(words .. '\n' .. (selection or ''))
  with_words(report, 'Bug report: ', function(text)
    require('kvboost.locate').locate(text, folder)
  end)
end

function commands.warm(words)
  local changed, paths = false, {}
  for word in words:gmatch('%S+') do
    if word == '--changed' then
      changed = true
    else
      table.insert(paths, buffer.path_out(vim.fn.fnamemodify(vim.fn.expand(word), ':p')))
    end
  end
  require('kvboost.warm').warm({ directory = directory(), paths = paths, changed = changed })
end

function commands.status()
  require('kvboost.status').show()
end

function commands.stop()
  if not require('kvboost.task').stop() then
    require('kvboost.task').echo('nothing runs')
  end
end

local function switch(words, on)
  if words == 'buffer' then
    vim.b.kvboost = on
  else
    config.options.enabled = on
    if on and vim.b.kvboost == false then
      vim.b.kvboost = nil
    end
  end
  require('kvboost.suggest').leave()
  require('kvboost.task').echo(('hints are %s%s'):format(on and 'on' or 'off', words == 'buffer' and ' in this buffer' or ''))
end

function commands.enable(words)
  switch(words, true)
end

function commands.disable(words)
  switch(words, false)
end

function commands.toggle(words)
  local is_on = config.options.enabled
  if words == 'buffer' then
    is_on = vim.b.kvboost ~= false
  end
  switch(words, not is_on)
end

-- ---- the command line ----------------------------------------------------------------------------------------

function M.run(arguments)
  local name, words = arguments.args:match('^%s*(%S*)%s*(.-)%s*$')
  local command = commands[name == '' and 'status' or name]
  if not command then
    local known = table.concat(M.names(), ', ')
    return vim.notify(('kvboost: there is no :Kvboost %s; there is %s'):format(name, known), vim.log.levels.ERROR)
  end
  command(words, arguments)
end

function M.names()
  local names = vim.tbl_keys(commands)
  table.sort(names)
  return names
end

local function beginning_with(list, start)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, start)
  end, list)
end

function M.complete(lead, line)
  local command = line:match('Kvboost!?%s+(%S+)%s')
  if not command then
    return beginning_with(M.names(), lead)
  elseif command == 'warm' then
    return vim.list_extend(beginning_with({ '--changed' }, lead), vim.fn.getcompletion(lead, 'file'))
  elseif command == 'ask' and lead:sub(1, 1) == '@' then
    return vim.tbl_map(function(path)
      return '@' .. path
    end, vim.fn.getcompletion(lead:sub(2), 'file'))
  elseif command == 'enable' or command == 'disable' or command == 'toggle' then
    return beginning_with({ 'buffer' }, lead)
  end
  return {}
end

return M
