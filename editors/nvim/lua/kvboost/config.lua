-- SPDX-License-Identifier: Apache-2.0
-- The options of setup() and their defaults, and what follows from them for a buffer: whether hints are given in it,
-- and if not, why not.
local M = {}
local api = vim.api

M.defaults = {
  enabled = true, -- false: no hints until `:Kvboost enable`
  auto = true, -- hints while you type; false: only by the key `trigger`
  delay_ms = 20, -- from a key to the request
  alternatives = 3, -- how many hints the keys `next` and `previous` go through
  max_bytes = 1000000, -- no hints in larger buffers
  program = 'kvboost', -- starts the daemon
  start = true, -- start the daemon when it is not running
  socket = '', -- the daemon's socket; empty: where the daemon puts it by itself
  filetypes = { -- false: no hints; ['*'] is for those that are not named
    ['*'] = true,
    gitcommit = false,
    gitrebase = false,
    hgcommit = false,
    svn = false,
    help = false,
    man = false,
    netrw = false,
    qf = false,
  },
  -- Paths without hints, in the manner of .gitignore: the last that fits decides, and ! allows again.
  globs = { '.env', '.env.*', '*.env', '.envrc', '.netrc', '*.pem', '*.key', '!*.example', '!*.sample', '!*.template' },
  keys = { -- in insert mode; all but `trigger` only while a hint is shown; false: none
    accept = '<Tab>',
    accept_line = '<M-l>',
    accept_word = '<M-w>',
    next = '<M-n>',
    previous = '<M-p>',
    dismiss = '<C-]>',
    trigger = '<M-/>',
  },
}

M.options = vim.deepcopy(M.defaults)

local function check(given, defaults, place)
  for name, value in pairs(given) do
    local default = defaults[name]
    if default == nil then
      error(('kvboost: setup() has no option %s%s'):format(place, name), 0)
    end
    local expected = type(default)
    local is_off = place == 'keys.' and value == false
    if type(value) ~= expected and not is_off then
      error(('kvboost: the option %s%s wants a %s, not a %s'):format(place, name, expected, type(value)), 0)
    end
  end
end

--- Takes the user's options. Lists of globs are put behind the default ones, tables are merged into theirs.
function M.set(given)
  given = given or {}
  check(given, M.defaults, '')
  check(given.keys or {}, M.defaults.keys, 'keys.')
  local globs = vim.list_extend(vim.deepcopy(M.defaults.globs), given.globs or {})
  M.options = vim.tbl_deep_extend('force', M.defaults, given)
  M.options.globs = globs
  M.globs = nil
end

-- ---- paths ---------------------------------------------------------------------------------------------------

local function compile(glob)
  local allows = glob:sub(1, 1) == '!'
  local pattern = allows and glob:sub(2) or glob
  local whole_path = pattern:find('/', 1, true) ~= nil
  return { allows = allows, whole_path = whole_path, regex = vim.regex('\\C' .. vim.fn.glob2regpat(vim.fn.expand(pattern:match('^~?')) .. pattern:gsub('^~', ''))) }
end

--- Whether the globs leave this path out. One with a slash is compared with the whole path and with what it is below
--- the working directory, any other with the file's name.
function M.is_left_out(path)
  M.globs = M.globs or vim.tbl_map(compile, M.options.globs)
  local left_out = false
  local name, relative = vim.fn.fnamemodify(path, ':t'), vim.fn.fnamemodify(path, ':.')
  for _, glob in ipairs(M.globs) do
    local fits
    if glob.whole_path then
      fits = glob.regex:match_str(path) or glob.regex:match_str(relative)
    else
      fits = glob.regex:match_str(name)
    end
    if fits then
      left_out = not glob.allows
    end
  end
  return left_out
end

-- ---- buffers -------------------------------------------------------------------------------------------------

local kinds = { terminal = 'a terminal', prompt = 'a prompt', help = 'a help page', quickfix = 'a list of places' }

--- Why no hints are given in this buffer, or nil if they are.
function M.reason_against(buf)
  local options, bo = M.options, vim.bo[buf]
  local filetype = options.filetypes[bo.filetype]
  if filetype == nil then
    filetype = options.filetypes['*']
  end
  if not options.enabled then
    return 'hints are off (:Kvboost enable)'
  elseif vim.b[buf].kvboost == false then
    return 'hints are off in this buffer (:Kvboost enable buffer)'
  elseif bo.buftype ~= '' then
    return 'this buffer is ' .. (kinds[bo.buftype] or 'no file')
  elseif not bo.modifiable then
    return 'this buffer cannot be modified'
  elseif bo.binary then
    return 'this buffer is binary'
  elseif filetype == false then
    return ('hints are off for the filetype %s'):format(bo.filetype)
  end
  local name = api.nvim_buf_get_name(buf)
  if name:match('^%a[%w+.-]+://') then
    return 'this file is elsewhere'
  elseif M.is_left_out(name) then
    return 'the globs leave this file out'
  elseif api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf)) > options.max_bytes then
    return ('this buffer is larger than max_bytes (%d)'):format(options.max_bytes)
  end
  return nil
end

return M
