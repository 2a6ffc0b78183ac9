-- SPDX-License-Identifier: Apache-2.0
-- :checkhealth kvboost. The one place that waits: for the daemon, a few seconds at most.
local M = {}
local config = require('kvboost.config')
local daemon = require('kvboost.daemon')
local keys = require('kvboost.keys')

local PATIENCE_MS = 10000

local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local info = health.info or health.report_info
local warn = health.warn or health.report_warn
local failed = health.error or health.report_error

--- The answer of an asynchronous call, or a problem when it does not come in time.
local function wait_for(call)
  local answer
  call(function(problem, result)
    answer = { problem, result }
  end)
  vim.wait(PATIENCE_MS, function()
    return answer ~= nil
  end, 20)
  if not answer then
    return { message = 'no answer within 10 s' }
  end
  return answer[1], answer[2]
end

local function check_editor()
  start('kvboost: the editor')
  if vim.fn.has('nvim-0.10') == 1 then
    ok('Neovim moves text aside for a hint (0.10 or newer)')
  else
    ok('Neovim 0.7 to 0.9: hints are drawn over the rest of the line')
  end
  for name, key in pairs(config.options.keys) do
    local owner = key and keys.other_owner(key)
    if owner and name == 'trigger' then
      warn(('%s (trigger) is mapped to something else: %s'):format(key, owner), { 'choose another key in setup()' })
    elseif owner then
      info(('%s (%s) is mapped to something else while no hint is shown: %s'):format(key, name, owner))
    end
  end
end

local function check_program()
  local program = config.options.program
  local path = vim.fn.exepath(program)
  if path ~= '' then
    ok('program: ' .. path)
  elseif config.options.start then
    warn(('there is no program %s'):format(program), { 'install kvboost, or set the options program, or start = false' })
  else
    info(('there is no program %s, and it is not needed (start = false)'):format(program))
  end
end

local function check_model(status)
  if status.model_error ~= '' then
    failed('model: ' .. status.model_error, { '`kvboost model list` shows what is there' })
  elseif status.model_name ~= '' then
    ok(('model: %s, %s, %d threads'):format(status.model_name, status.compute, status.threads))
  else
    info('model: not loaded yet')
  end
end

local function check_daemon()
  start('kvboost: the daemon')
  check_program()
  local problem, connection = wait_for(function(done)
    daemon.with(done, true)
  end)
  if problem then
    return failed(problem.message or 'no connection', { '`kvboost doctor` says more' })
  end
  ok(('%s, process %d, at %s'):format(connection.server.server, connection.server.pid, daemon.socket()))
  local why, status = wait_for(function(done)
    connection:request('status', nil, done)
  end)
  if why then
    return failed(why.message)
  end
  check_model(status)
  local unchecked, result = wait_for(function(done)
    connection:request('doctor', nil, done)
  end)
  if unchecked then
    return warn('its own checks: ' .. unchecked.message, { '`kvboost doctor` makes them in a shell' })
  end
  for _, check in ipairs(result.checks) do
    local tell = ({ warning = warn, failed = failed })[check.verdict] or ok
    tell(('%s: %s'):format(check.name, check.detail), check.remedy ~= '' and { check.remedy } or nil)
  end
end

function M.check()
  check_editor()
  check_daemon()
end

return M
