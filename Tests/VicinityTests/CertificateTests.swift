import FoundationEssentials
import Glibc
import Notation
import Reactor
import TestKit
import Testing

@testable import vicinity

/// HTTPS of a gateway, held against clients that are strict.
@Suite(.ownThread, .timeLimit(.minutes(2)), .serialized) struct CertificateTests {
  private let folder = TemporaryFolder()

  private func gateway() throws -> (program: Program, port: UInt16) {
    let program = try Program(
      [
        "serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--port", "0", "--listen",
        "127.0.0.1", "--discovery", "none",
      ], .noInput, in: folder.path)
    let serving = try JSON(parsing: try program.line("\"serving\""))
    let port = try SocketAddress(text: try #require(serving["addresses"]?.list?.first?.text)).port
    _ = try run("/usr/bin/curl", "-sS", "-o", "authority.crt", "http://127.0.0.1:\(port)/v1/gateway/authority")
    return (program, port)
  }

  private func run(_ path: String, _ arguments: String...) throws -> String {
    let program = try Program(arguments, .noInput, in: folder.path, running: path)
    _ = try program.ended()
    return program.out + program.err
  }

  private func connect(_ port: UInt16, _ options: String...) throws -> String {
    let program = try Program(
      [
        "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", "authority.crt", "-x509_strict",
        "-verify_return_error", "-verify_hostname", "localhost", "-servername", "localhost",
      ] + options, .noInput, in: folder.path, running: "/usr/bin/openssl")
    _ = try program.ended()
    return program.out + program.err
  }

  @Test("A client that applies all of RFC 5280 accepts its certificate, by openssl and by Python")
  func strict() throws {
    let (gateway, port) = try gateway()
    let said = try connect(port)
    #expect(said.contains("Verify return code: 0 (ok)") && said.contains("Verification: OK"), "\(said)")
    let script = """
      import ssl, sys, urllib.request
      context = ssl.create_default_context(cafile="authority.crt")
      context.verify_flags |= ssl.VERIFY_X509_STRICT
      print(urllib.request.urlopen(f"https://localhost:{sys.argv[1]}/readyz", context=context).read().decode())
      """
    #expect(try run("/usr/bin/env", "python3", "-c", script, "\(port)") == "ready\n\n")
    try FileManager.default.copyItem(atPath: folder.path + "/gateway/server.pem", toPath: folder.path + "/server.pem")
    let shown = try run("/usr/bin/openssl", "x509", "-in", "server.pem", "-noout", "-text")
    for part in [
      "Subject Key Identifier", "Authority Key Identifier", "CA:FALSE", "Digital Signature", "TLS Web Server",
    ] {
      #expect(shown.contains(part), "\(shown)")
    }
    withExtendedLifetime(gateway) {}
  }

  @Test("A certificate of an earlier release is made anew by the authority that devices trust already")
  func renewed() throws {
    let place = folder.path + "/gateway"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    chmod(place, 0o700)
    let names = MachineNames.text
    let extensions = """
      [req]
      distinguished_name = name
      [name]
      [authority]
      basicConstraints = critical,CA:TRUE,pathlen:0
      keyUsage = critical,keyCertSign,cRLSign
      subjectKeyIdentifier = hash
      [server]
      basicConstraints = critical,CA:FALSE
      keyUsage = critical,digitalSignature
      extendedKeyUsage = serverAuth
      subjectAltName = \(names)
      subjectKeyIdentifier = none
      authorityKeyIdentifier = none
      """
    try folder.write(Array(extensions.utf8), to: "extensions")
    let openssl = "/usr/bin/openssl"
    for name in ["a", "s"] {
      _ = try run(openssl, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "\(name).key")
    }
    _ = try run(
      openssl, "req", "-x509", "-new", "-key", "a.key", "-subj", "/CN=earlier", "-days", "3650", "-config",
      "extensions", "-extensions", "authority", "-out", "a.crt")
    _ = try run(
      openssl, "req", "-new", "-key", "s.key", "-subj", "/CN=localhost", "-config", "extensions", "-out", "s.csr")
    _ = try run(
      openssl, "x509", "-req", "-in", "s.csr", "-CA", "a.crt", "-CAkey", "a.key", "-CAcreateserial", "-days", "397",
      "-extfile", "extensions", "-extensions", "server", "-out", "s.crt")
    for (name, file) in [("a", "authority"), ("s", "server")] {
      let bytes = folder.bytes(of: "\(name).crt") + folder.bytes(of: "\(name).key")
      chmod(try folder.write(bytes, to: "gateway/\(file).pem"), 0o600)
    }
    #expect(try run(openssl, "verify", "-CAfile", "a.crt", "s.crt").contains("OK"))
    #expect(try run(openssl, "verify", "-x509_strict", "-CAfile", "a.crt", "s.crt").contains("Missing Authority"))
    let (gateway, port) = try gateway()
    #expect(folder.bytes(of: "authority.crt") == folder.bytes(of: "a.crt"))
    #expect(try connect(port).contains("Verify return code: 0 (ok)"))
    withExtendedLifetime(gateway) {}
  }

  @Test("TLS 1.2 is spoken without CBC, and a protocol that is not HTTP 1.1 is refused by its alert")
  func narrow() throws {
    let (gateway, port) = try gateway()
    for suite in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"] {
      #expect(try connect(port, "-tls1_2", "-cipher", suite).contains("Verify return code: 0 (ok)"), "\(suite)")
    }
    for suite in ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA256"] {
      #expect(try connect(port, "-tls1_2", "-cipher", suite).contains("handshake failure"), "\(suite)")
    }
    #expect(try connect(port, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0").contains("protocol version"))
    for version in ["-tls1_2", "-tls1_3"] {
      #expect(try connect(port, version, "-alpn", "h2,http/1.1").contains("ALPN protocol: http/1.1"), "\(version)")
      #expect(try connect(port, version, "-alpn", "h3").contains("no application protocol"), "\(version)")
      #expect(try connect(port, version).contains("No ALPN negotiated"), "\(version)")
    }
    withExtendedLifetime(gateway) {}
  }
}

/// The names and addresses for which a certificate of this machine is valid.
private enum MachineNames {
  static var text: String {
    var bytes = [CChar](repeating: 0, count: 256)
    _ = gethostname(&bytes, bytes.count - 1)
    let name = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).lowercased()
    let short = String(name.prefix { $0 != "." })
    return (["localhost", name, short, short + ".local"].map { "DNS:\($0)" } + ["IP:127.0.0.1", "IP:::1"]).joined(
      separator: ",")
  }
}
