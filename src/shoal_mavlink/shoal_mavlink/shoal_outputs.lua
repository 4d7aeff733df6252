-- All eight thruster outputs of an ArduSub from MAVLink, for Shoal's bridge with `route: outputs`.
-- Copy it to APM/scripts on the autopilot, set SCR_ENABLE to 1, restart. ArduSub 4.5 or later.
--
-- Takes SET_ACTUATOR_CONTROL_TARGET (139), controls -1 to 1, of the ground station whose overrides count, and only while
-- the vehicle is armed in MANUAL. Each lasts for 100 ms: when they stop, the outputs are the mixer's again, which the
-- bridge keeps at neutral by RC overrides. Arming and every failsafe stay in force.

local MSG_ID = 139
local MANUAL = 19
local OUTPUTS = 8
local NEUTRAL_US, HALF_RANGE_US = 1500, 400
local LASTS_MS = 100
local PERIOD_MS = 5
local ALIVE_NAME, ALIVE_VERSION = "SHOAL8", 1  -- as NAMED_VALUE_FLOAT once a second: the bridge arms only if it hears it
local ALIVE_PERIODS = 200

-- Of the received struct (1-based): checksum 1-2, magic 3, length 4, flags 5-6, sequence 7, system 8, component 9,
-- message id 10-12, then the payload with its largest fields first.
local SYSTEM_AT, ID_AT, CONTROLS_AT, GROUP_AT = 8, 10, 21, 53

mavlink:init(10, 10)
mavlink:register_rx_msgid(MSG_ID)

local function commander()
  return param:get("SYSID_MYGCS") or param:get("MAV_GCS_SYSID") or 255
end

-- Pulse widths of a message; nil if it is not for us or holds anything but numbers from -1 to 1.
local function pulse_widths(message)
  if string.unpack("<I3", message, ID_AT) ~= MSG_ID then return nil end
  if string.unpack("<B", message, SYSTEM_AT) ~= commander() then return nil end
  if string.unpack("<B", message, GROUP_AT) ~= 0 then return nil end
  local widths = {}
  for n = 1, OUTPUTS do
    local share = string.unpack("<f", message, CONTROLS_AT + 4 * (n - 1))
    if not (share >= -1 and share <= 1) then return nil end  -- not a number fails both
    widths[n] = math.floor(NEUTRAL_US + HALF_RANGE_US * share + 0.5)
  end
  return widths
end

local count = 0

local function update()
  local newest = nil
  local message = mavlink:receive_chan()
  while message do
    newest = pulse_widths(message) or newest
    message = mavlink:receive_chan()
  end
  if newest and arming:is_armed() and vehicle:get_mode() == MANUAL then
    for n = 1, OUTPUTS do
      SRV_Channels:set_output_pwm_chan_timeout(n - 1, newest[n], LASTS_MS)
    end
  end
  if count % ALIVE_PERIODS == 0 then gcs:send_named_float(ALIVE_NAME, ALIVE_VERSION) end
  count = count + 1
  return update, PERIOD_MS
end

gcs:send_text(6, "shoal_outputs: eight outputs by MAVLink")
return update, PERIOD_MS
