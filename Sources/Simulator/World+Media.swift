import Engine
import Wire

/// Several media between the hosts of a world.
extension World {
  func changed(_ medium: MediumID, to other: HostID, _ host: SimHost) {
    transcript.add(now, host.index) {
      let name = host.plan.settings.media[medium.rawValue].name
      return "reaches \(hostsByID[other].map { "h\($0)" } ?? "a stranger") by \(name) now"
    }
  }
}
