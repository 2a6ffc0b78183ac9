-- SPDX-License-Identifier: Apache-2.0
-- Places that were edited or looked at lately, the latest first. The daemon reads them before others, so that a hint
-- knows what the user has just seen in other files.
local M = {}
local api = vim.api
local buffer = require('kvboost.buffer')
local config = require('kvboost.config')

local MOST = 16
local SAME_PLACE_LINES = 20

local places = {}

--- Notes where the cursor stands in the current window.
function M.note()
  local buf = api.nvim_get_current_buf()
  local path = api.nvim_buf_get_name(buf)
  if path == '' or config.reason_against(buf) then
    return
  end
  local line = api.nvim_win_get_cursor(0)[1]
  places = vim.tbl_filter(function(place)
    return place.path ~= path or math.abs(place.line - line) > SAME_PLACE_LINES
  end, places)
  table.insert(places, 1, { path = path, line = line })
  places[MOST + 1] = nil
end

--- The places in other files than this one, for the wire; nil if there are none.
function M.places_outside(path)
  local found = {}
  for _, place in ipairs(places) do
    if place.path ~= path then
      table.insert(found, { path = buffer.path_out(place.path), line = place.line })
    end
  end
  return #found > 0 and found or nil
end

return M
