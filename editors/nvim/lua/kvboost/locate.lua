-- SPDX-License-Identifier: Apache-2.0
-- :Kvboost locate: where a bug report points to, as a quickfix list. The ranking by words is shown at once, and gives
-- way to the model's when that is known.
local M = {}
local api = vim.api
local buffer = require('kvboost.buffer')
local task = require('kvboost.task')

--- Entries of the quickfix list; `path` of the root's files may be any bytes.
local function entries(root, files)
  local list = {}
  for _, file in ipairs(files) do
    local names = {}
    for _, called in ipairs(file.functions) do
      table.insert(names, called.name)
    end
    table.insert(list, {
      filename = root .. '/' .. buffer.path_in(file.path),
      lnum = file.line,
      text = #names > 0 and ('%s  [%s]'):format(file.text, table.concat(names, ', ')) or file.text,
    })
  end
  return list
end

local function show(list, title, id)
  if id and vim.fn.getqflist({ id = id, nr = 0 }).id == id then
    vim.fn.setqflist({}, 'r', { id = id, title = title, items = list })
    return id
  end
  vim.fn.setqflist({}, ' ', { title = title, items = list })
  if api.nvim_get_mode().mode == 'n' then
    vim.cmd('botright copen')
  else -- the user does something else already: not to be pulled away from it
    task.echo('the places are in the quickfix list (:copen)')
  end
  return vim.fn.getqflist({ id = 0 }).id
end

--- The root of the work tree is told with the result only; the ranking by words comes before it.
local function root_of(directory)
  local folder = directory
  while vim.fn.isdirectory(folder .. '/.git') == 0 and vim.fn.filereadable(folder .. '/.git') == 0 do
    local above = vim.fn.fnamemodify(folder, ':h')
    if above == folder then
      return nil
    end
    folder = above
  end
  return folder
end

--- Looks for the place of a bug.
function M.locate(report, directory)
  local first_line = report:match('[^\n]*%S[^\n]*') or ''
  local title = 'kvboost: ' .. vim.trim(first_line)
  local root, id = root_of(directory), nil
  task.start('locate', { directory = buffer.path_out(directory), report = report }, {
    stage = task.echo,
    part = function(method, told)
      if method == 'locate/ranking' and told.ranker == 'words' and root and #told.files > 0 then
        id = show(entries(root, told.files), title .. ' (by words; the model is still reading)', id)
      end
    end,
    done = function(problem, result)
      if problem then
        return task.tell_problem(problem)
      elseif #result.files == 0 then
        return task.echo('nothing here has to do with that')
      end
      show(entries(result.root, result.files), title, id)
      task.echo(task.count(#result.files, 'file') .. (result.incomplete ~= '' and ', ' .. result.incomplete or ''))
    end,
  })
end

return M
