#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
namespace envoi {
Decomposition decompose(const Channel&, const PursuitOptions&) {
  throw Error(ErrorKind::numerical, "under construction");
}
Decomposition decompose(const Recording&, const PursuitOptions&) {
  throw Error(ErrorKind::numerical, "under construction");
}
Plan plan(const Channel&, const PursuitOptions&) { throw Error(ErrorKind::numerical, "under construction"); }
std::vector<DeviceInfo> devices() { return {{"cpu", "?"}}; }
std::string isa_name() { return "?"; }
std::string version() { return ENVOI_VERSION; }
const char* to_string(StopReason r) {
  constexpr const char* names[] = {"atoms", "snr", "energy", "noise", "silence", "missing", "exhausted"};
  return names[static_cast<int>(r)];
}
}  // namespace envoi
