-- SPDX-License-Identifier: Apache-2.0
-- The daemon as the plugin sees it: found at its socket, started by `kvboost daemon start` when it is not there, and
-- left alone for longer and longer when that fails. One connection serves everything.
local M = {}
local uv = vim.uv or vim.loop
local config = require('kvboost.config')
local Connection = require('kvboost.connection')

local FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 2000, 300000 -- between two starts that fail
local LOOK_PAUSE_MS = 1000 -- between two looks at the socket meanwhile
local SHORT_LIFE_MS = 30000 -- a daemon that ends sooner has failed

local connection, waiters
local learnt_socket -- where a daemon that we started says that it listens
local failures, start_at, look_at, opened_at = 0, 0, 0, 0

M.problem = nil -- why there is no connection, with the socket that was tried
M.doing = nil -- 'connecting' or 'starting'

-- ---- the socket ----------------------------------------------------------------------------------------------

local function is_mine(path)
  local stat = uv.fs_stat(path)
  return not stat or stat.uid == uv.getuid()
end

local function default_socket()
  local runtime = vim.env.XDG_RUNTIME_DIR
  if runtime and runtime:sub(1, 1) == '/' and is_mine(runtime) then
    return runtime .. '/kvboost/kvboostd.sock'
  end
  return ('/tmp/kvboost-%d/kvboostd.sock'):format(uv.getuid())
end

local function given_socket()
  local socket = config.options.socket
  return socket ~= '' and vim.fn.fnamemodify(socket, ':p') or nil
end

function M.socket()
  local variable = vim.env.KVBOOST_SOCKET
  return given_socket() or learnt_socket or (variable ~= '' and variable) or default_socket()
end

-- ---- how an attempt ends -------------------------------------------------------------------------------------

local function end_attempt(problem)
  local called = waiters or {}
  waiters, M.doing = nil, nil
  for _, done in ipairs(called) do
    done(problem, connection)
  end
end

local function back_off()
  failures = failures + 1
  start_at = uv.now() + math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ^ (failures - 1))
end

local function fail(problem)
  look_at = uv.now() + LOOK_PAUSE_MS
  M.problem = problem
  end_attempt({ code = 'absent', message = problem })
end

local function succeed(opened)
  connection, opened_at, M.problem = opened, uv.now(), nil
  end_attempt(nil)
end

local function lost(problem)
  connection = nil
  M.problem = problem.message
  if uv.now() - opened_at < SHORT_LIFE_MS then
    back_off()
  else
    failures, start_at = 0, 0
  end
end

-- ---- connecting and starting ---------------------------------------------------------------------------------

local function no_connection(socket, problem)
  return ('no daemon at %s: %s'):format(socket, problem.message)
end

--- Runs the program quietly; `done(code, out, err)`.
local function run(arguments, done)
  local out, err = {}, {}
  local function into(list)
    return function(_, lines)
      vim.list_extend(list, lines)
    end
  end
  local command = vim.list_extend({ config.options.program }, arguments)
  vim.fn.jobstart(command, {
    cwd = '/', -- that of the editor may be gone
    stdin = 'null',
    stdout_buffered = true,
    stderr_buffered = true,
    on_stdout = into(out),
    on_stderr = into(err),
    on_exit = function(_, code)
      done(code, table.concat(out, '\n'), table.concat(err, '\n'))
    end,
  })
end

--- The program's configuration may name another socket than the one that we know of.
local function learn_socket(done)
  run({ 'config', 'socket', '--json' }, function(code, out)
    local good, told = pcall(vim.json.decode, out)
    local socket = code == 0 and good and told.value or ''
    if socket ~= '' and socket ~= M.socket() then
      learnt_socket = socket
      return Connection.open(socket, lost, done)
    end
    done({ message = 'nothing is there' })
  end)
end

local function reconnect()
  local socket = M.socket()
  Connection.open(socket, lost, function(problem, opened)
    if opened then
      return succeed(opened)
    end
    if given_socket() then
      back_off()
      return fail(no_connection(socket, problem))
    end
    learn_socket(function(_, elsewhere)
      if elsewhere then
        return succeed(elsewhere)
      end
      back_off()
      fail(no_connection(socket, problem))
    end)
  end)
end

local function start()
  local program = config.options.program
  if vim.fn.executable(program) == 0 then
    back_off()
    return fail(('no daemon at %s, and no program %s to start it'):format(M.socket(), program))
  end
  M.doing = 'starting'
  local socket = given_socket()
  run(vim.list_extend(socket and { '--socket', socket } or {}, { 'daemon', 'start' }), function(code, _, err)
    if code == 0 then
      return reconnect()
    end
    back_off()
    local reason = vim.trim(err):gsub('^kvboost: ', '')
    fail(('no daemon at %s: %s'):format(M.socket(), reason ~= '' and reason or 'exit status ' .. code))
  end)
end

local function connect(may_start)
  local socket = M.socket()
  M.doing = 'connecting'
  if not is_mine(socket) then
    return fail(('the socket %s belongs to somebody else'):format(socket))
  end
  Connection.open(socket, lost, function(problem, opened)
    if opened then
      succeed(opened)
    elseif may_start then
      start()
    else
      fail(no_connection(socket, problem))
    end
  end)
end

--- Calls `done(problem, connection)`, at once if there is one. With `insist` (a command of the user) the daemon is
--- started even if that has failed a moment ago.
function M.with(done, insist)
  if connection then
    return done(nil, connection)
  end
  if waiters then
    return table.insert(waiters, done)
  end
  local now = uv.now()
  if not insist and now < look_at then
    return done({ code = 'absent', message = M.problem })
  end
  waiters = { done }
  connect(config.options.start and (insist or now >= start_at))
end

--- 'ready', 'connecting', 'starting' or 'absent'.
function M.state()
  return connection and 'ready' or M.doing or 'absent'
end

function M.server()
  return connection and connection.server
end

return M
