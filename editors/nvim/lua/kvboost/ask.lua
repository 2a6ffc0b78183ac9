-- SPDX-License-Identifier: Apache-2.0
-- :Kvboost ask: the answer, as it is written, in a scratch buffer of its own, with the files that were read behind it.
local M = {}
local api = vim.api
local buffer = require('kvboost.buffer')
local task = require('kvboost.task')

local NAME = 'kvboost://ask'
local namespace = api.nvim_create_namespace('kvboost.ask')
local panel -- the buffer
local targets = {} -- line of the panel -> { path, line }

-- ---- the panel -----------------------------------------------------------------------------------------------

local function open_target()
  local line = api.nvim_win_get_cursor(0)[1]
  local target = targets[line]
  if not target then
    return
  end
  vim.cmd('wincmd p')
  if api.nvim_get_current_buf() == panel then
    vim.cmd('aboveleft new')
  end
  vim.cmd('drop ' .. vim.fn.fnameescape(target.path)) -- which splits if what is there cannot be left
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.min(target.line, last), 0 })
end

local function make_panel()
  panel = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(panel, NAME)
  vim.bo[panel].bufhidden, vim.bo[panel].undolevels, vim.bo[panel].modifiable = 'hide', -1, false
  vim.bo[panel].filetype = 'markdown'
  local function map(key, action, what)
    vim.keymap.set('n', key, action, { buffer = panel, silent = true, nowait = true, desc = 'kvboost: ' .. what })
  end
  map('q', '<Cmd>close<CR>', 'close')
  map('<CR>', open_target, 'open the file of this line')
  map('<C-c>', function()
    task.stop('ask')
  end, 'stop')
  api.nvim_create_autocmd('BufWipeout', {
    buffer = panel,
    callback = function()
      task.stop('ask')
      panel, targets = nil, {}
    end,
  })
end

local function show_panel()
  if not panel or not api.nvim_buf_is_valid(panel) then
    make_panel()
  end
  local window = vim.fn.bufwinid(panel)
  if window ~= -1 then
    return api.nvim_set_current_win(window)
  end
  vim.cmd(('botright %dsplit'):format(math.max(5, math.floor(vim.o.lines * 0.4))))
  api.nvim_win_set_buf(0, panel)
  vim.wo.wrap, vim.wo.linebreak, vim.wo.number, vim.wo.relativenumber, vim.wo.spell = true, true, false, false, false
end

--- Puts text behind what is there. Windows whose cursor is at the end go along.
local function append(text)
  if not panel then
    return
  end
  local count = api.nvim_buf_line_count(panel)
  local last = api.nvim_buf_get_lines(panel, -2, -1, true)[1]
  vim.bo[panel].modifiable = true
  api.nvim_buf_set_text(panel, count - 1, #last, count - 1, #last, vim.split(text, '\n', { plain = true }))
  vim.bo[panel].modifiable, vim.bo[panel].modified = false, false
  for _, window in ipairs(vim.fn.win_findbuf(panel)) do
    if api.nvim_win_get_cursor(window)[1] == count then
      api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(panel), 0 })
    end
  end
end

local function append_target(words, path, line)
  append(words .. '\n')
  if panel then
    targets[api.nvim_buf_line_count(panel) - 1] = { path = path, line = line }
  end
end

local function show_stage(words)
  if panel then
    api.nvim_buf_clear_namespace(panel, namespace, 0, -1)
    if words then
      local mark = { virt_text = { { words .. ' …', 'Comment' } }, virt_text_pos = 'overlay' }
      api.nvim_buf_set_extmark(panel, namespace, api.nvim_buf_line_count(panel) - 1, 0, mark)
    end
  end
end

-- ---- the answer ----------------------------------------------------------------------------------------------

local endings = {
  length = '(the answer was cut at its greatest length)',
  context = "(the model's context is full)",
  repetition = '(the model went round in circles and was stopped)',
}

--- A line for each file that was read, which <CR> opens, and one for each that was not.
local function append_sources(result)
  append('\n\n')
  if endings[result.finish_reason] then
    append(endings[result.finish_reason] .. '\n\n')
  end
  if result.note ~= '' then
    append(result.note .. '\n\n')
  end
  for _, file in ipairs(result.files) do
    local path = buffer.path_in(file.path)
    local words = ('- %s:%d-%d'):format(path:gsub('\n', '?'), file.first_line, file.last_line)
    append_target(words, result.root .. '/' .. path, file.first_line)
  end
  for _, file in ipairs(result.left_out) do
    append(('- %s was left out: %s\n'):format(buffer.path_in(file.path):gsub('\n', '?'), file.reason))
  end
  append('\n')
end

local function finish(problem, result, streamed)
  show_stage(nil)
  if problem then
    local is_stop = problem.code == 'cancelled'
    append((streamed ~= '' and '\n\n' or '') .. (is_stop and '(stopped)' or '(' .. problem.message .. ')') .. '\n\n')
    if problem.remedy then
      append(problem.remedy .. '\n\n')
    end
    return
  end
  if streamed ~= result.text then -- some of it did not come in time
    append(streamed == '' and result.text or '\n\n' .. result.text)
  end
  append_sources(result)
end

--- Asks. `options`: directory, paths, selection (text that the question is about), continue.
function M.ask(question, options)
  local about = options.selection and ('%s\n\n%s'):format(options.selection, question) or question
  local params = {
    directory = buffer.path_out(options.directory),
    question = about,
    paths = options.paths and #options.paths > 0 and options.paths or nil,
    continue_conversation = options.continue or nil,
  }
  task.stop('ask')
  show_panel()
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(panel), 0 })
  append(('# %s\n\n'):format(question:gsub('\n', ' ')))
  local streamed = ''
  task.start('ask', params, {
    stage = show_stage,
    part = function(method, told)
      if method == 'ask/token' then
        show_stage(nil)
        streamed = streamed .. told.text
        append(told.text)
      end
    end,
    done = function(problem, result)
      finish(problem, result, streamed)
    end,
  })
end

return M
