-- SPDX-License-Identifier: Apache-2.0
-- What the user asked for and waits for: ask, locate, warm. One of each kind at a time; a newer one ends the older one,
-- :Kvboost stop ends all.
local M = {}
local api = vim.api
local daemon = require('kvboost.daemon')

local running = {} -- kind -> { connection, id, stage }

local units = { loading = '%', reading = ' files', scoring = ' files', prefill = ' tokens', warming = ' files' }
local names = {
  loading = 'loading the model',
  queued = 'waiting for other work',
  waiting = 'waiting for other work',
  reading = 'reading',
  choosing = 'choosing what to read',
  prefill = 'the model is reading',
  scoring = 'the model is reading',
  trying = 'trying what reuse does to this model',
  warming = 'reading ahead',
}

--- Progress in words: "the model is reading, 1024 of 5210 tokens".
local function in_words(progress)
  local done, total = progress.done or progress.files_done, progress.total or progress.files
  local name, unit = names[progress.stage] or progress.stage, units[progress.stage]
  if not unit or not done or total == 0 and done == 0 then
    return name
  elseif unit == '%' then
    return ('%s, %d %%'):format(name, done)
  elseif total == 0 then
    return ('%s, %d%s'):format(name, done, unit)
  end
  return ('%s, %d of %d%s'):format(name, done, total, unit)
end

--- Starts one. `handlers.stage(words)` tells how far it is, `handlers.part(method, params)` brings other
--- notifications, `handlers.done(problem, result)` ends it.
function M.start(kind, params, handlers)
  M.stop(kind)
  local this = { stage = 'connecting to the daemon' }
  running[kind] = this
  handlers.stage(this.stage)
  daemon.with(function(problem, connection)
    if running[kind] ~= this then
      return handlers.done({ code = 'cancelled', message = 'cancelled' })
    elseif problem then
      running[kind] = nil
      return handlers.done(problem)
    end
    this.connection = connection
    handlers.stage('waiting for the daemon')
    this.id = connection:request(kind, params, function(why, result)
      if running[kind] == this then
        running[kind] = nil
      end
      handlers.done(why, result)
    end, function(method, told)
      if running[kind] ~= this then
        return
      elseif method == kind .. '/progress' then
        this.stage = in_words(told)
        handlers.stage(this.stage)
      elseif handlers.part then
        handlers.part(method, told)
      end
    end)
  end, true)
end

--- Ends the one of this kind, or all; true if there was one.
function M.stop(kind)
  local stopped = false
  for name, this in pairs(running) do
    if not kind or kind == name then
      running[name] = nil
      stopped = true
      if this.id then
        this.connection:cancel(this.id)
      end
    end
  end
  return stopped
end

--- What runs, in words; nil if nothing does.
function M.stage()
  for kind, this in pairs(running) do
    return ('%s: %s'):format(kind, this.stage)
  end
end

--- "1 file", "3 files".
function M.count(number, thing)
  return ('%d %s%s'):format(number, thing, number == 1 and '' or 's')
end

--- A line at the bottom of the screen that the next one takes the place of.
function M.echo(text)
  if api.nvim_get_mode().mode:sub(1, 1) ~= 'c' then
    local widest = vim.o.columns - 20 -- a longer one would want a key pressed
    api.nvim_echo({ { vim.fn.strcharpart('kvboost: ' .. text, 0, widest) } }, false, {})
    vim.cmd('redraw')
  end
end

function M.tell_problem(problem)
  local text = problem.remedy and ('%s (%s)'):format(problem.message, problem.remedy) or problem.message
  local level = problem.code == 'cancelled' and vim.log.levels.INFO or vim.log.levels.ERROR
  vim.notify('kvboost: ' .. text, level)
end

return M
