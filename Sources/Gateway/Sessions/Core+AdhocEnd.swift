internal import Nearby
internal import Notation
internal import Reactor

/// The end of ad hoc mode at a time that its client has set, though no client is there any more.
extension Core {
  /// A month, in seconds.
  static let adhocSecondsMax: Int64 = 2_592_000
  private static let watchInterval: Duration = .seconds(60)

  /// Ends a session's ad hoc mode when its time is over. It checks repeatedly, since the machine's clock may be set.
  func watchAdhoc(of model: SessionModel) {
    if let watch = model.adhocWatch { reactor.cancel(watch) }
    model.adhocWatch = nil
    guard let end = model.adhocUntil else { return }
    let left = Duration.milliseconds(max(0, end.milliseconds - Timestamp.now.milliseconds))
    model.adhocWatch = reactor.schedule(after: min(left, Self.watchInterval)) { [weak self, weak model] in
      guard let self, let model, exists(model), model.adhocUntil == end else { return }
      if Timestamp.now < end { return watchAdhoc(of: model) }
      let id = model.id
      start { core in await core.endAdhoc(in: id, at: end) }
    }
  }

  private func endAdhoc(in id: String, at end: Timestamp) async {
    guard let model = sessions[id], model.adhocUntil == end else { return }
    (model.adhoc, model.adhocUntil) = (nil, nil)
    await model.session.stopAdhoc()
    await keep(model)
    publish(model)
  }
}
