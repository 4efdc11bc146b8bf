internal import Wire

/// A file that comes: its chunks gather in batches, which go to the disk one after the other.
final class IncomingFile {
  let target: TargetFile
  /// Whether a batch is there after a power cut before it is told as written.
  let syncs: Bool
  /// All of them full but the last.
  private var batches: [Disk.Batch] = []
  private var spare: [Disk.Batch] = []
  /// Whether the disk has a batch.
  var isWriting = false
  /// Its name, once it is whole.
  var path: String?
  /// Why it cannot be stored, where it cannot.
  var fault: NearbyError?

  init(_ target: TargetFile, syncs: Bool) {
    self.target = target
    self.syncs = syncs
  }

  /// The next one fills while the disk has this one, and the sender hears soon of what is stored; but where each is synced,
  /// the fewer they are the better.
  private var batchBytesMax: Int { syncs ? .max : 1 << 20 }

  func append(_ chunk: RawSpan, _ digest: Digest, at offset: UInt64) {
    // The transfer has begun anew from there: what stands here comes again.
    if let last = batches.last, last.end != offset { while !batches.isEmpty { takeBack(nextBatch()) } }
    if batches.last.map({ $0.bytes.count >= batchBytesMax }) ?? true { batches.append(spare.popLast() ?? Disk.Batch()) }
    batches[batches.count - 1].append(chunk, digest, at: offset)
  }

  var hasBatch: Bool { !batches.isEmpty }

  /// What has come first, for the disk.
  func nextBatch() -> Disk.Batch { batches.removeFirst() }

  func takeBack(_ batch: Disk.Batch) {
    batch.removeAll()
    spare.append(batch)
  }
}
