internal import Glibc

/// The content of a resource, or of several that were offered to different members together: its file here, and how far
/// its upload is.
///
/// The file is kept as long as one resource needs it, and counts once in the quota of its owner.
final class ResourceContent {
  /// Whether the file was compared with its digest since the start.
  enum Verification { case unknown, verified }

  /// The IDs of the resources whose rows may name the file, in order of their recipients.
  private(set) var holders: [String] = []
  /// Those of them that count in the quota: they were not removed.
  private var users: Set<String> = []
  /// The path of the file; nil for none.
  var path: String?
  var size: UInt64?
  /// Bytes that were uploaded here.
  var uploaded: UInt64 = 0
  /// Bytes of those that would survive a power cut.
  var uploadedDurably: UInt64 = 0
  /// The record that the uploaded bytes are checked by after a restart.
  var record = UploadRecord()
  /// The number of the upload in progress.
  var upload: UInt64?
  /// The end of the content, with the bytes that the upload has announced or is writing.
  var reservedEnd: UInt64 = 0
  /// The digest of the whole content, where it is known.
  var digest: ContentDigest?
  var verification = Verification.unknown
  /// The bytes that count in its owner's quota.
  var quotaBytes: UInt64 = 0
  /// Bytes that are reserved on the disk for it.
  var reservedDiskBytes: UInt64 = 0

  init(size: UInt64?) {
    self.size = size
  }

  /// Whether a resource needs it, and was not removed.
  func isUsed(by resource: String) -> Bool { users.contains(resource) }
  var isUsed: Bool { !users.isEmpty }

  func hold(for resource: String) {
    holders.append(resource)
    users.insert(resource)
  }

  /// Counts no more for a removed resource; its file stays until its row is gone.
  func leave(_ resource: String) { users.remove(resource) }

  /// Removes the file from the disk, unless another resource needs it.
  func release(_ resource: String) {
    users.remove(resource)
    guard let index = holders.firstIndex(of: resource) else { return }
    holders.remove(at: index)
    if holders.isEmpty { removeFile() }
  }

  /// Begins the upload anew, in a new file: the old one is named in a row that may still be there after a power cut.
  func restartUpload() {
    removeFile()
    (uploaded, uploadedDurably, record) = (0, 0, UploadRecord())
  }

  private func removeFile() {
    if let path { unlink(path) }
    path = nil
    verification = .unknown
  }
}
