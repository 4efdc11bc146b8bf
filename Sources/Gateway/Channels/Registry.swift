/// The models of one kind by their IDs, and the list that shows them.
final class Registry<Model> {
  let list: Collection
  private var models: [String: Model] = [:]

  init(_ list: Collection) {
    self.list = list
  }

  var values: some Swift.Collection<Model> { models.values }
  var ids: some Swift.Collection<String> { models.keys }
  var count: Int { models.count }

  subscript(id: String) -> Model? {
    get { models[id] }
    set { models[id] = newValue }
  }

  /// Removes a model, and not its item; returns whether it was there.
  func remove(_ id: String) -> Bool { models.removeValue(forKey: id) != nil }
}
