/// A browser for the service types that peers nearby advertise, this host's too, until it is stopped or released.
///
/// ```swift
/// let browser = try await host.browseTypes()
/// for await types in browser.types { print("in use nearby:", types) }
/// ```
///
/// Each host that is found is asked over a link, at most 64 types of each are told, and 256 in all. A host of an older
/// release does not know the question, and is not asked.
public final class TypeBrowser: Sendable {
  /// The types in use, ascending, after each change; the latest where several were not read. It has one reader.
  public let types: Events<[String]>
  private let number: UInt64
  private let loop: Loop

  init(_ number: UInt64, _ types: Mailbox<[String]>, _ loop: Loop) {
    self.number = number
    self.types = Events(mailbox: types)
    self.loop = loop
  }

  deinit {
    loop.post { [number] in $0.stopBrowsingTypes(number) }
  }

  /// The types in use now.
  public var found: [String] { get async { (try? await loop.run { $0.typesInUse }) ?? [] } }

  public func stop() async {
    try? await loop.run { [number] in $0.stopBrowsingTypes(number) }
  }
}
