import Media
import Testing
import Wire

@Suite struct AnnouncementTests {
  private static let peer = PeerID(ID128(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff))
  private static let host = HostID(ID128(high: 0xffee_ddcc_bbaa_9988, low: 0x7766_5544_3322_1100))
  private static let head = "vicinity=1 aaisem2ekvthpcezvk54zxpo74 77xn3tf3vkmyq53gkvcdgiqraa"

  private static func peer(_ name: String, _ info: [String: String] = [:]) throws -> Announcement {
    .peer(peer, host: host, name: try DisplayName(name), info: try DiscoveryInfo(info))
  }

  private static func txt(_ strings: String...) -> [[UInt8]] { strings.map { Array($0.utf8) } }

  @Test func `P-ADV-2 announcements are the strings that the protocol's page shows`() throws {
    let golden: [(Announcement, [[UInt8]])] = [
      (try Self.peer("Ann B."), Self.txt("\(Self.head) Ann B.")),
      (
        try Self.peer("Ann B.", ["vicinity": "", "room": "4=2"]),
        Self.txt("\(Self.head) Ann B.", "room=4=2", "vicinity=")
      ),
      (.roster(host: Self.host), Self.txt("vicinity=1 77xn3tf3vkmyq53gkvcdgiqraa")),
    ]
    for (announcement, strings) in golden {
      #expect(announcement.txt == strings)
      #expect(try Announcement(txt: strings) == announcement)
    }
  }

  @Test(
    arguments: [
      "\u{2800}", " x", "x ", "a  b", "\u{301}x", "\u{FE0F}", "=", "名前", "\0", "\nx",
      String(repeating: "é", count: 31) + "x",
    ])
  func `P-ID-1 any display name comes back as it was`(_ name: String) throws {
    let announcement = try Self.peer(name, ["k": "\u{301}=\u{301}", "~": ""])
    #expect(try Announcement(txt: announcement.txt) == announcement)
  }

  @Test func `P-ADV-2 a program's keys are never taken for ours, nor ours for a program's`() throws {
    let tricks = ["vicinity": "1 aaisem2ekvthpcezvk54zxpo74 77xn3tf3vkmyq53gkvcdgiqraa Eve", "host": "x", "v": "2"]
    let announcement = try Self.peer("Ann", tricks)
    #expect(try Announcement(txt: announcement.txt) == announcement)
  }

  @Test func `P-ADV-2 the largest announcement has strings that DNS can carry`() throws {
    var info: [String: String] = [:]
    for key in ["a", "b", "c", "d"] { info[key] = String(repeating: key, count: 253) }
    let announcement = try Self.peer(String(repeating: "n", count: 63), info)
    #expect(announcement.txt.allSatisfy { (1...255).contains($0.count) })
    #expect(announcement.txt.reduce(0) { $0 + 1 + $1.count } <= 1_153)
    #expect(try Announcement(txt: announcement.txt) == announcement)
  }

  @Test func `P-ADV-2 pairs in another order are the same announcement`() throws {
    let announcement = try Self.peer("Ann", ["a": "1", "b": "2"])
    #expect(try Announcement(txt: Self.txt("\(Self.head) Ann", "b=2", "a=1")) == announcement)
  }

  @Test func `P-HAB-2 strings that say something else are refused, each with its reason`() throws {
    let long = String(repeating: "x", count: 64)
    let hostile: [([[UInt8]], Announcement.Fault)] = [
      ([], .notOurs),
      (Self.txt(""), .notOurs),
      (Self.txt("Vicinity=1 x"), .notOurs),
      (Self.txt("a=b", "\(Self.head) Ann"), .notOurs),
      (Self.txt("vicinity="), .version("")),
      (Self.txt("vicinity=2 anything"), .version("2")),
      (Self.txt("vicinity=1"), .words(count: 1)),
      (Self.txt(Self.head), .words(count: 3)),
      (Self.txt("vicinity=1 77xn3tf3vkmyq53gkvcdgiqraa", "a=b"), .rosterWithInfo(strings: 1)),
      (Self.txt("vicinity=1 "), .broken(WireError(.identifierNotBase32("")))),
      (Self.txt("\(Self.head) "), .broken(WireError(.displayNameEmpty))),
      (Self.txt("\(Self.head) \(long)"), .broken(WireError(.displayNameTooLong(bytes: 64)))),
      (
        Self.txt("vicinity=1 AAISEM2EKVTHPCEZVK54ZXPO74 77xn3tf3vkmyq53gkvcdgiqraa x"),
        .broken(WireError(.identifierNotBase32("AAISEM2EKVTHPCEZVK54ZXPO74")))
      ),
      (Self.txt("\(Self.head) Ann", "flag"), .noPair("flag")),
      (Self.txt("\(Self.head) Ann", ""), .noPair("")),
      (Self.txt("\(Self.head) Ann", "=x"), .broken(WireError(.discoveryKeyEmpty))),
      (Self.txt("\(Self.head) Ann", "a=1", "b=2", "a=1"), .keyTwice("a")),
      (Self.txt("\(Self.head) Ann", "é=1"), .broken(WireError(.discoveryKeyCharacter(key: "é", byte: 0xc3)))),
      (
        Self.txt("\(Self.head) Ann") + [[0x61, 0x3d, 0xff]],
        .broken(WireError(.invalidUTF8(field: "a string of the TXT record")))
      ),
      (
        Self.txt("\(Self.head) Ann") + (0..<65).map { Array("k\($0)=".utf8) },
        .broken(WireError(.discoveryPairsOverLimit(count: 65)))
      ),
      (
        Self.txt("\(Self.head) Ann") + (0..<5).map { Array("k\($0)=\(String(repeating: "v", count: 240))".utf8) },
        .broken(WireError(.discoveryInfoTooLong(bytes: 1_220)))
      ),
    ]
    for (strings, fault) in hostile {
      #expect(throws: fault) { try Announcement(txt: strings) }
      #expect(fault.description.count < 400)
    }
  }

  @Test func `P-HAB-2 strings that are changed anywhere are refused or say something legal`() throws {
    let original = try Self.peer("Ann", ["a": "1", "bc": "é"]).txt
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      var strings = original
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        guard let string = strings.indices.randomElement(using: &random),
          let place = strings[string].indices.randomElement(using: &random)
        else { continue }
        switch Int.random(in: 0...3, using: &random) {
        case 0: strings[string][place] = UInt8.random(in: 0...255, using: &random)
        case 1: strings[string].remove(at: place)
        case 2: strings[string].insert(UInt8.random(in: 0...255, using: &random), at: place)
        default: strings.remove(at: string)
        }
      }
      guard let read = try? Announcement(txt: strings) else { continue }
      #expect(try Announcement(txt: read.txt) == read)
    }
  }
}
