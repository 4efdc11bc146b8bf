internal import Nearby

/// The sessions of the gateway's peers, by their IDs and by their endpoints.
struct SessionDirectory {
  private var models: [String: SessionModel] = [:]
  private var modelsByEndpoint: [EndpointID: SessionModel] = [:]
  /// The sessions of the latest events: mostly the next one is for the same.
  private var latestAudiences: [EventAudience] = []

  /// A member that connects is four events: two that it has, and two that the others have.
  private static let latestAudiencesMax = 4

  var count: Int { models.count }
  var isEmpty: Bool { models.isEmpty }
  var values: some Swift.Collection<SessionModel> { models.values }
  var ids: some Swift.Collection<String> { models.keys }

  subscript(id: String) -> SessionModel? { models[id] }
  subscript(endpoint: EndpointID) -> SessionModel? { modelsByEndpoint[endpoint] }

  func models(at endpoints: [EndpointID]) -> [SessionModel] { endpoints.compactMap { self[$0] } }

  mutating func add(_ model: SessionModel) {
    models[model.id] = model
    modelsByEndpoint[model.session.id] = model
    latestAudiences = []
  }

  mutating func remove(_ id: String) -> SessionModel? {
    guard let model = models.removeValue(forKey: id) else { return nil }
    modelsByEndpoint[model.session.id] = nil
    latestAudiences = []
    return model
  }

  mutating func audience(_ endpoints: [EndpointID]) -> EventAudience {
    if let latest = latestAudiences.last(where: { $0.endpoints == endpoints }) { return latest }
    let audience = EventAudience(endpoints, models(at: endpoints))
    if latestAudiences.count == Self.latestAudiencesMax { latestAudiences.removeFirst() }
    latestAudiences.append(audience)
    return audience
  }
}
