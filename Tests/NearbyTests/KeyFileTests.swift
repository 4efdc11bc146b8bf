import Foundation
import Glibc
import Media
import TestKit
import Testing
import Wire

@testable import Nearby

/// Errors of the files are reported with a remedy, and nothing is overwritten.
@Suite struct KeyFileTests {
  private let folder = TemporaryFolder()

  private func open() throws -> KeyStore { try KeyStore(.folder(folder.path)) }

  private var keysPath: String { "\(folder.path)/keys" }

  /// Opens, expects such an error, and an unchanged file.
  private func refused(_ sentence: String, at location: SourceLocation = #_sourceLocation) throws {
    let before = folder.bytes(of: "keys")
    let error = #expect(throws: KeyStoreError.self, sourceLocation: location) { try open() }
    #expect(error.map { "\($0)" }?.contains(sentence) == true, "\(error as Any)", sourceLocation: location)
    #expect(folder.bytes(of: "keys") == before, sourceLocation: location)
  }

  @Test(arguments: [0o000, 0o022, 0o077] as [mode_t])
  func `nobody else can read the keys, whatever the process's mask`(_ mask: mode_t) async throws {
    let place = "\(folder.path)/a/b"
    try await withMask(mask) {
      _ = try KeyStore(.folder(place))
      _ = try KeyStore(.folder(place))
    }
    #expect(folder.mode(of: "a/b/keys") == 0o600)
    #expect(folder.mode(of: "a") & 0o077 == 0 && folder.mode(of: "a/b") & 0o077 == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place).sorted() == ["keys", "lock"])
  }

  /// Runs a body on a thread with a mask of its own: the process's is that of all tests.
  private func withMask(_ mask: mode_t, _ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            typealias Unshare = @convention(c) (CInt) -> CInt
            let unshare = unsafeBitCast(try #require(dlsym(nil, "unshare")), to: Unshare.self)
            // CLONE_FS, which Glibc's module does not name.
            try #require(unshare(0x200) == 0)
            umask(mask)
            try body()
          })
      }
    }
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o677] as [mode_t])
  func `keys that others may read or write are refused`(_ mode: mode_t) throws {
    _ = try open()
    chmod(keysPath, mode)
    try refused("Others may read or write \(keysPath) (mode 0\(String(mode, radix: 8)))")
    try refused("chmod 600 '\(keysPath)'")
    chmod(keysPath, 0o600)
    _ = try open()
  }

  @Test func `a folder that others may change is refused, one that they may look at is not`() throws {
    _ = try open()
    chmod(folder.path, 0o755)
    _ = try open()
    chmod(folder.path, 0o775)
    try refused("chmod 700 '\(folder.path)'")
  }

  @Test(.enabled(if: geteuid() == 0)) func `someone else's keys are refused`() throws {
    _ = try open()
    chown(keysPath, 4_321, 4_321)
    try refused("\(keysPath) belongs to user 4321")
    chown(keysPath, 0, 0)
    chown(folder.path, 4_321, 4_321)
    try refused("\(folder.path) belongs to user 4321")
  }

  @Test func `a link, a folder and a pipe in the file's place are refused`() throws {
    _ = try open()
    try FileManager.default.moveItem(atPath: keysPath, toPath: "\(folder.path)/other")
    symlink("\(folder.path)/other", keysPath)
    try refused("is not a plain file")
    unlink(keysPath)
    mkdir(keysPath, 0o700)
    try refused("is not a plain file")
    rmdir(keysPath)
    mkfifo(keysPath, 0o600)
    let error = #expect(throws: KeyStoreError.self) { try open() }
    #expect(error == .notAFile(path: keysPath))
  }

  @Test func `a damaged file is told and left as it is`() throws {
    _ = try { try open().peerKey(named: DisplayName("Ann")) }()
    let whole = folder.bytes(of: "keys")
    for count in 0..<whole.count {
      try folder.write(whole.prefix(count), to: "keys")
      try refused("damaged")
    }
    for place in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[place] ^= 1
      try folder.write(bytes, to: "keys")
      let error = #expect(throws: KeyStoreError.self) { try open() }
      #expect(error.map { "\($0)" }?.contains(keysPath) == true)
      #expect(folder.bytes(of: "keys") == bytes)
    }
    try folder.write(whole + whole, to: "keys")
    try refused("damaged")
    try folder.write(whole, to: "keys")
    _ = try open()
  }

  @Test(arguments: [
    "host 00", "peer 00 Ann", "known aa code Ann", "known aaaaaaaaaaaaaaaaaaaaaaaaaa guess Ann",
    "known aaaaaaaaaaaaaaaaaaaaaaaaaa code ", "anchor 3003", "identity", "identity 00 00", "incarnation -1", "other",
    "",
  ])
  func `a line without meaning is told with its number`(_ line: String) throws {
    try folder.write(KeyFileTests.sealed("vicinity keys 1\n#\n\(line)\n"), to: "keys")
    try refused("line 3")
  }

  @Test func `a file of a later release is told and left as it is`() throws {
    try folder.write(Array("vicinity keys 2\nin whatever form\n".utf8), to: "keys")
    try refused("format 2, of a later release")
    try folder.write(KeyFileTests.sealed("vicinity keys 0\n"), to: "keys")
    try refused("damaged")
  }

  @Test func `a file that is far too long is not read`() throws {
    try folder.write([], to: "keys")
    truncate(keysPath, off_t(KeyText.bytesMax + 1))
    let error = #expect(throws: KeyStoreError.self) { try open() }
    #expect(error == .tooLong(path: keysPath, bytesMax: KeyText.bytesMax))
  }

  @Test func `what cannot be written has not happened`() throws {
    let store = try open()
    let (ann, before) = (try DisplayName("Ann"), folder.bytes(of: "keys"))
    mkdir("\(folder.path)/keys.new", 0o700)
    #expect(throws: KeyStoreError.self) { try store.peerKey(named: ann) }
    #expect(store.peerNames.isEmpty)
    #expect(folder.bytes(of: "keys") == before)
    rmdir("\(folder.path)/keys.new")
    _ = try store.peerKey(named: ann)
  }

  @Test func `what a killed process left half written is in nobody's way`() throws {
    let key = try open().hostKey.publicKey
    try folder.write([1, 2, 3], to: "keys.new")
    #expect(try open().hostKey.publicKey == key)
  }

  @Test func `a second host with the same keys is refused, and told who has them`() throws {
    var first: KeyStore? = try open()
    let path = try #require(first?.path)
    try refused("in use by this process itself")
    #expect(throws: KeyStoreError.inUse(folder: path, process: getpid())) {
      try KeyStore.import(from: "\(path)/keys", into: .folder(path))
    }
    first = nil
    _ = try open()
  }

  @Test func `another process that has the keys is named, and when it is killed they are free`() throws {
    _ = try open()
    let holder = try LockHolder(of: "\(folder.path)/lock")
    try refused(
      "The key in \(folder.path) is in use by process \(holder.process); stop it, or give this host another folder")
    holder.kill()
    _ = try open()
  }

  @Test func `keys are free once they are let go of, though a child was forked meanwhile`() throws {
    var store: KeyStore? = try open()
    let path = try #require(store?.path)
    // The lock stays held, as by a child that was forked and has not called exec yet.
    let duplicate = dup(try #require(try descriptor(of: "\(path)/lock")))
    defer { close(duplicate) }
    store = nil
    _ = try open()
  }

  private func descriptor(of path: String) throws -> CInt? {
    let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }
    return numbers.first { number in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == path
    }
  }

  @Test func `no secret is in an error`() throws {
    _ = try open()
    let seed = try #require(folder.text(of: "keys").firstMatch(of: #/host ([0-9a-f]{64})/#)?.1)
    var bytes = folder.bytes(of: "keys")
    bytes[bytes.count - 2] ^= 1
    try folder.write(bytes, to: "keys")
    let error = #expect(throws: KeyStoreError.self) { try open() }
    #expect(error.map { "\($0) \(String(reflecting: $0))".contains(seed) } == false)
  }

  static func sealed(_ text: String) -> [UInt8] {
    let body = Array(text.utf8)
    return body + Array("sha256 \(OpenSSLCrypto().hash(body))\n".utf8)
  }
}
