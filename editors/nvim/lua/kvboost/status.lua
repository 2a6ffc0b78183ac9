-- SPDX-License-Identifier: Apache-2.0
-- :Kvboost status, and the few words of it for a status line.
local M = {}
local api = vim.api
local config = require('kvboost.config')
local daemon = require('kvboost.daemon')
local suggest = require('kvboost.suggest')
local task = require('kvboost.task')

local function hints_in(buf)
  local reason = config.reason_against(buf) or suggest.refusal(buf)
  if reason then
    return 'none here: ' .. reason
  elseif not config.options.auto then
    return ('by the key %s'):format(config.options.keys.trigger or '(none)')
  end
  return 'while you type'
end

local function last_hint()
  local last = suggest.last
  if not last then
    return 'none yet'
  elseif last.origin == 'recent' then
    return ('%.0f ms, remembered'):format(last.ms)
  elseif not last.origin then
    return ('%.0f ms, too late to be shown'):format(last.ms)
  end
  return ('%.0f ms, %d of %d tokens computed'):format(last.ms, last.computed, last.prompt)
end

--- Lines about the daemon; `told` is its answer to the method status.
local function daemon_lines(told)
  local lines = {
    ('daemon    %s, process %d, at %s'):format(told.state, told.pid, daemon.socket()),
    ('model     %s'):format(told.model_name ~= '' and told.model_name or told.model_error),
  }
  if told.model_error ~= '' then
    lines[2] = 'model     ' .. told.model_error
  end
  if told.warming.root ~= '' then
    table.insert(lines, ('warming   %s, %d of %d files'):format(told.warming.root, told.warming.files_done, told.warming.files))
  end
  table.insert(lines, ('log       %s'):format(told.log_file))
  return lines
end

function M.show()
  local buf = api.nvim_get_current_buf()
  local own = { 'hints     ' .. hints_in(buf), 'last hint ' .. last_hint() }
  if task.stage() then
    table.insert(own, 'running   ' .. task.stage())
  end
  local function tell(lines)
    local chunks = {}
    for n, line in ipairs(vim.list_extend(lines, own)) do
      table.insert(chunks, { (n > 1 and '\n' or '') .. line })
    end
    api.nvim_echo(chunks, true, {})
  end
  daemon.with(function(problem, connection)
    if problem then
      return tell({ 'daemon    ' .. problem.message })
    end
    connection:request('status', nil, function(why, told)
      tell(why and { 'daemon    ' .. why.message } or daemon_lines(told))
    end)
  end, true)
end

--- For a status line: 'kvboost off', 'kvboost …' (waiting), 'kvboost 85 ms', 'kvboost absent', or what runs.
function M.line()
  if task.stage() then
    return 'kvboost ' .. task.stage()
  elseif config.reason_against(api.nvim_get_current_buf()) then
    return 'kvboost off'
  elseif suggest.is_waiting() or daemon.doing then
    return 'kvboost …'
  elseif daemon.problem then
    return 'kvboost absent'
  end
  return suggest.last and ('kvboost %.0f ms'):format(suggest.last.ms) or 'kvboost'
end

return M
