internal import Testing

@testable internal import Gateway

/// Tokens that are known again without their digest.
struct TokenCacheTests {
  private static let view = ClientView(id: ClientID(text: "a"), name: "A", role: .viewer)

  @Test func `a token is known by all of its bytes`() {
    var tokens = TokenCache()
    tokens["vct_abc"] = TokenCache.Entry(Self.view, until: nil)
    #expect(tokens["vct_abc"]?.view == Self.view && tokens.count == 1)
    for other in ["vct_abd", "vct_ab", "vct_abcd", "Vct_abc", "", "vct_abc\0"] { #expect(tokens[other[...]] == nil) }
    // Part of another text, as it lies in a header.
    #expect(tokens["Bearer vct_abc".dropFirst(7)]?.view == Self.view)
  }
}
