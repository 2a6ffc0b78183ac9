-- SPDX-License-Identifier: Apache-2.0
-- One connection to the daemon: a JSON-RPC message a line over its Unix socket (daemon/protocol/PROTOCOL.md). Nothing
-- here waits; all callbacks come on Neovim's main loop.
local uv = vim.uv or vim.loop

local Connection = {}
Connection.__index = Connection

local PROTOCOL_VERSION = 1
local HANDSHAKE_PATIENCE_MS = 10000
local LONGEST_SOCKET_PATH = 107 -- of the kernel; a longer one would be cut silently
local LOST = { code = 'lost', message = 'the daemon closed the connection' }

local explanations = {
  ENOENT = 'nothing is there',
  ECONNREFUSED = 'nobody listens there',
  EACCES = 'no rights',
  ENOTSOCK = 'it is no socket',
}

local function explain(text)
  local name = tostring(text):match('^E%w+') or tostring(text)
  return { code = name, message = explanations[name] or tostring(text) }
end

--- Connects and shakes hands. `done(problem, connection)`; `on_close(problem)` is called once if it was open and ended.
function Connection.open(path, on_close, done)
  if #path > LONGEST_SOCKET_PATH then
    return vim.schedule(function()
      done({ code = 'ENAMETOOLONG', message = 'the path has more than 107 bytes' })
    end)
  end
  local self = setmetatable({ path = path, waiting = {}, last_id = 0, pieces = {}, pipe = uv.new_pipe(false) }, Connection)
  self.pipe:connect(path, vim.schedule_wrap(function(failure)
    if failure then
      self.pipe:close()
      return done(explain(failure))
    end
    self:listen()
    self:shake_hands(on_close, done)
  end))
end

function Connection:shake_hands(on_close, done)
  vim.defer_fn(function()
    if not self.server then
      self:close({ code = 'silent', message = 'who listens there does not answer' })
    end
  end, HANDSHAKE_PATIENCE_MS)
  local version = vim.version()
  local name = ('nvim %d.%d.%d'):format(version.major, version.minor, version.patch)
  self:request('initialize', { protocol_version = PROTOCOL_VERSION, client = name }, function(problem, server)
    if problem then
      self:close(problem)
      return done(problem)
    end
    self.server, self.on_close = server, on_close
    done(nil, self)
  end)
end

-- ---- reading -------------------------------------------------------------------------------------------------

function Connection:listen()
  self.pipe:read_start(function(failure, data)
    if failure or not data then
      return vim.schedule(function()
        self:close(LOST)
      end)
    end
    local lines = self:take_lines(data)
    if #lines > 0 then
      vim.schedule(function()
        for _, line in ipairs(lines) do
          self:take(line)
        end
      end)
    end
  end)
end

--- The lines that `data` ends; what is behind the last one is kept for the next time.
function Connection:take_lines(data)
  local lines, from = {}, 1
  while true do
    local newline = data:find('\n', from, true)
    if not newline then
      break
    end
    table.insert(self.pieces, data:sub(from, newline - 1))
    table.insert(lines, table.concat(self.pieces))
    self.pieces, from = {}, newline + 1
  end
  if from <= #data then
    table.insert(self.pieces, data:sub(from))
  end
  return lines
end

function Connection:take(line)
  local good, message = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not good or type(message) ~= 'table' then
    return self:close({ code = 'protocol', message = 'who listens there does not speak the protocol' })
  end
  if message.method then
    local request = self.waiting[(message.params or {}).id]
    if request and request.on_progress then
      request.on_progress(message.method, message.params)
    end
    return
  end
  local request = self.waiting[message.id]
  if not request then
    return
  end
  self.waiting[message.id] = nil
  local failure = message.error
  if failure then
    local data = failure.data or {}
    request.done({ code = data.code, message = failure.message, remedy = data.remedy })
  else
    request.done(nil, message.result)
  end
end

-- ---- writing -------------------------------------------------------------------------------------------------

function Connection:send(message)
  message.jsonrpc = '2.0'
  self.pipe:write(vim.json.encode(message) .. '\n', function(failure)
    if failure then
      vim.schedule(function()
        self:close(LOST)
      end)
    end
  end)
end

--- `done(problem, result)` comes once, whatever happens; `on_progress(method, params)` before it. Returns the id.
function Connection:request(method, params, done, on_progress)
  self.last_id = self.last_id + 1
  local id = self.last_id
  self.waiting[id] = { done = done, on_progress = on_progress }
  if self.closed then
    vim.schedule(function()
      self:give_up(self.closed)
    end)
  else
    self:send({ id = id, method = method, params = params })
  end
  return id
end

--- The request is still answered once, usually as cancelled.
function Connection:cancel(id)
  if self.waiting[id] and not self.closed then
    self:send({ method = '$/cancelRequest', params = { id = id } })
  end
end

function Connection:give_up(problem)
  local waiting = self.waiting
  self.waiting = {}
  for _, request in pairs(waiting) do
    request.done(problem)
  end
end

function Connection:close(problem)
  if self.closed then
    return
  end
  self.closed = problem
  self.pipe:close()
  self:give_up(problem)
  if self.on_close then
    self.on_close(problem)
  end
end

return Connection
