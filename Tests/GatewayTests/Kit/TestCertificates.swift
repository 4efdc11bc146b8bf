internal import Foundation
internal import Testing

/// An anchor, and an identity that it vouches for.
struct TestCertificates {
  let root: String
  let identity: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("certificates-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let command = """
      cd '\(folder.path)' && exec >/dev/null 2>&1
      key="openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
      $key -x509 -days 30 -subj /CN=Root -keyout root.key -out root.pem &&
      $key -subj /CN=Bert -keyout bert.key -out bert.csr &&
      echo 'keyUsage=critical,digitalSignature' >bert.ext &&
      openssl x509 -req -in bert.csr -CA root.pem -CAkey root.key -CAcreateserial -days 30 -extfile bert.ext -out bert.pem &&
      openssl pkcs12 -export -in bert.pem -inkey bert.key -passout pass:secret -out bert.p12
      """
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", command]
    try shell.run()
    shell.waitUntilExit()
    try #require(shell.terminationStatus == 0)
    root = try String(contentsOf: folder.appendingPathComponent("root.pem"), encoding: .utf8)
    identity = try Data(contentsOf: folder.appendingPathComponent("bert.p12")).base64EncodedString()
  }
}
