-- SPDX-License-Identifier: Apache-2.0
-- :Kvboost warm: has the repository read ahead, and tells how far that is.
local M = {}
local buffer = require('kvboost.buffer')
local task = require('kvboost.task')

--- `options`: directory, paths, changed (only what differs from the last commit).
function M.warm(options)
  local params = {
    directory = buffer.path_out(options.directory),
    paths = #options.paths > 0 and options.paths or nil,
    changed = options.changed or nil,
  }
  task.start('warm', params, {
    stage = task.echo,
    done = function(problem, result)
      if problem then
        return task.tell_problem(problem)
      end
      local refusal = result.refusal ~= '' and '; not all could be kept: ' .. result.refusal or ''
      local told = '%s read ahead: %d tokens, %d of them new, %.1f s%s'
      local files = task.count(result.files, 'file')
      task.echo(told:format(files, result.tokens, result.computed_tokens, result.seconds, refusal))
    end,
  })
end

return M
