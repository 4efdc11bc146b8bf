/// Every maximum of docs/protocol.md, each with its reason. Lengths are in bytes, counts in items.
public enum Limits {
  /// Room for the longest message with the longest selection, and for nothing larger.
  public static let frameLengthMax = 1_114_112
  /// A stranger may make us hold no more than this before a peer of its host is accepted.
  public static let earlyFrameLengthMax = 16_384
  /// An unsigned 64-bit number takes ten groups of seven bits.
  public static let varintBytesMax = 10

  /// The framework's rule, and what RFC 6335 allows a service name.
  public static let serviceTypeBytesMax = 15
  /// The framework's rule, and what one DNS label can hold.
  public static let displayNameBytesMax = 63
  /// Beyond this a name no longer fits where people see it: a list, a small screen.
  public static let displayNameBytesAdvised = 40
  /// Far more pairs than the bytes below leave room for in practice.
  public static let discoveryPairsMax = 64
  /// One string of a DNS TXT record has one byte of length (RFC 6763 §6.1).
  public static let discoveryPairBytesMax = 255
  /// A TXT record with our own keys beside these must still fit one multicast DNS packet.
  public static let discoveryInfoBytesMax = 1_024
  /// Beyond this a TXT record no longer fits a packet with the other records of an answer (RFC 6763 §6.2).
  public static let discoveryInfoBytesAdvised = 400

  /// Peers in one `away`; more come in several. Each has 27 bytes at most, so that the frame is small enough to come
  /// early.
  public static let awayPeersMax = 512
  /// Ten years: longer absences are shown as this.
  public static let awayMillisecondsMax: UInt64 = 315_576_000_000

  /// Readings of a shared clock: 36 years, so that sums of two fit 64 bits with a sign.
  public static let clockNanosecondsMax: UInt64 = 1 << 60

  /// More than a person reads through; all of them in one frame are small enough to come early.
  public static let advertisedTypesMax = 64

  /// An IPv6 address with zone and port, or a short name, fits.
  public static let addressBytesMax = 64
  /// One for each medium a host is likely to have at once, IPv4 and IPv6 apart.
  public static let entryAddressesMax = 4
  /// A host may have more addresses than it sends with each endpoint.
  public static let helloAddressesMax = 8
  /// Room to grow for many versions, and still a small first frame.
  public static let helloExtensionsMax = 16
  /// An extension that needs more sends a frame of its own.
  public static let extensionBytesMax = 256
  /// A pair of hosts shares no more groups than this.
  public static let strandsMax = 4_096
  /// A sentence for a person to read.
  public static let detailBytesMax = 255

  /// The fewest members that make a session.
  public static let peersMin: UInt32 = 2
  /// Peers of one host in one group, which is also the longest list of them.
  public static let selectedIndexesMax = 8_192
  /// An invitation stays small: it reaches code before its sender is trusted.
  public static let contextBytesMax = 8_192
  /// Entries in one introduction; a larger group is introduced in several.
  public static let introductionEntriesMax = 64
  /// Introductions that may vouch for one join.
  public static let ticketsMax = 8
  /// Larger data is a resource, which can be resumed and never delays a message.
  public static let messagePayloadBytesMax = 1_048_576
  /// A media type as long as that of a resource, or a shorter one and a parameter such as its character set.
  public static let contentTypeBytesMax = 127
  /// A UDP packet's capacity after headers and seal.
  public static let datagramPayloadBytesMax = 65_000
  /// Beyond this a message may not fit, with its headers, one UDP packet that every network carries in one piece.
  public static let unreliableBytesAdvised = 1_024

  /// A name that a program looks for, as long as one length byte says.
  public static let streamNameBytesMax = 255
  /// A file's name is no longer on the file systems that matter.
  public static let resourceNameBytesMax = 255
  /// A media type: two names of at most 63 characters (RFC 6838 §4.2, advised) and the slash between them.
  public static let resourceTypeBytesMax = 127
  /// Our chunks have 2^14 bytes: a digest costs a five-hundredth part, and a chunk fits one frame.
  public static let chunkBits: UInt8 = 14
  /// The payload of a stream or resource frame: so small that a message never waits long behind it.
  public static let chunkBytes = 16_384
  /// Under 4 KiB digests would cost more than a hundredth part; over 1 MiB too much is sent again after a bad chunk.
  public static let chunkBitsRange: ClosedRange<UInt8> = 12...20
  /// The depth of a tree over 2^40 chunks, which is past any file.
  public static let proofDigestsMax = 40
  /// Far past any file, and the sum of two still fits 64 bits.
  public static let flowBytesMax: UInt64 = 1 << 62

  /// The payload of a circuit's frame: it fits an early frame, and a message never waits long behind it.
  public static let circuitDataBytes = 8_192
  /// Bytes of a circuit in one direction that a relay holds at most: both directions are less than 64 KiB.
  public static let circuitWindowBytes = 32_768
  /// Hosts in one `heard`.
  public static let heardHostsMax = 64

  /// No real certificate chain is longer.
  public static let chainCertificatesMax = 8
  /// Certificates with long lists of names are about half of this.
  public static let certificateBytesMax = 4_096
  /// An RSA signature with an 8 192-bit key.
  public static let identitySignatureBytesMax = 1_024
}
