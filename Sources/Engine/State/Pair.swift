import Wire

/// The two ends of a flow: a local endpoint and a member of its session.
struct Pair: Hashable {
  var local: EndpointID
  var member: EndpointID
}
