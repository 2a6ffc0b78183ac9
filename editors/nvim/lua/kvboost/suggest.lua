-- SPDX-License-Identifier: Apache-2.0
-- From key to hint: a key that the hint does not go along with takes it away, ends the request that runs, and begins
-- another. So there is at most one request, and none for a place that was left.
local M = {}
local api = vim.api
local uv = vim.uv or vim.loop
local buffer = require('kvboost.buffer')
local config = require('kvboost.config')
local daemon = require('kvboost.daemon')
local hint = require('kvboost.hint')
local ring = require('kvboost.ring')

-- Of two editors in two containers even the process ids may be the same.
local client = ('nvim %d %d'):format(uv.getpid(), uv.hrtime())

local pending -- { place, timer, connection, id }: the one request
local refused = {} -- buffer -> why the daemon gives no hints there
local is_told -- whether the user knows that there are none

M.last = nil -- of the last answer: ms, origin, computed, prompt; for status

-- ---- telling the user ----------------------------------------------------------------------------------------

local function say(text)
  vim.notify('kvboost: ' .. text, vim.log.levels.INFO)
end

--- Once a session, when insert mode is left: that there are no hints. After that :Kvboost status alone tells it.
local function tell_once()
  if is_told then
    return
  end
  is_told = true
  api.nvim_create_autocmd('InsertLeave', {
    once = true,
    callback = vim.schedule_wrap(function()
      vim.notify('kvboost: no hints, :Kvboost status tells why', vim.log.levels.WARN)
    end),
  })
end

local function failed(place, options, problem)
  if problem.code == 'cancelled' then
    return
  elseif problem.code == 'invalid_argument' then
    refused[place.buf] = problem.message
  end
  if options.by_hand then
    say(problem.message)
  elseif problem.code ~= 'busy' and problem.code ~= 'lost' then -- these pass
    tell_once()
  end
end

-- ---- the request ---------------------------------------------------------------------------------------------

local function params(place, options)
  local text, offset = buffer.text_and_offset(place.buf, place.row, place.col)
  local path = buffer.path(place.buf)
  return {
    directory = buffer.path_out(buffer.directory(place.buf)),
    path = buffer.path_out(path),
    text = text,
    offset = offset,
    client = client,
    ring = ring.places_outside(path),
    alternatives = options.alternatives,
    reuse = options.reuse,
    ahead = true,
  }
end

local function take(place, options, result)
  local texts = vim.tbl_map(function(told)
    return (told.text:gsub('\r\n', '\n'))
  end, result.hints)
  if options.on_others then
    hint.add(texts)
    options.on_others()
  elseif #texts > 0 then
    hint.show(place, texts, false)
  elseif options.by_hand then
    say('no hint here')
  end
end

local function send(this, options)
  local began = uv.hrtime()
  this.id = this.connection:request('complete', params(this.place, options), function(problem, result)
    if pending ~= this then
      return
    end
    pending = nil
    if problem then
      return failed(this.place, options, problem)
    end
    refused[this.place.buf] = nil
    M.last = {
      ms = (uv.hrtime() - began) / 1e6,
      origin = result.origin,
      computed = result.computed_tokens,
      prompt = result.prompt_tokens,
    }
    if hint.is_same(this.place, hint.here()) and hint.is_time() then
      take(this.place, options, result)
    end
  end)
end

local function cancel()
  local was = pending
  pending = nil
  if was then
    was.timer:stop()
    was.timer:close()
    if was.id then
      was.connection:cancel(was.id)
    end
  end
end

local function request(place, delay_ms, options)
  cancel()
  local this = { place = place, timer = uv.new_timer() }
  pending = this
  this.timer:start(delay_ms, 0, vim.schedule_wrap(function()
    if pending ~= this then
      return
    end
    daemon.with(function(problem, connection)
      if pending ~= this then
        return -- a newer key came while the daemon was sought
      elseif problem then
        pending = nil
        return failed(place, options, problem)
      end
      this.connection = connection
      send(this, options)
    end, options.by_hand)
  end))
end

-- ---- when ----------------------------------------------------------------------------------------------------

--- After each key. `wants_hint`: text was typed, or insert mode began; else the cursor has only moved.
function M.update(wants_hint)
  if hint.follow() then
    return
  end
  local now = hint.here()
  local is_time = hint.is_time()
  if pending and hint.is_same(pending.place, now) and is_time then
    return
  end
  M.leave()
  if wants_hint and config.options.auto and is_time and not config.reason_against(now.buf) then
    request(now, config.options.delay_ms, {})
  end
end

--- Another mode, buffer or window: no hint, and nothing asked for.
function M.leave()
  hint.hide()
  cancel()
end

--- By hand. `options.reuse = false`: without anything that was read before.
function M.trigger(options)
  local now = hint.here()
  if vim.bo[now.buf].buftype ~= '' or not vim.bo[now.buf].modifiable then
    return say(config.reason_against(now.buf))
  end
  hint.hide()
  if hint.is_time() then
    request(now, 0, vim.tbl_extend('force', options or {}, { by_hand = true }))
  end
end

--- Others for the place of the hint that is shown; then `done`, if it still is.
function M.request_others(done)
  request(hint.here(), 0, { alternatives = config.options.alternatives, on_others = done })
end

function M.is_waiting()
  return pending ~= nil
end

function M.refusal(buf)
  return refused[buf]
end

return M
