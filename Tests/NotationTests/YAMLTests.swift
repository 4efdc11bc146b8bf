import Notation
import Testing

@Suite struct YAMLTests {
  @Test(
    "Each form is read as the JSON that it stands for",
    arguments: [
      ("a: 1", #"{"a":1}"#),
      ("a: 1 # one\n# two\n\nb: x#y", #"{"a":1,"b":"x#y"}"#),
      ("- a\n- - b\n  - c\n-\n  d: e\n- f: g\n  h: i", #"["a",["b","c"],{"d":"e"},{"f":"g","h":"i"}]"#),
      (
        "a:\n  b:\n    - c\n  d:\ne: [f, 'g, h', {i: j, k: [1, -2.5]}]",
        #"{"a":{"b":["c"],"d":null},"e":["f","g, h",{"i":"j","k":[1,-2.5]}]}"#
      ),
      ("'it''s': \"a\\n\\u00e9: #\"", "{\"it's\":\"a\\né: #\"}"),
      ("/v1/peers/{peer}:\n  $ref: '#/x'", ##"{"/v1/peers/{peer}":{"$ref":"#/x"}}"##),
      ("a: |\n  b\n   c\n\n  d\ne: >-\n  f\n  g\n\n  h\n", #"{"a":"b\n c\n\nd\n","e":"f g\nh"}"#),
      (
        "a: true\nb: null\nc: 3.1.0\nd: '1'\ne: http://x/y\nf: {}\ng: []",
        #"{"a":true,"b":null,"c":"3.1.0","d":"1","e":"http://x/y","f":{},"g":[]}"#
      ),
      ("- |\n  a\n- >\n  b", #"["a\n","b\n"]"#),
      ("{a: {b: c}, d: e}", #"{"a":{"b":"c"},"d":"e"}"#),
    ])
  func reading(yaml: String, json: String) throws {
    #expect(try JSON(parsingYAML: yaml) == JSON(parsing: json))
  }

  @Test(
    "What is not in the part that is read is refused with its line",
    arguments: [
      ("a: 1\na: 2", 2), ("a: b\n  c: d", 2), ("a:\n\tb: 1", 2), ("a: &x b", 1), ("a: *x", 1), ("a: !t b", 1),
      ("a: yes", 1), ("a: 0x10", 1), ("a: 010", 1), ("a: b: c", 1), ("a: [b", 1), ("a: 'b", 1), ("---\na: b", 1),
      ("a: \"\\q\"", 1), ("a: |+\n  b", 1), ("a: |\n    b\n  c", 3), ("- a\nb: c", 2), ("a: {b: c, b: d}", 1),
      ("a: 1\r\nb: 2", 1), ("a: b\nc", 2), ("a: [b,]", 1), ("a: 'b' c", 1),
    ])
  func refusing(yaml: String, line: Int) {
    let error = #expect(throws: NotationError.self) { try JSON(parsingYAML: yaml) }
    #expect(error?.place == line && error?.unit == .line, "\(error.map(String.init(describing:)) ?? "")")
  }

  @Test("Depth has a limit, and no cut of a text makes the reader trap")
  func limits() throws {
    let deep = String(repeating: "[", count: 100)
    #expect(throws: NotationError.self) { try JSON(parsingYAML: "a: \(deep)") }
    let blocks = (0..<100).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n")
    #expect(throws: NotationError.self) { try JSON(parsingYAML: blocks) }
    let text = "a: |\n  b\n- 'c': [d, {e: \"f\\n\"}]\n  g: >-\n   h # i\n"
    for end in text.indices { _ = try? JSON(parsingYAML: String(text[..<end])) }
    for start in text.indices { _ = try? JSON(parsingYAML: String(text[start...])) }
  }
}
