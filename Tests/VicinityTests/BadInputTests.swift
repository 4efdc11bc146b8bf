import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import vicinity

/// The program's answers to unusable input: the fault, its cause and its cure, on standard error.
@Suite(.ownThread, .serialized) struct BadInputTests {
  private let alone = ["--discovery", "static", "--keys", "ephemeral"]

  /// Returns the rest of standard error.
  @discardableResult
  private func refused(_ arguments: [String], _ code: CInt, _ parts: String..., input: String? = nil) throws -> String {
    let program = try Program(arguments, input == nil ? .noInput : .pipes)
    if let input {
      program.say(input)
      program.endInput()
    }
    #expect(try program.ended() == code, "\(arguments)")
    let sentence = program.err.split(separator: "\n").first { $0.hasPrefix("vicinity: ") } ?? ""
    for part in parts { #expect(sentence.contains(part), "\(arguments): \(program.err)") }
    #expect(!program.err.dropLast().unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
    #expect(program.err.components(separatedBy: "vicinity: ").count == 2, "told once: \(program.err)")
    return program.out
  }

  @Test(
    "P-ID-1 A name that cannot be one is refused",
    arguments: [
      ("", ["needs a value"]), (String(repeating: "é", count: 32), ["64 bytes", "at most 63", "shorten it"]),
      ("\u{1}\u{2}", ["control character U+0001", "use letters"]), ("Ann\u{1B}[2J", ["control character U+001B"]),
      ("Ann\u{2028}", ["control character U+2028"]), (" \u{A0}", ["nothing that can be seen", "give it a letter"]),
      ("\u{200B}\u{FEFF}", ["nothing that can be seen"]),
    ])
  func names(_ name: String, _ parts: [String]) throws {
    for part in parts { try refused(["advertise", "chat", "--name", name] + alone, 2, part) }
  }

  @Test(
    "P-ADV-1 A service type that is none is refused",
    arguments: [
      ("", ["1 to 15 characters"]), ("sixteen-letters-", ["16 bytes", "at most 15", "shorten it"]),
      ("Chat", ["“C”", "only a–z"]), ("a b", ["a space"]), ("schön", ["the byte 195"]), ("a\u{7}", ["the byte 7"]),
      ("a--b", ["hyphen", "between letters"]), ("a-", ["hyphen"]), ("12", ["no letter", "at least one"]),
    ])
  func types(_ type: String, _ parts: [String]) throws {
    for command in ["browse", "adhoc", "peers"] {
      for part in parts { try refused([command] + alone + ["--", type], 2, part) }
    }
  }

  @Test(
    "P-ADV-2 Discovery info that a record cannot carry is refused",
    arguments: [
      (["=7"], ["takes a key and a value"]), (["room"], ["such as room=7"]),
      (["a=1", "b=", "a=2"], ["has the key 'a' already", "one value"]),
      (["schlüssel=1"], ["“schlüssel”", "the byte 195", "printable ASCII"]), (["a\u{1B}b=1"], ["the byte 27"]),
      (["k=" + String(repeating: "v", count: 254)], ["“k=…”", "256 bytes", "at most 255", "shorten its value"]),
      (
        [String](repeating: String(repeating: "v", count: 200), count: 9).enumerated().map { "\($0)=\($1)" },
        ["1827 bytes", "at most 1024", "say less"]
      ), ((0..<65).map { "k\($0)=" }, ["65 pairs", "at most 64"]),
    ])
  func info(_ pairs: [String], _ parts: [String]) throws {
    for part in parts {
      let told = try refused(["advertise", "chat"] + pairs.flatMap { ["--info", $0] } + alone, 2, part)
      #expect(told == "", "nobody was told anything")
    }
  }

  @Test("P-RES-1 A URL that nothing is fetched from is refused")
  func urls() throws {
    let ada = try Program(["receive", "chat", "--accept", "--json", "--name", "Ada"] + alone)
    let line = try ada.line(#""event":"started""#)
    let port = try #require(line.firstMatch(of: #/"addresses":\["[^"]*:(\d+)"/#)).output.1
    let send = ["send", "chat", "Ada", "--at", "127.0.0.1:\(port)", "--keys", "ephemeral", "--url"]
    try refused(send + [""], 2, "needs a value")
    for (url, code, parts) in [
      ("ftp://example.org/x", 1, ("“ftp” URLs cannot be fetched", "give one with http")),
      ("http://", 2, ("its host has no name", "One that can is")),
      ("file://other/x", 2, ("of a file on “other”", "file:///PATH")), ("file:///no/such", 1, ("no file", "/no/such")),
      ("nowhere", 2, ("does not begin with", "One that can is")),
      ("http://a:99999/", 2, ("from 1 to 65535", "One that can is")), ("http://a/b c", 2, ("a space", "%20")),
      ("http://ann:secret@a/", 2, ("a user name", "One that can is")),
      ("http://169.254.0.1/", 2, ("a link-local address", "another host")),
      ("http://0/", 2, ("no address at all", "another host")),
      ("http://nowhere.invalid/", 1, ("no host “nowhere.invalid”", "check its name")),
      ("http://127.0.0.1:1/", 1, ("ECONNREFUSED", "check the URL")),
    ] as [(String, CInt, (String, String))] { try refused(send + [url], code, parts.0, parts.1) }
    let server = Program.Server()
    let circling = try Program(send + ["http://127.0.0.1:\(server.port)/"], .noInput)
    for _ in 0...8 { server.answer("HTTP/1.1 302 On\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") }
    #expect(try circling.ended() == 1)
    #expect(circling.err.contains("redirected more than 8 times"))
    ada.signal(SIGTERM)
    #expect(try ada.ended() == 143)
  }

  @Test("P-RES-1 A URL that nothing can be fetched from is refused before anybody is looked for")
  func urlsAtOnce() throws {
    for (url, code) in [("http://", 2), ("http://[::1", 2), ("nowhere", 2), ("ftp://example.org/x", 1)]
      as [(String, CInt)]
    {
      try refused(["send", "chat", "Nobody", "--url", url] + alone, code, "be fetched")
    }
  }

  @Test("P-SEC-2 A file that holds no identity, or not under this password, is refused")
  func identityFiles() throws {
    let folder = TemporaryFolder()
    let good = try folder.makeIdentity(password: "workshop")
    let path = folder.path
    try folder.write([], to: "empty.p12")
    try folder.write((0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 37) }, to: "garbage.p12")
    try folder.write(Array(good.prefix(good.count / 2)), to: "half.p12")
    try folder.write([UInt8](repeating: 0x30, count: 3 << 20), to: "large.p12")
    try folder.write([UInt8](repeating: 0x30, count: 1 << 20), to: "long.p12")
    try folder.write(Array("workshop\n".utf8), to: "password")
    mkfifo(path + "/pipe.p12", 0o600)
    for (name, parts) in [
      ("missing.p12", ("There is no file \(path)/missing.p12", "look whether its name")),
      ("good.p12/x", ("There is no file", "look whether its name")), (".", ("is no file", "make an archive")),
      ("pipe.p12", ("is no file", "pipe")), ("empty.p12", ("not a PKCS#12 file", "export the identity again")),
      ("garbage.p12", ("not a PKCS#12 file", "export")), ("half.p12", ("not a PKCS#12 file", "damaged")),
      ("large.p12", ("3145728 bytes", "give another one")), ("long.p12", ("1048576 bytes", "at most")),
    ] {
      let words = ["identity", "import", "\(path)/\(name)", "--password-file", path + "/password"]
      try refused(words + alone, 1, parts.0, parts.1)
    }
    let words = ["identity", "import", path + "/good.p12", "--keys", "ephemeral"]
    try refused(words + ["--password-file", "-"], 1, "password is not the one", "type it again", input: "guess\n")
    try refused(words + ["--password-file", "-"], 1, "password is not the one", input: "\n")
    try refused(words + ["--password-file", path + "/none"], 1, "none cannot be read", "No such file")
    try refused(words, 2, "password is missing", "--password-file")
    try refused(["identity", "import", path + "/missing.p12"] + alone, 1, "There is no file", "look whether its name")
    let taken = try Program(words + ["--password-file", path + "/password"], .noInput)
    #expect(try taken.ended() == 0)
  }
}

extension TemporaryFolder {
  /// Writes an identity to `good.p12`.
  fileprivate func makeIdentity(password: String) throws -> [UInt8] {
    let script = """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=Ann -keyout key -out leaf
      openssl pkcs12 -export -in leaf -inkey key -passout pass:\(password) -out good.p12
      """
    let program = try Program(["-ec", script], in: path, running: "/bin/sh")
    #expect(try program.ended() == 0, "\(program.err)")
    return bytes(of: "good.p12")
  }
}
