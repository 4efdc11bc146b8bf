internal import Engine
internal import Wire

extension HostDriver {
  func openStream(_ name: String, from id: EndpointID, to member: EndpointID) throws -> StreamWriterState {
    let stream = try call { engine, now throws(EngineError) in
      try engine.openStream(name, from: id, to: member, at: now)
    }
    let state = StreamWriterState(stream)
    writers[stream] = state
    return state
  }

  /// False where its reader is behind: `StreamWriterState.room` says when to try again.
  func write(_ bytes: [UInt8], to stream: StreamWriterState) throws -> Bool {
    guard writers[stream.id] != nil else {
      throw NearbyError(.unavailable, "this stream has ended, or was closed")
    }
    do throws(EngineError) {
      stream.markFull()
      try call { engine, now throws(EngineError) in try engine.write(bytes, to: stream.id, at: now) }
      return true
    } catch {
      if error.code == .unavailable { return false }
      throw error
    }
  }

  func closeStream(_ id: StreamID) { call { $0.closeStream(id, at: $1) } }

  func cancelStream(_ id: StreamID) {
    guard writers[id] != nil || readers[id] != nil else { return }
    call { $0.cancelStream(id, .cancelled, at: $1) }
  }

  func consumed(_ bytes: Int, of id: StreamID) {
    // The engine keeps unconsumed bytes of a stream that has ended.
    call { $0.consumed(bytes, of: id, at: $1) }
  }

  func ended(_ stream: StreamID, _ reason: Reason) {
    writers.removeValue(forKey: stream)?.end(reason)
    readers.removeValue(forKey: stream)?.end(reason)
  }
}
