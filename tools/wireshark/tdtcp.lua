-- Time-division TCP (TDTCP, SIGCOMM 2022) in Wireshark and tshark: the TCP option of kind 35 (figures 5b and 5c of the paper)
-- and the notification of a ToR, ICMP type 7 code 0 (figure 5a, with a destination rack in its last two bytes).
--
--   tshark -X lua_script:tdtcp.lua -r capture.pcapng -Y 'tdtcp.data_tdn == 1 || tdtcp.active_tdn'
--
-- In Wireshark it belongs into the folder 'Personal Lua Plugins' (Help > About > Folders).

local OPTION_KIND = 35
local TD_CAPABLE, TD_DATA_ACK = 1, 2
local LENGTH_BYTES = { [TD_CAPABLE] = { [4] = true }, [TD_DATA_ACK] = { [8] = true, [16] = true } }
local ICMP_PROTOCOL, ICMP_TYPE, ICMP_CODE, ICMP_BYTES = 1, 7, 0, 8
local EVERY_RACK = 0xffff

-- A Proto has one dissector: the second is there for what comes by ICMP. All that is shown belongs to the first.
local option = Proto("tdtcp", "Time-division TCP")
local notification = Proto("tdtcp-icmp", "Time-division TCP notification")

local field = {
  subtype = ProtoField.uint8("tdtcp.subtype", "Subtype", base.DEC,
    { [TD_CAPABLE] = "TD_CAPABLE", [TD_DATA_ACK] = "TD_DATA_ACK" }, 0xf0),
  num_tdns = ProtoField.uint8("tdtcp.num_tdns", "Number of TDNs"),
  reserved = ProtoField.bool("tdtcp.flags.b", "B (reserved)", 8, nil, 0x04),
  has_data = ProtoField.bool("tdtcp.flags.d", "D (data TDN is there)", 8, nil, 0x02),
  has_ack = ProtoField.bool("tdtcp.flags.a", "A (ACK TDN is there)", 8, nil, 0x01),
  data_tdn = ProtoField.uint8("tdtcp.data_tdn", "Data TDN"),
  ack_tdn = ProtoField.uint8("tdtcp.ack_tdn", "ACK TDN"),
  active_tdn = ProtoField.uint8("tdtcp.active_tdn", "Active TDN"),
  rack = ProtoField.uint16("tdtcp.rack", "Destination rack"),
}
option.fields = field

local function malformed(name, text)
  return ProtoExpert.new(name, text, expert.group.MALFORMED, expert.severity.ERROR)
end
local problem = {
  length = malformed("tdtcp.bad_length", "TDTCP: no option of this subtype has this length"),
  subtype = malformed("tdtcp.bad_subtype", "TDTCP: unknown subtype"),
  num_tdns = malformed("tdtcp.bad_num_tdns", "TDTCP: a connection has one TDN at least"),
  place = malformed("tdtcp.misplaced", "TDTCP: TD_CAPABLE belongs on a SYN, TD_DATA_ACK on all other segments"),
  size = malformed("tdtcp.bad_size", "TDTCP: a notification has eight bytes"),
}
option.experts = problem

local syn_flag = Field.new("tcp.flags.syn")

-- The last of the segments in a frame is the one whose options are being dissected.
local function on_syn()
  local flags = { syn_flag() }
  return flags[#flags].value
end

local function dissect_capable(buffer, tree)
  local count = tree:add(field.num_tdns, buffer(3, 1))
  if buffer(3, 1):uint() == 0 then
    count:add_proto_expert_info(problem.num_tdns)
  end
  tree:append_text(": TD_CAPABLE, number of TDNs " .. buffer(3, 1):uint())
end

-- A length field of 16, as in figure 5c, describes the same eight bytes, and eight more that say nothing.
local function dissect_data_ack(buffer, tree)
  local flags = buffer(3, 1)
  tree:append_text(": TD_DATA_ACK")
  tree:add(field.reserved, flags)
  tree:add(field.has_data, flags)
  tree:add(field.has_ack, flags)
  if flags:bitfield(6, 1) == 1 then
    tree:add(field.data_tdn, buffer(4, 1))
    tree:append_text(", data on TDN " .. buffer(4, 1):uint())
  end
  if flags:bitfield(7, 1) == 1 then
    tree:add(field.ack_tdn, buffer(6, 1))
    tree:append_text(", ACK on TDN " .. buffer(6, 1):uint())
  end
end

-- One option, from its kind to its end. Wireshark itself reports a length that is below 2 or leaves the header.
function option.dissector(buffer, _, parent)
  local tree = parent:add(option, buffer())
  if buffer:len() < 3 then
    tree:add_proto_expert_info(problem.length)
    return buffer:len()
  end
  local kind = buffer(2, 1):bitfield(0, 4)
  local subtype = tree:add(field.subtype, buffer(2, 1))
  if not LENGTH_BYTES[kind] then
    subtype:add_proto_expert_info(problem.subtype)
  elseif not LENGTH_BYTES[kind][buffer:len()] then
    tree:add_proto_expert_info(problem.length)
  else
    if on_syn() ~= (kind == TD_CAPABLE) then
      tree:add_proto_expert_info(problem.place)
    end
    local dissect = kind == TD_CAPABLE and dissect_capable or dissect_data_ack
    dissect(buffer, tree)
  end
  return buffer:len()
end

local protocols = DissectorTable.get("ip.proto")
local icmp = protocols:get_dissector(ICMP_PROTOCOL)

-- Every ICMP message comes here. Wireshark's own dissector goes first; it raises an error if there is less than a header.
function notification.dissector(buffer, packet, root)
  pcall(icmp.call, icmp, buffer, packet, root)
  if buffer:len() < 2 or buffer(0, 1):uint() ~= ICMP_TYPE or buffer(1, 1):uint() ~= ICMP_CODE then
    return
  end
  local tree = root:add(option, buffer(), "Time-division TCP notification")
  if buffer:len() ~= ICMP_BYTES then
    tree:add_proto_expert_info(problem.size)
    return
  end
  local where = buffer(6, 2):uint()
  tree:add(field.active_tdn, buffer(4, 1))
  local shown = tree:add(field.rack, buffer(6, 2))
  if where == EVERY_RACK then
    shown:append_text(" (every rack)")
  end
  packet.cols.info = "TDN " .. buffer(4, 1):uint() .. " leads to " .. (where == EVERY_RACK and "every rack" or "rack " .. where)
end

DissectorTable.get("tcp.option"):add(OPTION_KIND, option)
protocols:add(ICMP_PROTOCOL, notification)
