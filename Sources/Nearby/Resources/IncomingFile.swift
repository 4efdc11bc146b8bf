internal import Wire

/// A file being received: its chunks gather in batches, which go to the disk one after the other.
final class IncomingFile {
  let target: TargetFile
  /// Whether a batch must survive a power cut before it counts as written.
  let syncs: Bool
  /// All of them full but the last.
  private var batches: [Disk.Batch] = []
  private var spare: [Disk.Batch] = []
  var isWriting = false
  var path: String?
  var fault: NearbyError?

  init(_ target: TargetFile, syncs: Bool) {
    self.target = target
    self.syncs = syncs
  }

  /// Double buffering: the next batch fills while the disk has this one, and stored bytes are confirmed soon; but if
  /// each batch is synced, fewer are better.
  private var batchBytesMax: Int { syncs ? .max : 1 << 20 }

  func append(_ chunk: RawSpan, _ digest: Digest, at offset: UInt64) {
    // The transfer has begun anew from there: the chunks here will come again.
    if let last = batches.last, last.end != offset { while !batches.isEmpty { takeBack(nextBatch()) } }
    if batches.last.map({ $0.bytes.count >= batchBytesMax }) ?? true { batches.append(spare.popLast() ?? Disk.Batch()) }
    batches[batches.count - 1].append(chunk, digest, at: offset)
  }

  var hasBatch: Bool { !batches.isEmpty }

  /// The oldest batch, for the disk.
  func nextBatch() -> Disk.Batch { batches.removeFirst() }

  func takeBack(_ batch: Disk.Batch) {
    batch.removeAll()
    spare.append(batch)
  }
}
