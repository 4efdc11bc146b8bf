internal import FakeRadio
internal import Notation
internal import Testing

@testable internal import Gateway
@testable internal import Media
@testable internal import Nearby

/// Two who have met, and Bert has one of each thing that there is.
struct EveryResource {
  let anna: TwoClients.SessionClient
  let bert: TwoClients.SessionClient
  /// A session of his that Anna waits to be let into.
  private(set) var other = ""
  /// The values of a path's parameters.
  private var names: [String: String] = ["kind": "notFound", "client": "self"]

  private init(_ meeting: TwoClients) { (anna, bert) = (meeting.anna, meeting.bert) }

  static func hold(_ test: (EveryResource) async throws -> Void) async throws {
    let machine = try RadioMachine()
    try await FakeSupplicant.with(machine) { _ in
      try await TwoClients.hold(as: "admin") { meeting in
        var plenty = EveryResource(meeting)
        try await plenty.fill()
        try await plenty.addRadio(machine)
        try await test(plenty)
      }
    }
  }

  private mutating func addRadio(_ machine: RadioMachine) async throws {
    try await bert.gateway.use(machine)
    names["radio"] = machine.radio
    let group: JSON = ["kind": "group"]
    #expect(try await bert.client.ask("PUT", "/v1/radios/\(machine.radio)/network", group.bytes).status == 201)
  }

  private mutating func fill() async throws {
    let (his, hers) = (bert.client, anna.client)
    let (identity, to) = (try TestCertificates(), JSON.text(anna.peer))
    let settings: JSON = ["name": "Kitchen", "logLevel": "info", "limits": ["peersPerClient": 100]]
    #expect(try await his.patch("/v1/gateway", settings).status == 200)
    names["code"] = try await his.make("/v1/pairing-codes", ["label": "Guests"]).id
    names["identity"] = try await his.make("/v1/identities", ["data": .text(identity.identity), "password": "secret"])
      .id
    _ = try await his.make("/v1/anchors", ["pem": .text(identity.root)])
    names["anchor"] = try await his.get("/v1/anchors").ids.first
    _ = try await his.make("/v1/trusted-peers", ["peer": to, "displayName": "Anna"])
    names["advertiser"] = try await his.make("/v1/advertisers", ["serviceType": "chat"]).id
    for list in ["browser", "invitation"] { names[list] = try await his.get("/v1/\(list)s").ids.first }
    names["member"] = try await his.get("\(bert.path)/members").ids.first
    names["message"] = try await his.ask("POST", "\(bert.path)/messages?to=\(anna.peer)", [0xff]).id
    names["stream"] = try await his.make("\(bert.path)/streams", ["name": "voice", "to": to]).id
    let resource = try await his.make("\(bert.path)/resources", ["name": "photo", "to": to, "size": 1_000])
    names["resource"] = resource.id
    let uploaded = try await his.ask(
      "PUT", resource.json["content"]?.text ?? "", [UInt8](repeating: 1, count: 1_000),
      headers: ["Repr-Digest": "sha-256=:NTw4NSqFXID07LB5OnZJMihUG1+rXvevJu/6yR537EY=:"])
    #expect(uploaded.status == 200)
    names["comparison"] = try await his.make("\(bert.path)/comparisons", ["member": to]).id
    _ = try await his.wait(in: "\(bert.path)/comparisons", "state", "pending")
    // A Bluetooth device that waits for an answer as long as the gateway lasts.
    let host = bert.gateway.running.host
    try await host.loop.run { $0.changed(.asked(.some())) }
    names["pairing"] = try await his.wait(in: "/v1/bluetooth-pairings", "state", "pending")["id"]?.text
    try await wait()
    for list in ["messages", "streams", "resources", "comparisons"] {
      _ = try await hers.wait(in: "\(anna.path)/\(list)") { _ in true }
    }
  }

  /// Begins a connection by data, with an identity: both a connection and a trust decision then exist.
  private mutating func wait() async throws {
    let identity = try await anna.client.make(
      "/v1/identities", ["data": .text(try TestCertificates().identity), "password": "secret"])
    other =
      try await bert.client.make("/v1/sessions", ["trust": "ask", "history": ["keep": "durable", "age": 60]])[
        "Location"] ?? ""
    let hers = try await anna.client.make("/v1/sessions", ["identity": .text(identity.id)])["Location"] ?? ""
    let (his, data) = (
      try await bert.client.get("\(other)/connection-data"), try await anna.client.get("\(hers)/connection-data")
    )
    _ = try await anna.client.make("\(hers)/connections", his.json)
    names["connection"] = try await bert.client.make("\(other)/connections", data.json).id
    names["decision"] = try await bert.client.wait(in: "\(other)/certificates", "state", "pending")["id"]?.text
  }

  /// The path of Bert's resource for this operation.
  func path(of operation: Document.Operation) -> String {
    let isOther = ["certificates", "connections"].contains { operation.path.contains("/\($0)") }
    let path = operation.path.replacing("/v1/sessions/{session}", with: isOther ? other : bert.path)
      .replacing("/v1/peers/{peer}", with: "/v1/peers/\(bert.peer)").replacing("{peer}", with: anna.peer)
    return names.reduce(path) { $0.replacing("{\($1.key)}", with: $1.value) }
  }

  /// The example of a request, with peers and sessions that exist.
  func example(of operation: Document.Operation, _ media: JSON) -> [JSON.Member] {
    let isOfAnother = ["/connections", "/trusted-peers"].contains { operation.path.hasSuffix($0) }
    let known: [String: String] = [
      "session": bert.session, "to": anna.peer, "member": anna.peer, "peer": isOfAnother ? anna.peer : bert.peer,
    ]
    return (Document.shared.examples(of: media).first?.members ?? []).map {
      .init($0.name, known[$0.name].map(JSON.text) ?? $0.value)
    }
  }
}
