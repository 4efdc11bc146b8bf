import Wire

/// Whose flow it is: a local endpoint's and a member's of its session.
struct Pair: Hashable {
  var local: EndpointID
  var member: EndpointID
}
