import Notation
import Testing

@Suite struct TextTests {
  @Test(
    "The examples of RFC 4648",
    arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")])
  func base64(_ plain: String, _ text: String) {
    #expect(Base64.text(Array(plain.utf8)) == text)
    #expect(Base64.bytes(text) == Array(plain.utf8))
    #expect(Base64.safeBytes(Base64.safeText(Array(plain.utf8))) == Array(plain.utf8))
  }

  @Test("Base64 that nobody writes is refused", arguments: ["Zg", "Zg=", "Zh==", "Z===", "Zm9v====", "Zm9v\n", "Z-_v"])
  func notBase64(_ text: String) {
    #expect(Base64.bytes(text) == nil)
  }

  @Test(
    "Moments are written as RFC 3339 has them",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
      (1_795_226_399_999, "2026-11-21T01:59:59.999Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ])
  func timestamps(_ milliseconds: Int64, _ text: String) {
    #expect(Timestamp(milliseconds: milliseconds).description == text)
  }
}
